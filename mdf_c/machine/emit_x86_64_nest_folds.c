/* emit_x86_64_nest_folds.c - see emit_x86_64_nest.h. Writes out what folds do: totals that begin, take elements and are joined,
 * in the orders of nest.h. For those besides lanes a long row is cut into halves, and these again, until there are parts that are
 * short enough; a part is folded in lanes, and with it the halves that it completes are joined. What is behind the lanes of a row
 * that has a rest is taken one by one by what they have become. */
#include "mdf_c/machine/emit_x86_64_nest.h"

/* ------------------------------------------------------------------ parts of rows */

/* Elements of the longest part. */
static size_t longest_part(const struct mdf_nest_step *fold)
{
    return fold->order == MDF_NEST_PAIRWISE ? 128 : fold->order == MDF_NEST_IN_BLOCKS ? (size_t)LONGEST_BLOCK : SIZE_MAX;
}

struct part {
    size_t first, end;
    size_t n_joins; /* halves that end here, too */
};

/* The part that has element `at`. */
static struct part find_part(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *fold, size_t at)
{
    struct part part = {0, nest->extents[fold->level], 0};

    while (part.end - part.first > longest_part(fold)) {
        size_t middle = part.first + (part.end - part.first) / 2 / 8 * 8;

        if (at < middle) {
            part.end = middle;
            part.n_joins = 0;
        } else {
            part.first = middle;
            part.n_joins++;
        }
    }
    return part;
}

size_t nest_part_end(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *fold, size_t at)
{
    return find_part(nest, fold, at).end;
}

/* How many halves are complete, with those before them, where a part ends. */
static size_t count_joins(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *fold, size_t end)
{
    return find_part(nest, fold, end - 1).n_joins;
}

/* Elements of the part that element `at` is in which go to totals in turn: what is behind them is taken one by one by what these
 * become. */
static size_t count_in_lanes(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *fold, size_t at, size_t *first)
{
    struct part part = find_part(nest, fold, at);
    size_t n = part.end - part.first;

    *first = part.first;
    return fold->order == MDF_NEST_IN_BLOCKS ? n : n - n % fold->lanes;
}

/* ------------------------------------------------------------------ folds */

/* Totals that the elements of a fold go to in turn, where it does not go along vectors. Where none of them takes more than one
 * element, half of them take two each, as they are joined: the bits are the same, and so on. */
static size_t count_turns(const struct nest_code *code, size_t i)
{
    const struct mdf_nest_step *step = &code->nest->steps[i];
    size_t n = nest_lanes(step), n_elements = code->nest->extents[step->level];

    while (n > 1 && n_elements <= n && !nest_is_open_axis(code, step->level) &&
           (step->order == MDF_NEST_IN_LANES || step->order == MDF_NEST_IN_BLOCKS)) {
        n /= 2;
    }
    return n;
}

/* Totals of one fold, of one copy. */
static size_t count_totals(const struct nest_code *code, size_t i)
{
    const struct mdf_nest_step *step = &code->nest->steps[i];
    size_t n = count_turns(code, i), most = code->nest->extents[step->level];

    if (nest_folds_lanes(code, i)) {
        n = nest_is_free(step) ? code->shape.group : nest_lanes(step) / code->shape.lanes;
        most = (most + code->shape.lanes - 1) / code->shape.lanes;
    }
    return n < most ? n : most;
}

static uint32_t begin_index(struct nest_code *code, size_t i)
{
    return nest_add_node(
        code, (struct nest_node){.code = NODE_TOTAL, .step = (uint8_t)i, .dtype = code->nest->steps[i].dtype, .is_index = true});
}

/* The totals begin with their first elements; the first one with what the fold begins with, as 0 and -0 differ in a sum of
 * nothing but such only. */
