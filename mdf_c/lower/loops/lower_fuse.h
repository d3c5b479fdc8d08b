/* lower_fuse.h - for lower_fuse.c and lower_absorb.c: what stands between two loops and makes something of what the first stacks,
 * item by item, becomes a part of its body, so that the second one goes through what the first stacks. */
#ifndef MDF_LOWER_LOWER_FUSE_H
#define MDF_LOWER_LOWER_FUSE_H

#include "mdf_c/lower/lowering.h"

enum {
    MOST_ABSORBED = 32, /* values and ops */
    FEW_ELEMENTS = 64 /* of an array: to go through it takes no longer than to wait for what comes out of it, or to call for it */
};

/* What would become a part of the first loop. Nothing changes before absorption_commit, but that there are some values more, not
 * more than MOST_ABSORBED, which nothing reads. */
struct absorption {
    struct lowering *lowering;
    const struct region *region;
    size_t first, second; /* the loops: ops of the region */
    const bool *follows;  /* of each value: it depends on the first loop */
    size_t n_values;      /* that `follows` knows */
    struct mdf_lowered_op ops[MOST_ABSORBED];
    size_t absorbed[MOST_ABSORBED]; /* of the region: the op that each stands for; SIZE_MAX: none */
    size_t n_ops;
    struct mdf_lowered_stack stacks[MOST_ABSORBED]; /* of what they make */
    size_t n_stacks;
    struct mdf_lowered_rows rows[MOST_ABSORBED]; /* besides those that the loop has */
    size_t n_rows;
    size_t n_new;  /* values */
    bool is_short; /* a function that is called would be so for each short item */
};

/* What an array is in each run of the first loop: an item of one of its stacks, or of what is made of them. NONE: it is not. */
mdf_lowered_id absorption_item(struct absorption *absorption, mdf_lowered_id id, bool is_reversed);
bool absorption_has(const struct absorption *absorption, size_t op);
/* False: memory ran out. */
bool absorption_commit(struct absorption *absorption);

/* Memory for both, one behind the other, and one more; NULL: it ran out. */
void *lowering_join_arrays(struct mdf_arena *arena, const void *first, size_t n_first, const void *second, size_t n_second,
                           size_t size);

#endif
