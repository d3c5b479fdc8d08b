/* lowered_fused.c - FUSED ops, tile by tile: each op of the body runs over a tile of all arrays before the next tile begins, so
 * that what only the body sees stays in the first-level cache.
 *
 * In the first run the body becomes a list of steps, which know where their operands are; a run then only fetches pointers. */
#include "mdf_c/lowered/lowered_parts.h"

enum {
    TILES_BYTES = 24 * 1024, /* of all tiles together: they, and stretches of what is stored, fit a first-level cache of 32 KB */
    LEAST_TILE = 64,         /* elements; below, calling the loops costs more than the cache saves */
    TILE_ALIGNMENT = 64
};

struct cast_types {
    mdf_dtype from, to;
};

/* A pointer that goes on from tile to tile. */
struct stream {
    void *const *start; /* where the pointer to the first element is: in an array, or `own` */
    void *own;          /* a cell, or a tile */
    size_t advance;     /* bytes an element, 0 for cells and tiles */
    void *at;
};

struct mdf_lowered_step {
    mdf_loop loop;
    const void *settings;
    struct cast_types cast; /* the settings of a CAST */
    size_t n_in;
    size_t steps[MDF_MAX_OPERANDS];
    struct stream target, operands[MDF_MAX_OPERANDS];
    /* While steps are made: */
    bool has_tile;
    size_t tile, last_use; /* which tile the result is in; the last op that reads it */
    size_t busy_until;     /* tile number `at`: the last op that reads what is in it */
};

static bool cast_elements(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    const struct cast_types *types = settings;

    (void)steps;
    return mdf_lowered_cast(types->from, types->to, operands[0], target, n);
}

/* ------------------------------------------------------------------ steps */

/* The op of the body, before number `at`, that makes a value; SIZE_MAX: none. */
static size_t maker_of(const struct mdf_lowered_fused *fused, mdf_lowered_id id, size_t at)
{
    while (at-- > 0) {
        if (fused->body.ops[at].out == id) {
            return at;
        }
    }
    return SIZE_MAX;
}

static void note_uses(const struct mdf_lowered *lowered, const struct mdf_lowered_fused *fused, struct mdf_lowered_step *steps)
{
    size_t at, i;

    for (at = 0; at < fused->body.n_ops; at++) {
        const struct mdf_lowered_op *op = &fused->body.ops[at];

        steps[at].has_tile = !lowered->values[op->out].is_stored;
        steps[at].last_use = at;
        for (i = 0; i < op->n_in; i++) {
            size_t maker = maker_of(fused, op->in[i], at);

            if (maker != SIZE_MAX) {
                steps[maker].last_use = at;
            }
        }
    }
}

/* Gives each result that is not stored the first tile that is free; returns the number of tiles. */
static size_t assign_tiles(struct mdf_lowered_step *steps, size_t n)
{
    size_t n_tiles = 0, at, tile;

    for (at = 0; at < n; at++) {
        if (!steps[at].has_tile) {
            continue;
        }
        for (tile = 0; tile < n_tiles && steps[tile].busy_until >= at; tile++) {
        }
        n_tiles = tile == n_tiles ? n_tiles + 1 : n_tiles;
        steps[tile].busy_until = steps[at].last_use;
        steps[at].tile = tile;
    }
    return n_tiles;
}

/* The number of elements of a tile. */
static size_t tile_length(const struct mdf_lowered *lowered, const struct mdf_lowered_fused *fused, size_t n_tiles, size_t *width)
{
    size_t length, at;

    *width = 1;
    for (at = 0; at < fused->body.n_ops; at++) {
        size_t size = mdf_lowered_element_size(lowered, fused->body.ops[at].out);

        *width = size > *width ? size : *width;
    }
    length = n_tiles == 0 ? MDF_LOWERED_TILE : TILES_BYTES / (n_tiles * *width) / LEAST_TILE * LEAST_TILE;
    length = length < LEAST_TILE ? LEAST_TILE : length;
    if (length * *width > MDF_LOWERED_TILE * sizeof(double)) {
        length = MDF_LOWERED_TILE * sizeof(double) / *width;
    }
    return length;
}

static struct stream stream_of(const struct mdf_lowered *lowered, mdf_lowered_id id)
{
    return (struct stream){.start = &lowered->arrays[id].data, .advance = mdf_lowered_element_size(lowered, id)};
}

