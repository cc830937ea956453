/* output.h - JSON on standard output, for programs that read what commands print.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_OUTPUT_H
#define ORBLOOM_CLI_OUTPUT_H

#include "base/json.h"

#include <stdio.h>

/* A member a line; what can't be written is found out by cmd_close_output(). */
void json_open(struct json *self, FILE *out);
void json_open_line(struct json *self, FILE *out);

#endif
