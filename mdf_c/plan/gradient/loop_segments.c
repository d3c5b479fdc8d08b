/* loop_segments.c - see loop_segments.h.
 *
 * Comes in: the call of a Loop or Scan of m iterations, whose body stands in the unit already. Goes out: one of about √m
 * iterations, whose body is one of about √m others, and one of those that are left over; what they stack is put together. The
 * number of an iteration of a Loop is that of the inner one, and where it begins: a state of the outer one; what a Scan goes
 * through has one axis more. */
#include "mdf_c/plan/gradient/loop_segments.h"

#include "mdf_c/plan/gradient/gradient_control.h"
#include "mdf_c/plan/made_loop.h"

#include "functions/kernel/setting.h"
#include "functions/python/python.h"

#include <string.h>

enum { FEW_ITERATIONS = 16, INPUT_COUNT = 0, INPUT_CONDITION, FIRST_STATE };

struct segments {
    struct target *target;
    const struct mdf_code_call *call;
    const struct mdf_code *body;
    bool is_scan;
    size_t first_state, n_states, n_scanned;
    uint64_t n, size, rest; /* n segments of that size, and the rest */
};

static bool out_of_memory(struct target *target)
{
    compile_out_of_memory(target->compiler);
    return false;
}

/* The number of iterations of a Loop that is known and reached; 0: it is not. */
static double count_of_loop(struct target *target, const struct segments *segments)
{
    const struct mdf_code_call *call = segments->call;
    const struct mdf_value *count = unit_constant(target->unit, call->inputs[INPUT_COUNT]),
                           *condition = unit_constant(target->unit, call->inputs[INPUT_CONDITION]);
    bool begins = call->inputs[INPUT_CONDITION] == MDF_NO_OPERAND || (condition != NULL && mdf_value_truth(condition) == 1);
    double m = 0;

    return count != NULL && mdf_value_number_at(count, NULL, 0, &m) && begins && loop_goes_on(target->unit, segments->body) ? m
                                                                                                                            : 0;
}

/* The same of a Scan along first axes, forward. */
static double count_of_scan(const struct mdf_static_type *types, const struct segments *segments)
{
    const struct mdf_code_call *call = segments->call;
    const struct mdf_static_type type = types[segments->n_states];

    for (size_t i = 0; i < segments->n_scanned; i++) {
        if (gradient_entry(call, "scan_input_axes", i) != 0 || gradient_entry(call, "scan_input_directions", i) != 0) {
            return 0;
        }
    }
    for (size_t i = 0; i + segments->n_states < call->n_outputs; i++) {
        if (gradient_entry(call, "scan_output_axes", i) != 0 || gradient_entry(call, "scan_output_directions", i) != 0) {
            return 0;
        }
    }
    return type.has_shape && type.rank > 0 ? (double)type.shape[0] : 0;
}

/* What a call is made of; false: it is no Loop or Scan. */
static bool take_apart(struct target *target, const struct mdf_code_call *call, struct segments *segments)
{
    bool is_loop = gradient_is_loop(call), is_scan = gradient_is_scan(call);
    int64_t n_scanned;

    if ((!is_loop && !is_scan) || call->n_bodies != 1 || call->bodies[0] == UINT32_MAX) {
        return false;
    }
    n_scanned = is_scan ? *(const int64_t *)mdf_setting_field(call->operator, call->settings, "num_scan_inputs") : 0;
    *segments = (struct segments){.target = target,
                                  .call = call,
                                  .body = ((struct mdf_code **)target->unit->bodies.items)[call->bodies[0]],
                                  .is_scan = is_scan,
                                  .first_state = is_loop ? FIRST_STATE : 0,
                                  .n_scanned = (size_t)n_scanned};
    if (call->n_inputs < segments->first_state + segments->n_scanned || (is_scan && n_scanned < 1)) {
        return false;
    }
    segments->n_states = call->n_inputs - segments->first_state - segments->n_scanned;
    return call->n_outputs >= segments->n_states;
}

/* Whether the call is such a Loop or Scan: then `segments` is it. */
static bool is_long(struct target *target, const struct mdf_code_call *call, const struct mdf_static_type *types,
                    struct segments *segments)
{
    double m;

    if (!take_apart(target, call, segments) || mdf_code_find_flagged(segments->body, MDF_OPERATOR_AS_WRITTEN) != NULL) {
        return false;
    }
    m = segments->is_scan ? count_of_scan(types, segments) : count_of_loop(target, segments);
    if (!(m >= FEW_ITERATIONS && m <= (double)INT32_MAX)) {
        return false;
    }
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

/* The body once more for a call in the unit of `target`, whose iterations begin at the number `first`; MDF_NO_OPERAND: they have
 * none. */
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
        copy->captures = captures;
    }
    if (done && first != MDF_NO_OPERAND) {
        captures[copy->n_captures++] = first;
        done = shift_number(compiler, copy);
    }
    if (copy != NULL && !done) {
        out_of_memory(target);
        mdf_code_clear(compiler->memory, copy);
    }
    return done ? copy : NULL;
}

