/* memory.h - counted, bounded memory from the caller's allocator.
 *
 * Every allocation of the library goes through a struct mdf_memory, which counts what is held, refuses what would
 * pass its bound, and can say why it refused. Blocks are aligned for any type. */
#ifndef MDF_BASE_MEMORY_H
#define MDF_BASE_MEMORY_H

#include "mdf_c/mdf.h"

#include <stdatomic.h>

struct mdf_spares;
struct mdf_stop;

struct mdf_memory {
    mdf_allocator allocator;
    struct mdf_spares *spares; /* NULL: blocks that are released go back to the allocator at once */
    struct mdf_stop
        *stop; /* of the work that goes on, see mdf_stop_begin: once it is asked to stop, blocks are refused. NULL: none */
    atomic_size_t limit_bytes; /* 0: none; MDF_MEMORY_OF_MACHINE: what the machine has, which is not asked for yet */
    size_t elsewhere_bytes;    /* held by others, which count for the bound too */
    atomic_size_t used_bytes;
    atomic_size_t peak_bytes;
    atomic_size_t n_allocations; /* all calls that gave a new or moved block, for tests */
    atomic_bool limit_hit;       /* the bound, not the allocator, refused */
};

/* A bound that takes system calls to find out, as many as a small model takes to be read and evaluated: they are made once more
 * than MDF_MEMORY_OF_COURSE bytes are held, which any machine has. */
#define MDF_MEMORY_OF_MACHINE SIZE_MAX
#define MDF_MEMORY_OF_COURSE ((size_t)16 << 20)

/* `allocator` NULL: malloc. `limit_bytes` 0: no bound. */
void mdf_memory_init(struct mdf_memory *memory, const mdf_allocator *allocator, size_t limit_bytes);
/* What `other` holds now, and what that has been told to share its bound with, counts for the bound too. */
void mdf_memory_share_bound(struct mdf_memory *memory, const struct mdf_memory *other);
/* Whether the bound leaves room for so many bytes more, of memory that others allocate; where not, mdf_memory_error says so. */
bool mdf_memory_has_room(struct mdf_memory *memory, size_t size_bytes);

/* NULL when refused. A size of 0 gives a valid block. Contents are not initialised. */
void *mdf_memory_allocate(struct mdf_memory *memory, size_t size_bytes);
/* The same, zeroed, for `count` items; checks the product. */
void *mdf_memory_allocate_zeroed(struct mdf_memory *memory, size_t count, size_t size_bytes);
/* NULL when refused; the block is then as it was. `block` may be NULL. */
void *mdf_memory_resize(struct mdf_memory *memory, void *block, size_t size_bytes);
void mdf_memory_release(struct mdf_memory *memory, void *block);

/* memcpy and memset to zero, of any number of bytes, which for gigabytes takes seconds: false where it was left out in part, as
 * the work of this memory is to stop. */
bool mdf_memory_copy(struct mdf_memory *memory, void *target, const void *source, size_t n_bytes);
bool mdf_memory_zero(struct mdf_memory *memory, void *target, size_t n_bytes);

/* Keeps large blocks that are released for those that are asked for next, so that what lives for a short while, one after the
 * other, stays in the cache. They count as held until they are refused room to. False: memory ran out. */
bool mdf_memory_keep_spares(struct mdf_memory *memory);
/* Lets go of them; none are kept any more. */
void mdf_memory_drop_spares(struct mdf_memory *memory);

/* Asks for large pages where the whole of one lies inside a block: filling it then costs a hundredth of the page faults, which
 * are most of what it costs. Blocks that mdf_memory_allocate and mdf_memory_resize give are treated so already. */
void mdf_memory_prefer_large_pages(void *block, size_t size_bytes);

/* Sets `error` to OUT_OF_MEMORY, or LIMIT where the bound refused; returns that code. */
mdf_status mdf_memory_error(struct mdf_memory *memory, mdf_error *error);

/* a * b and a + b with a check: false on overflow. */
bool mdf_size_multiply(size_t a, size_t b, size_t *product);
bool mdf_size_add(size_t a, size_t b, size_t *sum);

/* Makes room for `needed` items in a growing array: the new block or NULL; *capacity is updated. */
void *mdf_memory_grow(struct mdf_memory *memory, void *items, size_t *capacity, size_t needed, size_t item_size);

#endif
