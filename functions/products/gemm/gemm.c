/* gemm.c - see gemm.h. Source: K. Goto and R. van de Geijn, Anatomy of high-performance matrix multiplication (2008).
 *
 * A is packed whole, into panels as high as a tile. B is packed block by block, `depth` rows by some panels of columns, so that
 * a block stays in the second-level cache; each task has one block of columns, and packs into memory of its thread's own.
 * Small and thin matrices are multiplied as they lie; constant ones are kept packed. Tiles use fused multiplication and addition
 * where the processor has it; all else gives one result everywhere. */
#include "functions/products/gemm/gemm.h"

#include "functions/products/gemm/product_types.h"

#include <string.h>

enum {
    BLOCK_PANELS = 12, /* panels of a block of B */
    NARROW_PANELS = 4, /* of B, for which A is not worth packing */
    MAX_ROWS = 12,     /* of a tile */
    MAX_COLUMNS = 32,  /* of a tile */

    SLACK_ROWS = 8, /* behind a packed block of B: room for a row, and for MDF_PANEL_SLACK elements */
    MAX_SLOTS = 64,
    TASKS_PER_THREAD = 8
};

/* Rough time of one multiplication and addition, to judge what is worth a thread. */
static const double multiply_ns = 0.025;

/* ------------------------------------------------------------------ matrices as they lie */

struct plain_job {
    const struct mdf_gemm_kernels *kernels;
    const struct mdf_gemm_type *type;
    const struct mdf_product *product;
    bool by_rows;
};

static bool is_plain(const struct mdf_product *product)
{
    if (product->row != NULL || product->packed_a != NULL || product->packed_b != NULL || product->packed_turned != NULL ||
        product->elements != MDF_PRODUCT_OF_NUMBERS) {
        return false;
    }
    return !mdf_dtype_is_real(product->dtype) || product->m <= 2 || product->n == 1 ||
           (double)product->m * (double)product->n * (double)product->k < MDF_PLAIN_PRODUCTS;
}

/* Some rows of a product of integers, whose sums have no order; false: they have no kernel of their own. */
static bool multiply_integers(const struct plain_job *job, const struct mdf_gemm_range *range)
{
    struct mdf_product part = *job->product;
    int64_t size = (int64_t)job->type->size_bytes, row = (int64_t)range->first_row;

    if (mdf_dtype_is_real(part.dtype) || part.b_column != 1 || part.n == 1 || part.m <= 2 ||
        range->last_column - range->first_column < part.n) {
        return false;
    }
    part.m = range->last_row - range->first_row;
    part.a = (const char *)part.a + row * part.a_row * size;
    part.c = (char *)part.c + row * part.c_row * size;
    part.start = part.start != NULL ? (const char *)part.start + row * size : NULL;
    job->kernels->multiply_small(&part);
    return true;
}

static void multiply_part(void *context, size_t first, size_t last)
{
    const struct plain_job *job = context;
    struct mdf_gemm_range range = {0, job->product->m, 0, job->product->n};

    if (job->by_rows) {
        range.first_row = first;
        range.last_row = last;
    } else {
        range.first_column = first * MDF_LINE_BYTES;
        range.last_column = last * MDF_LINE_BYTES < job->product->n ? last * MDF_LINE_BYTES : job->product->n;
    }
    if (!multiply_integers(job, &range)) {
        job->type->multiply_plain(job->kernels, job->product, &range);
    }
}

/* C turned is B turned times A turned. */
static struct mdf_product turn(const struct mdf_product *product)
{
    struct mdf_product turned = *product;

    turned.m = product->n;
    turned.n = product->m;
    turned.a = product->b;
    turned.a_row = product->b_column;
    turned.a_column = product->b_row;
    turned.b = product->a;
    turned.b_row = product->a_column;
    turned.b_column = product->a_row;
    turned.packed_b = product->packed_turned;
    turned.start = turned.packed_a = NULL;
    turned.row = NULL;
    return turned;
}

/* A matrix times a vector, where the columns of the matrix are adjacent, is done as the vector times the matrix transposed. */
static bool is_turned(const struct mdf_product *product)
{
    return product->n == 1 && product->m > 1 && product->c_row == 1 && product->a_row == 1 && product->start == NULL;
}

