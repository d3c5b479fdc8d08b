/* loop_segments.c - see loop_segments.h.
 *
 * Comes in: the call of a Loop of m iterations, whose body stands in the unit already. Goes out: a Loop of about √m iterations,
 * whose body is the Loop of about √m others, and one of those that are left over; what they stack is put together. The number of
 * an iteration is that of the inner one, and where it begins: a state of the outer one. */
#include "mdf_c/plan/gradient/loop_segments.h"

#include "mdf_c/plan/made_loop.h"

#include "functions/python/python.h"

#include <string.h>

enum { FEW_ITERATIONS = 16, INPUT_COUNT = 0, INPUT_CONDITION, FIRST_STATE };

struct segments {
    struct target *target;
    const struct mdf_code_call *call;
    const struct mdf_code *body;
    size_t n_states, n_stacks;
    uint64_t n, size, rest; /* n segments of that size, and the rest */
};

static bool out_of_memory(struct target *target)
{
    compile_out_of_memory(target->compiler);
    return false;
}

static const struct mdf_value *constant_of(const struct target *target, mdf_operand operand)
{
    return operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_CONSTANT
               ? (const struct mdf_value *)target->unit->constants.items + MDF_OPERAND_INDEX(operand)
               : NULL;
}

static bool draws(const struct mdf_code *code)
{
    for (size_t i = 0; i < code->n_calls; i++) {
        if ((code->calls[i].operator->flags & MDF_OPERATOR_AS_WRITTEN) != 0) {
            return true;
        }
    }
    for (size_t i = 0; i < code->n_bodies; i++) {
        if (draws(code->bodies[i])) {
            return true;
        }
    }
    return false;
}

/* Whether the call is such a Loop: then `segments` is it. */
static bool is_long(struct target *target, const struct mdf_code_call *call, struct segments *segments)
{
    const struct mdf_value *condition, *count;
    double m = 0;

    if (strcmp(call->operator->name, "Loop") != 0 || call->operator->since == 0 || call->n_bodies != 1 ||
                                                     call->bodies[0] == UINT32_MAX || call->n_inputs<FIRST_STATE) {
        return false;
    }
    *segments = (struct segments){.target = target,
                                  .call = call,
                                  .body = ((struct mdf_code **)target->unit->bodies.items)[call->bodies[0]],
                                  .n_states = call->n_inputs - FIRST_STATE};
    count = constant_of(target, call->inputs[INPUT_COUNT]);
    condition = constant_of(target, call->inputs[INPUT_CONDITION]);
    if (count == NULL || !mdf_value_number_at(count, NULL, 0, &m) || m < FEW_ITERATIONS || m > (double)INT32_MAX ||
        (call->inputs[INPUT_CONDITION] != MDF_NO_OPERAND && (condition == NULL || mdf_value_truth(condition) != 1)) ||
        call->n_outputs < segments->n_states || draws(segments->body) || !loop_goes_on(target->unit, segments->body)) {
        return false;
    }
    segments->n_stacks = call->n_outputs - segments->n_states;
    for (segments->size = 1; segments->size * segments->size < (uint64_t)m; segments->size++) {
    }
    segments->n = (uint64_t)m / segments->size;
    segments->rest = (uint64_t)m % segments->size;
    return true;
}

static mdf_operand add_count(struct target *target, uint64_t n)
{
    struct mdf_value count = {0};

    if (!mdf_value_make_int(target->compiler->memory, &count, (int64_t)n)) {
        return compile_out_of_memory(target->compiler);
    }
    count.strength = MDF_STRENGTH_TYPED;
    return unit_add_constant(target, &count, 0);
}

