/* lower_columns.c - states that only grow, of which nests of the loop's body fold each row, and the rows are short: distances to
 * all rows so far, products with them. Their rows are kept once more by columns (struct mdf_lowered_stack), and the nests, whose
 * sums are written out (lower_unrolled.c), read these: vectors go along the rows. See lowering.h. */
#include "functions/moves/indexing.h"
#include "mdf_c/lower/lowering.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/nest.h"

#include <string.h>

enum { FEWEST_RUNS = 16 }; /* where their number is known */

/* Of one stack. */
struct columns {
    struct lowering *lowering;
    const struct mdf_lowered_region *body;
    struct mdf_lowered_stack *stack;
    size_t n; /* of a row's elements */
};

/* The call that looks at the stack and has `id` as its first output; NULL: it is none of the stack's. */
static struct mdf_lowered_call *find_look(const struct columns *columns, mdf_lowered_id id)
{
    for (size_t i = 0; i < columns->body->n_ops; i++) {
        const struct mdf_lowered_op *op = &columns->body->ops[i];

        if (op->code == MDF_LOWERED_CALL && op->of.call->stack == columns->stack && op->of.call->outputs[0] == id) {
            return op->of.call;
        }
    }
    return NULL;
}

/* Whether a load goes through all rows along the open axis of its nest, and each row along the innermost one. */
static bool goes_through_rows(const struct columns *columns, const struct mdf_lowered_nest *nest,
                              const struct mdf_nest_step *step)
{
    size_t innermost = nest->n_axes - 1;

    for (size_t axis = 0; axis < nest->n_axes; axis++) {
        int64_t stride = axis == nest->open_axis ? (int64_t)columns->n : axis == innermost ? 1 : 0;

        if (step->view.strides[axis] != stride) {
            return false;
        }
    }
    return step->view.at == MDF_NEST_NONE && step->view.first == 0 && nest->extents[innermost] == columns->n;
}

/* Whether a nest reads the stack, and nothing else of it than its rows. */
static bool reads_rows(const struct columns *columns, const struct mdf_lowered_nest *nest)
{
    bool any = false;

    if (!nest->is_open || nest->n_axes < 2 || nest->open_axis != nest->n_axes - 2) {
        return false;
    }
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        if (step->kind == MDF_NEST_LOAD && find_look(columns, step->view.id) != NULL) {
            if (!goes_through_rows(columns, nest, step)) {
                return false;
            }
            any = true;
        }
    }
    return any;
}

/* An array of one open axis, of the stack's type. */
static mdf_lowered_id add_array(const struct columns *columns, int64_t n)
{
    struct lowering *lowering = columns->lowering;
    const struct mdf_value *whole = &lowering->lowered->values[columns->stack->stack].form;
    struct mdf_value example = {0}, other = {0};
    mdf_lowered_id id = MDF_LOWERED_NONE;
    int64_t more = n + 1;
    bool is_made = mdf_value_make_tensor(lowering->memory, &example, (mdf_dtype)whole->dtype, 1, &n) != NULL &&
                   mdf_value_make_tensor(lowering->memory, &other, (mdf_dtype)whole->dtype, 1, &more) != NULL;

    if (is_made) {
        memset(example.data, 0, (size_t)n * mdf_dtype_size((mdf_dtype)whole->dtype));
        memset(other.data, 0, (size_t)more * mdf_dtype_size((mdf_dtype)whole->dtype));
        example.strength = other.strength = whole->strength;
        id = lowering_add_value(lowering, MDF_LOWERED_RESULT, &example);
        id = id != MDF_LOWERED_NONE && lowering_open(lowering, id, &other) ? id : MDF_LOWERED_NONE;
    } else {
        lowering_out_of_memory(lowering);
    }
    mdf_value_clear(lowering->memory, &example);
    mdf_value_clear(lowering->memory, &other);
    return id;
}