static void multiply_as_it_lies(const struct mdf_context *context, const struct mdf_product *product)
{
    struct mdf_product turned = is_turned(product) ? turn(product) : *product;
    struct plain_job job = {mdf_gemm_kernels_of(product), mdf_gemm_type_of(product), &turned, turned.m >= turned.n};
    size_t n_columns = (turned.n - 1) / MDF_LINE_BYTES + 1;
    double cost_ns = multiply_ns * 8 * (double)turned.m * (double)turned.n * (double)turned.k;

    if (job.by_rows) {
        mdf_parallel_for(context, turned.m, cost_ns / (double)turned.m, multiply_part, &job);
    } else {
        mdf_parallel_for(context, n_columns, cost_ns / (double)n_columns, multiply_part, &job);
    }
}

/* ------------------------------------------------------------------ packed matrices */

/* Products of one size under way: how C is cut into tasks, and where the packed matrices lie. A slot is the memory of what one
 * thread does at a time. */
struct packed_job {
    const struct mdf_context *context;
    const struct mdf_gemm_kernels *kernels;
    const struct mdf_gemm_type *type;
    const struct mdf_product *product;
    size_t batch;
    size_t n_panels, n_a;              /* panels of A; elements of A, packed */
    size_t n_block, n_column_blocks;   /* columns of a block of B */
    size_t n_row_panels, n_row_blocks; /* panels of A of one task */
    size_t n_slots, slot_bytes;
    atomic_bool *is_taken; /* of each slot, as many as threads may want at once */
    char *packed;          /* A, to be packed here */
    const char *a;         /* packed; NULL: its rows are taken as they lie */
    char *slots;
    mdf_product_locate locate; /* of a batch done whole in each slot */
    const void *locate_context;
    size_t n_batches;
    bool packs_a; /* of each */
};

/* Rows of the panel of A that begins at a row: a full tile, or the lowest that takes what is left. */
static size_t panel_rows(const struct packed_job *job, size_t row)
{
    size_t left = job->product->m - row, third = job->kernels->rows / 3;

    return left > 2 * third ? 3 * third : left > third ? 2 * third : third;
}

static size_t last_panel_columns(const struct packed_job *job, size_t n)
{
    size_t lanes = job->kernels->lanes, left = n % (2 * lanes);

    return left == 0 || left > lanes ? 2 * lanes : lanes;
}

/* Columns of B when all of it is packed, with those that fill up its last panel. */
static size_t packed_columns(const struct packed_job *job)
{
    size_t n_panel = 2 * job->kernels->lanes, n = job->product->n;

    return n % n_panel == 0 ? n : n / n_panel * n_panel + last_panel_columns(job, n);
}

/* Rows of a block of B. */
static size_t block_depth(const struct mdf_product *product)
{
    return product->depth > 0 ? product->depth : MDF_PRODUCT_DEPTH;
}

static size_t depth_from(const struct mdf_product *product, size_t first)
{
    return mdf_least(product->k - first, block_depth(product));
}

/* Packed A: for each block of depth, its panels one after the other. */
static size_t panel_of_a(const struct packed_job *job, size_t first, size_t depth, size_t panel)
{
    return (first * job->n_a + panel * job->kernels->rows * depth) * job->type->size_bytes;
}

static void pack_panels(const struct packed_job *job, const struct mdf_product *product, char *a, size_t first_panel,
                        size_t last_panel)
{
    for (size_t panel = first_panel; panel < last_panel; panel++) {
        size_t row = panel * job->kernels->rows, rows = panel_rows(job, row);
        size_t n = product->m - row < rows ? product->m - row : rows;

        for (size_t first = 0; first < product->k; first += block_depth(product)) {
            size_t depth = depth_from(product, first);

            job->type->pack_a(product, row, n, rows, first, depth, a + panel_of_a(job, first, depth, panel));
        }
    }
}

static void pack_shared_panels(void *context, size_t first, size_t last)
{
    const struct packed_job *job = context;

    pack_panels(job, job->product, job->packed, first, last);
}

