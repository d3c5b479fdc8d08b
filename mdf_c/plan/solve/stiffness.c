/* stiffness.c - see stiffness.h: the diagonal of the Jacobian.
 *
 * Where functions of elements alone lead from a state to its slope, no element changes the slope of another, and the gradient of
 * the sum of slopes is the diagonal. Else a Loop goes through the elements: in each run the gradient of the slope of one. */
#include "mdf_c/plan/solve/stiffness.h"

#include "functions/elements/element.h"
#include "mdf_c/code/operands.h"
#include "mdf_c/plan/gradient/evaluation.h"
#include "mdf_c/plan/solve/step_loop.h"

/* ------------------------------------------------------------------ whether elements are apart */

/* How a value hangs on a state. */
enum reach { APART, BY_ELEMENTS, MIXED };

struct following {
    struct unit *unit;
    unsigned char *reach; /* of each slot: enum reach */
    enum reach of_reads;  /* of an instruction: the most of what it reads */
};

static bool note_read(void *context, mdf_operand operand)
{
    struct following *following = context;

    if (MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT && following->reach[MDF_OPERAND_INDEX(operand)] > following->of_reads) {
        following->of_reads = (enum reach)following->reach[MDF_OPERAND_INDEX(operand)];
    }
    return false;
}

static bool note_written(void *context, mdf_operand slot)
{
    struct following *following = context;
    unsigned char *reach = &following->reach[MDF_OPERAND_INDEX(slot)];

    *reach = *reach > following->of_reads ? *reach : (unsigned char)following->of_reads;
    return false;
}

/* Whether an instruction keeps elements where they are. */
static bool keeps_elements(struct unit *unit, const struct mdf_instruction *instruction)
{
    const struct mdf_code_call *call;

    switch (instruction->opcode) {
    case MDF_OPCODE_COPY:
    case MDF_OPCODE_BORROW:
    case MDF_OPCODE_ARRAY:
    case MDF_OPCODE_DECLARE:
        return true;
    case MDF_OPCODE_CALL:
        call = (const struct mdf_code_call *)unit->calls.items + instruction->target;
        return call->n_bodies == 0 && mdf_element_of(call->operator, call->settings) != NULL;
    default:
        return false;
    }
}

/* Whether each element of `slope` hangs on no element of `y` but that in its place. */
static bool is_by_elements(struct target *target, size_t first, mdf_operand y, mdf_operand slope, bool *is)
{
    struct unit *unit = target->unit;
    struct following following = {unit, NULL, APART};

    following.reach = mdf_arena_array(&target->compiler->scratch, unit->slot_facts.n + 1, sizeof *following.reach);
    if (following.reach == NULL) {
        return compile_out_of_memory(target->compiler) != MDF_NO_OPERAND;
    }
    following.reach[MDF_OPERAND_INDEX(y)] = BY_ELEMENTS;
    for (size_t at = first; at < unit_position(unit); at++) {
        const struct mdf_instruction *instruction = unit_instruction(unit, at);

        following.of_reads = APART;
        mdf_any_read(instruction, unit->calls.items, unit->bodies.items, note_read, &following);
        if (following.of_reads == BY_ELEMENTS && !keeps_elements(unit, instruction)) {
            following.of_reads = MIXED;
        }
        mdf_any_written(instruction, unit->calls.items, note_written, &following);
    }
    *is = MDF_OPERAND_KIND(slope) != MDF_OPERAND_SLOT || following.reach[MDF_OPERAND_INDEX(slope)] != MIXED;
    return true;
}

/* ------------------------------------------------------------------ one element after the other */

/* In a type of its own, as states of loops are. */
static mdf_operand typed(struct target *target, mdf_operand value)
{
    return value == MDF_NO_OPERAND ? value : unit_call_python(target, PYTHON_TYPED, &value, 1);
}

