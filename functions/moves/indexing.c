/* indexing.c - see indexing.h. A box is first simplified: its axes are put in the target's order, those of size 1 go,
 * neighbours that continue each other join. What is left is walked axis by axis down to blocks of two axes, which are copied by
 * element size. */
#include "functions/moves/indexing.h"

#include "functions/moves/turn_block.h"
#include "functions/moves/words.h"
#include "mdf_c/base/sizes.h"

#include <string.h>

enum { TILE = 64, FEW_COLUMNS = 8 /* to go down rather than along */ };

#define ELEMENT mdf_word8
#define COPY_BLOCK copy_block_8
#define COPY_LINE copy_line_8
#include "functions/moves/copy_block.inc"
#define ELEMENT mdf_word16
#define COPY_BLOCK copy_block_16
#define COPY_LINE copy_line_16
#include "functions/moves/copy_block.inc"
#define ELEMENT mdf_word32
#define COPY_BLOCK copy_block_32
#define COPY_LINE copy_line_32
#include "functions/moves/copy_block.inc"
#define ELEMENT mdf_word64
#define COPY_BLOCK copy_block_64
#define COPY_LINE copy_line_64
#include "functions/moves/copy_block.inc"
#define ELEMENT mdf_word128
#define COPY_BLOCK copy_block_128
#define COPY_LINE copy_line_128
#include "functions/moves/copy_block.inc"

static void copy_string(struct mdf_memory *memory, char **target, char *source)
{
    char *old = *target;

    *target = source != NULL ? mdf_string_share(source) : NULL;
    if (old != NULL) {
        mdf_string_release(memory, old);
    }
}

static void copy_block_of_strings(struct mdf_memory *memory, void *target_bytes, const void *source_bytes,
                                  const struct mdf_block *block)
{
    char **target = target_bytes;
    char *const *source = source_bytes;

    for (int64_t row = 0; row < block->rows; row++) {
        for (int64_t column = 0; column < block->columns; column++) {
            copy_string(memory, &target[row * block->target_row + column * block->target_column],
                        source[row * block->source_row + column * block->source_column]);
        }
    }
}

static bool is_narrow(const struct mdf_block *block)
{
    return block->columns < FEW_COLUMNS && block->rows > block->columns;
}

static void copy_words(size_t size, void *target, const void *source, const struct mdf_block *block)
{
    if (size == 1) {
        copy_block_8(target, source, block);
    } else if (size == 2) {
        copy_block_16(target, source, block);
    } else if (size == 4) {
        copy_block_32(target, source, block);
    } else if (size == 8) {
        copy_block_64(target, source, block);
    } else {
        copy_block_128(target, source, block);
    }
}

/* In registers, as far as it is transposed; what is left at the edges, word by word. */
static void turn_words(size_t size, void *target, const void *source, const struct mdf_block *block)
{
    int64_t rows, columns, width = (int64_t)size;
    struct mdf_block right = *block, below = *block;

    mdf_turn_block(size, target, source, block, &rows, &columns);
    right.rows = rows;
    right.columns -= columns;
    below.rows -= rows;
    if (right.columns > 0 && right.rows > 0) {
        copy_words(size, (char *)target + columns * block->target_column * width,
                   (const char *)source + columns * block->source_column * width, &right);
    }
    if (below.rows > 0) {
        copy_words(size, (char *)target + rows * block->target_row * width,
                   (const char *)source + rows * block->source_row * width, &below);
    }
}

static void copy_block(struct mdf_memory *memory, mdf_dtype dtype, void *target, const void *source,
                       const struct mdf_block *block)
{
    struct mdf_block turned = {block->columns,    block->rows,          block->target_column,
                               block->target_row, block->source_column, block->source_row};
    size_t size = mdf_dtype_size(dtype);

    if (dtype == MDF_DTYPE_STRING) {
        copy_block_of_strings(memory, target, source, block);
    } else if (block->target_column == 1 && block->source_column == 1) {
        for (int64_t row = 0; row < block->rows; row++) {
            memcpy((char *)target + row * block->target_row * (int64_t)size,
                   (const char *)source + row * block->source_row * (int64_t)size, (size_t)block->columns * size);
        }
    } else if (is_narrow(block)) { /* long loops are worth more than adjacent elements */
        copy_block(memory, dtype, target, source, &turned);
    } else if (!mdf_interleave_block(size, target, source, block)) {
        turn_words(size, target, source, block);
    }
}

