/* lowered_builder.c - see lowered_builder.h. */
#include "tests/support/lowered_builder.h"

#include "mdf_c/base/processor.h"
#include "mdf_c/lowered/loop_plan.h"
#include "mdf_c/machine/emit.h"

#include <criterion/criterion.h>
#include <string.h>

/* ------------------------------------------------------------------ begin and end */

void build_begin(struct build *build, const mdf_allocator *allocator)
{
    struct mdf_arena arena;

    memset(build, 0, sizeof *build);
    mdf_memory_init(&build->plain, NULL, 0);
    mdf_memory_init(&build->memory, allocator, 0);
    build->context.memory = &build->memory;
    build->context.real = MDF_DTYPE_FLOAT64;
    build->context.n_threads = 1;
    build->strength = MDF_STRENGTH_TYPED;
    mdf_arena_init(&arena, &build->plain);
    build->lowered = mdf_arena_allocate(&arena, sizeof *build->lowered);
    cr_assert_not_null(build->lowered);
    build->lowered->arena = arena;
    build->lowered->context = &build->context;
}

void build_end(struct build *build)
{
    size_t i;

    mdf_lowered_release(build->lowered);
    for (i = 0; i < build->n_slots; i++) {
        mdf_value_clear(&build->memory, &build->slots[i]);
    }
    cr_assert_eq(atomic_load(&build->plain.used_bytes), (size_t)0, "the program leaks");
    cr_assert_eq(atomic_load(&build->memory.used_bytes), (size_t)0, "values leak");
}

/* Zeroed memory that lasts as long as the program. */
static void *allocate(struct build *build, size_t n, size_t size)
{
    void *items = mdf_arena_array(&build->lowered->arena, n, size);

    cr_assert_not_null(items);
    return items;
}

/* Room for one more behind `n` items: `items`, or a copy. */
static void *make_room(struct build *build, void *items, size_t n, size_t size)
{
    void *grown;

    if (n > 0 && (n & (n - 1)) != 0) {
        return items;
    }
    grown = allocate(build, n == 0 ? 1 : 2 * n, size);
    if (n > 0) {
        memcpy(grown, items, n * size);
    }
    return grown;
}

/* ------------------------------------------------------------------ the frame's side */

struct mdf_value *build_slot(struct build *build)
{
    cr_assert_lt(build->n_slots, (size_t)BUILD_SLOTS);
    return &build->slots[build->n_slots++];
}

struct mdf_value *build_array(struct build *build, mdf_dtype dtype, size_t rank, const int64_t *shape, const void *elements)
{
    struct mdf_value *slot = build_slot(build);
    void *place = mdf_value_make_tensor(&build->memory, slot, dtype, rank, shape);
    size_t n_bytes = slot->length * mdf_dtype_size(dtype);

    cr_assert_not_null(place);
    slot->strength = build->strength;
    if (elements != NULL) {
        memcpy(place, elements, n_bytes);
    } else {
        memset(place, 0, n_bytes);
    }
    return slot;
}

double build_element_of(const struct mdf_value *array, size_t i)
{
    cr_assert(array->kind == MDF_KIND_TENSOR && i < array->length);
    return mdf_element_to_double((mdf_dtype)array->dtype,
                                 (const char *)array->data + i * mdf_dtype_size((mdf_dtype)array->dtype));
}

/* ------------------------------------------------------------------ values */

static struct mdf_lowered_value *value_of(struct build *build, mdf_lowered_id id)
{
    cr_assert_lt((size_t)id, build->lowered->n_values);
    return &build->lowered->values[id];
}

static mdf_lowered_id add_value(struct build *build, enum mdf_lowered_place place, const struct mdf_value *form)
{
    struct mdf_lowered *lowered = build->lowered;
    size_t n = lowered->n_values++;

    cr_assert(form->kind == MDF_KIND_TENSOR && form->rank <= MDF_INLINE_RANK);
    lowered->values = make_room(build, lowered->values, n, sizeof *lowered->values);
    build->makers = make_room(build, build->makers, n, sizeof *build->makers);
    build->is_copied = make_room(build, build->is_copied, n, sizeof *build->is_copied);
    lowered->values[n].form = *form;
    lowered->values[n].form.data = NULL;
    lowered->values[n].form.buffer = NULL;
    lowered->values[n].place = (uint8_t)place;
    lowered->values[n].is_scalar = form->length == 1;
    build->is_stored = make_room(build, build->is_stored, n, sizeof *build->is_stored);
    build->is_stored[n] = form->length != 1;
    return (mdf_lowered_id)n;
}

