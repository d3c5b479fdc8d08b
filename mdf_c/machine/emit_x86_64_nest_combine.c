/* emit_x86_64_nest_combine.c - see emit_x86_64_nest.h. What costs less together: where lanes are apart and several elements of
 * each lie side by side, as in a fold over short rows, they are loaded as rows and turned; indices by which several tables are
 * read are looked at once; a product that needs no rounding and the sum that takes it are one instruction, and so is the choice
 * of the smaller or the larger one of two reals, but that NaN is looked for behind it, and what two neighbours store for a
 * function that is called; bits that are shifted to either side and joined are rotated. The bits are the same. */
#include "mdf_c/base/processor.h"
#include "mdf_c/machine/emit_x86_64_nest.h"

#include <string.h>

/* ------------------------------------------------------------------ rows that are turned */

static bool may_turn(const struct nest_code *code, const struct nest_node *node)
{
    return node->code == NODE_LOAD && code->nest->steps[node->step].kind == MDF_NEST_LOAD && node->n_in == 0 &&
           node->place.kind == PLACE_LANES && !node->place.is_cell && !node->is_overwritten && node->loaded_with == NO_NODE &&
           code->shape.lanes > 1 && node->active == code->shape.lanes && mdf_dtype_size((mdf_dtype)node->dtype) >= 4;
}

/* The node whose lanes are `distance` bytes behind those of node `i`; NO_NODE: there is none. */
static uint32_t find_beside(const struct nest_code *code, const struct nest_block *block, uint32_t i, int64_t distance)
{
    const struct nest_place *place = &code->nodes[i].place;

    for (size_t k = 0; k < block->n_nodes; k++) {
        const struct nest_node *node = &code->nodes[block->nodes[k]];

        if (may_turn(code, node) && node->place.pointer == place->pointer && node->place.lane_bytes == place->lane_bytes &&
            node->dtype == code->nodes[i].dtype && node->place.displacement == place->displacement + distance) {
            return block->nodes[k];
        }
    }
    return NO_NODE;
}

/* Finds `n` elements side by side, node `i` among them. */
static bool find_row(const struct nest_code *code, const struct nest_block *block, uint32_t i, size_t n, uint32_t *row)
{
    int64_t size = (int64_t)mdf_dtype_size((mdf_dtype)code->nodes[i].dtype);
    size_t k;

    for (size_t before = 0; before < n; before++) {
        for (k = 0; k < n; k++) {
            row[k] = k == before ? i : find_beside(code, block, i, ((int64_t)k - (int64_t)before) * size);
            if (row[k] == NO_NODE) {
                break;
            }
        }
        if (k == n) {
            return true;
        }
    }
    return false;
}

/* The others of a row come directly behind its first node, which is number `at` of the block: nothing in between writes what they
 * load. */
static void put_together(struct nest_code *code, struct nest_block *block, size_t at, size_t n, const uint32_t *row)
{
    struct nest_node *first = &code->nodes[block->nodes[at]];
    size_t to = at;

    for (size_t k = 0; k < n; k++) {
        code->nodes[row[k]].loaded_with = block->nodes[at];
        first->together[k] = row[k];
    }
    first->n_together = (uint8_t)n;
    for (size_t from = at + 1; from < block->n_nodes && to < at + n - 1; from++) {
        uint32_t number = block->nodes[from];

        if (code->nodes[number].loaded_with == block->nodes[at]) {
            to++;
            memmove(&block->nodes[to + 1], &block->nodes[to], (from - to) * sizeof *block->nodes);
            block->nodes[to] = number;
        }
    }
}

static bool may_join(const struct nest_code *code, const struct nest_node *node)
{
    return nest_gathers(code, node) && !node->is_overwritten && node->loaded_with == NO_NODE;
}

/* Finds loads by the indices of node `i`, from tables of the same size. */
static size_t find_gathers(const struct nest_code *code, const struct nest_block *block, uint32_t i, uint32_t *found)
{
    const struct nest_node *first = &code->nodes[i];
    const struct mdf_nest_view *view = &code->nest->steps[first->step].view;
    size_t n = 0;

    for (size_t k = 0; k < block->n_nodes && n < MOST_TOGETHER; k++) {
        const struct nest_node *node = &code->nodes[block->nodes[k]];

        if (may_join(code, node) && node->in[0] == first->in[0] &&
            code->nest->steps[node->step].view.at_limit == view->at_limit &&
            code->nest->steps[node->step].view.at_stride == view->at_stride &&
            mdf_dtype_size((mdf_dtype)node->dtype) == mdf_dtype_size((mdf_dtype)first->dtype)) {
            found[n++] = block->nodes[k];
        }
    }
    return n;
}

