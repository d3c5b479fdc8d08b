/* lowered_nest.c - NEST ops (nest.h), tile by tile. A tile is some indices of one axis with all of the axes within it, so that
 * loops over elements run through rows; axes outside of it are gone through one by one. Folds lie within a tile.
 *
 * In the first run it is worked out where tiles are cut, and which registers need memory: what is loaded as it lies, or stored as
 * it is made, needs none. */
#include "mdf_c/lowered/lowered_parts.h"
#include "mdf_c/lowered/nest.h"
#include "mdf_c/lowered/nest_folds.h"

#include <string.h>

enum {
    TILES_BYTES = 24 * 1024, /* of all registers together: they, and stretches of what is loaded and stored, fit a first-level
                                cache of 32 KB */
    LONGEST_TILE = 1024,     /* elements, where it can be cut */
    TILE_ALIGNMENT = 64,
    LEAST_CAPACITY = 64 /* indices of an open axis that there is room for */
};

struct cast_types {
    mdf_dtype from, to;
};

/* A register. */
struct tile {
    char *own; /* memory of its own; NULL: it lies where its elements are loaded from, or stored */
    char *at;  /* of the tile that is being computed; `spread`: one element stands for all */
    bool spread;
    size_t n_inner;  /* elements for each index of the axis that is cut, from the whole axes; 1 where the level is outside */
    bool is_outside; /* the level has no axis of the tile: one element */
    bool stays;      /* of LOAD: the same in all tiles */
    uint8_t store;   /* the step that stores it as it lies in the tile; MDF_NEST_NONE: none */
    bool is_lent;    /* a later register has its memory */
    char *expanded[MDF_MAX_OPERANDS]; /* of each operand of a lower level: room for its elements, each repeated */
    size_t repeats[MDF_MAX_OPERANDS];
    struct cast_types cast;
};

struct mdf_nest_tiles {
    size_t whole;    /* the first axis that is whole in a tile; that before it is cut; 0: there is one tile */
    size_t cut;      /* indices of it */
    size_t capacity; /* of the open axis: the extent that there is memory for */
    uint8_t last_use[MDF_NEST_MOST_STEPS]; /* of each register: the last step that reads it */
    struct tile *registers;
};

/* ------------------------------------------------------------------ where tiles are cut */

static size_t inner_count(const struct mdf_lowered_nest *nest, size_t whole, size_t level)
{
    return level > whole ? mdf_nest_count(nest, whole, level) : 1;
}

static void find_last_uses(const struct mdf_lowered_nest *nest, uint8_t *last_use)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        last_use[i] = (uint8_t)i;
        for (size_t k = 0; k < step->n_in; k++) {
            last_use[step->in[k]] = (uint8_t)i;
        }
        if (step->kind == MDF_NEST_LOAD && step->view.at != MDF_NEST_NONE) {
            last_use[step->view.at] = (uint8_t)i;
        }
        for (size_t k = 0; step->is_fused && k < 2; k++) {
            last_use[nest->steps[step->in[0]].in[k]] = (uint8_t)i;
        }
    }
}

/* Whether a load lies in rows, or is one element for a whole one. */
static bool is_read_in_place(const struct mdf_nest_step *step)
{
    return step->kind == MDF_NEST_LOAD && step->view.at == MDF_NEST_NONE && step->level > 0 &&
           (step->view.strides[step->level - 1] == 1 || step->view.strides[step->level - 1] == 0);
}

/* About the bytes of all registers that are there at a time, for one index of the axis before `whole`. */
static size_t tile_bytes(const struct mdf_lowered_nest *nest, const struct mdf_nest_tiles *tiles, size_t whole)
{
    size_t most = 1;

    for (size_t i = 0; i < nest->n_steps; i++) {
        size_t n = 0;

        for (size_t j = 0; j <= i; j++) {
            const struct mdf_nest_step *step = &nest->steps[j];

            if (step->kind != MDF_NEST_STORE && tiles->last_use[j] >= i && !(step->level == whole && is_read_in_place(step))) {
                n += inner_count(nest, whole, step->level) * mdf_dtype_size((mdf_dtype)step->dtype);
            }
        }
        most = n > most ? n : most;
    }
    return most;
}

