/* Jobs on the hub's lanes: one after the other, away from the loop, done in the loop; and the end.
 */
#include "runtime/hub_lanes.h"
#include "runtime_probe.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

enum { MANY = 20000, LIMIT_S = 50, NAP_US = 1000 };

TestSuite(runtime_hub_lanes, .timeout = LIMIT_S);

struct work {
    struct job job; /* first */
    struct probe *probe;
    struct hub_lanes *lanes;
    enum job_lane lane;
    unsigned number;
    pid_t thread;
    char name[16];
    sigset_t blocked;
    bool ran;
    bool done;
};

static unsigned nran[JOB_NLANES];
static unsigned ndone[JOB_NLANES];
static unsigned wrong;

static void run(struct job *job)
{
    struct work *self = (struct work *)job;

    wrong += self->ran || nran[self->lane] != self->number;
    nran[self->lane]++;
    self->thread = gettid();
    (void)pthread_getname_np(pthread_self(), self->name, sizeof self->name);
    (void)pthread_sigmask(SIG_BLOCK, NULL, &self->blocked);
    self->ran = true;
}

static void done(struct job *job, uint64_t now_us)
{
    struct work *self = (struct work *)job;

    (void)now_us;
    wrong += !self->ran || self->done || ndone[self->lane] != self->number || gettid() != getpid();
    ndone[self->lane]++;
    self->done = true;
    if (self->probe != NULL && self->number == MANY - 1 && ndone[0] + ndone[1] == 2 * MANY) {
        hub_stop(self->probe->hub);
    }
}

static void submit(struct probe *probe, struct work *work)
{
    probe->effects->submit(probe->effects->context, work->lane, &work->job);
}

static unsigned count_threads(void)
{
    DIR *folder = opendir("/proc/self/task");
    unsigned count = 0;

    cr_assert_not_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    cr_assert_eq(closedir(folder), 0);
    return count - 2;
}

/* Each lane keeps the order in which jobs were submitted; nothing wakes the loop but them. */
Test(runtime_hub_lanes, jobs_of_a_lane_run_and_are_done_in_order)
{
    static struct work works[2 * MANY];
    struct probe probe = {.hub = NULL};

    probe_open(&probe, NULL);
    for (unsigned i = 0; i < 2 * MANY; i++) {
        works[i] = (struct work){.job = {.run = run, .done = done},
                                 .probe = &probe,
                                 .lane = i % 2 == 0 ? JOB_COMMIT : JOB_BACKGROUND,
                                 .number = i / 2};
        submit(&probe, &works[i]);
    }
    hub_run(probe.hub);
    cr_assert_eq(ndone[JOB_COMMIT], MANY);
    cr_assert_eq(ndone[JOB_BACKGROUND], MANY);
    cr_assert_eq(wrong, 0);
    hub_destroy(&probe.hub);
}

static void nap(struct job *job)
{
    hub_nap(NAP_US);
    run(job);
}

/* Of its lane alone. */
Test(runtime_hub_lanes, how_long_jobs_take_is_told)
{
    struct work work = {.job = {.run = nap, .done = done}, .lane = JOB_COMMIT};
    struct probe probe = {.hub = NULL};
    struct histogram times;

    probe_open(&probe, NULL);
    submit(&probe, &work);
    while (!work.done) {
        hub_run_once(probe.hub, PROBE_DEADLINE_US);
    }
    hub_jobs(probe.hub, JOB_COMMIT, &times);
    cr_expect_geq(times.sum_us, NAP_US);
    hub_jobs(probe.hub, JOB_BACKGROUND, &times);
    cr_expect_eq(times.sum_us, 0);
    hub_destroy(&probe.hub);
}