bool mdf_box_prepare(struct mdf_call *call, size_t rank, size_t n_more, struct mdf_box *box, int64_t **more)
{
    size_t n;
    int64_t *room;

    if (!mdf_size_multiply(rank, 4, &n) || !mdf_size_add(n, n_more, &n) || !mdf_size_add(n, 1, &n)) {
        return mdf_call_out_of_memory(call);
    }
    room = mdf_call_scratch(call, MDF_SCRATCH_AXES, MDF_DTYPE_INT64, n);
    if (room == NULL) {
        return false;
    }
    box->rank = rank;
    box->shape = room;
    box->target_strides = room + rank;
    box->source_strides = room + 2 * rank;
    box->index = room + 3 * rank;
    if (more != NULL) {
        *more = room + 4 * rank;
    }
    return true;
}

static bool is_empty(const struct mdf_box *box)
{
    for (size_t axis = 0; axis < box->rank; axis++) {
        if (box->shape[axis] == 0) {
            return true;
        }
    }
    return false;
}

static void swap_axes(struct mdf_box *box, size_t a, size_t b)
{
    int64_t *arrays[3] = {box->shape, box->target_strides, box->source_strides};

    for (size_t i = 0; i < 3; i++) {
        int64_t kept = arrays[i][a];

        arrays[i][a] = arrays[i][b];
        arrays[i][b] = kept;
    }
}

/* Puts the axes in the order in which they lie in the target, which is then written from its begin to its end. */
static void order_axes(struct mdf_box *box)
{
    for (size_t axis = 1; axis < box->rank; axis++) {
        for (size_t k = axis; k > 0 && box->target_strides[k - 1] < box->target_strides[k]; k--) {
            swap_axes(box, k - 1, k);
        }
    }
}

/* Drops axes of size 1 and joins neighbours. */
static void simplify(struct mdf_box *box)
{
    size_t n = 0;

    for (size_t axis = 0; axis < box->rank; axis++) {
        int64_t size = box->shape[axis], target = box->target_strides[axis], source = box->source_strides[axis];

        if (size == 1) {
            continue;
        }
        if (n > 0 && box->target_strides[n - 1] == target * size && box->source_strides[n - 1] == source * size) {
            n--;
            size *= box->shape[n];
        }
        box->shape[n] = size;
        box->target_strides[n] = target;
        box->source_strides[n] = source;
        n++;
    }
    box->rank = n;
}

/* Makes the axis along which source elements are adjacent one of the two innermost, so that tiles read whole cache lines. */
static void bring_adjacent_inward(struct mdf_box *box)
{
    size_t rank = box->rank;

    if (rank < 3 || box->source_strides[rank - 1] == 1) {
        return;
    }
    for (size_t axis = 0; axis + 2 < rank; axis++) {
        if (box->source_strides[axis] == 1) {
            swap_axes(box, axis, rank - 2);
            return;
        }
    }
}

/* Blocks of two axes, one for each index of the axes before, in parts that threads may take, and between which the evaluation can
 * be stopped. */
struct copying {
    struct mdf_call *call;
    mdf_dtype dtype;
    char *target;
    const char *source;
    struct mdf_block block;
    size_t n_outer; /* axes before the two of a block */
    const int64_t *shape, *target_strides, *source_strides;
    int64_t rows, columns;    /* of a part */
    size_t n_across, n_parts; /* parts of a block: side by side, and all */
};

/* Rough time of an element that is moved by itself, of a byte that is one of many, and of a block. */
static const double element_ns = 0.25, byte_ns = 0.03, block_ns = 5;

/* Cuts a block into parts of about so many elements: lines of the cache, which 64 rows or columns share, stay whole. */
static void cut_block(struct copying *copying)
{
    const int64_t most = 1 << 14, lines = 64;
    const struct mdf_block *block = &copying->block;
    int64_t rows = (most / block->columns + lines - 1) / lines * lines, columns;

    copying->rows = rows < lines ? lines : rows;
    copying->rows = copying->rows < block->rows ? copying->rows : block->rows;
    columns = (most / copying->rows + lines - 1) / lines * lines;
    copying->columns = block->columns > 2 * columns ? columns : block->columns;
    copying->n_across = mdf_divide_up((size_t)block->columns, (size_t)copying->columns);
    copying->n_parts = copying->n_across * mdf_divide_up((size_t)block->rows, (size_t)copying->rows);
}