/* Names of the body: the numbers of elements, and the gradient of the slope of number `at`, from 1 on. */
static bool derive_one(struct solver *solver, struct step_loop *loop, size_t state, const mdf_operand *outer_y)
{
    solver_values y = step_loop_capture(solver, loop, outer_y), slopes = solver_new_values(solver);
    struct target *target = &loop->target;
    struct derived_value one;
    mdf_operand gradient;
    size_t first;

    if (y == NULL || slopes == NULL) {
        return false;
    }
    y[state] = unit_own_copy(target, y[state]);
    if (y[state] == MDF_NO_OPERAND || !solver_name(target, "numbers", unit_call_python(target, PYTHON_NUMBERS, &y[state], 1))) {
        return false;
    }
    one.seed = solver_compute(target, NULL, "numpy.where(numbers == at, 1.0, 0.0)");
    first = unit_position(target->unit);
    if (one.seed == MDF_NO_OPERAND || !right_side_emit(&solver->side, &solver->side.slopes, target, y, slopes)) {
        return false;
    }
    one.value = solver_name(target, "y", y[state]) && solver_name(target, "slope", slopes[state])
                    ? solver_compute(target, NULL, "slope + numpy.zeros_like(y)") /* one number may be that of all elements */
                    : MDF_NO_OPERAND;
    if (one.value == MDF_NO_OPERAND) {
        return false;
    }
    return compile_gradients_from(target, first, &one, 1, &y[state], 1, &gradient) &&
           solver_name(target, "gradient", typed(target, gradient));
}

static bool make_body(struct solver *solver, struct step_loop *loop, size_t state, const mdf_operand *y, mdf_operand *goes_on)
{
    struct list roots = {0};
    mdf_operand at, diagonal;

    if (!step_loop_formal(loop, "at", &at) || !step_loop_formal(loop, "diagonal", &diagonal) ||
        !derive_one(solver, loop, state, y) || !step_loop_yield(loop, "at + 1.0") ||
        !step_loop_yield(loop, "numpy.where(numbers == at, gradient, diagonal)")) {
        return false;
    }
    *goes_on = solver_compute(&loop->target, NULL, "at < numpy.sum(numpy.where(numbers >= 0, 1.0, 1.0))");
    for (size_t i = 0; *goes_on != MDF_NO_OPERAND && i < loop->yields.n; i++) {
        if (!list_add(loop->target.compiler, &roots, (const mdf_operand *)loop->yields.items + i, sizeof(mdf_operand))) {
            return false;
        }
    }
    return *goes_on != MDF_NO_OPERAND && list_add(loop->target.compiler, &roots, goes_on, sizeof *goes_on) &&
           compile_take_out_unread(&loop->target, 0, &roots);
}

static bool take_one_by_one(struct solver *solver, struct target *target, size_t state, const mdf_operand *y,
                            mdf_operand *stiffness)
{
    struct scope scope = {.outer = target->scope, .unit = target->unit};
    struct target inner = {target->compiler, target->unit, &scope};
    mdf_operand states[2], outputs[2], goes_on = MDF_NO_OPERAND, begins;
    struct step_loop loop;

    if (!solver_name(&inner, "y", y[state])) {
        return false;
    }
    states[0] = solver_compute(&inner, NULL, "numpy.multiply(1.0, 1.0)");
    states[1] = typed(&inner, solver_compute(&inner, NULL, "numpy.zeros_like(numpy.multiply(y, 1.0))"));
    begins = solver_compute(&inner, NULL, "numpy.sum(numpy.where(y > 0.0, 1.0, 1.0)) > 0.0");
    if (states[0] == MDF_NO_OPERAND || states[1] == MDF_NO_OPERAND || begins == MDF_NO_OPERAND) {
        return false;
    }
    step_loop_begin(&loop, target);
    if (!make_body(solver, &loop, state, y, &goes_on)) {
        unit_clear(target->compiler, &loop.unit);
        return false;
    }
    if (!step_loop_emit(&loop, target, goes_on, INT64_MAX, begins, states, outputs, 2)) {
        return false;
    }
    *stiffness = outputs[1];
    return true;
}

/* ------------------------------------------------------------------ all */

bool solver_take_stiffness(struct solver *solver, struct target *target, size_t first, solver_values y, const mdf_operand *slopes,
                           solver_values stiffness)
{
    for (size_t i = 0; i < solver->side.n_states; i++) {
        const struct derived_value sum = {slopes[i], MDF_NO_OPERAND};
        bool is = false;

        if (!is_by_elements(target, first, y[i], slopes[i], &is) ||
            !(is ? compile_gradients_from(target, first, &sum, 1, &y[i], 1, &stiffness[i])
                 : take_one_by_one(solver, target, i, y, &stiffness[i]))) {
            return false;
        }
    }
    return true;
}
