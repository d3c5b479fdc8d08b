/* emit_x86_64_nest_blocks.c - see emit_x86_64_nest.h. Writes a nest out as blocks of nodes.
 *
 * At each level, what has to be done is a set of goals: stores, elements that totals take, rows that functions are called on. The
 * folds that they need at this level, and the calls, are barriers: the loop of the next axis is passed through once for all goals
 * that need none, then for those that need the first ones, and so on. Values are written where they are asked for first, in front
 * of all loops that they do not depend on; in a later pass they are written again, where they are not at hand. */
#include "mdf_c/machine/emit_x86_64_nest.h"

#include <string.h>

/* ------------------------------------------------------------------ nodes and blocks */

static uint32_t innermost(const struct nest_code *code)
{
    return code->scopes[code->n_scopes - 1];
}

static uint32_t add_node(struct nest_code *code, struct nest_node node, uint32_t at)
{
    struct nest_block *block = &code->blocks[at];
    struct nest_node *grown = code->nodes;
    uint32_t *list = block->nodes;

    if (code->failed || code->n_nodes >= MOST_NODES) {
        code->failed = true;
        return 0;
    }
    if (code->n_nodes >= code->node_capacity) {
        grown = mdf_memory_grow(code->memory, code->nodes, &code->node_capacity, code->n_nodes + 1, sizeof *grown);
    }
    code->nodes = grown == NULL ? code->nodes : grown;
    if (block->n_nodes >= block->capacity) {
        list = mdf_memory_grow(code->memory, block->nodes, &block->capacity, block->n_nodes + 1, sizeof *list);
    }
    block->nodes = list == NULL ? block->nodes : list;
    if (grown == NULL || list == NULL) {
        code->failed = true;
        return 0;
    }
    node.block = at;
    node.number = NO_REGISTER;
    node.loaded_with = NO_NODE;
    code->nodes[code->n_nodes] = node;
    block->nodes[block->n_nodes++] = (uint32_t)code->n_nodes;
    return (uint32_t)code->n_nodes++;
}

uint32_t nest_add_node(struct nest_code *code, struct nest_node node)
{
    return add_node(code, node, innermost(code));
}

bool nest_add_block(struct nest_code *code, struct nest_block block)
{
    struct nest_block *grown = code->blocks;

    if (code->n_blocks >= code->block_capacity) {
        grown = mdf_memory_grow(code->memory, code->blocks, &code->block_capacity, code->n_blocks + 1, sizeof *grown);
    }
    if (grown == NULL) {
        code->failed = true;
        return false;
    }
    code->blocks = grown;
    code->scopes[code->n_scopes++] = (uint32_t)code->n_blocks;
    code->blocks[code->n_blocks++] = block;
    return true;
}

void nest_close_loop(struct nest_code *code)
{
    uint32_t body = code->scopes[--code->n_scopes];

    add_node(code, (struct nest_node){.code = NODE_LOOP, .body = body}, innermost(code));
}

/* The block in which a value stands that depends on some axes. What there is for each index of a long row of pairs stands beside
 * what takes it: nothing could keep so much. */
static uint32_t home_of(const struct nest_code *code, uint32_t axes)
{
    size_t i = code->n_scopes;

    if ((code->paired_axes & axes) != 0) {
        return innermost(code);
    }

    while (i-- > 1 && (axes >> code->blocks[code->scopes[i]].axis & 1) == 0) {
    }
    return code->scopes[i];
}

void nest_add_entry(struct nest_code *code, size_t step, uint32_t node)
{
    struct nest_entry *grown = code->entries;

    if (!code->failed && code->n_entries >= code->entry_capacity) {
        grown = mdf_memory_grow(code->memory, code->entries, &code->entry_capacity, code->n_entries + 1, sizeof *grown);
    }
    if (grown == NULL || code->failed) {
        code->failed = true;
        return;
    }
    code->entries = grown;
    grown = &code->entries[code->n_entries];
    *grown =
        (struct nest_entry){.node = node, .block = home_of(code, code->steps[step].axes), .next = code->steps[step].first_entry};
    memcpy(grown->offsets, code->offsets, sizeof grown->offsets);
    code->steps[step].first_entry = (uint32_t)code->n_entries++;
}