static void make_step(const struct mdf_lowered *lowered, const struct mdf_lowered_fused *fused, struct mdf_lowered_step *steps,
                      size_t at, size_t tile_bytes)
{
    const struct mdf_lowered_op *op = &fused->body.ops[at];
    struct mdf_lowered_step *step = &steps[at];
    size_t i;

    step->loop = op->code == MDF_LOWERED_CAST ? cast_elements : op->loop;
    step->settings = op->code == MDF_LOWERED_CAST ? &step->cast : op->loop_settings;
    step->cast = (struct cast_types){(mdf_dtype)op->dtype, (mdf_dtype)lowered->values[op->out].form.dtype};
    step->n_in = op->n_in;
    step->target = stream_of(lowered, op->out);
    if (step->has_tile) {
        step->target = (struct stream){.start = &step->target.own, .own = fused->tiles + step->tile * tile_bytes};
    }
    for (i = 0; i < op->n_in; i++) {
        size_t maker = maker_of(fused, op->in[i], at);
        struct stream *operand = &step->operands[i];

        step->steps[i] = 1;
        if (lowered->values[op->in[i]].is_scalar) {
            *operand = (struct stream){.start = &operand->own, .own = &lowered->cells[op->in[i]]};
            step->steps[i] = 0;
        } else if (maker != SIZE_MAX && steps[maker].has_tile) {
            *operand = (struct stream){.start = &operand->own, .own = steps[maker].target.own};
        } else {
            *operand = stream_of(lowered, op->in[i]);
        }
    }
}

static bool make_steps(struct mdf_lowered *lowered, struct mdf_lowered_fused *fused)
{
    struct mdf_lowered_step *steps = mdf_arena_array(&lowered->arena, fused->body.n_ops, sizeof *steps);
    size_t n_tiles, width, tile_bytes, at;

    if (steps == NULL) {
        return false;
    }
    note_uses(lowered, fused, steps);
    n_tiles = assign_tiles(steps, fused->body.n_ops);
    fused->tile_length = tile_length(lowered, fused, n_tiles, &width);
    tile_bytes = (fused->tile_length < fused->n ? fused->tile_length : fused->n) * width;
    tile_bytes = (tile_bytes + TILE_ALIGNMENT - 1) / TILE_ALIGNMENT * TILE_ALIGNMENT;
    for (at = 0; at < fused->body.n_ops; at++) {
        make_step(lowered, fused, steps, at, tile_bytes);
    }
    fused->steps = steps;
    return true;
}

/* ------------------------------------------------------------------ running */

static void begin_steps(struct mdf_lowered_step *steps, size_t n_steps)
{
    size_t at, i;

    for (at = 0; at < n_steps; at++) {
        steps[at].target.at = *steps[at].target.start;
        for (i = 0; i < steps[at].n_in; i++) {
            steps[at].operands[i].at = *steps[at].operands[i].start;
        }
    }
}

static bool run_tile(struct mdf_lowered_step *steps, size_t n_steps, size_t n)
{
    size_t at, i;

    for (at = 0; at < n_steps; at++) {
        struct mdf_lowered_step *step = &steps[at];
        const void *operands[MDF_MAX_OPERANDS] = {step->operands[0].at, step->operands[1].at, step->operands[2].at};

        if (!step->loop(step->target.at, operands, step->steps, n, step->settings)) {
            return false;
        }
        step->target.at = (char *)step->target.at + n * step->target.advance;
        for (i = 0; i < step->n_in; i++) {
            step->operands[i].at = (char *)step->operands[i].at + n * step->operands[i].advance;
        }
    }
    return true;
}

int mdf_lowered_run_fused(struct mdf_lowered *lowered, struct mdf_lowered_fused *fused)
{
    size_t rest = fused->n;

    if (fused->steps == NULL && !make_steps(lowered, fused)) {
        return 1;
    }
    begin_steps(fused->steps, fused->body.n_ops);
    while (rest > 0) {
        size_t n = rest < fused->tile_length ? rest : fused->tile_length;

        if (mdf_stop_is_asked(lowered->context->stop) || !run_tile(fused->steps, fused->body.n_ops, n)) {
            return 1;
        }
        rest -= n;
    }
    return 0;
}
