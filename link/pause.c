/* What operators have paused: nothing of it is sent to that site, and nothing is taken from there,
 * as if the way were cut; streams are closed, and opened when that is over. This site's word is in
 * its documents. The other one's comes with what it says of the filter, or, of all filters, with
 * its greetings; so nobody asks for a stream that would be refused, again and again. */
#include "link/private.h"
#include "link/states.h"

bool pause_greets(const struct link *self, uint32_t peer)
{
    return node_list_pauses(&router_documents(self->router)->nodes, &self->config.peers[peer].id);
}

bool pause_is_here(const struct link *self, const struct document_entry *entry, uint32_t peer)
{
    const struct site_entry *other = site_set_find(document_sites(&entry->document),
                                                   &self->config.peers[peer].id);

    return pause_greets(self, peer) || (other != NULL && other->paused);
}

/* What it said last of the filter. */
static bool says_state(const struct link *self, const struct inflow *inflow)
{
    const struct site_entry *own;
    struct site_filter state;

    if (!states_of_peer(self, inflow->peer, &inflow->uid, &state) || state.dropped) {
        return false;
    }
    own = site_set_find(&state.document, &self->config.id);
    return own != NULL && own->paused;
}

static bool says_hello(const struct link *self, const struct inflow *inflow)
{
    const struct channel *channel = channel_for((struct link *)self, inflow->peer, &inflow->uid);

    return channel != NULL && channel->pauses;
}

bool pause_is_on(const struct inflow *inflow)
{
    return inflow->paused_here || inflow->paused_there;
}

void pause_look(struct link *self, struct inflow *inflow)
{
    uint64_t version = states_version(self, inflow->peer, &inflow->uid) + 1;

    if (inflow->pause_version != version) {
        inflow->pause_version = version;
        inflow->paused_by_state = says_state(self, inflow);
    }
    inflow->paused_there = inflow->paused_by_state || says_hello(self, inflow);
}