static void begin_pairs(struct nest_code *code, size_t i)
{
    const struct mdf_nest_step *step = &code->nest->steps[i];
    size_t n = nest_totals_in_pairs(code, i), copy;

    for (copy = 0; copy < nest_count_copies(code, step->level); copy++) {
        code->steps[i].totals[copy * n] =
            nest_add_node(code, (struct nest_node){.code = NODE_TOTAL, .step = (uint8_t)i, .dtype = step->operand_dtype});
    }
}

void nest_begin_fold(struct nest_code *code, size_t i)
{
    const struct mdf_nest_step *step = &code->nest->steps[i];
    size_t n = count_totals(code, i) * nest_count_copies(code, step->level), k;

    if (code->steps[i].in_pairs) {
        begin_pairs(code, i);
        return;
    }

    if (n > MOST_TOTALS || (nest_finds_index(step) && n > MOST_COPIES)) {
        code->failed = true;
        return;
    }
    for (k = 0; k < n; k++) {
        struct nest_node node = {.code = NODE_TOTAL, .step = (uint8_t)i, .dtype = step->operand_dtype};

        if (step->has_start) { /* in one lane: a total for each copy */
            nest_go_to_copy(code, step->level, k);
            node.n_in = 1;
            node.in[0] = nest_value_of(code, step->in[1]);
        }
        code->steps[i].totals[k] = nest_add_node(code, node);
        if (nest_finds_index(step)) {
            code->steps[i].places[k] = begin_index(code, i);
        }
    }
    if (nest_finds_index(step)) {
        code->steps[i].count = begin_index(code, i);
    }
}

static void take(struct nest_code *code, size_t step, uint32_t total, uint32_t element, bool is_partial)
{
    struct nest_node node = {.code = NODE_TAKE, .step = (uint8_t)step, .n_in = 2, .in = {total, element}};

    node.dtype = code->nest->steps[step].operand_dtype;
    node.active = (uint8_t)(is_partial ? code->active : code->shape.lanes);
    nest_add_node(code, node);
}

static void take_index(struct nest_code *code, size_t i, size_t which, uint32_t element, bool is_last)
{
    struct nest_node node = {.code = NODE_TAKE, .step = (uint8_t)i, .n_in = 4};

    node.in[0] = code->steps[i].totals[which];
    node.in[1] = element;
    node.in[2] = code->steps[i].places[which];
    node.in[3] = code->steps[i].count;
    node.dtype = code->nest->steps[i].operand_dtype;
    node.active = (uint8_t)code->shape.lanes;
    nest_add_node(code, node);
    if (is_last) {
        node = (struct nest_node){.code = NODE_COUNT, .step = (uint8_t)i, .n_in = 1, .in = {code->steps[i].count}};
        node.dtype = code->nest->steps[i].dtype;
        nest_add_node(code, node);
    }
}

static void join_totals(struct nest_code *code, size_t i, size_t copy);

/* Of a fold with a rest: whether the element at the current indices is taken by what the totals have become, which the first of
 * them makes. */
static bool is_in_rest(struct nest_code *code, size_t i, size_t copy)
{
    const struct mdf_nest_step *step = &code->nest->steps[i];
    size_t at = (size_t)code->offsets[step->level], first, n;

    if (!nest_has_parts(step) || (nest_folds_lanes(code, i) && step->order != MDF_NEST_WITH_REST)) {
        return false;
    }
    n = count_in_lanes(code->nest, step, at, &first);
    if (n > 0 && at == first + n) {
        join_totals(code, i, nest_folds_lanes(code, i) ? 0 : copy);
    }
    return at >= first + n;
}

/* ------------------------------------------------------------------ totals that are joined in pairs */

size_t nest_totals_in_pairs(const struct nest_code *code, size_t i)
{
    const struct mdf_nest_step *step = &code->nest->steps[i];
    size_t n = code->nest->extents[step->level];

    if (step->kind != MDF_NEST_FOLD || nest_finds_index(step) || nest_is_free(step) || step->level <= code->shape.vector_axis ||
        nest_is_open_axis(code, step->level) || n > MDF_NEST_LONGEST_IN_PAIRS || longest_part(step) < n ||
        (step->order == MDF_NEST_WITH_REST && n < step->lanes) || step->order == MDF_NEST_PAIRWISE) {
        return 1;
    }
    return count_turns(code, i);
}