static void choose_tiles(const struct mdf_lowered_nest *nest, struct mdf_nest_tiles *tiles)
{
    size_t n;

    tiles->whole = nest->n_axes;
    for (size_t i = 0; i < nest->n_steps; i++) {
        if (nest->steps[i].kind == MDF_NEST_FOLD && nest->steps[i].level < tiles->whole) {
            tiles->whole = nest->steps[i].level;
        }
    }
    while (tiles->whole > 0 && tile_bytes(nest, tiles, tiles->whole - 1) <= TILES_BYTES) {
        tiles->whole--;
    }
    n = inner_count(nest, tiles->whole, nest->n_axes);
    tiles->cut = tiles->whole == 0 ? 1 : TILES_BYTES / tile_bytes(nest, tiles, tiles->whole);
    tiles->cut = tiles->cut * n > LONGEST_TILE ? LONGEST_TILE / n : tiles->cut;
    tiles->cut = tiles->cut < 1 ? 1 : tiles->cut;
    if (tiles->whole > 0 && tiles->cut > nest->extents[tiles->whole - 1]) {
        tiles->cut = nest->extents[tiles->whole - 1];
    }
}

/* Whether the elements of a view lie one behind the other, in a tile of its level. */
static bool lies_in_row(const struct mdf_lowered_nest *nest, const struct mdf_nest_tiles *tiles, const struct mdf_nest_view *view,
                        size_t level)
{
    int64_t stride = 1;

    for (size_t axis = level; axis-- > 0 && axis + 1 >= tiles->whole;) {
        if (view->strides[axis] != stride && (axis + 1 > tiles->whole || tiles->cut > 1)) {
            return false;
        }
        stride *= (int64_t)nest->extents[axis];
    }
    return true;
}

static bool is_even(const struct mdf_nest_tiles *tiles, const struct mdf_nest_view *view, size_t level)
{
    for (size_t axis = level; axis-- > 0 && axis + 1 >= tiles->whole;) {
        if (view->strides[axis] != 0) {
            return false;
        }
    }
    return true;
}

/* Whether the elements are the same in all tiles. */
static bool stays(const struct mdf_nest_tiles *tiles, const struct mdf_nest_view *view)
{
    for (size_t axis = 0; axis < tiles->whole; axis++) {
        if (view->strides[axis] != 0) {
            return false;
        }
    }
    return view->at == MDF_NEST_NONE;
}

/* ------------------------------------------------------------------ memory */

static char *tile_memory(struct mdf_lowered *lowered, const struct mdf_nest_tiles *tiles, const struct tile *tile, size_t size)
{
    size_t n = tile->is_outside ? 1 : tiles->cut * tile->n_inner;
    char *memory = mdf_arena_array(&lowered->arena, n + TILE_ALIGNMENT / size, size);

    return memory == NULL ? NULL : memory + (TILE_ALIGNMENT - (uintptr_t)memory % TILE_ALIGNMENT) % TILE_ALIGNMENT;
}

/* Whether the register needs memory; else it lies in a value. */
static bool needs_memory(const struct mdf_lowered_nest *nest, const struct mdf_nest_tiles *tiles, size_t i)
{
    const struct mdf_nest_step *step = &nest->steps[i];
    const struct tile *tile = &tiles->registers[i];

    if (step->kind == MDF_NEST_LOAD) {
        bool is_varied = step->view.at != MDF_NEST_NONE && !tiles->registers[step->view.at].is_outside;

        return is_varied || tile->is_outside ||
               (!is_even(tiles, &step->view, step->level) && !lies_in_row(nest, tiles, &step->view, step->level));
    }
    return step->kind != MDF_NEST_STORE && tile->store == MDF_NEST_NONE;
}