static struct mdf_value form_of(const struct build *build, mdf_dtype dtype, size_t rank, const int64_t *shape)
{
    struct mdf_value form = {
        .kind = MDF_KIND_TENSOR, .dtype = (uint8_t)dtype, .strength = build->strength, .rank = (uint32_t)rank};

    cr_assert(rank <= MDF_INLINE_RANK && mdf_shape_n_elements(rank, shape, &form.length));
    if (rank > 0) {
        memcpy(form.shape.sizes, shape, rank * sizeof *shape);
    }
    return form;
}

mdf_lowered_id build_input(struct build *build, const struct mdf_value *source)
{
    mdf_lowered_id id = add_value(build, MDF_LOWERED_INPUT, source);

    value_of(build, id)->source = source;
    return id;
}

mdf_lowered_id build_constant(struct build *build, mdf_dtype dtype, size_t rank, const int64_t *shape, const void *elements)
{
    struct mdf_value form = form_of(build, dtype, rank, shape);
    mdf_lowered_id id = add_value(build, MDF_LOWERED_CONSTANT, &form);
    size_t n_bytes = form.length * mdf_dtype_size(dtype);
    void *copy = allocate(build, 1, n_bytes);

    if (n_bytes > 0) {
        memcpy(copy, elements, n_bytes);
    }
    value_of(build, id)->form.data = copy;
    return id;
}

mdf_lowered_id build_real(struct build *build, double real)
{
    return build_constant(build, MDF_DTYPE_FLOAT64, 0, NULL, &real);
}

mdf_lowered_id build_whole(struct build *build, int64_t whole)
{
    return build_constant(build, MDF_DTYPE_INT64, 0, NULL, &whole);
}

mdf_lowered_id build_bool(struct build *build, bool truth)
{
    return build_constant(build, MDF_DTYPE_BOOL, 0, NULL, &truth);
}

mdf_lowered_id build_result(struct build *build, mdf_dtype dtype, size_t rank, const int64_t *shape)
{
    struct mdf_value form = form_of(build, dtype, rank, shape);

    return add_value(build, MDF_LOWERED_RESULT, &form);
}

static mdf_lowered_id add_parameter(struct build *build, mdf_dtype dtype, size_t rank, const int64_t *shape)
{
    struct mdf_value form = form_of(build, dtype, rank, shape);

    return add_value(build, MDF_LOWERED_PARAMETER, &form);
}

/* Notes that something uses a value: what a group makes and something else uses is stored. */
static void use(struct build *build, mdf_lowered_id id, const struct mdf_lowered_region *user)
{
    const struct build_group *maker;

    cr_assert_lt((size_t)id, build->lowered->n_values);
    maker = build->makers[id];
    if (maker != NULL && &maker->body != user) {
        build->is_stored[id] = true;
    }
}

/* ------------------------------------------------------------------ element ops */

size_t build_n_operands(enum mdf_lowered_code code)
{
    switch (code) {
    case MDF_LOWERED_NEGATE:
    case MDF_LOWERED_ABSOLUTE:
    case MDF_LOWERED_SQUARE_ROOT:
    case MDF_LOWERED_FLOOR:
    case MDF_LOWERED_CEILING:
    case MDF_LOWERED_NEGATE_EXACT:
    case MDF_LOWERED_NOT:
        return 1;
    case MDF_LOWERED_SELECT:
        return 3;
    default:
        return 2;
    }
}

mdf_dtype build_result_type(enum mdf_lowered_code code, mdf_dtype dtype)
{
    return code >= MDF_LOWERED_EQUAL && code <= MDF_LOWERED_GREATER_EQUAL ? MDF_DTYPE_BOOL : dtype;
}

