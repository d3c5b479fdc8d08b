/* node_derivative.c - what a parameter with a time_derivative becomes in an evaluation: see node_builder.h. */
#include "mdf_c/plan/node_builder.h"
#include "mdf_c/plan/solve/method.h"
#include "mdf_c/plan/solve/right_side.h"

#include <string.h>

/* Notes a value that changes with time. */
static bool note_integral(struct node_builder *builder, const struct item *item)
{
    struct compiler *compiler = builder->compiler;
    const char *id = item->definition->id;
    struct mdf_program_integral integral = {builder->index, mdf_arena_text(compiler->arena, id, strlen(id)), item->slot,
                                            compiler->origins[compiler->origin]};

    if (builder->target.unit != compiler->root_unit) {
        return true; /* of a graph within a node */
    }
    if (integral.id == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    return list_add(compiler, &compiler->integrals, &integral, sizeof integral);
}

/* Where a step is taken: what does not fit there is the initial value, or the derivative. */
static struct place enter_step(struct compiler *compiler, const struct item *item)
{
    return place_enter(compiler, "initial value and", "time_derivative", item->parameter->time_derivative);
}

/* What is to be known of it for a right-hand side; `next` is what holds its value behind the step. */
static struct solver_state new_state(const struct node_builder *builder, const struct item *item, mdf_operand next)
{
    struct compiler *compiler = builder->compiler;
    struct place place = enter_step(compiler, item);
    uint32_t step = compiler->origin;

    place_leave(compiler, place);
    return (struct solver_state){
        .id = item->definition->id,
        .slot = item->slot,
        .next = next,
        .skip = SIZE_MAX,
        .conditioned = MDF_NO_OPERAND,
        .holds = MDF_NO_OPERAND,
        .is_exact = node_item_is_added(builder, item),
        .is_held = node_item_is_added(builder, item) && item->parameter->n_conditions > 0,
        .is_changed = (item->parameter->n_conditions > 0 && !node_leaves_conditions_to_solver(builder->compiler)) ||
                      item->parameter->declaration.type.dtype != MDF_DTYPE_NONE,
        .step = step,
        .origin = compiler->origins[compiler->origin]};
}

/* Of a graph within a node, or of what begins anew in each evaluation, there is no right-hand side. */
static bool can_be_state(struct node_builder *builder, const struct item *item)
{
    struct compiler *compiler = builder->compiler;
    bool is_nested = builder->graph->is_nested;

    if (!is_nested && item->parameter->reset == NULL) {
        return true;
    }
    compile_error(compiler, MDF_UNSUPPORTED, "a time_derivative %s can not be solved by %s (docs/time.md); take the method euler",
                  is_nested ? "in a graph within a node" : "of a parameter that begins anew in each evaluation",
                  compiler->root->solver.method == MDF_METHOD_EULER ? "others" : mdf_method_names[compiler->root->solver.method]);
    return false;
}

/* The derivative; of a list of numbers, the array of these. */
static mdf_operand compile_slope(struct target *target, const struct item *item)
{
    mdf_operand slope = compile_value(target, item->parameter->time_derivative);

    return slope != MDF_NO_OPERAND && (unit_flags(target->unit, slope) & OPERAND_MAY_BE_LIST) != 0
               ? compile_as_array(target, slope)
               : slope;
}

/* value + derivative * dt, in `result`. */
static bool step_by_itself(struct node_builder *builder, const struct item *item, mdf_operand result)
{
    struct compiler *compiler = builder->compiler;
    struct target *target = &builder->target;
    struct solver_state state = new_state(builder, item, result);
    struct place place;
    mdf_operand change, sum;

    state.derivative = compile_slope(target, item);
    state.over = unit_position(target->unit);
    if (state.derivative == MDF_NO_OPERAND ||
        (compiler->has_right_side &&
         !(can_be_state(builder, item) && list_add(compiler, &compiler->states, &state, sizeof state)))) {
        return false;
    }
    change = unit_call_two(target, PYTHON_MULTIPLY, state.derivative, compiler->dt);
    place = enter_step(compiler, item);
    sum = change == MDF_NO_OPERAND
              ? MDF_NO_OPERAND
              : unit_call_into(target, mdf_operator_python("numpy.add"), (const mdf_operand[]){item->slot, change}, 2, result);
    place_leave(compiler, place);
    return sum != MDF_NO_OPERAND;
}

bool node_leaves_conditions_to_solver(const struct compiler *compiler)
{
    return mdf_method_takes_own_steps(compiler->root->solver.method);
}

/* What the solver has left, in `result`. The code of the derivative is jumped over: the solver's is made from it. */
static bool step_by_solver(struct node_builder *builder, const struct item *item, mdf_operand result)
{
    struct compiler *compiler = builder->compiler;
    struct target *target = &builder->target;
    struct solver_state state = new_state(builder, item, unit_new_slot(target, OPERAND_MAY_BE_LIST));

    if (!can_be_state(builder, item)) {
        return false;
    }
    state.skip = unit_emit_jump(target, MDF_OPCODE_JUMP, 0);
    state.derivative = compile_slope(target, item);
    if (state.next == MDF_NO_OPERAND || state.skip == SIZE_MAX || state.derivative == MDF_NO_OPERAND) {
        return false;
    }
    unit_land(target->unit, state.skip);
    state.over = unit_position(target->unit);
    unit_set_owner(target->unit, state.next, 0);
    return list_add(compiler, &compiler->states, &state, sizeof state) &&
           unit_emit(target, MDF_OPCODE_COPY, result, state.next, 0);
}

mdf_operand node_compile_derivative(struct node_builder *builder, const struct item *item)
{
    struct target *target = &builder->target;
    mdf_operand result = unit_new_slot(target, OPERAND_MAY_BE_LIST), operand;
    size_t to_initial, to_end;

    if (builder->compiler->derivative == 0) {
        builder->compiler->derivative = builder->compiler->origin;
    }
    to_initial = unit_emit_jump(target, MDF_OPCODE_JUMP_WITHOUT_DT, 0);
    if (result == MDF_NO_OPERAND || to_initial == SIZE_MAX || !note_integral(builder, item) ||
        !(builder->compiler->root->solver.method == MDF_METHOD_EULER ? step_by_itself(builder, item, result)
                                                                     : step_by_solver(builder, item, result))) {
        return MDF_NO_OPERAND;
    }
    to_end = unit_emit_jump(target, MDF_OPCODE_JUMP, 0);
    if (to_end == SIZE_MAX) {
        return MDF_NO_OPERAND;
    }
    unit_land(target->unit, to_initial);
    operand = node_initial_of_state(target, item);
    if (operand == MDF_NO_OPERAND || !unit_emit(target, MDF_OPCODE_COPY, result, operand, 0)) {
        return MDF_NO_OPERAND;
    }
    unit_land(target->unit, to_end);
    return result;
}

struct solver_state *node_note_condition(struct node_builder *builder, mdf_operand conditioned, mdf_operand holds)
{
    struct compiler *compiler = builder->compiler;
    struct solver_state *state = (struct solver_state *)compiler->states.items + compiler->states.n - 1;

    state->conditioned = conditioned;
    state->holds = holds;
    state->located = unit_position(builder->target.unit);
    return state;
}

mdf_operand node_leave_to_solver(struct node_builder *builder, mdf_operand before, mdf_operand conditioned, mdf_operand holds)
{
    struct target *target = &builder->target;
    const struct solver_state *state = node_note_condition(builder, conditioned, holds);
    mdf_operand result;
    size_t to_conditioned, to_end;

    if (state->is_held) { /* that the event's expression is past zero at first is no event */
        return before;
    }
    result = unit_new_slot(target, OPERAND_MAY_BE_LIST);
    to_conditioned = unit_emit_jump(target, MDF_OPCODE_JUMP_WITHOUT_DT, 0);
    if (result == MDF_NO_OPERAND || to_conditioned == SIZE_MAX || !unit_emit(target, MDF_OPCODE_COPY, result, before, 0)) {
        return MDF_NO_OPERAND;
    }
    to_end = unit_emit_jump(target, MDF_OPCODE_JUMP, 0);
    if (to_end == SIZE_MAX) {
        return MDF_NO_OPERAND;
    }
    unit_land(target->unit, to_conditioned);
    if (!unit_emit(target, MDF_OPCODE_COPY, result, conditioned, 0)) {
        return MDF_NO_OPERAND;
    }
    unit_land(target->unit, to_end);
    return result;
}
