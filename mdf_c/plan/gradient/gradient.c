/* gradient.c - the derivatives of a value by others: from the instructions that compute it, instructions that compute them.
 *
 * Comes in: the names of a value y and of values x (and z), which stand for each other through code that is compiled already, and
 * operands to put in the places of x and z. Goes out: for each x, the gradient of (the sum of the elements of) y. The
 * instructions between are found going backward from y, run again where an operand is put in that is not the value itself, and
 * gone through backward once more: each hands the gradient of its result to its inputs, by the rules of
 * functions/kernel/derivatives.h (reverse accumulation). Source: ONNX ai.onnx.preview.training Gradient, version 1. */
#include "functions/kernel/setting.h"
#include "functions/onnx_preview/gradient_operator.h"
#include "mdf_c/code/operands.h"
#include "mdf_c/dialect/set_parameters.h"
#include "mdf_c/plan/gradient/evaluation.h"
#include "mdf_c/plan/gradient/gradient.h"

#include <stdio.h>
#include <string.h>

struct track *gradient_track(struct gradient *gradient, mdf_operand operand)
{
    return &gradient->tracks[gradient->first[MDF_OPERAND_KIND(operand)] + MDF_OPERAND_INDEX(operand)];
}

const struct mdf_code_call *gradient_call(const struct gradient *gradient, const struct mdf_instruction *instruction)
{
    return (const struct mdf_code_call *)gradient->unit->calls.items + instruction->target;
}

/* ------------------------------------------------------------------ names */

/* The graph that the call stands in, with the scope of its names. */
static struct scope *find_graph(const struct target *target)
{
    struct scope *scope = target->scope;

    while (scope != NULL && scope->graph == NULL) {
        scope = scope->outer;
    }
    return scope;
}

static bool add_once(struct gradient *gradient, struct list *operands, mdf_operand operand)
{
    for (size_t i = 0; i < operands->n; i++) {
        if (((const mdf_operand *)operands->items)[i] == operand) {
            return true;
        }
    }
    return list_add(gradient->compiler, operands, &operand, sizeof operand);
}

/* Output ports of that name. */
static bool find_outputs(struct gradient *gradient, struct graph_builder *graph, const char *name, struct list *operands)
{
    for (size_t i = 0; i < graph->graph->n_nodes; i++) {
        const struct mdf_graph_node *node = &graph->graph->nodes[i];

        for (size_t j = 0; i != graph->current_node && j < node->n_output_ports; j++) {
            mdf_operand operand;

            if (!mdf_part_is_named(node->id, node->output_ports[j].id, name)) {
                continue;
            }
            operand = graph_output(graph, i, j);
            if (operand == MDF_NO_OPERAND || !add_once(gradient, operands, operand)) {
                return false;
            }
        }
    }
    return true;
}

/* Ports that the graph's input of that name feeds. */
static bool find_inputs(struct gradient *gradient, const struct graph_builder *graph, const char *name, struct list *operands)
{
    for (size_t i = 0; i < graph->graph->n_nodes; i++) {
        const struct mdf_graph_node *node = &graph->graph->nodes[i];

        for (size_t j = 0; j < node->n_input_ports; j++) {
            if (mdf_part_is_named(node->id, node->input_ports[j].id, name) && graph->nodes[i].ports[j] != MDF_NO_OPERAND &&
                graph_edges_into(graph, i, j)->n == 0 && !add_once(gradient, operands, graph->nodes[i].ports[j])) {
                return false;
            }
        }
    }
    return true;
}

/* All operands that hold the value of that name. */
static bool find_named(struct gradient *gradient, const char *name, struct list *operands)
{
    struct target outside = *gradient->target;
    struct outcome outcome;

    outside.scope = find_graph(gradient->target);
    if (outside.scope == NULL || outside.scope->unit != gradient->unit || outside.scope->graph->is_scheduled) {
        compile_error(gradient->compiler, MDF_UNSUPPORTED, "there are derivatives only in a graph without conditions");
        return false;
    }
    if (!find_outputs(gradient, outside.scope->graph, name, operands) ||
        (operands->n == 0 && !find_inputs(gradient, outside.scope->graph, name, operands))) {
        return false;
    }
    if (operands->n == 0 && scope_find(&outside, name, &outcome) && !outcome.several) {
        return list_add(gradient->compiler, operands, &outcome.outputs[0], sizeof *outcome.outputs);
    }
    if (operands->n == 0) {
        compile_error(gradient->compiler, MDF_NAME, "the graph has no value '%s' to derive by", name);
        return false;
    }
    return true;
}

