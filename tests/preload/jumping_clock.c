/* To be preloaded: the wall clock of a process jumps by up to days, forth and back, every few
 * calls. Clocks that count time that has passed go on as they are. */
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 16, DAY_S = 24 * 60 * 60, DAYS = 40 };

int clock_gettime(clockid_t clock, struct timespec *now);
int gettimeofday(struct timeval *now, void *zone);
time_t time(time_t *now);

/* Days to add: another number for every few calls, in another order for each process. */
static long jump_s(void)
{
    static unsigned calls;
    unsigned turn = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) / CALLS;
    unsigned mixed = (turn + (unsigned)getpid()) * 2654435761u >> 16;

    return ((long)(mixed % (2 * DAYS + 1)) - DAYS) * DAY_S;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);

    if (result == 0 && clock == CLOCK_REALTIME) {
        now->tv_sec += jump_s();
    }
    return result;
}

int gettimeofday(struct timeval *now, void *zone)
{
    struct timespec exact;

    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &exact) != 0) {
        return -1;
    }
    *now = (struct timeval){.tv_sec = exact.tv_sec, .tv_usec = exact.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *now)
{
    struct timespec exact;

    (void)clock_gettime(CLOCK_REALTIME, &exact);
    if (now != NULL) {
        *now = exact.tv_sec;
    }
    return exact.tv_sec;
}