/* Whoever has no jobs has no threads; each lane has its own, with a name and without signals. */
Test(runtime_hub_lanes, a_lane_has_its_thread_from_the_first_job_on)
{
    struct probe probe = {.hub = NULL};
    struct work works[JOB_NLANES];
    unsigned before;

    probe_open(&probe, NULL);
    hub_run_once(probe.hub, 0);
    before = count_threads();
    for (unsigned i = 0; i < JOB_NLANES; i++) {
        works[i] = (struct work){.job = {.run = run, .done = done}, .lane = i};
        submit(&probe, &works[i]);
        cr_assert_eq(count_threads(), before + i + 1);
        while (!works[i].done) {
            hub_run_once(probe.hub, PROBE_DEADLINE_US);
        }
        cr_assert_eq(sigismember(&works[i].blocked, SIGTERM), 1);
        cr_assert_eq(sigismember(&works[i].blocked, SIGSEGV), 0);
    }
    cr_assert_str_eq(works[JOB_COMMIT].name, "commit");
    cr_assert_str_eq(works[JOB_BACKGROUND].name, "background");
    cr_assert_neq(works[0].thread, works[1].thread);
    cr_assert_neq(works[0].thread, getpid());
    cr_assert_eq(wrong, 0);
    hub_stop_lanes(probe.hub);
    cr_assert_eq(count_threads(), before);
    hub_destroy(&probe.hub);
}

struct chain {
    struct job job; /* first */
    struct probe *probe;
    unsigned left;
    bool in_turn;
    bool turned; /* since the last done() */
    unsigned wrong;
};

static void chain_run(struct job *job)
{
    (void)job;
}

static void chain_done(struct job *job, uint64_t now_us)
{
    struct chain *self = (struct chain *)job;

    (void)now_us;
    self->wrong += self->in_turn || !self->turned;
    self->turned = false;
    if (--self->left == 0) {
        hub_stop(self->probe->hub);
    }
}

/* As group commit does it: one group at a time, the next handed over in the turn. */
static void chain_turn(struct probe *probe)
{
    struct chain *self = probe->extra;

    self->in_turn = true;
    if (!self->turned && self->left > 0) {
        self->turned = true;
        probe->effects->submit(probe->effects->context, JOB_COMMIT, &self->job);
    }
    self->in_turn = false;
}

static void play_chain(uint64_t spin_us)
{
    struct chain chain = {.job = {.run = chain_run, .done = chain_done}, .left = 2000};
    struct probe probe = {.turn_hook = chain_turn, .spin_us = spin_us, .extra = &chain};

    chain.probe = &probe;
    probe_open(&probe, NULL);
    hub_run(probe.hub);
    cr_assert_eq(chain.left, 0);
    cr_assert_eq(chain.wrong, 0);
    hub_destroy(&probe.hub);
}

/* done() comes between events, and the actor's turn after it. A wake-up that was missed stops the
 * chain for a minute. */
Test(runtime_hub_lanes, done_comes_before_the_turn)
{
    play_chain(0);
}

Test(runtime_hub_lanes, a_spinning_loop_sees_what_is_done)
{
    play_chain(UINT64_MAX);
}

static void wake_nobody(void *context)
{
    (void)context;
}

/* Goes on until the lane is told to end. */
static void run_until_stopped(struct job *job)
{
    struct work *self = (struct work *)job;
    struct hub_lane *lane = &self->lanes->lanes[self->lane];
    bool stopping = false;

    while (!stopping) {
        (void)sched_yield();
        (void)pthread_mutex_lock(&lane->mutex);
        stopping = lane->stopping;
        (void)pthread_mutex_unlock(&lane->mutex);
    }
    run(job);
}

static bool is_next(struct hub_lane *lane, const struct job *job)
{
    bool next;

    (void)pthread_mutex_lock(&lane->mutex);
    next = lane->queue.first == job;
    (void)pthread_mutex_unlock(&lane->mutex);
    return next;
}

/* The job under way is waited for; nothing is run, nor done, after that. */
Test(runtime_hub_lanes, stopping_forgets_all_but_the_job_under_way)
{
    struct hub_lanes lanes;
    struct work works[3];

    hub_lanes_init(&lanes, wake_nobody, NULL);
    works[0] = (struct work){.job = {.run = run, .done = done}, .lanes = &lanes};
    hub_lanes_submit(&lanes, JOB_COMMIT, &works[0].job);
    while (!hub_lanes_ready(&lanes)) {
        (void)sched_yield();
    }
    for (unsigned i = 1; i < 3; i++) {
        works[i] = (struct work){
            .job = {.run = run_until_stopped, .done = done}, .lanes = &lanes, .number = i};
        hub_lanes_submit(&lanes, JOB_COMMIT, &works[i].job);
    }
    while (is_next(&lanes.lanes[JOB_COMMIT], &works[1].job)) {
        (void)sched_yield();
    }
    hub_lanes_stop(&lanes);
    cr_assert(works[1].ran, "it is waited for");
    cr_assert_not(works[2].ran);
    cr_assert_not(hub_lanes_ready(&lanes));
    cr_assert_not(hub_lanes_deliver(&lanes, 0));
    cr_assert_not(works[0].done, "also what has run is forgotten");
    hub_lanes_submit(&lanes, JOB_BACKGROUND, &works[2].job);
    hub_lanes_stop(&lanes);
    cr_assert_not(works[2].ran);
    cr_assert_eq(wrong, 0);
}

