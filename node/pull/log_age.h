/* log_age.h - up to where is a log older than a delay? Records carry no time, so its end is
 * noted now and then.
 *
 * Errors:  none; the answer is up to an eighth of the delay lower than it might be.
 * Threads: none; time is an argument, and never goes back.
 */
#ifndef ORBLOOM_NODE_PULL_LOG_AGE_H
#define ORBLOOM_NODE_PULL_LOG_AGE_H

#include <stdint.h>

enum { LOG_AGE_MARKS = 16 };

struct log_age_mark {
    uint64_t at_us;
    uint64_t end;
};

struct log_age {
    uint64_t settled; /* older than the delay when the oldest mark was made */
    uint32_t count;
    struct log_age_mark marks[LOG_AGE_MARKS]; /* ascending */
};

/* All below `end` is old: it was found when the process started. */
void log_age_init(struct log_age *self, uint64_t end);

/* Note where the log ends; call at any time, the more often the finer. */
void log_age_note(struct log_age *self, uint64_t now_us, uint64_t end, uint64_t delay_us);

/* Everything below was in the log `delay_us` ago. */
uint64_t log_age_settled(struct log_age *self, uint64_t now_us, uint64_t delay_us);

#endif
