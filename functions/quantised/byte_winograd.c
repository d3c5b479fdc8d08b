/* byte_winograd.c - see byte_winograd.h.
 *
 * A tile is four windows, two by two, which meet four rows and columns of the padded plane. Planes are laid out with their
 * padding, a row's even columns before its odd ones, as pairs of channels. Blocks of tiles are then transformed, which gives 16
 * numbers a channel, one for each place; at each place the numbers of all channels are multiplied by the weights of all outputs,
 * by the kernels of conv_tiles.c, and summed; and the sums are transformed back. A block is as many tiles as stay in the
 * second-level cache. */
#include "functions/quantised/byte_winograd.h"

#include "functions/products/lines.h"
#include "functions/windows/convolutions/conv_tiles_kernels.h"

#include <string.h>

enum {
    N_PLACES = 16,
    FEWEST_CHANNELS = 24, /* with fewer, transforms take longer than products */
    FEWEST_OUTPUTS = 8,
    FEWEST_WINDOWS = 16,
    /* 4 times 9 products of 255 and -128 for each of these are less than 2^31. */
    MOST_CHANNELS = 1800,
    MAX_LANES = 16,
    BLOCK_BYTES = 448 << 10, /* of the numbers and sums of a block */
    MOST_TILES = 512,
    TASKS_PER_THREAD = 4
};

bool mdf_byte_winograd_fits(const struct mdf_taps *taps, size_t n_channels, size_t n_outputs)
{
    double n_windows = 1;

    if (!mdf_pairs_are_faster() || taps->rank != 2 || n_channels < FEWEST_CHANNELS || n_channels > MOST_CHANNELS ||
        n_outputs < FEWEST_OUTPUTS) {
        return false;
    }
    for (size_t i = 0; i < taps->rank; i++) {
        const struct mdf_window_axis *axis = &taps->axes[i];

        if (axis->kernel != 3 || axis->stride != 1 || axis->dilation != 1 || axis->pad_begin < 0 || axis->windows < 2) {
            return false;
        }
        n_windows *= (double)axis->windows;
    }
    return n_windows >= FEWEST_WINDOWS;
}

#if defined(__x86_64__)
struct winograd_kernels {
    void (*split)(size_t n, const uint8_t *row, const uint8_t *other, uint8_t flip, uint32_t *even, uint32_t *odd);
    void (*transform)(const uint32_t *rows, size_t n_half, size_t n, uint32_t *to, size_t step);
    void (*join)(const uint32_t *sums, size_t step, uint32_t start, size_t n_columns, uint32_t *upper, uint32_t *lower);
};

#define KERNELS "functions/quantised/byte_winograd.inc"
#include "functions/products/fused_pairs.inc"

/* Rough times, to judge what is worth a thread: of one multiplication and addition, of a word laid out or packed. */
static const double multiply_ns = 0.01, move_ns = 0.2;

struct job {
    const struct mdf_byte_winograd *winograd;
    const struct mdf_convolution *tiles;
    const struct mdf_window_axis *rows, *columns;
    const struct winograd_kernels *kernels;
    const struct mdf_tile_kernels *tile_kernels;
    size_t n_tile_rows, n_tile_columns, n_tiles; /* of a plane */
    size_t n_words, n_half, n_plane;             /* words of channels; of half a row and of a plane laid out */
    size_t n_outputs, n_padded;                  /* of a group: rows of weights; those of all panels */
    uint32_t *weights;                           /* [group][place][panel][word][row of the panel] */
    uint32_t *planes;                            /* of one batch: [group][word][plane] */
    size_t n_block, n_blocks, n_tasks;           /* tiles of a block; blocks of a group; tasks of all groups */
    size_t numbers_step, sums_step;              /* from place to place */
    uint32_t *room;                              /* for each task: numbers [place][word][tile], sums [place][output][tile] */
    const uint8_t *x;
    uint32_t *y;
};

/* Rows of the panel that begins at row `output`. */
static size_t panel_rows(const struct job *job, size_t output)
{
    return mdf_least(job->n_padded - output, job->tile_kernels->rows);
}

/* ------------------------------------------------------------------ weights */

/* Three numbers g become 2 g0, g0 + g1 + g2, g0 - g1 + g2, 2 g2. */
static void transform_three(const int *g, int step, int *to)
{
    to[0] = 2 * g[0];
    to[step] = g[0] + g[step] + g[2 * step];
    to[2 * step] = g[0] - g[step] + g[2 * step];
    to[3 * step] = 2 * g[2 * step];
}