size_t nest_elements_in_pairs(const struct nest_code *code, size_t i)
{
    const struct mdf_nest_step *step = &code->nest->steps[i];

    return mdf_nest_count_in_lanes(step, code->nest->extents[step->level]);
}

/* A total, of those of a copy, and an element or another total become one. */
static void join_pair(struct nest_code *code, size_t i, uint32_t *totals, size_t which, uint32_t next)
{
    struct nest_node node = {.code = NODE_ELEMENT, .step = (uint8_t)i, .n_in = 2, .in = {totals[which], next}};

    node.dtype = code->nest->steps[i].operand_dtype;
    node.active = (uint8_t)code->shape.lanes;
    totals[which] = nest_add_node(code, node);
}

/* An element goes to its total; where that has all of its elements, it is joined with that one that waits for it, and so on. */
static void take_in_pairs(struct nest_code *code, size_t i, size_t copy, uint32_t element)
{
    size_t n = nest_totals_in_pairs(code, i), at = (size_t)code->offsets[code->nest->steps[i].level], which = at % n,
           half = n / 2;
    size_t n_elements = nest_elements_in_pairs(code, i);
    uint32_t *totals = &code->steps[i].totals[copy * n];

    if (at >= n_elements) { /* of the rest */
        join_pair(code, i, totals, 0, element);
        return;
    }
    if (at < n && which > 0) {
        totals[which] = element;
    } else {
        join_pair(code, i, totals, which, element);
    }
    for (; at + n >= n_elements && half > 0 && which >= half; half /= 2) {
        which -= half;
        join_pair(code, i, totals, which, totals[which + half]);
    }
}

/* The element at the current indices, into the total that it goes to. */
void nest_take_element(struct nest_code *code, size_t i, size_t copy)
{
    const struct mdf_nest_step *step = &code->nest->steps[i];
    bool is_across = nest_folds_lanes(code, i), is_rest;
    size_t n = count_totals(code, i), first_axis = step->level, which;
    uint32_t element = nest_value_of(code, step->in[0]);

    if (code->failed) {
        return;
    }
    if (code->steps[i].in_pairs) {
        take_in_pairs(code, i, copy, element);
        return;
    }
    which = is_across ? (size_t)code->offsets[code->shape.vector_axis] / code->shape.lanes : (size_t)code->offsets[first_axis];
    if (!nest_is_free(step)) { /* there may be fewer totals than lanes, which are numbered as if there were all */
        which %= is_across ? step->lanes / code->shape.lanes : count_turns(code, i);
    }
    is_rest = is_in_rest(code, i, copy);
    which = is_rest ? 0 : which % n;
    which += is_across || step->level <= code->shape.vector_axis ? 0 : copy * n;
    if (nest_finds_index(step)) {
        take_index(code, i, which, element, copy + 1 == nest_count_copies(code, nest_operand_level(code, i)));
    } else if (is_across && is_rest) {
        nest_add_node(code, (struct nest_node){.code = NODE_TAKE,
                                               .step = (uint8_t)i,
                                               .dtype = step->operand_dtype,
                                               .n_in = 2,
                                               .in = {code->steps[i].totals[0], element},
                                               .active = (uint8_t)code->active,
                                               .is_in_turn = true});
    } else {
        take(code, i, code->steps[i].totals[which], element, is_across);
    }
}

static size_t whole_count(const struct nest_code *code, size_t i)
{
    const struct mdf_nest_step *step = &code->nest->steps[i];

    return nest_folds_lanes(code, i) ? nest_lanes(step) / code->shape.lanes : count_turns(code, i);
}

static uint32_t join_lanes(struct nest_code *code, size_t i, uint32_t total)
{
    struct nest_node node = {.code = NODE_JOIN, .step = (uint8_t)i, .n_in = 1, .in = {total}};

    node.dtype = code->nest->steps[i].dtype;
    return nest_add_node(code, node);
}