static void join_gathers(struct nest_code *code, struct nest_block *block)
{
    uint32_t found[MOST_TOGETHER];
    size_t n;

    for (size_t at = 0; at < block->n_nodes; at++) {
        n = may_join(code, &code->nodes[block->nodes[at]]) ? find_gathers(code, block, block->nodes[at], found) : 0;
        if (n > 1) {
            put_together(code, block, at, n, found);
        }
    }
}

static bool turn_rows(struct nest_code *code, struct nest_block *block)
{
    uint32_t row[MOST_TOGETHER];
    bool turns = false;

    for (size_t at = 0; at < block->n_nodes; at++) {
        uint32_t i = block->nodes[at];

        /* All of the longer rows first: an element that stands alone would keep another from one. */
        for (size_t n = mdf_dtype_size((mdf_dtype)code->nodes[i].dtype) == 4 ? 4 : 2; n >= 2 && may_turn(code, &code->nodes[i]);
             n -= 2) {
            if (find_row(code, block, i, n, row)) {
                put_together(code, block, at, n, row);
                turns = true;
            }
        }
    }
    return turns;
}

/* ------------------------------------------------------------------ products that are summed */

/* Whether a node is a product that a sum takes without its being rounded, as it needs no rounding, or is none. */
static bool is_exact_product(const struct nest_code *code, const struct nest_node *sum, const struct nest_node *node)
{
    return node->code == NODE_ELEMENT && (code->nest->steps[sum->step].is_fused
                                              ? code->nest->steps[sum->step].in[0] == node->step
                                              : mdf_nest_is_exact_product(code->nest, node->step));
}

/* Whether a node adds in[1] to in[0]. */
static bool is_sum(const struct nest_code *code, const struct nest_node *node)
{
    const struct mdf_nest_step *step = &code->nest->steps[node->step];

    return node->n_in == 2 && !node->is_in_turn &&
           (node->dtype == MDF_DTYPE_FLOAT64 || (step->is_fused && node->code == NODE_TAKE)) &&
           (step->kind == MDF_NEST_FOLD ? (node->code == NODE_TAKE || node->code == NODE_ELEMENT) && step->fold == MDF_NEST_SUM
                                        : node->code == NODE_ELEMENT && step->code == MDF_LOWERED_ADD);
}

/* The second operand becomes two: the factors of the product that it is. */
static void fuse_product(struct nest_code *code, struct nest_node *sum)
{
    const struct nest_node *product;

    if (!is_sum(code, sum)) {
        return;
    }
    if (sum->code == NODE_ELEMENT && !is_exact_product(code, sum, &code->nodes[sum->in[1]])) {
        uint32_t first = sum->in[0];

        sum->in[0] = sum->in[1]; /* which makes no difference to a sum */
        sum->in[1] = first;
    }
    product = &code->nodes[sum->in[1]];
    if (is_exact_product(code, sum, product) && (sum->code == NODE_TAKE || product->block == sum->block)) {
        sum->in[2] = product->in[1];
        sum->in[1] = product->in[0];
        sum->n_in = 3;
    }
}

/* ------------------------------------------------------------------ the smaller and the larger one of two */

static const struct mdf_nest_step *element_of(const struct nest_code *code, uint32_t i)
{
    const struct nest_node *node = &code->nodes[i];
    const struct mdf_nest_step *step = &code->nest->steps[node->step];

    return node->code == NODE_ELEMENT && step->kind == MDF_NEST_ELEMENT ? step : NULL;
}

/* Whether a node asks whether another one is NaN. */
static bool asks_for_nan(const struct nest_code *code, uint32_t i, uint32_t of)
{
    const struct mdf_nest_step *step = element_of(code, i);

    return step != NULL && step->code == MDF_LOWERED_NOT_EQUAL && code->nodes[i].in[0] == of && code->nodes[i].in[1] == of;
}

/* What a choice of `first` takes where a comparison of it with `second` holds; 0: it is no such comparison. Whole numbers that
 * are equal are one number, whichever is taken. */
static uint16_t extreme_of(const struct nest_code *code, uint32_t test, uint32_t first, uint32_t second)
{
    const struct mdf_nest_step *step = element_of(code, test);
    const uint32_t *in = code->nodes[test].in;
    bool is_whole = code->nodes[first].dtype == MDF_DTYPE_INT32, is_less, is_greater;

    if (step == NULL || !((in[0] == first && in[1] == second) || (in[0] == second && in[1] == first))) {
        return 0;
    }
    is_less = step->code == MDF_LOWERED_LESS || (is_whole && step->code == MDF_LOWERED_LESS_EQUAL);
    is_greater = step->code == MDF_LOWERED_GREATER || (is_whole && step->code == MDF_LOWERED_GREATER_EQUAL);
    if (in[0] != first ? is_greater : is_less) {
        return is_whole ? VECTOR_MINIMUM_INTS : VECTOR_MINIMUM;
    }
    return !is_less && !is_greater ? 0 : is_whole ? VECTOR_MAXIMUM_INTS : VECTOR_MAXIMUM;
}

