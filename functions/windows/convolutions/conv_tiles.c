/* conv_tiles.c - see conv_tiles.h.
 *
 * Windows are numbered along the planes as these lie, so that a vector may hold the end of one row of windows and the begin of
 * the next; the lanes between belong to no window, and are not written. Weights are packed in panels as high as a tile. A task is
 * some panels times some vectors, few enough that what these meet stays in the second-level cache. */
#include "functions/windows/convolutions/conv_tiles.h"

#include "functions/products/lines.h"
#include "functions/windows/convolutions/conv_tiles_kernels.h"
#include "functions/windows/convolutions/padded_planes.h"

enum {
    MAX_ROWS = 12,         /* of a tile */
    MAX_LANES = 16,        /* of a vector */
    MANY_PANELS = 6,       /* for which windows of one tap are worth being laid out as tiles meet them */
    BLOCK_PRODUCTS = 256,  /* summed in one go */
    FEW_WINDOWS = 4,       /* these are better unrolled */
    MOST_LAYOUT = 1 << 27, /* elements of all planes laid out */
    MET_BYTES = 512 << 10, /* of what the vectors of a task meet */
    POINTED_BYTES = 256 << 10,
    MANY_MET = 16 << 10,      /* bytes that pairs of vectors meet, that do not stay in the nearest cache beside weights */
    FAR_PLANES = 100 << 10,   /* bytes of planes that do not stay there either */
    NEAR_WEIGHTS = 640 << 10, /* bytes that stay in the second-level cache */
    NEAR_SUMS = 512 << 10,
    TASKS_PER_THREAD = 8
};

/* Rough times, to judge what is worth a thread: of one multiplication and addition, of an element laid out or packed. */
static const double multiply_ns = 0.01, move_ns = 0.2;

static const struct mdf_tile_kernels *choose_kernels(const struct mdf_convolution *tiles)
{
    switch (tiles->elements) {
    case MDF_PRODUCT_OF_WORDS:
        return MDF_BYTE_KERNELS(&mdf_tile_kernels);
    case MDF_PRODUCT_OF_PAIRS:
        return MDF_PAIR_KERNELS(&mdf_tile_kernels);
    case MDF_PRODUCT_OF_NUMBERS:
        break;
    }
    return MDF_FUSED_KERNELS(&mdf_tile_kernels, tiles->dtype);
}

struct job {
    const struct mdf_convolution *tiles;
    const struct mdf_tile_kernels *kernels;
    mdf_dtype dtype;
    size_t size_bytes; /* of an element */
    struct mdf_padded_planes padded;
    struct mdf_tile tile; /* what is the same for all */
    struct mdf_tile_vector *vectors;
    size_t n_vectors, n_windows;
    struct mdf_tile_vector points; /* windows that are in none of these */
    struct mdf_tile_part point_part;
    size_t n_panels, n_packed; /* of a group: panels; elements packed */
    char *packed, *laid_out;
    size_t n_vector_blocks; /* of nearly one size */
    char *met;              /* pairs of vectors go through all panels: room for what they meet, by tasks; or NULL */
    size_t n_met;
    const char *x; /* of the batch */
    char *y;
};

/* Runs of adjacent windows, and where each begins in a plane. */
struct runs {
    size_t n;
    int64_t length;
    const int64_t *places;
};

static const int64_t no_offset = 0;

static struct runs runs_of(const struct mdf_convolution *tiles, const struct mdf_padded_planes *padded)
{
    if (tiles->is_pointwise) {
        return (struct runs){1, (int64_t)tiles->taps->array_size, &no_offset};
    }
    if (padded->is_dense) { /* the runs lie one behind the other */
        return (struct runs){1, (int64_t)tiles->taps->n_outer * tiles->taps->n_run, padded->outer_offsets};
    }
    return (struct runs){tiles->taps->n_outer, tiles->taps->n_run, padded->outer_offsets};
}

bool mdf_conv_tiles_fit(const struct mdf_convolution *tiles)
{
    const struct mdf_taps *taps = tiles->taps;
    double n_windows = (double)taps->n_outer * (double)taps->n_run, n_places = n_windows;

    if (tiles->group_channels == 0 || taps->n_taps == 0) {
        return false;
    }
    if (tiles->is_pointwise) {
        return n_windows >= MAX_LANES;
    }
    for (size_t i = 1; i < taps->rank; i++) {
        const struct mdf_window_axis *axis = &taps->axes[i];

        n_places *= 1 + (double)((axis->kernel - 1) * axis->dilation / axis->stride) / (double)axis->windows;
    }
    return n_windows >= FEW_WINDOWS && n_places <= 3 * n_windows && mdf_padded_planes_fit(taps);
}

