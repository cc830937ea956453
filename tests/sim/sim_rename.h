/* sim_rename.h - names that are dropped, created anew and given to other filters, over and over,
 * under all faults.
 *
 * What is on its way when an operator gives up may arrive whenever it likes: when the name is bound
 * to another filter, say.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_RENAME_H
#define ORBLOOM_TESTS_SIM_RENAME_H

struct sim;

void sim_rename_begin(struct sim *sim);

#endif
