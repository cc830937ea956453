/* terminal.h - can a test have a pseudo-terminal here? Some containers have none.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_TERMINAL_H
#define ORBLOOM_TESTS_SUPPORT_TERMINAL_H

/* NULL, or why not. */
const char *terminal_lacking(void);

/* Leave the test that calls it, where there is none; tools/run-tests.sh counts what is said. */
#define TERMINAL_OR_SKIP(name)                                        \
    do {                                                              \
        const char *lacking = terminal_lacking();                     \
                                                                      \
        if (lacking != NULL) {                                        \
            (void)fprintf(stderr, "SKIPPED %s: %s\n", name, lacking); \
            cr_skip_test("%s", lacking);                              \
        }                                                             \
    } while (0)

#endif
