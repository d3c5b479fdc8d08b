/* store.c - see store.h. */
#include "mdf_c/base/store.h"

#include <sys/mman.h>
#include <unistd.h>

struct mdf_store {
    atomic_size_t n_owners;
    mdf_allocator allocator;
    void *bytes;
    size_t size_bytes;
    bool is_mapped; /* else the bytes lie behind the store */
};

struct mdf_store *mdf_store_allocate(struct mdf_memory *memory, size_t size_bytes)
{
    const size_t unit = sizeof(max_align_t), head = (sizeof(struct mdf_store) + unit - 1) / unit * unit;
    const mdf_allocator *allocator = &memory->allocator;
    struct mdf_store *store;
    size_t total;

    store = mdf_size_add(head, size_bytes, &total) ? allocator->allocate(allocator->context, total) : NULL;
    if (store != NULL) {
        mdf_memory_prefer_large_pages(store, total);
        atomic_init(&store->n_owners, 1);
        store->allocator = *allocator;
        store->bytes = (char *)store + head;
        store->size_bytes = size_bytes;
        store->is_mapped = false;
    }
    return store;
}

struct mdf_store *mdf_store_map(struct mdf_memory *memory, int file, size_t size_bytes)
{
    struct mdf_store *store = mdf_store_allocate(memory, 0);
    void *bytes = store != NULL ? mmap(NULL, size_bytes, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;

    if (bytes == MAP_FAILED) {
        mdf_store_release(store);
        return NULL;
    }
    store->bytes = bytes;
    store->size_bytes = size_bytes;
    store->is_mapped = true;
    return store;
}

struct mdf_store *mdf_store_share(struct mdf_store *store)
{
    if (store != NULL) {
        atomic_fetch_add_explicit(&store->n_owners, 1, memory_order_relaxed);
    }
    return store;
}

void mdf_store_release(struct mdf_store *store)
{
    if (store == NULL || atomic_fetch_sub_explicit(&store->n_owners, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (store->is_mapped) {
        munmap(store->bytes, store->size_bytes);
    }
    store->allocator.release(store->allocator.context, store);
}

void *mdf_store_bytes(const struct mdf_store *store)
{
    return store->bytes;
}

size_t mdf_store_size(const struct mdf_store *store)
{
    return store->size_bytes;
}

void mdf_store_forget(const struct mdf_store *store, const void *part, size_t size_bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t first, end;

    if (!store->is_mapped) {
        return;
    }
    first = (size_t)((const char *)part - (const char *)store->bytes);
    end = (first + size_bytes) / page * page; /* pages that lie wholly inside */
    first = (first + page - 1) / page * page;
    if (first < end) {
        madvise((char *)store->bytes + first, end - first, MADV_DONTNEED);
    }
}
