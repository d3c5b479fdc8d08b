/* frame.c - units at run time: slots, operands as pointers, and the loop over instructions. See code.h. */
#include "mdf_c/code/code.h"

#include "functions/elements/epilogue.h"
#include "functions/python/python.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* A call with its operands resolved. */
struct frame_call {
    struct mdf_call call;
    const struct mdf_signature *signature;
    const struct mdf_value **given;     /* the operands */
    const struct mdf_value **effective; /* what the kernel sees: the operands, or `converted` ones */
    struct mdf_value *converted;
    size_t n_inputs;
    /* Kinds, types, strengths and ranks that the inputs had when they last needed no conversion: while they are the same, the
     * signature need not be looked at. */
    uint64_t *stable_forms;
    bool is_stable, is_weak;
    bool may_have_scratch; /* it has run, or whoever runs it has asked for it, since the frame was forgotten */
    void *fast;            /* execution->run_fast's */
};

struct body_handle {
    struct mdf_body body;
    struct mdf_frame *frame;
};

struct mdf_frame {
    const struct mdf_code *code;
    struct mdf_execution *execution;
    struct mdf_value *slots;
    const struct mdf_value **captures;
    bool *capture_is_constant;
    struct frame_call *calls;
    struct body_handle *bodies;
};

const struct mdf_value *mdf_frame_value(const struct mdf_frame *frame, mdf_operand operand)
{
    uint32_t index = MDF_OPERAND_INDEX(operand);

    switch ((enum mdf_operand_kind)MDF_OPERAND_KIND(operand)) {
    case MDF_OPERAND_SLOT:
        return &frame->slots[index];
    case MDF_OPERAND_CONSTANT:
        return &frame->code->constants[index];
    case MDF_OPERAND_CAPTURE:
        return frame->captures[index];
    }
    return NULL;
}

/* Whether the operand never changes while the program lives. */
static bool is_constant(const struct mdf_frame *frame, mdf_operand operand)
{
    return MDF_OPERAND_KIND(operand) == MDF_OPERAND_CONSTANT ||
           (MDF_OPERAND_KIND(operand) == MDF_OPERAND_CAPTURE && frame->capture_is_constant[MDF_OPERAND_INDEX(operand)]);
}

struct mdf_value *mdf_frame_slot(struct mdf_frame *frame, mdf_operand slot)
{
    return &frame->slots[MDF_OPERAND_INDEX(slot)];
}

struct mdf_call *mdf_frame_call(struct mdf_frame *frame, size_t index)
{
    frame->calls[index].may_have_scratch = true;
    return &frame->calls[index].call;
}

void *mdf_frame_kept(const struct mdf_frame *frame, size_t index)
{
    return frame->calls[index].fast;
}

struct mdf_frame *mdf_frame_of_body(const struct mdf_frame *frame, size_t index)
{
    return frame->bodies[index].frame;
}

const struct mdf_code *mdf_frame_code(const struct mdf_frame *frame)
{
    return frame->code;
}

struct mdf_execution *mdf_frame_execution(const struct mdf_frame *frame)
{
    return frame->execution;
}

/* ------------------------------------------------------------------ building */

static bool run_watched_body(struct mdf_frame *frame)
{
    struct mdf_onlooker *onlooker;
    bool done = true;

    for (onlooker = frame->execution->onlookers; onlooker != NULL && done; onlooker = onlooker->next) {
        done = onlooker->body_begins(onlooker, frame);
    }
    done = done && mdf_frame_run(frame, 0, frame->code->n_instructions);
    for (onlooker = frame->execution->onlookers; onlooker != NULL && done; onlooker = onlooker->next) {
        done = onlooker->body_ends(onlooker, frame);
    }
    return done;
}

static bool run_body(struct mdf_body *body)
{
    struct mdf_frame *frame = body->evaluator;

    return frame->execution->onlookers != NULL ? run_watched_body(frame) : mdf_frame_run(frame, 0, frame->code->n_instructions);
}