static void copy_part(const struct copying *copying, char *target, const char *source, size_t number)
{
    struct mdf_block part = copying->block;
    int64_t row = (int64_t)(number / copying->n_across) * copying->rows, size = (int64_t)mdf_dtype_size(copying->dtype);
    int64_t column = (int64_t)(number % copying->n_across) * copying->columns;

    part.rows = part.rows - row < copying->rows ? part.rows - row : copying->rows;
    part.columns = part.columns - column < copying->columns ? part.columns - column : copying->columns;
    copy_block(copying->call->context->memory, copying->dtype,
               target + (row * part.target_row + column * part.target_column) * size,
               source + (row * part.source_row + column * part.source_column) * size, &part);
}

/* Parts [first, last), counted through all blocks. */
static void copy_parts(void *context, size_t first, size_t last)
{
    const struct copying *copying = context;
    size_t last_axis = copying->n_outer > 0 ? copying->n_outer - 1 : 0, part = first % copying->n_parts;
    int64_t size = (int64_t)mdf_dtype_size(copying->dtype);

    for (size_t block = first / copying->n_parts, at = first; at < last;) {
        int64_t target_offset = 0, source_offset = 0, index = 0, n_line = 1;
        size_t rest = block;

        for (size_t axis = copying->n_outer; axis-- > 0; rest /= (size_t)copying->shape[axis]) {
            int64_t i = (int64_t)(rest % (size_t)copying->shape[axis]);

            target_offset += i * copying->target_strides[axis];
            source_offset += i * copying->source_strides[axis];
            index = axis == last_axis ? i : index;
            n_line = axis == last_axis ? copying->shape[axis] : n_line;
        }
        for (; index < n_line && at < last; index++, block++, part = 0) {
            for (; part < copying->n_parts && at < last; part++, at++) {
                copy_part(copying, copying->target + target_offset * size, copying->source + source_offset * size, part);
            }
            if (copying->n_outer > 0) {
                target_offset += copying->target_strides[last_axis];
                source_offset += copying->source_strides[last_axis];
            }
        }
    }
}

/* Copies `n_blocks` blocks. Owners of strings are counted by one thread. */
static void copy_blocks(struct copying *copying, size_t n_blocks)
{
    const struct mdf_block *block = &copying->block;
    double n_elements = (double)block->rows * (double)block->columns;
    bool is_joined = block->target_column == 1 && block->source_column == 1;
    double cost_ns = block_ns + n_elements * (is_joined ? byte_ns * (double)mdf_dtype_size(copying->dtype) : element_ns);

    cut_block(copying);
    if (copying->dtype == MDF_DTYPE_STRING) {
        for (size_t at = 0; at < n_blocks * copying->n_parts && !mdf_should_stop(copying->call->context); at++) {
            copy_parts(copying, at, at + 1);
        }
        return;
    }
    mdf_parallel_for(copying->call->context, n_blocks * copying->n_parts, cost_ns / (double)copying->n_parts, copy_parts,
                     copying);
}

/* ------------------------------------------------------------------ boxes that repeat */

/* Whether an axis before the last one repeats what lies within it, in a target without gaps: then this is copied once, and from
 * there as one piece. */
static bool repeats(const struct mdf_box *box, mdf_dtype dtype)
{
    bool does = false;
    int64_t n = 1;

    for (size_t axis = box->rank; axis-- > 0; n *= box->shape[axis]) {
        if (box->target_strides[axis] != n) {
            return false;
        }
        does = does || (axis + 1 < box->rank && box->source_strides[axis] == 0);
    }
    return does && dtype != MDF_DTYPE_STRING;
}

/* Fills `n` pieces of so many bytes with what the first one has; short ones several at once, which stay in the nearest cache. */
static void repeat_piece(char *target, int64_t n_bytes, int64_t n)
{
    const int64_t most = 1 << 12;
    int64_t limit = n_bytes < most ? most / n_bytes * n_bytes : n_bytes, end = n * n_bytes, done = n_bytes, next;

    for (; done < end; done += next) {
        next = done < limit ? done : limit;
        next = next < end - done ? next : end - done;
        memcpy(target + done, target, (size_t)next);
    }
}

