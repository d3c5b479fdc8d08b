/* print_lowered.c - see print_lowered.h. */
#include "mdf_c/lowered/print_lowered.h"

#include "mdf_c/code/code.h"
#include "mdf_c/lowered/loop_plan.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/nest.h"
#include "mdf_c/tensor/print_value.h"

#include <inttypes.h>

enum { STEP = 2 };

struct printing {
    struct mdf_text *text;
    const struct mdf_lowered *lowered;
};

static const char *const code_names[] = {
#define NAME_OF(code, name, bails_out) [MDF_LOWERED_##code] = name,
    MDF_LOWERED_ELEMENT_LIST(NAME_OF) MDF_LOWERED_WHOLE_LIST(NAME_OF)};

/* ------------------------------------------------------------------ values */

static void print_id(struct mdf_text *text, mdf_lowered_id id)
{
    if (id == MDF_LOWERED_NONE) {
        mdf_text_append_string(text, "-");
    } else {
        mdf_text_printf(text, "v%u", (unsigned)id);
    }
}

static void print_ids(struct mdf_text *text, const mdf_lowered_id *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        mdf_text_append_string(text, i > 0 ? ", " : "");
        print_id(text, ids[i]);
    }
}

/* "v3 float64[10]" */
static void print_value(struct mdf_text *text, const struct mdf_lowered *lowered, mdf_lowered_id id)
{
    print_id(text, id);
    if (id != MDF_LOWERED_NONE) {
        mdf_text_append_string(text, " ");
        mdf_value_print_form(text, &lowered->values[id].form);
    }
}

static void print_origin(struct mdf_text *text, const struct mdf_origin *origin)
{
    if (origin != NULL && origin->path != NULL) {
        mdf_text_append_string(text, "  ; ");
        mdf_text_append_visible(text, origin->path);
    }
}

/* ------------------------------------------------------------------ ops */

static void print_element_op(struct mdf_text *text, const struct mdf_lowered *lowered, const struct mdf_lowered_op *op)
{
    bool is_named = op->code == MDF_LOWERED_FUNCTION || op->code == MDF_LOWERED_ELEMENTS;

    print_value(text, lowered, op->out);
    mdf_text_printf(text, " = %s", code_names[op->code]);
    if (is_named && op->operator!= NULL) {
        mdf_text_printf(text, " %s", op->operator->name);
    }
    mdf_text_append_string(text, " ");
    print_ids(text, op->in, op->n_in);
}

/* in[1] into in[0] at in[2]. */
static void print_put(struct mdf_text *text, const struct mdf_lowered *lowered, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_put *put = op->of.put;

    print_value(text, lowered, op->out);
    mdf_text_printf(text, " = put v%u in v%u at v%u by ", (unsigned)op->in[1], (unsigned)op->in[0], (unsigned)op->in[2]);
    for (size_t i = 0; i < put->n_indices; i++) {
        mdf_text_printf(text, "%s%" PRId64 " of %" PRId64, i > 0 ? ", " : "", put->steps[i], put->limits[i]);
    }
    mdf_text_append_string(text, put->is_in_place ? ", in place" : "");
    mdf_text_append_string(text, put->is_made_there ? ", made there" : "");
}

static void print_call(struct mdf_text *text, const struct mdf_lowered *lowered, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_call *call = op->of.call;

    for (size_t i = 0; i < call->n_outputs; i++) {
        if (i == 0 || call->stack == NULL || call->outputs[i] != MDF_LOWERED_NONE) {
            mdf_text_append_string(text, i > 0 ? ", " : "");
            print_value(text, lowered, call->outputs[i]);
        }
    }
    mdf_text_printf(text, " = %s %s(",
                    call->product != NULL ? "product"
                    : call->draw != NULL  ? "draw"
                    : call->routine != NULL ? "routine"
                    : call->stack == NULL ? "call"
                                          : "stack",
                    op->operator!= NULL ? op->operator->name : "");
    print_ids(text, call->inputs, call->n_inputs);
    mdf_text_append_string(text, ")");
}

static void print_bound(struct mdf_text *text, const struct mdf_lowered_loop *loop)
{
    if (loop->n_runs != SIZE_MAX) {
        mdf_text_printf(text, " %zu runs", loop->n_runs);
    } else if (loop->trip_count != MDF_LOWERED_NONE) {
        mdf_text_printf(text, " v%u runs", (unsigned)loop->trip_count);
    }
    if (loop->n_padded > 0) {
        mdf_text_printf(text, ", padded to %zu", loop->n_padded);
    }
    if (loop->n_lanes > 0) {
        mdf_text_printf(text, ", %zu of the model's in each", loop->n_lanes);
    }
    if (loop->concurrent != NULL) {
        mdf_text_append_string(text, loop->concurrent->loops[0] == loop ? ", while the next one runs"
                                     : loop->concurrent->waits          ? ", behind the one before, item by item"
                                                                        : ", while the one before runs");
    }
    if (loop->condition != MDF_LOWERED_NONE) {
        mdf_text_printf(text, " while v%u, then v%u", (unsigned)loop->condition, (unsigned)loop->next_condition);
    }
    if (loop->limit != 0) {
        mdf_text_printf(text, " at most %" PRIu64, loop->limit);
    }
}