/* ------------------------------------------------------------------ what an instruction reads and writes */

struct gradient_visit {
    struct gradient *gradient;
    gradient_visitor visit;
};

static bool visit_operand(void *context, mdf_operand operand)
{
    const struct gradient_visit *visit = context;

    return visit->visit(visit->gradient, operand);
}

bool gradient_any_input(struct gradient *gradient, const struct mdf_instruction *instruction, gradient_visitor visit)
{
    const struct unit *unit = gradient->unit;

    return mdf_any_read(instruction, unit->calls.items, unit->bodies.items, visit_operand,
                        &(struct gradient_visit){gradient, visit});
}

bool gradient_any_output(struct gradient *gradient, const struct mdf_instruction *instruction, gradient_visitor visit)
{
    return mdf_any_written(instruction, gradient->unit->calls.items, visit_operand, &(struct gradient_visit){gradient, visit});
}

static bool count_writer(struct gradient *gradient, mdf_operand operand)
{
    struct track *track = gradient_track(gradient, operand);

    track->first_writer = track->n_writers == 0 ? gradient->counted : track->first_writer;
    track->last_writer = gradient->counted;
    track->n_writers++;
    return false;
}

bool gradient_is_needed(struct gradient *gradient, mdf_operand operand)
{
    return gradient_track(gradient, operand)->is_needed && !gradient_track(gradient, operand)->is_given;
}

static bool is_active(struct gradient *gradient, mdf_operand operand)
{
    return gradient_track(gradient, operand)->is_active;
}

static bool mark_needed(struct gradient *gradient, mdf_operand operand)
{
    gradient_track(gradient, operand)->is_needed = true;
    return false;
}

static bool mark_active(struct gradient *gradient, mdf_operand operand)
{
    gradient_track(gradient, operand)->is_active =
        gradient_track(gradient, operand)->is_active || !gradient_track(gradient, operand)->is_given;
    return false;
}

bool gradient_is_looked_for(struct gradient *gradient, mdf_operand operand)
{
    return operand == gradient->looked_for;
}

static bool has_several_writers(struct gradient *gradient, mdf_operand operand)
{
    return gradient_track(gradient, operand)->n_writers > 1 || (unit_flags(gradient->unit, operand) & OPERAND_MUTABLE) != 0;
}

/* Whether another instruction may write the operand, too, in the same run. */
static bool is_written_again(struct gradient *gradient, size_t at, mdf_operand operand)
{
    const struct track *track = gradient_track(gradient, operand);

    gradient->looked_for = operand;
    for (size_t i = track->first_writer; track->n_writers > 0 && i <= track->last_writer; i++) {
        if (i != at && gradient_any_output(gradient, unit_instruction(gradient->unit, i), gradient_is_looked_for) &&
            !gradient_are_exclusive(gradient, i, at)) {
            return true;
        }
    }
    return (unit_flags(gradient->unit, operand) & OPERAND_MUTABLE) != 0;
}

/* ------------------------------------------------------------------ the way from x to y */