static bool build_body(struct mdf_frame *outer, const struct mdf_code *code, struct body_handle *handle)
{
    struct mdf_arena *arena = &outer->execution->arena;
    struct mdf_value **inputs = mdf_arena_array(arena, code->n_formals, sizeof *inputs);
    const struct mdf_value **outputs = mdf_arena_array(arena, code->n_yields, sizeof *outputs);
    struct mdf_value **own = mdf_arena_array(arena, code->n_yields, sizeof *own);

    handle->frame = mdf_frame_new(outer->execution, code, outer);
    if (handle->frame == NULL || inputs == NULL || outputs == NULL || own == NULL) {
        return false;
    }
    for (size_t i = 0; i < code->n_formals; i++) {
        inputs[i] = mdf_frame_slot(handle->frame, code->formals[i]);
    }
    for (size_t i = 0; i < code->n_yields; i++) {
        outputs[i] = mdf_frame_value(handle->frame, code->yields[i]);
        own[i] = code->yield_is_own[i] ? mdf_frame_slot(handle->frame, code->yields[i]) : NULL;
    }
    handle->body =
        (struct mdf_body){code->n_formals, code->n_yields, inputs, outputs, own, code->yield_types, run_body, handle->frame};
    return code->program == NULL || outer->execution->attach(outer->execution->owner, code, handle->frame, &handle->body);
}

static bool build_call(struct mdf_frame *frame, const struct mdf_code_call *source, struct frame_call *target)
{
    struct mdf_arena *arena = &frame->execution->arena;
    struct mdf_value **outputs = mdf_arena_array(arena, source->n_outputs, sizeof *outputs);
    struct mdf_body **bodies = mdf_arena_array(arena, source->n_bodies, sizeof *bodies);
    bool *constants = mdf_arena_array(arena, source->n_inputs, sizeof *constants);

    target->given = mdf_arena_array(arena, source->n_inputs, sizeof *target->given);
    target->call.scratch = mdf_arena_array(arena, MDF_CALL_SCRATCH, sizeof *target->call.scratch);
    target->effective = target->given;
    if (outputs == NULL || bodies == NULL || constants == NULL || target->given == NULL || target->call.scratch == NULL) {
        return false;
    }
    if (source->signature != NULL) {
        target->effective = mdf_arena_array(arena, source->n_inputs, sizeof *target->effective);
        target->converted = mdf_arena_array(arena, source->n_inputs, sizeof *target->converted);
        target->stable_forms = mdf_arena_array(arena, source->n_inputs, sizeof *target->stable_forms);
        if (target->effective == NULL || target->converted == NULL || target->stable_forms == NULL) {
            return false;
        }
    }
    for (size_t i = 0; i < source->n_inputs; i++) {
        target->given[i] = source->inputs[i] == MDF_NO_OPERAND ? NULL : mdf_frame_value(frame, source->inputs[i]);
        constants[i] = source->inputs[i] != MDF_NO_OPERAND && is_constant(frame, source->inputs[i]);
    }
    for (size_t i = 0; i < source->n_outputs; i++) {
        outputs[i] = source->outputs[i] == MDF_NO_OPERAND ? NULL : mdf_frame_slot(frame, source->outputs[i]);
    }
    for (size_t i = 0; i < source->n_bodies; i++) {
        bodies[i] = source->bodies[i] == UINT32_MAX ? NULL : &frame->bodies[source->bodies[i]].body;
    }
    target->signature = source->signature;
    target->n_inputs = source->n_inputs;
    target->call.kernel = source->operator->kernel;
    target->call.operator= source->operator;
    target->call.settings = source->settings;
    target->call.inputs = target->effective;
    target->call.n_inputs = source->n_inputs;
    target->call.constants = constants;
    target->call.outputs = outputs;
    target->call.n_outputs = source->n_outputs;
    target->call.bodies = source->n_bodies > 0 ? bodies : NULL;
    target->call.context = &frame->execution->context;
    return true;
}

struct mdf_frame *mdf_frame_new(struct mdf_execution *execution, const struct mdf_code *code, struct mdf_frame *outer)
{
    struct mdf_arena *arena = &execution->arena;
    struct mdf_frame *frame = mdf_arena_allocate(arena, sizeof *frame);