/* One panel of A times one panel of B. */
static void multiply_panels(const struct packed_job *job, const char *a, const char *b, const char *start, char *c, size_t rows,
                            size_t n_rows, size_t columns, size_t n_columns, size_t depth, bool add)
{
    const struct mdf_gemm_kernels *kernels = job->kernels;
    mdf_tile_function tile = kernels->tiles[rows * 3 / kernels->rows - 1][columns / kernels->lanes - 1];
    double edge[MAX_ROWS * MAX_COLUMNS], starts[MAX_ROWS] = {0};

    if (n_rows == rows && n_columns == columns) {
        tile(depth, a, b, start, c, job->product->c_row, add ? MDF_TILE_ADDS : MDF_TILE_OVERWRITES);
        return;
    }
    if (start != NULL) {
        memcpy(starts, start, n_rows * job->type->size_bytes);
    }
    tile(depth, a, b, starts, edge, (int64_t)columns, MDF_TILE_OVERWRITES);
    job->type->store_edge(edge, columns, c, job->product->c_row, n_rows, n_columns, add);
}

/* One row of C, of n columns. */
static void multiply_row(const struct packed_job *job, const char *a, int64_t a_column, const char *b, const char *start, char *c,
                         size_t n, size_t depth, bool add)
{
    const struct mdf_gemm_kernels *kernels = job->kernels;
    size_t n_panel = 2 * kernels->lanes, size = job->type->size_bytes, j = 0;
    double edge[MAX_COLUMNS];

    for (; j + 4 * n_panel <= n; j += 4 * n_panel) {
        kernels->row_tiles[2](depth, a, a_column, b + j * depth * size, start, c + j * size, add);
    }
    for (; j + n_panel <= n; j += n_panel) {
        kernels->row_tiles[1](depth, a, a_column, b + j * depth * size, start, c + j * size, add);
    }
    if (j < n) {
        kernels->row_tiles[n - j > kernels->lanes](depth, a, a_column, b + j * depth * size, start, edge, false);
        job->type->store_edge(edge, n_panel, c + j * size, 0, 1, n - j, add);
    }
}

/* The panels [first_panel, last_panel) of A times one packed block of B. */
static void multiply_block(const struct packed_job *job, const struct mdf_product *product, const char *a, const char *b,
                           size_t first_panel, size_t last_panel, size_t first, size_t depth, size_t column, size_t n)
{
    size_t n_panel = 2 * job->kernels->lanes, size = job->type->size_bytes, n_last = last_panel_columns(job, n);
    bool add = product->add || first > 0;

    for (size_t panel = first_panel; panel < last_panel && !mdf_should_stop(job->context); panel++) {
        size_t row = panel * job->kernels->rows, rows = panel_rows(job, row);
        size_t n_rows = product->m - row < rows ? product->m - row : rows;
        const char *panel_a = a + panel_of_a(job, first, depth, panel);
        char *c = (char *)product->c + ((int64_t)row * product->c_row + (int64_t)column) * (int64_t)size;
        const char *start = product->start == NULL || first > 0 ? NULL : (const char *)product->start + row * size;

        for (size_t j = 0; j < n; j += n_panel) {
            size_t n_columns = n - j < n_panel ? n - j : n_panel, columns = n - j < n_panel ? n_last : n_panel;

            multiply_panels(job, panel_a, b + j * depth * size, start, c + j * size, rows, n_rows, columns, n_columns, depth,
                            add);
        }
    }
}

/* Whether A, packed, would be read by few panels of B only: one block of columns of B (plan_blocks). */
static bool is_narrow(const struct packed_job *job, const struct mdf_product *product)
{
    size_t n_panel = 2 * job->kernels->lanes;

    return job->kernels->multiply_narrow != NULL && product->n <= NARROW_PANELS * n_panel;
}

/* The rows [first_row, last_row) of A, as they lie, times one packed block of B. */
static void multiply_rows(const struct packed_job *job, const struct mdf_product *product, const char *b, size_t first_row,
                          size_t last_row, size_t first, size_t depth, size_t column, size_t n)
{
    int64_t size = (int64_t)job->type->size_bytes;

    if (is_narrow(job, product)) {
        job->kernels->multiply_narrow(product, b, first_row, last_row < product->m ? last_row : product->m, first, depth);
        return;
    }
    for (size_t row = first_row; row < last_row && row < product->m; row++) {
        const char *a = (const char *)product->a + ((int64_t)row * product->a_row + (int64_t)first * product->a_column) * size;
        char *c = (char *)product->c + ((int64_t)row * product->c_row + (int64_t)column) * size;
        const char *start = product->start == NULL || first > 0 ? NULL : (const char *)product->start + (int64_t)row * size;

        multiply_row(job, a, product->a_column, b, start, c, n, depth, product->add || first > 0);
    }
}

