/* lower_product.c - products in loops. A body's call of MatMul (`@`, numpy.matmul) or Gemm whose second matrix does not change in
 * the loop becomes a prepared product (functions/products/prepared_product.h); where its first operand is an item of a scan
 * input, it leaves the body, and is computed for a block of runs at once; where that and the result are only stacked, it is one
 * product behind the loop. See lowered.h for all three. */
#include "mdf_c/lower/lowering.h"
#include "mdf_c/lowered/lowered_reads.h"

#include "functions/kernel/setting.h"
#include "functions/products/gemm/gemm.h"

#include <string.h>

enum {
    MOST_ROWS = 64,            /* of more, the kernel packs both operands */
    LARGEST_BLOCK = 32 * 1024, /* bytes of results that are computed ahead: they stay in a cache */
    SMALL_BLOCK = 8 * 1024,    /* so many are always worth it */
    LEAST_SHARE = 16           /* else they are a small share of what the loop goes through */
};

/* ------------------------------------------------------------------ which calls */

static bool is_real(const struct mdf_lowered_value *value, uint8_t dtype)
{
    return value->form.kind == MDF_KIND_TENSOR && value->form.dtype == dtype && value->open_axes == 0 && mdf_dtype_is_real(dtype);
}

static bool is_one(const struct mdf_lowered_op *op, const char *name)
{
    const double *number = mdf_setting_field(op->operator, op->settings, name);

    return number != NULL && *number >= 1 && *number <= 1;
}

static bool is_turned(const struct mdf_lowered_op *op, const char *name)
{
    const int64_t *number = mdf_setting_field(op->operator, op->settings, name);

    return number != NULL && *number != 0;
}

/* Gemm's third input is a row of n elements that stands for all rows; or it has none. */
static bool takes_start(const struct mdf_lowered *lowered, const struct mdf_lowered_call *call, size_t n, uint8_t dtype,
                        struct mdf_lowered_product *product)
{
    const struct mdf_lowered_value *row;

    if (call->n_inputs < 3 || call->inputs[2] == MDF_LOWERED_NONE) {
        return true;
    }
    row = &lowered->values[call->inputs[2]];
    product->start = call->inputs[2];
    return is_real(row, dtype) && row->form.length == n && row->form.rank > 0 &&
           mdf_value_shape(&row->form)[row->form.rank - 1] == (int64_t)n;
}

/* Of arrays of one real type, of which the second is a matrix, MatMul, "@" and numpy's dot are the same. */
static bool is_matmul(const struct mdf_lowered_op *op)
{
    return op->operator!= NULL &&(op->operator->form == MDF_FORM_MATMUL || op->operator->form == MDF_FORM_DOT);
}

/* What a call of MatMul or Gemm computes; false: something that is left to the kernel. */
static bool describe(const struct mdf_lowered *lowered, const struct mdf_lowered_op *op, struct mdf_lowered_product *product)
{
    const struct mdf_lowered_call *call = op->of.call;
    bool is_gemm = op->operator!= NULL && op->operator->form == MDF_FORM_GEMM, turns = false;
    const struct mdf_lowered_value *a, *b;
    size_t n, k;

    *product = (struct mdf_lowered_product){.start = MDF_LOWERED_NONE};
    if ((!is_gemm && !is_matmul(op)) || call->n_inputs < 2 || call->inputs[0] == MDF_LOWERED_NONE ||
        call->inputs[1] == MDF_LOWERED_NONE || call->n_outputs != 1 || call->outputs[0] == MDF_LOWERED_NONE) {
        return false;
    }
    product->a = call->inputs[0];
    product->b = call->inputs[1];
    product->out = call->outputs[0];
    a = &lowered->values[product->a];
    b = &lowered->values[product->b];
    if (!is_real(a, b->form.dtype) || !is_real(b, b->form.dtype) || b->form.rank != 2 || a->form.rank == 0 ||
        b->form.length == 0) {
        return false;
    }
    turns = is_gemm && is_turned(op, "transB");
    k = (size_t)mdf_value_shape(&b->form)[turns ? 1 : 0];
    n = (size_t)mdf_value_shape(&b->form)[turns ? 0 : 1];
    if (is_gemm && (!is_one(op, "alpha") || !is_one(op, "beta") || is_turned(op, "transA") ||
                    !takes_start(lowered, call, n, b->form.dtype, product))) {
        return false;
    }
    product->b_row = turns ? 1 : (int64_t)n;
    product->b_column = turns ? (int64_t)k : 1;
    product->n_rows = a->form.length / k;
    return product->n_rows <= MOST_ROWS && is_real(&lowered->values[product->out], b->form.dtype) &&
           mdf_prepare_product(&product->prepared, (mdf_dtype)b->form.dtype, product->n_rows, n, k, !turns);
}

