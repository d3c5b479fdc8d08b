/* schedule_record.c - see schedule_record.h. */
#include "mdf_c/run/schedule/schedule_record.h"

void mdf_schedule_record_clear(struct mdf_schedule_record *record)
{
    record->n_sets = record->n_nodes = 0;
}

void mdf_schedule_record_release(struct mdf_schedule_record *record, struct mdf_memory *memory)
{
    mdf_memory_release(memory, record->nodes);
    mdf_memory_release(memory, record->sets);
}

bool mdf_schedule_record_set(struct mdf_schedule_record *record, struct mdf_memory *memory, uint64_t pass, int64_t ticks)
{
    if (record->n_sets == record->set_capacity) {
        struct mdf_recorded_set *grown =
            mdf_memory_grow(memory, record->sets, &record->set_capacity, record->n_sets + 1, sizeof *grown);

        if (grown == NULL) {
            return false;
        }
        record->sets = grown;
    }
    record->sets[record->n_sets++] = (struct mdf_recorded_set){record->n_nodes, pass, ticks};
    return true;
}

bool mdf_schedule_record_node(struct mdf_schedule_record *record, struct mdf_memory *memory, size_t node)
{
    if (record->n_nodes == record->node_capacity) {
        uint32_t *grown = mdf_memory_grow(memory, record->nodes, &record->node_capacity, record->n_nodes + 1, sizeof *grown);

        if (grown == NULL) {
            return false;
        }
        record->nodes = grown;
    }
    record->nodes[record->n_nodes++] = (uint32_t)node;
    return true;
}

void mdf_schedule_record_cut(struct mdf_schedule_record *record, size_t n_nodes)
{
    record->n_nodes = n_nodes;
    while (record->n_sets > 0 && record->sets[record->n_sets - 1].first_node >= n_nodes) {
        record->n_sets--;
    }
}

bool mdf_schedule_record_copy(struct mdf_schedule_record *target, struct mdf_memory *memory,
                              const struct mdf_schedule_record *source)
{
    mdf_schedule_record_clear(target);
    for (size_t set = 0; set < source->n_sets; set++) {
        const struct mdf_recorded_set *recorded = &source->sets[set];

        if (!mdf_schedule_record_set(target, memory, recorded->pass, recorded->ticks)) {
            return false;
        }
        for (size_t i = 0; i < mdf_schedule_record_size(source, set); i++) {
            if (!mdf_schedule_record_node(target, memory, source->nodes[recorded->first_node + i])) {
                return false;
            }
        }
    }
    return true;
}

size_t mdf_schedule_record_size(const struct mdf_schedule_record *record, size_t set)
{
    size_t end = set + 1 < record->n_sets ? record->sets[set + 1].first_node : record->n_nodes;

    return end - record->sets[set].first_node;
}