/* What only this needed is needed no more. */
static void drop(struct nest_code *code, uint32_t i)
{
    struct nest_node *node = &code->nodes[i];

    node->n_uses--;
    if (node->n_uses == 0 && element_of(code, i) != NULL && !node->is_kept) {
        for (size_t k = 0; k < node->n_in; k++) {
            drop(code, node->in[k]);
        }
        node->n_in = 0;
    }
}

static void fuse_choice(struct nest_code *code, uint32_t i)
{
    struct nest_node *node = &code->nodes[i];
    const struct mdf_nest_step *step = element_of(code, i), *condition;
    uint32_t test, first, second, either;

    if (step == NULL || step->code != MDF_LOWERED_SELECT || node->n_in != 3 ||
        (!mdf_dtype_is_real(node->dtype) && node->dtype != MDF_DTYPE_INT32)) {
        return;
    }
    test = node->in[0];
    first = node->in[1];
    second = node->in[2];
    condition = element_of(code, test);
    node->extreme = first != second ? extreme_of(code, test, first, second) : 0;
    for (size_t k = 0; k < 2 && condition != NULL && condition->code == MDF_LOWERED_OR && node->extreme == 0; k++) {
        either = code->nodes[test].in[k];
        if (asks_for_nan(code, code->nodes[test].in[1 - k], first) && first != second) {
            node->extreme = extreme_of(code, either, first, second);
            node->keeps_nan = true;
        }
    }
    if (node->extreme != 0) {
        node->in[0] = first;
        node->in[1] = second;
        node->n_in = 2;
        drop(code, test);
    }
}

static void fuse_choices(struct nest_code *code)
{
    for (size_t i = 0; i < code->n_nodes; i++) {
        for (size_t k = 0; k < code->nodes[i].n_in; k++) {
            code->nodes[code->nodes[i].in[k]].n_uses++;
        }
    }
    for (size_t i = 0; i < code->n_nodes; i++) {
        fuse_choice(code, (uint32_t)i);
    }
    for (size_t i = 0; i < code->n_nodes; i++) {
        code->nodes[i].n_uses = 0;
    }
}

/* ------------------------------------------------------------------ factors in memory */

static bool is_row(const struct nest_node *node)
{
    return node->code == NODE_LOAD && node->place.kind == PLACE_ROW && !node->place.is_cell && node->n_in == 0;
}

/* The factor that lies in memory as it is wanted becomes the second one, which an instruction can read there. */
static void change_factors(const struct nest_code *code, struct nest_node *node)
{
    const struct mdf_nest_step *step = &code->nest->steps[node->step];

    if (node->code == NODE_ELEMENT && step->kind == MDF_NEST_ELEMENT && step->code == MDF_LOWERED_MULTIPLY &&
        is_row(&code->nodes[node->in[0]]) && !is_row(&code->nodes[node->in[1]])) {
        uint32_t first = node->in[0];

        node->in[0] = node->in[1];
        node->in[1] = first;
    }
}

/* ------------------------------------------------------------------ stores side by side */

/* Whether a node stores less than a vector of the widest size, all lanes, in a row that a function is called on. */
static bool stores_part_of_row(const struct nest_code *code, const struct nest_node *node)
{
    return node->code == NODE_STORE && node->n_in == 1 && node->place.kind == PLACE_ROW && !node->place.is_cell &&
           code->pointers[node->place.pointer].id == MDF_LOWERED_NONE && node->active == code->shape.lanes &&
           mdf_dtype_size((mdf_dtype)node->dtype) >= 4 && nest_vector_size(code, node->dtype) < nest_widest_size(code) &&
           node->active * mdf_dtype_size((mdf_dtype)node->dtype) == nest_vector_size(code, node->dtype);
}

/* The function loads vectors of the widest size: what two stores have made it would only find once they are done, so that
 * nothing of the next run could begin. The first of two neighbours, at the place of a whole vector, is stored with the second. */
