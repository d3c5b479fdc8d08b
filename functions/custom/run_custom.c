/* run_custom.c - one call of a registered function.
 *
 * Comes in: a call whose operator is the row of a struct mdf_custom. Its inputs are brought to the types that the arguments
 * declare, outputs are made as its `shapes` says (or as input 0 is), then its kernel runs. Goes out: the outputs, or an error
 * with the kernel's own words. Nothing is allocated once types and shapes are steady. */
#include "functions/custom/custom.h"

#include "functions/kernel/coerce.h"

#include <pthread.h>
#include <string.h>

/* In the scratch of the call: a list of the converted inputs, and of outputs that nobody reads. */
enum { SCRATCH_VALUES = 1, SCRATCH_BACK = 2, DESCRIPTION_SIZE = 160 };

/* A call that runs, or (`call` NULL) whose types and shapes are asked for. */
struct running {
    struct mdf_function_call face; /* what the kernel sees */
    const struct mdf_custom *custom;
    struct mdf_call *call;
    struct mdf_value *spare; /* room for values, one for each input and output */
    bool failed;
    mdf_tensor inputs[MDF_CUSTOM_MOST_VALUES * 2];
    void *outputs[MDF_CUSTOM_MOST_VALUES];
    mdf_tensor forms[MDF_CUSTOM_MOST_VALUES];
    /* Of a call that is only looked at: */
    struct mdf_arena *arena;
    struct mdf_static_type *types;
    bool no_memory;
};

static void fail(struct running *running, mdf_status status, const char *message)
{
    running->failed = true;
    if (running->call != NULL) {
        mdf_call_error(running->call, status == MDF_OK || (unsigned)status > MDF_INTERRUPTED ? MDF_VALUE : status, "%s", message);
    }
}

static mdf_status fail_kernel(mdf_function_call *face, mdf_status status, const char *message)
{
    struct running *running = face != NULL ? face->engine : NULL;

    if (running == NULL) {
        return MDF_USAGE;
    }
    fail(running, status, message != NULL ? message : "failed");
    return status == MDF_OK ? MDF_VALUE : status;
}

/* ------------------------------------------------------------------ outputs */

/* Why an output can not be made so; NULL: it can. */
static const char *form_fault(const struct running *running, size_t output, mdf_dtype dtype, size_t rank, const int64_t *shape)
{
    if (output >= running->custom->n_outputs) {
        return "its kernel makes an output that it does not have";
    }
    if ((unsigned)dtype >= MDF_DTYPE_COUNT || dtype == MDF_DTYPE_STRING) {
        return "its kernel makes an output of no type of numbers";
    }
    if (running->custom->outputs[output].dtype != MDF_DTYPE_NONE && running->custom->outputs[output].dtype != dtype) {
        return "its kernel makes an output of another type than it was registered with";
    }
    return rank > UINT32_MAX || (rank > 0 && shape == NULL) ? "its kernel makes an output without a shape" : NULL;
}

static void *make(mdf_function_call *face, size_t output, mdf_dtype dtype, size_t rank, const int64_t *shape)
{
    struct running *running = face != NULL ? face->engine : NULL;
    const char *fault;
    struct mdf_value *value;

    if (running == NULL || running->failed) {
        return NULL;
    }
    fault = form_fault(running, output, dtype, rank, shape);
    if (fault != NULL) {
        fail(running, MDF_USAGE, fault);
        return NULL;
    }
    value = mdf_call_result(running->call, output);
    if (value == NULL) {
        value = &running->spare[running->custom->n_arguments + output];
    }
    running->outputs[output] = mdf_value_make_tensor(running->call->context->memory, value, dtype, rank, shape);
    if (running->outputs[output] == NULL) { /* the same once more, for the error: the shape is at fault, or the memory */
        mdf_call_output(running->call, output, dtype, rank, shape);
        running->failed = true;
    } else {
        running->forms[output] = (mdf_tensor){dtype, rank, mdf_value_shape(value), running->outputs[output]};
    }
    return running->outputs[output];
}

/* As a call of the function that is only looked at makes outputs: their types and shapes are noted. */
static void *note(mdf_function_call *face, size_t output, mdf_dtype dtype, size_t rank, const int64_t *shape)
{
    struct running *running = face != NULL ? face->engine : NULL;
    int64_t *sizes;

    if (running == NULL || running->failed || form_fault(running, output, dtype, rank, shape) != NULL) {
        return NULL;
    }
    sizes = mdf_arena_array(running->arena, rank, sizeof *sizes);
    if (sizes == NULL) {
        running->no_memory = true;
        return NULL;
    }
    if (rank > 0) {
        memcpy(sizes, shape, rank * sizeof *sizes);
    }
    running->types[output] =
        (struct mdf_static_type){.kind = MDF_STATIC_TENSOR, .dtype = dtype, .has_shape = true, .rank = rank, .shape = sizes};
    return NULL;
}

