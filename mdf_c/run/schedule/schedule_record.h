/* schedule_record.h - which nodes ran in an evaluation, set by set, pass by pass. */
#ifndef MDF_RUN_SCHEDULE_SCHEDULE_RECORD_H
#define MDF_RUN_SCHEDULE_SCHEDULE_RECORD_H

#include "mdf_c/base/memory.h"

#include <stdint.h>

/* An execution set: nodes[first_node ...] up to the next set's. */
struct mdf_recorded_set {
    size_t first_node;
    uint64_t pass; /* counted from 0 */
    int64_t ticks; /* absolute time, where it runs */
};

struct mdf_schedule_record {
    uint32_t *nodes;
    struct mdf_recorded_set *sets;
    size_t n_nodes, node_capacity, n_sets, set_capacity;
};

void mdf_schedule_record_clear(struct mdf_schedule_record *record);
void mdf_schedule_record_release(struct mdf_schedule_record *record, struct mdf_memory *memory);
/* Opens a set, which is empty. False: out of memory. */
bool mdf_schedule_record_set(struct mdf_schedule_record *record, struct mdf_memory *memory, uint64_t pass, int64_t ticks);
/* Adds a node to the last set. */
bool mdf_schedule_record_node(struct mdf_schedule_record *record, struct mdf_memory *memory, size_t node);
/* Cuts the record to its first `n_nodes` nodes, and the sets that they are in. */
void mdf_schedule_record_cut(struct mdf_schedule_record *record, size_t n_nodes);
/* False: out of memory. */
bool mdf_schedule_record_copy(struct mdf_schedule_record *target, struct mdf_memory *memory,
                              const struct mdf_schedule_record *source);
/* Number of nodes in a set that there is. */
size_t mdf_schedule_record_size(const struct mdf_schedule_record *record, size_t set);

#endif
