/* The table of duties. */
#include "coordinator/duty.h"

#include <stddef.h>

/* What begins drops comes before the duty that asks for their fences. */
const struct duty *const duties[] = {
    &duty_expiry, &duty_load,    &duty_sites, &duty_create, &duty_drop,
    &duty_rename, &duty_rebuild, &duty_loss,  &duty_change, &duty_expansion,
    &duty_window, &duty_dropped, &duty_rekey, &duty_uses,   NULL,
};
