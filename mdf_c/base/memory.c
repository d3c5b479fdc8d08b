/* memory.c - see memory.h. A block is preceded by its size, so that what is held can be counted. */
#include "mdf_c/base/memory.h"

#include "mdf_c/base/error.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

union header {
    size_t size_bytes;
    max_align_t alignment;
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
    memory->limit_bytes = limit_bytes;
    atomic_init(&memory->used_bytes, 0);
    atomic_init(&memory->peak_bytes, 0);
    atomic_init(&memory->n_allocations, 0);
    atomic_init(&memory->limit_hit, false);
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

    if (memory->limit_bytes != 0 && used > memory->limit_bytes) {
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

void *mdf_memory_allocate(struct mdf_memory *memory, size_t size_bytes)
{
    union header *header;
    size_t total;

    if (!mdf_size_add(size_bytes, sizeof *header, &total) || !reserve(memory, total)) {
        return NULL;
    }
    header = memory->allocator.allocate(memory->allocator.context, total);
    if (header == NULL) {
        unreserve(memory, total);
        return NULL;
    }
    mdf_memory_prefer_large_pages(header, total);
    atomic_fetch_add_explicit(&memory->n_allocations, 1, memory_order_relaxed);
    header->size_bytes = total;
    return header + 1;
}

void *mdf_memory_allocate_zeroed(struct mdf_memory *memory, size_t count, size_t size_bytes)
{
    size_t total;
    void *block;

    if (!mdf_size_multiply(count, size_bytes, &total)) {
        return NULL;
    }
    block = mdf_memory_allocate(memory, total);
    if (block != NULL) {
        memset(block, 0, total);
    }
    return block;
}

void *mdf_memory_resize(struct mdf_memory *memory, void *block, size_t size_bytes)
{
    union header *header, *moved;
    size_t total, old;

    if (block == NULL) {
        return mdf_memory_allocate(memory, size_bytes);
    }
    header = (union header *)block - 1;
    old = header->size_bytes;
    if (!mdf_size_add(size_bytes, sizeof *header, &total) || (total > old && !reserve(memory, total - old))) {
        return NULL;
    }
    moved = memory->allocator.reallocate(memory->allocator.context, header, total);
    if (moved == NULL) {
        if (total > old) {
            unreserve(memory, total - old);
        }
        return NULL;
    }
    if (total < old) {
        unreserve(memory, old - total);
    } else {
        mdf_memory_prefer_large_pages(moved, total);
    }
    atomic_fetch_add_explicit(&memory->n_allocations, 1, memory_order_relaxed);
    moved->size_bytes = total;
    return moved + 1;
}

void mdf_memory_release(struct mdf_memory *memory, void *block)
{
    union header *header;

    if (block == NULL) {
        return;
    }
    header = (union header *)block - 1;
    unreserve(memory, header->size_bytes);
    memory->allocator.release(memory->allocator.context, header);
}

mdf_status mdf_memory_error(struct mdf_memory *memory, mdf_error *error)
{
    if (atomic_load_explicit(&memory->limit_hit, memory_order_relaxed)) {
        return mdf_error_set(error, MDF_LIMIT, "more than the %zu bytes that --max-memory (max_memory_bytes) allows are needed",
                             memory->limit_bytes);
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