/* The settings of compute_elements. */
struct element_op {
    enum mdf_lowered_code code;
    mdf_dtype dtype;
};

/* An element op as a loop, by what it is on scalars. */
static bool compute_elements(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    const struct element_op *op = settings;
    size_t size = mdf_dtype_size(build_result_type(op->code, op->dtype)), i, j;
    uint64_t cells[MDF_MAX_OPERANDS], result;
    const uint64_t *pointers[MDF_MAX_OPERANDS] = {NULL};

    for (i = 0; i < n; i++) {
        for (j = 0; j < build_n_operands(op->code); j++) {
            size_t width = op->code == MDF_LOWERED_SELECT && j == 0 ? 1 : mdf_dtype_size(op->dtype);

            memcpy(&cells[j], (const char *)operands[j] + i * steps[j] * width, width);
            pointers[j] = &cells[j];
        }
        if (!mdf_lowered_compute(op->code, op->dtype, pointers, &result)) {
            return false;
        }
        memcpy((char *)target + i * size, &result, size);
    }
    return true;
}

/* The group whose body a region is; NULL: it is another region. */
static const struct build_group *group_of(const struct build *build, const struct mdf_lowered_region *region)
{
    size_t i;

    for (i = 0; i < build->n_groups; i++) {
        if (&build->groups[i]->body == region) {
            return build->groups[i];
        }
    }
    return NULL;
}

static struct mdf_lowered_op *add_op(struct build *build, struct mdf_lowered_region *region, const struct mdf_lowered_op *op)
{
    size_t i;

    region->ops = make_room(build, region->ops, region->n_ops, sizeof *region->ops);
    for (i = 0; i < op->n_in; i++) {
        use(build, op->in[i], region);
    }
    region->ops[region->n_ops] = *op;
    return &region->ops[region->n_ops++];
}

/* The result of an op of elements, whose shape is that of an operand that is an array, or else of the one of the highest rank. */
static mdf_lowered_id add_element_op(struct build *build, struct mdf_lowered_region *region, struct mdf_lowered_op op,
                                     mdf_dtype dtype)
{
    const struct build_group *group = group_of(build, region);
    struct mdf_value form = value_of(build, op.in[0])->form;
    size_t i;

    for (i = 1; i < op.n_in; i++) {
        const struct mdf_value *other = &value_of(build, op.in[i])->form;

        if (form.length == 1 && (other->length != 1 || other->rank > form.rank)) {
            form = *other;
        }
    }
    if (group != NULL && form.length == 1) {
        int64_t shape = (int64_t)group->n;

        form = form_of(build, dtype, 1, &shape);
    }
    form.dtype = (uint8_t)dtype;
    form.strength = build->strength;
    cr_assert(group != NULL ? form.length == group->n : form.length == 1 || op.loop == NULL);
    op.out = add_value(build, MDF_LOWERED_RESULT, &form);
    build->makers[op.out] = group;
    build->is_copied[op.out] = op.code == MDF_LOWERED_COPY || op.code == MDF_LOWERED_PUT;
    if (group != NULL) {
        build->is_stored[op.out] = false;
    }
    add_op(build, region, &op);
    return op.out;
}

mdf_lowered_id build_element(struct build *build, struct mdf_lowered_region *region, enum mdf_lowered_code code, mdf_dtype dtype,
                             const mdf_lowered_id *in)
{
    struct element_op *settings = allocate(build, 1, sizeof *settings);
    struct mdf_lowered_op op = {.code = (uint8_t)code,
                                .dtype = (uint8_t)dtype,
                                .n_in = (uint8_t)build_n_operands(code),
                                .loop = compute_elements,
                                .loop_settings = settings};

    *settings = (struct element_op){code, dtype};
    memcpy(op.in, in, op.n_in * sizeof *in);
    return add_element_op(build, region, op, build_result_type(code, dtype));
}

