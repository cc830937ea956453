/* Has a shell script run openssl, which makes all of them. */
#include "tests/support/certificates.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

void certificates_make(const char *folder)
{
    static const char script[] =
        "exec >/dev/null 2>&1; cd %s && E='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'; "
        "printf 'subjectAltName=IP:127.0.0.1\\n' >names; for who in ca other; do openssl req -x509 "
        "$E -days 2 -subj /CN=$who -keyout $who.key -out $who.pem || exit 1; done; "
        "for pair in ca:server ca:second ca:client other:stranger; do by=${pair%%:*}; "
        "who=${pair#*:}; "
        "openssl req $E -subj /CN=$who -keyout $who.key -out $who.csr && openssl x509 -req "
        "-in $who.csr -CA $by.pem -CAkey $by.key -CAcreateserial -days 2 -extfile names "
        "-out $who.pem || exit 1; done";
    char command[1024];
    int size = snprintf(command, sizeof command, script, folder);

    cr_assert(size > 0 && (size_t)size < sizeof command);
    cr_assert_eq(system(command), 0, "openssl makes no certificates; is it installed? (make deps)");
}
