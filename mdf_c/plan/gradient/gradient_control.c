/* gradient_control.c - derivatives through Scan, Loop and If.
 *
 * Comes in: a call with bodies, some of whose inputs or captures change smoothly with an x. Goes out: which of its outputs do;
 * and, once these have gradients, calls that compute those of its inputs and captures.
 *
 * A body is compiled once more for that: a unit with the same instructions, behind which stand those that hand its yields'
 * gradients back to what it takes. Of If it is the branch that was taken. Of Scan and Loop it is the body of a Scan that goes
 * backward: its states are the gradients of the states, and those of the captures, which add up; it scans what the states were
 * when each iteration began, which the loop itself yields for that (its values within an iteration are computed again), the scan
 * inputs, and the gradients of the scan outputs; it yields those of the scan inputs. Source: reverse accumulation, as Griewank
 * and Walther, Evaluating Derivatives, 2nd edition, chapters 3 and 12. */
#include "functions/kernel/setting.h"
#include "mdf_c/plan/gradient/gradient.h"

#include <string.h>

enum { LOOP_ITERATION, LOOP_CONDITION, LOOP_FIRST_STATE, LOOP_FIRST_YIELD = 1, FIRST_SCAN_WITHOUT_BATCH = 9 };

/* A body once more. */
struct derived_body {
    const struct mdf_code *code;
    struct unit unit;
    struct gradient gradient; /* in that unit */
};

/* A call with bodies. */
struct control {
    size_t at;   /* its instruction */
    size_t call; /* the call that computes its value; another one where the instruction is run again */
    struct derived_body *bodies;
    size_t n_bodies;
    size_t first_formal, first_yield, n_states, n_scan_inputs; /* of Scan and Loop */
    bool *state_is_active;
};

/* ------------------------------------------------------------------ bodies once more */

static bool out_of_memory(struct gradient *gradient)
{
    compile_out_of_memory(gradient->compiler);
    return false;
}

static void *new_array(struct gradient *gradient, size_t n, size_t size)
{
    void *items = mdf_arena_array(&gradient->compiler->scratch, n, size);

    if (items == NULL) {
        compile_out_of_memory(gradient->compiler);
    }
    return items;
}

/* What the captures of a body are now: what is put in their places, too. */
static bool place_captures(struct gradient *gradient, struct mdf_code *code)
{
    mdf_operand *captures = mdf_arena_array(gradient->compiler->arena, code->n_captures, sizeof *captures);

    for (size_t i = 0; captures != NULL && i < code->n_captures; i++) {
        captures[i] = gradient_track(gradient, code->captures[i])->value;
    }
    code->captures = captures;
    return captures != NULL || out_of_memory(gradient);
}

bool gradient_copy_bodies(struct gradient *gradient, struct mdf_code_call *call)
{
    uint32_t *indices = mdf_arena_array(gradient->compiler->arena, call->n_bodies, sizeof *indices);

    for (size_t i = 0; indices != NULL && i < call->n_bodies; i++) {
        struct mdf_code *copy;

        indices[i] = call->bodies[i];
        if (indices[i] == UINT32_MAX) {
            continue;
        }
        copy = unit_copy_code(gradient->compiler, ((struct mdf_code **)gradient->unit->bodies.items)[indices[i]]);
        if (copy == NULL) {
            return false;
        }
        indices[i] = (uint32_t)gradient->unit->bodies.n;
        if (!list_add(gradient->compiler, &gradient->unit->bodies, &copy, sizeof copy)) {
            mdf_code_clear(gradient->compiler->memory, copy);
            return false;
        }
        if (!place_captures(gradient, copy)) {
            return false;
        }
    }
    call->bodies = indices;
    return indices != NULL || out_of_memory(gradient);
}

static bool add_items(struct compiler *compiler, struct list *list, const void *items, size_t n, size_t size)
{
    for (size_t i = 0; i < n; i++) {
        if (!list_add(compiler, list, (const char *)items + i * size, size)) {
            return false;
        }
    }
    return true;
}

/* Facts of n operands of which nothing is known, but what the captured ones have by those that they stand for. */
static bool add_facts(struct derived_body *body, struct list *facts, size_t n, bool are_captures)
{
    struct compiler *compiler = body->gradient.compiler;

    for (size_t i = 0; i < n; i++) {
        struct operand_facts fact = {.type = mdf_static_unknown, .promised = mdf_static_unknown};

        if (are_captures) {
            fact.flags =
                unit_flags(body->unit.outer, ((const mdf_operand *)body->unit.captures.items)[i]) & ~(unsigned)OPERAND_MUTABLE;
        }
        if (!list_add(compiler, facts, &fact, sizeof fact)) {
            return false;
        }
    }
    return true;
}

