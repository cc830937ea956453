/* Daemons log what is wrong with such a file; a command's word goes to who typed it. */
#include "cli/secret_file.h"

#include "cli/cmd.h"

enum status secret_file_read(const struct file_secret *secret, const char *path,
                             file_parse_fn parse, void *context)
{
    char why[FILE_REASON_BYTES];
    enum status status = file_read_secret_quietly(secret, path, parse, context, why);

    if (status != STATUS_OK) {
        (void)cmd_fail(status, "%s", why);
    }
    return status;
}