/* The stack has columns, and the calls that look at it room to show them. */
static bool begin_columns(struct columns *columns)
{
    struct lowering *lowering = columns->lowering;

    columns->stack->columns = add_array(columns, 2);
    if (columns->stack->columns == MDF_LOWERED_NONE) {
        return false;
    }
    lowering->facts[columns->stack->columns].is_nested = true;
    for (size_t i = 0; i < columns->body->n_ops; i++) {
        struct mdf_lowered_call *call = columns->body->ops[i].code == MDF_LOWERED_CALL ? columns->body->ops[i].of.call : NULL;
        mdf_lowered_id *outputs;

        if (call == NULL || call->stack != columns->stack) {
            continue;
        }
        outputs = mdf_arena_array(&lowering->lowered->arena, columns->n + 1, sizeof *outputs);
        if (outputs == NULL) {
            return lowering_out_of_memory(lowering);
        }
        outputs[0] = call->outputs[0];
        for (size_t k = 1; k <= columns->n; k++) {
            outputs[k] = MDF_LOWERED_NONE;
        }
        call->outputs = outputs;
        call->n_outputs = call->call.n_outputs = columns->n + 1;
    }
    columns->stack->has_columns = true;
    return true;
}

/* The value of a column, as a look shows it. */
static mdf_lowered_id column_of(const struct columns *columns, const struct mdf_lowered_call *look, size_t column)
{
    mdf_lowered_id *id = &look->outputs[column + 1];

    if (*id == MDF_LOWERED_NONE) {
        *id = add_array(columns, 2);
        if (*id != MDF_LOWERED_NONE) {
            columns->lowering->facts[*id].is_view = true;
        }
    }
    return *id;
}

/* What is loaded of the rows, of which each index has its own load now, is loaded of the columns. */
static bool read_columns(const struct columns *columns, struct mdf_lowered_nest *nest)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        struct mdf_nest_view *view = &nest->steps[i].view;
        const struct mdf_lowered_call *look = nest->steps[i].kind == MDF_NEST_LOAD ? find_look(columns, view->id) : NULL;

        if (look == NULL) {
            continue;
        }
        view->id = column_of(columns, look, (size_t)view->first);
        if (view->id == MDF_LOWERED_NONE) {
            return false;
        }
        view->first = 0;
        view->strides[nest->open_axis] = 1;
    }
    return true;
}

static bool visit_nests(struct columns *columns, const struct mdf_lowered_region *region)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        struct mdf_lowered_op *op = &region->ops[i];
        const struct mdf_lowered_region *inner;

        if (op->code == MDF_LOWERED_NEST && reads_rows(columns, op->of.nest)) {
            struct mdf_lowered_nest *nest = lowering_unroll_columns(columns->lowering, op->of.nest);

            if (nest != NULL && ((!columns->stack->has_columns && !begin_columns(columns)) || !read_columns(columns, nest))) {
                return false;
            }
            op->of.nest = nest == NULL ? op->of.nest : nest;
        }
        for (size_t j = 0; (inner = mdf_lowered_inner(op, j)) != NULL; j++) {
            if (!visit_nests(columns, inner)) {
                return false;
            }
        }
    }
    return !lowering_has_failed(columns->lowering);
}

/* Whether rows of a stack may have columns: of whole elements that are moved by themselves. */
static bool may_have_columns(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop,
                             const struct mdf_lowered_stack *stack)
{
    const struct mdf_value *form = &lowered->values[stack->stack].form;

    return stack->is_put && stack->appends && loop->n_runs >= FEWEST_RUNS &&
           (mdf_dtype_size((mdf_dtype)form->dtype) == 4 || form->dtype == MDF_DTYPE_FLOAT64 || form->dtype == MDF_DTYPE_INT64);
}

static bool visit_loops(struct lowering *lowering, const struct mdf_lowered_region *region)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];
        const struct mdf_lowered_region *inner;

        for (size_t j = 0; op->code == MDF_LOWERED_LOOP && j < op->of.loop->n_stacks; j++) {
            struct mdf_lowered_stack *stack = &op->of.loop->stacks[j];
            const struct mdf_value *form = &lowering->lowered->values[stack->stack].form;
            struct columns columns = {lowering, &op->of.loop->body, stack,
                                      mdf_axes_product(mdf_value_shape(form), stack->axis + 1u, form->rank)};

            if (may_have_columns(lowering->lowered, op->of.loop, stack) && !visit_nests(&columns, columns.body)) {
                return false;
            }
        }
        for (size_t j = 0; (inner = mdf_lowered_inner(op, j)) != NULL; j++) {
            if (!visit_loops(lowering, inner)) {
                return false;
            }
        }
    }
    return true;
}

bool lowering_add_columns(struct lowering *lowering)
{
    return visit_loops(lowering, &lowering->lowered->region);
}
