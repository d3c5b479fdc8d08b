/* lowered_reads.c - see lowered_reads.h. */
#include "mdf_c/lowered/lowered_reads.h"

#include "mdf_c/lowered/nest.h"

struct visit {
    mdf_lowered_read read;
    void *context;
    mdf_lowered_id from, to; /* where `read` is NULL: each of the first becomes the second */
};

static void read(const struct visit *visit, mdf_lowered_id *id, bool is_aliased)
{
    if (visit->read == NULL) {
        *id = *id == visit->from ? visit->to : *id;
    } else if (*id != MDF_LOWERED_NONE) {
        visit->read(visit->context, *id, is_aliased);
    }
}

static void visit_op(const struct visit *visit, struct mdf_lowered_op *op);

static void visit_region(const struct visit *visit, const struct mdf_lowered_region *region)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        visit_op(visit, &region->ops[i]);
    }
}

static void visit_branches(const struct visit *visit, struct mdf_lowered_if *branches)
{
    read(visit, &branches->condition, false);
    visit_region(visit, &branches->then);
    visit_region(visit, &branches->otherwise);
    for (size_t i = 0; i < branches->n_merges; i++) {
        read(visit, &branches->merges[i].then, true);
        read(visit, &branches->merges[i].otherwise, true);
    }
}

static void visit_loop(const struct visit *visit, struct mdf_lowered_loop *loop)
{
    read(visit, &loop->trip_count, false);
    read(visit, &loop->condition, false);
    for (size_t i = 0; i < loop->n_states; i++) {
        read(visit, &loop->states[i].initial, true);
    }
    for (size_t i = 0; i < loop->n_rows; i++) {
        read(visit, &loop->rows[i].source, false);
    }
    for (size_t i = 0; i < loop->n_products; i++) {
        if (!loop->products[i]->is_behind) { /* else it is made here */
            read(visit, &loop->products[i]->a, false);
        }
        read(visit, &loop->products[i]->b, false);
        read(visit, &loop->products[i]->start, false);
    }
    visit_region(visit, &loop->body);
    read(visit, &loop->next_condition, false);
    for (size_t i = 0; i < loop->n_states; i++) {
        read(visit, &loop->states[i].next, true);
    }
    for (size_t i = 0; i < loop->n_stacks; i++) {
        read(visit, &loop->stacks[i].item, false);
        if (loop->stacks[i].appends) {
            read(visit, &loop->stacks[i].initial, false);
        }
    }
}

static void visit_op(const struct visit *visit, struct mdf_lowered_op *op)
{
    switch ((enum mdf_lowered_code)op->code) {
    case MDF_LOWERED_CALL:
        for (size_t i = 0; i < op->of.call->n_inputs; i++) {
            read(visit, &op->of.call->inputs[i], false);
        }
        break;
    case MDF_LOWERED_NEST:
        for (size_t i = 0; i < op->of.nest->n_steps; i++) {
            if (op->of.nest->steps[i].kind == MDF_NEST_LOAD) {
                read(visit, &op->of.nest->steps[i].view.id, false);
            }
        }
        break;
    case MDF_LOWERED_IF:
        visit_branches(visit, op->of.branches);
        break;
    case MDF_LOWERED_LOOP:
        visit_loop(visit, op->of.loop);
        break;
    MDF_LOWERED_CASES_OF_ELEMENTS:
        for (size_t i = 0; i < op->n_in; i++) {
            read(visit, &op->in[i], false);
        }
        break;
    }
}

void mdf_lowered_visit_reads(const struct mdf_lowered_op *op, mdf_lowered_read visitor, void *context)
{
    struct mdf_lowered_op same = *op;

    visit_op(&(struct visit){.read = visitor, .context = context}, &same);
}

void mdf_lowered_replace_reads(struct mdf_lowered_op *op, mdf_lowered_id from, mdf_lowered_id to)
{
    visit_op(&(struct visit){.from = from, .to = to}, op);
}

struct search {
    mdf_lowered_id id;
    bool is_found;
};

static void compare(void *context, mdf_lowered_id id, bool is_aliased)
{
    struct search *search = context;

    (void)is_aliased;
    search->is_found = search->is_found || search->id == id;
}

bool mdf_lowered_reads(const struct mdf_lowered_op *op, mdf_lowered_id id)
{
    struct search search = {.id = id};

    mdf_lowered_visit_reads(op, compare, &search);
    return search.is_found;
}

static void compare_result(void *context, mdf_lowered_id id)
{
    compare(context, id, false);
}

