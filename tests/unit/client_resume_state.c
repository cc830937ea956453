/* A state is taken by the same keys for the same filter alone, and says what is another; a bent one
 * is none. */
#include "cli/resume/state.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const struct resume_file files[] = {{1000, UINT64_MAX, 7}, {2000, 43, 8}};

static struct resume_state sample(void)
{
    return (struct resume_state){.filter = {1, 2},
                                 .acks = 3,
                                 .files = files,
                                 .nfiles = 2,
                                 .keyset = UINT32_MAX,
                                 .at = {1, 2000, 5},
                                 .lines = UINT64_MAX};
}

static struct buffer kept;

static void forget(void)
{
    buffer_fini(&kept);
}

TestSuite(resume_state, .fini = forget);

/* Good until the next call. */
static struct span text_of(const struct resume_state *state)
{
    buffer_fini(&kept);
    buffer_init(&kept, RESUME_STATE_MAX_BYTES);
    cr_assert_eq(resume_state_write(state, &kept), STATUS_OK);
    return buffer_span(&kept);
}

static void expect_read(struct resume_state now, struct span text, enum resume_verdict verdict)
{
    size_t file = 99;

    now.at = (struct key_place){0};
    now.lines = 0;
    cr_assert_eq(resume_state_read(&now, text, &file), verdict);
    cr_assert(verdict == RESUME_SAME || (now.at.offset == 0 && now.lines == 0));
    cr_assert(verdict != RESUME_OTHER_FILE || file == 1);
}

Test(resume_state, the_place_is_taken_from_one_of_the_same)
{
    struct resume_state written = sample();
    struct resume_state now = sample();
    size_t file;

    now.at = (struct key_place){0};
    now.lines = 0;
    now.keyset = 1;
    cr_assert_eq(resume_state_read(&now, text_of(&written), &file), RESUME_SAME);
    cr_assert_eq(now.keyset, UINT32_MAX, "of when it began");
    cr_assert_eq(now.at.file, 1);
    cr_assert_eq(now.at.offset, 2000);
    cr_assert_eq(now.at.line, 5);
    cr_assert_eq(now.lines, UINT64_MAX);
}

Test(resume_state, what_is_another_is_named)
{
    struct resume_state written = sample();
    struct resume_file changed[] = {files[0], {2000, 44, 8}};
    struct resume_state now = sample();

    now.filter.low++;
    expect_read(now, text_of(&written), RESUME_OTHER_FILTER);
    now = sample();
    now.nul = true;
    expect_read(now, text_of(&written), RESUME_OTHER_KEYS);
    now = sample();
    now.acks = 2;
    expect_read(now, text_of(&written), RESUME_OTHER_ACKS);
    now = sample();
    now.nfiles = 1;
    expect_read(now, text_of(&written), RESUME_OTHER_LIST);
    now = sample();
    now.files = changed;
    expect_read(now, text_of(&written), RESUME_OTHER_FILE);
}

Test(resume_state, one_that_is_cut_or_goes_on_is_none)
{
    struct resume_state state = sample();
    struct span whole = text_of(&state);
    static uint8_t more[1024];

    for (size_t size = 0; size < whole.size; size++) {
        expect_read(sample(), span_of(whole.data, size), RESUME_NO_STATE);
    }
    memcpy(more, whole.data, whole.size);
    more[whole.size] = '\n';
    expect_read(sample(), span_of(more, whole.size + 1), RESUME_NO_STATE);
}

Test(resume_state, a_keyset_that_is_none_is_refused)
{
    static const char *const bent[] = {"keyset", "keyset 4294967296", "keyset 1 ", "keyset -1",
                                       "keysets 1"};
    struct resume_state state = sample();
    struct span whole = text_of(&state);
    static const char tail[] = "at 1 2000 5 18446744073709551615\nend\n";
    size_t head = whole.size - strlen(tail) - strlen("keyset 4294967295\n");

    for (size_t i = 0; i < sizeof bent / sizeof bent[0]; i++) {
        char text[1024];
        int size = snprintf(text, sizeof text, "%.*s%s\n%s", (int)head, (const char *)whole.data,
                            bent[i], tail);

        expect_read(sample(), span_of(text, (size_t)size), RESUME_NO_STATE);
    }
}

Test(resume_state, a_place_that_no_file_has_is_refused)
{
    static const char *const places[] = {
        "at 2 0 0 0",  "at 1 2001 0 0", "at 18446744073709551616 0 0 0",
        "at 0 -1 0 0", "at 0 1 0",      "at 0 1 0 0 0",
        "at 0 1 0 ",   "at  0 1 0 0",   "at"};
    struct resume_state state = sample();
    struct span whole = text_of(&state);
    size_t head = whole.size - strlen("at 1 2000 5 18446744073709551615\nend\n");

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char text[1024];
        int size = snprintf(text, sizeof text, "%.*s%s\nend\n", (int)head, (const char *)whole.data,
                            places[i]);

        expect_read(sample(), span_of(text, (size_t)size), RESUME_NO_STATE);
    }
}