/* One task: some panels of A times some columns of B, which are packed in `slot` where B is not packed before. */
static void multiply_task(const struct packed_job *job, const struct mdf_product *product, size_t batch, const char *a,
                          char *slot, size_t task)
{
    size_t row_block = task / job->n_column_blocks, column = task % job->n_column_blocks * job->n_block;
    size_t first_panel = row_block * job->n_row_panels, last_panel = first_panel + job->n_row_panels;
    size_t n = product->n - column < job->n_block ? product->n - column : job->n_block, size = job->type->size_bytes;
    char *row = slot + job->n_block * block_depth(product) * size;

    last_panel = last_panel < job->n_panels ? last_panel : job->n_panels;
    for (size_t first = 0; first < product->k && !mdf_should_stop(job->context); first += block_depth(product)) {
        size_t depth = depth_from(product, first);
        const char *b = slot;

        if (product->packed_b != NULL) {
            b = (const char *)product->packed_b + (first * packed_columns(job) + column * depth) * size;
        } else {
            job->type->pack_b(product, batch, first, depth, column, n, 2 * job->kernels->lanes, last_panel_columns(job, n), slot,
                              row);
        }
        if (a == NULL) {
            multiply_rows(job, product, b, first_panel * job->kernels->rows, last_panel * job->kernels->rows, first, depth,
                          column, n);
        } else {
            multiply_block(job, product, a, b, first_panel, last_panel, first, depth, column, n);
        }
    }
}

static void give_slots(struct packed_job *job, atomic_bool is_taken[MAX_SLOTS])
{
    for (size_t i = 0; i < job->n_slots; i++) {
        atomic_init(&is_taken[i], false);
    }
    job->is_taken = is_taken;
}

static size_t take_slot(const struct packed_job *job)
{
    size_t slot = 0;

    while (atomic_exchange_explicit(&job->is_taken[slot], true, memory_order_acquire)) {
        slot = slot + 1 < job->n_slots ? slot + 1 : 0;
    }
    return slot;
}

static void return_slot(const struct packed_job *job, size_t slot)
{
    atomic_store_explicit(&job->is_taken[slot], false, memory_order_release);
}

static void run_tasks(void *context, size_t first, size_t last)
{
    const struct packed_job *job = context;
    size_t slot = take_slot(job);

    for (size_t task = first; task < last && !mdf_should_stop(job->context); task++) {
        multiply_task(job, job->product, job->batch, job->a, job->slots + slot * job->slot_bytes, task);
    }
    return_slot(job, slot);
}

static void run_batches(void *context, size_t first, size_t last)
{
    const struct packed_job *job = context;
    size_t slot = take_slot(job);
    char *room = job->packs_a ? job->slots + slot * job->slot_bytes : NULL;
    char *b = job->slots + slot * job->slot_bytes + (room == NULL ? 0 : job->n_a * job->product->k * job->type->size_bytes);
    const char *a = room == NULL ? job->product->packed_a : room;

    for (size_t batch = first; batch < last && !mdf_should_stop(job->context); batch++) {
        struct mdf_product product = *job->product;

        job->locate(job->locate_context, batch, &product);
        if (room != NULL) {
            pack_panels(job, &product, room, 0, job->n_panels);
        }
        for (size_t task = 0; task < job->n_column_blocks * job->n_row_blocks; task++) {
            multiply_task(job, &product, batch, a, b, task);
        }
    }
    return_slot(job, slot);
}

/* Cuts C into tasks of nearly one size, as many for each thread: by columns or, where those are few, by rows too. Where B is
 * packed, tasks may be short: by rows, or by columns where rows are few, so that a thread has rows of A, or columns of B, of its
 * own. */
static void plan_blocks(struct packed_job *job, size_t n_threads)
{
    const struct mdf_product *product = job->product;
    size_t rows = job->kernels->rows, n_panel = 2 * job->kernels->lanes, n_columns = mdf_divide_up(product->n, n_panel);
    size_t n_full = product->m / rows * rows, n_blocks = mdf_divide_up(n_columns, BLOCK_PANELS), n_row_blocks = 1;

    job->n_panels = mdf_divide_up(product->m, rows);
    job->n_a = product->m > n_full ? n_full + panel_rows(job, n_full) : n_full;
    if (n_threads > 1 && product->packed_b != NULL) {
        size_t n_tasks = n_threads * TASKS_PER_THREAD;

        if (job->n_panels < n_tasks && !is_narrow(job, product)) {
            n_blocks = n_tasks > n_blocks ? mdf_least(n_tasks, n_columns) : n_blocks;
        }
        n_row_blocks = mdf_least(mdf_divide_up(n_tasks, n_blocks), job->n_panels);
    } else if (n_columns >= 4 * n_threads) {
        n_blocks = mdf_divide_up(n_blocks, n_threads) * n_threads;
    } else {
        n_row_blocks = job->n_panels < n_threads ? job->n_panels : n_threads;
    }
    job->n_block = mdf_divide_up(n_columns, n_blocks) * n_panel;
    job->n_column_blocks = mdf_divide_up(product->n, job->n_block);
    job->n_row_panels = mdf_divide_up(job->n_panels, n_row_blocks);
    job->n_row_blocks = mdf_divide_up(job->n_panels, job->n_row_panels);
}