static uint32_t find_entry(const struct nest_code *code, size_t step)
{
    uint32_t home = home_of(code, code->steps[step].axes), i;

    for (i = code->steps[step].first_entry; i != NO_NODE; i = code->entries[i].next) {
        const struct nest_entry *entry = &code->entries[i];
        bool is_same = entry->block == home;

        for (size_t axis = 0; axis < code->nest->n_axes && is_same; axis++) {
            is_same = (code->steps[step].axes >> axis & 1) == 0 || entry->offsets[axis] == code->offsets[axis];
        }
        if (is_same) {
            return entry->node;
        }
    }
    return NO_NODE;
}

/* ------------------------------------------------------------------ places */

/* Whether a step is a whole number that is found in front of the nest. */
static bool is_outer_index(const struct mdf_lowered *lowered, const struct mdf_lowered_nest *nest, size_t i)
{
    const struct mdf_nest_step *step = &nest->steps[i];
    const struct mdf_lowered_value *value;

    if (step->kind == MDF_NEST_ELEMENT && step->code == MDF_LOWERED_CAST && step->dtype == MDF_DTYPE_INT64 &&
        step->operand_dtype == MDF_DTYPE_INT32) {
        i = step->in[0];
        step = &nest->steps[i];
    } else if (step->dtype != MDF_DTYPE_INT64) {
        return false;
    }
    value = step->kind == MDF_NEST_LOAD ? &lowered->values[step->view.id] : NULL;
    return value != NULL && step->level == 0 && step->view.at == MDF_NEST_NONE &&
           !(value->is_scalar && value->place == MDF_LOWERED_CONSTANT) &&
           (step->dtype == MDF_DTYPE_INT64 || step->dtype == MDF_DTYPE_INT32);
}

/* Whether the pointer that a load goes by begins at the place that such a number says. */
static bool begins_at_index(const struct mdf_lowered *lowered, const struct mdf_lowered_nest *nest,
                            const struct mdf_nest_step *step)
{
    return step->kind == MDF_NEST_LOAD && step->view.at != MDF_NEST_NONE && !lowered->values[step->view.id].is_scalar &&
           is_outer_index(lowered, nest, step->view.at);
}

bool nest_only_places(const struct mdf_lowered *lowered, const struct mdf_lowered_nest *nest, size_t i)
{
    bool is_used = false;

    for (size_t j = i + 1; j < nest->n_steps; j++) {
        const struct mdf_nest_step *step = &nest->steps[j];
        size_t n_in = step->kind == MDF_NEST_ELEMENT ? step->n_in : step->kind == MDF_NEST_LOAD ? 0 : 1;

        for (size_t k = 0; k < n_in; k++) {
            if (step->in[k] == i && !nest_only_places(lowered, nest, j)) {
                return false;
            }
            is_used = is_used || step->in[k] == i;
        }
        if (step->kind == MDF_NEST_LOAD && step->view.at == i) {
            if (!begins_at_index(lowered, nest, step)) {
                return false;
            }
            is_used = true;
        }
    }
    return is_used;
}

/* Indices that are gone through together. */
static size_t count_at_once(const struct nest_code *code, size_t axis)
{
    return axis == code->shape.vector_axis ? (size_t)code->shape.lanes * code->shape.group : 1;
}

/* Indices of a loop's round. */
static size_t find_advance(const struct nest_code *code, size_t axis)
{
    return count_at_once(code, axis) * code->shape.unroll[axis];
}

static bool has_loop(const struct nest_code *code, size_t axis)
{
    return nest_is_open_axis(code, axis) || code->nest->extents[axis] / find_advance(code, axis) >= 2;
}

