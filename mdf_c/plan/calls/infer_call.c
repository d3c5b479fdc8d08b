/* infer_call.c - types and shapes through one onnx:: call: what is known of its operands goes into the rules of schemas/, what
 * these say is noted at its outputs, and a call that can not run is refused here, before anything has. Of a few numbers that hang
 * on constants and known shapes alone, the kernel tells the values, of which shapes are made in turn. */
#include "functions/kernel/setting.h"
#include "mdf_c/plan/compiler.h"

#include <string.h>

/* Types of which nothing is known; NULL with the error set: memory ran out. */
static struct mdf_static_type *new_types(struct target *target, size_t n)
{
    struct mdf_static_type *types = mdf_arena_array(&target->compiler->scratch, n, sizeof *types);

    for (size_t i = 0; types != NULL && i < n; i++) {
        types[i] = mdf_static_unknown;
    }
    if (types == NULL) {
        compile_out_of_memory(target->compiler);
    }
    return types;
}

/* Whether what is known to have no axes may be made an array of one: see MDF_OPERATOR_NEEDS_AXIS. */
static bool may_be_array_of_one(const struct call_types *call, const struct mdf_static_type *type)
{
    return (call->row->flags & MDF_OPERATOR_NEEDS_AXIS) != 0 && type->kind == MDF_STATIC_TENSOR && type->has_shape &&
           type->rank == 0 && type->dtype == MDF_DTYPE_NONE;
}

/* What is known of the inputs of a call; `promised`: what there is known if bodies keep what they declare. */
static bool begin(struct target *target, const struct call_types *call, bool promised, struct mdf_inference *inference)
{
    struct mdf_static_type *inputs = new_types(target, call->n_inputs);

    if (inputs == NULL) {
        return false;
    }
    for (size_t i = 0; i < call->n_inputs; i++) {
        if (call->inputs[i] == MDF_NO_OPERAND) {
            inputs[i].kind = MDF_STATIC_OMITTED;
        } else {
            inputs[i] = promised ? unit_promised_type(target->unit, call->inputs[i]) : unit_type(target->unit, call->inputs[i]);
            if (may_be_array_of_one(call, &inputs[i])) {
                inputs[i] = mdf_static_unknown;
            }
        }
    }
    *inference = (struct mdf_inference){.schema = call->schema,
                                        .rule = mdf_operator_rule(call->row),
                                        .arena = &target->compiler->scratch,
                                        .inputs = inputs,
                                        .n_inputs = call->n_inputs,
                                        .n_bodies = call->n_bodies};
    mdf_setting_show(inference, call->row, call->settings);
    memcpy(inference->bodies, call->bodies, sizeof inference->bodies);
    for (size_t i = 0; promised && i < MDF_STATIC_BODIES; i++) {
        inference->bodies[i].yields = call->bodies[i].promised;
    }
    return true;
}

static bool refuse(struct target *target, const struct mdf_inference *inference)
{
    if (inference->status == MDF_OUT_OF_MEMORY) {
        compile_out_of_memory(target->compiler);
    } else {
        compile_error(target->compiler, inference->status, "%s::%s: %s", mdf_schema_prefix(inference->schema),
                      inference->schema->name, inference->message);
    }
    return false;
}

bool infer_formals(struct target *target, const struct call_types *call, size_t n_formals, const struct mdf_static_type **formals)
{
    struct mdf_static_type *types = new_types(target, n_formals);
    struct mdf_inference inference;

    *formals = types;
    if (types == NULL || !begin(target, call, false, &inference)) {
        return false;
    }
    inference.bodies[0].formals = types;
    inference.bodies[0].n_formals = n_formals;
    return mdf_infer_formals(&inference) || refuse(target, &inference);
}

bool infer_output_count(struct target *target, const struct call_types *call, size_t *n_outputs)
{
    struct mdf_inference inference;

    if (!begin(target, call, false, &inference)) {
        return false;
    }
    *n_outputs = mdf_infer_output_count(&inference);
    return true;
}

/* ------------------------------------------------------------------ values that follow from shapes and constants */

enum { MOST_KNOWN = 64 }; /* elements: sizes, and what is computed with them */

/* How many elements an array has; -1: that is not known, or they are no numbers. */
static int64_t count_elements(const struct mdf_static_type *type)
{
    int64_t n = 1;

    for (size_t i = 0; type->has_shape && i < type->rank && n >= 0; i++) {
        n = type->shape[i] < 0 || __builtin_mul_overflow(n, type->shape[i], &n) ? -1 : n;
    }
    return type->kind == MDF_STATIC_TENSOR && type->has_shape && type->rank <= MDF_INLINE_RANK && type->dtype != MDF_DTYPE_NONE &&
                   type->dtype != MDF_DTYPE_STRING
               ? n
               : -1;
}

/* An input as the kernel may look at it: a few numbers that are known, or a form of which nothing else counts. */
static bool take_known(const struct call_types *call, const struct mdf_static_type *type, size_t i, struct mdf_value *value)
{
    const struct mdf_value *known = type->value;

    if (known != NULL && known->kind == MDF_KIND_TENSOR && known->strength == MDF_STRENGTH_TYPED &&
        known->dtype != MDF_DTYPE_STRING && known->length <= MOST_KNOWN) {
        *value = *known;
        value->buffer = NULL;
        return true;
    }
    if (!mdf_counts_by_form(call->row, i) || count_elements(type) < 0) {
        return false;
    }
    mdf_value_borrow_tensor(NULL, value, type->dtype, MDF_STRENGTH_TYPED, type->rank, type->shape, NULL);
    return true;
}

