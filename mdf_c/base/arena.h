/* arena.h - memory of one lifetime: allocated piece by piece, released at once. */
#ifndef MDF_BASE_ARENA_H
#define MDF_BASE_ARENA_H

#include "mdf_c/base/memory.h"
#include "mdf_c/base/printf_like.h"

#include <stdarg.h>

struct mdf_arena_chunk;

struct mdf_arena {
    struct mdf_memory *memory;
    struct mdf_arena_chunk *chunks;
    bool has_refused; /* a piece, since it was made: what is missing since then may be missing for that reason */
};

void mdf_arena_init(struct mdf_arena *arena, struct mdf_memory *memory);
void mdf_arena_release(struct mdf_arena *arena);

/* Zeroed memory, aligned for any type; NULL when out of memory. */
void *mdf_arena_allocate(struct mdf_arena *arena, size_t size_bytes);
/* The same for `count` items; checks the product. */
void *mdf_arena_array(struct mdf_arena *arena, size_t count, size_t item_size);
/* A copy of `length` bytes, terminated. */
char *mdf_arena_text(struct mdf_arena *arena, const char *text, size_t length);
char *mdf_arena_printf(struct mdf_arena *arena, const char *format, ...) MDF_PRINTF_LIKE(2, 3);
char *mdf_arena_vprintf(struct mdf_arena *arena, const char *format, va_list arguments) MDF_PRINTF_LIKE(2, 0);

#endif