static uint32_t find_pointer(struct nest_code *code, struct nest_pointer pointer)
{
    for (size_t i = 0; i < code->n_pointers; i++) {
        struct nest_pointer *there = &code->pointers[i];

        if (there->id == pointer.id && there->offset == pointer.offset && there->has_index == pointer.has_index &&
            (!there->has_index || (there->view.at == pointer.view.at && there->view.at_stride == pointer.view.at_stride &&
                                   there->view.at_limit == pointer.view.at_limit)) &&
            memcmp(there->strides, pointer.strides, sizeof there->strides) == 0) {
            return (uint32_t)i;
        }
    }
    if (code->n_pointers == MOST_POINTERS) {
        code->failed = true;
        return 0;
    }
    pointer.number = NO_REGISTER;
    code->pointers[code->n_pointers] = pointer;
    return (uint32_t)code->n_pointers++;
}

/* Of elements of `size` bytes, over the axes below `level`. */
static struct nest_place find_place(struct nest_code *code, struct nest_pointer pointer, int64_t first, const int64_t *strides,
                                    size_t level, size_t size)
{
    int64_t offset = first, lane = 0;
    struct nest_place place = {.id = pointer.id};

    for (size_t axis = 0; axis < level; axis++) {
        offset += code->offsets[axis] * strides[axis];
        pointer.strides[axis] = has_loop(code, axis) ? strides[axis] * (int64_t)size : 0;
        lane = axis == code->shape.vector_axis ? strides[axis] : lane;
    }
    offset *= (int64_t)size;
    if (offset > INT32_MAX / 2 || offset < INT32_MIN / 2) {
        code->failed = true;
    }
    place.kind = lane == 0 ? PLACE_SPREAD : lane == 1 ? PLACE_ROW : PLACE_LANES;
    place.lane_bytes = lane * (int64_t)size;
    place.displacement = (int32_t)offset;
    if (pointer.id != MDF_LOWERED_NONE && code->emission->lowered->values[pointer.id].is_scalar) {
        place.is_cell = true;
        return place;
    }
    place.pointer = find_pointer(code, pointer);
    return place;
}

bool nest_has_outer_index(const struct nest_code *code, const struct mdf_nest_step *step)
{
    return begins_at_index(code->emission->lowered, code->nest, step);
}

static struct nest_place place_of_view(struct nest_code *code, const struct mdf_nest_step *step)
{
    const struct nest_pointer pointer = {.id = step->view.id, .has_index = nest_has_outer_index(code, step), .view = step->view};

    return find_place(code, pointer, step->view.first, step->view.strides, step->level, mdf_dtype_size((mdf_dtype)step->dtype));
}

/* Of a row that a function is called on. */
static struct nest_place place_of_row(struct nest_code *code, size_t step, size_t operand, mdf_dtype dtype)
{
    const struct nest_call *call = &code->steps[step].call;
    static const int64_t none[MDF_NEST_MOST_AXES] = {0};
    bool is_one = operand < MDF_MAX_OPERANDS && call->is_one[operand];

    return find_place(code, (struct nest_pointer){.id = MDF_LOWERED_NONE, .offset = call->offsets[operand]}, 0,
                      is_one ? none : call->strides, code->nest->n_axes, mdf_dtype_size(dtype));
}

/* ------------------------------------------------------------------ values */

static struct nest_node make_load(struct nest_code *code, size_t i)
{
    const struct mdf_nest_step *step = &code->nest->steps[i];
    const struct mdf_lowered_value *value = &code->emission->lowered->values[step->view.id];
    struct nest_node node = {.code = NODE_LOAD};

    if (value->is_scalar && value->place == MDF_LOWERED_CONSTANT && step->view.at == MDF_NEST_NONE) {
        node.code = NODE_NUMBER;
        node.constant = step->view.id;
        return node;
    }
    node.place = place_of_view(code, step);
    node.is_overwritten = value->is_in_place;
    if (step->view.at != MDF_NEST_NONE && !nest_has_outer_index(code, step)) {
        node.in[0] = nest_value_of(code, step->view.at);
        node.n_in = 1;
        node.place.kind = nest_depends_on_lanes(code, step->view.at) ? PLACE_LANES : node.place.kind;
    }
    return node;
}