/* Puts in front of a body: its number is one more slot, plus the last capture. */
static bool shift_number(struct compiler *compiler, struct mdf_code *code)
{
    struct mdf_instruction *instructions = mdf_arena_array(compiler->arena, code->n_instructions + 1, sizeof *instructions);
    struct mdf_code_call *calls = mdf_arena_array(compiler->arena, code->n_calls + 1, sizeof *calls);
    mdf_operand *formals = mdf_arena_array(compiler->arena, code->n_formals, sizeof *formals),
                *operands = mdf_arena_array(compiler->arena, 3, sizeof *operands);

    if (instructions == NULL || calls == NULL || formals == NULL || operands == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    memcpy(formals, code->formals, code->n_formals * sizeof *formals);
    operands[0] = MDF_OPERAND(MDF_OPERAND_SLOT, code->n_slots++);
    operands[1] = MDF_OPERAND(MDF_OPERAND_CAPTURE, code->n_captures - 1);
    operands[2] = formals[0];
    formals[0] = operands[0];
    if (code->n_calls > 0) {
        memcpy(calls, code->calls, code->n_calls * sizeof *calls);
    }
    calls[code->n_calls] = (struct mdf_code_call){
        .operator= mdf_operator_python(PYTHON_ADD), .inputs = operands, .n_inputs = 2, .outputs = operands + 2, .n_outputs = 1};
    instructions[0] =
        (struct mdf_instruction){.opcode = MDF_OPCODE_CALL, .target = (uint32_t)code->n_calls, .origin = compiler->origin};
    for (size_t i = 0; i < code->n_instructions; i++) {
        instructions[i + 1] = code->instructions[i];
        instructions[i + 1].target += unit_is_jump(&code->instructions[i]);
    }
    code->instructions = instructions;
    code->n_instructions++;
    code->calls = calls;
    code->n_calls++;
    code->formals = formals;
    code->n_names = code->n_nodes = 0;
    return true;
}

/* The body once more for a call in the unit of `target`, whose iterations begin at the number `first`. */
static struct mdf_code *copy_body(const struct segments *segments, struct target *target, mdf_operand first)
{
    struct compiler *compiler = target->compiler;
    struct mdf_code *copy = unit_copy_code(compiler, segments->body);
    mdf_operand *captures = copy != NULL ? mdf_arena_array(compiler->arena, copy->n_captures + 1, sizeof *captures) : NULL;
    bool done = captures != NULL;

    for (size_t i = 0; done && i < copy->n_captures; i++) {
        captures[i] = unit_capture(target, target->unit, segments->target->unit, copy->captures[i]);
        done = captures[i] != MDF_NO_OPERAND;
    }
    if (done) {
        captures[copy->n_captures++] = first;
        copy->captures = captures;
        done = shift_number(compiler, copy);
    }
    if (copy != NULL && !done) {
        out_of_memory(target);
        mdf_code_clear(compiler->memory, copy);
    }
    return done ? copy : NULL;
}

/* So many iterations, from `first` on, in the unit of `target`. */
static bool emit_part(const struct segments *segments, struct target *target, mdf_operand first, uint64_t n,
                      const mdf_operand *states, const mdf_operand *outputs)
{
    struct compiler *compiler = target->compiler;
    struct mdf_code_call call = *segments->call;
    mdf_operand *inputs = mdf_arena_array(&compiler->scratch, call.n_inputs, sizeof *inputs);
    uint32_t *index = mdf_arena_allocate(compiler->arena, sizeof *index);
    struct mdf_code *copy = inputs != NULL && index != NULL ? copy_body(segments, target, first) : NULL;

    if (copy == NULL) {
        return out_of_memory(target);
    }
    *index = (uint32_t)target->unit->bodies.n;
    if (!list_add(compiler, &target->unit->bodies, &copy, sizeof copy)) {
        mdf_code_clear(compiler->memory, copy);
        return false;
    }
    inputs[INPUT_COUNT] = add_count(target, n);
    inputs[INPUT_CONDITION] = MDF_NO_OPERAND;
    memcpy(inputs + FIRST_STATE, states, segments->n_states * sizeof *states);
    call.inputs = inputs;
    call.outputs = outputs;
    call.bodies = index;
    return inputs[INPUT_COUNT] != MDF_NO_OPERAND && unit_emit_call(target, &call);
}

static mdf_operand *new_slots(struct target *target, size_t n)
{
    mdf_operand *slots = mdf_arena_array(&target->compiler->scratch, n + 1, sizeof *slots);

    for (size_t i = 0; slots != NULL && i < n; i++) {
        slots[i] = unit_new_slot(target, 0);
        if (slots[i] == MDF_NO_OPERAND) {
            return NULL;
        }
    }
    if (slots == NULL) {
        out_of_memory(target);
    }
    return slots;
}

static bool add_all(struct compiler *compiler, struct list *list, const mdf_operand *operands, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!list_add(compiler, list, &operands[i], sizeof *operands)) {
            return false;
        }
    }
    return true;
}

/* The body of the outer Loop: the number where it begins, and the states, go round. */
static struct mdf_code *make_segment(const struct segments *segments, struct unit *unit)
{
    struct target *outer = segments->target, inner = {outer->compiler, unit, outer->scope};
    mdf_operand *formals = new_slots(&inner, 1 + segments->n_states), *outputs = new_slots(&inner, segments->call->n_outputs),
                size = add_count(&inner, segments->size), next;
    struct list all = {0}, yields = {0};