bool gradient_make_tracks(struct gradient *gradient)
{
    const struct unit *unit = gradient->unit;
    const size_t counts[3] = {unit->slot_facts.n, unit->constant_facts.n, unit->capture_facts.n};
    size_t n = counts[0] + counts[1] + counts[2];

    gradient->n_tracks = n;
    gradient->tracks = mdf_arena_array(&gradient->compiler->scratch, n, sizeof *gradient->tracks);
    if (gradient->tracks == NULL) {
        compile_out_of_memory(gradient->compiler);
        return false;
    }
    for (size_t kind = 0, at = 0; kind < 3; at += counts[kind++]) {
        gradient->first[kind] = at;
        for (size_t i = 0; i < counts[kind]; i++) {
            gradient->tracks[at + i].value = MDF_OPERAND(kind, i);
            gradient->tracks[at + i].gradient = MDF_NO_OPERAND;
        }
    }
    gradient->n_instructions = unit_position(gradient->unit);
    gradient->is_taped = mdf_arena_array(&gradient->compiler->scratch, gradient->n_instructions, sizeof *gradient->is_taped);
    gradient->is_repeated =
        mdf_arena_array(&gradient->compiler->scratch, gradient->n_instructions, sizeof *gradient->is_repeated);
    gradient->outermost = mdf_arena_array(&gradient->compiler->scratch, gradient->n_instructions, sizeof *gradient->outermost);
    if (gradient->is_taped == NULL || gradient->is_repeated == NULL || gradient->outermost == NULL) {
        compile_out_of_memory(gradient->compiler);
        return false;
    }
    gradient_find_repeated(gradient);
    gradient_find_outermost(gradient);
    for (size_t i = gradient->first_instruction; i < gradient->n_instructions; i++) {
        gradient->counted = i;
        gradient_any_output(gradient, unit_instruction(gradient->unit, i), count_writer);
    }
    return true;
}

/* Puts an operand in the place of a named value; `is_x`: derivatives by it are asked for. */
static void put_in_place(struct gradient *gradient, const struct list *named, mdf_operand given, bool is_x)
{
    const mdf_operand *operands = named->items;
    bool is_same = false;

    for (size_t i = 0; i < named->n; i++) {
        is_same = is_same || operands[i] == given;
    }
    for (size_t i = 0; i < named->n; i++) {
        struct track *track = gradient_track(gradient, operands[i]);

        track->is_given = true;
        track->is_active = track->is_active || is_x;
        track->value = is_same ? track->value : given;
    }
}

static void find_needed(struct gradient *gradient, const mdf_operand *ys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        mark_needed(gradient, ys[i]);
    }
    for (size_t i = gradient->n_instructions; i-- > gradient->first_instruction;) {
        const struct mdf_instruction *instruction = unit_instruction(gradient->unit, i);

        if (gradient_any_output(gradient, instruction, gradient_is_needed)) {
            gradient_any_input(gradient, instruction, mark_needed);
        }
    }
}

/* Where an instruction of the tape stands in the model. */
static const char *place_of(const struct gradient *gradient, const struct mdf_instruction *instruction)
{
    const char *path =
        instruction->origin < gradient->compiler->n_origins ? gradient->compiler->origins[instruction->origin].path : NULL;

    return path != NULL && path[0] != '\0' ? path : "the model";
}

bool gradient_refuse(struct gradient *gradient, const struct mdf_instruction *instruction, const char *format, ...)
{
    const struct compiler *compiler = gradient->compiler;
    const struct mdf_origin *origin = instruction->origin < compiler->n_origins ? &compiler->origins[instruction->origin] : NULL;
    char message[400];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (compiler->path[0] == '\0' && origin != NULL && origin->path != NULL && origin->path[0] != '\0') {
        mdf_error_set(compiler->error, MDF_UNSUPPORTED, "%s", message); /* asked for from outside: no place asks for it */
        mdf_error_at(compiler->error, origin->file, origin->line, origin->column);
        mdf_error_in(compiler->error, "%s", origin->path);
        return false;
    }
    compile_error(gradient->compiler, MDF_UNSUPPORTED, "%s (%s)", message, place_of(gradient, instruction));
    return false;
}

static const mdf_dtype_set real_types = MDF_DTYPE_BIT(MDF_DTYPE_FLOAT16) | MDF_DTYPE_BIT(MDF_DTYPE_BFLOAT16) |
                                        MDF_DTYPE_BIT(MDF_DTYPE_FLOAT32) | MDF_DTYPE_BIT(MDF_DTYPE_FLOAT64);

/* Whether an input holds no real numbers, as the operator has it. */
bool gradient_is_whole(const struct mdf_code_call *call, size_t input)
{
    return call->signature != NULL && input < call->signature->n_inputs &&
           (call->signature->inputs[input].tensors & real_types) == 0;
}