/* What the kernel makes of such inputs, in `result`, which the caller clears. False: nothing, or memory ran out. */
static bool compute_known(struct target *target, const struct call_types *call, const struct mdf_value *const *inputs,
                          struct mdf_value *result)
{
    struct mdf_memory *memory = target->compiler->memory;
    struct mdf_context context = {.memory = memory, .real = target->compiler->real, .n_threads = 1};
    struct mdf_value scratch[MDF_CALL_SCRATCH] = {{0}}, *outputs[] = {result};
    struct mdf_call run = {.kernel = call->row->kernel,
                           .settings = call->settings,
                           .inputs = inputs,
                           .outputs = outputs,
                           .n_inputs = call->n_inputs,
                           .n_outputs = 1,
                           .scratch = scratch,
                           .context = &context,
                           .operator= call->row };
    bool done = run.kernel(&run);

    for (size_t i = 0; i < MDF_CALL_SCRATCH; i++) {
        mdf_value_clear(memory, &scratch[i]);
    }
    if (!done && context.error.code == MDF_OUT_OF_MEMORY) {
        compile_out_of_memory(target->compiler);
    }
    return done;
}

/* A value that lives as long as what is known of types, with the elements of an array. */
static bool keep_known(struct target *target, const struct mdf_value *array, struct mdf_static_type *type)
{
    size_t n_bytes = array->length * mdf_dtype_size((mdf_dtype)array->dtype);
    struct mdf_value *kept = mdf_arena_allocate(&target->compiler->scratch, sizeof *kept);
    void *elements = mdf_arena_allocate(&target->compiler->scratch, n_bytes + 1);

    if (kept == NULL || elements == NULL) {
        compile_out_of_memory(target->compiler);
        return false;
    }
    memcpy(elements, array->data, n_bytes);
    mdf_value_borrow_tensor(NULL, kept, (mdf_dtype)array->dtype, MDF_STRENGTH_TYPED, array->rank, mdf_value_shape(array),
                            elements);
    type->value = kept;
    return true;
}

/* Notes the one result of a call that hangs on what is known alone: the sizes that the next ones make arrays of. False: memory
 * ran out. */
static bool know_value(struct target *target, const struct call_types *call, const struct mdf_static_type *inputs,
                       struct mdf_static_type *output)
{
    struct mdf_arena *scratch = &target->compiler->scratch;
    struct mdf_value *values = mdf_arena_array(scratch, call->n_inputs, sizeof *values), result = {0};
    const struct mdf_value **given = mdf_arena_array(scratch, call->n_inputs, sizeof *given);
    int64_t n = count_elements(output);
    bool done = true;

    if (values == NULL || given == NULL) {
        compile_out_of_memory(target->compiler);
        return false;
    }
    for (size_t i = 0; i < call->n_inputs; i++) {
        given[i] = inputs[i].kind == MDF_STATIC_OMITTED ? NULL : &values[i];
        if (given[i] != NULL && !take_known(call, &inputs[i], i, &values[i])) {
            return true;
        }
    }
    if (n < 0 || n > MOST_KNOWN) {
        return true;
    }
    if (compute_known(target, call, given, &result) && result.kind == MDF_KIND_TENSOR && result.length == (size_t)n &&
        result.dtype == output->dtype && result.rank == output->rank) {
        done = keep_known(target, &result, output);
    }
    mdf_value_clear(target->compiler->memory, &result);
    return done && target->compiler->error->code != MDF_OUT_OF_MEMORY;
}

static bool may_know_value(const struct call_types *call, size_t n_outputs)
{
    const unsigned others = MDF_OPERATOR_AS_WRITTEN | MDF_OPERATOR_DERIVES | MDF_OPERATOR_MAPS | MDF_OPERATOR_MODIFIES;

    return n_outputs == 1 && call->n_inputs > 0 && call->n_bodies == 0 && call->row->kernel != NULL &&
           (call->row->flags & others) == 0;
}

static bool has_promise(const struct target *target, const struct call_types *call)
{
    for (size_t i = 0; i < call->n_bodies; i++) {
        if (call->bodies[i].promised != NULL) {
            return true;
        }
    }
    for (size_t i = 0; i < call->n_inputs; i++) {
        if (call->inputs[i] != MDF_NO_OPERAND && unit_has_promise(target->unit, call->inputs[i])) {
            return true;
        }
    }
    return false;
}

/* `promised`: what the outputs are if what bodies declare holds; nothing is refused for it. */
static bool infer(struct target *target, const struct call_types *call, const mdf_operand *outputs, size_t n_outputs,
                  bool promised)
{
    struct mdf_static_type *types = new_types(target, n_outputs);
    struct mdf_inference inference;

    if (types == NULL || !begin(target, call, promised, &inference)) {
        return false;
    }
    inference.outputs = types;
    inference.n_outputs = n_outputs;
    if (!mdf_infer_outputs(&inference)) {
        return (promised && inference.status != MDF_OUT_OF_MEMORY) || refuse(target, &inference);
    }
    if (may_know_value(call, n_outputs) && types[0].value == NULL && !know_value(target, call, inference.inputs, &types[0])) {
        return false;
    }
    for (size_t i = 0; i < n_outputs; i++) {
        (promised ? unit_promise_type : unit_set_type)(target->unit, outputs[i], &types[i]);
    }
    return true;
}

bool infer_outputs(struct target *target, const struct call_types *call, const mdf_operand *outputs, size_t n_outputs)
{
    return infer(target, call, outputs, n_outputs, false) &&
           (!has_promise(target, call) || infer(target, call, outputs, n_outputs, true));
}