static bool too_large(struct mdf_call *call, const struct mdf_product *product)
{
    return mdf_call_error(call, MDF_LIMIT, "a product of %zu by %zu by %zu elements is larger than any memory", product->m,
                          product->k, product->n);
}

static bool count_bytes(const struct packed_job *job, size_t rows, size_t columns, size_t *n_bytes)
{
    return mdf_lines_count(rows, columns, job->type->size_bytes, n_bytes);
}

/* Room for packed A (once, or once a slot), where it is to be packed, and for the slots. */
static bool make_room(struct mdf_call *call, struct mdf_value *scratch, struct packed_job *job, bool packs_a, bool a_in_slots)
{
    size_t a_bytes = 0, total;

    job->slot_bytes = 0;
    if ((packs_a && !count_bytes(job, job->n_a, job->product->k, &a_bytes)) ||
        (job->product->packed_b == NULL &&
         !count_bytes(job, job->n_block, block_depth(job->product) + SLACK_ROWS, &job->slot_bytes))) {
        return too_large(call, job->product);
    }
    job->slot_bytes += a_in_slots ? a_bytes : 0;
    if (!mdf_size_multiply(job->slot_bytes, job->n_slots, &total) || total > PTRDIFF_MAX / 4) {
        return too_large(call, job->product);
    }
    job->packed = mdf_lines_make(call, scratch, total + (a_in_slots ? 0 : a_bytes));
    job->slots = a_in_slots || job->packed == NULL ? job->packed : job->packed + a_bytes;
    return job->packed != NULL;
}

static double cost_of(const struct mdf_product *product)
{
    return multiply_ns * (double)product->m * (double)product->n * (double)product->k;
}

/* Few rows are not worth packing, nor what is used once, if it need not be scaled. */
static bool takes_rows(const struct packed_job *job)
{
    return job->product->alpha == 1 && (job->product->m <= 2 || is_narrow(job, job->product));
}

static bool multiply_packed(struct mdf_call *call, struct mdf_value *scratch, const struct mdf_product *product, size_t batch)
{
    struct packed_job job = {
        .context = call->context, .kernels = mdf_gemm_kernels_of(product), .type = mdf_gemm_type_of(product), .product = product};
    size_t n_threads = call->context->n_threads > 1 ? (size_t)call->context->n_threads : 1, n_tasks;
    bool packs_a = product->packed_a == NULL && !takes_rows(&job);
    atomic_bool is_taken[MAX_SLOTS];

    job.batch = batch;
    plan_blocks(&job, n_threads < MAX_SLOTS ? n_threads : MAX_SLOTS);
    n_tasks = job.n_column_blocks * job.n_row_blocks;
    job.n_slots = n_tasks < n_threads ? n_tasks : n_threads;
    job.n_slots = job.n_slots < MAX_SLOTS ? job.n_slots : MAX_SLOTS;
    give_slots(&job, is_taken);
    if (!make_room(call, scratch, &job, packs_a, false)) {
        return false;
    }
    job.a = packs_a ? job.packed : product->packed_a;
    if (packs_a) {
        mdf_parallel_for(call->context, job.n_panels, (double)product->k * (double)job.kernels->rows * 0.5, pack_shared_panels,
                         &job);
    }
    mdf_parallel_for(call->context, n_tasks, cost_of(product) / (double)n_tasks, run_tasks, &job);
    return true;
}

