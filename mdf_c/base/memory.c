/* memory.c - see memory.h. A block is preceded by its size, so that what is held can be counted. */
#include "mdf_c/base/memory.h"

#include "mdf_c/base/error.h"
#include "mdf_c/base/machine_memory.h"
#include "mdf_c/base/stop.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define FORBID(header) ASAN_POISON_MEMORY_REGION((header) + 1, (header)->size_bytes - sizeof *(header))
#define ALLOW(header) ASAN_UNPOISON_MEMORY_REGION((header) + 1, (header)->size_bytes - sizeof *(header))
#else
#define FORBID(header) ((void)(header))
#define ALLOW(header) ((void)(header))
#endif

union header {
    size_t size_bytes;
    max_align_t alignment;
};

enum {
    MAX_SPARES = 16,
    SPARE_BYTES = 32 << 10, /* of the smallest block that is kept */
    SPARE_RATIO = 4         /* a block is not used for what needs less than this part of it */
};

enum { BYTES_PER_LOOK = 16 << 20 }; /* copied or zeroed, with the page faults of fresh memory, in some ten milliseconds */

/* Blocks that were released, the one that has been so for longest first. Looked at by one thread at a time. */
struct mdf_spares {
    atomic_flag is_taken;
    size_t n;
    union header *blocks[MAX_SPARES];
};

static void *default_allocate(void *context, size_t size)
{
    (void)context;
    return malloc(size);
}

static void *default_reallocate(void *context, void *block, size_t size)
{
    (void)context;
    return realloc(block, size);
}

static void default_release(void *context, void *block)
{
    (void)context;
    free(block);
}

void mdf_memory_init(struct mdf_memory *memory, const mdf_allocator *allocator, size_t limit_bytes)
{
    static const mdf_allocator standard = {default_allocate, default_reallocate, default_release, NULL};

    memory->allocator = allocator != NULL ? *allocator : standard;
    memory->spares = NULL;
    memory->stop = NULL;
    atomic_init(&memory->limit_bytes, limit_bytes);
    memory->elsewhere_bytes = 0;
    atomic_init(&memory->used_bytes, 0);
    atomic_init(&memory->peak_bytes, 0);
    atomic_init(&memory->n_allocations, 0);
    atomic_init(&memory->limit_hit, false);
}

void mdf_memory_share_bound(struct mdf_memory *memory, const struct mdf_memory *other)
{
    memory->elsewhere_bytes += other->elsewhere_bytes + atomic_load_explicit(&other->used_bytes, memory_order_relaxed);
}

static size_t limit_of(struct mdf_memory *memory)
{
    size_t limit = atomic_load_explicit(&memory->limit_bytes, memory_order_relaxed);

    if (limit == MDF_MEMORY_OF_MACHINE) {
        limit = mdf_machine_memory();
        atomic_store_explicit(&memory->limit_bytes, limit, memory_order_relaxed);
    }
    return limit;
}

static bool is_within(struct mdf_memory *memory, size_t used)
{
    size_t limit = atomic_load_explicit(&memory->limit_bytes, memory_order_relaxed), all;

    if (limit == 0) {
        return true;
    }
    if (!mdf_size_add(memory->elsewhere_bytes, used, &all)) {
        return false;
    }
    if (limit == MDF_MEMORY_OF_MACHINE && all <= MDF_MEMORY_OF_COURSE) {
        return true;
    }
    limit = limit_of(memory);
    return limit == 0 || all <= limit;
}

bool mdf_memory_has_room(struct mdf_memory *memory, size_t size_bytes)
{
    size_t used = atomic_load_explicit(&memory->used_bytes, memory_order_relaxed);
    bool has_room = mdf_size_add(used, size_bytes, &used) && is_within(memory, used);

    if (!has_room) {
        atomic_store_explicit(&memory->limit_hit, true, memory_order_relaxed);
    }
    return has_room;
}

