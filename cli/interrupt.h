/* interrupt.h - Ctrl-C, for a command that can leave what it watches.
 *
 * The first one is noted, the second one ends the process as ever.
 *
 * Threads: interrupt_catch() before any other thread is started, or where only one cares.
 */
#ifndef ORBLOOM_CLI_INTERRUPT_H
#define ORBLOOM_CLI_INTERRUPT_H

#include <stdbool.h>

void interrupt_catch(void);

/* Since interrupt_catch(). */
bool interrupt_came(void);

#endif
