/* shell_machine.h - the machine that a node runs on.
 *
 * Errors:  what the kernel does not tell has a value of its own, named below.
 * Threads: any; no state.
 */
#ifndef ORBLOOM_NODE_SHELL_MACHINE_H
#define ORBLOOM_NODE_SHELL_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* Which boot of the kernel this is: another number after each start of the machine. 0: the kernel
 * does not tell. */
uint64_t machine_boot(void);

/* The machine's name, other bytes than [A-Za-z0-9._:-] as '-'; "localhost" when it has none. */
void machine_host(char *name, size_t size);

/* Memory that programs can still have without swapping, in bytes; 0 when unknown. */
uint64_t machine_memory_available(void);

#endif
