/* Which cluster is a folder of? Its node asks before it writes anything, and knows ever after. */
#include "log/cluster_file.h"
#include "proto/signed_document.h"
#include "tests/support/node_folder.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

static struct node_stage stage;
static struct node_folder folder;

/* What the node asks next; a claim, or which cluster this is. */
static struct sync_request next_request(struct node_stage *self, uint64_t *correlation)
{
    struct fake_sent sent;

    self->now_us += self->config.sync_interval_us;
    self->actor.time(self->actor.self, self->now_us);
    cr_assert(fake_take(&self->fake, &sent), "it asks nothing");
    cr_assert_eq(sent.frame.kind, FRAME_SYNC_REQUEST);
    *correlation = sent.frame.correlation;
    return sent.frame.body.sync_request;
}

static void answer(struct node_stage *self, uint64_t correlation, struct sync_reply reply,
                   const struct cluster_id *cluster, const struct cluster_key *key)
{
    struct frame frame = {
        .kind = FRAME_SYNC_REPLY, .correlation = correlation, .body.sync_reply = reply};
    struct buffer record;

    buffer_init(&record, 1024);
    cr_assert_eq(codec_cluster_sign(cluster, key, &record), STATUS_OK);
    frame.body.sync_reply.message = "";
    frame.body.sync_reply.cluster = buffer_span(&record);
    fake_answer(&self->actor, self->now_us, STAGE_COORDINATOR, &frame);
    buffer_fini(&record);
}

static void open_nameless(void)
{
    node_stage_init_disk(&stage);
    stage.config.cluster = (struct cluster_id){{0}};
    node_stage_start(&stage);
    node_stage_settle(&stage);
}

static struct cluster_id written(struct node_stage *self)
{
    struct cluster_id id = {{0}};

    cr_assert_eq(cluster_file_read(self->config.disk, &id), STATUS_OK);
    return id;
}

Test(node_cluster, nothing_is_written_before_a_coordinator_has_told)
{
    struct sync_request request;
    struct cluster_id id;
    uint64_t correlation;

    open_nameless();
    request = next_request(&stage, &correlation);
    cr_assert_eq(request.role, SYNC_NODE);
    cr_assert_eq(request.incarnation, 0);
    cr_assert(!cluster_id_known(&request.cluster));
    cr_assert_eq(node_stage_files(&stage, ""), 0);
    answer(&stage, correlation, (struct sync_reply){.status = STATUS_UNAVAILABLE}, sample_cluster(),
           sample_key());
    answer(&stage, correlation, (struct sync_reply){0}, sample_cluster(), sample_foreign_key());
    node_stage_settle(&stage);
    cr_assert_eq(node_stage_files(&stage, ""), 0, "a refusal, or another key, tells nothing");
    request = next_request(&stage, &correlation);
    cr_assert_eq(request.incarnation, 0, "it asks again");
    answer(&stage, correlation, (struct sync_reply){0}, sample_cluster(), sample_key());
    node_stage_settle(&stage);
    id = written(&stage);
    cr_assert(cluster_id_equal(&id, sample_cluster()));
    cr_assert_gt(node_stage_files(&stage, "log-"), 0);
    request = next_request(&stage, &correlation);
    cr_assert_neq(request.incarnation, 0);
    cr_assert(cluster_id_equal(&request.cluster, sample_cluster()));
    node_stage_fini_disk(&stage);
}

Test(node_cluster, the_folder_says_so_when_no_coordinator_answers)
{
    node_folder_make(&folder, STAGE_END_KILL);
    folder.stage.config.cluster = (struct cluster_id){{0}};
    cr_assert_eq(node_folder_start(&folder, "none known", "", 0), STAGE_SAME);
    node_folder_drop(&folder);
}

/* It can be learned again, and fits the log. */
Test(node_cluster, where_its_file_is_damaged_a_coordinator_is_asked)
{
    struct cluster_id id;
    uint64_t correlation;

    node_folder_make(&folder, STAGE_END_KILL);
    node_folder_restore(&folder);
    folder.stage.config.cluster = (struct cluster_id){{0}};
    memory_disk_flip(folder.stage.disk, CLUSTER_FILE_NAME, 77);
    node_stage_start(&folder.stage);
    node_stage_settle(&folder.stage);
    cr_assert_eq(next_request(&folder.stage, &correlation).incarnation, 0);
    answer(&folder.stage, correlation, (struct sync_reply){0}, sample_cluster(), sample_key());
    node_stage_settle(&folder.stage);
    cr_assert_not(node_failed(folder.stage.node));
    cr_assert_eq(next_request(&folder.stage, &correlation).incarnation, folder.incarnation);
    id = written(&folder.stage);
    cr_assert(cluster_id_equal(&id, sample_cluster()));
    node_folder_drop(&folder);
}

/* Its documents are another cluster's: the same ids may be other filters there. */
Test(node_cluster, what_a_coordinator_of_another_cluster_says_is_not_taken)
{
    const struct cluster_id another = cluster_id_make(1, 2);
    uint64_t correlation;

    node_stage_init_disk(&stage);
    node_stage_start(&stage);
    node_stage_settle(&stage);
    (void)next_request(&stage, &correlation);
    answer(&stage, correlation, (struct sync_reply){.node_id = 1}, &another, sample_key());
    cr_assert_not(node_registered(stage.node));
    (void)next_request(&stage, &correlation);
    answer(&stage, correlation, (struct sync_reply){.node_id = 1}, sample_cluster(), sample_key());
    cr_assert(node_registered(stage.node));
    node_stage_fini_disk(&stage);
}

/* ---- the file ---- */

Test(node_cluster, its_file_is_what_other_versions_wrote)
{
    static const uint8_t expected[CLUSTER_FILE_BYTES - 8] = {
        'O', 'R', 'B', 'C', 'L', 'S', 0, 1, 0xc1, 0, 0, 0, 0, 0, 0, 0, 0xc1, 2, 0, 0, 0, 0, 0, 0};
    uint8_t bytes[CLUSTER_FILE_BYTES];
    struct cluster_id id;

    cluster_file_put(bytes, sample_cluster());
    cr_assert_arr_eq(bytes, expected, sizeof expected);
    cr_assert_eq(cluster_file_get(bytes, &id), STATUS_OK);
    cr_assert(cluster_id_equal(&id, sample_cluster()));
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        cr_assert_eq(cluster_file_get(bytes, &id), STATUS_MALFORMED, "bit %zu", bit);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}