/* Whether an output holds no real numbers, as the operator has it: places, counts, truths. */
static bool is_whole_output(const struct mdf_operator *row, size_t output)
{
    const struct mdf_schema *schema = row->since > 0 ? mdf_schema_find_anywhere(row->name, row->since) : NULL;
    mdf_dtype_set types = 0;

    if (schema != NULL && output < schema->n_outputs) {
        types = schema->outputs[output].tensor_types | schema->outputs[output].sequence_types |
                schema->outputs[output].optional_types;
    }
    return types != 0 && (types & real_types) == 0;
}

/* Whether an attribute says that a call yields no real numbers (Cast to int64). */
static bool is_made_whole(const struct mdf_code_call *call)
{
    bool is_whole = false;

    for (const struct mdf_setting *setting = call->operator->settings; setting != NULL && setting->name != NULL; setting++) {
        const mdf_dtype *dtype = mdf_setting_field_of_type(call->operator, call->settings, setting->name, MDF_SETTING_DTYPE);

        is_whole = is_whole || (dtype != NULL && *dtype != MDF_DTYPE_NONE && mdf_dtype_kind(*dtype) != 'f');
    }
    return is_whole;
}

/* Whether the result of an instruction changes smoothly with an active input. */
static bool is_smooth(struct gradient *gradient, const struct mdf_instruction *instruction)
{
    const struct mdf_code_call *call;

    if (instruction->opcode != MDF_OPCODE_CALL || gradient_call(gradient, instruction)->n_bodies > 0) {
        return gradient_any_input(gradient, instruction, is_active);
    }
    call = gradient_call(gradient, instruction);
    for (size_t i = 0; i < call->n_inputs; i++) {
        const struct mdf_derivative *rule = mdf_derivative_find(call->operator, call->settings, i);
        bool is_flat = gradient_is_whole(call, i) || (rule != NULL && (rule->expression == NULL || is_made_whole(call)));

        if (call->inputs[i] != MDF_NO_OPERAND && is_active(gradient, call->inputs[i]) && !is_flat) {
            return true;
        }
    }
    return false;
}

bool gradient_refuse_change(struct gradient *gradient, const struct mdf_instruction *instruction)
{
    return gradient_refuse(gradient, instruction, "there is no derivative of what is chosen, kept or gone through item by item");
}

/* Whether each operand that an instruction writes is written once at most in a run. */
static bool writes_alone(struct gradient *gradient, size_t at)
{
    const struct mdf_instruction *instruction = unit_instruction(gradient->unit, at);
    const struct mdf_code_call *call;

    if (instruction->opcode != MDF_OPCODE_CALL) {
        return !has_several_writers(gradient, instruction->a) || !is_written_again(gradient, at, instruction->a);
    }
    call = gradient_call(gradient, instruction);
    for (size_t i = 0; i < call->n_outputs; i++) {
        if (call->outputs[i] != MDF_NO_OPERAND && has_several_writers(gradient, call->outputs[i]) &&
            is_written_again(gradient, at, call->outputs[i])) {
            return false;
        }
    }
    return true;
}

/* Whether what an instruction writes is as it left it when gradients are handed back. `once`: and it is the only one that does.
 */
static bool can_follow(struct gradient *gradient, size_t at, bool once)
{
    const struct mdf_instruction *instruction = unit_instruction(gradient->unit, at);

    switch (instruction->opcode) {
    case MDF_OPCODE_CALL:
    case MDF_OPCODE_COPY:
    case MDF_OPCODE_BORROW:
    case MDF_OPCODE_ARRAY:
    case MDF_OPCODE_DECLARE:
        return !gradient->is_repeated[at] &&
               (once ? !gradient_any_output(gradient, instruction, has_several_writers) : writes_alone(gradient, at));
    default:
        return false;
    }
}

/* Whether an input has another operand in its place. */
static bool is_replaced(struct gradient *gradient, mdf_operand operand)
{
    return gradient_track(gradient, operand)->value != operand;
}