/* The same call in the unit of `target`, with another body, which it takes. */
static bool emit_call(const struct segments *segments, struct target *target, struct mdf_code *body, const mdf_operand *inputs,
                      const mdf_operand *outputs)
{
    struct compiler *compiler = target->compiler;
    struct mdf_code_call call = *segments->call;
    uint32_t *index = mdf_arena_allocate(compiler->arena, sizeof *index);

    if (index == NULL || !list_add(compiler, &target->unit->bodies, &body, sizeof body)) {
        mdf_code_clear(compiler->memory, body);
        return out_of_memory(target);
    }
    *index = (uint32_t)target->unit->bodies.n - 1;
    call.inputs = inputs;
    call.outputs = outputs;
    call.bodies = index;
    return unit_emit_call(target, &call);
}

/* So many iterations, from `first` on, in the unit of `target`; `inputs` are states, and what is scanned. */
static bool emit_part(const struct segments *segments, struct target *target, mdf_operand first, uint64_t n,
                      const mdf_operand *inputs, const mdf_operand *outputs)
{
    mdf_operand *all = mdf_arena_array(&target->compiler->scratch, segments->call->n_inputs, sizeof *all);
    struct mdf_code *copy = all != NULL ? copy_body(segments, target, first) : NULL;

    if (copy == NULL) {
        return out_of_memory(target);
    }
    memcpy(all + segments->first_state, inputs, (segments->n_states + segments->n_scanned) * sizeof *all);
    if (!segments->is_scan) {
        all[INPUT_COUNT] = add_count(target, n);
        all[INPUT_CONDITION] = MDF_NO_OPERAND;
    }
    if (!segments->is_scan && all[INPUT_COUNT] == MDF_NO_OPERAND) {
        mdf_code_clear(target->compiler->memory, copy);
        return false;
    }
    return emit_call(segments, target, copy, all, outputs);
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
static struct mdf_code *finish_loop(const struct segments *segments, struct target *inner, mdf_operand first,
                                    const mdf_operand *inputs, const mdf_operand *outputs)
{
    struct compiler *compiler = inner->compiler;
    mdf_operand size = add_count(inner, segments->size),
                next = size != MDF_NO_OPERAND ? unit_call_two(inner, PYTHON_ADD, first, size, MDF_NO_OPERAND) : size;
    struct list formals = {0}, yields = {0};

    return next != MDF_NO_OPERAND && add_all(compiler, &formals, &first, 1) &&
                   add_all(compiler, &formals, inputs, segments->n_states) && add_all(compiler, &yields, &next, 1) &&
                   add_all(compiler, &yields, outputs, segments->call->n_outputs)
               ? made_loop_body(inner, &formals, &yields, MDF_NO_OPERAND, "segment")
               : NULL;
}

static struct mdf_code *finish_scan(const struct segments *segments, struct target *inner, const mdf_operand *inputs,
                                    const mdf_operand *outputs)
{
    struct compiler *compiler = inner->compiler;
    struct list formals = {0}, yields = {0}, types = {0};
    struct mdf_code *code;

    if (!add_all(compiler, &formals, inputs, segments->n_states + segments->n_scanned) ||
        !add_all(compiler, &yields, outputs, segments->call->n_outputs)) {
        return NULL;
    }
    for (size_t i = 0; i < yields.n; i++) {
        if (!list_add(compiler, &types, &mdf_static_unknown, sizeof mdf_static_unknown)) {
            return NULL;
        }
    }
    code = unit_finish_body(compiler, inner->unit, &formals, &yields, &types);
    if (code != NULL) {
        code->id = "segment";
    }
    return code;
}

static struct mdf_code *make_segment(const struct segments *segments, struct unit *unit)
{
    struct target inner = {segments->target->compiler, unit, segments->target->scope};
    mdf_operand first = segments->is_scan ? MDF_NO_OPERAND : unit_new_slot(&inner, 0),
                *inputs = new_slots(&inner, segments->n_states + segments->n_scanned),
                *outputs = new_slots(&inner, segments->call->n_outputs);

    if (inputs == NULL || outputs == NULL || (first == MDF_NO_OPERAND && !segments->is_scan) ||
        !emit_part(segments, &inner, first, segments->size, inputs, outputs)) {
        return NULL;
    }
    return segments->is_scan ? finish_scan(segments, &inner, inputs, outputs)
                             : finish_loop(segments, &inner, first, inputs, outputs);
}

/* An expression over a and b (MDF_NO_OPERAND: over a). */
static mdf_operand compute(struct target *around, const char *text, mdf_operand a, mdf_operand b)
{
    struct scope scope = {.unit = around->unit};
    struct target target = {around->compiler, around->unit, &scope};

    if (text == NULL) {
        return compile_out_of_memory(target.compiler);
    }
    return scope_bind(target.compiler, &scope, "a", a) && (b == MDF_NO_OPERAND || scope_bind(target.compiler, &scope, "b", b))
               ? compile_text(&target, text, MDF_NO_OPERAND)
               : MDF_NO_OPERAND;
}

/* What is scanned by segments, or by the rest behind them. */
static bool divide(const struct segments *segments, bool is_rest, mdf_operand *parts)
{
    struct target *target = segments->target;
    const mdf_operand *scanned = segments->call->inputs + segments->n_states;
    unsigned long long end = segments->n * segments->size;
    const char *text = is_rest
                           ? mdf_arena_printf(&target->compiler->scratch, "a[%llu:]", end)
                           : mdf_arena_printf(&target->compiler->scratch, "numpy.reshape(a[:%llu], (%llu, %llu) + a.shape[1:])",
                                              end, (unsigned long long)segments->n, (unsigned long long)segments->size);

    for (size_t i = 0; i < segments->n_scanned; i++) {
        parts[i] = compute(target, text, scanned[i], MDF_NO_OPERAND);
        if (parts[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    return true;
}

/* What segments have stacked, and the rest, as one stack, which goes to `output`. */
static bool join_stacks(const struct segments *segments, mdf_operand stacked, mdf_operand rest, mdf_operand output)
{
    struct target *target = segments->target;
    const char *text =
        mdf_arena_printf(&target->compiler->scratch,
                         rest != MDF_NO_OPERAND ? "numpy.concatenate([numpy.reshape(a, (%llu,) + a.shape[2:]), b], 0)"
                                                : "numpy.reshape(a, (%llu,) + a.shape[2:])",
                         (unsigned long long)(segments->n * segments->size));
    mdf_operand joined = compute(target, text, stacked, rest);

    return joined != MDF_NO_OPERAND && unit_emit(target, MDF_OPCODE_COPY, output, joined, 0);
}

/* The outer Loop or Scan of the body, whose outputs are outputs[1], ... */
static bool emit_outer(const struct segments *segments, struct mdf_code *code, const mdf_operand *outputs)
{
    struct target *target = segments->target;
    mdf_operand *inputs =
        mdf_arena_array(&target->compiler->scratch, 1 + segments->n_states + segments->n_scanned, sizeof *inputs);

    if (inputs != NULL) {
        inputs[0] = add_count(target, 0);
        memcpy(inputs + 1, segments->call->inputs + segments->first_state, segments->n_states * sizeof *inputs);
    }
    if (inputs == NULL || inputs[0] == MDF_NO_OPERAND || !divide(segments, false, inputs + 1 + segments->n_states)) {
        mdf_code_clear(target->compiler->memory, code);
        return out_of_memory(target);
    }
    return segments->is_scan ? emit_call(segments, target, code, inputs + 1, outputs + 1)
                             : made_loop_emit_stacking(target, code, segments->n, MDF_NO_OPERAND, inputs, outputs,
                                                       1 + segments->n_states, 1 + segments->call->n_outputs);
}

static bool emit_segments(const struct segments *segments, const mdf_operand *outputs)
{
    struct unit unit = {.outer = segments->target->unit};
    struct mdf_code *code = make_segment(segments, &unit);

    unit_clear(segments->target->compiler, &unit);
    return code != NULL && emit_outer(segments, code, outputs);
}

/* What is left over, from the states on. */
static bool emit_rest(const struct segments *segments, const mdf_operand *states, const mdf_operand *outputs)
{
    struct target *target = segments->target;
    mdf_operand *inputs =
                    mdf_arena_array(&target->compiler->scratch, 1 + segments->n_states + segments->n_scanned, sizeof *inputs),
                first = segments->is_scan ? MDF_NO_OPERAND : add_count(target, segments->n * segments->size);

    if (inputs == NULL || (first == MDF_NO_OPERAND && !segments->is_scan)) {
        return out_of_memory(target);
    }
    memcpy(inputs, states, segments->n_states * sizeof *inputs);
    return divide(segments, true, inputs + segments->n_states) &&
           emit_part(segments, target, first, segments->rest, inputs, outputs);
}

static bool emit_all(const struct segments *segments)
{
    const struct mdf_code_call *call = segments->call;
    mdf_operand *outputs = new_slots(segments->target, 1 + call->n_outputs), *rest = new_slots(segments->target, call->n_outputs);

    if (outputs == NULL || rest == NULL) {
        return false;
    }
    for (size_t i = 0; i < segments->n_states; i++) { /* where there is a rest, its states are the last ones */
        mdf_operand *last = segments->rest > 0 ? &rest[i] : &outputs[1 + i];

        *last = call->outputs[i] != MDF_NO_OPERAND ? call->outputs[i] : *last;
    }
    if (!emit_segments(segments, outputs) || (segments->rest > 0 && !emit_rest(segments, outputs + 1, rest))) {
        return false;
    }
    for (size_t i = segments->n_states; i < call->n_outputs; i++) {
        if (call->outputs[i] != MDF_NO_OPERAND &&
            !join_stacks(segments, outputs[1 + i], segments->rest > 0 ? rest[i] : MDF_NO_OPERAND, call->outputs[i])) {
            return false;
        }
    }
    return true;
}

bool segments_emit_call(struct target *target, const struct mdf_code_call *call, const struct mdf_static_type *types)
{
    const struct mdf_code_call kept = *call; /* the list of calls grows */
    struct segments segments;

    return is_long(target, &kept, types, &segments) ? emit_all(&segments) : unit_emit_call(target, call);
}