/* Memory of an element step that nothing reads any more, for another one; NULL: there is none. */
static char *memory_of_another(const struct mdf_lowered_nest *nest, const struct mdf_nest_tiles *tiles, size_t i)
{
    for (size_t j = 0; j < i && nest->steps[i].kind == MDF_NEST_ELEMENT; j++) {
        struct tile *tile = &tiles->registers[j];

        if (nest->steps[j].kind == MDF_NEST_ELEMENT && tile->own != NULL && !tile->is_lent && !tile->is_outside &&
            tiles->last_use[j] < i && nest->steps[j].level == nest->steps[i].level &&
            mdf_dtype_size((mdf_dtype)nest->steps[j].dtype) == mdf_dtype_size((mdf_dtype)nest->steps[i].dtype)) {
            tile->is_lent = true;
            return tile->own;
        }
    }
    return NULL;
}

/* How many elements of one register there are for each of another, which has none where it goes along an open axis of none. */
static size_t count_inner(const struct tile *many, const struct tile *few)
{
    return few->n_inner == 0 ? 0 : many->n_inner / few->n_inner;
}

static size_t count_repeats(const struct mdf_nest_step *step, size_t k, const struct tile *tile, const struct tile *operand)
{
    return step->kind == MDF_NEST_FOLD && k == 0 ? count_inner(operand, tile) : count_inner(tile, operand);
}

static bool make_operands(struct mdf_lowered *lowered, const struct mdf_lowered_nest *nest, struct mdf_nest_tiles *tiles,
                          size_t i)
{
    const struct mdf_nest_step *step = &nest->steps[i];
    struct tile *tile = &tiles->registers[i];

    tile->cast = (struct cast_types){(mdf_dtype)step->operand_dtype, (mdf_dtype)step->dtype};
    for (size_t k = 0; k < step->n_in; k++) {
        const struct tile *operand = &tiles->registers[step->in[k]];
        size_t size = mdf_dtype_size((mdf_dtype)nest->steps[step->in[k]].dtype);
        bool is_fold = step->kind == MDF_NEST_FOLD && k == 0, is_load = nest->steps[step->in[k]].kind == MDF_NEST_LOAD;
        bool is_row = is_load || step->code == MDF_LOWERED_CAST || (step->kind == MDF_NEST_FOLD && k > 0);

        tile->repeats[k] = count_repeats(step, k, tile, operand);
        /* Rows that are folded or cast have all their elements, also where a load has one that stands for all. */
        if (tile->repeats[k] > 1 ? !is_fold || is_load : is_row) {
            tile->expanded[k] = tile_memory(lowered, tiles, is_fold ? operand : tile, size);
            if (tile->expanded[k] == NULL) {
                return false;
            }
        }
    }
    return true;
}

static bool make_register(struct mdf_lowered *lowered, const struct mdf_lowered_nest *nest, struct mdf_nest_tiles *tiles,
                          size_t i)
{
    const struct mdf_nest_step *step = &nest->steps[i];
    struct tile *tile = &tiles->registers[i];

    tile->is_outside = step->level < tiles->whole;
    tile->n_inner = inner_count(nest, tiles->whole, step->level);
    if (needs_memory(nest, tiles, i)) {
        tile->own = memory_of_another(nest, tiles, i);
        if (tile->own == NULL) {
            tile->own = tile_memory(lowered, tiles, tile, mdf_dtype_size((mdf_dtype)step->dtype));
        }
        if (tile->own == NULL) {
            return false;
        }
    }
    if (step->kind == MDF_NEST_LOAD) {
        tile->stays = tile->own != NULL && stays(tiles, &step->view);
    }
    return make_operands(lowered, nest, tiles, i);
}

/* Finds the registers that lie in the value where they are stored. */
static void find_homes(const struct mdf_lowered_nest *nest, struct mdf_nest_tiles *tiles)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        tiles->registers[i].store = MDF_NEST_NONE;
    }
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        if (step->kind == MDF_NEST_STORE && nest->steps[step->in[0]].kind != MDF_NEST_LOAD && step->level >= tiles->whole &&
            lies_in_row(nest, tiles, &step->view, step->level) && tiles->registers[step->in[0]].store == MDF_NEST_NONE) {
            tiles->registers[step->in[0]].store = (uint8_t)i;
        }
    }
}