/* What an output is like where nothing else says it: the first argument, of a derivative that which it is the gradient of. */
static void make_like(struct running *running, size_t output)
{
    const struct mdf_custom *custom = running->custom;
    const mdf_tensor *like = &running->inputs[custom->n_own < custom->n_arguments ? output : 0];
    mdf_dtype dtype = custom->outputs[output].dtype;
    bool is_real = like->dtype != MDF_DTYPE_NONE && mdf_dtype_kind(like->dtype) == 'f';

    if (dtype == MDF_DTYPE_NONE) {
        dtype = custom->n_own < custom->n_arguments && !is_real ? MDF_DTYPE_FLOAT64 : like->dtype;
    }
    if (like->dtype == MDF_DTYPE_NONE && custom->n_own == custom->n_arguments) {
        fail(running, MDF_VALUE, "the result has the shape of the first argument, which has no value");
        return;
    }
    running->face.make(&running->face, output, dtype, like->rank, like->shape);
}

static bool has_outputs(struct running *running, const char *who)
{
    for (size_t i = 0; i < running->custom->n_outputs && !running->failed; i++) {
        if (running->outputs[i] == NULL && running->call != NULL) {
            mdf_call_error(running->call, MDF_USAGE, "its %s did not make the output '%s'", who,
                           running->custom->outputs[i].name);
            return false;
        }
    }
    return !running->failed;
}

static bool call_out(struct running *running, mdf_function_kernel kernel)
{
    const struct mdf_custom *custom = running->custom;
    mdf_status status;

    if (custom->lock != NULL) {
        pthread_mutex_lock(custom->lock);
    }
    status = kernel(&running->face);
    if (custom->lock != NULL) {
        pthread_mutex_unlock(custom->lock);
    }
    if (status != MDF_OK && !running->failed) {
        fail(running, status, "it failed without saying why");
    }
    return !running->failed;
}

static bool make_outputs(struct running *running)
{
    if (running->custom->shapes != NULL) {
        return call_out(running, running->custom->shapes) && has_outputs(running, "function for shapes");
    }
    for (size_t i = 0; i < running->custom->n_outputs && !running->failed; i++) {
        make_like(running, i);
    }
    return !running->failed;
}

static void begin(struct running *running, const struct mdf_custom *custom)
{
    running->custom = custom;
    running->face = (struct mdf_function_call){.size = sizeof running->face,
                                               .context = custom->context,
                                               .n_inputs = custom->n_arguments,
                                               .n_outputs = custom->n_outputs,
                                               .inputs = running->inputs,
                                               .outputs = running->outputs,
                                               .forms = running->forms,
                                               .fail = fail_kernel,
                                               .engine = running};
}

/* ------------------------------------------------------------------ inputs */

/* Room for values of the call, kept from run to run. */
static struct mdf_value *spare_values(struct mdf_call *call, size_t n)
{
    struct mdf_value *list = &call->scratch[SCRATCH_VALUES], *items = mdf_value_own_items(list);

    if (items == NULL || list->length != n) {
        items = mdf_value_make_list(call->context->memory, list, n);
    }
    return items;
}

static bool refuse_input(struct mdf_call *call, const struct mdf_custom_value *argument, const struct mdf_value *value,
                         const char *why)
{
    char text[DESCRIPTION_SIZE];

    mdf_value_describe(value, text, sizeof text);
    return mdf_call_error(call, MDF_TYPE, "argument '%s' is %s, not %s%s", argument->name, text,
                          argument->dtype != MDF_DTYPE_NONE ? mdf_dtype_name(argument->dtype) : "an array", why);
}

/* The value in the argument's type. What becomes whole must be the same number in it. */
static bool convert(struct mdf_call *call, const struct mdf_custom_value *argument, const struct mdf_value *value,
                    struct mdf_value *converted)
{
    struct mdf_memory *memory = call->context->memory;
    struct mdf_value *back = &call->scratch[SCRATCH_BACK];
    char from = mdf_dtype_kind((mdf_dtype)value->dtype), to = mdf_dtype_kind(argument->dtype);

    if (from == 's' || to == 's' || (from == 'c' && to != 'c')) {
        return refuse_input(call, argument, value, "");
    }
    if (!mdf_value_convert(memory, converted, value, argument->dtype)) {
        return mdf_call_out_of_memory(call);
    }
    if (to == 'f' || to == 'c') {
        return true;
    }
    if (!mdf_value_convert(memory, back, converted, (mdf_dtype)value->dtype)) {
        return mdf_call_out_of_memory(call);
    }
    return mdf_elements_same((mdf_dtype)value->dtype, back->data, value->data, value->length) ||
           refuse_input(call, argument, value, ", and has a number that this type does not hold");
}