mdf_lowered_id build_elements(struct build *build, struct mdf_lowered_region *region, mdf_loop loop, const void *settings,
                              mdf_dtype dtype, mdf_dtype result, size_t n_in, const mdf_lowered_id *in)
{
    struct mdf_lowered_op op = {
        .code = MDF_LOWERED_ELEMENTS, .dtype = (uint8_t)dtype, .n_in = (uint8_t)n_in, .loop = loop, .loop_settings = settings};

    memcpy(op.in, in, n_in * sizeof *in);
    return add_element_op(build, region, op, result);
}

mdf_lowered_id build_cast(struct build *build, struct mdf_lowered_region *region, mdf_dtype to, mdf_lowered_id in)
{
    struct mdf_lowered_op op = {.code = MDF_LOWERED_CAST, .dtype = value_of(build, in)->form.dtype, .n_in = 1, .in = {in}};

    return add_element_op(build, region, op, to);
}

mdf_lowered_id build_function(struct build *build, struct mdf_lowered_region *region, double (*function)(double),
                              mdf_lowered_id in)
{
    struct mdf_lowered_op op = {
        .code = MDF_LOWERED_FUNCTION, .dtype = MDF_DTYPE_FLOAT64, .n_in = 1, .in = {in}, .of.function = function};

    return add_element_op(build, region, op, MDF_DTYPE_FLOAT64);
}

mdf_lowered_id build_function_of_two(struct build *build, struct mdf_lowered_region *region, double (*function)(double, double),
                                     mdf_lowered_id a, mdf_lowered_id b)
{
    struct mdf_lowered_op op = {
        .code = MDF_LOWERED_FUNCTION, .dtype = MDF_DTYPE_FLOAT64, .n_in = 2, .in = {a, b}, .of.function_of_two = function};

    return add_element_op(build, region, op, MDF_DTYPE_FLOAT64);
}

mdf_lowered_id build_copy(struct build *build, struct mdf_lowered_region *region, mdf_lowered_id in)
{
    struct mdf_lowered_op op = {.code = MDF_LOWERED_COPY, .dtype = value_of(build, in)->form.dtype, .n_in = 1, .in = {in}};

    return add_element_op(build, region, op, (mdf_dtype)op.dtype);
}

mdf_lowered_id build_put(struct build *build, struct mdf_lowered_region *region, mdf_lowered_id whole, mdf_lowered_id element,
                         mdf_lowered_id index)
{
    struct mdf_lowered_op op = {.code = MDF_LOWERED_PUT, .n_in = 3, .in = {whole, element, index}};

    op.dtype = value_of(build, whole)->form.dtype;
    op.of.put = allocate(build, 1, sizeof *op.of.put);
    *op.of.put = (struct mdf_lowered_put){.n_indices = 1, .steps = {1}, .limits = {(int64_t)value_of(build, whole)->form.length}};
    return add_element_op(build, region, op, (mdf_dtype)op.dtype);
}

/* ------------------------------------------------------------------ ops of whole values */

struct build_group *build_group(struct build *build, struct mdf_lowered_region *region, size_t n)
{
    struct build_group *group = allocate(build, 1, sizeof *group);
    struct mdf_lowered_op op = {.code = MDF_LOWERED_NEST, .out = MDF_LOWERED_NONE};

    group->n = n;
    group->nest = op.of.nest = allocate(build, 1, sizeof *group->nest);
    build->groups = make_room(build, build->groups, build->n_groups, sizeof *build->groups);
    build->groups[build->n_groups++] = group;
    add_op(build, region, &op);
    return group;
}

mdf_lowered_id build_group_element(struct build *build, struct mdf_lowered_region *region, enum mdf_lowered_code code,
                                   mdf_dtype dtype, const mdf_lowered_id *in)
{
    size_t n = 1, i;

    for (i = 0; i < build_n_operands(code); i++) {
        size_t length = value_of(build, in[i])->form.length;

        n = length != 1 ? length : n;
    }
    return build_element(build, &build_group(build, region, n)->body, code, dtype, in);
}

