/* arena.c - see arena.h. Chunks double in size up to a bound; a large piece gets a chunk of its own. */
#include "mdf_c/base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_CHUNK_BYTES = 4096, LARGEST_CHUNK_BYTES = 1 << 20 };

struct mdf_arena_chunk {
    struct mdf_arena_chunk *next;
    size_t size_bytes, used_bytes;
    max_align_t data[];
};

void mdf_arena_init(struct mdf_arena *arena, struct mdf_memory *memory)
{
    arena->memory = memory;
    arena->chunks = NULL;
    arena->has_refused = false;
}

void mdf_arena_release(struct mdf_arena *arena)
{
    while (arena->chunks != NULL) {
        struct mdf_arena_chunk *chunk = arena->chunks;

        arena->chunks = chunk->next;
        mdf_memory_release(arena->memory, chunk);
    }
}

static struct mdf_arena_chunk *add_chunk(struct mdf_arena *arena, size_t least_bytes)
{
    struct mdf_arena_chunk *chunk;
    size_t size = arena->chunks == NULL ? FIRST_CHUNK_BYTES : arena->chunks->size_bytes * 2, total;

    size = size > LARGEST_CHUNK_BYTES ? LARGEST_CHUNK_BYTES : size;
    size = size < least_bytes ? least_bytes : size;
    if (!mdf_size_add(size, sizeof *chunk, &total)) {
        return NULL;
    }
    chunk = mdf_memory_allocate(arena->memory, total);
    if (chunk == NULL) {
        return NULL;
    }
    chunk->size_bytes = size;
    chunk->used_bytes = 0;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    return chunk;
}

/* A chunk with room for so many bytes; NULL: refused. */
static struct mdf_arena_chunk *find_room(struct mdf_arena *arena, size_t n_bytes)
{
    struct mdf_arena_chunk *chunk = arena->chunks;

    return chunk != NULL && chunk->size_bytes - chunk->used_bytes >= n_bytes ? chunk : add_chunk(arena, n_bytes);
}

void *mdf_arena_allocate(struct mdf_arena *arena, size_t size_bytes)
{
    const size_t unit = sizeof(max_align_t);
    struct mdf_arena_chunk *chunk = NULL;
    size_t rounded;
    void *piece;

    if (mdf_size_add(size_bytes == 0 ? 1 : size_bytes, unit - 1, &rounded)) {
        rounded -= rounded % unit;
        chunk = find_room(arena, rounded);
    }
    if (chunk == NULL) {
        arena->has_refused = true;
        return NULL;
    }
    piece = (char *)chunk->data + chunk->used_bytes;
    chunk->used_bytes += rounded;
    memset(piece, 0, rounded);
    return piece;
}

void *mdf_arena_array(struct mdf_arena *arena, size_t count, size_t item_size)
{
    size_t total;

    return mdf_arena_allocate(arena, mdf_size_multiply(count, item_size, &total) ? total : SIZE_MAX);
}

char *mdf_arena_text(struct mdf_arena *arena, const char *text, size_t length)
{
    char *copy = mdf_arena_allocate(arena, length + 1);

    if (copy != NULL) {
        memcpy(copy, text, length);
    }
    return copy;
}

char *mdf_arena_printf(struct mdf_arena *arena, const char *format, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, format);
    text = mdf_arena_vprintf(arena, format, arguments);
    va_end(arguments);
    return text;
}

char *mdf_arena_vprintf(struct mdf_arena *arena, const char *format, va_list arguments)
{
    char short_text[512]; /* formatted once, where it suffices */
    va_list again;
    size_t size;
    int length;
    char *text;

    va_copy(again, arguments);
    length = vsnprintf(short_text, sizeof short_text, format, arguments);
    size = length < 0 ? 0 : (size_t)length + 1;
    text = length < 0 ? NULL : mdf_arena_allocate(arena, size);
    if (text != NULL && size <= sizeof short_text) {
        memcpy(text, short_text, size);
    } else if (text != NULL) {
        vsnprintf(text, size, format, again);
    }
    va_end(again);
    return text;
}