/* All totals of a copy become the first. */
static void join_totals(struct nest_code *code, size_t i, size_t copy)
{
    const struct mdf_nest_step *step = &code->nest->steps[i];
    bool is_free = nest_is_free(step);
    size_t n = count_totals(code, i), whole = is_free ? 0 : whole_count(code, i), half, k;
    uint32_t *totals = &code->steps[i].totals[copy * n];

    for (k = 1; k < n && is_free; k++) {
        take(code, i, totals[0], totals[k], false);
    }
    if (nest_has_parts(step) && step->order == MDF_NEST_PAIRWISE) { /* neighbours, then pairs of them */
        for (k = 0; k < n && nest_folds_lanes(code, i); k++) {
            totals[k] = join_lanes(code, i, totals[k]);
        }
        for (half = 1; half < whole; half *= 2) {
            for (k = 0; k + half < n; k += 2 * half) {
                take(code, i, totals[k], totals[k + half], false);
            }
        }
        return;
    }
    for (half = whole / 2; half > 0; half /= 2) {
        for (k = 0; k < half && k + half < n; k++) {
            take(code, i, totals[k], totals[k + half], false);
        }
    }
    totals[0] = nest_folds_lanes(code, i) ? join_lanes(code, i, totals[0]) : totals[0];
}

/* Where a part of a row ends, its total becomes one with those of the halves that it completes, in totals[0] of the copy. */
static void finish_part(struct nest_code *code, size_t i, size_t copy, size_t end)
{
    const struct mdf_nest_step *step = &code->nest->steps[i];
    struct nest_step_code *own = &code->steps[i];
    uint32_t *total = &own->totals[copy * count_totals(code, i)];
    size_t first, n_in_lanes = count_in_lanes(code->nest, step, end - 1, &first), n_joins, k;

    if (first + n_in_lanes == end) { /* else the rest has joined them */
        join_totals(code, i, copy);
    }
    n_joins = count_joins(code->nest, step, end);
    for (k = 0; k < n_joins; k++) {
        uint32_t left = own->halves[own->n_halves - 1 - k][copy];

        take(code, i, left, *total, false);
        *total = left;
    }
}

/* The parts that end in front of element `end`, which is not the last one: the next ones begin. */
void nest_change_parts(struct nest_code *code, size_t i, size_t end)
{
    const struct mdf_nest_step *step = &code->nest->steps[i];
    struct nest_step_code *own = &code->steps[i];
    size_t n = count_totals(code, i), n_joins = count_joins(code->nest, step, end), copy;

    if (own->n_halves - n_joins >= MOST_HALVES) {
        code->failed = true;
        return;
    }
    for (copy = 0; copy < nest_count_copies(code, step->level); copy++) {
        finish_part(code, i, copy, end);
    }
    own->n_halves -= n_joins;
    for (copy = 0; copy < nest_count_copies(code, step->level); copy++) {
        own->halves[own->n_halves][copy] = own->totals[copy * n];
    }
    own->n_halves++;
    nest_begin_fold(code, i);
}

void nest_finish_fold(struct nest_code *code, size_t i)
{
    const struct mdf_nest_step *step = &code->nest->steps[i];
    bool in_pairs = code->steps[i].in_pairs;
    size_t n = in_pairs ? nest_totals_in_pairs(code, i) : count_totals(code, i), copy;

    for (copy = 0; copy < nest_count_copies(code, step->level) && !code->failed; copy++) {
        nest_go_to_copy(code, step->level, copy);
        if (in_pairs) { /* they are joined */
        } else if (nest_has_parts(step)) {
            finish_part(code, i, copy, code->nest->extents[step->level]);
        } else {
            join_totals(code, i, copy);
        }
        nest_add_entry(code, i, nest_finds_index(step) ? code->steps[i].places[copy] : code->steps[i].totals[copy * n]);
    }
    code->steps[i].n_halves = 0;
}