struct mdf_lowered_call *build_call(struct build *build, struct mdf_lowered_region *region, mdf_kernel kernel,
                                    const void *settings, size_t n_inputs, const mdf_lowered_id *inputs, size_t n_outputs,
                                    const mdf_lowered_id *outputs)
{
    struct mdf_lowered_call *call = allocate(build, 1, sizeof *call);
    struct mdf_lowered_op op = {.code = MDF_LOWERED_CALL, .out = MDF_LOWERED_NONE, .of.call = call};
    size_t i;

    call->call.kernel = kernel;
    call->call.settings = settings;
    call->call.n_inputs = call->n_inputs = n_inputs;
    call->call.n_outputs = call->n_outputs = n_outputs;
    call->call.context = &build->context;
    call->call.scratch = allocate(build, MDF_CALL_SCRATCH, sizeof *call->call.scratch);
    call->inputs = allocate(build, n_inputs, sizeof *inputs);
    call->outputs = allocate(build, n_outputs, sizeof *outputs);
    for (i = 0; i < n_inputs; i++) {
        call->inputs[i] = inputs[i];
        if (inputs[i] != MDF_LOWERED_NONE) {
            use(build, inputs[i], region);
        }
    }
    for (i = 0; i < n_outputs; i++) {
        call->outputs[i] = outputs[i];
    }
    add_op(build, region, &op);
    return call;
}

struct mdf_lowered_nest *build_nest(struct build *build, struct mdf_lowered_region *region, size_t n_axes, const size_t *extents)
{
    struct mdf_lowered_nest *nest = allocate(build, 1, sizeof *nest);
    struct mdf_lowered_op op = {.code = MDF_LOWERED_NEST, .out = MDF_LOWERED_NONE, .of.nest = nest};

    nest->n_axes = n_axes;
    for (size_t i = 0; i < n_axes; i++) {
        nest->extents[i] = extents[i];
    }
    nest->steps = allocate(build, MDF_NEST_MOST_STEPS, sizeof *nest->steps);
    add_op(build, region, &op);
    return nest;
}

uint8_t build_nest_step(struct build *build, struct mdf_lowered_nest *nest, struct mdf_nest_step step)
{
    cr_assert_lt(nest->n_steps, (size_t)MDF_NEST_MOST_STEPS);
    if (step.kind == MDF_NEST_ELEMENT && step.loop == NULL && step.code != MDF_LOWERED_CAST) {
        struct element_op *settings = allocate(build, 1, sizeof *settings);

        *settings = (struct element_op){(enum mdf_lowered_code)step.code, (mdf_dtype)step.operand_dtype};
        step.loop = compute_elements;
        step.loop_settings = settings;
    } else if (step.kind == MDF_NEST_STORE) {
        build->is_copied[step.view.id] = true;
        build->is_stored[step.view.id] = !value_of(build, step.view.id)->is_scalar;
    }
    nest->steps[nest->n_steps++] = step;
    return (uint8_t)(nest->n_steps - 1);
}

struct mdf_lowered_if *build_if(struct build *build, struct mdf_lowered_region *region, mdf_lowered_id condition)
{
    struct mdf_lowered_if *branches = allocate(build, 1, sizeof *branches);
    struct mdf_lowered_op op = {.code = MDF_LOWERED_IF, .out = MDF_LOWERED_NONE, .of.branches = branches};

    branches->condition = condition;
    add_op(build, region, &op);
    return branches;
}

mdf_lowered_id build_merge(struct build *build, struct mdf_lowered_if *branches, mdf_lowered_id then, mdf_lowered_id otherwise)
{
    mdf_lowered_id out = add_value(build, MDF_LOWERED_RESULT, &value_of(build, then)->form);

    use(build, then, NULL);
    use(build, otherwise, NULL);
    branches->merges = make_room(build, branches->merges, branches->n_merges, sizeof *branches->merges);
    branches->merges[branches->n_merges++] = (struct mdf_lowered_merge){out, then, otherwise};
    return out;
}

/* ------------------------------------------------------------------ LOOP */

struct mdf_lowered_loop *build_loop(struct build *build, struct mdf_lowered_region *region, size_t n_runs)
{
    struct mdf_lowered_loop *loop = allocate(build, 1, sizeof *loop);
    struct mdf_lowered_op op = {.code = MDF_LOWERED_LOOP, .out = MDF_LOWERED_NONE, .of.loop = loop};