    if (frame == NULL) {
        return NULL;
    }
    frame->code = code;
    frame->execution = execution;
    frame->slots = mdf_arena_array(arena, code->n_slots, sizeof *frame->slots);
    frame->captures = mdf_arena_array(arena, code->n_captures, sizeof *frame->captures);
    frame->capture_is_constant = mdf_arena_array(arena, code->n_captures, sizeof *frame->capture_is_constant);
    frame->calls = mdf_arena_array(arena, code->n_calls, sizeof *frame->calls);
    frame->bodies = mdf_arena_array(arena, code->n_bodies, sizeof *frame->bodies);
    if (frame->slots == NULL || frame->captures == NULL || frame->capture_is_constant == NULL || frame->calls == NULL ||
        frame->bodies == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < code->n_captures; i++) {
        frame->captures[i] = mdf_frame_value(outer, code->captures[i]);
        frame->capture_is_constant[i] = is_constant(outer, code->captures[i]);
    }
    for (size_t i = 0; i < code->n_bodies; i++) {
        if (!build_body(frame, code->bodies[i], &frame->bodies[i])) {
            return NULL;
        }
    }
    for (size_t i = 0; i < code->n_calls; i++) {
        if (!build_call(frame, &code->calls[i], &frame->calls[i])) {
            return NULL;
        }
    }
    return frame;
}

void mdf_frame_clear(struct mdf_frame *frame)
{
    struct mdf_memory *memory = frame->execution->context.memory;

    for (size_t i = 0; i < frame->code->n_slots; i++) {
        mdf_value_clear(memory, &frame->slots[i]);
    }
    for (size_t i = 0; i < frame->code->n_calls; i++) {
        struct frame_call *call = &frame->calls[i];

        for (size_t j = 0; j < MDF_CALL_SCRATCH && call->call.scratch != NULL; j++) {
            mdf_value_clear(memory, &call->call.scratch[j]);
        }
        for (size_t j = 0; call->converted != NULL && j < call->n_inputs; j++) {
            mdf_value_clear(memory, &call->converted[j]);
        }
        if (call->fast != NULL) {
            frame->execution->release_fast(call->fast);
        }
    }
    for (size_t i = 0; i < frame->code->n_bodies; i++) {
        mdf_frame_clear(frame->bodies[i].frame);
    }
}

static void forget(struct mdf_value *value)
{
    if (value->kind != MDF_KIND_NONE || value->length != 0 || (value->buffer == NULL && value->data != NULL)) {
        mdf_value_forget(value); /* most are nothing, of what has not run */
    }
}

void mdf_frame_forget(struct mdf_frame *frame)
{
    for (size_t i = 0; i < frame->code->n_slots; i++) {
        forget(&frame->slots[i]);
    }
    for (size_t i = 0; i < frame->code->n_calls; i++) {
        for (size_t j = 0; frame->calls[i].may_have_scratch && j < MDF_CALL_SCRATCH; j++) {
            forget(&frame->calls[i].call.scratch[j]);
        }
        frame->calls[i].may_have_scratch = false;
        if (frame->calls[i].fast != NULL) {
            frame->execution->renew_fast(frame->calls[i].fast);
        }
    }
    for (size_t i = 0; i < frame->code->n_bodies; i++) {
        mdf_frame_forget(frame->bodies[i].frame);
    }
}

/* What lies in the program's memory, large constants above all, is not copied. */
bool mdf_frame_copy_slot(struct mdf_frame *target, const struct mdf_frame *source, size_t slot)
{
    struct mdf_memory *memory = target->execution->context.memory;
    const struct mdf_value *from = &source->slots[slot];
    struct mdf_value *to = &target->slots[slot];

    if (from->kind == MDF_KIND_NONE) {
        forget(to);
        return true;
    }
    if (from->buffer != NULL && from->buffer->memory != source->execution->context.memory) {
        return mdf_value_share(memory, to, from);
    }
    return mdf_value_copy_apart(memory, to, from);
}

const char *mdf_body_node_at(const struct mdf_code *code, size_t at)
{
    const struct mdf_body_node *found = NULL;

    for (size_t i = 0; i < code->n_nodes; i++) {
        const struct mdf_body_node *node = &code->nodes[i];

        if (at >= node->first && at < node->end && (found == NULL || node->end - node->first < found->end - found->first)) {
            found = node;
        }
    }
    return found != NULL ? found->id : NULL;
}

