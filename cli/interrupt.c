/* A handler that only notes the first Ctrl-C, for the command to look at; a second one ends the
 * process. */
#include "cli/interrupt.h"

#include <signal.h>

static volatile sig_atomic_t came;

static void on_interrupt(int number)
{
    (void)number;
    came = 1;
}

void interrupt_catch(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};

    came = 0;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
}

bool interrupt_came(void)
{
    return came != 0;
}