/* The numbers of nine weights, of the half of a word that begins at bit `shift`, added to words that lie `step` apart. */
static void transform_weights(const uint32_t *taps, unsigned shift, uint32_t *to, size_t step)
{
    int numbers[4][4] = {{0}}, columns[4][4] = {{0}};

    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 3; j++) {
            numbers[i][j] = (int16_t)(taps[3 * i + j] >> shift & 0xffff);
        }
    }
    for (size_t j = 0; j < 3; j++) {
        transform_three(&numbers[0][j], 4, &columns[0][j]);
    }
    for (size_t i = 0; i < 4; i++) {
        transform_three(columns[i], 1, numbers[i]);
        for (size_t j = 0; j < 4; j++) {
            to[(4 * i + j) * step] |= (uint32_t)(uint16_t)numbers[i][j] << shift;
        }
    }
}

static void pack_outputs(void *context, size_t first, size_t last)
{
    const struct job *job = context;
    size_t step = job->n_padded * job->n_words, n_taps = job->tiles->taps->n_taps;

    for (size_t at = first; at < last; at++) {
        size_t group = at / job->n_padded, output = at % job->n_padded, rows = job->tile_kernels->rows;
        size_t panel = output / rows * rows, n_rows = panel_rows(job, panel);
        const uint32_t *from = (const uint32_t *)job->tiles->weights + (group * job->n_outputs + output) * job->n_words * n_taps;
        uint32_t *to = job->weights + group * N_PLACES * step + panel * job->n_words + output - panel;

        for (size_t word = 0; word < job->n_words; word++, from += n_taps, to += n_rows) {
            for (size_t place = 0; place < N_PLACES; place++) {
                to[place * step] = 0;
            }
            if (output < job->n_outputs) {
                transform_weights(from, 0, to, step);
                transform_weights(from, 16, to, step);
            }
        }
    }
}

static bool prepare_weights(struct mdf_workspace *workspace, struct job *job)
{
    const struct mdf_convolution *tiles = job->tiles;
    struct mdf_value *kept = mdf_workspace_value(workspace);
    size_t n_rows = tiles->n_groups * job->n_padded, n_bytes;
    struct mdf_lines_source source;
    bool is_there;

    if (kept == NULL) {
        return false;
    }
    memset(&source, 0, sizeof source); /* padding too: it is compared */
    source.elements = tiles->weights;
    source.n = job->n_outputs;
    source.k = job->n_words;
    source.parts = N_PLACES * tiles->n_groups;
    source.dtype = tiles->dtype;
    if (!mdf_lines_count(n_rows, N_PLACES * job->n_words, sizeof(uint32_t), &n_bytes)) {
        return mdf_call_error(workspace->call, MDF_LIMIT, "the weights are more than any memory holds");
    }
    job->weights =
        (uint32_t *)(void *)mdf_lines_keep(workspace->call, kept, tiles->weights_are_constant, n_bytes, &source, &is_there);
    if (job->weights != NULL && !is_there) {
        mdf_parallel_for_all(workspace->call->context, n_rows, move_ns * N_PLACES * (double)job->n_words, pack_outputs, job);
    }
    return job->weights != NULL;
}

/* ------------------------------------------------------------------ planes */

static void fill(uint32_t *to, size_t n, uint32_t word)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = word;
    }
}

/* A row of pairs with its padding: its even columns, then its odd ones. */
static void lay_out_row(const struct job *job, const uint8_t *row, const uint8_t *other, uint32_t *to)
{
    size_t pad = (size_t)job->columns->pad_begin, n = (size_t)job->columns->array, shift = pad / 2;
    size_t n_columns = 2 * job->n_tile_columns + 2;

    fill(to, 2 * job->n_half, job->tiles->padding);
    if (row == NULL || pad >= n_columns) {
        return;
    }
    n = mdf_least(n, n_columns - pad);
    if (pad % 2 == 0) {
        job->kernels->split(n, row, other, job->winograd->flip, to + shift, to + job->n_half + shift);
    } else {
        job->kernels->split(n, row, other, job->winograd->flip, to + job->n_half + shift, to + shift + 1);
    }
}

static void lay_out_planes(void *context, size_t first, size_t last)
{
    const struct job *job = context;
    size_t n_array_rows = (size_t)job->rows->array, n_columns = (size_t)job->columns->array,
           n_channels = job->winograd->n_channels;

    for (size_t at = first; at < last; at++) {
        size_t group = at / job->n_words, channel = at % job->n_words * 2, n_bytes = n_array_rows * n_columns;
        const uint8_t *plane = job->x + (group * n_channels + channel) * n_bytes;
        const uint8_t *other = channel + 1 < n_channels ? plane + n_bytes : plane; /* times 0 */
        uint32_t *to = job->planes + at * job->n_plane;

        for (size_t i = 0; i < 2 * job->n_tile_rows + 2; i++, to += 2 * job->n_half) {
            size_t row = i - (size_t)job->rows->pad_begin; /* wraps above the array */

            lay_out_row(job, row < n_array_rows ? plane + row * n_columns : NULL,
                        other + (row < n_array_rows ? row * n_columns : 0), to);
        }
    }
}