    loop->n_runs = n_runs;
    loop->trip_count = loop->condition = loop->next_condition = loop->number = loop->is_going_on = MDF_LOWERED_NONE;
    add_op(build, region, &op);
    return loop;
}

void build_condition(struct build *build, struct mdf_lowered_loop *loop, mdf_lowered_id condition, mdf_lowered_id next)
{
    use(build, condition, NULL);
    use(build, next, NULL);
    loop->condition = condition;
    loop->next_condition = next;
}

mdf_lowered_id build_number(struct build *build, struct mdf_lowered_loop *loop)
{
    loop->number = add_parameter(build, MDF_DTYPE_INT64, 0, NULL);
    return loop->number;
}

mdf_lowered_id build_going_on(struct build *build, struct mdf_lowered_loop *loop)
{
    loop->is_going_on = add_parameter(build, MDF_DTYPE_BOOL, 0, NULL);
    return loop->is_going_on;
}

mdf_lowered_id build_state(struct build *build, struct mdf_lowered_loop *loop, mdf_lowered_id initial)
{
    mdf_lowered_id parameter = add_value(build, MDF_LOWERED_PARAMETER, &value_of(build, initial)->form);

    use(build, initial, NULL);
    loop->states = make_room(build, loop->states, loop->n_states, sizeof *loop->states);
    loop->states[loop->n_states++] = (struct mdf_lowered_state){initial, parameter, MDF_LOWERED_NONE, MDF_LOWERED_TWO_BUFFERS};
    return parameter;
}

mdf_lowered_id build_rows(struct build *build, struct mdf_lowered_loop *loop, mdf_lowered_id source, bool is_reversed)
{
    struct mdf_value whole = value_of(build, source)->form;
    mdf_lowered_id parameter = add_parameter(build, (mdf_dtype)whole.dtype, whole.rank - 1, whole.shape.sizes + 1);

    use(build, source, NULL);
    loop->rows = make_room(build, loop->rows, loop->n_rows, sizeof *loop->rows);
    loop->rows[loop->n_rows++] = (struct mdf_lowered_rows){source, parameter, is_reversed};
    return parameter;
}

void build_next(struct build *build, struct mdf_lowered_loop *loop, mdf_lowered_id parameter, mdf_lowered_id next)
{
    size_t i;

    use(build, next, NULL);
    for (i = 0; i < loop->n_states && loop->states[i].parameter != parameter; i++) {
    }
    cr_assert_lt(i, loop->n_states);
    loop->states[i].next = next;
}

mdf_lowered_id build_stack(struct build *build, struct mdf_lowered_loop *loop, mdf_lowered_id item, bool is_reversed)
{
    struct mdf_value form = value_of(build, item)->form;
    struct mdf_lowered_stack *stack;

    use(build, item, NULL);
    loop->stacks = make_room(build, loop->stacks, loop->n_stacks, sizeof *loop->stacks);
    stack = &loop->stacks[loop->n_stacks++];
    *stack = (struct mdf_lowered_stack){.item = item, .is_reversed = is_reversed};
    stack->item_bytes = form.length * mdf_dtype_size((mdf_dtype)form.dtype);
    cr_assert_lt(form.rank, (uint32_t)MDF_INLINE_RANK);
    memmove(form.shape.sizes + 1, form.shape.sizes, form.rank * sizeof *form.shape.sizes);
    form.shape.sizes[0] = (int64_t)(loop->n_runs == SIZE_MAX ? loop->n_padded : loop->n_runs);
    form.rank++;
    form.length *= (size_t)form.shape.sizes[0];
    stack->stack = add_value(build, MDF_LOWERED_RESULT, &form);
    value_of(build, stack->stack)->is_scalar = false;
    build->is_stored[stack->stack] = true;
    return stack->stack;
}

/* ------------------------------------------------------------------ the whole */