const struct mdf_operator *mdf_code_find_flagged(const struct mdf_code *code, unsigned flags)
{
    const struct mdf_operator *found = NULL;

    for (size_t i = 0; i < code->n_calls && found == NULL; i++) {
        found = (code->calls[i].operator->flags & flags) != 0 ? code->calls[i].operator: NULL;
    }
    for (size_t i = 0; i < code->n_bodies && found == NULL; i++) {
        found = mdf_code_find_flagged(code->bodies[i], flags);
    }
    return found;
}

const struct mdf_operator *mdf_code_find_draw(const struct mdf_code *code)
{
    return mdf_code_find_flagged(code, MDF_OPERATOR_RANDOM);
}

void mdf_code_clear(struct mdf_memory *memory, struct mdf_code *code)
{
    for (size_t i = 0; i < code->n_constants; i++) {
        mdf_value_clear(memory, &code->constants[i]);
    }
    for (size_t i = 0; i < code->n_bodies; i++) {
        mdf_code_clear(memory, code->bodies[i]);
    }
}

/* ------------------------------------------------------------------ running */

static bool out_of_memory(struct mdf_context *context)
{
    mdf_memory_error(context->memory, &context->error);
    return false;
}

/* `target` becomes a view of `source`. A buffer of target's own is let go. Of a list it becomes an owner, so that what is made of
 * the view (a sequence with one item more) may share the items instead of copying them. */
static void borrow(struct mdf_context *context, struct mdf_value *target, const struct mdf_value *source)
{
    if (source->kind == MDF_KIND_LIST && source->buffer != NULL) {
        mdf_value_share(context->memory, target, source);
        return;
    }
    if (target->buffer != NULL) {
        mdf_value_clear(context->memory, target);
    }
    *target = *source;
    target->buffer = NULL;
}

static bool borrow_as_array(struct mdf_context *context, struct mdf_value *target, const struct mdf_value *source)
{
    if (source->kind == MDF_KIND_LIST && source->dtype == MDF_DTYPE_NONE) {
        int made = mdf_value_from_nested_list(context->memory, target, source);

        if (made != 0) {
            return made > 0 || out_of_memory(context);
        }
    }
    borrow(context, target, source);
    return true;
}

/* The element type that a value of a declared type gets; MDF_DTYPE_NONE: the one it has. It never hangs on what the elements are,
 * so that a port has the same type in all steps. */
static mdf_dtype declared_dtype(const struct mdf_value *source, const struct mdf_declared_type *type)
{
    char have = mdf_dtype_kind(source->dtype), want = mdf_dtype_kind(type->dtype);

    if (source->kind != MDF_KIND_TENSOR || type->dtype == MDF_DTYPE_NONE || source->dtype == type->dtype || have == 's' ||
        want == 's') {
        return MDF_DTYPE_NONE;
    }
    if (type->exact) {
        return type->dtype;
    }
    return want == 'f' && (have == 'i' || have == 'u' || have == 'b') ? type->dtype : MDF_DTYPE_NONE;
}

/* Whether one is a text where the other is none. */
static bool differs_in_text(const struct mdf_value *array, const struct mdf_declared_type *type)
{
    return type->exact && type->dtype != MDF_DTYPE_NONE && !type->sequence &&
           (mdf_dtype_kind((mdf_dtype)array->dtype) == 's') != (mdf_dtype_kind(type->dtype) == 's');
}

/* Why an array is not converted to `dtype`, which a declared type asks for, in words; NULL: it is. */
static const char *misfit(const struct mdf_value *array, mdf_dtype dtype)
{
    mdf_dtype from = (mdf_dtype)array->dtype;
    size_t size = mdf_dtype_size(from), i;
    char want = mdf_dtype_kind(dtype);

    if (mdf_dtype_kind(from) == 'c' && dtype != MDF_DTYPE_NONE && want != 'c') {
        return "a complex number";
    }
    for (i = 0; (want == 'i' || want == 'u') && i < array->length; i++) {
        const char *element = (const char *)array->data + i * size;
        double number = mdf_element_to_double(from, element);

        if (!mdf_dtype_holds(dtype, from, element)) {
            return isfinite(number) && number == floor(number) ? "a number out of bounds" : "a value with a fraction";
        }
    }
    return NULL;
}