/* ------------------------------------------------------------------ blocks */

/* Tiles of a block that lie side by side. */
struct stretch {
    size_t row, column, n; /* the first one, counted in tiles; how many */
};

static struct stretch stretch_at(const struct job *job, size_t tile, size_t end)
{
    struct stretch stretch = {.row = tile / job->n_tile_columns, .column = tile % job->n_tile_columns};

    stretch.n = mdf_least(job->n_tile_columns - stretch.column, end - tile);
    return stretch;
}

static void transform_block(const struct job *job, size_t group, size_t first, size_t end, uint32_t *numbers)
{
    const uint32_t *plane = job->planes + group * job->n_words * job->n_plane;

    for (size_t word = 0; word < job->n_words; word++, plane += job->n_plane, numbers += job->n_block) {
        struct stretch stretch;

        for (size_t tile = first; tile < end; tile += stretch.n) {
            stretch = stretch_at(job, tile, end);
            job->kernels->transform(plane + 4 * stretch.row * job->n_half + stretch.column, job->n_half, stretch.n,
                                    numbers + tile - first, job->numbers_step);
        }
    }
}

/* A place's numbers times the weights of all outputs. */
static void multiply_place(const struct job *job, const uint32_t *numbers, const uint32_t *weights, size_t n_tiles,
                           uint32_t *sums)
{
    static const uint32_t starts[MAX_LANES];
    static const int64_t no_offset;
    size_t lanes = job->tile_kernels->lanes, rows = job->tile_kernels->rows, n_vectors = mdf_divide_up(n_tiles, lanes);
    struct mdf_tile tile = {.n_channels = job->n_words,
                            .n_taps = 1,
                            .n_plane = job->n_block,
                            .n_block = job->n_words,
                            .taps = &no_offset,
                            .planes = numbers,
                            .is_whole = true,
                            .y_row = (int64_t)job->n_block};

    for (size_t output = 0; output < job->n_padded; output += rows) {
        size_t n_rows = panel_rows(job, output);
        const mdf_conv_tile_function *functions = job->tile_kernels->tiles[n_rows * 3 / rows - 1];

        for (size_t at = 0; at < n_vectors; at += 2) {
            size_t n = mdf_least(n_vectors - at, 2);
            int64_t place = (int64_t)(at * lanes), next = place + (int64_t)lanes;
            struct mdf_tile_part parts[2] = {{place, 0, (int64_t)lanes}, {next, 0, (int64_t)lanes}};
            struct mdf_tile_vector vectors[2] = {{place, &parts[0], 1}, {next, &parts[1], 1}};

            tile.vectors = vectors;
            tile.n_ahead = at + 2 >= n_vectors ? n_rows * job->n_words : 0; /* the next panel */
            functions[n - 1](&tile, weights + output * job->n_words, starts, n_rows, sums + output * job->n_block);
        }
    }
}

static void join_block(const struct job *job, size_t group, size_t first, size_t end, const uint32_t *sums)
{
    size_t n_rows = (size_t)job->rows->windows, n_columns = (size_t)job->columns->windows;
    const uint32_t *starts = (const uint32_t *)job->tiles->bias + group * job->n_outputs;

    for (size_t output = 0; output < job->n_outputs; output++, sums += job->n_block) {
        uint32_t *plane = job->y + (group * job->n_outputs + output) * n_rows * n_columns;
        struct stretch stretch;

        for (size_t tile = first; tile < end; tile += stretch.n) {
            uint32_t *upper;

            stretch = stretch_at(job, tile, end);
            upper = plane + 2 * stretch.row * n_columns + 2 * stretch.column;
            job->kernels->join(sums + tile - first, job->sums_step, starts[output],
                               mdf_least(2 * stretch.n, n_columns - 2 * stretch.column), upper,
                               2 * stretch.row + 1 < n_rows ? upper + n_columns : NULL);
        }
    }
}

static void run_tasks(void *context, size_t first, size_t last)
{
    const struct job *job = context;
    size_t n_all = job->tiles->n_groups * job->n_blocks, n_room = N_PLACES * (job->numbers_step + job->sums_step);

    for (size_t task = first; task < last; task++) {
        uint32_t *numbers = job->room + task * n_room, *sums = numbers + N_PLACES * job->numbers_step;

        for (size_t at = n_all * task / job->n_tasks; at < n_all * (task + 1) / job->n_tasks; at++) {
            size_t group = at / job->n_blocks, tile = at % job->n_blocks * job->n_block;
            size_t end = mdf_least(tile + job->n_block, job->n_tiles), n_weights = job->n_padded * job->n_words;

            transform_block(job, group, tile, end, numbers);
            for (size_t place = 0; place < N_PLACES; place++) {
                multiply_place(job, numbers + place * job->numbers_step, job->weights + (group * N_PLACES + place) * n_weights,
                               end - tile, sums + place * job->sums_step);
            }
            join_block(job, group, tile, end, sums);
        }
    }
}

