/* gradient_control.c - derivatives through Scan, Loop and If.
 *
 * Comes in: a call with bodies, some of whose inputs or captures change smoothly with an x. Goes out: which of its outputs do;
 * and, once these have gradients, calls that compute those of its inputs and captures.
 *
 * A body is compiled once more for that: a unit with the same instructions, behind which stand those that hand its yields'
 * gradients back to what it takes. Of If it is the branch that was taken; of Scan and Loop see gradient_loop.c. Source: reverse
 * accumulation, as Griewank and Walther, Evaluating Derivatives, 2nd edition, chapters 3 and 12. */
#include "mdf_c/plan/gradient/gradient_control.h"

#include <string.h>

const struct mdf_operator *gradient_scan_row(void)
{
    return mdf_operator_onnx("Scan", GRADIENT_FIRST_SCAN);
}

/* ------------------------------------------------------------------ what changes smoothly */

bool gradient_is_loop(const struct mdf_code_call *call)
{
    return call->operator->form == MDF_FORM_LOOP;
}

bool gradient_is_scan(const struct mdf_code_call *call)
{
    return call->operator->form == MDF_FORM_SCAN && call->operator->since >= GRADIENT_FIRST_SCAN;
}

static bool is_branch(const struct mdf_code_call *call)
{
    return call->operator->form == MDF_FORM_IF;
}

/* Where the states of a Scan or Loop are. */
static bool lay_out(struct gradient *gradient, struct control *control, const struct mdf_code_call *call)
{
    const int64_t *n_scan_inputs = mdf_code_setting(call, "num_scan_inputs");

    control->first_formal = gradient_is_loop(call) ? GRADIENT_FIRST_STATE : 0;
    control->first_yield = gradient_is_loop(call) ? GRADIENT_FIRST_YIELD : 0;
    control->n_scan_inputs = gradient_is_loop(call) || n_scan_inputs == NULL ? 0 : (size_t)*n_scan_inputs;
    control->n_states = call->n_inputs - control->first_formal - control->n_scan_inputs;
    control->state_is_active = gradient_new_array(gradient, call->n_inputs, sizeof *control->state_is_active);
    control->state_is_reached = gradient_new_array(gradient, call->n_inputs, sizeof *control->state_is_reached);
    return control->state_is_active != NULL && control->state_is_reached != NULL;
}