static bool make_tiles(struct mdf_lowered *lowered, struct mdf_lowered_nest *nest)
{
    struct mdf_nest_tiles *tiles = mdf_arena_allocate(&lowered->arena, sizeof *tiles);

    if (tiles == NULL) {
        return false;
    }
    find_last_uses(nest, tiles->last_use);
    choose_tiles(nest, tiles);
    tiles->registers = mdf_arena_array(&lowered->arena, nest->n_steps, sizeof *tiles->registers);
    if (tiles->registers == NULL) {
        return false;
    }
    find_homes(nest, tiles);
    for (size_t i = 0; i < nest->n_steps; i++) {
        if (!make_register(lowered, nest, tiles, i)) {
            return false;
        }
    }
    nest->tiles = tiles;
    return true;
}

/* Tiles with room for a longer open axis than now, so that they are rarely made again. */
static bool make_open_tiles(struct mdf_lowered *lowered, struct mdf_lowered_nest *nest)
{
    size_t n = nest->extents[nest->open_axis], capacity = LEAST_CAPACITY;
    bool made;

    while (capacity < n) {
        capacity *= 2;
    }
    nest->extents[nest->open_axis] = capacity;
    made = make_tiles(lowered, nest);
    nest->extents[nest->open_axis] = n;
    if (made) {
        nest->tiles->capacity = capacity;
    }
    return made;
}

/* What depends on the extent that the open axis has now. */
static void fit_open_tiles(const struct mdf_lowered_nest *nest)
{
    struct mdf_nest_tiles *tiles = nest->tiles;

    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        struct tile *tile = &tiles->registers[i];

        tile->n_inner = inner_count(nest, tiles->whole, step->level);
        for (size_t k = 0; k < step->n_in; k++) {
            tile->repeats[k] = count_repeats(step, k, tile, &tiles->registers[step->in[k]]);
        }
    }
}

/* ------------------------------------------------------------------ one tile */

/* The indices that a tile begins with, and how many of the cut axis it has. */
struct position {
    struct mdf_lowered *lowered;
    const struct mdf_lowered_nest *nest;
    const struct mdf_nest_tiles *tiles;
    size_t indices[MDF_NEST_MOST_AXES]; /* of axes up to the one that is cut */
    size_t n;
    bool is_first;
};

static size_t count_elements(const struct position *position, const struct tile *tile)
{
    return tile->is_outside ? 1 : position->n * tile->n_inner;
}

static char *view_place(const struct position *position, const struct mdf_nest_view *view, size_t size)
{
    int64_t offset = view->first;

    for (size_t axis = 0; axis < position->tiles->whole; axis++) {
        offset += (int64_t)position->indices[axis] * view->strides[axis];
    }
    return (char *)mdf_lowered_elements(position->lowered, view->id) + offset * (int64_t)size;
}

static inline void copy_element(char *target, const char *source, size_t size)
{
    switch (size) {
    case 4:
        memcpy(target, source, 4);
        break;
    case 8:
        memcpy(target, source, 8);
        break;
    default:
        memcpy(target, source, size);
        break;
    }
}

/* n elements, `from` and `to` bytes apart. */
static void copy_line(char *target, int64_t to, const char *source, int64_t from, size_t n, size_t size)
{
    if (to == (int64_t)size && from == (int64_t)size) {
        memcpy(target, source, n * size);
        return;
    }
    for (size_t i = 0; i < n; i++, target += to, source += from) {
        copy_element(target, source, size);
    }
}