static bool fits_declared(struct mdf_context *context, const struct mdf_value *value, const struct mdf_declared_type *type,
                          mdf_dtype dtype)
{
    const char *what = NULL;
    char description[80];

    if (value->kind == MDF_KIND_TENSOR) {
        what = !differs_in_text(value, type) ? misfit(value, dtype) : value->dtype == MDF_DTYPE_STRING ? "a text" : "a number";
    }
    if (what == NULL) {
        return true;
    }
    mdf_value_describe(value, description, sizeof description);
    mdf_error_set(&context->error, MDF_TYPE, "%s (%s) does not fit the declared type %s", what, description,
                  mdf_dtype_name(type->dtype));
    return false;
}

/* A list of numbers under the type of an array is that array. `made`: false where the list is none. */
static bool declare_list(struct mdf_context *context, struct mdf_value *target, const struct mdf_value *list,
                         const struct mdf_declared_type *type, bool *made)
{
    struct mdf_value array = {0};
    int is_array = mdf_value_from_nested_list(context->memory, &array, list);
    bool done = is_array >= 0 || out_of_memory(context);

    *made = is_array > 0;
    done = done && (!*made || mdf_declare_value(context, target, &array, type, false));
    mdf_value_clear(context->memory, &array);
    return done;
}

bool mdf_declare_value(struct mdf_context *context, struct mdf_value *target, const struct mdf_value *source,
                       const struct mdf_declared_type *type, bool borrowing)
{
    mdf_dtype dtype = declared_dtype(source, type);

    if (mdf_is_other_sequence(source, type)) {
        return mdf_declare_sequence(context, target, source, type);
    }
    if (type->map && source->kind == MDF_KIND_DICT) {
        return mdf_declare_map(context, target, source, type);
    }
    if (source->kind == MDF_KIND_LIST && source->dtype == MDF_DTYPE_NONE && type->dtype != MDF_DTYPE_NONE && !type->sequence) {
        bool made, done = declare_list(context, target, source, type, &made);

        if (!done || made) {
            return done;
        }
    }
    if (!fits_declared(context, source, type, dtype)) {
        return false;
    }
    if (dtype == MDF_DTYPE_NONE) {
        if (borrowing) {
            borrow(context, target, source);
        } else if (!mdf_value_copy(context->memory, target, source)) {
            return out_of_memory(context);
        }
    } else if (!mdf_value_convert(context->memory, target, source, dtype)) {
        return out_of_memory(context);
    }
    if (type->exact && target->kind == MDF_KIND_TENSOR && target->dtype == type->dtype) {
        target->strength = MDF_STRENGTH_TYPED;
    }
    if (type->sequence && target->kind == MDF_KIND_LIST && target->dtype == MDF_DTYPE_NONE) {
        target->dtype = (uint8_t)type->dtype; /* an empty list does not say what it is a sequence of */
    }
    return true;
}

bool mdf_declare_swap(struct mdf_value *target, struct mdf_value *source, const struct mdf_declared_type *type)
{
    if (source->kind != MDF_KIND_TENSOR || type->sequence || differs_in_text(source, type) ||
        declared_dtype(source, type) != MDF_DTYPE_NONE) {
        return false;
    }
    mdf_value_swap(target, source);
    if (type->exact && target->dtype == type->dtype) {
        target->strength = MDF_STRENGTH_TYPED;
    }
    return true;
}

/* Kind, type, strength and rank in one word; of an omitted input a word that no value has. */
static uint64_t form_of(const struct mdf_value *value)
{
    uint64_t form = UINT64_MAX;

    if (value != NULL) {
        memcpy(&form, value, sizeof form);
    }
    return form;
}

static_assert(offsetof(struct mdf_value, length) == sizeof(uint64_t),
              "kind, type, strength and rank are the first word of a value");