bool mdf_lowered_has_result(const struct mdf_lowered_op *op, mdf_lowered_id id)
{
    struct search search = {.id = id};

    mdf_lowered_visit_results(op, compare_result, &search);
    return search.is_found;
}

static void count(void *context, mdf_lowered_id id, bool is_aliased)
{
    (void)is_aliased;
    ((size_t *)context)[id]++;
}

size_t *mdf_lowered_count_reads(const struct mdf_lowered *lowered, struct mdf_arena *arena)
{
    size_t *n_reads = mdf_arena_array(arena, lowered->n_values, sizeof *n_reads), i;

    for (i = 0; n_reads != NULL && i < lowered->n_outputs; i++) {
        n_reads[lowered->outputs[i].id]++;
    }
    for (i = 0; n_reads != NULL && i < lowered->region.n_ops; i++) {
        mdf_lowered_visit_reads(&lowered->region.ops[i], count, n_reads);
    }
    return n_reads;
}

struct marked {
    const bool *marks;
    size_t n;
};

static void count_if_marked(void *context, mdf_lowered_id id, bool is_aliased)
{
    struct marked *marked = context;

    (void)is_aliased;
    marked->n += marked->marks[id];
}

size_t mdf_lowered_count_marked(const struct mdf_lowered_op *op, const bool *marks)
{
    struct marked marked = {.marks = marks};

    mdf_lowered_visit_reads(op, count_if_marked, &marked);
    return marked.n;
}

/* ------------------------------------------------------------------ makers */

void mdf_lowered_visit_results(const struct mdf_lowered_op *op, mdf_lowered_result visitor, void *context)
{
    switch ((enum mdf_lowered_code)op->code) {
    case MDF_LOWERED_CALL:
        for (size_t i = 0; i < op->of.call->n_outputs; i++) {
            if (op->of.call->outputs[i] != MDF_LOWERED_NONE) {
                visitor(context, op->of.call->outputs[i]);
            }
        }
        break;
    case MDF_LOWERED_NEST:
        for (size_t i = 0; op->of.nest != NULL && i < op->of.nest->n_steps; i++) {
            if (op->of.nest->steps[i].kind == MDF_NEST_STORE) {
                visitor(context, op->of.nest->steps[i].view.id);
            }
        }
        break;
    case MDF_LOWERED_IF:
        for (size_t i = 0; i < op->of.branches->n_merges; i++) {
            visitor(context, op->of.branches->merges[i].out);
        }
        break;
    case MDF_LOWERED_LOOP:
        for (size_t i = 0; i < op->of.loop->n_states; i++) {
            visitor(context, op->of.loop->states[i].parameter);
        }
        for (size_t i = 0; i < op->of.loop->n_stacks; i++) {
            visitor(context, op->of.loop->stacks[i].stack);
        }
        break;
    MDF_LOWERED_CASES_OF_ELEMENTS:
        visitor(context, op->out);
        break;
    }
}

static void mark(void *context, mdf_lowered_id id)
{
    ((bool *)context)[id] = true;
}

void mdf_lowered_mark_results(const struct mdf_lowered_op *op, bool *marks)
{
    mdf_lowered_visit_results(op, mark, marks);
}

void mdf_lowered_mark_following(const struct mdf_lowered_region *region, size_t first, size_t end, bool *marks)
{
    for (size_t i = first; i < end; i++) {
        if (i == first || mdf_lowered_count_marked(&region->ops[i], marks) > 0) {
            mdf_lowered_mark_results(&region->ops[i], marks);
        }
    }
}

static bool makes(const struct mdf_lowered_op *op, mdf_lowered_id id)
{
    size_t i;

    switch ((enum mdf_lowered_code)op->code) {
    case MDF_LOWERED_CALL:
        for (i = 0; i < op->of.call->n_outputs && op->of.call->outputs[i] != id; i++) {
        }
        return i < op->of.call->n_outputs;
    case MDF_LOWERED_NEST:
        return mdf_nest_stores(op->of.nest, id);
    case MDF_LOWERED_LOOP:
        for (i = 0; i < op->of.loop->n_stacks && op->of.loop->stacks[i].stack != id; i++) {
        }
        return i < op->of.loop->n_stacks;
    case MDF_LOWERED_IF:
        return false;
    MDF_LOWERED_CASES_OF_ELEMENTS:
        return op->out == id;
    }
    return false;
}

size_t mdf_lowered_find_maker(const struct mdf_lowered_region *region, mdf_lowered_id id)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        if (makes(&region->ops[i], id)) {
            return i;
        }
    }
    return SIZE_MAX;
}