/* ------------------------------------------------------------------ products of a loop */

static size_t count_calls(const struct mdf_lowered_region *region)
{
    size_t n = 0;

    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        n += op->code == MDF_LOWERED_CALL;
        n += op->code == MDF_LOWERED_IF ? count_calls(&op->of.branches->then) + count_calls(&op->of.branches->otherwise) : 0;
    }
    return n;
}

/* Whether a value is the same in all runs of a loop whose body is that deep; `facts` say of a state what it is behind the loop.
 */
static bool stays(const struct lowering *lowering, const struct mdf_lowered_loop *loop, mdf_lowered_id id, size_t depth)
{
    return !mdf_lowered_is_state(loop, id) && lowering->facts[id].depth < depth;
}

static bool add_products(struct lowering *lowering, struct mdf_lowered_loop *loop, const struct mdf_lowered_region *region,
                         size_t depth)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];
        struct mdf_lowered_product found, *product;

        if (op->code == MDF_LOWERED_IF && (!add_products(lowering, loop, &op->of.branches->then, depth) ||
                                           !add_products(lowering, loop, &op->of.branches->otherwise, depth))) {
            return false;
        }
        if (op->code != MDF_LOWERED_CALL || !describe(lowering->lowered, op, &found) || !stays(lowering, loop, found.b, depth)) {
            continue;
        }
        product = mdf_arena_allocate(&lowering->lowered->arena, sizeof *product);
        if (product == NULL) {
            return lowering_out_of_memory(lowering);
        }
        *product = found;
        op->of.call->product = product;
        lowering->facts[found.out].is_product = true;
        loop->products[loop->n_products++] = product;
    }
    return true;
}

/* ------------------------------------------------------------------ ahead */

/* The rows whose items have the elements of a value: the items themselves, or copies of them. */
static const struct mdf_lowered_rows *rows_of(const struct mdf_lowered_loop *loop, mdf_lowered_id id)
{
    for (size_t i = loop->body.n_ops; i-- > 0;) {
        if (loop->body.ops[i].code == MDF_LOWERED_COPY && loop->body.ops[i].out == id) {
            id = loop->body.ops[i].in[0];
        }
    }
    for (size_t i = 0; i < loop->n_rows; i++) {
        if (loop->rows[i].parameter == id) {
            return &loop->rows[i];
        }
    }
    return NULL;
}

static bool may_leave_body(const struct lowering *lowering, const struct mdf_lowered_loop *loop,
                           const struct mdf_lowered_product *product, size_t depth)
{
    for (size_t i = 0; i < loop->n_states; i++) {
        if (loop->states[i].next == product->out) {
            return false;
        }
    }
    return (product->start == MDF_LOWERED_NONE || stays(lowering, loop, product->start, depth)) &&
           rows_of(loop, product->a) != NULL;
}