size_t mdf_conv_tiles_block(size_t n_taps)
{
    return (BLOCK_PRODUCTS / n_taps + 1) * n_taps;
}

/* Covers the windows with vectors, each from the first window that is in none yet. The last ones begin earlier where they would
 * reach beyond the last window; that an element is in two vectors, and written from the first, is no matter. */
static void cover_windows(struct job *job, const struct runs *runs, struct mdf_tile_vector *vectors, struct mdf_tile_part *parts)
{
    int64_t lanes = (int64_t)job->kernels->lanes, n_places = runs->places[runs->n - 1] + runs->length, window = 0;
    struct mdf_tile_vector *vector = vectors;

    for (size_t run = 0; run < runs->n; vector++) {
        int64_t place = runs->places[run] + window;

        vector->first = place + lanes > n_places && n_places >= lanes ? n_places - lanes : place;
        vector->parts = parts;
        while (run < runs->n && runs->places[run] + window < vector->first + lanes) {
            int64_t low = runs->places[run] + window - vector->first;
            int64_t n = runs->length - window < lanes - low ? runs->length - window : lanes - low;

            *parts++ = (struct mdf_tile_part){(int64_t)run * runs->length + window, low, low + n};
            window += n;
            run += window == runs->length;
            window = window == runs->length ? 0 : window;
        }
        vector->n_parts = (size_t)(parts - vector->parts);
    }
    job->vectors = vectors;
    job->n_vectors = (size_t)(vector - vectors);
}

/* The last windows, where they lie in one run and are a few more than fill vectors. */
static int64_t count_points(const struct job *job, const struct runs *runs)
{
    int64_t lanes = (int64_t)job->kernels->lanes, left = runs->length % lanes;

    return job->kernels->points != NULL && runs->n == 1 && runs->length > lanes && left <= MDF_TILE_POINTS ? left : 0;
}

static bool prepare_vectors(struct mdf_workspace *workspace, struct job *job)
{
    struct runs runs = runs_of(job->tiles, &job->padded);
    int64_t n_points = count_points(job, &runs);
    size_t lanes = job->kernels->lanes, most = runs.n * (((size_t)runs.length + lanes - 1) / lanes);
    size_t n_bytes = most * sizeof(struct mdf_tile_vector) + (most + runs.n) * sizeof(struct mdf_tile_part);
    struct mdf_tile_vector *vectors = mdf_workspace_array(workspace, MDF_DTYPE_INT64, n_bytes / sizeof(int64_t));

    if (vectors == NULL) {
        return false;
    }
    job->n_windows = runs.n * (size_t)runs.length;
    runs.length -= n_points;
    job->point_part = (struct mdf_tile_part){runs.length, 0, n_points};
    job->points = (struct mdf_tile_vector){runs.places[0] + runs.length, &job->point_part, (size_t)n_points};
    cover_windows(job, &runs, vectors, (struct mdf_tile_part *)(void *)(vectors + most));
    return true;
}

/* Rows of the panel that begins at output `output` of a group. A third more than a panel is two of two thirds: sums of a third
 * wait for each other. */
static size_t panel_rows(const struct job *job, size_t output)
{
    size_t left = job->tiles->group_outputs - output, third = job->kernels->rows / 3;
    bool is_full = left > 4 * third || (left > 2 * third && left <= 3 * third);

    return is_full ? 3 * third : left > third ? 2 * third : third;
}

/* Panels before those that are less than full. */
static size_t count_full_panels(const struct job *job)
{
    size_t n = job->tiles->group_outputs / job->kernels->rows, left = job->tiles->group_outputs % job->kernels->rows;

    return n > 0 && left > 0 && left <= job->kernels->rows / 3 ? n - 1 : n;
}

/* The output of a group that a panel begins at. */
static size_t panel_output(const struct job *job, size_t panel)
{
    size_t n_full = count_full_panels(job);

    return panel > n_full ? n_full * job->kernels->rows + job->kernels->rows / 3 * 2 : panel * job->kernels->rows;
}

