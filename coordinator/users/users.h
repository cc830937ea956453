/* users.h - the record of users at a coordinator: listing and changing it, when tokens and keys
 * were last used, and whether somebody may ask for what they ask for.
 *
 * A user may ask for what its grants give (see lib/map/access/users.h): to create, drop, rename
 * (both names), expire, rebuild, expand, load, it takes USER_CREATE, and to say how much of a list
 * was fed USER_WRITE; status shows the filters that it sees. Monitors ask for what proto/gate.h
 * says, admins for everything. Whoever is no user (processes of the cluster, and everybody where
 * transport is plain) is not restricted, unless they name a user.
 *
 * Errors:  as said at each function.
 * Owner:   the coordinator; users_release().
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_USERS_USERS_H
#define ORBLOOM_COORDINATOR_USERS_USERS_H

#include "coordinator/private.h"

/* Whose rights count. */
struct users_asker {
    const struct user *user; /* NULL: nobody's; anything may be asked */
    bool unknown;            /* one that is not in the record: nothing may be asked */
};

struct users_asker users_asker(const struct coordinator *self, const struct peer *from,
                               const struct admin_request *request);

/* The user's name, or of one who is not known the name that was given; NULL: nobody's. */
const char *users_name(const struct users_asker *asker, const struct admin_request *request);

/* STATUS_UNAUTHENTIC, and why; it is counted, and noted in the audit log. `read`: how the last look
 * at the store ended. While it can't be read a user that is not known may be there all the same,
 * and that status is the answer, with its cause. */
MUST_USE enum status users_judge(struct coordinator *self, const struct peer *from,
                                 const struct admin_request *request, enum status read,
                                 char *message);

/* Is the filter shown to whoever asks? */
bool users_show(const struct users_asker *asker, const struct filter_document *document);

/* What a router, or a socket of this coordinator, has seen. It is written into the store now and
 * then, so that other coordinators tell it, and those that start. */
void users_note_uses(struct coordinator *self, const struct user_use *uses, size_t count);

/* What the store has of it. */
#define USERS_USES_KEY "uses"
void users_take_uses(struct coordinator *self, uint64_t version, struct span value);

/* Of tokens and keys that are gone nobody asks any more. */
void users_forget_uses(struct coordinator *self);
void users_release(struct coordinator *self);

void coordinator_on_user_list(struct coordinator *self, uint64_t now_us, const struct peer *from,
                              const struct frame *frame);
void coordinator_on_user_change(struct coordinator *self, uint64_t now_us, const struct peer *from,
                                const struct frame *frame);

#endif