/* Runs whose results are computed ahead, of n_bytes each: no more memory than a small share of what the loop goes through. */
static size_t choose_block(const struct mdf_lowered_loop *loop, size_t n_bytes)
{
    size_t most = loop->n_padded > 0 ? loop->n_padded : loop->n_runs;
    size_t small = SMALL_BLOCK / n_bytes, large = LARGEST_BLOCK / n_bytes, share = most / LEAST_SHARE;

    share = share < large ? share : large;
    share = share > small ? share : small;
    return share < most ? share : most;
}

static void compute_ahead(struct lowering *lowering, struct mdf_lowered_loop *loop, size_t depth)
{
    size_t n_bytes = 0, n = 0;

    for (size_t i = 0; i < loop->body.n_ops; i++) {
        const struct mdf_lowered_op *op = &loop->body.ops[i];
        const struct mdf_lowered_product *product = op->code == MDF_LOWERED_CALL ? op->of.call->product : NULL;

        if (product != NULL && may_leave_body(lowering, loop, product, depth)) {
            n_bytes += lowering->lowered->values[product->out].form.length * mdf_dtype_size(product->prepared.dtype);
        }
    }
    if (n_bytes == 0 || choose_block(loop, n_bytes) < 2) {
        return;
    }
    loop->block_runs = choose_block(loop, n_bytes);
    for (size_t i = 0; i < loop->body.n_ops; i++) {
        const struct mdf_lowered_op *op = &loop->body.ops[i];
        struct mdf_lowered_product *product = op->code == MDF_LOWERED_CALL ? op->of.call->product : NULL;

        if (product != NULL && may_leave_body(lowering, loop, product, depth)) {
            product->rows = rows_of(loop, product->a);
            lowering->lowered->values[product->out].place = MDF_LOWERED_PARAMETER;
            lowering->facts[product->out].region = NULL;
        } else {
            loop->body.ops[n++] = *op;
        }
    }
    loop->body.n_ops = n;
}

/* ------------------------------------------------------------------ behind */

/* What a value is a copy of, where an op of the body makes that, or it itself. */
static mdf_lowered_id original_of(const struct mdf_lowered_region *body, mdf_lowered_id id)
{
    for (size_t i = body->n_ops; i-- > 0;) {
        if (body->ops[i].code == MDF_LOWERED_COPY && body->ops[i].out == id) {
            id = body->ops[i].in[0];
        }
    }
    return id;
}

/* The only stack that has a value as its items, which nothing else looks at; NULL: it is not so. */
static struct mdf_lowered_stack *only_stack_of(const struct mdf_lowered_loop *loop, mdf_lowered_id id)
{
    struct mdf_lowered_stack *found = NULL;

    for (size_t i = 0; i < loop->n_states; i++) {
        if (loop->states[i].next == id) {
            return NULL;
        }
    }
    for (size_t i = 0; i < loop->body.n_ops; i++) {
        if (mdf_lowered_reads(&loop->body.ops[i], id)) {
            return NULL;
        }
    }
    for (size_t i = 0; i < loop->n_stacks; i++) {
        if (loop->stacks[i].item == id) {
            if (found != NULL) {
                return NULL;
            }
            found = &loop->stacks[i];
        }
    }
    return found;
}

/* A stack of the same runs, in the same order, of the rows that a product multiplies; NULL: there is none. */
static const struct mdf_lowered_stack *stack_of_rows(const struct lowering *lowering, const struct mdf_lowered_loop *loop,
                                                     const struct mdf_lowered_product *product,
                                                     const struct mdf_lowered_stack *results)
{
    mdf_lowered_id rows = original_of(&loop->body, product->a);

    for (size_t i = 0; i < loop->n_stacks; i++) {
        const struct mdf_lowered_stack *stack = &loop->stacks[i];

        if (stack->item == rows && !stack->is_behind && stack->is_reversed == results->is_reversed &&
            stack->item_bytes == lowering_example(lowering, product->a)->length * mdf_dtype_size(product->prepared.dtype)) {
            return stack;
        }
    }
    return NULL;
}

