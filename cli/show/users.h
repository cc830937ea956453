/* users.h - users as people and programs read them.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SHOW_USERS_H
#define ORBLOOM_CLI_SHOW_USERS_H

#include "cli/output.h"
#include "cli/users/record.h"

void users_show_text(const struct users_record *record);
void users_show_json(struct json *json, const struct users_record *record, const struct user *user);

/* "rw crawl:*, r shared:*". Returns `text`. */
const char *users_show_grants(const struct user *user, char *text, size_t size);

/* `title`, and then a line a key of theirs that has not expired with when it was last seen, on
 * stderr; without any nothing. */
void users_show_keys(const char *title, const struct users_record *record);

#endif
