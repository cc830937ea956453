/* What a node asks of the machine that it runs on. */
#include "node/shell_machine.h"

#include <criterion/criterion.h>

Test(node_machine, the_boot_of_the_kernel_is_known_and_stays)
{
    uint64_t boot = machine_boot();

    cr_assert_neq(boot, 0);
    cr_assert_eq(machine_boot(), boot);
}

Test(node_machine, it_has_memory)
{
    cr_assert_gt(machine_memory_available(), 1 << 20);
}