static bool has_stable_forms(const struct frame_call *call)
{
    for (size_t i = 0; i < call->n_inputs; i++) {
        if (form_of(call->given[i]) != call->stable_forms[i]) {
            return false;
        }
    }
    return call->is_stable;
}

static bool coerce_inputs(struct frame_call *call)
{
    call->is_stable = false; /* where it fails, some inputs are those of no call */
    if (!mdf_coerce_inputs(&call->call, call->signature, call->given, call->effective, call->converted)) {
        return false;
    }
    call->is_stable = call->is_weak = true;
    for (size_t i = 0; i < call->n_inputs; i++) {
        call->stable_forms[i] = form_of(call->given[i]);
        call->is_stable = call->is_stable && call->effective[i] == call->given[i];
        call->is_weak = call->is_weak && (call->given[i] == NULL || call->given[i]->strength != MDF_STRENGTH_TYPED);
    }
    return true;
}

/* What a kernel has made or says after it left work out, being asked to stop, is of no account. */
static bool run_kernel(struct mdf_call *call)
{
    bool done = call->kernel(call);
    struct mdf_context *context = call->context;

    return mdf_stop_is_untold(context->stop) ? mdf_stop_tell(context->stop, &context->error) : done;
}

static bool run_call(struct frame_call *call)
{
    call->may_have_scratch = true;
    if (call->signature == NULL) {
        return run_kernel(&call->call);
    }
    if ((!has_stable_forms(call) && !coerce_inputs(call)) || !run_kernel(&call->call)) {
        return false;
    }
    if (call->is_weak) {
        mdf_weaken_outputs(&call->call);
    }
    return true;
}

static bool run_call_some_way(struct mdf_frame *frame, size_t at, bool *was_fast)
{
    struct frame_call *call = &frame->calls[frame->code->instructions[at].target];

    if (call->call.epilogue != NULL) {
        call->call.epilogue->is_done = false;
    }
    *was_fast =
        call->call.bodies != NULL && frame->execution->run_fast != NULL && frame->execution->run_fast(frame, at, &call->fast);
    return *was_fast || run_call(call);
}

static bool run_watched_call(struct mdf_frame *frame, size_t at)
{
    struct mdf_onlooker *onlooker;
    bool done = true, was_fast;

    for (onlooker = frame->execution->onlookers; onlooker != NULL && done; onlooker = onlooker->next) {
        done = onlooker->call_begins(onlooker, frame, at);
    }
    done = done && run_call_some_way(frame, at, &was_fast);
    for (onlooker = frame->execution->onlookers; onlooker != NULL && done; onlooker = onlooker->next) {
        done = onlooker->call_ends(onlooker, frame, at, was_fast);
    }
    return done;
}

static bool run_call_at(struct mdf_frame *frame, size_t at)
{
    bool was_fast;

    return frame->execution->onlookers != NULL ? run_watched_call(frame, at) : run_call_some_way(frame, at, &was_fast);
}

static bool truth(struct mdf_context *context, const struct mdf_value *value, bool *result)
{
    int truth = mdf_value_truth(value);
    char description[80];

    if (truth < 0) {
        mdf_value_describe(value, description, sizeof description);
        mdf_error_set(&context->error, MDF_VALUE,
                      "the truth of an array with several elements (%s) is ambiguous: use numpy.any or numpy.all", description);
        return false;
    }
    *result = truth == 1;
    return true;
}

/* Item number `counter` of an iterable; *more is false past the last. */
static bool next_item(struct mdf_frame *frame, const struct mdf_instruction *instruction, bool *more)
{
    struct mdf_context *context = &frame->execution->context;
    const struct mdf_value *iterable = mdf_frame_value(frame, instruction->b);
    struct mdf_value *counter = mdf_frame_slot(frame, instruction->c);
    int64_t index = *(const int64_t *)counter->data, *next;

    if (!mdf_python_is_iterable(iterable)) {
        char description[80];

        mdf_value_describe(iterable, description, sizeof description);
        mdf_error_set(&context->error, MDF_TYPE, "a comprehension can not go through %s", description);
        return false;
    }
    *more = mdf_python_length(iterable) > (size_t)index;
    if (!*more) {
        return true;
    }
    next = mdf_value_writable(context->memory, counter); /* at its start it shares the buffer of a constant */
    if (next == NULL) {
        return out_of_memory(context);
    }
    *next = index + 1;
    return mdf_python_item(context->memory, mdf_frame_slot(frame, instruction->a), iterable, (size_t)index) ||
           out_of_memory(context);
}