    if (formals == NULL || outputs == NULL || size == MDF_NO_OPERAND ||
        !emit_part(segments, &inner, formals[0], segments->size, formals + 1, outputs)) {
        return NULL;
    }
    next = unit_call_two(&inner, PYTHON_ADD, formals[0], size, MDF_NO_OPERAND);
    return next != MDF_NO_OPERAND && add_all(outer->compiler, &all, formals, 1 + segments->n_states) &&
                   add_all(outer->compiler, &yields, &next, 1) &&
                   add_all(outer->compiler, &yields, outputs, segments->call->n_outputs)
               ? made_loop_body(&inner, &all, &yields, MDF_NO_OPERAND, "segment")
               : NULL;
}

/* What segments have stacked, and the rest, as one stack, which goes to `output`. */
static bool join_stacks(const struct segments *segments, mdf_operand stacked, mdf_operand rest, mdf_operand output)
{
    struct scope scope = {.unit = segments->target->unit};
    struct target target = {segments->target->compiler, segments->target->unit, &scope};
    const char *text =
        mdf_arena_printf(&target.compiler->scratch,
                         rest != MDF_NO_OPERAND ? "numpy.concatenate([numpy.reshape(a, (%llu,) + a.shape[2:]), b], 0)"
                                                : "numpy.reshape(a, (%llu,) + a.shape[2:])",
                         (unsigned long long)(segments->n * segments->size));
    mdf_operand joined;

    if (text == NULL) {
        return out_of_memory(&target);
    }
    if (!scope_bind(target.compiler, &scope, "a", stacked) ||
        (rest != MDF_NO_OPERAND && !scope_bind(target.compiler, &scope, "b", rest))) {
        return false;
    }
    joined = compile_text(&target, text, MDF_NO_OPERAND);
    return joined != MDF_NO_OPERAND && unit_emit(&target, MDF_OPCODE_COPY, output, joined, 0);
}

/* The outer Loop, whose states end as outputs[1], ..., and whose stacks stand behind them. */
static bool emit_segments(const struct segments *segments, const mdf_operand *outputs)
{
    struct target *target = segments->target;
    struct unit unit = {.outer = target->unit};
    struct mdf_code *code = make_segment(segments, &unit);
    mdf_operand *states = mdf_arena_array(&target->compiler->scratch, 1 + segments->n_states, sizeof *states);

    unit_clear(target->compiler, &unit);
    if (code == NULL) {
        return false;
    }
    if (states != NULL) {
        states[0] = add_count(target, 0);
        memcpy(states + 1, segments->call->inputs + FIRST_STATE, segments->n_states * sizeof *states);
    }
    if (states == NULL || states[0] == MDF_NO_OPERAND) {
        mdf_code_clear(target->compiler->memory, code);
        return out_of_memory(target);
    }
    return made_loop_emit_stacking(target, code, segments->n, MDF_NO_OPERAND, states, outputs, 1 + segments->n_states,
                                   1 + segments->call->n_outputs);
}

static bool emit_all(const struct segments *segments)
{
    const struct mdf_code_call *call = segments->call;
    struct target *target = segments->target;
    mdf_operand *outputs = new_slots(target, 1 + call->n_outputs), *rest = new_slots(target, call->n_outputs), first;

    if (outputs == NULL || rest == NULL) {
        return false;
    }
    for (size_t i = 0; i < segments->n_states; i++) { /* where there is a rest, its states are the last ones */
        mdf_operand *last = segments->rest > 0 ? &rest[i] : &outputs[1 + i];

        *last = call->outputs[i] != MDF_NO_OPERAND ? call->outputs[i] : *last;
    }
    if (!emit_segments(segments, outputs)) {
        return false;
    }
    if (segments->rest > 0) {
        first = add_count(target, segments->n * segments->size);
        if (first == MDF_NO_OPERAND || !emit_part(segments, target, first, segments->rest, outputs + 1, rest)) {
            return false;
        }
    }
    for (size_t i = segments->n_states; i < call->n_outputs; i++) {
        if (call->outputs[i] != MDF_NO_OPERAND &&
            !join_stacks(segments, outputs[1 + i], segments->rest > 0 ? rest[i] : MDF_NO_OPERAND, call->outputs[i])) {
            return false;
        }
    }
    return true;
}

bool segments_emit_call(struct target *target, const struct mdf_code_call *call)
{
    const struct mdf_code_call kept = *call; /* the list of calls grows */
    struct segments segments;

    return is_long(target, &kept, &segments) ? emit_all(&segments) : unit_emit_call(target, call);
}