void build_output(struct build *build, struct mdf_value *slot, mdf_lowered_id id)
{
    struct mdf_lowered *lowered = build->lowered;
    struct mdf_lowered_output *output;
    uint8_t place = value_of(build, id)->place;
    size_t i;

    use(build, id, NULL);
    lowered->outputs = make_room(build, lowered->outputs, lowered->n_outputs, sizeof *lowered->outputs);
    output = &lowered->outputs[lowered->n_outputs++];
    *output = (struct mdf_lowered_output){.slot = slot, .id = id};
    output->gives = place == MDF_LOWERED_RESULT || place == MDF_LOWERED_PARAMETER;
    for (i = 0; &lowered->outputs[i] != output; i++) {
        if (lowered->outputs[i].id == id) {
            lowered->outputs[i].gives = output->gives = false;
        }
    }
}

static void connect_call(struct build *build, struct mdf_lowered_call *call)
{
    const struct mdf_value **inputs = allocate(build, call->n_inputs, sizeof *inputs);
    struct mdf_value **outputs = allocate(build, call->n_outputs, sizeof *outputs), *arrays = build->lowered->arrays;
    size_t i;

    for (i = 0; i < call->n_inputs; i++) {
        inputs[i] = call->inputs[i] == MDF_LOWERED_NONE ? NULL : &arrays[call->inputs[i]];
    }
    for (i = 0; i < call->n_outputs; i++) {
        if (call->outputs[i] != MDF_LOWERED_NONE) {
            outputs[i] = &arrays[call->outputs[i]];
            memset(outputs[i], 0, sizeof *outputs[i]); /* the kernel makes it */
        }
    }
    call->call.inputs = inputs;
    call->call.outputs = outputs;
}

/* The register of a value in a group's nest: of an op before number `end`, or loaded. */
static uint8_t register_of(struct build *build, const struct build_group *group, const uint8_t *made, size_t end,
                           mdf_lowered_id id)
{
    struct mdf_nest_step step = {.kind = MDF_NEST_LOAD, .level = 1, .view = {.id = id, .at = MDF_NEST_NONE}};
    uint8_t i;

    while (end-- > 0) {
        if (group->body.ops[end].out == id) {
            return made[end];
        }
    }
    for (i = 0; i < group->nest->n_steps; i++) {
        if (group->nest->steps[i].kind == MDF_NEST_LOAD && group->nest->steps[i].view.id == id) {
            return i;
        }
    }
    step.dtype = value_of(build, id)->form.dtype;
    step.view.strides[0] = value_of(build, id)->is_scalar ? 0 : 1;
    return build_nest_step(build, group->nest, step);
}

static void finish_group(struct build *build, const struct build_group *group)
{
    uint8_t made[MDF_NEST_MOST_STEPS];
    size_t i, k;

    group->nest->n_axes = 1;
    group->nest->extents[0] = group->n;
    group->nest->steps = allocate(build, MDF_NEST_MOST_STEPS, sizeof *group->nest->steps);
    for (i = 0; i < group->body.n_ops; i++) {
        const struct mdf_lowered_op *op = &group->body.ops[i];
        struct mdf_nest_step step = {.kind = MDF_NEST_ELEMENT,
                                     .level = 1,
                                     .dtype = value_of(build, op->out)->form.dtype,
                                     .n_in = op->n_in,
                                     .code = op->code,
                                     .operand_dtype = op->dtype,
                                     .loop = op->loop,
                                     .loop_settings = op->loop_settings};
        struct mdf_nest_step store = {.kind = MDF_NEST_STORE, .level = 1, .dtype = step.dtype, .n_in = 1};

        for (k = 0; k < op->n_in; k++) {
            step.in[k] = register_of(build, group, made, i, op->in[k]);
        }
        made[i] = build_nest_step(build, group->nest, step);
        store.in[0] = made[i];
        store.view = (struct mdf_nest_view){.id = op->out, .strides = {1}, .at = MDF_NEST_NONE};
        if (build->is_stored[op->out]) {
            build_nest_step(build, group->nest, store);
        }
    }
}

static void finish_region(struct build *build, const struct mdf_lowered_region *region)
{
    size_t i;

    for (i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        switch (op->code) {
        case MDF_LOWERED_CALL:
            connect_call(build, op->of.call);
            break;
        case MDF_LOWERED_IF:
            finish_region(build, &op->of.branches->then);
            finish_region(build, &op->of.branches->otherwise);
            break;
        case MDF_LOWERED_LOOP:
            finish_region(build, &op->of.loop->body);
            break;
        default:
            break;
        }
    }
}