/* Between a tile, whose elements lie in a row (or are one: `spread`), and a value, over the axes [axis, level). */
static void copy_axes(const struct position *position, const struct mdf_nest_view *view, size_t axis, size_t level, char **row,
                      size_t step, char *place, bool stores, size_t size)
{
    bool is_cut = axis + 1 == position->tiles->whole;
    size_t n = axis >= level ? 1 : is_cut ? position->n : position->nest->extents[axis];
    int64_t stride = axis >= level ? 0 : view->strides[axis] * (int64_t)size;

    if (axis + 1 >= level) {
        if (stores) {
            copy_line(place, stride, *row, (int64_t)step, n, size);
        } else {
            copy_line(*row, (int64_t)step, place, stride, n, size);
        }
        *row += n * step;
        return;
    }
    for (size_t i = 0; i < n; i++, place += stride) {
        copy_axes(position, view, axis + 1, level, row, step, place, stores, size);
    }
}

static size_t first_axis(const struct mdf_nest_tiles *tiles)
{
    return tiles->whole == 0 ? 0 : tiles->whole - 1;
}

/* The element that an index adds; false: there is none. */
static bool find_item(const struct position *position, const struct mdf_nest_view *view, const char *index, int64_t *item)
{
    *item = mdf_element_to_int64((mdf_dtype)position->nest->steps[view->at].dtype, index);
    *item += *item < 0 ? view->at_limit : 0;
    return *item >= 0 && *item < view->at_limit;
}

/* A load whose elements have an index each. */
static bool gather(const struct position *position, size_t i)
{
    const struct mdf_nest_step *step = &position->nest->steps[i];
    const struct tile *index = &position->tiles->registers[step->view.at], *tile = &position->tiles->registers[i];
    size_t size = mdf_dtype_size((mdf_dtype)step->dtype), n = count_elements(position, tile), first = first_axis(position->tiles);
    size_t repeats = count_inner(tile, index), at[MDF_NEST_MOST_AXES] = {0}, element, axis;
    size_t index_size = mdf_dtype_size((mdf_dtype)position->nest->steps[step->view.at].dtype);
    const char *place = view_place(position, &step->view, size);
    int64_t item;

    for (element = 0; element < n; element++) {
        int64_t offset = 0;

        if (!find_item(position, &step->view, index->at + (index->spread ? 0 : element / repeats * index_size), &item)) {
            return false;
        }
        for (axis = first; axis < step->level; axis++) {
            offset += (int64_t)at[axis] * step->view.strides[axis];
        }
        copy_element(tile->own + element * size, place + (offset + item * step->view.at_stride) * (int64_t)size, size);
        for (axis = step->level; axis-- > first && ++at[axis] == position->nest->extents[axis];) {
            at[axis] = 0;
        }
    }
    return true;
}

static bool load(const struct position *position, size_t i)
{
    const struct mdf_nest_step *step = &position->nest->steps[i];
    struct tile *tile = &position->tiles->registers[i];
    size_t size = mdf_dtype_size((mdf_dtype)step->dtype);
    char *place = view_place(position, &step->view, size), *row = tile->own;
    int64_t item;

    tile->at = tile->own;
    tile->spread = false;
    if (step->view.at != MDF_NEST_NONE && !position->tiles->registers[step->view.at].is_outside) {
        return gather(position, i);
    }
    if (step->view.at != MDF_NEST_NONE) {
        if (!find_item(position, &step->view, position->tiles->registers[step->view.at].at, &item)) {
            return false;
        }
        place += item * step->view.at_stride * (int64_t)size;
    }
    if (tile->own == NULL) {
        tile->at = place;
        tile->spread = tile->is_outside || is_even(position->tiles, &step->view, step->level);
    } else if (!tile->stays || position->is_first) {
        copy_axes(position, &step->view, first_axis(position->tiles), step->level, &row, size, place, false, size);
    }
    return true;
}

static void store(const struct position *position, size_t i)
{
    const struct mdf_nest_step *step = &position->nest->steps[i];
    const struct tile *tile = &position->tiles->registers[step->in[0]];
    size_t size = mdf_dtype_size((mdf_dtype)step->dtype);
    char *row = tile->at, *place = view_place(position, &step->view, size);

    if (tile->store == i) {
        return;
    }
    if (tile->is_outside) {
        copy_element(place, row, size);
    } else {
        copy_axes(position, &step->view, first_axis(position->tiles), step->level, &row, tile->spread ? 0 : size, place, true,
                  size);
    }
}

