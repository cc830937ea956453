/* Out of /proc: see proc(5). */
#include "runtime/http/own_usage.h"

#include "runtime/file.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20, SECOND_US = 1000000 };

bool own_usage_parse(const char *stat, const struct own_usage_units *units, struct own_usage *out)
{
    /* The name before it is in parentheses, and may hold some. */
    const char *rest = strrchr(stat, ')');
    uint64_t user;
    uint64_t kernel;
    uint64_t threads;
    uint64_t started;
    uint64_t bytes;
    uint64_t pages;

    if (rest == NULL || sscanf(rest + 1,
                               " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
                               " %*d %*d %*d %*d %" SCNu64 " %*d %" SCNu64 " %" SCNu64 " %" SCNu64,
                               &user, &kernel, &threads, &started, &bytes, &pages) != 6) {
        return false;
    }
    out->cpu_us = (user + kernel) * SECOND_US / units->ticks_per_s;
    out->started_us = units->booted_us == 0
                          ? 0 /* It is not known. */
                          : units->booted_us + started * SECOND_US / units->ticks_per_s;
    out->threads = threads;
    out->virtual_bytes = bytes;
    out->resident_bytes = pages * units->page_bytes;
    return true;
}

/* "": it can't be read. The buffer is empty. */
static const char *read_text(const char *path, struct buffer *text)
{
    buffer_init(text, MOST_BYTES);
    if (file_read(path, text) != STATUS_OK || buffer_append(text, span_of("", 1)) != STATUS_OK) {
        return "";
    }
    return (const char *)text->data;
}

static uint64_t read_booted_us(void)
{
    struct buffer text;
    const char *line = strstr(read_text("/proc/stat", &text), "\nbtime ");
    uint64_t booted_s = 0;

    if (line != NULL) {
        (void)sscanf(line, " btime %" SCNu64, &booted_s);
    }
    buffer_fini(&text);
    return booted_s * SECOND_US;
}

static void read_stat(struct own_usage *out)
{
    static uint64_t booted_us; /* It stays as it is, and /proc/stat is long. */
    struct buffer text;
    struct own_usage_units units;

    if (booted_us == 0) {
        booted_us = read_booted_us();
    }
    units = (struct own_usage_units){
        .ticks_per_s = (uint64_t)sysconf(_SC_CLK_TCK),
        .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
        .booted_us = booted_us,
    };
    (void)own_usage_parse(read_text("/proc/self/stat", &text), &units, out);
    buffer_fini(&text);
}

/* Newer kernels (6.2) tell how many there are as the folder's size; else they are counted. */
static uint64_t count_descriptors(void)
{
    static const char path[] = "/proc/self/fd";
    struct stat about;
    uint64_t count = 0;
    DIR *folder;

    if (stat(path, &about) == 0 && about.st_size > 0) {
        return (uint64_t)about.st_size;
    }
    folder = opendir(path);
    if (folder == NULL) {
        return 0;
    }
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    (void)closedir(folder);
    return count > 0 ? count - 1 : 0; /* The folder itself was one. */
}

void own_usage_read(struct own_usage *out)
{
    struct rlimit limit;

    *out = (struct own_usage){0};
    read_stat(out);
    out->descriptors = count_descriptors();
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        out->max_descriptors = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
    }
}