static bool may_be_put(const struct mdf_lowered_loop *loop)
{
    size_t i;

    for (i = 0; i < loop->n_stacks && !loop->stacks[i].is_put && !loop->stacks[i].appends; i++) {
    }
    return i < loop->n_stacks;
}

/* Products that are only stacked, of rows that are stacked too, are one product behind the loop. */
static void compute_behind(struct lowering *lowering, struct mdf_lowered_loop *loop, size_t depth)
{
    size_t n = 0;

    if (loop->n_runs == SIZE_MAX || loop->n_runs == 0 || loop->condition != MDF_LOWERED_NONE || may_be_put(loop)) {
        return;
    }
    for (size_t i = 0; i < loop->body.n_ops; i++) {
        const struct mdf_lowered_op *op = &loop->body.ops[i];
        struct mdf_lowered_product *product = op->code == MDF_LOWERED_CALL ? op->of.call->product : NULL;
        struct mdf_lowered_stack *results = product != NULL ? only_stack_of(loop, product->out) : NULL;
        const struct mdf_lowered_stack *rows = results != NULL ? stack_of_rows(lowering, loop, product, results) : NULL;

        if (rows == NULL || (product->start != MDF_LOWERED_NONE && !stays(lowering, loop, product->start, depth))) {
            loop->body.ops[n++] = *op;
            continue;
        }
        lowering->facts[product->out].is_product = false;
        lowering->facts[results->stack].is_watched = lowering->facts[rows->stack].is_watched = true;
        results->is_behind = product->is_behind = true;
        results->item = rows->item;
        product->a = rows->stack;
        product->out = results->stack;
        product->n_rows *= loop->n_runs;
    }
    loop->body.n_ops = n;
}

bool lowering_multiplies_items(const struct lowering *lowering, const struct mdf_lowered_loop *loop, mdf_lowered_id item)
{
    size_t depth = lowering->facts[item].depth;

    for (size_t i = 0; i < loop->body.n_ops && !lowering->is_for_source; i++) {
        const struct mdf_lowered_op *op = &loop->body.ops[i];
        const struct mdf_lowered_rows *rows;
        struct mdf_lowered_product found;

        if (op->code == MDF_LOWERED_CALL && describe(lowering->lowered, op, &found) && stays(lowering, loop, found.b, depth) &&
            may_leave_body(lowering, loop, &found, depth)) {
            rows = rows_of(loop, found.a);
            if (rows->parameter == item) {
                return true;
            }
        }
    }
    return false;
}

static bool find_products_of(struct lowering *lowering, struct mdf_lowered_loop *loop, size_t depth)
{
    size_t n = count_calls(&loop->body);

    if (n == 0) {
        return true;
    }
    loop->products = mdf_arena_array(&lowering->lowered->arena, n, sizeof *loop->products);
    if (loop->products == NULL) {
        return lowering_out_of_memory(lowering);
    }
    if (!add_products(lowering, loop, &loop->body, depth)) {
        return false;
    }
    if (loop->n_runs != SIZE_MAX || loop->n_padded > 0) {
        compute_ahead(lowering, loop, depth);
    }
    compute_behind(lowering, loop, depth);
    return true;
}

static bool find_products(struct lowering *lowering, const struct mdf_lowered_region *region, size_t depth)
{
    const struct mdf_lowered_region *inner;
    bool done = true;

    for (size_t i = 0; done && i < region->n_ops; i++) {
        for (size_t j = 0; done && (inner = mdf_lowered_inner(&region->ops[i], j)) != NULL; j++) {
            done = find_products(lowering, inner, depth + 1);
        }
        done = done && (region->ops[i].code != MDF_LOWERED_LOOP || find_products_of(lowering, region->ops[i].of.loop, depth + 1));
    }
    return done;
}

bool lowering_find_products(struct lowering *lowering)
{
    return lowering->is_for_source || lowering->request == NULL || lowering->request->keeps_calls ||
           find_products(lowering, &lowering->lowered->region, 0);
}
