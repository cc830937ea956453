/* redis_shell.h - redis-cli and its kin against a playground's router.
 *
 * Errors:  a failed cr_assert.
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_REDIS_SHELL_H
#define ORBLOOM_TESTS_SUPPORT_REDIS_SHELL_H

#include "tests/support/playground.h"

enum { REDIS_SOCKET_BYTES = 100 /* shorter than a socket's address may be */ };

/* Where the first router serves them. */
void redis_socket(const struct playground *playground, char path[REDIS_SOCKET_BYTES]);

/* Run a script in a shell, with $S as the arguments that name the socket. What it prints, both to
 * stdout and stderr, is `output`, unless that is NULL. */
void redis_shell(const char *path, const char *script, const char *output);

/* Kill the router and start it again with further lines in its configuration; it serves then. */
void redis_restart_router(struct playground *playground, const char *options);

/* A free port, for as long as nobody else asks the kernel for one. */
unsigned redis_free_port(void);

#endif
