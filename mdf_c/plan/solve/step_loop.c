/* step_loop.c - see step_loop.h. */
#include "mdf_c/plan/solve/step_loop.h"

#include "mdf_c/plan/traced/made_loop.h"

void step_loop_begin(struct step_loop *loop, struct target *outer)
{
    *loop = (struct step_loop){.outer = outer->unit};
    loop->unit.outer = outer->unit;
    loop->scope = (struct scope){.outer = outer->scope, .unit = &loop->unit};
    loop->target = (struct target){outer->compiler, &loop->unit, &loop->scope};
}

solver_values step_loop_capture(struct solver *solver, struct step_loop *loop, const mdf_operand *values)
{
    solver_values captured = solver_new_values(solver);

    for (size_t i = 0; captured != NULL && i < solver->side.n_states; i++) {
        captured[i] = unit_capture(&loop->target, &loop->unit, loop->outer, values[i]);
        if (captured[i] == MDF_NO_OPERAND) {
            return NULL;
        }
    }
    return captured;
}

bool step_loop_formal(struct step_loop *loop, const char *name, mdf_operand *formal)
{
    *formal = unit_new_slot(&loop->target, 0);
    return list_add_operand(loop->target.compiler, &loop->formals, *formal) &&
           (name == NULL || solver_name(&loop->target, name, *formal));
}

bool step_loop_yield(struct step_loop *loop, const char *expression)
{
    return list_add_operand(loop->target.compiler, &loop->yields, solver_compute(&loop->target, NULL, expression));
}

bool step_loop_formals(struct solver *solver, struct step_loop *loop, solver_values formals)
{
    for (size_t i = 0; i < solver->side.n_states; i++) {
        if (!step_loop_formal(loop, NULL, &formals[i])) {
            return false;
        }
    }
    return true;
}

bool step_loop_yields(struct solver *solver, struct step_loop *loop, const char *expression, const struct solver_named *named,
                      size_t n_named)
{
    solver_values values = solver_new_values(solver);

    if (values == NULL || !solver_compute_each(solver, &loop->target, expression, named, n_named, values)) {
        return false;
    }
    for (size_t i = 0; i < solver->side.n_states; i++) {
        if (!list_add(loop->target.compiler, &loop->yields, &values[i], sizeof *values)) {
            return false;
        }
    }
    return true;
}

bool step_loop_emit(struct step_loop *loop, struct target *target, mdf_operand goes_on, uint64_t most, mdf_operand condition,
                    const mdf_operand *states, mdf_operand *outputs, size_t n)
{
    struct mdf_code *body =
        goes_on != MDF_NO_OPERAND ? made_loop_body(&loop->target, &loop->formals, &loop->yields, goes_on, "event") : NULL;

    unit_clear(target->compiler, &loop->unit);
    for (size_t i = 0; body != NULL && i < n; i++) {
        outputs[i] = unit_new_slot(target, 0);
        if (outputs[i] == MDF_NO_OPERAND) {
            mdf_code_clear(target->compiler->memory, body);
            return false;
        }
    }
    return body != NULL && made_loop_emit(target, body, most, condition, states, outputs, n);
}