/* Whoever watches the process sees that a job does not come to its end. */
Test(runtime_hub_lanes, how_long_a_job_takes_is_seen_from_the_loop)
{
    struct hub_lanes lanes;
    struct work work = {.job = {.run = run_until_stopped, .done = done}, .lanes = &lanes};
    uint64_t busy_us = 0;

    hub_lanes_init(&lanes, wake_nobody, NULL);
    cr_assert_eq(hub_lanes_busy_us(&lanes, JOB_COMMIT, UINT64_MAX), 0);
    hub_lanes_submit(&lanes, JOB_COMMIT, &work.job);
    while (busy_us < 2000) {
        busy_us = hub_lanes_busy_us(&lanes, JOB_COMMIT, hub_now_us());
    }
    cr_assert_leq(busy_us, PROBE_DEADLINE_US);
    cr_assert_eq(hub_lanes_busy_us(&lanes, JOB_BACKGROUND, UINT64_MAX), 0);
    hub_lanes_stop(&lanes);
    cr_assert_eq(hub_lanes_busy_us(&lanes, JOB_COMMIT, UINT64_MAX), 0);
    cr_assert(work.ran);
}

/* A hub may be destroyed with jobs in its lanes. */
Test(runtime_hub_lanes, a_hub_stops_its_lanes_itself)
{
    static struct work works[MANY];
    struct probe probe = {.hub = NULL};
    unsigned before = count_threads();

    probe_open(&probe, NULL);
    for (unsigned i = 0; i < MANY; i++) {
        works[i] = (struct work){.job = {.run = run, .done = done}, .number = i};
        submit(&probe, &works[i]);
    }
    hub_destroy(&probe.hub);
    cr_assert_eq(count_threads(), before);
    cr_assert_eq(ndone[JOB_COMMIT], 0);
    cr_assert_eq(wrong, 0);
}

/* No thread to be had: slower, but all the same. */
Test(runtime_hub_lanes, without_a_thread_jobs_run_in_the_loop)
{
    struct probe probe = {.hub = NULL};
    struct work works[2];
    pthread_attr_t huge;

    probe_open(&probe, NULL);
    cr_assert_eq(pthread_attr_init(&huge), 0);
    cr_assert_eq(pthread_attr_setstacksize(&huge, (size_t)1 << 46), 0);
    cr_assert_eq(pthread_setattr_default_np(&huge), 0);
    for (unsigned i = 0; i < 2; i++) {
        works[i] = (struct work){.job = {.run = run, .done = done}, .number = i};
        submit(&probe, &works[i]);
        cr_assert(works[i].ran && !works[i].done, "done() comes in the loop all the same");
        cr_assert_eq(works[i].thread, getpid());
    }
    hub_run_once(probe.hub, 0);
    cr_assert(works[0].done && works[1].done);
    cr_assert_eq(wrong, 0);
    hub_destroy(&probe.hub);
}

static bool has_failed(void *context)
{
    return ((struct probe *)context)->timers > 0;
}

/* An actor that can't go on ends the run, at once: nothing else would wake this hub. */
Test(runtime_hub_lanes, an_actor_that_has_failed_ends_the_run)
{
    struct probe probe = {.hub = NULL};
    struct hub_options options = {.max_frame_bytes = 1};
    struct actor actor = {.self = &probe,
                          .on_request = probe_request,
                          .on_answer = probe_answer,
                          .turn = probe_turn,
                          .next_us = probe_next,
                          .time = probe_time,
                          .work = probe_work,
                          .over = has_failed};

    cr_assert_eq(hub_create(&options, &probe.hub), STATUS_OK);
    hub_attach(probe.hub, &actor);
    probe.next_us = hub_now_us();
    hub_run(probe.hub);
    cr_assert_eq(probe.timers, 1);
    hub_destroy(&probe.hub);
}