static void pack_panels(void *context, size_t first, size_t last)
{
    const struct job *job = context;
    size_t k = job->tile.n_channels * job->tile.n_taps;

    for (size_t at = first; at < last; at++) {
        size_t group = at / job->n_panels, output = panel_output(job, at % job->n_panels);
        size_t left = job->tiles->group_outputs - output, rows = panel_rows(job, output);
        const char *weights =
            (const char *)job->tiles->weights + (group * job->tiles->group_outputs + output) * k * job->size_bytes;

        job->kernels->pack_panel(weights, left < rows ? left : rows, rows, k,
                                 job->packed + (group * job->n_packed + output * k) * job->size_bytes);
    }
}

/* The weights in panels, kept for the next run. */
static bool prepare_weights(struct mdf_workspace *workspace, struct job *job)
{
    const struct mdf_convolution *tiles = job->tiles;
    struct mdf_value *kept = mdf_workspace_value(workspace);
    size_t n_full = tiles->group_outputs / job->kernels->rows * job->kernels->rows, n_bytes,
           k = job->tile.n_channels * job->tile.n_taps;
    struct mdf_lines_source source;
    bool is_there;

    if (kept == NULL) {
        return false;
    }
    job->n_panels = mdf_divide_up(tiles->group_outputs, job->kernels->rows);
    job->n_packed = (n_full + (n_full < tiles->group_outputs ? panel_rows(job, n_full) : 0)) * k;
    memset(&source, 0, sizeof source);
    source.elements = tiles->weights;
    source.n = tiles->group_outputs;
    source.k = k;
    source.parts = tiles->n_groups;
    source.dtype = job->dtype;
    if (!mdf_lines_count(job->n_packed, tiles->n_groups, job->size_bytes, &n_bytes) ||
        !mdf_size_add(n_bytes, MAX_LANES * sizeof(double), &n_bytes)) { /* the last panel's vectors may end behind it */
        return mdf_call_error(workspace->call, MDF_LIMIT, "the weights are more than any memory holds");
    }
    job->packed = mdf_lines_keep(workspace->call, kept, tiles->weights_are_constant, n_bytes, &source, &is_there);
    if (job->packed != NULL && !is_there) {
        mdf_parallel_for_all(workspace->call->context, tiles->n_groups * job->n_panels,
                             move_ns * (double)k * (double)job->kernels->rows, pack_panels, job);
    }
    return job->packed != NULL;
}

/* Pairs of vectors go through all panels, one pair after the other, where planes do not stay in the nearest cache while the
 * panels' weights and the sums stay in the second: what a pair meets is copied, one behind the other, once, and is near for all
 * panels. */
static bool go_by_pairs(const struct job *job)
{
    size_t n_channels = job->tile.n_channels, n_pair = 2 * job->kernels->lanes * job->size_bytes;

    return !job->tiles->is_pointwise && job->tiles->n_groups == 1 && job->n_panels >= MANY_PANELS &&
           n_channels * job->tile.n_taps * n_pair >= MANY_MET && n_channels * job->tile.n_plane * job->size_bytes >= FAR_PLANES &&
           job->n_packed * job->size_bytes <= NEAR_WEIGHTS &&
           job->tiles->group_outputs * job->n_windows * job->size_bytes <= NEAR_SUMS;
}

static bool prepare_met(struct mdf_workspace *workspace, struct job *job)
{
    job->n_met = job->tile.n_channels * job->tile.n_taps * 2 * job->kernels->lanes;
    job->met = mdf_workspace_array(workspace, job->dtype, job->n_vector_blocks * job->n_met);
    return job->met != NULL;
}

/* Of one tap, and vectors that are half a line of the cache: tiles of many panels meet the two vectors of all channels one behind
 * the other. Where planes lie apart, a vector is in two lines about half the time, and lines of as many channels as there are do
 * not stay in the nearest cache from panel to panel. */
static bool prepare_pairs(struct mdf_workspace *workspace, struct job *job)
{
    size_t n_planes = job->tiles->n_groups * job->tiles->group_channels, n_pair = 2 * job->kernels->lanes, n;

    if (!job->tiles->is_pointwise || job->n_panels < MANY_PANELS || job->kernels->lanes * job->size_bytes > 32) {
        return true;
    }
    if (!mdf_size_multiply(mdf_divide_up(job->n_vectors, 2) * n_pair, n_planes, &n) || n > PTRDIFF_MAX / 16) {
        return mdf_call_error(workspace->call, MDF_LIMIT, "the array, laid out, is more than any memory holds");
    }
    job->laid_out = mdf_workspace_array(workspace, job->dtype, n);
    return job->laid_out != NULL;
}