/* ------------------------------------------------------------------ all */

static void plan_blocks(struct job *job, size_t n_threads)
{
    size_t n_pair = 2 * job->tile_kernels->lanes,
           most = BLOCK_BYTES / (N_PLACES * sizeof(uint32_t) * (job->n_words + job->n_padded));
    size_t n_tasks = n_threads > 1 ? n_threads * TASKS_PER_THREAD : 1, n_shared = mdf_divide_up(n_tasks, job->tiles->n_groups);

    most = mdf_least(mdf_least(most, MOST_TILES), mdf_divide_up(job->n_tiles, n_shared));
    most = most > n_pair ? most : n_pair;
    job->n_block = mdf_divide_up(mdf_divide_up(job->n_tiles, mdf_divide_up(job->n_tiles, most)), n_pair) * n_pair;
    job->n_blocks = mdf_divide_up(job->n_tiles, job->n_block);
    job->n_tasks = mdf_least(n_tasks, job->tiles->n_groups * job->n_blocks);
    /* What is written behind the last word, and so that places do not lie at the same place of pages. */
    job->numbers_step = job->n_words * job->n_block + MAX_LANES;
    job->sums_step = job->n_padded * job->n_block + MAX_LANES;
}

static bool prepare(struct mdf_workspace *workspace, struct job *job)
{
    const struct mdf_context *context = workspace->call->context;
    size_t n_planes = job->tiles->n_groups * job->n_words, third = job->tile_kernels->rows / 3;

    job->n_tile_rows = mdf_divide_up((size_t)job->rows->windows, 2);
    job->n_tile_columns = mdf_divide_up((size_t)job->columns->windows, 2);
    job->n_tiles = job->n_tile_rows * job->n_tile_columns;
    job->n_half = job->n_tile_columns + 1 + MAX_LANES;
    job->n_plane = (2 * job->n_tile_rows + 2) * 2 * job->n_half;
    job->n_padded = mdf_divide_up(job->n_outputs, third) * third;
    if (!prepare_weights(workspace, job)) {
        return false;
    }
    job->planes = mdf_workspace_matrix(workspace, MDF_DTYPE_UINT32, n_planes, job->n_plane);
    if (job->planes == NULL) {
        return false;
    }
    plan_blocks(job, context->n_threads > 1 ? (size_t)context->n_threads : 1);
    job->room = mdf_workspace_matrix(workspace, MDF_DTYPE_UINT32, job->n_tasks, N_PLACES * (job->numbers_step + job->sums_step));
    return job->room != NULL;
}

bool mdf_byte_winograd_run(struct mdf_workspace *workspace, const struct mdf_byte_winograd *winograd)
{
    const struct mdf_context *context = workspace->call->context;
    const struct mdf_convolution *tiles = winograd->tiles;
    struct job job = {.winograd = winograd,
                      .tiles = tiles,
                      .rows = &tiles->taps->axes[0],
                      .columns = &tiles->taps->axes[1],
                      .kernels = MDF_PAIR_KERNELS(&winograd_kernels),
                      .tile_kernels = MDF_PAIR_KERNELS(&mdf_tile_kernels),
                      .n_words = tiles->group_channels,
                      .n_outputs = tiles->group_outputs,
                      .x = winograd->x,
                      .y = tiles->y};
    size_t n_planes = tiles->n_groups * job.n_words;

    if (!prepare(workspace, &job)) {
        return false;
    }
    for (size_t batch = 0; batch < tiles->n_batches; batch++) {
        double n_products = (double)n_planes * (double)job.n_padded * (double)job.n_tiles * N_PLACES;

        mdf_parallel_for(context, n_planes, move_ns * (double)job.n_plane, lay_out_planes, &job);
        mdf_parallel_for(context, job.n_tasks, multiply_ns * n_products / (double)job.n_tasks, run_tasks, &job);
        job.x += tiles->n_groups * winograd->n_channels * tiles->taps->array_size;
        job.y += tiles->n_groups * job.n_outputs * (size_t)job.rows->windows * (size_t)job.columns->windows;
    }
    return true;
}
#else
bool mdf_byte_winograd_run(struct mdf_workspace *workspace, const struct mdf_byte_winograd *winograd)
{
    (void)winograd;
    return mdf_call_error(workspace->call, MDF_LIMIT, "pairs are no faster than words here");
}
#endif