/* Nothing, such as a port of a node that has not run yet, is only for an argument that is nothing by default, and for gradients. */
static bool take_nothing(struct running *running, size_t i)
{
    const struct mdf_custom *custom = running->custom;
    const struct mdf_custom_value *argument = &custom->arguments[i];

    if (i >= custom->n_own || (argument->default_text != NULL && strcmp(argument->default_text, "None") == 0)) {
        return true;
    }
    return mdf_call_error(running->call, MDF_TYPE,
                          "argument '%s' has no value (None), which only an argument can have that is registered with the default None",
                          argument->name);
}

static bool take_input(struct running *running, size_t i)
{
    const struct mdf_custom_value *argument = &running->custom->arguments[i];
    const struct mdf_value *value = mdf_call_input(running->call, i);

    running->inputs[i] = (mdf_tensor){.dtype = MDF_DTYPE_NONE};
    if (value == NULL || value->kind == MDF_KIND_NONE) {
        return take_nothing(running, i);
    }
    if (value->kind != MDF_KIND_TENSOR) {
        return refuse_input(running->call, argument, value, "");
    }
    if (argument->dtype != MDF_DTYPE_NONE && argument->dtype != (mdf_dtype)value->dtype) {
        if (!convert(running->call, argument, value, &running->spare[i])) {
            return false;
        }
        value = &running->spare[i];
    }
    running->inputs[i] = (mdf_tensor){(mdf_dtype)value->dtype, value->rank, mdf_value_shape(value), value->data};
    return true;
}

bool mdf_custom_run(struct mdf_call *call)
{
    const struct mdf_custom *custom = call->settings;
    struct running running = {.call = call};
    bool makes = (custom->flags & MDF_FUNCTION_MAKES_OUTPUTS) != 0;

    begin(&running, custom);
    running.face.make = make;
    running.spare = spare_values(call, custom->n_arguments + custom->n_outputs);
    if (running.spare == NULL) {
        return mdf_call_out_of_memory(call);
    }
    for (size_t i = 0; i < custom->n_arguments; i++) {
        if (!take_input(&running, i)) {
            return false;
        }
    }
    if ((!makes && !make_outputs(&running)) || !call_out(&running, custom->kernel) || !has_outputs(&running, "kernel")) {
        return false;
    }
    mdf_weaken_outputs(call);
    return true;
}

/* ------------------------------------------------------------------ types and shapes beforehand */

/* An input of which type and shape are known; false: they are not. */
static bool know_input(struct running *running, size_t i, const struct mdf_static_type *type, bool *is_typed)
{
    const struct mdf_custom_value *argument = &running->custom->arguments[i];
    bool is_as_given = argument->dtype == MDF_DTYPE_NONE || argument->dtype == type->dtype;

    running->inputs[i] = (mdf_tensor){.dtype = MDF_DTYPE_NONE};
    if (type->kind == MDF_STATIC_OMITTED) {
        return true;
    }
    if (type->kind != MDF_STATIC_TENSOR || !type->has_shape) {
        return false;
    }
    for (size_t k = 0; k < type->rank; k++) {
        if (type->shape[k] < 0) {
            return false;
        }
    }
    *is_typed = *is_typed || type->dtype != MDF_DTYPE_NONE;
    running->inputs[i].dtype = argument->dtype != MDF_DTYPE_NONE ? argument->dtype : type->dtype;
    running->inputs[i].rank = type->rank;
    running->inputs[i].shape = type->shape;
    if (is_as_given && type->value != NULL && type->value->kind == MDF_KIND_TENSOR &&
        (mdf_dtype)type->value->dtype == running->inputs[i].dtype) {
        running->inputs[i].data = type->value->data;
    }
    return running->inputs[i].dtype != MDF_DTYPE_NONE;
}

bool mdf_custom_infer(const struct mdf_custom *custom, struct mdf_arena *arena, const struct mdf_static_type *inputs,
                      size_t n_inputs, struct mdf_static_type *outputs)
{
    struct running running = {.arena = arena, .types = outputs};
    bool is_typed = false;

    begin(&running, custom);
    running.face.make = note;
    if ((custom->flags & MDF_FUNCTION_MAKES_OUTPUTS) != 0) {
        return true;
    }
    for (size_t i = 0; i < custom->n_arguments; i++) {
        if (i >= n_inputs || !know_input(&running, i, &inputs[i], &is_typed)) {
            return true;
        }
    }
    make_outputs(&running);
    for (size_t i = 0; i < custom->n_outputs && !is_typed; i++) {
        outputs[i].dtype = MDF_DTYPE_NONE; /* of values without a declared type results have none */
    }
    return !running.no_memory;
}