/* Of 16 bytes, 32 or 64: each known when it is compiled. */
static inline void copy_vector(size_t n_bytes, const char *from, char *to)
{
    if (n_bytes == 64) {
        memcpy(to, from, 64);
    } else if (n_bytes == 32) {
        memcpy(to, from, 32);
    } else {
        memcpy(to, from, 16);
    }
}

static void lay_out_pairs(void *context, size_t first, size_t last)
{
    const struct job *job = context;
    size_t n_channels = job->tile.n_channels, n_bytes = job->kernels->lanes * job->size_bytes,
           n_pairs = mdf_divide_up(job->n_vectors, 2);
    size_t plane_bytes = job->tile.n_plane * job->size_bytes;

    for (size_t i = first; i < last; i++) {
        const struct mdf_tile_vector *one = job->vectors + 2 * (i % n_pairs);
        const struct mdf_tile_vector *other = 2 * (i % n_pairs) + 1 < job->n_vectors ? one + 1 : one;
        const char *from = job->x + i / n_pairs * n_channels * plane_bytes;
        char *to = job->laid_out + i * n_channels * 2 * n_bytes;

        for (size_t channel = 0; channel < n_channels; channel++, from += plane_bytes, to += 2 * n_bytes) {
            copy_vector(n_bytes, from + (size_t)one->first * job->size_bytes, to);
            copy_vector(n_bytes, from + (size_t)other->first * job->size_bytes, to + n_bytes);
        }
    }
}

/* Room for the planes of one batch, and for what is read behind the last one's end. */
static bool prepare_planes(struct mdf_workspace *workspace, struct job *job)
{
    const struct mdf_convolution *tiles = job->tiles;
    size_t n_planes = tiles->n_groups * tiles->group_channels, n_left = job->kernels->points != NULL ? MDF_TILE_POINTS : 0, n;

    job->tile.taps = &no_offset;
    job->tile.n_plane = tiles->taps->array_size;
    if (tiles->is_pointwise) {
        return true;
    }
    if (!mdf_padded_planes_prepare(workspace, tiles->taps,
                                   mdf_padded_planes_are_dense(tiles->taps, job->kernels->lanes, n_left, tiles->group_outputs),
                                   &job->padded)) {
        return false;
    }
    job->padded.padding = tiles->padding;
    job->tile.taps = job->padded.tap_offsets;
    job->tile.n_plane = job->padded.n_plane;
    if (!mdf_size_multiply(job->padded.n_plane, n_planes, &n) || n > PTRDIFF_MAX / 16) {
        return mdf_call_error(workspace->call, MDF_LIMIT, "the array with its padding is more than any memory holds");
    }
    job->laid_out = mdf_workspace_array(workspace, job->dtype, n + MAX_LANES);
    if (job->laid_out != NULL) {
        memset(job->laid_out + n * job->size_bytes, 0, MAX_LANES * job->size_bytes);
    }
    return job->laid_out != NULL;
}

static void lay_out_planes(void *context, size_t first, size_t last)
{
    const struct job *job = context;

    for (size_t plane = first; plane < last; plane++) {
        mdf_padded_planes_fill(&job->padded, job->dtype, job->x + plane * job->tiles->taps->array_size * job->size_bytes,
                               job->laid_out + plane * job->padded.n_plane * job->size_bytes);
    }
}

/* Cuts the tiles of a group into tasks, some for each thread: a panel times a block of vectors, or all panels, by pairs. */
static void plan_blocks(struct job *job, size_t n_threads)
{
    size_t n_copies = job->padded.is_dense ? job->padded.n_last_phases : 1;
    size_t n_met = job->tile.n_channels * n_copies * 2 * job->kernels->lanes * job->size_bytes,
           n_pairs = mdf_divide_up(job->n_vectors, 2);
    size_t n_blocks = mdf_divide_up(n_pairs * n_met, MET_BYTES), n_tasks = n_threads > 1 ? n_threads * TASKS_PER_THREAD : 1;

    n_tasks = mdf_divide_up(n_tasks, job->tiles->n_groups);
    if (go_by_pairs(job)) {
        n_blocks = n_tasks;
    } else if (n_blocks * job->n_panels < n_tasks) {
        n_blocks = mdf_divide_up(n_tasks, job->n_panels);
    }
    job->n_vector_blocks = mdf_least(n_blocks, n_pairs);
}

