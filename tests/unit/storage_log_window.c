/* How much of a file is read for whom: little for who wants a piece, ever more for who reads on. */
#include "log/log_window.h"
#include "tests/support/memory_disk.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { FILE_BYTES = 4 << 20, PIECE = 100, KIB = 1024 };

static struct memory_disk *disk;
static struct log_window window;
static uint8_t *content;

static void open_window(void)
{
    content = malloc(FILE_BYTES);
    cr_assert_not_null(content);
    for (uint32_t i = 0; i < FILE_BYTES; i++) {
        content[i] = (uint8_t)(i * UINT32_C(2654435761) >> 24);
    }
    disk = memory_disk_create();
    memory_disk_put(disk, "file", span_of(content, FILE_BYTES));
    log_window_init(&window, memory_disk_seam(disk));
    cr_assert_eq(log_window_open(&window, "file"), STATUS_OK);
}

static void close_window(void)
{
    log_window_fini(&window);
    memory_disk_destroy(&disk);
    free(content);
}

/* What a look at a piece there made the disk read. */
static uint64_t look(uint64_t place, size_t wanted)
{
    uint64_t before = memory_disk_reads(disk);
    struct span bytes;

    cr_assert_eq(log_window_at(&window, place, wanted, &bytes), STATUS_OK);
    cr_assert_geq(bytes.size, wanted);
    cr_assert_arr_eq(bytes.data, content + place, wanted);
    return memory_disk_reads(disk) - before;
}

Test(log_window, a_piece_here_and_there_costs_little)
{
    open_window();
    for (uint64_t place = FILE_BYTES - KIB; place > 300 * KIB; place -= 300 * KIB) {
        cr_assert_leq(look(place, PIECE), 16 * KIB);
    }
    cr_assert_eq(look(300 * KIB, 100 * KIB), 100 * KIB, "no more than is wanted, if that is more");
    close_window();
}

Test(log_window, who_reads_on_gets_ever_more)
{
    uint64_t most = 0;
    uint64_t reads = 0;

    open_window();
    for (uint64_t place = 0; place + PIECE <= FILE_BYTES; place += PIECE) {
        uint64_t read = look(place, PIECE);

        most = read > most ? read : most;
        reads += read > 0;
    }
    cr_assert_eq(most, 256 * KIB);
    cr_assert_lt(reads, 30);
    cr_assert_eq(log_window_open(&window, "file"), STATUS_OK);
    cr_assert_leq(look(0, PIECE), 16 * KIB, "another file begins anew");
    close_window();
}
