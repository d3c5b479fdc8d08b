/* adaptive_steps.c - steps whose length follows a tolerance, and values between them: see solver.h. The control of steps and the
 * polynomial between them are those of Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.4 and II.6.
 *
 * Time is told by how far the solver is ahead of the evaluation, less than 0 while it is behind. Where derivatives depend on the
 * states alone, steps go over the times of evaluations, whose values are those of the polynomial of the last step; the solver
 * keeps where it is from one evaluation to the next. Where inputs may change, or something else sets states, they end there. */
#include "mdf_c/plan/traced/made_loop.h"
#include "mdf_c/plan/solve/events.h"
#include "mdf_c/plan/solve/jumps.h"
#include "mdf_c/plan/traced/trace.h"

/* Of the type that these have behind a step, so that what is lowered fits a state that begins. */
#define ZERO "numpy.multiply(0.0, 1.0)"

/* What the solver keeps of itself from step to step; the same of each state is in `struct stepping`. */
static const struct {
    const char *name;
    const char *start; /* what it is where the solver begins */
    const char *next;  /* behind a step */
    bool is_of_evaluation; /* it begins anew with each */
} controls[] = {
    {"ahead", ZERO, "numpy.where(accepted, ahead + share * h, ahead)"},
    {"length", ZERO, "next_length"}, /* of the next step; 0: the solver begins */
    {"last", ZERO, "numpy.where(accepted, h, last)"},
    {"control", "numpy.multiply(1e-4, 1.0)", "numpy.where(accepted, numpy.maximum(error, 1e-4), control)"},
    {"rejected", ZERO, "numpy.where(accepted, 0.0, 1.0)"},
    {"since", ZERO, "numpy.where(fired > 0.0, 0.0, elapsed)"}, /* the last event */
    {"near", ZERO, "nearby"},                                  /* events in a row that hardly any time lies between */
    {"struck", ZERO, "numpy.where(accepted, fired, struck)"},  /* whether the last step ended in one */
    {"slid", ZERO, "sliding"},                                 /* elements that a condition is to hold */
    {"steps", ZERO, "numpy.add(steps, 1.0)", true},            /* accepted or not */
    {"turns", ZERO, "numpy.add(turns, turned)", true},         /* of them, those that a jump made wrong: jumps.h */
};

enum { N_CONTROLS = sizeof controls / sizeof *controls, N_PARTS = 5, N_OF_STATE = 2 + N_PARTS };

/* The parts of the polynomial, from the step of length h from y to y1, as dopri5 has them. */
static const char *const parts[N_PARTS] = {
    "y", "y1 - y", "h * k1 - (y1 - y)", "(y1 - y) - h * k7 - (h * k1 - (y1 - y))",
    ("h * (-12715105075.0 / 11282082432.0 * k1 + 87487479700.0 / 32700410799.0 * k3 - 10690763975.0 / 1880347072.0 * k4 + "
     "701980252875.0 / 199316789632.0 * k5 - 1453857185.0 / 822651844.0 * k6 + 69997945.0 / 29380423.0 * k7)")};

static const char *const part_names[N_PARTS] = {"q0", "q1", "q2", "q3", "q4"};

/* The operands of what is kept: in the graph's unit, or in the body of the loop of steps. */
struct stepping {
    mdf_operand controls[N_CONTROLS];
    solver_values of_state[N_OF_STATE]; /* y, k1, and the parts of the polynomial */
};

/* y and k1; the parts of the polynomial, or what is armed. */
static size_t count_of_state(const struct solver *solver, bool is_dense)
{
    return is_dense ? N_OF_STATE : solver->side.has_events ? 3 : 2;
}

/* Whether steps may go over the times of evaluations. */
static bool is_alone(const struct solver *solver)
{
    const struct mdf_program *program = solver->side.builder->compiler->program;
    bool is_alone = !solver->side.has_events;

    for (size_t i = 0; i < program->n_ports; i++) {
        is_alone = is_alone && !solver->side.reads_port[i];
    }
    for (size_t i = 0; i < solver->side.n_states; i++) {
        is_alone = is_alone && !solver->side.states[i].is_changed;
    }
    return is_alone;
}

