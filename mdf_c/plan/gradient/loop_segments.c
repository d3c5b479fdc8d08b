/* loop_segments.c - see loop_segments.h.
 *
 * Comes in: the call of a Loop or Scan of m iterations, whose body stands in the unit already. Goes out: one of about √m
 * iterations, whose body is one of about √m others, and one of those that are left over; what they stack is put together. The
 * number of an iteration of a Loop is that of the inner one, and where it begins: a state of the outer one; what a Scan goes
 * through has one axis more. */
#include "mdf_c/plan/gradient/loop_segments.h"

#include "mdf_c/plan/gradient/gradient_control.h"
#include "mdf_c/plan/traced/made_loop.h"

#include "functions/python/python.h"

#include <math.h>
#include <string.h>

enum { FEW_ITERATIONS = 16, INPUT_COUNT = 0, INPUT_CONDITION, FIRST_STATE };

struct segments {
    struct target *target;
    const struct mdf_code_call *call;
    const struct mdf_code *body;
    bool is_scan;
    size_t first_state, n_states, n_scanned;
    uint64_t n, size, rest; /* n segments of that size, and the rest */
    unsigned levels;        /* of loops */
    bool is_open;           /* a Scan whose length is known when it runs: about √m segments of about √m items, and a rest */
};

/* What an operand is before it is first written: a constant; NULL: it is not known. */
static const struct mdf_value *first_value(const struct compiler *compiler, struct unit *unit, mdf_operand operand)
{
    const struct mdf_program_parameter *parameters = compiler->parameters.items;
    const struct mdf_value *value = operand != MDF_NO_OPERAND ? unit_constant(unit, operand) : NULL;

    for (size_t i = 0; value == NULL && i < compiler->parameters.n; i++) {
        value = parameters[i].slot == operand ? unit_constant(compiler->root_unit, parameters[i].default_value) : NULL;
    }
    return value;
}

double segments_bytes(const struct compiler *compiler, struct unit *unit, mdf_operand operand)
{
    struct mdf_static_type type = operand != MDF_NO_OPERAND ? unit_type(unit, operand) : mdf_static_unknown;
    const struct mdf_value *value = first_value(compiler, unit, operand);
    double bytes = 8;

    for (size_t i = 0; value == NULL && i < unit_position(unit); i++) {
        const struct mdf_instruction *instruction = unit_instruction(unit, i);

        value = instruction->opcode == MDF_OPCODE_COPY && instruction->a == operand ? first_value(compiler, unit, instruction->b)
                                                                                    : NULL;
    }
    if (value != NULL) {
        return value->kind == MDF_KIND_TENSOR ? bytes * (double)value->length : bytes;
    }
    for (size_t i = 0; type.has_shape && i < type.rank; i++) {
        bytes *= type.shape[i] > 0 ? (double)type.shape[i] : 1;
    }
    return bytes;
}

unsigned segments_levels(uint64_t n, double bytes, size_t bound_bytes)
{
    enum { PART = 4, MOST_LEVELS = 8 }; /* a state has gradients and what is computed of it beside it */
    unsigned levels = 2;

    while (levels < MOST_LEVELS && levels * pow((double)n, 1.0 / levels) * bytes * PART > (double)bound_bytes &&
           pow((double)n, 1.0 / (levels + 1)) >= 2) {
        levels++;
    }
    return levels;
}

uint64_t segments_size(uint64_t n, unsigned levels)
{
    uint64_t size = 1;

    if (levels < 2) {
        return n;
    }
    if (levels > 2) {
        return (uint64_t)ceil(pow((double)n, (levels - 1.0) / levels));
    }
    while (size * size < n) {
        size++;
    }
    return size;
}

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

/* The same of a Scan along first axes, forward; NAN: it is one, and not known. */
static double count_of_scan(const struct mdf_static_type *types, const struct segments *segments)
{
    const struct mdf_code_call *call = segments->call;
    const struct mdf_static_type type = types[segments->n_states];

    for (size_t i = 0; i < segments->n_scanned; i++) {
        if (mdf_code_setting_at(call, "scan_input_axes", i) != 0 || mdf_code_setting_at(call, "scan_input_directions", i) != 0) {
            return 0;
        }
    }
    for (size_t i = 0; i + segments->n_states < call->n_outputs; i++) {
        if (mdf_code_setting_at(call, "scan_output_axes", i) != 0 ||
            mdf_code_setting_at(call, "scan_output_directions", i) != 0) {
            return 0;
        }
    }
    return !type.has_shape ? NAN : type.rank > 0 ? (double)type.shape[0] : 0;
}