size_t mdf_lowered_find_op(const struct mdf_lowered_region *region, mdf_lowered_id id)
{
    size_t i;

    for (i = 0; i < region->n_ops && !mdf_lowered_has_result(&region->ops[i], id); i++) {
    }
    return i < region->n_ops ? i : SIZE_MAX;
}

bool mdf_lowered_is_next(const struct mdf_lowered_loop *loop, mdf_lowered_id id)
{
    size_t i;

    for (i = 0; i < loop->n_states && loop->states[i].next != id; i++) {
    }
    return i < loop->n_states;
}

const struct mdf_lowered_state *mdf_lowered_state_of(const struct mdf_lowered_loop *loop, mdf_lowered_id parameter)
{
    for (size_t i = 0; i < loop->n_states; i++) {
        if (loop->states[i].parameter == parameter) {
            return &loop->states[i];
        }
    }
    return NULL;
}

bool mdf_lowered_is_state(const struct mdf_lowered_loop *loop, mdf_lowered_id id)
{
    return mdf_lowered_state_of(loop, id) != NULL;
}

const struct mdf_lowered_op *mdf_lowered_op_of(const struct mdf_lowered_region *region, mdf_lowered_id out)
{
    const struct mdf_lowered_op *found = NULL;
    const struct mdf_lowered_region *inner;

    for (size_t i = 0; found == NULL && i < region->n_ops; i++) {
        if (region->ops[i].out == out && out != MDF_LOWERED_NONE) {
            return &region->ops[i];
        }
        for (size_t k = 0; found == NULL && (inner = mdf_lowered_inner(&region->ops[i], k)) != NULL; k++) {
            found = mdf_lowered_op_of(inner, out);
        }
    }
    return found;
}

bool mdf_lowered_may_bail_out(unsigned code)
{
    static const bool may[] = {
#define MAY_BAIL_OUT(code, name, bails_out) [MDF_LOWERED_##code] = bails_out,
        MDF_LOWERED_ELEMENT_LIST(MAY_BAIL_OUT) MDF_LOWERED_WHOLE_LIST(MAY_BAIL_OUT)};

    return may[code];
}

enum mdf_lowered_code mdf_lowered_wrapping(unsigned code)
{
    static const enum mdf_lowered_code wrapping[] = {MDF_LOWERED_ADD,        MDF_LOWERED_SUBTRACT,    MDF_LOWERED_MULTIPLY,
                                                     MDF_LOWERED_SHIFT_LEFT, MDF_LOWERED_SHIFT_RIGHT, MDF_LOWERED_NEGATE};

    return code >= MDF_LOWERED_ADD_EXACT && code <= MDF_LOWERED_NEGATE_EXACT ? wrapping[code - MDF_LOWERED_ADD_EXACT]
                                                                             : (enum mdf_lowered_code)code;
}

bool mdf_lowered_is_real_function(const struct mdf_lowered *lowered, const struct mdf_lowered_op *op)
{
    return op->code == MDF_LOWERED_ELEMENTS && op->n_in == 1 && op->out != MDF_LOWERED_NONE &&
           lowered->values[op->in[0]].is_scalar && lowered->values[op->out].is_scalar && mdf_dtype_is_real(op->dtype) &&
           lowered->values[op->out].form.dtype == op->dtype;
}

bool mdf_lowered_is_same_function(const struct mdf_lowered_op *a, const struct mdf_lowered_op *b)
{
    return a->loop == b->loop && a->loop_settings == b->loop_settings && a->dtype == b->dtype;
}

size_t mdf_lowered_count_beside(const struct mdf_lowered *lowered, const struct mdf_lowered_op *ops, size_t n)
{
    size_t count, i;

    for (count = 0; count < n && count < MDF_LOWERED_MOST_BESIDE; count++) {
        if (!mdf_lowered_is_real_function(lowered, &ops[count]) || !mdf_lowered_is_same_function(&ops[count], ops)) {
            return count;
        }
        for (i = 0; i < count && ops[i].out != ops[count].in[0]; i++) {
        }
        if (i < count) {
            return count;
        }
    }
    return count;
}

/* ------------------------------------------------------------------ regions */

const struct mdf_lowered_region *mdf_lowered_inner(const struct mdf_lowered_op *op, size_t i)
{
    if (op->code == MDF_LOWERED_IF && i < 2) {
        return i == 0 ? &op->of.branches->then : &op->of.branches->otherwise;
    }
    return op->code == MDF_LOWERED_LOOP && i == 0 ? &op->of.loop->body : NULL;
}