/* Indices [first, last) of an axis, of which `target` and `source` are at `first`. */
static void fill_axis(const struct copying *copying, size_t axis, int64_t first, int64_t last, char *target, const char *source)
{
    int64_t size = (int64_t)mdf_dtype_size(copying->dtype), step = copying->source_strides[axis] * size;
    int64_t n_bytes = copying->target_strides[axis] * size, end = step == 0 ? first + 1 : last;

    for (int64_t i = first; i < end; i++) {
        char *to = target + (i - first) * n_bytes;
        const char *from = source + (i - first) * step;

        if (axis + 1 < copying->n_outer) {
            fill_axis(copying, axis + 1, 0, copying->shape[axis + 1], to, from);
        } else {
            copy_block(copying->call->context->memory, copying->dtype, to, from, &copying->block);
        }
    }
    if (step == 0) {
        repeat_piece(target, n_bytes, last - first);
    }
}

static void fill_outermost(void *context, size_t first, size_t last)
{
    const struct copying *copying = context;
    int64_t size = (int64_t)mdf_dtype_size(copying->dtype), begin = (int64_t)first;

    fill_axis(copying, 0, begin, (int64_t)last, copying->target + begin * copying->target_strides[0] * size,
              copying->source + begin * copying->source_strides[0] * size);
}

static void repeat_box(struct copying *copying, const struct mdf_box *box)
{
    size_t n_bytes = (size_t)box->target_strides[0] * mdf_dtype_size(copying->dtype);

    if (copying->n_outer == 0 || box->source_strides[box->rank - 2] == 0) { /* a block is one row */
        copying->block.rows = 1;
        copying->n_outer = box->rank - 1;
    }
    mdf_parallel_for(copying->call->context, (size_t)box->shape[0], block_ns + byte_ns * (double)n_bytes, fill_outermost,
                     copying);
}

/* ------------------------------------------------------------------ boxes */

void mdf_box_copy(struct mdf_call *call, struct mdf_box *box, mdf_dtype dtype, void *target, const void *source)
{
    struct copying copying = {.call = call, .dtype = dtype, .target = target, .source = source, .block = {1, 1, 0, 1, 0, 1}};
    size_t n_blocks = 1;

    if (is_empty(box)) {
        return;
    }
    order_axes(box);
    simplify(box);
    bring_adjacent_inward(box);
    if (box->rank > 0) {
        copying.block.columns = box->shape[box->rank - 1];
        copying.block.target_column = box->target_strides[box->rank - 1];
        copying.block.source_column = box->source_strides[box->rank - 1];
    }
    if (box->rank > 1) {
        copying.block.rows = box->shape[box->rank - 2];
        copying.block.target_row = box->target_strides[box->rank - 2];
        copying.block.source_row = box->source_strides[box->rank - 2];
    }
    copying.n_outer = box->rank > 2 ? box->rank - 2 : 0;
    copying.shape = box->shape;
    copying.target_strides = box->target_strides;
    copying.source_strides = box->source_strides;
    for (size_t axis = 0; axis < copying.n_outer; axis++) {
        n_blocks *= (size_t)box->shape[axis];
    }
    if (repeats(box, dtype)) {
        repeat_box(&copying, box);
    } else {
        copy_blocks(&copying, n_blocks);
    }
}

void mdf_strides(size_t rank, const int64_t *shape, int64_t *strides)
{
    uint64_t stride = 1; /* unsigned: may wrap where another axis has size 0 */

    for (size_t axis = rank; axis-- > 0;) {
        strides[axis] = (int64_t)stride;
        stride *= (uint64_t)shape[axis];
    }
}

size_t mdf_axes_product(const int64_t *shape, size_t first, size_t last)
{
    size_t product = 1;

    for (size_t axis = first; axis < last; axis++) {
        product *= (size_t)shape[axis];
    }
    return product;
}

void mdf_elements_copy(struct mdf_call *call, mdf_dtype dtype, void *target, const void *source, size_t n)
{
    if (dtype == MDF_DTYPE_STRING) {
        for (size_t i = 0; i < n && !mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK); i++) {
            copy_string(call->context->memory, &((char **)target)[i], ((char *const *)source)[i]);
        }
    } else if (n == 1) {
        switch (mdf_dtype_size(dtype)) {
        case 1:
            *(mdf_word8 *)target = *(const mdf_word8 *)source;
            break;
        case 2:
            *(mdf_word16 *)target = *(const mdf_word16 *)source;
            break;
        case 4:
            *(mdf_word32 *)target = *(const mdf_word32 *)source;
            break;
        case 8:
            *(mdf_word64 *)target = *(const mdf_word64 *)source;
            break;
        default:
            *(mdf_word128 *)target = *(const mdf_word128 *)source;
            break;
        }
    } else if (n > 0) {
        mdf_memory_copy(call->context->memory, target, source, n * mdf_dtype_size(dtype));
    }
}