/* Which states of a loop change smoothly, where each may through another, from one iteration to the next. */
static bool follow_loop(struct gradient *gradient, struct control *control, const struct mdf_code_call *call)
{
    struct derived_body *body = &control->bodies[0];
    bool *formals = gradient_new_array(gradient, body->code->n_formals, sizeof *formals), more = true;

    if (formals == NULL || !lay_out(gradient, control, call)) {
        return false;
    }
    for (size_t i = control->first_formal; i < call->n_inputs; i++) {
        formals[i] = call->inputs[i] != MDF_NO_OPERAND && gradient_track(gradient, call->inputs[i])->is_active;
    }
    while (more) {
        more = false;
        gradient_end_body(body);
        if (!gradient_begin_body(gradient, body, formals)) {
            return false;
        }
        for (size_t i = 0; i < control->n_states; i++) {
            bool is_new = !formals[control->first_formal + i] && gradient_yield_is_active(body, control->first_yield + i);

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
        if (!gradient_begin_body(gradient, &control->bodies[i], NULL)) {
            return false;
        }
    }
    return true;
}

static bool output_is_active(struct control *control, const struct mdf_code_call *call, size_t output)
{
    bool is_active = !is_branch(call) && output < control->n_states && control->state_is_active[output];

    for (size_t i = 0; i < control->n_bodies && !is_active; i++) {
        is_active = gradient_yield_is_active(&control->bodies[i], control->first_yield + output);
    }
    return is_active;
}

bool gradient_can_go_through(const struct mdf_code_call *call)
{
    enum mdf_form form = call->operator->form;

    return form == MDF_FORM_IF || form == MDF_FORM_LOOP || gradient_is_scan(call);
}

bool gradient_follow_control(struct gradient *gradient, size_t at, bool *is_smooth)
{
    struct mdf_code_call call = *gradient_call(gradient, unit_instruction(gradient->unit, at)); /* the list of calls grows */
    struct control *control = gradient_new_array(gradient, 1, sizeof *control);

    *is_smooth = false;
    if (control == NULL) {
        return false;
    }
    *control = (struct control){.at = at, .call = unit_instruction(gradient->unit, at)->target, .n_bodies = call.n_bodies};
    control->bodies = gradient_new_array(gradient, call.n_bodies, sizeof *control->bodies);
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
            if (!is_listed && !list_add_operand(gradient->compiler, captures, code->captures[k])) {
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
    return here != MDF_NO_OPERAND ? gradient_zeros_like(&body->gradient, here) : MDF_NO_OPERAND;
}

static bool derive_branch(struct gradient *gradient, struct derived_body *body, const struct mdf_code_call *call,
                          const struct list *captures, uint32_t *index)
{
    struct new_body made = {.body = body};

    for (size_t i = 0; i < call->n_outputs; i++) {
        mdf_operand part =
            call->outputs[i] == MDF_NO_OPERAND ? MDF_NO_OPERAND : gradient_track(gradient, call->outputs[i])->gradient;
        mdf_operand here = unit_capture(body->gradient.target, &body->unit, gradient->unit, part);

        if (part != MDF_NO_OPERAND && (here == MDF_NO_OPERAND || !gradient_seed(body, i, here))) {
            return false;
        }
    }
    if (!gradient_hand_back_range(&body->gradient, 0, body->gradient.n_instructions)) {
        return false;
    }
    for (size_t i = 0; i < captures->n; i++) {
        if (!list_add_operand(gradient->compiler, &made.yields,
                              yield_of_capture(gradient, body, ((const mdf_operand *)captures->items)[i]))) {
            return false;
        }
    }
    return gradient_finish_body(gradient, &made, index);
}

/* What a branch draws it draws again on the way back. */
static bool draw_again(struct gradient *gradient, const struct control *control, const struct mdf_code_call *call)
{
    const struct mdf_operator *draw = gradient_find_draw(call, gradient->unit->bodies.items);
    mdf_operand mark = gradient_mark_before(gradient, control->at);

    if (draw == NULL) {
        return true;
    }
    return mark != MDF_NO_OPERAND ? gradient_emit_return(gradient->target, gradient_track(gradient, mark)->value)
                                  : gradient_refuse_draw(gradient, draw);
}

static bool hand_back_branches(struct gradient *gradient, struct control *control, const struct mdf_code_call *call)
{
    struct list captures = {0}, inputs = {0};
    uint32_t indices[MDF_STATIC_BODIES];
    mdf_operand *outputs;

    if (!find_active_captures(gradient, control, &captures) ||
        !list_add_operand(gradient->compiler, &inputs, gradient_track(gradient, call->inputs[0])->value)) {
        return false;
    }
    for (size_t i = 0; i < control->n_bodies; i++) {
        if (!derive_branch(gradient, &control->bodies[i], call, &captures, &indices[i])) {
            return false;
        }
    }
    outputs = gradient_new_array(gradient, captures.n, sizeof *outputs);
    if (outputs == NULL || (captures.n > 0 && !draw_again(gradient, control, call)) ||
        (captures.n > 0 &&
         !gradient_emit(gradient, call->operator, call->settings, &inputs, indices, control->n_bodies, outputs, captures.n))) {
        return false;
    }
    for (size_t i = 0; i < captures.n; i++) {
        if (!gradient_add(gradient, ((const mdf_operand *)captures.items)[i], outputs[i])) {
            return false;
        }
    }
    return true;
}

bool gradient_hand_back_control(struct gradient *gradient, size_t at)
{
    struct mdf_code_call call = *gradient_call(gradient, unit_instruction(gradient->unit, at)); /* the list of calls grows */
    struct control **controls = gradient->controls.items;

    for (size_t i = 0; i < gradient->controls.n; i++) {
        if (controls[i]->at == at) {
            return is_branch(&call) ? hand_back_branches(gradient, controls[i], &call)
                                    : gradient_hand_back_loop(gradient, controls[i], &call);
        }
    }
    return true;
}