/* What a call is made of; false: it is no Loop or Scan. */
static bool take_apart(struct target *target, const struct mdf_code_call *call, struct segments *segments)
{
    bool is_loop = gradient_is_loop(call), is_scan = gradient_is_scan(call);
    int64_t n_scanned;

    if ((!is_loop && !is_scan) || call->n_bodies != 1 || call->bodies[0] == UINT32_MAX) {
        return false;
    }
    n_scanned = is_scan ? *(const int64_t *)mdf_code_setting(call, "num_scan_inputs") : 0;
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

static void divide_iterations(struct segments *segments, uint64_t n, unsigned levels)
{
    segments->levels = levels;
    segments->size = segments_size(n, levels);
    segments->n = n / segments->size;
    segments->rest = n % segments->size;
}

/* Whether the call is such a Loop or Scan: then `segments` is it. */
static bool is_long(struct target *target, const struct mdf_code_call *call, const struct traced_call *traced,
                    struct segments *segments)
{
    double m, bytes = 0;

    if (!take_apart(target, call, segments) || mdf_code_find_flagged(segments->body, MDF_OPERATOR_CUSTOM) != NULL) {
        return false;
    }
    m = segments->is_scan ? count_of_scan(traced->types, segments) : count_of_loop(target, segments);
    segments->is_open = isnan(m);
    if (segments->is_open) {
        segments->rest = 1; /* at least */
        return true;
    }
    if (!(m >= FEW_ITERATIONS && m <= (double)INT32_MAX)) {
        return false;
    }
    for (size_t i = 0; i < segments->n_states; i++) {
        bytes += segments_bytes(target->compiler, traced->unit, traced->inputs[segments->first_state + i]);
    }
    /* stacks of stacks of stacks would take more than is spared */
    divide_iterations(segments, (uint64_t)m,
                      call->n_outputs > segments->n_states ? 2 : segments_levels((uint64_t)m, bytes, traced->bound_bytes));
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
static bool make_call(const struct segments *segments, struct target *target, struct mdf_code *body, const mdf_operand *inputs,
                      const mdf_operand *outputs, struct mdf_code_call *call)
{
    struct compiler *compiler = target->compiler;
    uint32_t *index = mdf_arena_allocate(compiler->arena, sizeof *index);

    if (index == NULL || !list_add(compiler, &target->unit->bodies, &body, sizeof body)) {
        mdf_code_clear(compiler->memory, body);
        return out_of_memory(target);
    }
    *index = (uint32_t)target->unit->bodies.n - 1;
    *call = *segments->call;
    call->inputs = inputs;
    call->outputs = outputs;
    call->bodies = index;
    return true;
}

static bool emit_call(const struct segments *segments, struct target *target, struct mdf_code *body, const mdf_operand *inputs,
                      const mdf_operand *outputs)
{
    struct mdf_code_call call;

    return make_call(segments, target, body, inputs, outputs, &call) && unit_emit_call(target, &call);
}

static bool emit_all(const struct segments *segments);

/* A part of so many iterations: one loop, or segments again. */
static bool emit_levels(const struct segments *segments, struct target *target, struct mdf_code *body, uint64_t n,
                        const mdf_operand *inputs, const mdf_operand *outputs)
{
    struct segments inner = *segments;
    struct mdf_code_call call;

    if (!make_call(segments, target, body, inputs, outputs, &call)) {
        return false;
    }
    if (segments->levels < 3 || n < FEW_ITERATIONS) {
        return unit_emit_call(target, &call);
    }
    inner.target = target;
    inner.call = &call;
    inner.body = body;
    divide_iterations(&inner, n, segments->levels - 1);
    return emit_all(&inner);
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
    return emit_levels(segments, target, copy, n, all, outputs);
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
                next = size != MDF_NO_OPERAND ? unit_call_two(inner, PYTHON_ADD, first, size) : size;
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
               ? compile_text(&target, text)
               : MDF_NO_OPERAND;
}

/* Of what is scanned, a, as expressions: items of a segment; those of all segments. There is a rest. */
#define OPEN_SIZE "max(1, int(math.sqrt(a.shape[0])))"
#define OPEN_END "((a.shape[0] - (1 if a.shape[0] > 1 else 0)) // " OPEN_SIZE " * " OPEN_SIZE ")"

/* What is scanned by segments, or by the rest behind them. */
static bool divide(const struct segments *segments, bool is_rest, mdf_operand *parts)
{
    struct target *target = segments->target;
    const mdf_operand *scanned = segments->call->inputs + segments->n_states;
    struct mdf_arena *scratch = &target->compiler->scratch;
    unsigned long long size = segments->size, end = segments->n * size;
    const char *text = segments->is_open && is_rest ? "a[" OPEN_END ":]"
                       : segments->is_open          ? "numpy.reshape(a[:" OPEN_END "], (" OPEN_END " // " OPEN_SIZE ", " OPEN_SIZE
                                             ") + a.shape[1:])"
                       : is_rest ? mdf_arena_printf(scratch, "a[%llu:]", end)
                                 : mdf_arena_printf(scratch, "numpy.reshape(a[:%llu], (%llu, %llu) + a.shape[1:])", end,
                                                    (unsigned long long)segments->n, size);

    for (size_t i = 0; i < segments->n_scanned; i++) {
        parts[i] = compute(target, text, scanned[i], MDF_NO_OPERAND);
        if (parts[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    return true;
}

/* What segments have stacked, a, in a row; b behind that. */
#define ALL_STACKED "numpy.reshape(a, (a.shape[0] * a.shape[1],) + a.shape[2:])"
#define BOTH_STACKS "numpy.concatenate([" ALL_STACKED ", b], 0)"

/* What segments have stacked, and the rest, as one stack, which goes to `output`. */
static bool join_stacks(const struct segments *segments, mdf_operand stacked, mdf_operand rest, mdf_operand output)
{
    struct target *target = segments->target;
    const char *text = segments->is_open ? "(" BOTH_STACKS " if b.shape[0] > 0 else " ALL_STACKED ") if a.shape[0] > 0 else b"
                       : rest != MDF_NO_OPERAND ? BOTH_STACKS
                                                : ALL_STACKED;
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

/* ------------------------------------------------------------------ loops whose number of iterations only a run tells */

/* Of what is thought to be the number, where that is not known. */
enum { MANY_ITERATIONS = 1 << 16 };

/* Whether it is a Loop of any number of iterations that stacks nothing: what segments stack would differ in length. */
static bool is_of_any_length(struct target *target, const struct mdf_code_call *call, const struct traced_call *traced,
                             struct segments *segments)
{
    const struct mdf_value *count;
    double m = MANY_ITERATIONS, bytes = 0;

    if (!take_apart(target, call, segments) || segments->is_scan || call->n_outputs > segments->n_states ||
        segments->n_states == 0 || mdf_code_find_flagged(segments->body, MDF_OPERATOR_CUSTOM) != NULL) {
        return false;
    }
    count = unit_constant(target->unit, call->inputs[INPUT_COUNT]);
    if (count != NULL && (!mdf_value_number_at(count, NULL, 0, &m) || m < FEW_ITERATIONS)) {
        return false;
    }
    for (size_t i = 0; i < segments->n_states; i++) {
        bytes += segments_bytes(target->compiler, traced->unit, traced->inputs[segments->first_state + i]);
    }
    segments->n = m < MANY_ITERATIONS ? (uint64_t)m : MANY_ITERATIONS;
    segments->levels = segments_levels(segments->n, bytes, traced->bound_bytes);
    return true;
}

/* One more state at the end of a body: whether it goes on, as one truth. */
static bool yield_condition(struct compiler *compiler, struct mdf_code *code)
{
    struct mdf_instruction *instructions = mdf_arena_array(compiler->arena, code->n_instructions + 1, sizeof *instructions);
    struct mdf_code_call *calls = mdf_arena_array(compiler->arena, code->n_calls + 1, sizeof *calls);
    mdf_operand *formals = mdf_arena_array(compiler->arena, code->n_formals + 1, sizeof *formals),
                *yields = mdf_arena_array(compiler->arena, code->n_yields + 1, sizeof *yields),
                *operands = mdf_arena_array(compiler->arena, 2, sizeof *operands);
    bool *is_own = mdf_arena_array(compiler->arena, code->n_yields + 1, sizeof *is_own);
    struct mdf_static_type *types = mdf_arena_array(compiler->arena, code->n_yields + 1, sizeof *types);

    if (instructions == NULL || calls == NULL || formals == NULL || yields == NULL || operands == NULL || is_own == NULL ||
        types == NULL) {
        return compile_out_of_memory(compiler) != MDF_NO_OPERAND;
    }
    operands[0] = code->yields[0];
    operands[1] = MDF_OPERAND(MDF_OPERAND_SLOT, code->n_slots++);
    memcpy(formals, code->formals, code->n_formals * sizeof *formals);
    formals[code->n_formals++] = MDF_OPERAND(MDF_OPERAND_SLOT, code->n_slots++);
    memcpy(yields, code->yields, code->n_yields * sizeof *yields);
    memcpy(is_own, code->yield_is_own, code->n_yields * sizeof *is_own);
    memcpy(types, code->yield_types, code->n_yields * sizeof *types);
    yields[code->n_yields] = operands[1];
    is_own[code->n_yields] = true;
    types[code->n_yields++] = mdf_static_unknown;
    if (code->n_calls > 0) {
        memcpy(calls, code->calls, code->n_calls * sizeof *calls);
    }
    if (code->n_instructions > 0) {
        memcpy(instructions, code->instructions, code->n_instructions * sizeof *instructions);
    }
    calls[code->n_calls] = (struct mdf_code_call){
        .operator= mdf_operator_python("numpy.any"), .inputs = operands, .n_inputs = 1, .outputs = operands + 1, .n_outputs = 1};
    instructions[code->n_instructions++] =
        (struct mdf_instruction){.opcode = MDF_OPCODE_CALL, .target = (uint32_t)code->n_calls++, .origin = compiler->origin};
    code->instructions = instructions;
    code->calls = calls;
    code->formals = formals;
    code->yields = yields;
    code->yield_is_own = is_own;
    code->yield_types = types;
    code->n_names = code->n_nodes = 0;
    return true;
}

static bool emit_of_any_length(const struct segments *segments);

/* A segment: the same Loop from the number `first` on, of so many iterations at most, with one more state: whether it goes on. */
static bool emit_segment(const struct segments *segments, struct target *target, mdf_operand first, mdf_operand count,
                         const mdf_operand *states, const mdf_operand *outputs)
{
    struct segments inner = *segments;
    struct mdf_code_call call;
    size_t n = segments->n_states;
    bool ends = segments->call->inputs[INPUT_CONDITION] != MDF_NO_OPERAND;
    mdf_operand *inputs = mdf_arena_array(&target->compiler->scratch, FIRST_STATE + n + 1, sizeof *inputs);
    struct mdf_code *copy = inputs != NULL ? copy_body(segments, target, first) : NULL;

    if (copy == NULL) {
        return out_of_memory(target);
    }
    if (ends && !yield_condition(target->compiler, copy)) {
        mdf_code_clear(target->compiler->memory, copy);
        return false;
    }
    inputs[INPUT_COUNT] = count;
    inputs[INPUT_CONDITION] = ends ? unit_add_bool(target, true) : MDF_NO_OPERAND;
    memcpy(inputs + FIRST_STATE, states, n * sizeof *states);
    inputs[FIRST_STATE + n] = inputs[INPUT_CONDITION];
    if (ends && inputs[INPUT_CONDITION] == MDF_NO_OPERAND) {
        mdf_code_clear(target->compiler->memory, copy);
        return false;
    }
    if (!make_call(segments, target, copy, inputs, outputs, &call)) {
        return false;
    }
    call.n_inputs = FIRST_STATE + n + ends;
    call.n_outputs = n + ends;
    inner.target = target;
    inner.call = &call;
    inner.body = copy;
    inner.n_states = n + ends;
    inner.n = segments->size;
    inner.levels = segments->levels - 1;
    return inner.levels < 2 || inner.n < FEW_ITERATIONS ? unit_emit_call(target, &call) : emit_of_any_length(&inner);
}

/* The body of the outer Loop, whose states are the number where a segment begins, and the states. */
static struct mdf_code *make_segment_of_any_length(const struct segments *segments, struct unit *unit)
{
    const struct mdf_code_call *call = segments->call;
    struct target inner = {segments->target->compiler, unit, segments->target->scope};
    struct compiler *compiler = inner.compiler;
    size_t n = segments->n_states;
    bool has_count = call->inputs[INPUT_COUNT] != MDF_NO_OPERAND, ends = call->inputs[INPUT_CONDITION] != MDF_NO_OPERAND;
    mdf_operand first = unit_new_slot(&inner, 0), *inputs = new_slots(&inner, n), *outputs = new_slots(&inner, n + 1), all, count,
                next, goes_on;
    struct list formals = {0}, yields = {0};

    all = has_count ? unit_capture(&inner, unit, segments->target->unit, call->inputs[INPUT_COUNT]) : MDF_NO_OPERAND;
    if (inputs == NULL || outputs == NULL || first == MDF_NO_OPERAND || (has_count && all == MDF_NO_OPERAND)) {
        return NULL;
    }
    count = has_count ? compute(&inner,
                                mdf_arena_printf(&compiler->scratch, "numpy.minimum(numpy.sum(a) - b, %llu)",
                                                 (unsigned long long)segments->size),
                                all, first)
                      : add_count(&inner, segments->size);
    next = count != MDF_NO_OPERAND ? unit_call_two(&inner, PYTHON_ADD, first, count) : count;
    if (next == MDF_NO_OPERAND || !emit_segment(segments, &inner, first, count, inputs, outputs)) {
        return NULL;
    }
    goes_on = has_count ? compute(&inner, "numpy.sum(a) > b", all, next) : outputs[n];
    goes_on = has_count && ends && goes_on != MDF_NO_OPERAND ? compute(&inner, "numpy.logical_and(a, b)", goes_on, outputs[n])
                                                             : goes_on;
    return goes_on != MDF_NO_OPERAND && add_all(compiler, &formals, &first, 1) && add_all(compiler, &formals, inputs, n) &&
                   add_all(compiler, &yields, &next, 1) && add_all(compiler, &yields, outputs, n)
               ? made_loop_body(&inner, &formals, &yields, goes_on, "segment")
               : NULL;
}

/* Whether the first segment begins. */
static mdf_operand begins(const struct segments *segments)
{
    struct target *target = segments->target;
    mdf_operand count = segments->call->inputs[INPUT_COUNT], condition = segments->call->inputs[INPUT_CONDITION], some;

    if (count == MDF_NO_OPERAND) {
        return condition;
    }
    some = compute(target, "numpy.sum(a) > 0", count, MDF_NO_OPERAND);
    return some == MDF_NO_OPERAND || condition == MDF_NO_OPERAND
               ? some
               : compute(target, "numpy.logical_and(a, numpy.any(b))", some, condition);
}

static bool emit_of_any_length(const struct segments *around)
{
    struct segments segments = *around;
    struct target *target = segments.target;
    const struct mdf_code_call *call = segments.call;
    size_t n = segments.n_states;
    mdf_operand *inputs = mdf_arena_array(&target->compiler->scratch, 1 + n, sizeof *inputs), *outputs = new_slots(target, 1 + n),
                condition = begins(&segments);
    struct unit unit = {.outer = target->unit};
    struct mdf_code *code;

    segments.size = segments_size(segments.n, segments.levels);
    if (inputs == NULL || outputs == NULL || condition == MDF_NO_OPERAND) {
        return out_of_memory(target);
    }
    code = make_segment_of_any_length(&segments, &unit);
    unit_clear(target->compiler, &unit);
    inputs[0] = add_count(target, 0);
    memcpy(inputs + 1, call->inputs + FIRST_STATE, n * sizeof *inputs);
    for (size_t i = 0; i < n; i++) {
        outputs[1 + i] = call->outputs[i] != MDF_NO_OPERAND ? call->outputs[i] : outputs[1 + i];
    }
    if (code != NULL && inputs[0] == MDF_NO_OPERAND) {
        mdf_code_clear(target->compiler->memory, code);
        code = NULL;
    }
    return code != NULL && made_loop_emit(target, code, INT64_MAX, condition, inputs, outputs, 1 + n);
}

bool segments_emit_call(struct target *target, const struct mdf_code_call *call, const struct traced_call *traced)
{
    const struct mdf_code_call kept = *call; /* the list of calls grows */
    struct segments segments;

    return is_long(target, &kept, traced, &segments)            ? emit_all(&segments)
           : is_of_any_length(target, &kept, traced, &segments) ? emit_of_any_length(&segments)
                                                                : unit_emit_call(target, call);
}
