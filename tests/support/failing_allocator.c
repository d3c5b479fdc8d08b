/* failing_allocator.c - see failing_allocator.h. */
#include "tests/support/failing_allocator.h"

#include <stdlib.h>

static bool refuses(struct counter *counter)
{
    counter->n_calls++;
    return counter->fail_at != 0 &&
           (counter->fails_once ? counter->n_calls == counter->fail_at : counter->n_calls >= counter->fail_at);
}

static void *allocate(void *context, size_t size)
{
    struct counter *counter = context;
    void *block = refuses(counter) ? NULL : malloc(size);

    counter->n_blocks += block != NULL;
    return block;
}

static void *reallocate(void *context, void *block, size_t size)
{
    struct counter *counter = context;
    void *moved = refuses(counter) ? NULL : realloc(block, size);

    counter->n_blocks += moved != NULL && block == NULL;
    return moved;
}

static void release(void *context, void *block)
{
    ((struct counter *)context)->n_blocks -= block != NULL;
    free(block);
}

mdf_allocator failing_allocator(struct counter *counter)
{
    return (mdf_allocator){allocate, reallocate, release, counter};
}