/* The node that has a step's register at the current indices. */
uint32_t nest_value_of(struct nest_code *code, size_t i)
{
    const struct mdf_nest_step *step = &code->nest->steps[i];
    struct nest_node node = {.code = NODE_ELEMENT};
    uint32_t found = find_entry(code, i);

    code->failed = code->failed || !emission_has_vectors(step->dtype);
    if (found != NO_NODE || code->failed) {
        return code->failed ? 0 : found;
    }
    if (code->steps[i].call.is_called) {
        size_t to = code->steps[i].call.to;

        node.code = NODE_LOAD;
        node.place = to != MDF_NEST_NONE ? place_of_view(code, &code->nest->steps[to])
                                         : place_of_row(code, i, MDF_MAX_OPERANDS, (mdf_dtype)step->dtype);
    } else if (step->kind == MDF_NEST_LOAD) {
        node = make_load(code, i);
    } else if (step->kind == MDF_NEST_ELEMENT) {
        node.n_in = step->n_in;
        for (size_t k = 0; k < step->n_in; k++) {
            node.in[k] = nest_value_of(code, step->in[k]);
        }
    } else { /* folds are entered when they are done */
        code->failed = true;
        return 0;
    }
    node.step = (uint8_t)i;
    node.dtype = step->dtype;
    node.active = (uint8_t)(nest_depends_on_lanes(code, i) ? code->active : code->shape.lanes);
    found = add_node(code, node, home_of(code, code->steps[i].axes));
    nest_add_entry(code, i, found);
    return found;
}

/* ------------------------------------------------------------------ copies */

void nest_go_to_copy(struct nest_code *code, size_t level, size_t copy)
{
    if (code->shape.vector_axis < level) {
        code->offsets[code->shape.vector_axis] = code->copies[copy].offset;
        code->active = code->copies[copy].active;
    }
}
/* ------------------------------------------------------------------ calls */

static void store_node(struct nest_code *code, size_t step, uint32_t value, struct nest_place place, mdf_dtype dtype)
{
    struct nest_node node = {.code = NODE_STORE, .step = (uint8_t)step, .dtype = (uint8_t)dtype, .n_in = 1, .in = {value}};

    node.place = place;
    node.active = (uint8_t)(place.kind == PLACE_SPREAD ? 1 : code->active);
    add_node(code, node, innermost(code));
}

/* The operands of a function that is called, at the current indices, into their rows. */
static void fill_rows(struct nest_code *code, size_t i, bool ones)
{
    const struct mdf_nest_step *step = &code->nest->steps[i];

    for (size_t k = 0; k < step->n_in; k++) {
        mdf_dtype dtype = (mdf_dtype)code->nest->steps[step->in[k]].dtype;

        if (code->steps[i].call.is_one[k] == ones && code->steps[i].call.from[k] == MDF_NEST_NONE) {
            store_node(code, i, nest_value_of(code, step->in[k]), place_of_row(code, i, k, dtype), dtype);
        }
    }
}

static void finish_call(struct nest_code *code, size_t i)
{
    fill_rows(code, i, true);
    if (code->nest->steps[i].level == code->steps[i].call.level) {
        fill_rows(code, i, false);
    }
    add_node(code, (struct nest_node){.code = NODE_CALL, .step = (uint8_t)i}, innermost(code));
}

/* ------------------------------------------------------------------ goals */

/* The level at which a fold or a call is begun and finished; NO_AXIS + 1: it is neither. */
static size_t barrier_level(const struct nest_code *code, size_t i)
{
    return code->nest->steps[i].kind == MDF_NEST_FOLD ? code->nest->steps[i].level
           : code->steps[i].call.is_called            ? code->steps[i].call.level
                                                      : NO_AXIS + 1;
}

