/* Writes lines with the time to the file and the terminal, from any thread. */
#include "tests/torture/journal.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

static FILE *file;
static uint64_t start_ms;

uint64_t journal_now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void journal_pause_ms(uint64_t pause_ms)
{
    struct timespec pause = {.tv_sec = (time_t)(pause_ms / 1000),
                             .tv_nsec = (long)(pause_ms % 1000) * 1000000};

    (void)nanosleep(&pause, NULL);
}

void journal_open(const char *dir)
{
    char path[PATH_MAX];

    start_ms = journal_now_ms();
    (void)snprintf(path, sizeof path, "%s/journal", dir);
    file = fopen(path, "ae");
}

void journal_close(void)
{
    if (file != NULL) {
        (void)fclose(file);
        file = NULL;
    }
}

static void write_line(FILE *out, const char *format, va_list args)
{
    uint64_t at = journal_now_ms() - start_ms;

    flockfile(out);
    (void)fprintf(out, "%6u.%03u ", (unsigned)(at / 1000), (unsigned)(at % 1000));
    (void)vfprintf(out, format, args);
    (void)fputc('\n', out);
    (void)fflush(out);
    funlockfile(out);
}

void journal_say(const char *format, ...)
{
    va_list args;

    if (file != NULL) {
        va_start(args, format);
        write_line(file, format, args);
        va_end(args);
    }
}

void journal_tell(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    write_line(stdout, format, args);
    va_end(args);
    if (file != NULL) {
        va_start(args, format);
        write_line(file, format, args);
        va_end(args);
    }
}