/* The elements of operand number `k` as a row for each of the step's own: *advance is 0 where one stands for all. */
static const char *operand_row(const struct position *position, size_t i, size_t k, size_t n, bool may_spread, size_t *advance)
{
    const struct mdf_nest_step *step = &position->nest->steps[i];
    struct tile *tile = &position->tiles->registers[i];
    const struct tile *operand = &position->tiles->registers[step->in[k]];
    size_t size = mdf_dtype_size((mdf_dtype)position->nest->steps[step->in[k]].dtype), from, j;
    bool is_one = operand->spread || operand->is_outside;
    char *row = tile->expanded[k];

    *advance = is_one && may_spread ? 0 : 1;
    if ((is_one && may_spread) || (!is_one && (tile->repeats[k] == 1 || (step->kind == MDF_NEST_FOLD && k == 0)))) {
        return operand->at;
    }
    for (from = 0; from < n; from += is_one ? n : tile->repeats[k]) {
        size_t n_same = is_one ? n : tile->repeats[k];

        for (j = 0; j < n_same; j++, row += size) {
            copy_element(row, operand->at + (is_one ? 0 : from / tile->repeats[k] * size), size);
        }
    }
    return tile->expanded[k];
}

/* Where a step's result goes. */
static void open_register(const struct position *position, size_t i)
{
    struct tile *tile = &position->tiles->registers[i];

    tile->spread = false;
    tile->at = tile->own;
    if (tile->store != MDF_NEST_NONE) {
        const struct mdf_nest_step *step = &position->nest->steps[tile->store];

        tile->at = view_place(position, &step->view, mdf_dtype_size((mdf_dtype)step->dtype));
    }
}

static bool compute(const struct position *position, size_t i)
{
    const struct mdf_nest_step *step = &position->nest->steps[i];
    struct tile *tile = &position->tiles->registers[i];
    const void *operands[MDF_MAX_OPERANDS] = {NULL};
    size_t advance[MDF_MAX_OPERANDS] = {0}, n = count_elements(position, tile), k, any = 0;

    open_register(position, i);
    if (n == 0) { /* of an open axis that has none now: rows of nothing need not be anywhere */
        return true;
    }
    for (k = 0; k < step->n_in; k++) {
        operands[k] = operand_row(position, i, k, n, step->code != MDF_LOWERED_CAST, &advance[k]);
        any |= advance[k];
    }
    if (step->code == MDF_LOWERED_CAST && mdf_lowered_casts_all(step->operator)) {
        mdf_convert_elements(tile->cast.to, tile->at, tile->cast.from, operands[0], n, false);
        return true;
    }
    if (step->code == MDF_LOWERED_CAST) {
        return mdf_lowered_cast(tile->cast.from, tile->cast.to, operands[0], tile->at, n);
    }
    if (!step->loop(tile->at, operands, advance, any != 0 ? n : 1, step->loop_settings)) {
        return false;
    }
    for (k = 1; any == 0 && k < n; k++) { /* one element for all of the tile */
        size_t size = mdf_dtype_size((mdf_dtype)step->dtype);

        copy_element(tile->at + k * size, tile->at, size);
    }
    return true;
}

static void fold(const struct position *position, size_t i)
{
    const struct mdf_nest_step *step = &position->nest->steps[i];
    struct tile *tile = &position->tiles->registers[i];
    const struct tile *operand = &position->tiles->registers[step->in[0]];
    struct mdf_nest_rows rows = {.n = count_elements(position, tile), .n_row = tile->repeats[0]};
    size_t n = count_elements(position, operand), advance;

    open_register(position, i);
    if (step->is_fused) { /* of what the product would have been made of */
        rows.elements = operand_row(position, step->in[0], 0, n, true, &advance);
        rows.repeats_element = advance == 0;
        rows.factors = operand_row(position, step->in[0], 1, n, true, &advance);
        rows.repeats_factor = advance == 0;
    } else {
        rows.elements = operand_row(position, i, 0, n, false, &advance);
    }
    rows.starts = step->has_start ? operand_row(position, i, 1, rows.n, false, &advance) : NULL;
    mdf_nest_fold_rows(step, &rows, tile->at);
}