/* Where a goal is reached. */
static size_t goal_level(const struct nest_code *code, size_t i)
{
    return code->nest->steps[i].kind == MDF_NEST_FOLD ? nest_operand_level(code, i) : code->nest->steps[i].level;
}

/* Whether an earlier pass has made a step's register, for all copies. */
static bool is_at_hand(struct nest_code *code, size_t level, size_t i)
{
    size_t copy = 0;

    if (code->nest->steps[i].level > level || code->paired_axes != 0) {
        return false;
    }
    for (; copy < nest_count_copies(code, level); copy++) {
        nest_go_to_copy(code, level, copy);
        if (find_entry(code, i) == NO_NODE) {
            return false;
        }
    }
    return true;
}

/* All that the goals need and that has not been made before this level, or in an earlier pass. */
static struct mdf_nest_set needs_of(struct nest_code *code, size_t level, const struct mdf_nest_set *goals)
{
    struct mdf_nest_set needs = {{0}};

    needs = level == 0 ? code->roots : needs;
    for (size_t i = code->nest->n_steps; i-- > 0;) {
        if (mdf_nest_set_has(goals, i)) {
            mdf_nest_add_operands(&code->nest->steps[i], &needs);
        } else if (mdf_nest_set_has(&needs, i) && is_at_hand(code, level, i)) {
            mdf_nest_set_remove(&needs, i);
        } else if (mdf_nest_set_has(&needs, i) && barrier_level(code, i) >= level) {
            mdf_nest_add_operands(&code->nest->steps[i], &needs);
        }
    }
    return needs;
}

/* The number of the pass in which each step may be computed; returns the largest. */
static size_t rank_steps(const struct nest_code *code, size_t level, const struct mdf_nest_set *needs,
                         const struct mdf_nest_set *goals, uint8_t *ranks)
{
    size_t most = 0;

    for (size_t i = 0; i < code->nest->n_steps; i++) {
        struct mdf_nest_set operands = {{0}};

        ranks[i] = 0;
        if (!mdf_nest_set_has(goals, i) && (!mdf_nest_set_has(needs, i) || barrier_level(code, i) < level)) {
            continue;
        }
        mdf_nest_add_operands(&code->nest->steps[i], &operands);
        for (size_t k = 0; k < i; k++) {
            if (mdf_nest_set_has(&operands, k)) {
                bool is_barrier = mdf_nest_set_has(needs, k) && barrier_level(code, k) == level;
                uint8_t rank = (uint8_t)(ranks[k] + (is_barrier ? 1 : 0));

                ranks[i] = rank > ranks[i] ? rank : ranks[i];
            }
        }
        most = ranks[i] > most ? ranks[i] : most;
    }
    return most;
}

void nest_go_to_vectors(struct nest_code *code, size_t at, size_t n)
{
    code->n_copies = 0;
    for (; code->n_copies < code->shape.group && n > 0; code->n_copies++, at += code->shape.lanes) {
        code->copies[code->n_copies].offset = (int64_t)at;
        code->copies[code->n_copies].active = n < code->shape.lanes ? (unsigned)n : code->shape.lanes;
        n -= code->copies[code->n_copies].active;
    }
}

static void open_loop(struct nest_code *code, size_t axis, size_t count, size_t advance)
{
    const struct nest_block *parent = &code->blocks[innermost(code)];

    nest_add_block(code, (struct nest_block){.parent = innermost(code),
                                             .axis = (uint8_t)axis,
                                             .count = count,
                                             .advance = advance,
                                             .depth = (uint8_t)(parent->depth + 1),
                                             .runs = parent->runs * (double)count});
}

