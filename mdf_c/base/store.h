/* store.h - bytes that several owners share and none may change: a part of the memory, or a file mapped into it.
 *
 * Weights lie in stores, so that a document, the programs compiled from it and what they evaluate hold one copy. A store outlives
 * the struct mdf_memory that it was made with: it keeps the allocator, and is not counted as held by that memory. */
#ifndef MDF_BASE_STORE_H
#define MDF_BASE_STORE_H

#include "mdf_c/base/memory.h"

struct mdf_store;

/* Arrays of fewer bytes are copied: an owner more costs as much as it saves. */
enum { MDF_STORE_LEAST_BYTES = 1 << 16 };

/* New bytes, aligned for any type and not initialised, for the caller to write before others see them; NULL when refused. */
struct mdf_store *mdf_store_allocate(struct mdf_memory *memory, size_t size_bytes);
/* The first `size_bytes` of an open regular file; NULL where it can not be mapped. The file may be closed afterwards; its bytes
 * must not change while the store lives. */
struct mdf_store *mdf_store_map(struct mdf_memory *memory, int file, size_t size_bytes);

/* NULL stays NULL. */
struct mdf_store *mdf_store_share(struct mdf_store *store);
void mdf_store_release(struct mdf_store *store);

void *mdf_store_bytes(const struct mdf_store *store);
size_t mdf_store_size(const struct mdf_store *store);

/* Says that a part of a mapped file has been read for the last time: it need not stay in memory. */
void mdf_store_forget(const struct mdf_store *store, const void *part, size_t size_bytes);

#endif
