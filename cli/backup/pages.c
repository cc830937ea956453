/* A router that works on a page is not silent. */
#include "cli/backup/pages.h"

#include "cli/cmd.h"

enum { SILENCE_US = 5000000 };

int pages_dial(const struct flags_common *common, struct channel **out)
{
    struct channel_options options = flags_channel(common);
    char reason[CHANNEL_REASON_BYTES];
    enum status status;

    options.attempt_us = SILENCE_US;
    status = channel_open(&options, out, reason);
    return status == STATUS_OK ? CMD_OK : cmd_fail(status, "%s", reason);
}