static bool multiply_packed_batches(struct mdf_call *call, struct mdf_value *scratch, const struct mdf_product *product,
                                    size_t n_batches, mdf_product_locate locate, const void *locate_context)
{
    struct packed_job job = {.context = call->context,
                             .kernels = mdf_gemm_kernels_of(product),
                             .type = mdf_gemm_type_of(product),
                             .product = product,
                             .locate = locate,
                             .locate_context = locate_context,
                             .n_batches = n_batches};
    size_t n_threads = call->context->n_threads > 1 ? (size_t)call->context->n_threads : 1;
    atomic_bool is_taken[MAX_SLOTS];

    plan_blocks(&job, 1);
    n_threads = n_threads < MAX_SLOTS ? n_threads : MAX_SLOTS;
    job.n_slots = n_batches < n_threads ? n_batches : n_threads;
    job.packs_a = product->packed_a == NULL && !takes_rows(&job);
    give_slots(&job, is_taken);
    if (!make_room(call, scratch, &job, job.packs_a, true)) {
        return false;
    }
    mdf_parallel_for(call->context, n_batches, cost_of(product), run_batches, &job);
    return true;
}

/* ------------------------------------------------------------------ products that are turned */

/* Whether C turned takes less vectors: a few columns fill none. k: else A turned, packed, would be told from A by nothing. */
static bool is_better_turned(const struct packed_job *job)
{
    const struct mdf_product *product = job->product;
    size_t lanes = job->kernels->lanes, third = job->kernels->rows / 3;
    size_t as_it_is = job->n_a * mdf_divide_up(product->n, lanes);
    size_t turned = mdf_divide_up(product->n, third) * third * mdf_divide_up(product->m, lanes);

    return mdf_dtype_is_real(product->dtype) && product->elements == MDF_PRODUCT_OF_NUMBERS && product->alpha == 1 &&
           !product->add && product->k > 1 && turned + turned / 4 <= as_it_is;
}

struct turned_job {
    struct packed_job packed;          /* of C turned */
    const struct mdf_product *product; /* of C */
    char *c;                           /* C turned, in whole panels */
    size_t n_columns;
};

static void multiply_turned_panel(const struct turned_job *job, size_t column, size_t n, size_t columns)
{
    const struct packed_job *packed = &job->packed;
    const struct mdf_product *product = job->product;
    enum mdf_tile_sums sums = product->start != NULL ? MDF_TILE_GOES_ON : MDF_TILE_OVERWRITES;
    size_t size = packed->type->size_bytes;
    char *c = job->c + column * size;

    for (size_t row = 0; product->start != NULL && row < packed->n_a; row++) {
        memcpy(c + row * job->n_columns * size, (const char *)product->start + column * size, n * size);
        memset(c + (row * job->n_columns + n) * size, 0, (columns - n) * size);
    }
    for (size_t first = 0; first < product->k && !mdf_should_stop(packed->context); first += block_depth(product)) {
        size_t depth = depth_from(product, first);
        const char *b = (const char *)product->packed_turned + (first * job->n_columns + column * depth) * size;

        for (size_t panel = 0; panel < packed->n_panels; panel++) {
            size_t rows = panel_rows(packed, panel * packed->kernels->rows);

            packed->kernels->tiles[rows * 3 / packed->kernels->rows - 1][columns / packed->kernels->lanes - 1](
                depth, packed->a + panel_of_a(packed, first, depth, panel), b, NULL,
                c + panel * packed->kernels->rows * job->n_columns * size, (int64_t)job->n_columns, sums);
        }
        sums = MDF_TILE_ADDS;
    }
    packed->type->store_turned(c, job->n_columns, (char *)product->c + (int64_t)column * product->c_row * (int64_t)size,
                               product->c_row, n, product->n);
}

static void multiply_turned_panels(void *context, size_t first, size_t last)
{
    const struct turned_job *job = context;
    size_t n_panel = 2 * job->packed.kernels->lanes;

    for (size_t panel = first; panel < last; panel++) {
        size_t column = panel * n_panel, columns = mdf_least(job->n_columns - column, n_panel);

        multiply_turned_panel(job, column, mdf_least(job->product->m - column, columns), columns);
    }
}

