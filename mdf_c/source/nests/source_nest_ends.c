/* source_nest_ends.c - rows whose last elements fill no vector (30 of float32, say): compilers compute these one by one, which
 * takes longer than the rest of a short row. Such a row is gone through in blocks that vectors are made of, the last of which
 * ends where the row does and so computes a few elements that the one before has computed already. See nest_text.h. */
#include "mdf_c/base/sizes.h"
#include "mdf_c/source/nests/nest_text.h"

enum {
    VECTOR_BYTES = 64,   /* of the longest vectors; shorter ones fill a block several times */
    FEWEST_IN_BLOCK = 4, /* elements */
    MOST_BLOCKS = 16,    /* in longer rows the last elements count for little */
    FEWEST_LEFT = 2,     /* behind blocks of half the size, which compilers make vectors of too */
    FEWEST_ROWS = 8,     /* of fewer what is stored may be loaded at once, which waits where two blocks have stored it */
    MOST_AGAIN = 4       /* one of so many elements, at most, is computed twice */
};

/* The bytes of the elements of which most go into a vector; 0: there is something else than elements of rows. */
static size_t bytes_of_elements(const struct nest_text *text)
{
    size_t least = VECTOR_BYTES;

    for (size_t i = 0; i < text->nest->n_steps; i++) {
        const struct mdf_nest_step *step = step_of(text, i);
        size_t n_bytes = mdf_dtype_size((mdf_dtype)step->dtype);

        if (step->kind == MDF_NEST_FOLD || (step->kind == MDF_NEST_LOAD && step->view.at != MDF_NEST_NONE)) {
            return 0;
        }
        least = n_bytes >= sizeof(float) && n_bytes < least ? n_bytes : least;
    }
    return least;
}

size_t nest_text_block_of_row(const struct nest_text *text, size_t axis)
{
    size_t n = text->nest->extents[axis], n_bytes = bytes_of_elements(text), n_rows = 1, block, n_blocks, i;

    if (n_bytes == 0 || is_open_axis(text, axis) || text->count != NULL || text->plan->looks_up_by_truth || text->is_several ||
        text->rest_of > 0 || !nest_text_may_go_twice(text)) {
        return n;
    }
    for (i = 0; i < text->nest->n_axes; i++) {
        n_rows *= i == axis ? 1 : text->nest->extents[i];
    }
    for (block = VECTOR_BYTES / n_bytes; block > n; block /= 2) {
    }
    n_blocks = mdf_divide_up(n, block);
    return n_rows >= FEWEST_ROWS && block >= FEWEST_IN_BLOCK && n_blocks <= MOST_BLOCKS && n % (block / 2) >= FEWEST_LEFT &&
                   (n_blocks * block - n) * MOST_AGAIN <= n
               ? block
               : n;
}

void nest_text_open_blocks_of_row(struct nest_text *text, size_t axis, size_t block)
{
    const char *index = text->axes[axis].index, *begin = text->axes[axis].block, *end = text->axes[axis].end;
    size_t n = text->nest->extents[axis], last = n - block;

    mdf_source_line(text->writer, "for (size_t %s = 0; %s < %zu; %s += %zu)", begin, begin, n, begin, block);
    nest_text_open_innermost(text, true, block,
                             mdf_source_text(text->writer, "for (size_t %s = %s < %zu ? %s : %zu, %s = %s + %zu; %s != %s; %s++)",
                                             index, begin, last, begin, last, end, index, block, index, end, index));
}
