/* The machine's wall clock, in UTC. No decision about keys or quorums is made by it. */
#include "runtime/date.h"

#include <stdio.h>
#include <time.h>

uint64_t date_now_ms(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec > 0 ? (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 : 0;
}

const char *date_show(uint64_t date_ms, char text[DATE_TEXT_BYTES])
{
    const time_t seconds = (time_t)(date_ms / 1000);
    struct tm date;

    if (gmtime_r(&seconds, &date) == NULL ||
        strftime(text, DATE_TEXT_BYTES, "%Y-%m-%d %H:%M:%S UTC", &date) == 0) {
        (void)snprintf(text, DATE_TEXT_BYTES, "at no known date");
    }
    return text;
}