static bool replace(struct gradient *gradient, mdf_operand *operand, bool is_output)
{
    struct track *track;

    if (*operand == MDF_NO_OPERAND) {
        return true;
    }
    track = gradient_track(gradient, *operand);
    if (is_output) {
        track->value = unit_new_slot(gradient->target, unit_flags(gradient->unit, *operand));
    }
    *operand = track->value;
    return *operand != MDF_NO_OPERAND;
}

/* The instruction once more, on what is in the places of its inputs. */
static bool run_again(struct gradient *gradient, size_t at)
{
    struct mdf_instruction instruction = *unit_instruction(gradient->unit, at);
    struct mdf_code_call call;
    mdf_operand *operands;
    size_t n;

    if (instruction.opcode != MDF_OPCODE_CALL) {
        return replace(gradient, &instruction.b, false) && replace(gradient, &instruction.a, true) &&
               unit_emit(gradient->target, instruction.opcode, instruction.a, instruction.b, instruction.c);
    }
    call = *gradient_call(gradient, &instruction);
    n = call.n_inputs + call.n_outputs;
    operands = mdf_arena_array(&gradient->compiler->scratch, n + 1, sizeof *operands);
    if (operands == NULL) {
        compile_out_of_memory(gradient->compiler);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        operands[i] = i < call.n_inputs ? call.inputs[i] : call.outputs[i - call.n_inputs];
        if (!replace(gradient, &operands[i], i >= call.n_inputs)) {
            return false;
        }
    }
    call.inputs = operands;
    call.outputs = operands + call.n_inputs;
    if (call.n_bodies > 0 && !gradient_copy_bodies(gradient, &call)) {
        return false;
    }
    gradient_run_elsewhere(gradient, at, gradient->unit->calls.n);
    return unit_emit_call(gradient->target, &call);
}

/* Marks what an instruction writes as active, but what is whole; false: there is nothing else. */
static bool mark_outputs(struct gradient *gradient, const struct mdf_instruction *instruction)
{
    const struct mdf_code_call *call = instruction->opcode == MDF_OPCODE_CALL ? gradient_call(gradient, instruction) : NULL;
    bool any = call == NULL;

    if (call == NULL) {
        gradient_any_output(gradient, instruction, mark_active);
    }
    for (size_t i = 0; call != NULL && i < call->n_outputs; i++) {
        if (call->outputs[i] != MDF_NO_OPERAND && !is_whole_output(call->operator, i)) {
            mark_active(gradient, call->outputs[i]);
            any = true;
        }
    }
    return any;
}

/* Marks what an instruction writes where that changes smoothly with an x, which *smooth says. */
static bool follow(struct gradient *gradient, size_t at, bool *smooth)
{
    const struct mdf_instruction *instruction = unit_instruction(gradient->unit, at);

    *smooth = gradient_any_input(gradient, instruction, is_active);
    if (*smooth && instruction->opcode == MDF_OPCODE_CALL && gradient_can_go_through(gradient_call(gradient, instruction))) {
        return gradient_follow_control(gradient, at, smooth);
    }
    *smooth = *smooth && is_smooth(gradient, instruction) && mark_outputs(gradient, instruction);
    return true;
}