/* The unit gets its own copies of what is to be let go. */
static bool copy_owned(struct compiler *compiler, struct unit *unit, struct mdf_code *copy)
{
    if (!add_items(compiler, &unit->constants, copy->constants, copy->n_constants, sizeof *copy->constants)) {
        unit->constants.n = 0;
        mdf_code_clear(compiler->memory, copy);
        return false;
    }
    copy->n_constants = 0; /* they are the unit's */
    if (!add_items(compiler, &unit->bodies, copy->bodies, copy->n_bodies, sizeof *copy->bodies)) {
        unit->bodies.n = 0;
        mdf_code_clear(compiler->memory, copy);
        return false;
    }
    return true;
}

/* Fills the unit of a body that is compiled once more with what it is. */
static bool fill_unit(struct gradient *outer, struct derived_body *body)
{
    struct compiler *compiler = outer->compiler;
    struct unit *unit = &body->unit;
    struct mdf_code *copy = unit_copy_code(compiler, body->code);

    return copy != NULL && copy_owned(compiler, unit, copy) && place_captures(outer, copy) &&
           add_items(compiler, &unit->instructions, copy->instructions, copy->n_instructions, sizeof *copy->instructions) &&
           add_items(compiler, &unit->calls, copy->calls, copy->n_calls, sizeof *copy->calls) &&
           add_items(compiler, &unit->captures, copy->captures, copy->n_captures, sizeof *copy->captures) &&
           add_items(compiler, &unit->declarations, copy->declarations, copy->n_declarations, sizeof *copy->declarations) &&
           add_facts(body, &unit->slot_facts, copy->n_slots, false) &&
           add_facts(body, &unit->constant_facts, body->code->n_constants, false) &&
           add_facts(body, &unit->capture_facts, copy->n_captures, true);
}

/* Begins to derive a body, of which `formals` change smoothly, and captures as the unit around has it. */
static bool begin_body(struct gradient *outer, struct derived_body *body, const bool *formals)
{
    const struct mdf_operator *draw = mdf_code_find_draw(body->code);
    struct gradient *gradient = &body->gradient;

    if (draw != NULL) {
        compile_error(outer->compiler, MDF_UNSUPPORTED,
                      "there is no derivative of a body that draws random numbers (%s): they would have to be drawn again",
                      draw->name);
        return false;
    }
    *gradient = (struct gradient){.compiler = outer->compiler, .unit = &body->unit};
    gradient->own_target = (struct target){outer->compiler, &body->unit, NULL};
    gradient->target = &gradient->own_target;
    body->unit.outer = outer->unit;
    if (!fill_unit(outer, body) || !gradient_make_tracks(gradient)) {
        return false;
    }
    for (size_t i = 0; i < body->code->n_formals; i++) {
        gradient_track(gradient, body->code->formals[i])->is_active = formals != NULL && formals[i];
    }
    for (size_t i = 0; i < body->code->n_captures; i++) {
        gradient_track(gradient, MDF_OPERAND(MDF_OPERAND_CAPTURE, i))->is_active =
            gradient_track(outer, body->code->captures[i])->is_active;
    }
    return gradient_make_tape(gradient, body->code->yields, body->code->n_yields);
}

static void end_body(struct derived_body *body)
{
    gradient_clear(&body->gradient);
    unit_clear(body->gradient.compiler, &body->unit);
    *body = (struct derived_body){.code = body->code};
}

void gradient_clear(struct gradient *gradient)
{
    struct control **controls = gradient->controls.items;

    for (size_t i = 0; i < gradient->controls.n; i++) {
        for (size_t k = 0; k < controls[i]->n_bodies; k++) {
            if (controls[i]->bodies[k].gradient.compiler != NULL) {
                end_body(&controls[i]->bodies[k]);
            }
        }
    }
    gradient->controls.n = 0;
}

static bool yield_is_active(struct derived_body *body, size_t yield)
{
    return gradient_track(&body->gradient, body->code->yields[yield])->is_active;
}

/* ------------------------------------------------------------------ what changes smoothly */

static bool is_loop(const struct mdf_code_call *call)
{
    return call->operator->form == MDF_FORM_LOOP;
}

static bool is_branch(const struct mdf_code_call *call)
{
    return call->operator->form == MDF_FORM_IF;
}

/* Where the states of a Scan or Loop are. */
static bool lay_out(struct gradient *gradient, struct control *control, const struct mdf_code_call *call)
{
    const int64_t *n_scan_inputs = mdf_setting_field(call->operator, call->settings, "num_scan_inputs");

    control->first_formal = is_loop(call) ? LOOP_FIRST_STATE : 0;
    control->first_yield = is_loop(call) ? LOOP_FIRST_YIELD : 0;
    control->n_scan_inputs = is_loop(call) || n_scan_inputs == NULL ? 0 : (size_t)*n_scan_inputs;
    control->n_states = call->n_inputs - control->first_formal - control->n_scan_inputs;
    control->state_is_active = new_array(gradient, call->n_inputs, sizeof *control->state_is_active);
    return control->state_is_active != NULL;
}