bool mdf_size_multiply(size_t a, size_t b, size_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

bool mdf_size_add(size_t a, size_t b, size_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

/* Whether `added` more bytes may be held; counts them. */
static bool reserve(struct mdf_memory *memory, size_t added)
{
    size_t used = atomic_fetch_add_explicit(&memory->used_bytes, added, memory_order_relaxed) + added;
    size_t peak = atomic_load_explicit(&memory->peak_bytes, memory_order_relaxed);

    if (!is_within(memory, used)) {
        atomic_fetch_sub_explicit(&memory->used_bytes, added, memory_order_relaxed);
        atomic_store_explicit(&memory->limit_hit, true, memory_order_relaxed);
        return false;
    }
    while (used > peak && !atomic_compare_exchange_weak(&memory->peak_bytes, &peak, used)) {
    }
    return true;
}

static void unreserve(struct mdf_memory *memory, size_t removed)
{
    atomic_fetch_sub_explicit(&memory->used_bytes, removed, memory_order_relaxed);
}

void mdf_memory_prefer_large_pages(void *block, size_t size_bytes)
{
#ifdef MADV_HUGEPAGE
    const size_t page = (size_t)1 << 21;
    size_t before = (page - (uintptr_t)block % page) % page;

    if (size_bytes >= before + page) {
        madvise((char *)block + before, (size_bytes - before) / page * page, MADV_HUGEPAGE);
    }
#else
    (void)block;
    (void)size_bytes;
#endif
}

/* ------------------------------------------------------------------ spares */

static void lock(struct mdf_spares *spares)
{
    while (atomic_flag_test_and_set_explicit(&spares->is_taken, memory_order_acquire)) {
    }
}

static void unlock(struct mdf_spares *spares)
{
    atomic_flag_clear_explicit(&spares->is_taken, memory_order_release);
}

static void give_back(struct mdf_memory *memory, union header *header)
{
    unreserve(memory, header->size_bytes);
    memory->allocator.release(memory->allocator.context, header);
}

static union header *remove_spare(struct mdf_spares *spares, size_t at)
{
    union header *header = spares->blocks[at];

    spares->n--;
    memmove(spares->blocks + at, spares->blocks + at + 1, (spares->n - at) * sizeof *spares->blocks);
    ALLOW(header);
    return header;
}

/* The smallest block for so many bytes, the latest of those; NULL: none fits. */
static union header *take_spare(struct mdf_spares *spares, size_t total)
{
    size_t best = MAX_SPARES;
    union header *header;

    if (spares == NULL || total < SPARE_BYTES) {
        return NULL;
    }
    lock(spares);
    for (size_t i = 0; i < spares->n; i++) {
        size_t size = spares->blocks[i]->size_bytes;

        if (size >= total && size / SPARE_RATIO <= total && (best == MAX_SPARES || size <= spares->blocks[best]->size_bytes)) {
            best = i;
        }
    }
    header = best == MAX_SPARES ? NULL : remove_spare(spares, best);
    unlock(spares);
    return header;
}

/* The block that has been spare for longest; NULL: there is none. */
static union header *take_oldest(struct mdf_spares *spares)
{
    union header *header;

    lock(spares);
    header = spares->n == 0 ? NULL : remove_spare(spares, 0);
    unlock(spares);
    return header;
}

/* Keeps a block; what it returns is to be given back, which is another one where there are too many, or NULL. */
static union header *keep_spare(struct mdf_spares *spares, union header *header)
{
    union header *left = NULL;

    if (spares == NULL || header->size_bytes < SPARE_BYTES) {
        return header;
    }
    lock(spares);
    if (spares->n == MAX_SPARES) {
        left = remove_spare(spares, 0);
    }
    FORBID(header);
    spares->blocks[spares->n++] = header;
    unlock(spares);
    return left;
}

static void give_back_spares(struct mdf_memory *memory)
{
    union header *header;

    while (memory->spares != NULL && (header = take_oldest(memory->spares)) != NULL) {
        give_back(memory, header);
    }
}

bool mdf_memory_keep_spares(struct mdf_memory *memory)
{
    if (memory->spares == NULL) {
        memory->spares = mdf_memory_allocate_zeroed(memory, 1, sizeof *memory->spares);
    }
    return memory->spares != NULL;
}

void mdf_memory_drop_spares(struct mdf_memory *memory)
{
    give_back_spares(memory);
    mdf_memory_release(memory, memory->spares);
    memory->spares = NULL;
}

/* ------------------------------------------------------------------ blocks */

/* A block of `total` bytes: `old`, which may be NULL, moved or made longer. NULL: refused. */
static union header *ask(struct mdf_memory *memory, union header *old, size_t total)
{
    size_t held = old == NULL ? 0 : old->size_bytes;
    union header *header;

    if (total > held && !reserve(memory, total - held)) {
        return NULL;
    }
    header = old == NULL ? memory->allocator.allocate(memory->allocator.context, total)
                         : memory->allocator.reallocate(memory->allocator.context, old, total);
    if (header == NULL && total > held) {
        unreserve(memory, total - held);
    }
    return header;
}

/* The same; before it is refused, spare blocks are let go. */
static union header *get_block(struct mdf_memory *memory, union header *old, size_t total)
{
    size_t held = old == NULL ? 0 : old->size_bytes;
    union header *header = ask(memory, old, total);

    if (header == NULL && memory->spares != NULL) {
        atomic_store_explicit(&memory->limit_hit, false, memory_order_relaxed);
        give_back_spares(memory);
        header = ask(memory, old, total);
    }
    if (header == NULL) {
        return NULL;
    }
    if (total < held) {
        unreserve(memory, held - total);
    } else {
        mdf_memory_prefer_large_pages(header, total);
    }
    atomic_fetch_add_explicit(&memory->n_allocations, 1, memory_order_relaxed);
    header->size_bytes = total;
    return header;
}

void *mdf_memory_allocate(struct mdf_memory *memory, size_t size_bytes)
{
    union header *header;
    size_t total;

    if (!mdf_size_add(size_bytes, sizeof *header, &total) || mdf_stop_heed(memory->stop)) {
        return NULL;
    }
    header = take_spare(memory->spares, total);
    if (header != NULL) {
        return header + 1;
    }
    header = get_block(memory, NULL, total);
    return header == NULL ? NULL : header + 1;
}

void *mdf_memory_allocate_zeroed(struct mdf_memory *memory, size_t count, size_t size_bytes)
{
    size_t total;
    void *block;

    if (!mdf_size_multiply(count, size_bytes, &total)) {
        return NULL;
    }
    block = mdf_memory_allocate(memory, total);
    if (block != NULL && !mdf_memory_zero(memory, block, total)) {
        mdf_memory_release(memory, block);
        block = NULL;
    }
    return block;
}

void *mdf_memory_resize(struct mdf_memory *memory, void *block, size_t size_bytes)
{
    union header *header;
    size_t total;

    if (block == NULL) {
        return mdf_memory_allocate(memory, size_bytes);
    }
    if (!mdf_size_add(size_bytes, sizeof *header, &total) || mdf_stop_heed(memory->stop)) {
        return NULL;
    }
    header = get_block(memory, (union header *)block - 1, total);
    return header == NULL ? NULL : header + 1;
}

void mdf_memory_release(struct mdf_memory *memory, void *block)
{
    union header *header;

    if (block == NULL) {
        return;
    }
    header = keep_spare(memory->spares, (union header *)block - 1);
    if (header != NULL) {
        give_back(memory, header);
    }
}

/* ------------------------------------------------------------------ bytes */

bool mdf_memory_copy(struct mdf_memory *memory, void *target, const void *source, size_t n_bytes)
{
    while (n_bytes > BYTES_PER_LOOK) {
        if (mdf_stop_heed(memory->stop)) {
            return false;
        }
        memcpy(target, source, BYTES_PER_LOOK);
        target = (char *)target + BYTES_PER_LOOK;
        source = (const char *)source + BYTES_PER_LOOK;
        n_bytes -= BYTES_PER_LOOK;
    }
    if (n_bytes > 0) {
        memcpy(target, source, n_bytes);
    }
    return true;
}

bool mdf_memory_zero(struct mdf_memory *memory, void *target, size_t n_bytes)
{
    while (n_bytes > BYTES_PER_LOOK) {
        if (mdf_stop_heed(memory->stop)) {
            return false;
        }
        memset(target, 0, BYTES_PER_LOOK);
        target = (char *)target + BYTES_PER_LOOK;
        n_bytes -= BYTES_PER_LOOK;
    }
    if (n_bytes > 0) {
        memset(target, 0, n_bytes);
    }
    return true;
}

mdf_status mdf_memory_error(struct mdf_memory *memory, mdf_error *error)
{
    if (atomic_load_explicit(&memory->limit_hit, memory_order_relaxed)) {
        return mdf_error_set(error, MDF_LIMIT,
                             "more than the %zu bytes that --max-memory (max_memory_bytes) allows are needed; a larger number, "
                             "or none, allows more",
                             limit_of(memory));
    }
    return mdf_error_set(error, MDF_OUT_OF_MEMORY, "out of memory");
}

void *mdf_memory_grow(struct mdf_memory *memory, void *items, size_t *capacity, size_t needed, size_t item_size)
{
    size_t wanted = *capacity < 8 ? 8 : *capacity, bytes;
    void *grown;

    while (wanted < needed) {
        if (!mdf_size_multiply(wanted, 2, &wanted)) {
            return NULL;
        }
    }
    if (!mdf_size_multiply(wanted, item_size, &bytes)) {
        return NULL;
    }
    grown = mdf_memory_resize(memory, items, bytes);
    if (grown != NULL) {
        *capacity = wanted;
    }
    return grown;
}
