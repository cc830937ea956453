/* Asks for the nodes, resolves the names with life_names.c, and says on stderr which lives are
 * vouched for. */
#include "cli/lives.h"

#include "cli/ask.h"
#include "cli/cmd.h"

#include <inttypes.h>

enum { MS_PER_S = 1000 };

struct look {
    const char *text;
    struct life_names *out;
};

static void tell(const struct vouched_life *word, const struct admin_reply *reply)
{
    const struct member *life = &word->life;
    const struct node_summary *node = NULL;

    for (size_t i = 0; i < reply->nnodes; i++) {
        node = reply->nodes[i].id == life->node ? &reply->nodes[i] : node;
    }
    if (node == NULL) {
        (void)fprintf(stderr, "vouched for: node #%" PRIu32 ", incarnation %016" PRIx64 "\n",
                      life->node, life->incarnation);
    } else if (word->runs) {
        (void)fprintf(stderr,
                      "vouched for: what ran as node %s before incarnation %016" PRIx64
                      ", which is alive\n",
                      node->name, life->incarnation);
    } else {
        (void)fprintf(stderr,
                      "vouched for: node %s, incarnation %016" PRIx64 ", last heard of %.0f s ago, "
                      "and what ran before it\n",
                      node->name, life->incarnation, (double)node->seen_ago_ms / MS_PER_S);
    }
}

static int resolve(void *context, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    const struct look *look = context;
    char reason[LIFE_REASON_BYTES];
    enum status status = life_names_resolve(look->text, reply->nodes, reply->nnodes, look->out,
                                            reason);

    if (status != STATUS_OK) {
        return cmd_fail(status, "%s", reason);
    }
    for (size_t i = 0; i < look->out->count; i++) {
        tell(&look->out->lives[i], reply);
    }
    return CMD_OK;
}

int cmd_lives_vouch(const struct flags_common *common, const char *text, struct life_names *out,
                    struct admin_request *request)
{
    struct frame frame = {
        .kind = FRAME_ADMIN_REQUEST,
        .body.admin_request = {.action = ADMIN_STATUS, .name = "", .successor = ""},
    };
    struct look look = {.text = text, .out = out};
    int code = CMD_OK;

    out->count = 0;
    if (text != NULL && text[0] != '\0') {
        code = cmd_ask(common, &frame, resolve, &look);
    }
    request->confirmed_off = out->lives;
    request->nconfirmed_off = out->count;
    return code;
}