static void print_axes(struct mdf_text *text, const struct mdf_lowered_nest *nest)
{
    for (size_t axis = 0; axis < nest->n_axes; axis++) {
        mdf_text_append_string(text, axis > 0 ? ", " : " ");
        if (nest->is_open && axis == nest->open_axis) {
            mdf_text_append_string(text, "n");
        } else {
            mdf_text_printf(text, "%zu", nest->extents[axis]);
        }
    }
}

void mdf_lowered_op_print(struct mdf_text *text, const struct mdf_lowered *lowered, const struct mdf_lowered_op *op)
{
    switch ((enum mdf_lowered_code)op->code) {
    MDF_LOWERED_CASES_OF_ELEMENTS:
        (op->code == MDF_LOWERED_PUT ? print_put : print_element_op)(text, lowered, op);
        break;
    case MDF_LOWERED_CALL:
        print_call(text, lowered, op);
        break;
    case MDF_LOWERED_NEST:
        mdf_text_append_string(text, "nest over");
        if (op->of.nest->n_axes == 0) {
            mdf_text_append_string(text, " one point");
        }
        print_axes(text, op->of.nest);
        break;
    case MDF_LOWERED_IF:
        mdf_text_append_string(text, "if ");
        print_id(text, op->of.branches->condition);
        break;
    case MDF_LOWERED_LOOP:
        mdf_text_append_string(text, "loop");
        print_bound(text, op->of.loop);
        break;
    }
}

/* ------------------------------------------------------------------ nests */

static void print_view(struct mdf_text *text, const struct mdf_nest_step *step)
{
    mdf_text_printf(text, " v%u", (unsigned)step->view.id);
    if (step->view.first != 0) {
        mdf_text_printf(text, " from %" PRId64, step->view.first);
    }
    for (size_t axis = 0; axis < step->level; axis++) {
        mdf_text_printf(text, "%s%" PRId64, axis == 0 ? " by " : ", ", step->view.strides[axis]);
    }
    if (step->view.at != MDF_NEST_NONE) {
        mdf_text_printf(text, " at r%u by %" PRId64 " of %" PRId64, (unsigned)step->view.at, step->view.at_stride,
                        step->view.at_limit);
    }
}

static void print_operands(struct mdf_text *text, const struct mdf_nest_step *step)
{
    for (size_t i = 0; i < step->n_in; i++) {
        mdf_text_printf(text, "%s r%u", i > 0 ? "," : "", (unsigned)step->in[i]);
    }
}

static void print_step(struct mdf_text *text, const struct mdf_nest_step *step, size_t i)
{
    static const char *const folds[N_MDF_NEST_FOLDS] = {"sum",          "product",     "maximum",       "minimum",
                                                        "largest",      "smallest",    "first_maximum", "first_minimum",
                                                        "last_maximum", "last_minimum"};
    static const char *const orders[N_MDF_NEST_ORDERS] = {"", " of blocks", " pairwise", " with a rest", " in blocks of 256"};
    bool is_named = step->code == MDF_LOWERED_ELEMENTS && step->operator!= NULL;

    if (step->kind == MDF_NEST_STORE) {
        mdf_text_printf(text, "store@%u", (unsigned)step->level);
        print_operands(text, step);
        mdf_text_append_string(text, " in");
        print_view(text, step);
        return;
    }
    mdf_text_printf(text, "r%zu@%u %s = ", i, (unsigned)step->level, mdf_dtype_name((mdf_dtype)step->dtype));
    switch ((enum mdf_nest_kind)step->kind) {
    case MDF_NEST_LOAD:
        mdf_text_append_string(text, "load");
        print_view(text, step);
        break;
    case MDF_NEST_ELEMENT:
        mdf_text_printf(text, "%s%s%s", code_names[step->code], is_named ? " " : "",
                        is_named ? step->operator->name : "");
        print_operands(text, step);
        break;
    case MDF_NEST_FOLD:
        mdf_text_printf(text, "%s%s r%u", step->is_fused ? "fused " : "", folds[step->fold], (unsigned)step->in[0]);
        if (step->lanes > 1) {
            mdf_text_printf(text, " in %u lanes", (unsigned)step->lanes);
        }
        mdf_text_append_string(text, orders[step->order]);
        if (step->has_start) {
            mdf_text_printf(text, " from r%u", (unsigned)step->in[1]);
        }
        break;
    case MDF_NEST_STORE:
        break;
    }
}

