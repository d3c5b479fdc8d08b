/* solver.c - code that takes all parameters with a time derivative over a step, by one of the methods of method.c.
 *
 * Comes in: a graph whose nodes are compiled, and take what the solver has left for them (node.c). Goes out: the same with the
 * first node's code once more, the solver's in front of it: an evaluation with a time increment goes through it before any node
 * runs. It is code as any other: lowered, machine code, C, lanes and derivatives follow. */
#include "mdf_c/plan/solve/entry.h"

#include "mdf_c/plan/traced/trace.h"

#include <late_libraries.h>
#include <string.h>

/* ------------------------------------------------------------------ expressions of methods */

solver_values solver_new_values(struct solver *solver)
{
    return trace_new_operands(solver->side.builder->compiler, solver->side.n_states, MDF_NO_OPERAND);
}

bool solver_name(struct target *target, const char *name, mdf_operand operand)
{
    return operand != MDF_NO_OPERAND && scope_bind(target->compiler, target->scope, name, operand);
}

mdf_operand solver_compute(struct target *target, const char *name, const char *expression)
{
    mdf_operand operand = compile_text(target, expression);

    return name == NULL || solver_name(target, name, operand) ? operand : MDF_NO_OPERAND;
}

static mdf_operand compute_one(const struct solver *solver, struct target *target, const char *expression,
                               const struct solver_named *named, size_t n_named, size_t state)
{
    struct scope scope = {.outer = target->scope, .unit = target->unit};
    struct target inner = {target->compiler, target->unit, &scope};
    uint32_t origin = target->compiler->origin;
    mdf_operand result;

    for (size_t k = 0; k < n_named; k++) {
        if (!solver_name(&inner, named[k].name, named[k].values[state])) {
            return MDF_NO_OPERAND;
        }
    }
    target->compiler->origin = solver->side.states[state].step;
    result = solver_compute(&inner, NULL, expression);
    target->compiler->origin = origin;
    return result;
}