/* Runs one instruction; *next is where to go on. */
static bool step(struct mdf_frame *frame, const struct mdf_instruction *instruction, size_t *next)
{
    struct mdf_context *context = &frame->execution->context;
    struct mdf_value *a = MDF_OPERAND_KIND(instruction->a) == MDF_OPERAND_SLOT ? mdf_frame_slot(frame, instruction->a) : NULL;
    bool is_true;

    switch ((enum mdf_opcode)instruction->opcode) {
    case MDF_OPCODE_CALL:
        return run_call(&frame->calls[instruction->target]);
    case MDF_OPCODE_COPY:
        return mdf_value_copy(context->memory, a, mdf_frame_value(frame, instruction->b)) || out_of_memory(context);
    case MDF_OPCODE_BORROW:
        borrow(context, a, mdf_frame_value(frame, instruction->b));
        return true;
    case MDF_OPCODE_ARRAY:
        return borrow_as_array(context, a, mdf_frame_value(frame, instruction->b));
    case MDF_OPCODE_DECLARE:
        return mdf_declare_value(context, a, mdf_frame_value(frame, instruction->b), &frame->code->declarations[instruction->c],
                                 true);
    case MDF_OPCODE_SWAP:
        mdf_value_swap(a, mdf_frame_slot(frame, instruction->b));
        return true;
    case MDF_OPCODE_JUMP:
        *next = instruction->target;
        return true;
    case MDF_OPCODE_JUMP_IF:
    case MDF_OPCODE_JUMP_UNLESS:
        if (!truth(context, mdf_frame_value(frame, instruction->a), &is_true)) {
            return false;
        }
        if (is_true == (instruction->opcode == MDF_OPCODE_JUMP_IF)) {
            *next = instruction->target;
        }
        return true;
    case MDF_OPCODE_JUMP_WITHOUT_DT:
        if (isnan(frame->execution->dt)) {
            *next = instruction->target;
        }
        return true;
    case MDF_OPCODE_LIST:
        return mdf_value_make_list(context->memory, a, 0) != NULL || out_of_memory(context);
    case MDF_OPCODE_APPEND:
        return mdf_value_append(context->memory, a, mdf_frame_value(frame, instruction->b)) || out_of_memory(context);
    case MDF_OPCODE_NEXT:
        if (!next_item(frame, instruction, &is_true)) {
            return false;
        }
        if (!is_true) {
            *next = instruction->target;
        }
        return true;
    case MDF_OPCODE_GRAPH:
        return frame->bodies[instruction->target].body.run(&frame->bodies[instruction->target].body);
    case MDF_OPCODE_YIELD:
        borrow(context, a, frame->bodies[instruction->target].body.outputs[instruction->c]);
        return true;
    }
    return true;
}

bool mdf_frame_run(struct mdf_frame *frame, size_t first, size_t end)
{
    const struct mdf_instruction *instructions = frame->code->instructions;
    const struct mdf_origin *origin;
    mdf_error *error = &frame->execution->context.error;
    size_t at = first, next;
    bool done;

    while (at < end) {
        next = at + 1;
        done = instructions[at].opcode == MDF_OPCODE_CALL ? run_call_at(frame, at) : step(frame, &instructions[at], &next);
        if ((done && next <= at && mdf_should_stop(&frame->execution->context)) ||
            (!done && mdf_stop_is_untold(frame->execution->context.stop))) {
            done = mdf_stop_tell(frame->execution->context.stop, error);
        }
        if (!done) {
            origin = &frame->code->origins[instructions[at].origin];
            mdf_error_at(error, origin->file, origin->line, origin->column);
            mdf_error_in(error, "%s", origin->path);
            return false;
        }
        at = next;
    }
    return true;
}