/* Where block number `block` of `n_blocks` begins, of `n` things. */
static size_t begin_of(size_t n, size_t n_blocks, size_t block)
{
    return n / n_blocks * block + n % n_blocks * block / n_blocks;
}

static bool is_whole(const struct mdf_tile_vector *vectors, size_t n, size_t lanes)
{
    for (size_t i = 0; i < n; i++) {
        if (vectors[i].parts[0].low != 0 || vectors[i].parts[0].high != (int64_t)lanes) {
            return false;
        }
    }
    return true;
}

/* The tile's vectors where pairs are laid out: they lie one behind the other. */
static void find_pair(const struct job *job, struct mdf_tile *tile, size_t number, size_t n, struct mdf_tile_vector pair[2])
{
    tile->planes = job->laid_out + number * tile->n_channels * tile->n_plane * job->size_bytes;
    for (size_t i = 0; i < n; i++) {
        pair[i] = tile->vectors[i];
        pair[i].first = (int64_t)(i * job->kernels->lanes);
    }
    tile->vectors = pair;
}

/* What a pair of vectors meets, copied for all panels; of which sums are made as of the planes themselves. */
static struct mdf_tile copy_met(const struct job *job, struct mdf_tile tile, char *to, struct mdf_tile_vector pair[2], size_t n)
{
    size_t n_bytes = job->kernels->lanes * job->size_bytes, plane_bytes = tile.n_plane * job->size_bytes;
    const char *one = (const char *)tile.planes + tile.vectors[0].first * (int64_t)job->size_bytes;
    const char *other = (const char *)tile.planes + tile.vectors[n - 1].first * (int64_t)job->size_bytes;
    const int64_t *taps = tile.taps;

    tile.planes = to;
    for (size_t channel = 0; channel < tile.n_channels; channel++, one += plane_bytes, other += plane_bytes) {
        for (size_t tap = 0; tap < tile.n_taps; tap++, to += 2 * n_bytes) {
            copy_vector(n_bytes, one + taps[tap] * (int64_t)job->size_bytes, to);
            copy_vector(n_bytes, other + taps[tap] * (int64_t)job->size_bytes, to + n_bytes);
        }
    }
    for (size_t i = 0; i < n; i++) {
        pair[i] = tile.vectors[i];
        pair[i].first = (int64_t)(i * job->kernels->lanes);
    }
    tile.vectors = pair;
    tile.is_whole = is_whole(pair, n, job->kernels->lanes);
    tile.n_channels *= tile.n_taps;
    tile.n_block *= tile.n_taps;
    tile.n_taps = 1;
    tile.taps = &no_offset;
    tile.n_plane = 2 * job->kernels->lanes;
    return tile;
}

/* A panel of weights, of `n_rows` rows, times the vectors [first, last). */
static void run_panel(const struct job *job, struct mdf_tile tile, size_t group, const char *weights, const void *starts,
                      size_t n_rows, size_t n_outputs, size_t first, size_t last, char *y)
{
    bool meets_pairs = job->tiles->is_pointwise && job->laid_out != NULL;
    size_t n_pairs = mdf_divide_up(job->n_vectors, 2), n_ahead = n_rows * tile.n_channels * tile.n_taps;
    const mdf_conv_tile_function *functions = job->kernels->tiles[n_rows * 3 / job->kernels->rows - 1];
    struct mdf_tile_vector pair[2];

    tile.n_plane = meets_pairs ? 2 * job->kernels->lanes : tile.n_plane;
    for (size_t at = first; at < last; at += 2) {
        size_t n = last - at < 2 ? 1 : 2;

        tile.vectors = job->vectors + at;
        tile.n_ahead = at + 2 >= last ? n_ahead : 0; /* the next panel */
        tile.is_whole = is_whole(tile.vectors, n, job->kernels->lanes);
        if (meets_pairs) {
            find_pair(job, &tile, group * n_pairs + at / 2, n, pair);
        }
        functions[n - 1](&tile, weights, starts, n_outputs, y);
    }
}