bool solver_compute_each(struct solver *solver, struct target *target, const char *expression, const struct solver_named *named,
                         size_t n_named, solver_values results)
{
    for (size_t i = 0; i < solver->side.n_states; i++) {
        results[i] = compute_one(solver, target, expression, named, n_named, i);
        if (results[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    return true;
}

/* What is held is the same in all stages. */
static bool take_stage(struct solver *solver, struct target *target, const char *expression, const struct solver_named *named,
                       size_t n_named, solver_values results)
{
    for (size_t i = 0; i < solver->side.n_states; i++) {
        results[i] =
            solver->side.states[i].is_held ? named[0].values[i] : compute_one(solver, target, expression, named, n_named, i);
        if (results[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    return true;
}

bool solver_take_stages(struct solver *solver, struct target *target, solver_values y, bool begins,
                        struct solver_named named[1 + MDF_MOST_STAGES], solver_values last, size_t *n_stages)
{
    static const char *const names[MDF_MOST_STAGES] = {"k1", "k2", "k3", "k4", "k5", "k6", "k7"};
    size_t s;

    named[0] = (struct solver_named){"y", y};
    for (s = 0; solver->method->stages[s] != NULL; s++) {
        solver_values slopes = s == 0 && !begins ? named[1].values : solver_new_values(solver);

        if (slopes == NULL || !take_stage(solver, target, solver->method->stages[s], named, 1 + s, last) ||
            ((begins || s > 0) && !right_side_emit(&solver->side, &solver->side.slopes, target, last, slopes))) {
            return false;
        }
        named[1 + s] = (struct solver_named){names[s], slopes};
    }
    *n_stages = s;
    return true;
}

bool solver_leave(struct solver *solver, struct target *target, const mdf_operand *values)
{
    for (size_t i = 0; i < solver->side.n_states; i++) {
        if (!unit_emit(target, MDF_OPCODE_COPY, solver->side.states[i].next, values[i], 0)) {
            return false;
        }
    }
    return true;
}

bool solver_name_real(struct target *target, const char *name, double real)
{
    struct mdf_value value = {0};

    return mdf_value_make_double(target->compiler->memory, &value, real)
               ? solver_name(target, name, unit_add_constant(target, &value, 0))
               : compile_out_of_memory(target->compiler) != MDF_NO_OPERAND;
}

bool solver_name_options(const struct solver *solver, struct target *target)
{
    const struct mdf_program_solver *options = &solver->side.builder->compiler->program->solver;

    return solver_name_real(target, "rtol", options->rtol) && solver_name_real(target, "atol", options->atol) &&
           solver_name_real(target, "max_step", options->max_step) &&
           solver_name_real(target, "step_limit", (double)options->step_limit);
}

bool solver_take_norm(struct solver *solver, struct target *target, const char *name, const char *of,
                      const struct solver_named *named, size_t n_named)
{
    solver_values values = solver_new_values(solver), squares = solver_new_values(solver), sizes = solver_new_values(solver);
    const struct solver_named scaled = {"scaled", values};
    mdf_operand total = MDF_NO_OPERAND, n = MDF_NO_OPERAND;

    if (values == NULL || squares == NULL || sizes == NULL || !solver_compute_each(solver, target, of, named, n_named, values) ||
        !solver_compute_each(solver, target, "numpy.sum(scaled * scaled)", &scaled, 1, squares) ||
        !solver_compute_each(solver, target, "numpy.sum(numpy.where(scaled > 0.0, 1.0, 1.0))", &scaled, 1, sizes)) {
        return false;
    }
    for (size_t i = 0; i < solver->side.n_states; i++) {
        if (!solver->side.states[i].is_exact) {
            total = total == MDF_NO_OPERAND ? squares[i] : unit_call_two(target, PYTHON_ADD, total, squares[i]);
            n = n == MDF_NO_OPERAND ? sizes[i] : unit_call_two(target, PYTHON_ADD, n, sizes[i]);
        }
    }
    if (n == MDF_NO_OPERAND) { /* nothing can be wrong */
        return solver_compute(target, name, "0.0 * rtol") != MDF_NO_OPERAND;
    }
    return solver_name(target, "total", total) && solver_name(target, "n", n) &&
           solver_compute(target, name, "numpy.sqrt(total / n)") != MDF_NO_OPERAND;
}

/* ------------------------------------------------------------------ the whole */

/* Copies instructions [first, end) behind all others. */
static bool move_behind(struct target *target, size_t first, size_t end)
{
    struct unit *unit = target->unit;
    size_t new_first = unit_position(unit);

    for (size_t at = first; at < end; at++) {
        struct mdf_instruction instruction = *unit_instruction(unit, at);

        if (instruction.opcode == MDF_OPCODE_JUMP || instruction.opcode == MDF_OPCODE_JUMP_IF ||
            instruction.opcode == MDF_OPCODE_JUMP_UNLESS || instruction.opcode == MDF_OPCODE_JUMP_WITHOUT_DT ||
            instruction.opcode == MDF_OPCODE_NEXT) {
            instruction.target = (uint32_t)(instruction.target - first + new_first);
        }
        if (!list_add(target->compiler, &unit->instructions, &instruction, sizeof instruction)) {
            return false;
        }
    }
    return true;
}

void solver_blank(struct unit *unit, size_t first, size_t end)
{
    for (size_t at = first; at < end; at++) {
        *unit_instruction(unit, at) = (struct mdf_instruction){.opcode = MDF_OPCODE_JUMP, .target = (uint32_t)at + 1};
    }
}

/* The node's code once more, behind all others, up to where it computes. */
static bool begin_node(struct target *target, struct mdf_program_node *node)
{
    size_t first = unit_position(target->unit), shift = first - node->first;

    if (!move_behind(target, node->first, node->main)) {
        return false;
    }
    solver_blank(target->unit, node->first, node->main);
    node->first = first;
    node->reset += shift;
    node->initial += shift;
    return true;
}

/* The steps run in front of the first node, the start behind the last. */
static bool put_in_place(struct solver *solver, struct target *target, struct mdf_program *program)
{
    const struct mdf_program_layer *layer = &program->layers[program->n_layers - 1];
    struct mdf_program_node *node = &program->nodes[program->layers[0].nodes[0]],
                            *last = &program->nodes[layer->nodes[layer->n_nodes - 1]];
    bool is_adaptive = solver->method->kind == MDF_METHOD_ADAPTIVE;
    struct stepping *kept = NULL;
    size_t main = node->main, end = node->end;

    if (!begin_node(target, node)) {
        return false;
    }
    node->main = unit_position(target->unit);
    if (!(is_adaptive ? (kept = solver_emit_adaptive_steps(solver, target)) != NULL : solver_emit_fixed_step(solver, target)) ||
        !move_behind(target, main, end)) {
        return false;
    }
    solver_blank(target->unit, main, end);
    node->end = unit_position(target->unit);
    if (!is_adaptive) {
        return true;
    }
    if (last != node) {
        main = last->main;
        end = last->end;
        if (!begin_node(target, last)) {
            return false;
        }
        last->main = unit_position(target->unit);
        if (!move_behind(target, main, end)) {
            return false;
        }
        solver_blank(target->unit, main, end);
    }
    if (!solver_emit_start(solver, target, kept)) {
        return false;
    }
    last->end = unit_position(target->unit);
    return true;
}

/* The states have one time: all nodes run once in each evaluation. */
static bool runs_evenly(struct graph_builder *builder)
{
    const struct mdf_program *program = builder->compiler->program;
    bool is_even = !builder->is_scheduled;

    for (size_t i = 0; i < program->n_nodes; i++) {
        is_even = is_even && program->nodes[i].finished == MDF_NO_OPERAND;
    }
    if (!is_even && program->solver.method == MDF_METHOD_EULER) {
        compile_error(
            builder->compiler, MDF_UNSUPPORTED,
            "the model has no right-hand side, whose values are those of inputs, parameters and what has a time_derivative: %s",
            builder->is_scheduled
                ? "conditions decide which nodes run, by what has run in evaluations so far; between these there is no answer"
                : "a node runs until it is finished");
    } else if (!is_even) {
        compile_error(
            builder->compiler, MDF_UNSUPPORTED,
            "a graph with %s can not be solved by %s: its nodes do not run once in each evaluation (docs/time.md); take "
            "the method euler",
            builder->is_scheduled ? "conditions" : "nodes that run until they are finished",
            mdf_method_names[program->solver.method]);
    }
    return is_even;
}

/* What is held stands behind all else. */
static bool put_held_last(struct compiler *compiler)
{
    struct solver_state *states = compiler->states.items,
                        *held = mdf_arena_array(&compiler->scratch, compiler->states.n, sizeof *held);
    size_t n = 0, n_held = 0;

    if (held == NULL) {
        return compile_out_of_memory(compiler) != MDF_NO_OPERAND;
    }
    for (size_t i = 0; i < compiler->states.n; i++) {
        if (states[i].is_held) {
            held[n_held++] = states[i];
        } else {
            states[n++] = states[i];
        }
    }
    if (n_held > 0) {
        memcpy(states + n, held, n_held * sizeof *held);
    }
    return true;
}

/* What an evaluation has to see to before the solver's code runs. */
static bool keep_needs(const struct solver *solver, struct mdf_program *program)
{
    struct compiler *compiler = solver->side.builder->compiler;

    program->solver.n_states = solver->side.n_states;
    for (size_t i = 0; i < solver->side.n_states; i++) {
        program->solver.n_held += solver->side.states[i].is_held;
    }
    program->solver.takes_own_steps = mdf_method_takes_own_steps(program->solver.method);
    program->solver.ports = mdf_arena_array(compiler->arena, program->n_ports, sizeof *program->solver.ports);
    for (size_t i = 0; program->solver.ports != NULL && i < program->n_ports; i++) {
        if (solver->side.reads_port[i]) {
            program->solver.ports[program->solver.n_ports++] = i;
        }
    }
    return program->solver.ports != NULL || compile_out_of_memory(compiler) != MDF_NO_OPERAND;
}

#ifdef MDF_LATE_CVODES
static const bool has_library = true;
#else
static const bool has_library = false;
#endif

/* The code of the method, where nodes do not step by themselves. */
static bool emit_method(struct solver *solver, struct target *target)
{
    struct mdf_program *program = target->compiler->program;

    if (!keep_needs(solver, program)) {
        return false;
    }
    return solver->method->kind == MDF_METHOD_LIBRARY ? solver_emit_entry(solver, target) : put_in_place(solver, target, program);
}

bool compile_solver(struct graph_builder *builder)
{
    struct compiler *compiler = builder->compiler;
    struct scope scope = {.unit = builder->unit};
    struct target target = {compiler, builder->unit, &scope};
    struct mdf_program *program = compiler->program;
    struct solver solver = {.method = mdf_method_row(program->solver.method)};
    bool is_solved = solver.method->kind != MDF_METHOD_IN_NODES && compiler->states.n > 0;
    size_t first = unit_position(builder->unit), end;

    if (!is_solved && (!compiler->has_right_side || compiler->gradient != NULL)) {
        return true;
    }
    if (is_solved && solver.method->kind == MDF_METHOD_LIBRARY && !has_library) {
        compile_error(compiler, MDF_UNSUPPORTED, "%s needs the library SUNDIALS, which this build is without (docs/time.md)",
                      mdf_method_names[program->solver.method]);
        return false;
    }
    if (!runs_evenly(builder) || !put_held_last(compiler) || !right_side_make(&solver.side, builder)) {
        return false;
    }
    end = unit_position(builder->unit);
    if (!solver_name(&target, "dt", compiler->dt) || (is_solved && !emit_method(&solver, &target)) ||
        (compiler->has_right_side && !solver_emit_right_side(&solver, &target))) {
        return false;
    }
    solver_blank(builder->unit, first, end);
    return true;
}