/* Blocks of some bytes, in words of which the last one may lie over the one before: a call for each would take longer than to
 * copy it. */
#define GATHER(word)                                                                                                          \
    static void gather_##word(char *target, const char *source, const size_t *offsets, size_t n, size_t n_bytes, size_t size) \
    {                                                                                                                         \
        size_t last = n_bytes - sizeof(mdf_##word);                                                                           \
                                                                                                                              \
        for (size_t i = 0; i < n; i++, target += n_bytes) {                                                                   \
            const char *from = source + offsets[i] * size;                                                                    \
                                                                                                                              \
            for (size_t at = 0; at < last; at += sizeof(mdf_##word)) {                                                        \
                memcpy(target + at, from + at, sizeof(mdf_##word));                                                           \
            }                                                                                                                 \
            memcpy(target + last, from + last, sizeof(mdf_##word));                                                           \
        }                                                                                                                     \
    }
GATHER(word8)
GATHER(word16)
GATHER(word32)
GATHER(word64)
GATHER(word128)
#undef GATHER

static void gather_blocks(struct mdf_call *call, mdf_dtype dtype, void *target, const void *source, const size_t *offsets,
                          size_t n, size_t n_block)
{
    enum { MOST_SHORT_BYTES = 128 };
    size_t size = mdf_dtype_size(dtype), n_bytes = n_block <= MOST_SHORT_BYTES ? n_block * size : SIZE_MAX;

    if (dtype == MDF_DTYPE_STRING || n_bytes > MOST_SHORT_BYTES) {
        for (size_t i = 0; n_block > 0 && i < n; i++) {
            mdf_elements_copy(call, dtype, mdf_element_to_write(dtype, target, i * n_block),
                              mdf_element_at(dtype, source, offsets[i]), n_block);
        }
    } else if (n_bytes >= 4) {
        (n_bytes >= 16  ? gather_word128
         : n_bytes >= 8 ? gather_word64
                        : gather_word32)(target, source, offsets, n, n_bytes, size);
    } else if (n_bytes > 0) {
        (n_bytes >= 2 ? gather_word16 : gather_word8)(target, source, offsets, n, n_bytes, size);
    }
}

static void scatter_blocks(struct mdf_call *call, mdf_dtype dtype, void *target, const void *source, const size_t *offsets,
                           size_t n, size_t n_block)
{
    bool single = n_block == 1 && dtype != MDF_DTYPE_STRING;

    if (single && mdf_dtype_size(dtype) == 4) {
        for (size_t i = 0; i < n; i++) {
            ((mdf_word32 *)target)[offsets[i]] = ((const mdf_word32 *)source)[i];
        }
    } else if (single && mdf_dtype_size(dtype) == 8) {
        for (size_t i = 0; i < n; i++) {
            ((mdf_word64 *)target)[offsets[i]] = ((const mdf_word64 *)source)[i];
        }
    } else {
        for (size_t i = 0; n_block > 0 && i < n; i++) {
            mdf_elements_copy(call, dtype, mdf_element_to_write(dtype, target, offsets[i]),
                              mdf_element_at(dtype, source, i * n_block), n_block);
        }
    }
}

/* Blocks of which so many together take some milliseconds. */
static size_t blocks_per_look(size_t n_block, size_t n)
{
    size_t n_blocks = (MDF_ITEMS_PER_LOOK + n_block) / (n_block + 1);

    return n_blocks < n ? n_blocks : n;
}

struct gathering {
    struct mdf_call *call;
    mdf_dtype dtype;
    void *target;
    const void *source;
    const size_t *offsets;
    size_t n_block;
};

static void gather_range(void *context, size_t first, size_t last)
{
    const struct gathering *gathering = context;

    gather_blocks(gathering->call, gathering->dtype,
                  mdf_element_to_write(gathering->dtype, gathering->target, first * gathering->n_block), gathering->source,
                  gathering->offsets + first, last - first, gathering->n_block);
}

void mdf_blocks_gather(struct mdf_call *call, mdf_dtype dtype, void *target, const void *source, const size_t *offsets, size_t n,
                       size_t n_block)
{
    /* What takes some microseconds is not shared; a block takes as long as so many bytes. */
    enum { SHORT_BYTES = 1 << 17, BLOCK_BYTES = 32 };

    struct gathering gathering = {call, dtype, target, source, offsets, n_block};

    if (n * (n_block * mdf_dtype_size(dtype) + BLOCK_BYTES) < SHORT_BYTES) {
        gather_blocks(call, dtype, target, source, offsets, n, n_block);
        return;
    }
    if (dtype == MDF_DTYPE_STRING) {
        for (size_t first = 0, n_now; first < n && !mdf_should_stop(call->context); first += n_now) {
            n_now = blocks_per_look(n_block, n - first);
            gather_range(&gathering, first, first + n_now);
        }
        return;
    }
    mdf_parallel_for(call->context, n, 1 + byte_ns * (double)(n_block * mdf_dtype_size(dtype)), gather_range, &gathering);
}

void mdf_blocks_scatter(struct mdf_call *call, mdf_dtype dtype, void *target, const void *source, const size_t *offsets, size_t n,
                        size_t n_block)
{
    for (size_t first = 0, n_now; first < n && !mdf_should_stop(call->context); first += n_now) {
        n_now = blocks_per_look(n_block, n - first);
        scatter_blocks(call, dtype, target, mdf_element_at(dtype, source, first * n_block), offsets + first, n_now, n_block);
    }
}

enum { BYTES_PER_LOOK = 1 << 24 };

static bool fill_strings(struct mdf_call *call, char **target, size_t n, char *string)
{
    char *filling = string != NULL ? mdf_string_share(string) : mdf_string_new(call->context->memory, "", 0);

    if (filling == NULL) {
        return mdf_call_out_of_memory(call);
    }
    for (size_t i = 0; i < n && !mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK); i++) {
        copy_string(call->context->memory, &target[i], filling);
    }
    mdf_string_release(call->context->memory, filling);
    return true;
}

bool mdf_elements_fill(struct mdf_call *call, mdf_dtype dtype, void *target, size_t n, const void *element)
{
    if (n == 0) {
        return true;
    }
    if (dtype == MDF_DTYPE_STRING) {
        return fill_strings(call, target, n, element != NULL ? *(char *const *)element : NULL);
    }
    if (element != NULL) {
        struct copying copying = {
            .call = call, .dtype = dtype, .target = target, .source = element, .block = {1, (int64_t)n, 0, 1, 0, 0}};

        copy_blocks(&copying, 1);
        return true;
    }
    for (size_t first = 0, n_bytes = n * mdf_dtype_size(dtype); first < n_bytes && !mdf_should_stop(call->context);
         first += BYTES_PER_LOOK) {
        memset((char *)target + first, 0, n_bytes - first < BYTES_PER_LOOK ? n_bytes - first : BYTES_PER_LOOK);
    }
    return true;
}

bool mdf_index_check(struct mdf_call *call, int64_t index, size_t position, size_t axis, int64_t size, size_t *result)
{
    if (mdf_should_stop_at(call->context, position, MDF_ITEMS_PER_LOOK)) {
        return false;
    }
    if (index < -size || index >= size) {
        return mdf_call_error(call, MDF_VALUE, "index %lld (number %zu of the indices) is out of range for axis %zu of size %lld",
                              (long long)index, position, axis, (long long)size);
    }
    *result = (size_t)(index < 0 ? index + size : index);
    return true;
}

/* Checks an item against the first and adds its length along `axis`. */
static bool join_shapes(struct mdf_call *call, const struct mdf_value *first, const struct mdf_value *item, size_t i, size_t axis,
                        bool new_axis, int64_t *length)
{
    const int64_t *expected = mdf_value_shape(first), *shape = mdf_value_shape(item);
    char first_text[96], item_text[96];

    for (size_t k = 0; item->rank == first->rank && k < first->rank; k++) {
        if (shape[k] == expected[k] || (!new_axis && k == axis)) {
            continue;
        }
        mdf_value_describe(first, first_text, sizeof first_text);
        mdf_value_describe(item, item_text, sizeof item_text);
        return mdf_call_error(call, MDF_SHAPE, "items 0 (%s) and %zu (%s) differ in the size of axis %zu", first_text, i,
                              item_text, k);
    }
    if (item->rank != first->rank || item->dtype != first->dtype) {
        mdf_value_describe(first, first_text, sizeof first_text);
        mdf_value_describe(item, item_text, sizeof item_text);
        return mdf_call_error(call, item->rank != first->rank ? MDF_SHAPE : MDF_TYPE, "items 0 (%s) and %zu (%s) differ in %s",
                              first_text, i, item_text, item->rank != first->rank ? "rank" : "type");
    }
    if (__builtin_add_overflow(*length, new_axis ? 1 : shape[axis], length)) {
        return mdf_call_error(call, MDF_LIMIT, "the items together are too long");
    }
    return true;
}

/* Copies the items into the joined array: row by row, each item's rows beside each other. */
static bool join_elements(struct mdf_call *call, size_t n, mdf_item_at item_at, mdf_dtype dtype, void *target, size_t outer,
                          size_t row)
{
    size_t offset = 0;

    for (size_t i = 0; i < n; i++) {
        const struct mdf_value *item = item_at(call, i);
        struct mdf_box box;
        size_t part;

        if (item == NULL || !mdf_box_prepare(call, 2, 0, &box, NULL)) {
            return false;
        }
        part = outer == 0 ? 0 : item->length / outer;
        box.shape[0] = (int64_t)outer;
        box.shape[1] = (int64_t)part;
        box.target_strides[0] = (int64_t)row;
        box.source_strides[0] = (int64_t)part;
        box.target_strides[1] = box.source_strides[1] = 1;
        if (item->length > 0) {
            mdf_box_copy(call, &box, dtype, mdf_element_to_write(dtype, target, offset), item->data);
        }
        offset += part;
    }
    return true;
}

bool mdf_concatenate(struct mdf_call *call, size_t n, mdf_item_at item_at, int64_t axis, bool new_axis)
{
    const struct mdf_value *first = n > 0 ? item_at(call, 0) : NULL;
    mdf_dtype dtype;
    struct mdf_box box;
    int64_t length = 0, *shape;
    size_t rank, place, outer, row;
    void *target;

    if (first == NULL) {
        return n > 0 ? false : mdf_call_error(call, MDF_VALUE, "there is nothing to join");
    }
    dtype = (mdf_dtype)first->dtype;
    rank = first->rank + (new_axis ? 1u : 0u);
    if (!mdf_call_axis(call, axis, rank, &place)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const struct mdf_value *item = item_at(call, i);

        if (item == NULL || !join_shapes(call, first, item, i, place, new_axis, &length)) {
            return false;
        }
    }
    if (!mdf_box_prepare(call, 0, rank, &box, &shape)) {
        return false;
    }
    for (size_t k = 0; k < rank; k++) {
        shape[k] = k == place ? length : mdf_value_shape(first)[k - (new_axis && k > place ? 1u : 0u)];
    }
    outer = mdf_axes_product(shape, 0, place);
    row = mdf_axes_product(shape, place, rank);
    target = mdf_call_output(call, 0, dtype, rank, shape);
    return target != NULL && join_elements(call, n, item_at, dtype, target, outer, row);
}

bool mdf_take_part(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *source, size_t axis, size_t first,
                   size_t length, bool keep_axis)
{
    const int64_t *shape = mdf_value_shape(source);
    mdf_dtype dtype = (mdf_dtype)source->dtype;
    struct mdf_box box;
    int64_t *part;
    size_t outer = mdf_axes_product(shape, 0, axis), inner = mdf_axes_product(shape, axis + 1, source->rank), rank = 0;
    void *elements;

    if (!mdf_box_prepare(call, 2, source->rank, &box, &part)) {
        return false;
    }
    for (size_t k = 0; k < source->rank; k++) {
        if (k != axis || keep_axis) {
            part[rank++] = k == axis ? (int64_t)length : shape[k];
        }
    }
    elements = mdf_value_make_tensor(call->context->memory, target, dtype, rank, part);
    if (elements == NULL) {
        return mdf_call_out_of_memory(call);
    }
    box.shape[0] = (int64_t)outer;
    box.shape[1] = (int64_t)(length * inner);
    box.target_strides[0] = box.shape[1];
    box.source_strides[0] = (int64_t)((size_t)shape[axis] * inner);
    box.target_strides[1] = box.source_strides[1] = 1;
    if (target->length > 0) {
        mdf_box_copy(call, &box, dtype, elements, mdf_element_at(dtype, source->data, first * inner));
    }
    return true;
}