/* Which states of a loop change smoothly, where each may through another, from one iteration to the next. */
static bool follow_loop(struct gradient *gradient, struct control *control, const struct mdf_code_call *call)
{
    struct derived_body *body = &control->bodies[0];
    bool *formals = new_array(gradient, body->code->n_formals, sizeof *formals), more = true;
    size_t i;

    if (formals == NULL || !lay_out(gradient, control, call)) {
        return false;
    }
    for (i = control->first_formal; i < call->n_inputs; i++) {
        formals[i] = call->inputs[i] != MDF_NO_OPERAND && gradient_track(gradient, call->inputs[i])->is_active;
    }
    while (more) {
        more = false;
        end_body(body);
        if (!begin_body(gradient, body, formals)) {
            return false;
        }
        for (i = 0; i < control->n_states; i++) {
            bool is_new = !formals[control->first_formal + i] && yield_is_active(body, control->first_yield + i);

            formals[control->first_formal + i] |= is_new;
            more = more || is_new;
        }
    }
    memcpy(control->state_is_active, formals + control->first_formal, control->n_states * sizeof *formals);
    return true;
}

static bool follow_branches(struct gradient *gradient, struct control *control)
{
    for (size_t i = 0; i < control->n_bodies; i++) {
        if (!begin_body(gradient, &control->bodies[i], NULL)) {
            return false;
        }
    }
    return true;
}

static bool output_is_active(struct control *control, const struct mdf_code_call *call, size_t output)
{
    bool is_active = !is_branch(call) && output < control->n_states && control->state_is_active[output];

    for (size_t i = 0; i < control->n_bodies && !is_active; i++) {
        is_active = yield_is_active(&control->bodies[i], control->first_yield + output);
    }
    return is_active;
}

bool gradient_can_go_through(const struct mdf_code_call *call)
{
    enum mdf_form form = call->operator->form;

    return form == MDF_FORM_IF || form == MDF_FORM_LOOP ||
           (form == MDF_FORM_SCAN && call->operator->since >= FIRST_SCAN_WITHOUT_BATCH);
}

bool gradient_follow_control(struct gradient *gradient, size_t at, bool *is_smooth)
{
    struct mdf_code_call call = *gradient_call(gradient, unit_instruction(gradient->unit, at)); /* the list of calls grows */
    struct control *control = new_array(gradient, 1, sizeof *control);

    *is_smooth = false;
    if (control == NULL) {
        return false;
    }
    *control = (struct control){.at = at, .call = unit_instruction(gradient->unit, at)->target, .n_bodies = call.n_bodies};
    control->bodies = new_array(gradient, call.n_bodies, sizeof *control->bodies);
    if (control->bodies == NULL || !list_add(gradient->compiler, &gradient->controls, &control, sizeof control)) {
        return false;
    }
    for (size_t i = 0; i < call.n_bodies; i++) {
        control->bodies[i].code = ((struct mdf_code **)gradient->unit->bodies.items)[call.bodies[i]];
    }
    if (!(is_branch(&call) ? follow_branches(gradient, control) : follow_loop(gradient, control, &call))) {
        return false;
    }
    for (size_t i = 0; i < call.n_outputs; i++) {
        if (call.outputs[i] != MDF_NO_OPERAND && output_is_active(control, &call, i)) {
            gradient_track(gradient, call.outputs[i])->is_active = *is_smooth = true;
        }
    }
    return true;
}

void gradient_run_elsewhere(struct gradient *gradient, size_t at, size_t call)
{
    struct control **controls = gradient->controls.items;

    for (size_t i = 0; i < gradient->controls.n; i++) {
        controls[i]->call = controls[i]->at == at ? call : controls[i]->call;
    }
}

/* ------------------------------------------------------------------ what both hand back */

/* A body of the calls that are made here. */
struct new_body {
    struct derived_body *body;
    struct list formals, yields; /* mdf_operand, of its unit */
};

static bool add_operand(struct gradient *gradient, struct list *operands, mdf_operand operand)
{
    return operand != MDF_NO_OPERAND && list_add(gradient->compiler, operands, &operand, sizeof operand);
}

static mdf_operand zeros_like(struct gradient *gradient, mdf_operand operand)
{
    return unit_call_python(gradient->target, "numpy.zeros_like", &operand, 1, MDF_NO_OPERAND);
}

/* Hands the gradient of a yield, an operand of the body's unit, back to what the body takes. */
static bool seed(struct derived_body *body, size_t yield, mdf_operand part)
{
    return !yield_is_active(body, yield) || gradient_add(&body->gradient, body->code->yields[yield], part);
}