static void copy_starts(const struct job *job, size_t channel, size_t n, void *starts)
{
    if (job->tiles->bias != NULL) {
        memcpy(starts, (const char *)job->tiles->bias + channel * job->size_bytes, n * job->size_bytes);
    }
}

/* How many panels meet the windows that are in no vector at once: few enough that their weights are still in the cache. */
static size_t panels_at_once(const struct job *job)
{
    size_t n = MDF_TILE_SUMS, n_bytes = job->kernels->rows * job->tile.n_channels * job->tile.n_taps * job->size_bytes;

    while (n > 1 && (n * job->points.n_parts > MDF_TILE_SUMS || n * n_bytes > POINTED_BYTES)) {
        n /= 2;
    }
    return n;
}

/* Panels [first, last) of a group's weights times these windows. */
static void run_points(const struct job *job, struct mdf_tile tile, size_t group, size_t first, size_t last)
{
    size_t rows = job->kernels->rows, size = job->size_bytes, k = tile.n_channels * tile.n_taps,
           n_outputs = job->tiles->group_outputs;

    tile.vectors = &job->points;
    for (size_t panel = first; panel < last;) {
        size_t output = panel_output(job, panel), channel = group * n_outputs + output, n_full = count_full_panels(job);
        double starts[MDF_TILE_SUMS * MAX_LANES] = {0}; /* of any type */
        struct mdf_tile_panels panels = {.n = panels_at_once(job), .n_rows = panel_rows(job, output), .starts = starts};

        while (panels.n > 1 && panel + panels.n > (last < n_full ? last : n_full)) {
            panels.n /= 2;
        }
        panels.n_outputs = panels.n_rows < n_outputs - output ? panels.n_rows : n_outputs - output;
        panels.weights = job->packed + (group * job->n_packed + output * k) * size;
        for (size_t i = 0; i < panels.n; i++) {
            copy_starts(job, channel + i * rows, panels.n_outputs, (char *)starts + i * job->kernels->lanes * size);
        }
        job->kernels->points(&tile, &panels, job->y + channel * job->n_windows * size);
        panel += panels.n;
    }
}

/* All panels times a block of vectors. */
static void run_pairs(const struct job *job, size_t block)
{
    size_t n_pairs = mdf_divide_up(job->n_vectors, 2), n_outputs = job->tiles->group_outputs, size = job->size_bytes;
    size_t first = 2 * begin_of(n_pairs, job->n_vector_blocks, block),
           last = 2 * begin_of(n_pairs, job->n_vector_blocks, block + 1), rows = job->kernels->rows;
    char *met = job->met + block * job->n_met * size;
    struct mdf_tile tile = job->tile;

    last = last < job->n_vectors ? last : job->n_vectors;
    tile.planes = job->laid_out;
    for (size_t at = first; at < last; at += 2) {
        size_t n = last - at < 2 ? 1 : 2;
        struct mdf_tile_vector pair[2];
        struct mdf_tile copy;

        tile.vectors = job->vectors + at;
        copy = copy_met(job, tile, met, pair, n);
        for (size_t output = 0, n_rows; output < n_outputs; output += n_rows) {
            size_t left = n_outputs - output, n_channels = mdf_least(left, n_rows = panel_rows(job, output));
            double starts[MAX_LANES] = {0}; /* of any type */

            copy_starts(job, output, n_channels, starts);
            job->kernels->tiles[n_rows * 3 / rows - 1][n - 1](&copy, job->packed + output * copy.n_channels * size, starts,
                                                              n_channels, job->y + output * job->n_windows * size);
        }
    }
    if (last == job->n_vectors && job->points.n_parts > 0) {
        run_points(job, tile, 0, 0, job->n_panels);
    }
}