/* Indices of an axis, from `first` on: as many rounds of a loop as there are, then the rest. */
static void make_rounds(struct nest_code *code, size_t axis, size_t first, size_t end, const struct mdf_nest_set *goals)
{
    size_t advance = find_advance(code, axis), count = has_loop(code, axis) ? (end - first) / advance : 0, round, at;

    for (round = count > 0 ? 0 : 1; round < 2 && !code->failed; round++) {
        size_t last = round == 0 ? first + advance : end;

        if (round == 0) {
            open_loop(code, axis, count, advance);
        }
        for (at = round == 0 ? first : first + count * advance; at < last && !code->failed; at += count_at_once(code, axis)) {
            if (axis == code->shape.vector_axis) {
                nest_go_to_vectors(code, at, last - at);
            } else {
                code->offsets[axis] = (int64_t)at;
            }
            nest_make_body(code, axis + 1, goals);
        }
        if (round == 0 && !code->failed) {
            nest_close_loop(code);
        }
    }
    code->offsets[axis] = 0;
}

/* How many totals each of the sums has that are all that takes elements along an axis which is written out, where these are
 * joined in pairs; 1: it is otherwise. *sum: one of them. */
static size_t count_in_pairs(const struct nest_code *code, size_t axis, const struct mdf_nest_set *goals, size_t *sum)
{
    size_t n = 0;

    for (size_t i = 0; i < code->nest->n_steps && n != 1; i++) {
        if (mdf_nest_set_has(goals, i)) {
            size_t own = code->nest->steps[i].level == axis && !has_loop(code, axis) ? nest_totals_in_pairs(code, i) : 1;
            bool is_same = n == 0 || (n == own && nest_elements_in_pairs(code, i) == nest_elements_in_pairs(code, *sum));

            n = is_same ? own : 1;
            *sum = i;
        }
    }
    return n == 0 ? 1 : n;
}

/* All indices of an axis, in the order in which totals are joined; then the rest. */
static void make_pairs(struct nest_code *code, size_t axis, size_t sum, size_t n_totals, const struct mdf_nest_set *goals)
{
    size_t n = nest_elements_in_pairs(code, sum), k, at;
    uint32_t paired_axes = code->paired_axes;

    code->paired_axes |= n > N_REAL_REGISTERS ? 1u << axis : 0;
    for (k = 0; k < n_totals && !code->failed; k++) {
        for (at = mdf_nest_total_in_pairs(k, n_totals); at < n; at += n_totals) {
            code->offsets[axis] = (int64_t)at;
            nest_make_body(code, axis + 1, goals);
        }
    }
    for (at = n; at < code->nest->extents[axis] && !code->failed; at++) {
        code->offsets[axis] = (int64_t)at;
        nest_make_body(code, axis + 1, goals);
    }
    code->offsets[axis] = 0;
    code->paired_axes = paired_axes;
}

static bool folds_parts(const struct nest_code *code, size_t i, size_t axis, const struct mdf_nest_set *goals)
{
    return mdf_nest_set_has(goals, i) && nest_has_parts(&code->nest->steps[i]) && code->nest->steps[i].level == axis;
}

/* All indices of an axis, in one go or by the parts that folds go on by. */
static void make_loop(struct nest_code *code, size_t axis, const struct mdf_nest_set *goals)
{
    size_t n = code->nest->extents[axis], end, i;

    if (nest_is_open_axis(code, axis)) {
        nest_make_open_loops(code, axis, goals);
        return;
    }
    for (size_t first = 0; first < n && !code->failed; first = end) {
        for (i = 0, end = n; i < code->nest->n_steps; i++) {
            size_t part_end = folds_parts(code, i, axis, goals) ? nest_part_end(code->nest, &code->nest->steps[i], first) : n;

            end = part_end < end ? part_end : end;
        }
        make_rounds(code, axis, first, end, goals);
        for (i = 0; i < code->nest->n_steps && end < n; i++) {
            if (folds_parts(code, i, axis, goals) && nest_part_end(code->nest, &code->nest->steps[i], end - 1) == end) {
                nest_change_parts(code, i, end);
            }
        }
    }
}