static bool multiply_turned(struct mdf_call *call, struct mdf_value *scratch, const struct mdf_product *product, size_t batch)
{
    struct mdf_product turned = turn(product);
    struct turned_job job = {{.context = call->context,
                              .kernels = mdf_gemm_kernels_of(product),
                              .type = mdf_gemm_type_of(product),
                              .product = &turned},
                             product,
                             NULL,
                             0};
    size_t n_panels, b_bytes = 0, a_bytes, c_bytes;
    char *b;

    plan_blocks(&job.packed, 1);
    job.n_columns = packed_columns(&job.packed);
    if (!count_bytes(&job.packed, job.packed.n_a, job.n_columns, &c_bytes) ||
        !count_bytes(&job.packed, job.packed.n_a, product->k, &a_bytes) ||
        (product->row != NULL && !count_bytes(&job.packed, product->n, product->k, &b_bytes))) {
        return too_large(call, product);
    }
    job.c = mdf_lines_make(call, scratch, c_bytes + a_bytes + b_bytes);
    if (job.c == NULL) {
        return false;
    }
    b = job.c + c_bytes + a_bytes;
    for (size_t p = 0; product->row != NULL && p < product->k; p++) {
        product->row(product->row_context, batch, p, 0, product->n, b + p * product->n * job.packed.type->size_bytes);
    }
    if (product->row != NULL) {
        turned.a = b;
        turned.a_row = 1;
        turned.a_column = (int64_t)product->n;
    }
    pack_panels(&job.packed, &turned, job.c + c_bytes, 0, job.packed.n_panels);
    job.packed.a = job.c + c_bytes;
    n_panels = mdf_divide_up(product->m, 2 * job.packed.kernels->lanes);
    mdf_parallel_for(call->context, n_panels, cost_of(product) / (double)n_panels, multiply_turned_panels, &job);
    return true;
}

/* ------------------------------------------------------------------ products */

/* A small product with a kernel of its own; false: it has none. */
static bool multiply_small(const struct mdf_product *product)
{
    const struct mdf_gemm_kernels *kernels = mdf_gemm_kernels_of(product);

    if (kernels->multiply_small == NULL || product->b_column != 1 || product->n == 1 ||
        (double)product->m * (double)product->n * (double)product->k >= MDF_PLAIN_PRODUCTS) {
        return false;
    }
    kernels->multiply_small(product);
    return true;
}

static bool multiply_one(struct mdf_call *call, struct mdf_value *scratch, const struct mdf_product *product, size_t batch)
{
    if (product->m == 0 || product->n == 0) {
        return true;
    }
    if (product->k == 0 || is_plain(product)) {
        if (!multiply_small(product)) {
            multiply_as_it_lies(call->context, product);
        }
        return true;
    }
    return product->packed_turned != NULL ? multiply_turned(call, scratch, product, batch)
                                          : multiply_packed(call, scratch, product, batch);
}

bool mdf_multiply(struct mdf_call *call, struct mdf_value *scratch, const struct mdf_product *product)
{
    return multiply_one(call, scratch, product, 0);
}

struct plain_batches {
    const struct mdf_context *context;
    const struct mdf_product *product;
    mdf_product_locate locate;
    const void *locate_context;
};

static void multiply_plain_batches(void *context, size_t first, size_t last)
{
    const struct plain_batches *job = context;
    const struct mdf_gemm_range range = {0, job->product->m, 0, job->product->n};

    for (size_t batch = first; batch < last; batch++) {
        struct mdf_product product = *job->product;

        job->locate(job->locate_context, batch, &product);
        if (!multiply_small(&product)) {
            mdf_gemm_type_of(&product)->multiply_plain(mdf_gemm_kernels_of(&product), &product, &range);
        }
    }
}

