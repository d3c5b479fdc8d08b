/* gradient_reached.c - which states of a loop get a gradient at all.
 *
 * Comes in: a Scan or Loop, some of whose outputs have gradients. Goes out: which of its states have one at the end of some
 * iteration: those whose outputs have, and those that such a state, or a scan output with a gradient, is made of in the body,
 * through loops and branches within it. All others have none, rather than zeros: what a zero is multiplied by may be infinite or
 * NaN, as the root of a negative number that nothing else looks at. */
#include "mdf_c/plan/gradient/gradient_control.h"

static bool is_reached(struct gradient *gradient, mdf_operand operand)
{
    return operand != MDF_NO_OPERAND && gradient_track(gradient, operand)->is_reached;
}

/* A visitor that goes on to the next operand. */
static bool reach(struct gradient *gradient, mdf_operand operand)
{
    struct track *track = operand != MDF_NO_OPERAND ? gradient_track(gradient, operand) : NULL;

    if (track != NULL && track->is_active && !track->is_reached) {
        track->is_reached = gradient->has_reached = true;
    }
    return false;
}

static struct control *find_control(struct gradient *gradient, size_t at)
{
    struct control **controls = gradient->controls.items;
    size_t i = 0;

    while (i < gradient->controls.n && controls[i]->at != at) {
        i++;
    }
    return i < gradient->controls.n ? controls[i] : NULL;
}

static void forget(struct gradient *gradient)
{
    struct control **controls = gradient->controls.items;

    for (size_t i = 0; i < gradient->n_tracks; i++) {
        gradient->tracks[i].is_reached = false;
    }
    for (size_t i = 0; i < gradient->controls.n; i++) {
        for (size_t k = 0; k < controls[i]->n_bodies; k++) {
            forget(&controls[i]->bodies[k].gradient);
        }
    }
}

static void reach_within(struct gradient *gradient);

/* From the yields of bodies that are reached to their formals and captures, and of states on to what these are next. */
static void reach_bodies(struct control *control)
{
    bool more = true;

    while (more) {
        more = false;
        for (size_t k = 0; k < control->n_bodies; k++) {
            struct derived_body *body = &control->bodies[k];

            reach_within(&body->gradient);
            body->gradient.has_reached = false;
            for (size_t i = 0; i < control->n_states; i++) {
                if (is_reached(&body->gradient, body->code->formals[control->first_formal + i])) {
                    control->state_is_reached[i] = true;
                    reach(&body->gradient, body->code->yields[control->first_yield + i]);
                }
            }
            more = more || body->gradient.has_reached;
        }
    }
}

/* From the outputs of a call with bodies that are reached to its inputs and what it captures. */
static void reach_through(struct gradient *gradient, struct control *control, const struct mdf_code_call *call)
{
    for (size_t k = 0; k < control->n_bodies; k++) {
        struct derived_body *body = &control->bodies[k];

        for (size_t i = 0; i < call->n_outputs; i++) {
            if (is_reached(gradient, call->outputs[i])) {
                reach(&body->gradient, body->code->yields[control->first_yield + i]);
            }
        }
    }
    reach_bodies(control);
    for (size_t k = 0; k < control->n_bodies; k++) {
        struct derived_body *body = &control->bodies[k];

        for (size_t i = 0; i < body->code->n_formals; i++) {
            if (is_reached(&body->gradient, body->code->formals[i])) {
                reach(gradient, call->inputs[i]);
            }
        }
        for (size_t i = 0; i < body->code->n_captures; i++) {
            if (is_reached(&body->gradient, MDF_OPERAND(MDF_OPERAND_CAPTURE, i))) {
                reach(gradient, body->code->captures[i]);
            }
        }
        for (size_t i = 0; i < control->n_states; i++) { /* no iteration: a state ends as what it began as */
            if (is_reached(gradient, call->outputs[i])) {
                reach(gradient, call->inputs[control->first_formal + i]);
            }
        }
    }
}

/* From what is reached in a unit to all that it is made of; again, as long as there is more: items that are gone through in turn
 * read what later instructions write. */
static void reach_within(struct gradient *gradient)
{
    do {
        gradient->has_reached = false;
        for (size_t i = gradient->n_instructions; i-- > gradient->first_instruction;) {
            const struct mdf_instruction *instruction = unit_instruction(gradient->unit, i);
            struct control *control = find_control(gradient, i);

            if (!gradient->is_taped[i] || !gradient_any_output(gradient, instruction, is_reached)) {
                continue;
            }
            if (control != NULL) {
                reach_through(gradient, control, gradient_call(gradient, instruction));
            } else {
                gradient_any_input(gradient, instruction, reach);
            }
        }
    } while (gradient->has_reached);
}

void gradient_find_reached(struct gradient *gradient, struct control *control, const struct mdf_code_call *call)
{
    struct derived_body *body = &control->bodies[0];

    forget(&body->gradient);
    for (size_t i = 0; i < call->n_outputs; i++) {
        bool is_given =
            call->outputs[i] != MDF_NO_OPERAND && gradient_track(gradient, call->outputs[i])->gradient != MDF_NO_OPERAND;

        if (i < control->n_states) {
            control->state_is_reached[i] = is_given;
        }
        if (is_given) {
            reach(&body->gradient, body->code->yields[control->first_yield + i]);
        }
    }
    reach_bodies(control);
}
