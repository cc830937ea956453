/* change_private.h - the parts of a decision; shared by lib/cluster/change*.c only. */
#ifndef ORBLOOM_MAP_CHANGE_PRIVATE_H
#define ORBLOOM_MAP_CHANGE_PRIVATE_H

#include "map/change.h"

enum change_outlook {
    OUTLOOK_NONE,  /* nothing to do */
    OUTLOOK_BEGIN, /* some slots have successors */
    OUTLOOK_MEND,  /* an incoming member is not the one that it should be */
    OUTLOOK_READY, /* what the stage takes is there */
    OUTLOOK_WAIT,  /* ... is not, and may come any moment */
    OUTLOOK_STUCK, /* ... can't come as long as some node is silent, or for good */
};

/* One look at a document, for all groups. */
struct change_view {
    const struct filter_document *document;
    const struct node_list *nodes;
    const struct evidence *evidence;
    const bool *alive;
    const struct move_plan *plan;
};

/* Who should be the incoming member; false: nobody. */
bool change_successor(const struct change_view *self, uint32_t group, uint32_t index,
                      struct member *out);

/* What stage the group is in: its pairs move together. */
enum slot_stage change_group_stage(const struct change_view *self, uint32_t group);

/* `out` learns what it waits for. */
enum change_outlook change_look(const struct change_view *self, uint32_t group,
                                struct change_decision *out);

#endif
