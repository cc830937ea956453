/* output.h - JSON for programs that read what commands print.
 *
 * Numbers are plain; ids and incarnations that need all 64 bits are texts in hexadecimal or
 * decimal where a reader's doubles would round them.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_OUTPUT_H
#define ORBLOOM_CLI_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *out;
    int depth;
    bool filled;   /* something precedes on this level */
    bool one_line; /* nothing is put on a line of its own */
};

void json_open(struct json *self, FILE *out);
void json_open_line(struct json *self, FILE *out);

/* '{' or '['; `name` is NULL inside an array. */
void json_begin(struct json *self, const char *name, char bracket);
void json_end(struct json *self, char bracket);

void json_text(struct json *self, const char *name, const char *text);
void json_count(struct json *self, const char *name, uint64_t value);
void json_number(struct json *self, const char *name, double value);
void json_bool(struct json *self, const char *name, bool value);
void json_null(struct json *self, const char *name);

#endif