/* Constants are there; scalars lie over their cells; stored results of NEST, COPY and PUT get memory. */
static void place_value(struct build *build, mdf_lowered_id id)
{
    struct mdf_lowered *lowered = build->lowered;
    const struct mdf_lowered_value *value = &lowered->values[id];
    struct mdf_value *array = &lowered->arrays[id];
    bool is_made = build->makers[id] != NULL || build->is_copied[id];

    *array = value->form;
    if (value->place == MDF_LOWERED_INPUT) {
        lowered->inputs[lowered->n_inputs++] = id;
    }
    if (value->is_scalar) {
        if (value->place == MDF_LOWERED_CONSTANT) {
            memcpy(&lowered->cells[id], value->form.data, mdf_dtype_size((mdf_dtype)value->form.dtype));
        }
        array->data = &lowered->cells[id];
    } else if (is_made && build->is_stored[id] && !value->is_in_place) {
        memset(array, 0, sizeof *array);
        cr_assert_not_null(mdf_value_make_tensor(&build->memory, array, (mdf_dtype)value->form.dtype, value->form.rank,
                                                 mdf_value_shape(&value->form)));
        array->strength = value->form.strength;
    }
}

void build_finish(struct build *build)
{
    struct mdf_lowered *lowered = build->lowered;
    size_t i;

    for (i = 0; i < build->n_groups; i++) {
        finish_group(build, build->groups[i]);
    }
    if (!build->is_unplanned) {
        mdf_lowered_plan_loops(lowered);
    }
    lowered->cells = allocate(build, lowered->n_values, sizeof *lowered->cells);
    lowered->arrays = allocate(build, lowered->n_values, sizeof *lowered->arrays);
    lowered->inputs = allocate(build, lowered->n_values, sizeof *lowered->inputs);
    for (i = 0; i < lowered->n_values; i++) {
        place_value(build, (mdf_lowered_id)i);
    }
    finish_region(build, &lowered->region);
}

void build_take(struct build *build, struct mdf_value *target, struct mdf_value *slot)
{
    cr_assert(mdf_value_copy_apart(&build->memory, target, slot));
    mdf_value_clear(&build->memory, slot);
}

bool build_same(const struct mdf_value *a, const struct mdf_value *b)
{
    return a->kind == b->kind && a->dtype == b->dtype && a->rank == b->rank && a->length == b->length &&
           a->strength == b->strength && mdf_elements_same((mdf_dtype)a->dtype, a->data, b->data, a->length);
}

bool build_check_code(struct build *build, uint64_t seed)
{
    struct mdf_lowered *lowered = build->lowered;
    enum mdf_lowered_outcome outcome = mdf_lowered_run(lowered);
    struct mdf_value kept[BUILD_SLOTS] = {{0}};
    size_t i, round;

    for (i = 0; outcome == MDF_LOWERED_DONE && i < lowered->n_outputs; i++) {
        build_take(build, &kept[i], lowered->outputs[i].slot);
    }
    mdf_lowered_emit(lowered);
    if (mdf_has_avx2()) {
        cr_assert(lowered->code != NULL, "seed %llu: no code", (unsigned long long)seed);
    }
    for (round = 0; round < 2; round++) {
        cr_assert_eq(mdf_lowered_run(lowered), outcome, "seed %llu: bails out or not", (unsigned long long)seed);
        for (i = 0; outcome == MDF_LOWERED_DONE && i < lowered->n_outputs; i++) {
            cr_assert(build_same(&kept[i], lowered->outputs[i].slot), "seed %llu: output %zu (value %u)",
                      (unsigned long long)seed, i, (unsigned)lowered->outputs[i].id);
        }
    }
    for (i = 0; i < BUILD_SLOTS; i++) {
        mdf_value_clear(&build->memory, &kept[i]);
    }
    return outcome == MDF_LOWERED_DONE;
}
