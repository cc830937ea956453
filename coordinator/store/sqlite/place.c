/* Knows file systems of other machines by the kernel's numbers: SQLite's locks can't be relied
 * upon there. */
#include "coordinator/store/sqlite/place.h"

#include "base/heap.h"

#include <libgen.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/vfs.h>

/* Numbers of the kernel: include/uapi/linux/magic.h and the file systems' own. Those of FUSE may be
 * anything, and are let through, as are those by which virtual machines see their host's disk. */
static const struct {
    uint32_t type;
    const char *name;
} networks[] = {
    {0x00006969, "NFS"}, {0xff534d42, "SMB"}, {0xfe534d42, "SMB"},    {0x0000517b, "SMB"},
    {0x5346414f, "AFS"}, {0x6b414653, "AFS"}, {0x00c36400, "CephFS"}, {0x0bd00bd0, "Lustre"},
};

const char *store_sqlite_place_network(unsigned long type)
{
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++) {
        if ((uint32_t)type == networks[i].type) { /* Some kernels extend the sign. */
            return networks[i].name;
        }
    }
    return NULL;
}

const char *store_sqlite_place_of(const char *path)
{
    char *copy = heap_strdup(path);
    const char *network = NULL;
    struct statfs place;

    if (copy != NULL && statfs(dirname(copy), &place) == 0) {
        network = store_sqlite_place_network((unsigned long)place.f_type);
    }
    heap_free(copy);
    return network;
}