/* Adds the finished body to the unit around it; its number there goes to `index`. */
static bool finish_body(struct gradient *gradient, struct new_body *made, uint32_t *index)
{
    struct compiler *compiler = gradient->compiler;
    struct list types = {0};
    struct mdf_code *code;

    for (size_t i = 0; i < made->yields.n; i++) {
        if (!list_add(compiler, &types, &mdf_static_unknown, sizeof mdf_static_unknown)) {
            return false;
        }
    }
    code = unit_finish_body(compiler, &made->body->unit, &made->formals, &made->yields, &types);
    *index = (uint32_t)gradient->unit->bodies.n;
    if (code != NULL) {
        code->id = "gradient";
    }
    if (code != NULL && !list_add(compiler, &gradient->unit->bodies, &code, sizeof code)) {
        mdf_code_clear(compiler->memory, code);
        code = NULL;
    }
    return code != NULL;
}

/* Emits a call of n_bodies bodies whose outputs are the gradients of operands of the unit. */
static bool emit(struct gradient *gradient, const struct mdf_operator *row, const void *settings, const struct list *inputs,
                 const uint32_t *bodies, size_t n_bodies, const struct list *receivers)
{
    struct mdf_code_call call = {.operator= row,
                                 .settings = settings,
                                 .inputs = inputs->items,
                                 .n_inputs = inputs->n,
                                 .n_outputs = receivers->n,
                                 .n_bodies = n_bodies};
    mdf_operand *outputs = new_array(gradient, receivers->n, sizeof *outputs);
    uint32_t *kept = mdf_arena_array(gradient->compiler->arena, n_bodies, sizeof *kept);

    if (outputs == NULL || kept == NULL) {
        return out_of_memory(gradient);
    }
    memcpy(kept, bodies, n_bodies * sizeof *kept);
    for (size_t i = 0; i < receivers->n; i++) {
        outputs[i] = unit_new_slot(gradient->target, 0);
        if (outputs[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    call.bodies = kept;
    call.outputs = outputs;
    if (!unit_emit_call(gradient->target, &call)) {
        return false;
    }
    for (size_t i = 0; i < receivers->n; i++) {
        if (!gradient_add(gradient, ((const mdf_operand *)receivers->items)[i], outputs[i])) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ If */

/* Captured operands that change smoothly, of both branches, each once. */
static bool find_active_captures(struct gradient *gradient, struct control *control, struct list *captures)
{
    for (size_t i = 0; i < control->n_bodies; i++) {
        const struct mdf_code *code = control->bodies[i].code;

        for (size_t k = 0; k < code->n_captures; k++) {
            bool is_listed = !gradient_track(gradient, code->captures[k])->is_active;

            for (size_t l = 0; l < captures->n && !is_listed; l++) {
                is_listed = ((const mdf_operand *)captures->items)[l] == code->captures[k];
            }
            if (!is_listed && !add_operand(gradient, captures, code->captures[k])) {
                return false;
            }
        }
    }
    return true;
}

/* What a branch yields for one of them. */
static mdf_operand yield_of_capture(struct gradient *gradient, struct derived_body *body, mdf_operand captured)
{
    mdf_operand here;

    for (size_t i = 0; i < body->code->n_captures; i++) {
        if (body->code->captures[i] == captured) {
            return gradient_or_zeros(&body->gradient, MDF_OPERAND(MDF_OPERAND_CAPTURE, i));
        }
    }
    here = unit_capture(body->gradient.target, &body->unit, gradient->unit, gradient_track(gradient, captured)->value);
    return here != MDF_NO_OPERAND ? zeros_like(&body->gradient, here) : MDF_NO_OPERAND;
}

static bool derive_branch(struct gradient *gradient, struct derived_body *body, const struct mdf_code_call *call,
                          const struct list *captures, uint32_t *index)
{
    struct new_body made = {.body = body};

    for (size_t i = 0; i < call->n_outputs; i++) {
        mdf_operand part =
            call->outputs[i] == MDF_NO_OPERAND ? MDF_NO_OPERAND : gradient_track(gradient, call->outputs[i])->gradient;
        mdf_operand here = unit_capture(body->gradient.target, &body->unit, gradient->unit, part);

        if (part != MDF_NO_OPERAND && (here == MDF_NO_OPERAND || !seed(body, i, here))) {
            return false;
        }
    }
    if (!gradient_hand_back_range(&body->gradient, 0, body->gradient.n_instructions)) {
        return false;
    }
    for (size_t i = 0; i < captures->n; i++) {
        if (!add_operand(gradient, &made.yields, yield_of_capture(gradient, body, ((const mdf_operand *)captures->items)[i]))) {
            return false;
        }
    }
    return finish_body(gradient, &made, index);
}

static bool hand_back_branches(struct gradient *gradient, struct control *control, const struct mdf_code_call *call)
{
    struct list captures = {0}, inputs = {0};
    uint32_t indices[MDF_STATIC_BODIES];

    if (!find_active_captures(gradient, control, &captures) ||
        !add_operand(gradient, &inputs, gradient_track(gradient, call->inputs[0])->value)) {
        return false;
    }
    for (size_t i = 0; i < control->n_bodies; i++) {
        if (!derive_branch(gradient, &control->bodies[i], call, &captures, &indices[i])) {
            return false;
        }
    }
    return captures.n == 0 || emit(gradient, call->operator, call->settings, &inputs, indices, control->n_bodies, &captures);
}

/* ------------------------------------------------------------------ Scan and Loop */

/* The Scan that goes backward. */
struct backward {
    struct gradient *gradient;
    struct control *control;
    const struct mdf_code_call *call; /* that it goes through */
    struct new_body made;
    struct list states, scanned;             /* mdf_operand: its inputs */
    struct list receivers, scan_receivers;   /* mdf_operand: whose gradients its outputs are */
    struct list state_yields, scan_yields;   /* mdf_operand, of its body */
    struct list state_formals, scan_formals; /* the same */
    struct list axes, directions;            /* int64_t: of what is scanned */
    struct list output_axes, output_directions;
};

/* Entry number `i` of a list attribute of the call, or 0. */
static int64_t entry(const struct mdf_code_call *call, const char *name, size_t i)
{
    const struct mdf_ints *list = mdf_setting_field(call->operator, call->settings, name);

    return list != NULL && list->items != NULL && i < list->n ? list->items[i] : 0;
}

static bool add_numbers(struct backward *backward, struct list *axes, struct list *directions, int64_t axis, int64_t direction)
{
    return list_add(backward->gradient->compiler, axes, &axis, sizeof axis) &&
           list_add(backward->gradient->compiler, directions, &direction, sizeof direction);
}

/* One more array to scan, its items as `formal` of the body. */
static bool scan(struct backward *backward, mdf_operand whole, mdf_operand formal, int64_t axis, int64_t direction)
{
    return add_operand(backward->gradient, &backward->scanned, whole) &&
           add_operand(backward->gradient, &backward->scan_formals, formal) &&
           add_numbers(backward, &backward->axes, &backward->directions, axis, direction);
}

/* Whether the body looks at a formal. */
static bool reads_formal(const struct mdf_code *code, size_t formal)
{
    mdf_operand operand = code->formals[formal];
    bool reads = false;

    for (size_t i = 0; i < code->n_instructions && !reads; i++) {
        reads = code->instructions[i].a == operand || code->instructions[i].b == operand;
    }
    for (size_t i = 0; i < code->n_calls && !reads; i++) {
        for (size_t k = 0; k < code->calls[i].n_inputs && !reads; k++) {
            reads = code->calls[i].inputs[k] == operand;
        }
    }
    for (size_t i = 0; i < code->n_bodies && !reads; i++) {
        for (size_t k = 0; k < code->bodies[i]->n_captures && !reads; k++) {
            reads = code->bodies[i]->captures[k] == operand;
        }
    }
    return reads;
}

/* Formals of the body whose values at the beginning of each iteration are needed: states, and of a Loop its number and condition
 * where the body looks at them. One at least, as a Scan goes by the length of what it scans. */
static bool find_kept_formals(struct backward *backward, struct list *kept)
{
    const struct control *control = backward->control;
    const struct mdf_code *code = control->bodies[0].code;

    for (size_t i = 0; i < control->first_formal + control->n_states; i++) {
        bool is_kept = i >= control->first_formal || reads_formal(code, i) || (i == LOOP_ITERATION && control->n_states == 0);

        if (is_kept && !list_add(backward->gradient->compiler, kept, &i, sizeof i)) {
            return false;
        }
    }
    return true;
}

/* A list attribute with zeros for more scan outputs; as it is where it is not given. */
static bool lengthen(struct gradient *gradient, struct mdf_ints *list, size_t n_more)
{
    int64_t *items;

    if (list == NULL || list->items == NULL) {
        return true;
    }
    items = mdf_arena_array(gradient->compiler->arena, list->n + n_more, sizeof *items);
    if (items == NULL) {
        return out_of_memory(gradient);
    }
    memcpy(items, list->items, list->n * sizeof *items);
    *list = (struct mdf_ints){items, list->n + n_more};
    return true;
}

static void *copy_settings(struct gradient *gradient, const struct mdf_operator *row, const void *settings)
{
    void *copy = mdf_arena_array(gradient->compiler->arena, row->settings_size, 1);

    if (copy == NULL) {
        compile_out_of_memory(gradient->compiler);
    } else if (settings != NULL) {
        memcpy(copy, settings, row->settings_size);
    }
    return copy;
}

/* The field of a list attribute, which is being written. */
static struct mdf_ints *ints_of(const struct mdf_operator *row, void *settings, const char *name)
{
    return (struct mdf_ints *)(uintptr_t)mdf_setting_field_of_type(row, settings, name, MDF_SETTING_INTS);
}

/* Room for one more item in an array of a finished code. */
static bool add_to_code(struct gradient *gradient, void *items, size_t *n, const void *item, size_t size)
{
    struct list list = {0};
    const void *old;

    memcpy(&old, items, sizeof old);
    return add_items(gradient->compiler, &list, old, *n, size) && list_add(gradient->compiler, &list, item, size) &&
           unit_keep_list(gradient->compiler, &list, size, items, n);
}

/* A slot of a body that holds a formal as real numbers: a state that begins as a whole number may become one of reals. */
static bool make_real(struct gradient *gradient, struct mdf_code *code, mdf_operand formal, mdf_operand *real)
{
    mdf_operand operands[3] = {formal, MDF_OPERAND(MDF_OPERAND_CONSTANT, code->n_constants),
                               MDF_OPERAND(MDF_OPERAND_SLOT, code->n_slots)};
    struct mdf_code_call call = {.operator= mdf_operator_python(PYTHON_MULTIPLY), .n_inputs = 2, .n_outputs = 1};
    struct mdf_instruction instruction = {
        .opcode = MDF_OPCODE_CALL, .target = (uint32_t)code->n_calls, .origin = gradient->compiler->origin};
    mdf_operand *kept = mdf_arena_array(gradient->compiler->arena, 3, sizeof *kept);
    struct mdf_value one = {0};

    if (kept == NULL || !mdf_value_make_double(gradient->compiler->memory, &one, 1.0)) {
        return out_of_memory(gradient);
    }
    memcpy(kept, operands, sizeof operands);
    call.inputs = kept;
    call.outputs = kept + 2;
    *real = operands[2];
    code->n_slots++;
    if (!add_to_code(gradient, &code->constants, &code->n_constants, &one, sizeof one)) {
        mdf_value_clear(gradient->compiler->memory, &one);
        return false;
    }
    return add_to_code(gradient, &code->calls, &code->n_calls, &call, sizeof call) &&
           add_to_code(gradient, &code->instructions, &code->n_instructions, &instruction, sizeof instruction);
}

/* The body of the loop yields more: what formals hold. */
static bool lengthen_yields(struct backward *backward, struct mdf_code *code, const struct list *kept)
{
    struct gradient *gradient = backward->gradient;
    const struct control *control = backward->control;

    for (size_t i = 0; i < kept->n; i++) {
        size_t formal = ((const size_t *)kept->items)[i], n_own = code->n_yields, n_types = code->n_yields;
        bool is_real = formal >= control->first_formal && control->state_is_active[formal - control->first_formal];
        mdf_operand yield = code->formals[formal];

        if ((is_real && !make_real(gradient, code, yield, &yield)) ||
            !add_to_code(gradient, &code->yield_is_own, &n_own, &is_real, sizeof is_real) ||
            !add_to_code(gradient, &code->yield_types, &n_types, &mdf_static_unknown, sizeof mdf_static_unknown) ||
            !add_to_code(gradient, &code->yields, &code->n_yields, &yield, sizeof yield)) {
            return false;
        }
    }
    return true;
}

/* The loop yields what these formals held in each iteration, too, in `stacks`. */
static bool keep_formals(struct backward *backward, const struct list *kept, mdf_operand *stacks)
{
    struct gradient *gradient = backward->gradient;
    struct mdf_code_call *calls = gradient->unit->calls.items, call = calls[backward->control->call];
    struct mdf_code *code = ((struct mdf_code **)gradient->unit->bodies.items)[call.bodies[0]];
    mdf_operand *outputs = mdf_arena_array(gradient->compiler->arena, call.n_outputs + kept->n, sizeof *outputs);
    void *settings = copy_settings(gradient, call.operator, call.settings);

    if (outputs == NULL || settings == NULL || !lengthen_yields(backward, code, kept) ||
        !lengthen(gradient, ints_of(call.operator, settings, "scan_output_axes"), kept->n) ||
        !lengthen(gradient, ints_of(call.operator, settings, "scan_output_directions"), kept->n)) {
        return outputs != NULL ? false : out_of_memory(gradient);
    }
    memcpy(outputs, call.outputs, call.n_outputs * sizeof *outputs);
    for (size_t i = 0; i < kept->n; i++) {
        outputs[call.n_outputs + i] = stacks[i] = unit_new_slot(gradient->target, 0);
        if (stacks[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    call.settings = settings;
    call.outputs = outputs;
    call.n_outputs += kept->n;
    calls = gradient->unit->calls.items;
    calls[backward->control->call] = call;
    return true;
}

static bool scan_kept(struct backward *backward)
{
    const struct mdf_code *code = backward->control->bodies[0].code;
    struct list kept = {0};
    mdf_operand *stacks;

    if (!find_kept_formals(backward, &kept)) {
        return false;
    }
    stacks = new_array(backward->gradient, kept.n, sizeof *stacks);
    if (stacks == NULL || !keep_formals(backward, &kept, stacks)) {
        return false;
    }
    for (size_t i = 0; i < kept.n; i++) {
        if (!scan(backward, stacks[i], code->formals[((const size_t *)kept.items)[i]], 0, 1)) {
            return false;
        }
    }
    return true;
}

static bool scan_inputs(struct backward *backward)
{
    const struct mdf_code *code = backward->control->bodies[0].code;
    const struct mdf_code_call *call = backward->call;

    for (size_t i = 0; i < backward->control->n_scan_inputs; i++) {
        mdf_operand input = call->inputs[backward->control->n_states + i];

        if (!scan(backward, gradient_track(backward->gradient, input)->value, code->formals[backward->control->n_states + i],
                  entry(call, "scan_input_axes", i), 1 - entry(call, "scan_input_directions", i))) {
            return false;
        }
    }
    return true;
}

/* The gradients of scan outputs are scanned, and handed to what the body yields. */
static bool scan_output_gradients(struct backward *backward)
{
    struct derived_body *body = &backward->control->bodies[0];
    const struct mdf_code_call *call = backward->call;

    for (size_t i = backward->control->n_states; i < call->n_outputs; i++) {
        size_t k = i - backward->control->n_states;
        mdf_operand whole =
            call->outputs[i] == MDF_NO_OPERAND ? MDF_NO_OPERAND : gradient_track(backward->gradient, call->outputs[i])->gradient;
        mdf_operand item = whole == MDF_NO_OPERAND ? MDF_NO_OPERAND : unit_new_slot(body->gradient.target, 0);

        if (whole != MDF_NO_OPERAND &&
            (item == MDF_NO_OPERAND ||
             !scan(backward, whole, item, entry(call, "scan_output_axes", k), 1 - entry(call, "scan_output_directions", k)) ||
             !seed(body, backward->control->first_yield + i, item))) {
            return false;
        }
    }
    return true;
}

/* One more state: `initial`, `formal` in the body; what it ends as is handed to `receiver`. */
static bool carry(struct backward *backward, mdf_operand initial, mdf_operand formal, mdf_operand receiver)
{
    return add_operand(backward->gradient, &backward->states, initial) &&
           add_operand(backward->gradient, &backward->state_formals, formal) &&
           add_operand(backward->gradient, &backward->receivers, receiver);
}

/* The gradients of states come from behind the loop. */
static bool carry_states(struct backward *backward)
{
    struct control *control = backward->control;
    struct derived_body *body = &control->bodies[0];

    for (size_t i = 0; i < control->n_states; i++) {
        mdf_operand initial = backward->call->inputs[control->first_formal + i], output = backward->call->outputs[i], formal,
                    part;

        if (!control->state_is_active[i]) {
            continue;
        }
        part = output != MDF_NO_OPERAND ? gradient_track(backward->gradient, output)->gradient : MDF_NO_OPERAND;
        part = part != MDF_NO_OPERAND ? part : zeros_like(backward->gradient, gradient_track(backward->gradient, initial)->value);
        formal = unit_new_slot(body->gradient.target, 0);
        if (part == MDF_NO_OPERAND || formal == MDF_NO_OPERAND || !carry(backward, part, formal, initial) ||
            !seed(body, control->first_yield + i, formal)) {
            return false;
        }
    }
    return true;
}

/* Those of captures add up. */
static bool carry_captures(struct backward *backward)
{
    struct derived_body *body = &backward->control->bodies[0];
    struct gradient *gradient = backward->gradient;

    for (size_t i = 0; i < body->code->n_captures; i++) {
        const struct track *track = gradient_track(gradient, body->code->captures[i]);
        mdf_operand initial, formal;

        if (!track->is_active) {
            continue;
        }
        initial = zeros_like(gradient, track->value);
        formal = unit_new_slot(body->gradient.target, 0);
        if (initial == MDF_NO_OPERAND || formal == MDF_NO_OPERAND || !carry(backward, initial, formal, body->code->captures[i])) {
            return false;
        }
        gradient_track(&body->gradient, MDF_OPERAND(MDF_OPERAND_CAPTURE, i))->gradient = formal;
    }
    return true;
}

/* What the body yields, in the order of its formals: of captures and states, then of scan inputs. */
static bool yield_gradients(struct backward *backward)
{
    struct control *control = backward->control;
    struct derived_body *body = &control->bodies[0];
    struct gradient *gradient = backward->gradient;
    const struct mdf_code_call *call = backward->call;
    size_t i;

    for (i = 0; i < body->code->n_captures; i++) {
        if (gradient_track(gradient, body->code->captures[i])->is_active &&
            !add_operand(gradient, &backward->state_yields,
                         gradient_track(&body->gradient, MDF_OPERAND(MDF_OPERAND_CAPTURE, i))->gradient)) {
            return false;
        }
    }
    for (i = 0; i < control->n_states; i++) {
        if (control->state_is_active[i] &&
            !add_operand(gradient, &backward->state_yields,
                         gradient_or_zeros(&body->gradient, body->code->formals[control->first_formal + i]))) {
            return false;
        }
    }
    for (i = 0; i < control->n_scan_inputs; i++) {
        mdf_operand input = call->inputs[control->n_states + i];

        if (gradient_track(gradient, input)->is_active &&
            (!add_operand(gradient, &backward->scan_yields,
                          gradient_or_zeros(&body->gradient, body->code->formals[control->n_states + i])) ||
             !add_operand(gradient, &backward->scan_receivers, input) ||
             !add_numbers(backward, &backward->output_axes, &backward->output_directions, entry(call, "scan_input_axes", i),
                          1 - entry(call, "scan_input_directions", i)))) {
            return false;
        }
    }
    return true;
}

static bool set_ints(struct gradient *gradient, struct mdf_ints *ints, const struct list *list)
{
    return unit_keep_list(gradient->compiler, list, sizeof(int64_t), &ints->items, &ints->n);
}

static void *write_settings(struct backward *backward, const struct mdf_operator *row)
{
    struct gradient *gradient = backward->gradient;
    void *settings = copy_settings(gradient, row, NULL);

    if (settings == NULL || !set_ints(gradient, ints_of(row, settings, "scan_input_axes"), &backward->axes) ||
        !set_ints(gradient, ints_of(row, settings, "scan_input_directions"), &backward->directions) ||
        !set_ints(gradient, ints_of(row, settings, "scan_output_axes"), &backward->output_axes) ||
        !set_ints(gradient, ints_of(row, settings, "scan_output_directions"), &backward->output_directions)) {
        return NULL;
    }
    *(int64_t *)(uintptr_t)mdf_setting_field(row, settings, "num_scan_inputs") = (int64_t)backward->scanned.n;
    return settings;
}

static bool append(struct gradient *gradient, struct list *list, const struct list *more)
{
    return add_items(gradient->compiler, list, more->items, more->n, sizeof(mdf_operand));
}

static bool emit_backward(struct backward *backward)
{
    const struct mdf_operator *row = mdf_operator_onnx("Scan", FIRST_SCAN_WITHOUT_BATCH);
    struct gradient *gradient = backward->gradient;
    void *settings = write_settings(backward, row);
    uint32_t index;

    return settings != NULL && append(gradient, &backward->made.formals, &backward->state_formals) &&
           append(gradient, &backward->made.formals, &backward->scan_formals) &&
           append(gradient, &backward->made.yields, &backward->state_yields) &&
           append(gradient, &backward->made.yields, &backward->scan_yields) &&
           append(gradient, &backward->states, &backward->scanned) &&
           append(gradient, &backward->receivers, &backward->scan_receivers) && finish_body(gradient, &backward->made, &index) &&
           emit(gradient, row, settings, &backward->states, &index, 1, &backward->receivers);
}

static bool hand_back_loop(struct gradient *gradient, struct control *control, const struct mdf_code_call *call)
{
    struct backward backward = {.gradient = gradient, .control = control, .call = call, .made = {.body = &control->bodies[0]}};

    return scan_kept(&backward) && scan_inputs(&backward) && carry_captures(&backward) && carry_states(&backward) &&
           scan_output_gradients(&backward) &&
           gradient_hand_back_range(&control->bodies[0].gradient, 0, control->bodies[0].gradient.n_instructions) &&
           yield_gradients(&backward) && emit_backward(&backward);
}

bool gradient_hand_back_control(struct gradient *gradient, size_t at)
{
    struct mdf_code_call call = *gradient_call(gradient, unit_instruction(gradient->unit, at)); /* the list of calls grows */
    struct control **controls = gradient->controls.items;

    for (size_t i = 0; i < gradient->controls.n; i++) {
        if (controls[i]->at == at) {
            return is_branch(&call) ? hand_back_branches(gradient, controls[i], &call)
                                    : hand_back_loop(gradient, controls[i], &call);
        }
    }
    return true;
}