/* Steps that were made of another instruction than the nest say of which. */
static void print_steps(struct mdf_text *text, const struct mdf_lowered_op *op, int indent)
{
    const struct mdf_lowered_nest *nest = op->of.nest;

    for (size_t i = 0; i < nest->n_steps; i++) {
        mdf_text_printf(text, "%*s", indent, "");
        print_step(text, &nest->steps[i], i);
        if (nest->steps[i].origin != NULL && (op->origin == NULL || nest->steps[i].origin->path != op->origin->path)) {
            print_origin(text, nest->steps[i].origin);
        }
        mdf_text_append_string(text, "\n");
    }
}

/* ------------------------------------------------------------------ regions */

static void print_region(const struct printing *printing, const struct mdf_lowered_region *region, int indent);

static void print_merges(const struct printing *printing, const struct mdf_lowered_if *branches, int indent)
{
    for (size_t i = 0; i < branches->n_merges; i++) {
        const struct mdf_lowered_merge *merge = &branches->merges[i];

        mdf_text_printf(printing->text, "%*s", indent, "");
        print_value(printing->text, printing->lowered, merge->out);
        mdf_text_printf(printing->text, " = v%u or v%u\n", (unsigned)merge->then, (unsigned)merge->otherwise);
    }
}

static void print_branches(const struct printing *printing, const struct mdf_lowered_if *branches, int indent)
{
    print_region(printing, &branches->then, indent + STEP);
    if (branches->otherwise.n_ops > 0) {
        mdf_text_printf(printing->text, "%*selse\n", indent, "");
        print_region(printing, &branches->otherwise, indent + STEP);
    }
    print_merges(printing, branches, indent);
}

static void print_parameter(const struct printing *printing, const char *what, mdf_lowered_id id, int indent)
{
    if (id != MDF_LOWERED_NONE) {
        mdf_text_printf(printing->text, "%*s%s ", indent, "", what);
        print_value(printing->text, printing->lowered, id);
        mdf_text_append_string(printing->text, "\n");
    }
}

static const char *storage_text(const struct mdf_lowered *lowered, const struct mdf_lowered_state *state)
{
    static const char *const texts[] = {[MDF_LOWERED_TWO_BUFFERS] = ", two buffers",
                                        [MDF_LOWERED_IN_PLACE] = ", in place",
                                        [MDF_LOWERED_IN_STACK] = ", in its stack"};

    return lowered->values[state->parameter].is_scalar ? "" : texts[state->storage];
}

static void print_states(const struct printing *printing, const struct mdf_lowered_loop *loop, int indent)
{
    for (size_t i = 0; i < loop->n_states; i++) {
        const struct mdf_lowered_state *state = &loop->states[i];

        mdf_text_printf(printing->text, "%*sstate ", indent, "");
        print_value(printing->text, printing->lowered, state->parameter);
        mdf_text_printf(printing->text, " = v%u, then v%u%s", (unsigned)state->initial, (unsigned)state->next,
                        storage_text(printing->lowered, state));
        if (state->takes_over) {
            mdf_text_printf(printing->text, ", takes over v%u", (unsigned)state->other);
        } else if (state->begins_made && state->storage == MDF_LOWERED_TWO_BUFFERS) {
            mdf_text_printf(printing->text, ", exchanged for v%u", (unsigned)state->made);
        }
        mdf_text_append_string(printing->text, "\n");
    }
    for (size_t i = 0; i < loop->n_rows; i++) {
        mdf_text_printf(printing->text, "%*srow ", indent, "");
        print_value(printing->text, printing->lowered, loop->rows[i].parameter);
        mdf_text_printf(printing->text, " of v%u%s\n", (unsigned)loop->rows[i].source,
                        loop->rows[i].is_reversed ? ", the last first" : "");
    }
}