bool mdf_multiply_batch(struct mdf_call *call, struct mdf_value *scratch, const struct mdf_product *product, size_t n_batches,
                        mdf_product_locate locate, const void *locate_context)
{
    /* Below this, a product is too short for several threads. */
    const double short_ns = 1e6;
    bool is_short = n_batches > 1 && product->m > 0 && product->n > 0 && product->k > 0 && cost_of(product) < short_ns;

    if (is_short && is_plain(product)) {
        struct plain_batches job = {call->context, product, locate, locate_context};

        mdf_parallel_for(call->context, n_batches, 8 * cost_of(product) + 5, multiply_plain_batches, &job);
        return true;
    }
    if (is_short && product->packed_turned == NULL) {
        return multiply_packed_batches(call, scratch, product, n_batches, locate, locate_context);
    }
    for (size_t batch = 0; batch < n_batches; batch++) {
        struct mdf_product one = *product;

        locate(locate_context, batch, &one);
        if (mdf_should_stop(call->context) || !multiply_one(call, scratch, &one, batch)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ matrices kept packed */

bool mdf_product_is_packed(const struct mdf_product *product)
{
    return !is_plain(product);
}

enum mdf_product_order mdf_product_order(const struct mdf_product *product)
{
    return !is_plain(product)         ? MDF_PRODUCT_IN_BLOCKS
           : is_turned(product)       ? MDF_PRODUCT_TURNED
           : mdf_gemm_is_dot(product) ? MDF_PRODUCT_DOT
                                      : MDF_PRODUCT_IN_ORDER;
}

void mdf_product_of_lines(struct mdf_product *product, size_t length, int64_t m, int64_t n)
{
    product->m = (size_t)m;
    product->n = (size_t)n;
    product->k = m > 0 ? length / (size_t)m : 0;
    product->a_row = product->b_column = 1;
    product->a_column = m;
    product->b_row = product->c_row = n;
    product->alpha = 1;
}

bool mdf_product_is_fused(mdf_dtype dtype)
{
    return mdf_dtype_kind(dtype) == 'f' && mdf_has_avx2();
}

int64_t mdf_product_routine(enum mdf_product_order order, mdf_dtype dtype)
{
    switch (order) {
    case MDF_PRODUCT_DOT:
        return 1;
    case MDF_PRODUCT_IN_BLOCKS:
        return mdf_product_is_fused(dtype) ? 3 : 2;
    case MDF_PRODUCT_IN_ORDER:
    case MDF_PRODUCT_TURNED: /* the same, as alpha is 1 */
        break;
    }
    return 0;
}

static void describe_source(struct mdf_lines_source *source, const struct mdf_product *product, const void *elements, size_t n,
                            int64_t row, int64_t column)
{
    memset(source, 0, sizeof *source); /* padding too: it is compared */
    source->elements = elements;
    source->n = n;
    source->k = product->k;
    source->parts = block_depth(product);
    source->row = row;
    source->column = column;
    source->alpha = product->alpha;
    source->dtype = product->dtype;
}

bool mdf_product_keep_a(struct mdf_call *call, struct mdf_value *kept, bool is_constant, struct mdf_product *product)
{
    struct packed_job job = {.kernels = mdf_gemm_kernels_of(product), .type = mdf_gemm_type_of(product), .product = product};
    struct mdf_lines_source wanted;
    size_t n_bytes;
    bool is_there;

    describe_source(&wanted, product, product->a, product->m, product->a_row, product->a_column);
    if (product->m == 0 || product->n == 0 || product->k == 0) {
        return true;
    }
    plan_blocks(&job, 1);
    if (is_constant && is_better_turned(&job)) {
        struct mdf_product turned = turn(product);

        is_there = mdf_product_keep_b(call, kept, true, &turned);
        product->packed_turned = turned.packed_b;
        return is_there;
    }
    if (!count_bytes(&job, job.n_a, product->k, &n_bytes)) {
        return too_large(call, product);
    }
    job.packed = mdf_lines_keep(call, kept, is_constant, n_bytes, &wanted, &is_there);
    if (job.packed != NULL && !is_there) {
        pack_panels(&job, product, job.packed, 0, job.n_panels);
    }
    product->packed_a = job.packed;
    return job.packed != NULL;
}

bool mdf_product_keep_b(struct mdf_call *call, struct mdf_value *kept, bool is_constant, struct mdf_product *product)
{
    struct packed_job job = {.kernels = mdf_gemm_kernels_of(product), .type = mdf_gemm_type_of(product), .product = product};
    size_t n_bytes, n_columns, size = job.type->size_bytes;
    struct mdf_lines_source wanted;
    bool is_there;
    char *packed;

    describe_source(&wanted, product, product->b, product->n, product->b_row, product->b_column);
    if (product->n == 0 || product->k == 0) {
        return true;
    }
    n_columns = packed_columns(&job);
    if (!count_bytes(&job, n_columns, product->k, &n_bytes)) {
        return too_large(call, product);
    }
    packed = mdf_lines_keep(call, kept, is_constant, n_bytes, &wanted, &is_there);
    for (size_t first = 0; packed != NULL && !is_there && first < product->k; first += block_depth(product)) {
        size_t depth = depth_from(product, first);

        job.type->pack_b(product, 0, first, depth, 0, product->n, 2 * job.kernels->lanes, last_panel_columns(&job, product->n),
                         packed + first * n_columns * size, NULL);
    }
    product->packed_b = packed;
    return packed != NULL;
}