/* Whether an earlier tile has done a step: outside of tiles there is one element for several of them, and it may be stored where
 * it was loaded from. */
static bool is_done(const struct position *position, size_t i)
{
    size_t axis = position->nest->steps[i].level;

    while (axis < position->tiles->whole && position->indices[axis] == 0) {
        axis++;
    }
    return axis < position->tiles->whole;
}

static bool run_tile(const struct position *position)
{
    for (size_t i = 0; i < position->nest->n_steps; i++) {
        if (is_done(position, i)) {
            continue;
        }
        switch ((enum mdf_nest_kind)position->nest->steps[i].kind) {
        case MDF_NEST_LOAD:
            if (!load(position, i)) {
                return false;
            }
            break;
        case MDF_NEST_ELEMENT:
            if (!compute(position, i)) {
                return false;
            }
            break;
        case MDF_NEST_FOLD:
            fold(position, i);
            break;
        case MDF_NEST_STORE:
            store(position, i);
            break;
        }
    }
    return true;
}

/* The next tile; false: that was the last. */
static bool next_tile(struct position *position)
{
    size_t axis = position->tiles->whole;

    if (axis-- == 0) {
        return false;
    }
    position->indices[axis] += position->n;
    while (position->indices[axis] >= position->nest->extents[axis]) {
        position->indices[axis] = 0;
        if (axis-- == 0) {
            return false;
        }
        position->indices[axis]++;
    }
    return true;
}

/* What a nest stores along its open axis. */
struct open_store {
    mdf_lowered_id id;
    struct mdf_value *array;
    size_t axis;              /* the value's */
    size_t stride, row_bytes; /* of an index along it: elements, bytes */
};

/* What asks and tells how long the axis is now, found once, as it is done in each run. Arrays lie where they are as long as the
 * form does. */
struct mdf_nest_opening {
    const int64_t **loads; /* sizes of what is loaded along it */
    size_t n_loads;
    struct open_store *stores;
    size_t n_stores;
    bool needs_some; /* something is folded over the axis that has no value for no element */
};

static struct mdf_nest_opening *make_opening(struct mdf_lowered *lowered, const struct mdf_lowered_nest *nest)
{
    struct mdf_nest_opening *opening = mdf_arena_array(&lowered->arena, 1, sizeof *opening);

    if (opening == NULL) {
        return NULL;
    }
    opening->loads = mdf_arena_array(&lowered->arena, nest->n_steps, sizeof *opening->loads);
    opening->stores = mdf_arena_array(&lowered->arena, nest->n_steps, sizeof *opening->stores);
    if (opening->loads == NULL || opening->stores == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        bool moves = step->kind == MDF_NEST_LOAD || step->kind == MDF_NEST_STORE;
        const struct mdf_lowered_value *value = moves ? &lowered->values[step->view.id] : NULL;
        struct mdf_value *array = moves ? &lowered->arrays[step->view.id] : NULL;

        if (!moves || value->open_axes == 0) {
            continue;
        }
        if (step->kind == MDF_NEST_LOAD) {
            opening->loads[opening->n_loads++] = &array->shape.sizes[mdf_lowered_open_axis(value)];
        } else {
            size_t stride = mdf_lowered_open_stride(value);

            opening->stores[opening->n_stores++] =
                (struct open_store){.id = step->view.id,
                                    .array = array,
                                    .axis = mdf_lowered_open_axis(value),
                                    .stride = stride,
                                    .row_bytes = stride * mdf_lowered_element_size(lowered, step->view.id)};
        }
    }
    opening->needs_some = !nest->takes_none && mdf_nest_is_folded(nest, nest->open_axis);
    return opening;
}