static void print_loop(const struct printing *printing, const struct mdf_lowered_loop *loop, int indent)
{
    print_parameter(printing, "number", loop->number, indent + STEP);
    print_parameter(printing, "goes on", loop->is_going_on, indent + STEP);
    print_states(printing, loop, indent + STEP);
    for (size_t i = 0; i < loop->n_products; i++) {
        const struct mdf_lowered_product *product = loop->products[i];

        mdf_text_printf(printing->text, "%*sproduct v%u = v%u v%u%s\n", indent + STEP, "", (unsigned)product->out,
                        (unsigned)product->a, (unsigned)product->b,
                        product->rows != NULL ? ", computed ahead"
                        : product->is_behind  ? ", computed behind"
                                              : "");
    }
    print_region(printing, &loop->body, indent + STEP);
    for (size_t i = 0; i < loop->n_stacks; i++) {
        mdf_text_printf(printing->text, "%*sstack ", indent + STEP, "");
        print_value(printing->text, printing->lowered, loop->stacks[i].stack);
        if (!loop->stacks[i].is_behind) {
            mdf_text_printf(printing->text, " of v%u", (unsigned)loop->stacks[i].item);
        }
        if (loop->stacks[i].appends) {
            mdf_text_printf(printing->text, ", behind v%u", (unsigned)loop->stacks[i].initial);
        }
        if (loop->stacks[i].has_columns) {
            mdf_text_printf(printing->text, ", by columns in v%u", (unsigned)loop->stacks[i].columns);
        }
        mdf_text_printf(printing->text, "%s%s\n", loop->stacks[i].is_reversed ? ", from the end" : "",
                        mdf_lowered_held_state(loop, &loop->stacks[i]) != NULL      ? ", where the state lies"
                        : mdf_lowered_holding_stack(loop, &loop->stacks[i]) != NULL ? ", behind the first state there"
                        : loop->stacks[i].is_direct                                 ? ", written there"
                        : loop->stacks[i].is_behind                                 ? ", computed behind"
                                                                                    : "");
    }
}

static void print_inner(const struct printing *printing, const struct mdf_lowered_op *op, int indent)
{
    switch ((enum mdf_lowered_code)op->code) {
    MDF_LOWERED_CASES_OF_ELEMENTS:
    case MDF_LOWERED_CALL:
        break;
    case MDF_LOWERED_NEST:
        print_steps(printing->text, op, indent + STEP);
        break;
    case MDF_LOWERED_IF:
        print_branches(printing, op->of.branches, indent);
        break;
    case MDF_LOWERED_LOOP:
        print_loop(printing, op->of.loop, indent);
        break;
    }
}

static void print_region(const struct printing *printing, const struct mdf_lowered_region *region, int indent)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        mdf_text_printf(printing->text, "%*s", indent, "");
        mdf_lowered_op_print(printing->text, printing->lowered, &region->ops[i]);
        print_origin(printing->text, region->ops[i].origin);
        mdf_text_append_string(printing->text, "\n");
        print_inner(printing, &region->ops[i], indent);
    }
}

/* ------------------------------------------------------------------ the whole */

static void print_port(const struct printing *printing, const char *what, mdf_lowered_id id,
                       const struct mdf_lowered_names *names, const struct mdf_value *value)
{
    mdf_text_printf(printing->text, "%s ", what);
    print_value(printing->text, printing->lowered, id);
    mdf_text_append_string(printing->text, "  ; ");
    names->write(names->context, printing->text, value);
    mdf_text_append_string(printing->text, "\n");
}

void mdf_lowered_print(struct mdf_text *text, const struct mdf_lowered *lowered, const struct mdf_lowered_names *names)
{
    struct printing printing = {text, lowered};

    for (size_t i = 0; i < lowered->n_inputs; i++) {
        print_port(&printing, "input", lowered->inputs[i], names, lowered->values[lowered->inputs[i]].source);
    }
    for (mdf_lowered_id id = 0; id < lowered->n_values; id++) {
        if (lowered->values[id].place == MDF_LOWERED_CONSTANT) {
            mdf_text_printf(text, "constant v%u ", (unsigned)id);
            mdf_value_print(text, &lowered->values[id].form);
            mdf_text_append_string(text, "\n");
        }
    }
    print_region(&printing, &lowered->region, 0);
    for (size_t i = 0; i < lowered->n_outputs; i++) {
        print_port(&printing, "output", lowered->outputs[i].id, names, lowered->outputs[i].slot);
    }
}

/* ------------------------------------------------------------------ nests alone */

static void print_nests(const struct printing *printing, const struct mdf_lowered_region *region)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];
        const struct mdf_lowered_region *inner;

        if (op->code == MDF_LOWERED_NEST) {
            mdf_lowered_op_print(printing->text, printing->lowered, op);
            print_origin(printing->text, op->origin);
            mdf_text_append_string(printing->text, "\n");
            print_steps(printing->text, op, STEP);
        }
        for (size_t j = 0; (inner = mdf_lowered_inner(op, j)) != NULL; j++) {
            print_nests(printing, inner);
        }
    }
}

void mdf_lowered_print_nests(struct mdf_text *text, const struct mdf_lowered *lowered)
{
    struct printing printing = {text, lowered};

    print_nests(&printing, &lowered->region);
}
