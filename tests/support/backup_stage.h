/* backup_stage.h - a cluster of three nodes that backups are tried on: `seen` is there, and holds
 * the keys "old"; and what tests of them do again and again.
 *
 * Errors:  a failed cr_assert.
 * Owner:   stage_start()'s caller calls stage_stop().
 * Threads: none; one stage a process.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_BACKUP_STAGE_H
#define ORBLOOM_TESTS_SUPPORT_BACKUP_STAGE_H

#include "tests/support/command.h"
#include "tests/support/playground.h"

#include <stddef.h>

enum { STAGE_LIMIT_S = 120, STAGE_KEYS = 300000, STAGE_PATH_BYTES = 128 };

#define STAGE_PASSPHRASE "correct horse battery staple\n"

extern struct playground backup_stage;

void stage_start(void);
void stage_stop(void);

/* So many keys that begin with `name`, as lines; and are they all there, or hardly any? */
void stage_add_keys(const char *filter, const char *name, int count);
void stage_expect_all(const char *filter, const char *name, int count);
void stage_expect_few(const char *filter, const char *name);

/* By a shell, with $ORBLOOM for the program. */
void stage_start_shell(struct command *command, const char *script);

/* It ends like this, and says all that; NULL: nothing more. */
void stage_expect_end(struct command *command, int status, const char *text);

void stage_expect_fails(const char *text, const char *const *words);

#define STAGE_FAILS(text, ...) stage_expect_fails((text), (const char *const[]){__VA_ARGS__, NULL})

/* It begins anew. */
void stage_back_up_anew(const char *filter, const char *path, const char *within);

/* Whoever reads from it goes on. */
void stage_open_gate(const char *gate);

/* In the cluster's folder. */
char *stage_path_of(const char *name, char path[STAGE_PATH_BYTES]);

/* Of mode 600. */
void stage_write_file(const char *path, const void *bytes, size_t size);

/* -1: there is none. */
long stage_size_of(const char *path);

#endif
