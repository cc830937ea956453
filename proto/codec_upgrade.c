/* What the processes of a cluster know, on its way to an operator. */
#include "proto/codec_field.h"

enum status codec_put_upgrade(const struct upgrade_page *page, struct codec_scratch *scratch,
                              Orbloom__V1__UpgradePage **out)
{
    Orbloom__V1__UpgradePage *wire;
    Orbloom__V1__ProcessFeatures *items;
    enum status status = STATUS_OK;

    if (page->known == 0) {
        return STATUS_OK; /* Another command's answer. */
    }
    wire = codec_scratch_take(scratch, 1, sizeof *wire);
    items = codec_scratch_take(scratch, page->nprocesses, sizeof *items);
    if (wire == NULL || items == NULL) {
        return STATUS_NOMEM;
    }
    *wire = (Orbloom__V1__UpgradePage)ORBLOOM__V1__UPGRADE_PAGE__INIT;
    wire->known = page->known;
    wire->in_use = page->in_use;
    wire->n_processes = page->nprocesses;
    wire->processes = codec_scratch_take(scratch, page->nprocesses, sizeof *wire->processes);
    if (wire->processes == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < page->nprocesses && status == STATUS_OK; i++) {
        const struct process_features *process = &page->processes[i];

        items[i] = (Orbloom__V1__ProcessFeatures)ORBLOOM__V1__PROCESS_FEATURES__INIT;
        items[i].kind = (Orbloom__V1__ProcessKind)process->kind;
        items[i].heard = process->heard;
        items[i].features = process->features;
        wire->processes[i] = &items[i];
        status = codec_put_text(process->name, &items[i].name);
    }
    *out = wire;
    return status;
}

enum status codec_get_upgrade(struct codec_arena *arena, const Orbloom__V1__UpgradePage *wire,
                              struct upgrade_page *page)
{
    struct process_features *processes;
    enum status status = STATUS_OK;

    *page = (struct upgrade_page){0};
    if (wire == NULL) {
        return STATUS_OK;
    }
    processes = arena_take(arena, wire->n_processes, sizeof *processes);
    if (processes == NULL) {
        return STATUS_TOO_LARGE;
    }
    for (size_t i = 0; i < wire->n_processes && status == STATUS_OK; i++) {
        if (!codec_enum_known((int)wire->processes[i]->kind, PROCESS_ROUTER)) {
            return STATUS_MALFORMED;
        }
        processes[i].kind = (enum process_kind)wire->processes[i]->kind;
        processes[i].heard = wire->processes[i]->heard != 0;
        processes[i].features = wire->processes[i]->features;
        status = codec_get_text(arena, wire->processes[i]->name, &processes[i].name);
    }
    *page = (struct upgrade_page){.known = wire->known,
                                  .in_use = wire->in_use,
                                  .processes = processes,
                                  .nprocesses = wire->n_processes};
    return status;
}