static void reach_goal(struct nest_code *code, size_t i, size_t copy)
{
    const struct mdf_nest_step *step = &code->nest->steps[i];
    uint32_t node;

    if (step->kind == MDF_NEST_FOLD) {
        nest_take_element(code, i, copy);
    } else if (step->kind == MDF_NEST_STORE) {
        store_node(code, i, nest_value_of(code, step->in[0]), place_of_view(code, step), (mdf_dtype)step->dtype);
    } else if (code->steps[i].call.is_called) {
        fill_rows(code, i, false);
    } else {
        node = nest_value_of(code, i);
        if (!code->failed) {
            code->nodes[node].is_kept = true;
        }
    }
}

/* Whether a fold or a call has something to be done for each index within. */
static bool passes_through(const struct nest_code *code, size_t i)
{
    const struct nest_call *call = &code->steps[i].call;

    for (size_t k = 0; call->is_called && k < code->nest->steps[i].n_in; k++) {
        if (call->from[k] == MDF_NEST_NONE && !call->is_one[k]) {
            return true;
        }
    }
    return !call->is_called;
}

/* What the goals need at a level. */
struct nest_needs {
    const struct mdf_nest_set *goals;
    struct mdf_nest_set set;
    uint8_t ranks[MDF_NEST_MOST_STEPS];
};

static bool is_barrier(const struct nest_code *code, const struct nest_needs *needs, size_t level, size_t i, size_t rank)
{
    return mdf_nest_set_has(&needs->set, i) && barrier_level(code, i) == level && needs->ranks[i] == rank;
}

/* What goes along the axis in one pass. */
static struct mdf_nest_set find_passed(const struct nest_code *code, size_t level, const struct nest_needs *needs, size_t rank)
{
    struct mdf_nest_set passed = {{0}};

    for (size_t i = 0; i < code->nest->n_steps; i++) {
        bool is_passed = is_barrier(code, needs, level, i, rank) ? passes_through(code, i)
                                                                 : mdf_nest_set_has(needs->goals, i) && needs->ranks[i] == rank;

        if (is_passed && goal_level(code, i) > level) {
            mdf_nest_set_add(&passed, i);
        }
    }
    return passed;
}

/* The loop for what is made in one pass, and what comes before and behind it. */
static void make_pass(struct nest_code *code, size_t level, const struct nest_needs *needs, size_t rank)
{
    struct mdf_nest_set passed = find_passed(code, level, needs, rank);
    size_t sum = 0, n_totals = count_in_pairs(code, level, &passed, &sum), i;

    for (i = 0; i < code->nest->n_steps; i++) {
        if (is_barrier(code, needs, level, i, rank) && code->nest->steps[i].kind == MDF_NEST_FOLD) {
            code->steps[i].in_pairs = n_totals > 1;
            nest_begin_fold(code, i);
        }
    }
    if (n_totals > 1) {
        make_pairs(code, level, sum, n_totals, &passed);
    } else if (!mdf_nest_set_is_empty(&passed)) {
        make_loop(code, level, &passed);
    }
    for (i = 0; i < code->nest->n_steps && !code->failed; i++) {
        if (!is_barrier(code, needs, level, i, rank)) {
            continue;
        }
        if (code->nest->steps[i].kind == MDF_NEST_FOLD) {
            nest_finish_fold(code, i);
        } else {
            finish_call(code, i);
        }
    }
}

/* What the goals need here, in turn; then those that are reached here. */
void nest_make_body(struct nest_code *code, size_t level, const struct mdf_nest_set *goals)
{
    struct nest_needs needs = {.goals = goals, .set = needs_of(code, level, goals)};
    size_t most = rank_steps(code, level, &needs.set, goals, needs.ranks), rank, i, copy;

    for (rank = 0; rank <= most && !code->failed; rank++) {
        make_pass(code, level, &needs, rank);
    }
    for (copy = 0; copy < nest_count_copies(code, level); copy++) {
        nest_go_to_copy(code, level, copy);
        for (i = 0; i < code->nest->n_steps && !code->failed; i++) {
            if (mdf_nest_set_has(goals, i) && goal_level(code, i) == level) {
                reach_goal(code, i, copy);
            }
        }
    }
}

/* ------------------------------------------------------------------ the whole */