static bool make_slots(struct solver *solver, struct target *target, struct stepping *stepping, bool is_dense)
{
    for (size_t i = 0; i < N_CONTROLS; i++) {
        stepping->controls[i] = unit_new_slot(target, 0);
        if (stepping->controls[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    for (size_t k = 0; k < count_of_state(solver, is_dense); k++) {
        stepping->of_state[k] = solver_new_values(solver);
        for (size_t i = 0; stepping->of_state[k] != NULL && i < solver->side.n_states; i++) {
            stepping->of_state[k][i] = unit_new_slot(target, 0);
        }
        if (stepping->of_state[k] == NULL || stepping->of_state[k][solver->side.n_states - 1] == MDF_NO_OPERAND) {
            return false;
        }
    }
    return true;
}

static bool name_controls(struct target *target, const struct stepping *stepping)
{
    for (size_t i = 0; i < N_CONTROLS; i++) {
        if (!solver_name(target, controls[i].name, stepping->controls[i])) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ a step, as the body of a Loop */

/* Names of a step: its length, whether it is accepted, and the length of the next. */
static bool take_control(struct target *target, bool is_dense)
{
    static const struct {
        const char *name, *expression;
    } lines[] = {
        {"accepted", "error <= 1.0"},
        {"effort", "error ** 0.17"},
        {"grown", "h / numpy.maximum(0.1, numpy.minimum(5.0, effort / control ** 0.04 / 0.9))"},
        {"accepted_length", "numpy.where(rejected > 0.0, numpy.minimum(grown, h), grown)"},
        {"rejected_length", "numpy.where(error < 1e300, h / numpy.minimum(5.0, numpy.maximum(1.0, effort / 0.9)), 0.1 * h)"},
    };

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (solver_compute(target, lines[i].name, lines[i].expression) == MDF_NO_OPERAND) {
            return false;
        }
    }
    return solver_compute(target, "next_length",
                          is_dense ? "numpy.minimum(numpy.where(accepted, accepted_length, rejected_length), max_step)"
                                   : "numpy.minimum(numpy.where(accepted, numpy.maximum(accepted_length, numpy.where(h < length, "
                                     "length, 0.0)), rejected_length), max_step)") != MDF_NO_OPERAND;
}

static bool add_yields(struct solver *solver, struct list *yields, const mdf_operand *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!list_add(solver->side.builder->compiler, yields, &values[i], sizeof *values)) {
            return false;
        }
    }
    return true;
}

/* What is kept, behind the step: `next` of each state, where it is not computed from the stages. */
static bool take_next(struct solver *solver, struct target *target, const struct stepping *now, struct solver_named *named,
                      size_t n_named, const solver_values *known, struct list *yields, bool is_dense)
{
    for (size_t i = 0; i < N_CONTROLS; i++) {
        mdf_operand next = solver_compute(target, NULL, controls[i].next);

        if (next == MDF_NO_OPERAND || !add_yields(solver, yields, &next, 1)) {
            return false;
        }
    }
    for (size_t k = 0; k < count_of_state(solver, is_dense); k++) {
        solver_values values = known[k] != NULL ? known[k] : solver_new_values(solver), next = solver_new_values(solver);
        const struct solver_named choice[] = {{"old", now->of_state[k]}, {"new", values}};

        if (values == NULL || next == NULL ||
            (known[k] == NULL && !solver_compute_each(solver, target, parts[k - 2], named, n_named, values)) ||
            !solver_compute_each(solver, target, "numpy.where(accepted, new, old)", choice, 2, next) ||
            !add_yields(solver, yields, next, solver->side.n_states)) {
            return false;
        }
    }
    return true;
}

/* The first event in the step, and what it leaves. */
static bool take_event(struct solver *solver, struct target *target, const struct stepping *now, struct solver_named *named,
                       size_t n_named, const mdf_operand *at_end, solver_values *known)
{
    struct solver_named polynomial[N_PARTS];
    const struct solver_span span = {polynomial, N_PARTS, "q0 + u * (q1 + (1.0 - u) * (q2 + u * (q3 + (1.0 - u) * q4)))",
                                     now->of_state[2]};

    for (size_t k = 0; k < N_PARTS; k++) {
        polynomial[k] = (struct solver_named){part_names[k], solver_new_values(solver)};
        if (polynomial[k].values == NULL ||
            !solver_compute_each(solver, target, parts[k], named, n_named, polynomial[k].values)) {
            return false;
        }
    }
    for (size_t k = 0; k < 3; k++) {
        known[k] = solver_new_values(solver);
        if (known[k] == NULL) {
            return false;
        }
    }
    return solver_emit_events(solver, target, &span, at_end, known[0], known[2]) &&
           /* the next event may come as soon */
           solver_compute(target, "next_length",
                          "numpy.where(fired > 0.0, numpy.minimum(next_length, numpy.maximum(share, 0.1) * h), next_length)") !=
               MDF_NO_OPERAND &&
           right_side_emit(&solver->side, &solver->side.slopes, target, known[0], known[1]);
}

static struct mdf_code *make_body(struct solver *solver, struct target *target, bool is_dense)
{
    struct solver_named named[3 + MDF_MOST_STAGES];
    solver_values last = solver_new_values(solver), errors = solver_new_values(solver);
    struct list formals = {0}, yields = {0};
    struct stepping now = {0};
    solver_values known[N_OF_STATE] = {last};
    mdf_operand goes_on;
    size_t n_stages;

    if (last == NULL || errors == NULL || !make_slots(solver, target, &now, is_dense) || !name_controls(target, &now) ||
        !solver_name_options(solver, target) || !add_yields(solver, &formals, now.controls, N_CONTROLS)) {
        return NULL;
    }
    for (size_t k = 0; k < count_of_state(solver, is_dense); k++) {
        if (!add_yields(solver, &formals, now.of_state[k], solver->side.n_states)) {
            return NULL;
        }
    }
    named[1] = (struct solver_named){"k1", now.of_state[1]};
    if (solver_compute(target, "h", is_dense ? "length + 0.0" : "numpy.where(ahead + 1.01 * length >= 0.0, -ahead, length)") ==
            MDF_NO_OPERAND ||
        !solver_take_stages(solver, target, now.of_state[0], false, named, last, &n_stages) ||
        !solver_compute_each(solver, target, solver->method->error, named, 1 + n_stages, errors)) {
        return NULL;
    }
    named[1 + n_stages] = (struct solver_named){"y1", last};
    named[2 + n_stages] = (struct solver_named){"e", errors};
    if (!solver_take_norm(solver, target, "error", "e / (atol + rtol * numpy.maximum(numpy.abs(y), numpy.abs(y1)))", named,
                   3 + n_stages) ||
        !take_control(target, is_dense)) {
        return NULL;
    }
    known[1] = named[n_stages].values;
    if (!(solver->side.has_events ? take_event(solver, target, &now, named, 2 + n_stages, last, known)
                                  : solver_compute(target, "share", "1.0") != MDF_NO_OPERAND &&
                                        solver_compute(target, "slides", "0.0") != MDF_NO_OPERAND &&
                                        solver_compute(target, "fired", "0.0") != MDF_NO_OPERAND) ||
        !solver_emit_jump(solver, target, now.of_state[0], now.of_state[1]) ||
        solver_compute(target, "sliding", "numpy.where(accepted, slides, 0.0)") == MDF_NO_OPERAND ||
        solver_compute(target, "elapsed", "numpy.where(accepted, since + share * h, since)") == MDF_NO_OPERAND ||
        solver_compute(target, "nearby", "numpy.where(fired > 0.0, numpy.where(elapsed <= 1e-10 * dt, near + 1.0, 0.0), near)") ==
            MDF_NO_OPERAND ||
        !take_next(solver, target, &now, named, 2 + n_stages, known, &yields, is_dense)) {
        return NULL;
    }
    if (!solver_name(target, "then", ((const mdf_operand *)yields.items)[0]) ||
        !solver_name_real(target, "most_turns", MDF_SOLVER_MOST_TURNS)) {
        return NULL;
    }
    goes_on = solver_compute(target, NULL, "then < 0.0 and then + next_length != then and nearby < 1000.0 and sliding <= 0.0 and numpy.add(turns, "
                             "turned) < most_turns and numpy.add(steps, 1.0) < step_limit");
    return goes_on != MDF_NO_OPERAND ? made_loop_body(target, &formals, &yields, goes_on, "solver") : NULL;
}

/* ------------------------------------------------------------------ around the steps */

static bool copy_each(struct solver *solver, struct target *target, const mdf_operand *to, const mdf_operand *from)
{
    for (size_t i = 0; i < solver->side.n_states; i++) {
        if (!unit_emit(target, MDF_OPCODE_COPY, to[i], from[i], 0)) {
            return false;
        }
    }
    return true;
}

/* From the states as the nodes have them. */
static bool begin_from_nodes(struct solver *solver, struct target *target, struct stepping *kept, bool is_dense)
{
    solver_values slots = solver_new_values(solver), y = solver_new_values(solver), slopes = solver_new_values(solver);
    const struct solver_named named = {"x", slots}, slope = {"k", slopes}; /* reals, as steps leave them */

    if (slots == NULL || y == NULL || slopes == NULL) {
        return false;
    }
    for (size_t i = 0; i < solver->side.n_states; i++) {
        slots[i] = solver->side.states[i].slot;
    }
    if (!solver_compute_each(solver, target, "numpy.multiply(x, 1.0)", &named, 1, y) ||
        !right_side_emit(&solver->side, &solver->side.slopes, target, y, slopes) ||
        !solver_compute_each(solver, target, "numpy.multiply(k, 1.0)", &slope, 1, slopes) ||
        !copy_each(solver, target, kept->of_state[0], y) || !copy_each(solver, target, kept->of_state[1], slopes)) {
        return false;
    }
    for (size_t k = 2; is_dense && k < N_OF_STATE; k++) {
        if (!copy_each(solver, target, kept->of_state[k], y)) {
            return false;
        }
    }
    return true;
}

/* A length for the first step of all: such that an Euler step changes the states by a hundredth of their size. */
static bool guess_length(struct solver *solver, struct target *target, struct stepping *kept)
{
    const struct solver_named named[] = {{"y", kept->of_state[0]}, {"k1", kept->of_state[1]}};
    mdf_operand length;

    if (!solver_take_norm(solver, target, "size", "y / (atol + rtol * numpy.abs(y))", named, 2) ||
        !solver_take_norm(solver, target, "slope", "k1 / (atol + rtol * numpy.abs(y))", named, 2)) {
        return false;
    }
    length = solver_compute(target, NULL,
                            "numpy.minimum(numpy.where(numpy.minimum(size, slope) < 1e-5, 1e-6, 0.01 * size / "
                            "numpy.where(slope > 0.0, slope, 1.0)), max_step)");
    return length != MDF_NO_OPERAND && unit_emit(target, MDF_OPCODE_COPY, kept->controls[1], length, 0);
}

/* Counts of an evaluation. */
static bool begin_counts(struct target *target, const struct stepping *kept)
{
    for (size_t i = 0; i < N_CONTROLS; i++) {
        mdf_operand start = controls[i].is_of_evaluation ? solver_compute(target, NULL, ZERO) : kept->controls[i];

        if (start == MDF_NO_OPERAND ||
            (controls[i].is_of_evaluation && !unit_emit(target, MDF_OPCODE_COPY, kept->controls[i], start, 0))) {
            return false;
        }
    }
    return true;
}

/* Time goes on; where something else sets states, from what these are. */
static bool begin(struct solver *solver, struct target *target, struct stepping *kept, bool is_dense)
{
    mdf_operand ahead = solver_compute(target, NULL, is_dense ? "numpy.subtract(ahead, dt)" : "numpy.negative(dt)");

    return ahead != MDF_NO_OPERAND && unit_emit(target, MDF_OPCODE_COPY, kept->controls[0], ahead, 0) && begin_counts(target, kept) &&
           (is_dense || begin_from_nodes(solver, target, kept, is_dense));
}

/* Runs the steps; what is kept is what they leave. */
static bool run_steps(struct solver *solver, struct target *target, struct stepping *kept, struct mdf_code *body, bool is_dense)
{
    struct compiler *compiler = target->compiler;
    size_t n = N_CONTROLS + count_of_state(solver, is_dense) * solver->side.n_states, at = 0;
    mdf_operand *states = trace_new_operands(compiler, n, MDF_NO_OPERAND),
                *outputs = trace_new_operands(compiler, n, MDF_NO_OPERAND),
                condition = solver_compute(target, NULL, "ahead < 0.0");

    if (states == NULL || outputs == NULL || condition == MDF_NO_OPERAND) {
        mdf_code_clear(compiler->memory, body);
        return false;
    }
    for (size_t i = 0; i < N_CONTROLS; i++) {
        states[at++] = kept->controls[i];
    }
    for (size_t k = 0; k < count_of_state(solver, is_dense); k++) {
        for (size_t i = 0; i < solver->side.n_states; i++) {
            states[at++] = kept->of_state[k][i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        outputs[i] = unit_new_slot(target, 0);
    }
    if (!made_loop_emit(target, body, INT64_MAX, condition, states, outputs, n)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!unit_emit(target, MDF_OPCODE_COPY, states[i], outputs[i], 0)) {
            return false;
        }
    }
    return true;
}

/* The values at the time of the evaluation; the solver has not come so far where a step became too short. */
static bool leave(struct solver *solver, struct target *target, struct stepping *kept, bool is_dense)
{
    struct mdf_program_solver *kept_solver = &target->compiler->program->solver;
    struct solver_named named[N_PARTS];
    solver_values values = solver_new_values(solver);

    if (values == NULL || !solver_name_real(target, "most_turns", MDF_SOLVER_MOST_TURNS)) {
        return false;
    }
    kept_solver->behind = solver_compute(/* enum mdf_solver_end */
                                         target, NULL,
                                         "numpy.where(slid > 0.0, 3.0, numpy.where(ahead < 0.0, numpy.where(turns >= most_turns, 4.0, "
                                         "numpy.where(steps >= step_limit, 5.0, numpy.where(struck > 0.0 or near >= 1000.0, 2.0, "
                                         "1.0))), 0.0))");
    if ( kept_solver->behind == MDF_NO_OPERAND) {
        return false;
    }
    if (!is_dense) {
        return solver_leave(solver, target, kept->of_state[0]);
    }
    for (size_t k = 0; k < N_PARTS; k++) {
        named[k] = (struct solver_named){part_names[k], kept->of_state[2 + k]};
    }
    return solver_compute(target, "u", "numpy.where(last > 0.0, ahead / numpy.where(last > 0.0, last, 1.0), 0.0)") !=
               MDF_NO_OPERAND &&
           solver_compute_each(solver, target, "q0 + (1.0 - u) * (q1 + u * (q2 + (1.0 - u) * (q3 + u * q4)))", named, N_PARTS,
                               values) &&
           solver_leave(solver, target, values);
}

static bool set_controls(struct target *target, const struct stepping *kept)
{
    for (size_t i = 0; i < N_CONTROLS; i++) {
        mdf_operand start = solver_compute(target, NULL, controls[i].start);

        if (start == MDF_NO_OPERAND || !unit_emit(target, MDF_OPCODE_COPY, kept->controls[i], start, 0)) {
            return false;
        }
    }
    return true;
}

static bool arm(struct solver *solver, struct target *target, struct stepping *kept)
{
    solver_values armed = solver_new_values(solver);

    return armed != NULL && solver_emit_arming(solver, target, kept->of_state[0], armed) &&
           copy_each(solver, target, kept->of_state[2], armed);
}

bool solver_emit_start(struct solver *solver, struct target *target, struct stepping *kept)
{
    size_t to_start = unit_emit_jump(target, MDF_OPCODE_JUMP_WITHOUT_DT, 0),
           to_end = to_start != SIZE_MAX ? unit_emit_jump(target, MDF_OPCODE_JUMP, 0) : SIZE_MAX;

    if (to_end == SIZE_MAX) {
        return false;
    }
    unit_land(target->unit, to_start);
    if (!set_controls(target, kept) || !begin_from_nodes(solver, target, kept, is_alone(solver)) ||
        !guess_length(solver, target, kept) || (solver->side.has_events && !arm(solver, target, kept))) {
        return false;
    }
    unit_land(target->unit, to_end);
    return true;
}

struct stepping *solver_emit_adaptive_steps(struct solver *solver, struct target *target)
{
    bool is_dense = is_alone(solver);
    struct unit unit = {.outer = target->unit};
    struct scope scope = {.unit = &unit};
    struct target inner = {target->compiler, &unit, &scope};
    struct stepping *kept = mdf_arena_allocate(&target->compiler->scratch, sizeof *kept);
    struct mdf_code *body = NULL;
    size_t jump;

    if (kept == NULL) {
        compile_out_of_memory(target->compiler);
        return NULL;
    }
    if (!make_slots(solver, target, kept, is_dense) || !name_controls(target, kept) || !solver_name_options(solver, target)) {
        return NULL;
    }
    jump = unit_emit_jump(target, MDF_OPCODE_JUMP_WITHOUT_DT, 0);
    if (jump == SIZE_MAX || !begin(solver, target, kept, is_dense)) {
        return NULL;
    }
    body = solver_name(&inner, "dt", unit_capture(&inner, &unit, target->unit, target->compiler->dt))
               ? make_body(solver, &inner, is_dense)
               : NULL;
    unit_clear(target->compiler, &unit);
    if (body == NULL || !run_steps(solver, target, kept, body, is_dense) || !leave(solver, target, kept, is_dense)) {
        return NULL;
    }
    unit_land(target->unit, jump);
    return kept;
}