/* Whether an array of the form has room for so many bytes of its own. */
static bool has_room(const struct mdf_value *array, const struct mdf_value *form, size_t n_bytes)
{
    return array->rank == form->rank && array->dtype == form->dtype && mdf_value_own_elements(array) != NULL &&
           n_bytes <= array->buffer->capacity_bytes - array->buffer->offset;
}

/* An array as long as the open axis is now. Its memory grows by halves, so that it is rarely made again. */
static bool make_open_array(struct mdf_lowered *lowered, const struct open_store *store, size_t n)
{
    const struct mdf_value *form = &lowered->values[store->id].form;
    struct mdf_value *array = store->array;
    size_t n_bytes;

    if (!mdf_size_multiply(n, store->row_bytes, &n_bytes)) {
        return false;
    }
    if (!has_room(array, form, n_bytes)) {
        struct mdf_value longer = *form;
        int64_t *size = &longer.shape.sizes[store->axis];

        for (*size = LEAST_CAPACITY; *size < (int64_t)n && *size < INT64_MAX / 4; *size += *size / 2) {
        }
        if (mdf_value_make_tensor(lowered->context->memory, array, (mdf_dtype)form->dtype, form->rank, longer.shape.sizes) ==
            NULL) {
            return false;
        }
        array->strength = form->strength;
    }
    array->length = n * store->stride;
    array->shape.sizes[store->axis] = (int64_t)n;
    return true;
}

int mdf_lowered_open_nest(struct mdf_lowered *lowered, struct mdf_lowered_nest *nest)
{
    const struct mdf_nest_opening *opening = nest->opening;
    int64_t n;

    if (opening == NULL) {
        opening = nest->opening = make_opening(lowered, nest);
        if (opening == NULL) {
            return 1;
        }
    }
    n = opening->n_loads > 0 ? *opening->loads[0] : -1;
    for (size_t i = 1; i < opening->n_loads; i++) {
        if (*opening->loads[i] != n) {
            return 1;
        }
    }
    nest->extents[nest->open_axis] = (size_t)n;
    if (n == 0 && opening->needs_some) {
        return 1;
    }
    for (size_t i = 0; i < opening->n_stores; i++) {
        if (!make_open_array(lowered, &opening->stores[i], (size_t)n)) {
            return 1;
        }
    }
    return 0;
}

int mdf_lowered_run_nest(struct mdf_lowered *lowered, struct mdf_lowered_nest *nest)
{
    return nest->is_open && mdf_lowered_open_nest(lowered, nest) != 0 ? 1 : mdf_lowered_run_tiles(lowered, nest);
}

static bool prepare_tiles(struct mdf_lowered *lowered, struct mdf_lowered_nest *nest)
{
    if (!nest->is_open) {
        return nest->tiles != NULL || make_tiles(lowered, nest);
    }
    if ((nest->tiles == NULL || nest->tiles->capacity < nest->extents[nest->open_axis]) && !make_open_tiles(lowered, nest)) {
        return false;
    }
    fit_open_tiles(nest);
    return true;
}

int mdf_lowered_run_tiles(struct mdf_lowered *lowered, struct mdf_lowered_nest *nest)
{
    struct position position = {.lowered = lowered, .nest = nest, .is_first = true};

    if (mdf_nest_count(nest, 0, nest->n_axes) == 0 && !nest->takes_none) {
        return 0;
    }
    if (!prepare_tiles(lowered, nest)) {
        return 1;
    }
    position.tiles = nest->tiles;
    do {
        size_t axis = nest->tiles->whole;

        position.n = nest->tiles->cut;
        if (axis > 0 && nest->extents[axis - 1] - position.indices[axis - 1] < position.n) {
            position.n = nest->extents[axis - 1] - position.indices[axis - 1];
        }
        if (mdf_stop_is_asked(lowered->context->stop) || !run_tile(&position)) {
            return 1;
        }
        position.is_first = false;
    } while (next_tile(&position));
    return 0;
}
