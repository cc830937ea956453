/* endpoint_list.h - "tcp://a:7401,tcp://b:7401": endpoints as people and environments name them.
 *
 * Errors:  STATUS_INVALID: an entry is not tcp://HOST:PORT, or the list is empty;
 *          STATUS_TOO_LARGE: more than SESSION_MAX_ENDPOINTS, or one is too long.
 * Threads: any.
 */
#ifndef ORBLOOM_CLIENT_ENDPOINT_LIST_H
#define ORBLOOM_CLIENT_ENDPOINT_LIST_H

#include "client/session.h"

#define ENDPOINT_DEFAULT_ROUTER      "tcp://127.0.0.1:7401"
#define ENDPOINT_DEFAULT_COORDINATOR "tcp://127.0.0.1:7400"

/* tcp://HOST:PORT with a port of 1 to 65535. */
bool endpoint_is_valid(const char *text);

/* Commas separate; blanks around entries are skipped, empty entries refused. */
MUST_USE enum status endpoint_list_parse(const char *text, char names[][DOCUMENT_TEXT_BYTES],
                                         uint32_t *count);

#endif