static void begin_steps(struct nest_code *code)
{
    for (size_t i = 0; i < code->nest->n_steps; i++) {
        const struct mdf_nest_step *step = &code->nest->steps[i];
        struct mdf_nest_set operands = {{0}};

        mdf_nest_add_operands(step, &operands);
        code->steps[i].first_entry = NO_NODE;
        code->steps[i].axes = step->kind == MDF_NEST_FOLD ? (1u << step->level) - 1 : 0;
        for (size_t axis = 0; step->kind == MDF_NEST_LOAD && axis < step->level; axis++) {
            code->steps[i].axes |= step->view.strides[axis] != 0 ? 1u << axis : 0;
        }
        for (size_t k = 0; step->kind != MDF_NEST_FOLD && k < i; k++) {
            code->steps[i].axes |= mdf_nest_set_has(&operands, k) ? code->steps[k].axes : 0;
        }
    }
}

/* Whether a step has to run even where nothing reads it. */
static bool may_bail_out(const struct nest_code *code, size_t i)
{
    const struct mdf_nest_step *step = &code->nest->steps[i];
    bool is_cut = step->code == MDF_LOWERED_CAST && machine_is_whole(step->dtype) && !machine_is_whole(step->operand_dtype) &&
                  step->operand_dtype != MDF_DTYPE_BOOL;

    return code->steps[i].call.is_called || (step->kind == MDF_NEST_LOAD && step->view.at != MDF_NEST_NONE) ||
           (step->kind == MDF_NEST_ELEMENT && (step->code == MDF_LOWERED_DIVIDE_NONZERO || is_cut));
}

/* What has to be done: stores, but those that a call does itself, and what may bail out. False: a call that nothing reads and
 * that is not on all elements. */
static bool find_goals(struct nest_code *code, struct mdf_nest_set *goals)
{
    struct mdf_nest_set needed = {{0}};

    for (size_t i = code->nest->n_steps; i-- > 0;) {
        const struct mdf_nest_step *step = &code->nest->steps[i];
        bool is_store = step->kind == MDF_NEST_STORE, is_needed = mdf_nest_set_has(&needed, i);

        if (!is_store && !is_needed && !may_bail_out(code, i)) {
            continue;
        }
        if (!is_needed && nest_has_outer_index(code, step)) {
            place_of_view(code, step); /* the index is looked at where the pointer begins */
            continue;
        }
        if (is_store && code->steps[step->in[0]].call.is_called && code->steps[step->in[0]].call.to == i) {
            mdf_nest_set_add(&code->roots, step->in[0]);
        } else if (is_store || (!is_needed && !code->steps[i].call.is_called)) {
            mdf_nest_set_add(goals, i);
        } else if (!is_needed) {
            if (code->steps[i].call.level > 0) {
                return false;
            }
            mdf_nest_set_add(&code->roots, i);
        }
        mdf_nest_add_operands(step, &needed);
    }
    return true;
}

bool nest_write_out(struct nest_code *code)
{
    struct mdf_nest_set goals = {{0}};

    begin_steps(code);
    if (!nest_covers_open_axis(code)) {
        return false;
    }
    for (size_t i = 0; i < code->nest->n_steps; i++) {
        if (code->steps[i].call.is_called && !nest_find_call(code, i)) {
            return false;
        }
    }
    code->n_copies = 1;
    code->active = code->shape.lanes;
    if (!find_goals(code, &goals) || !nest_add_block(code, (struct nest_block){.parent = NO_NODE, .axis = NO_AXIS, .runs = 1})) {
        return false;
    }
    nest_make_body(code, 0, &goals);
    return !code->failed;
}

void nest_code_release(struct nest_code *code)
{
    for (size_t i = 0; i < code->n_blocks; i++) {
        mdf_memory_release(code->memory, code->blocks[i].nodes);
    }
    mdf_memory_release(code->memory, code->blocks);
    mdf_memory_release(code->memory, code->nodes);
    mdf_memory_release(code->memory, code->entries);
}