static void join_stores(struct nest_code *code, struct nest_block *block)
{
    for (size_t i = 0; i < block->n_nodes; i++) {
        const struct nest_node *first = &code->nodes[block->nodes[i]];
        int32_t size = stores_part_of_row(code, first) ? (int32_t)nest_vector_size(code, first->dtype) : 0;

        for (size_t k = size == 0 || first->place.displacement % (2 * size) != 0 ? block->n_nodes : i + 1; k < block->n_nodes;
             k++) {
            struct nest_node *second = &code->nodes[block->nodes[k]];

            if (second->code == NODE_CALL || second->code == NODE_LOOP) {
                break;
            }
            if (stores_part_of_row(code, second) && second->dtype == first->dtype &&
                second->place.pointer == first->place.pointer && second->place.displacement == first->place.displacement + size) {
                second->in[1] = second->in[0];
                second->in[0] = first->in[0];
                second->n_in = 2;
                second->place = first->place;
                memmove(&block->nodes[i], &block->nodes[i + 1], (--block->n_nodes - i) * sizeof *block->nodes);
                i--;
                break;
            }
        }
    }
}

/* ------------------------------------------------------------------ shifts and rotations */

static bool is_code(const struct nest_code *code, const struct nest_node *node, enum mdf_lowered_code wanted)
{
    const struct mdf_nest_step *step = &code->nest->steps[node->step];

    return node->code == NODE_ELEMENT && step->kind == MDF_NEST_ELEMENT && step->code == wanted && node->rotation == 0;
}

/* A count, or a divisor, that is a constant is a part of the instruction. */
static void take_count(struct nest_code *code, struct nest_node *node)
{
    bool has_part = is_code(code, node, MDF_LOWERED_SHIFT_LEFT) || is_code(code, node, MDF_LOWERED_SHIFT_RIGHT) ||
                    is_code(code, node, MDF_LOWERED_QUOTIENT) || is_code(code, node, MDF_LOWERED_REMAINDER) ||
                    is_code(code, node, MDF_LOWERED_FLOOR_REMAINDER);

    if (has_part && node->n_in == 2 && code->nodes[node->in[1]].code == NODE_NUMBER) {
        node->constant = code->nodes[node->in[1]].constant;
        node->has_count = true;
        node->n_in = 1;
    }
}

/* x << k | x >> (width - k), also added or exclusive: of numbers without sign that fill their lanes. */
static void find_rotation(struct nest_code *code, struct nest_node *node)
{
    const struct mdf_nest_step *step = &code->nest->steps[node->step];
    const struct nest_node *left, *right;
    uint64_t width = 8 * mdf_dtype_size((mdf_dtype)step->dtype), n_left, n_right;

    if (!mdf_has_avx512() || node->n_in != 2 || (step->dtype != MDF_DTYPE_UINT32 && step->dtype != MDF_DTYPE_UINT64) ||
        !(is_code(code, node, MDF_LOWERED_OR) || is_code(code, node, MDF_LOWERED_EXCLUSIVE_OR) ||
          is_code(code, node, MDF_LOWERED_ADD))) {
        return;
    }
    left = &code->nodes[node->in[0]];
    right = &code->nodes[node->in[1]];
    if (is_code(code, left, MDF_LOWERED_SHIFT_RIGHT)) {
        const struct nest_node *other = left;

        left = right;
        right = other;
    }
    if (!is_code(code, left, MDF_LOWERED_SHIFT_LEFT) || !is_code(code, right, MDF_LOWERED_SHIFT_RIGHT) || !left->has_count ||
        !right->has_count || left->in[0] != right->in[0]) {
        return;
    }
    n_left = emission_constant(code->emission, left->constant);
    n_right = emission_constant(code->emission, right->constant);
    if (n_left > 0 && n_left < width && n_left + n_right == width) {
        node->in[0] = left->in[0];
        node->n_in = 1;
        node->rotation = (uint8_t)n_left;
    }
}

/* ------------------------------------------------------------------ the whole */

bool nest_combine(struct nest_code *code)
{
    bool turns = false;

    for (size_t i = 0; i < code->n_blocks && code->shape.turns; i++) {
        turns = turn_rows(code, &code->blocks[i]) || turns;
    }
    for (size_t i = 0; i < code->n_blocks; i++) {
        join_gathers(code, &code->blocks[i]);
    }
    for (size_t i = 0; i < code->n_nodes; i++) {
        take_count(code, &code->nodes[i]);
    }
    for (size_t i = 0; i < code->n_nodes; i++) {
        find_rotation(code, &code->nodes[i]);
        change_factors(code, &code->nodes[i]);
        fuse_product(code, &code->nodes[i]);
    }
    fuse_choices(code);
    for (size_t i = 0; i < code->n_blocks; i++) {
        join_stores(code, &code->blocks[i]);
    }
    return turns;
}