bool gradient_make_tape(struct gradient *gradient, const mdf_operand *ys, size_t n)
{
    find_needed(gradient, ys, n);
    for (size_t i = gradient->first_instruction; i < gradient->n_instructions; i++) {
        const struct mdf_instruction *instruction = unit_instruction(gradient->unit, i);
        bool smooth, replaced;

        if (gradient_chooses_replaced(gradient, i)) {
            return gradient_refuse_change(gradient, instruction);
        }
        if (!gradient_any_output(gradient, instruction, gradient_is_needed)) {
            continue;
        }
        replaced = gradient_any_input(gradient, instruction, is_replaced);
        if (!follow(gradient, i, &smooth)) {
            return false;
        }
        if ((smooth || replaced) && !can_follow(gradient, i, replaced)) {
            return gradient_refuse_change(gradient, unit_instruction(gradient->unit, i));
        }
        gradient->is_taped[i] = smooth;
        if (replaced && !run_again(gradient, i)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ the whole */

/* What is asked for of one x: the sum over all operands that hold it; zeros where y does not depend on it. */
static mdf_operand take_result(struct gradient *gradient, const struct list *named, mdf_operand given)
{
    mdf_operand sum = MDF_NO_OPERAND;

    for (size_t i = 0; i < named->n; i++) {
        mdf_operand part = gradient_track(gradient, ((const mdf_operand *)named->items)[i])->gradient;

        if (part == MDF_NO_OPERAND) {
            continue;
        }
        sum = sum == MDF_NO_OPERAND ? part : unit_call_two(gradient->target, PYTHON_ADD, sum, part);
        if (sum == MDF_NO_OPERAND) {
            return MDF_NO_OPERAND;
        }
    }
    return sum != MDF_NO_OPERAND ? sum : gradient_zeros_like(gradient, given);
}

/* From the tape, backward. */
static bool derive(struct gradient *gradient, const struct derived_value *ys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct track *track = gradient_track(gradient, ys[i].value);
        mdf_operand seed = ys[i].seed;

        if (!track->is_active) {
            continue;
        }
        if (seed == MDF_NO_OPERAND) {
            seed = unit_call_python(gradient->target, PYTHON_ONES_LIKE, &track->value, 1);
        }
        if (track->gradient != MDF_NO_OPERAND) {
            seed = unit_call_two(gradient->target, PYTHON_ADD, track->gradient, seed);
        }
        if (seed == MDF_NO_OPERAND) {
            return false;
        }
        track->gradient = seed;
    }
    return gradient_hand_back_range(gradient, gradient->first_instruction, gradient->n_instructions);
}

static bool check_counts(struct gradient *gradient, const struct mdf_gradient_settings *settings, size_t n_inputs)
{
    if (settings->xs.n == 0 || settings->xs.n + settings->zs.n != n_inputs) {
        compile_error(gradient->compiler, MDF_MODEL, "Gradient has %zu inputs for the %zu values that 'xs' and 'zs' name",
                      n_inputs, settings->xs.n + settings->zs.n);
        return false;
    }
    return true;
}

/* Whether something is wrong in what has been compiled: of such code there is no derivative, and no more is told. */
static bool is_half_made(const struct compiler *compiler)
{
    return compiler->n_taken > 0 || compiler->error->code != MDF_OK;
}

/* The gradients of y by each x, with what `inputs` hold in the places of the named values. */
static bool derive_by_names(struct gradient *gradient, const struct mdf_gradient_settings *names, const mdf_operand *inputs,
                            size_t n_inputs, struct outcome *outcome)
{
    struct mdf_arena *scratch = &gradient->compiler->scratch;
    struct list *named = mdf_arena_array(scratch, n_inputs, sizeof *named), y = {0};
    mdf_operand *results = mdf_arena_array(scratch, n_inputs + 1, sizeof *results);

    if (named == NULL || results == NULL) {
        compile_out_of_memory(gradient->compiler);
        return false;
    }
    if (!check_counts(gradient, names, n_inputs) || !find_named(gradient, names->y, &y)) {
        return false;
    }
    for (size_t i = 0; i < n_inputs; i++) {
        const char *name = i < names->xs.n ? names->xs.items[i] : names->zs.items[i - names->xs.n];

        if (!find_named(gradient, name, &named[i])) {
            return false;
        }
    }
    if (is_half_made(gradient->compiler) || !gradient_make_tracks(gradient)) {
        return false;
    }
    for (size_t i = 0; i < n_inputs; i++) {
        put_in_place(gradient, &named[i], inputs[i], i < names->xs.n);
    }
    if (!gradient_make_tape(gradient, y.items, 1) ||
        !derive(gradient, &(struct derived_value){*(const mdf_operand *)y.items, MDF_NO_OPERAND}, 1)) {
        return false;
    }
    for (size_t i = 0; i < names->xs.n; i++) {
        results[i] = take_result(gradient, &named[i], inputs[i]);
        if (results[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    *outcome = (struct outcome){results, names->xs.n, names->xs.n > 1};
    return true;
}

bool compile_gradient(struct target *target, const void *settings, const mdf_operand *inputs, size_t n_inputs,
                      struct outcome *outcome)
{
    struct gradient gradient = {.target = target, .compiler = target->compiler, .unit = target->unit};
    bool done = derive_by_names(&gradient, settings, inputs, n_inputs, outcome);

    gradient_clear(&gradient);
    return done;
}

static bool derive_from(struct gradient *gradient, const struct derived_value *ys, size_t n_ys, const mdf_operand *xs, size_t n,
                        mdf_operand *gradients)
{
    mdf_operand *values = mdf_arena_array(&gradient->compiler->scratch, n_ys, sizeof *values);

    if (values == NULL) {
        compile_out_of_memory(gradient->compiler);
        return false;
    }
    if (!gradient_make_tracks(gradient)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        gradient_track(gradient, xs[i])->is_given = gradient_track(gradient, xs[i])->is_active = true;
    }
    for (size_t i = 0; i < n_ys; i++) {
        values[i] = ys[i].value;
    }
    if (!gradient_make_tape(gradient, values, n_ys) || !derive(gradient, ys, n_ys)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        gradients[i] = gradient_or_zeros(gradient, xs[i]);
        if (gradients[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    return true;
}

bool compile_gradients_from(struct target *target, size_t first, const struct derived_value *ys, size_t n_ys,
                            const mdf_operand *xs, size_t n, mdf_operand *gradients)
{
    struct gradient gradient = {.target = target, .compiler = target->compiler, .unit = target->unit, .first_instruction = first};
    bool done = gradient_mark_draws(target, first) && derive_from(&gradient, ys, n_ys, xs, n, gradients);

    gradient_clear(&gradient);
    return done;
}

/* ------------------------------------------------------------------ the order of nodes */

/* Makes a node wait for the nodes with an output of one of the names in a text or a list of texts. */
static bool wait_for(struct graph_builder *builder, size_t receiver, const struct mdf_node *names)
{
    for (size_t k = 0; names != NULL && names->kind == MDF_NODE_LIST && k < names->as.list.n; k++) {
        if (names->as.list.items[k].kind == MDF_NODE_STRING && !wait_for(builder, receiver, &names->as.list.items[k])) {
            return false;
        }
    }
    for (size_t i = 0; names != NULL && names->kind == MDF_NODE_STRING && i < builder->graph->n_nodes; i++) {
        const struct mdf_graph_node *node = &builder->graph->nodes[i];

        for (size_t j = 0; j < node->n_output_ports; j++) {
            if (mdf_part_is_named(node->id, node->output_ports[j].id, names->as.string.bytes) &&
                !graph_add_sender(builder, receiver, i)) {
                return false;
            }
        }
    }
    return true;
}

static bool wait_for_named(struct graph_builder *builder, size_t receiver, const struct mdf_definition *definition)
{
    const struct mdf_node *xs = definition->function != NULL ? find_attribute(builder->compiler, definition, "xs") : NULL;
    const struct mdf_schema *schema = xs != NULL ? find_onnx_schema(builder->compiler, definition->function) : NULL;
    const struct mdf_operator *row = schema != NULL ? mdf_operator_onnx(schema->name, schema->since) : NULL;

    return row == NULL || (row->flags & MDF_OPERATOR_DERIVES) == 0 ||
           (wait_for(builder, receiver, xs) && wait_for(builder, receiver, find_attribute(builder->compiler, definition, "y")));
}

bool gradient_add_senders(struct graph_builder *builder)
{
    const struct mdf_graph_node *outer = builder->compiler->node;

    for (size_t i = 0; i < builder->graph->n_nodes; i++) {
        const struct mdf_graph_node *node = &builder->graph->nodes[i];
        size_t n = node->n_functions + node->n_parameters;

        builder->compiler->node = node;
        for (size_t k = 0; k < n; k++) {
            if (!wait_for_named(builder, i,
                                k < node->n_functions ? &node->functions[k]
                                                      : &node->parameters[k - node->n_functions].definition)) {
                builder->compiler->node = outer;
                return false;
            }
        }
    }
    builder->compiler->node = outer;
    return true;
}