/* The panels [first, last) of a group's weights times a block of vectors. */
static void run_block(const struct job *job, size_t group, size_t vector_block, size_t first, size_t last)
{
    const struct mdf_convolution *tiles = job->tiles;
    size_t size = job->size_bytes, n_pairs = mdf_divide_up(job->n_vectors, 2);
    size_t first_vector = 2 * begin_of(n_pairs, job->n_vector_blocks, vector_block);
    size_t last_vector = 2 * begin_of(n_pairs, job->n_vector_blocks, vector_block + 1);
    const char *packed = job->packed + group * job->n_packed * size;
    struct mdf_tile tile = job->tile;
    size_t n_pointed = first;

    last_vector = mdf_least(last_vector, job->n_vectors);
    tile.planes = (tiles->is_pointwise ? job->x : job->laid_out) + group * tile.n_channels * tile.n_plane * size;
    for (size_t panel = first; panel < last; panel++) {
        size_t output = panel_output(job, panel), left = tiles->group_outputs - output, n_rows = panel_rows(job, output);
        size_t n_outputs = left < n_rows ? left : n_rows, channel = group * tiles->group_outputs + output;
        double starts[MAX_LANES] = {0}; /* of any type */

        copy_starts(job, channel, n_outputs, starts);
        run_panel(job, tile, group, packed + output * tile.n_channels * tile.n_taps * size, starts, n_rows, n_outputs,
                  first_vector, last_vector, job->y + channel * job->n_windows * size);
        if (job->points.n_parts > 0 && last_vector == job->n_vectors &&
            (panel + 1 == last || panel + 1 - n_pointed == panels_at_once(job))) {
            run_points(job, tile, group, n_pointed, panel + 1);
            n_pointed = panel + 1;
        }
    }
}

/* Tasks [first, last): the panels of a block of vectors follow each other, and so do the blocks of a group. */
static void run_tasks(void *context, size_t first, size_t last)
{
    const struct job *job = context;

    for (size_t task = first, n; task < last; task += n) {
        size_t block = task / job->n_panels, panel = task % job->n_panels;

        n = mdf_least(job->n_panels - panel, last - task);
        run_block(job, block / job->n_vector_blocks, block % job->n_vector_blocks, panel, panel + n);
    }
}

static void run_tasks_by_pairs(void *context, size_t first, size_t last)
{
    for (size_t block = first; block < last; block++) {
        run_pairs(context, block);
    }
}

bool mdf_conv_tiles_run(struct mdf_workspace *workspace, const struct mdf_convolution *tiles)
{
    const struct mdf_context *context = workspace->call->context;
    struct job job = {.tiles = tiles,
                      .kernels = choose_kernels(tiles),
                      .dtype = tiles->dtype,
                      .size_bytes = mdf_dtype_size(tiles->dtype),
                      .x = tiles->x,
                      .y = tiles->y};
    size_t n_channels = tiles->n_groups * tiles->group_channels, n_tasks;

    job.tile.n_channels = tiles->group_channels;
    job.tile.n_taps = tiles->taps->n_taps;
    job.tile.n_block = mdf_conv_tiles_block(job.tile.n_taps) / job.tile.n_taps;
    job.tile.limits = tiles->limits;
    if (!prepare_weights(workspace, &job) || !prepare_planes(workspace, &job) || !prepare_vectors(workspace, &job) ||
        !prepare_pairs(workspace, &job)) {
        return false;
    }
    job.tile.y_row = (int64_t)job.n_windows;
    plan_blocks(&job, context->n_threads > 1 ? (size_t)context->n_threads : 1);
    if (go_by_pairs(&job) && !prepare_met(workspace, &job)) {
        return false;
    }
    n_tasks = tiles->n_groups * job.n_vector_blocks * (job.met != NULL ? 1 : job.n_panels);
    for (size_t batch = 0; batch < tiles->n_batches; batch++) {
        double n_sums = (double)n_channels * (double)tiles->group_outputs * (double)job.n_windows;

        if (tiles->is_pointwise && job.laid_out != NULL) {
            size_t n_pairs = mdf_divide_up(job.n_vectors, 2);

            mdf_parallel_for(context, tiles->n_groups * n_pairs, move_ns * 2 * (double)(job.kernels->lanes * job.tile.n_channels),
                             lay_out_pairs, &job);
        } else if (!tiles->is_pointwise) {
            mdf_parallel_for(context, n_channels, move_ns * (double)job.padded.n_plane, lay_out_planes, &job);
        }
        mdf_parallel_for(context, n_tasks, multiply_ns * n_sums * (double)job.tile.n_taps / (double)n_tasks,
                         job.met != NULL ? run_tasks_by_pairs : run_tasks, &job);
        job.x += n_channels * tiles->taps->array_size * job.size_bytes;
        job.y += tiles->n_groups * tiles->group_outputs * job.n_windows * job.size_bytes;
    }
    return true;
}
