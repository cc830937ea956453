/* sim_rename.h - names that are dropped, created anew and given to other filters, over and over,
 * under all faults.
 *
 * In the other scenarios an operator drops by name, and what is left of a command dies with it. In
 * RENAME drops name the filter by its id, as the `orbloom` command does, and what is on its way
 * when the operator gives up may arrive whenever it likes: when the name is bound to another
 * filter, say. Renames go by name, as the command does; what is left of one dies with it.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_RENAME_H
#define ORBLOOM_TESTS_SIM_RENAME_H

struct sim;

void sim_rename_begin(struct sim *sim);

#endif
