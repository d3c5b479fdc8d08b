/* gradient_loop.c - derivatives through Scan and Loop.
 *
 * Comes in: such a call, whose outputs have gradients. Goes out: a Scan that goes backward. Its states are the gradients of the
 * states, and those of captures, which add up; it scans what the loop keeps for that of each iteration (gradient_kept.c), the
 * scan inputs, and the gradients of the scan outputs; it yields those of the scan inputs. */
#include "functions/kernel/setting.h"
#include "mdf_c/plan/gradient/gradient_control.h"

#include <string.h>

struct mdf_ints *gradient_ints(const struct mdf_operator *row, void *settings, const char *name)
{
    return (struct mdf_ints *)(uintptr_t)mdf_setting_field_of_type(row, settings, name, MDF_SETTING_INTS);
}

void *gradient_copy_settings(struct gradient *gradient, const struct mdf_operator *row, const void *settings)
{
    void *copy = mdf_arena_array(gradient->compiler->arena, row->settings_size, 1);

    if (copy == NULL) {
        compile_out_of_memory(gradient->compiler);
    } else if (settings != NULL) {
        memcpy(copy, settings, row->settings_size);
    }
    return copy;
}

static bool add_numbers(struct backward *backward, struct list *axes, struct list *directions, int64_t axis, int64_t direction)
{
    return list_add(backward->gradient->compiler, axes, &axis, sizeof axis) &&
           list_add(backward->gradient->compiler, directions, &direction, sizeof direction);
}

bool gradient_scan(struct backward *backward, mdf_operand whole, mdf_operand formal, int64_t axis, int64_t direction)
{
    return list_add_operand(backward->gradient->compiler, &backward->scanned, whole) &&
           list_add_operand(backward->gradient->compiler, &backward->scan_formals, formal) &&
           add_numbers(backward, &backward->axes, &backward->directions, axis, direction);
}

bool gradient_stack(struct backward *backward, mdf_operand yield, mdf_operand receiver, int64_t axis, int64_t direction)
{
    return list_add_operand(backward->gradient->compiler, &backward->scan_yields, yield) &&
           list_add(backward->gradient->compiler, &backward->scan_receivers, &receiver, sizeof receiver) &&
           add_numbers(backward, &backward->output_axes, &backward->output_directions, axis, direction);
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

        if (whole != MDF_NO_OPERAND && (item == MDF_NO_OPERAND ||
                                        !gradient_scan(backward, whole, item, mdf_code_setting_at(call, "scan_output_axes", k),
                                                       1 - mdf_code_setting_at(call, "scan_output_directions", k)) ||
                                        !gradient_seed(body, backward->control->first_yield + i, item))) {
            return false;
        }
    }
    return true;
}

/* What the gradients of states and captures are in the body at the beginning of an iteration, the last one first. Those of states
 * come from behind the loop; those of captures add up. */
struct carried {
    mdf_operand *states, *captures; /* of its unit; MDF_NO_OPERAND: there is none */
};

static bool begin_states(struct backward *backward, mdf_operand *formals)
{
    struct control *control = backward->control;
    struct derived_body *body = &control->bodies[0];

    for (size_t i = 0; i < control->n_states; i++) {
        formals[i] = MDF_NO_OPERAND;
        if (!control->state_is_active[i] || !control->state_is_reached[i]) {
            continue;
        }
        formals[i] = unit_new_slot(body->gradient.target, 0);
        if (formals[i] == MDF_NO_OPERAND || !gradient_seed(body, control->first_yield + i, formals[i])) {
            return false;
        }
    }
    return true;
}

static bool begin_captures(struct backward *backward, mdf_operand *formals)
{
    struct derived_body *body = &backward->control->bodies[0];

    for (size_t i = 0; i < body->code->n_captures; i++) {
        formals[i] = MDF_NO_OPERAND;
        if (!gradient_track(backward->gradient, body->code->captures[i])->is_active) {
            continue;
        }
        formals[i] = unit_new_slot(body->gradient.target, 0);
        if (formals[i] == MDF_NO_OPERAND) {
            return false;
        }
        gradient_track(&body->gradient, MDF_OPERAND(MDF_OPERAND_CAPTURE, i))->gradient = formals[i];
    }
    return true;
}

/* One more state: `initial`, `formal` in the body, `yield` at the end of an iteration; what it ends as is handed to `receiver`, but
 * where that changes with no x. It has one type from the beginning. */
static bool carry(struct backward *backward, mdf_operand initial, mdf_operand formal, mdf_operand yield, mdf_operand receiver)
{
    initial = unit_call_python(backward->gradient->target, PYTHON_AS_REAL, &initial, 1);
    receiver = gradient_track(backward->gradient, receiver)->is_active ? receiver : MDF_NO_OPERAND;
    return list_add_operand(backward->gradient->compiler, &backward->states, initial) &&
           list_add_operand(backward->gradient->compiler, &backward->state_formals, formal) &&
           list_add_operand(backward->gradient->compiler, &backward->state_yields, yield) &&
           list_add(backward->gradient->compiler, &backward->receivers, &receiver, sizeof receiver);
}

/* A gradient in the type of its value, which is that of all iterations: what a model's type says may be another. */
static mdf_operand in_type_of(struct gradient *gradient, mdf_operand part, mdf_operand output)
{
    return unit_call_two(gradient->target, PYTHON_SUM_TO, part, gradient_track(gradient, output)->value);
}

static bool carry_states(struct backward *backward, const mdf_operand *formals)
{
    struct control *control = backward->control;
    struct derived_body *body = &control->bodies[0];
    struct gradient *gradient = backward->gradient;

    for (size_t i = 0; i < control->n_states; i++) {
        mdf_operand initial = backward->call->inputs[control->first_formal + i], output = backward->call->outputs[i], part;

        if (formals[i] == MDF_NO_OPERAND) {
            continue;
        }
        part = output != MDF_NO_OPERAND ? gradient_track(gradient, output)->gradient : MDF_NO_OPERAND;
        part = part != MDF_NO_OPERAND ? in_type_of(gradient, part, output)
                                      : gradient_zeros_like(gradient, gradient_track(gradient, initial)->value);
        if (part == MDF_NO_OPERAND ||
            !carry(backward, part, formals[i], gradient_or_zeros(&body->gradient, body->code->formals[control->first_formal + i]),
                   initial)) {
            return false;
        }
    }
    return true;
}

/* Where an iteration adds something; what has been handed to them so far is where that begins. */
static bool carry_captures(struct backward *backward, const mdf_operand *formals)
{
    struct derived_body *body = &backward->control->bodies[0];
    struct gradient *gradient = backward->gradient;

    for (size_t i = 0; i < body->code->n_captures; i++) {
        mdf_operand captured = body->code->captures[i], initial,
                    sum = gradient_track(&body->gradient, MDF_OPERAND(MDF_OPERAND_CAPTURE, i))->gradient;

        if (formals[i] == sum) {
            continue;
        }
        initial = gradient_or_zeros(gradient, captured); /* they go on from what there is */
        gradient_track(gradient, captured)->gradient = MDF_NO_OPERAND;
        if (initial == MDF_NO_OPERAND || !carry(backward, initial, formals[i], sum, captured)) {
            return false;
        }
    }
    return true;
}

static bool stack_inputs(struct backward *backward)
{
    struct control *control = backward->control;
    struct derived_body *body = &control->bodies[0];
    const struct mdf_code_call *call = backward->call;

    for (size_t i = 0; i < control->n_scan_inputs; i++) {
        mdf_operand input = call->inputs[control->n_states + i];

        if (gradient_track(backward->gradient, input)->is_active &&
            !gradient_stack(backward, gradient_or_zeros(&body->gradient, body->code->formals[control->n_states + i]), input,
                            mdf_code_setting_at(call, "scan_input_axes", i),
                            1 - mdf_code_setting_at(call, "scan_input_directions", i))) {
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
    void *settings = gradient_copy_settings(gradient, row, NULL);

    if (settings == NULL || !set_ints(gradient, gradient_ints(row, settings, "scan_input_axes"), &backward->axes) ||
        !set_ints(gradient, gradient_ints(row, settings, "scan_input_directions"), &backward->directions) ||
        !set_ints(gradient, gradient_ints(row, settings, "scan_output_axes"), &backward->output_axes) ||
        !set_ints(gradient, gradient_ints(row, settings, "scan_output_directions"), &backward->output_directions)) {
        return NULL;
    }
    *(int64_t *)(uintptr_t)mdf_setting_field(row, settings, "num_scan_inputs") = (int64_t)backward->scanned.n;
    return settings;
}

static bool append(struct gradient *gradient, struct list *list, const struct list *more)
{
    return gradient_add_items(gradient->compiler, list, more->items, more->n, sizeof(mdf_operand));
}

/* The Scan, whose outputs are handed to their receivers. */
static bool emit_backward(struct backward *backward)
{
    const struct mdf_operator *row = gradient_scan_row();
    struct gradient *gradient = backward->gradient;
    void *settings = write_settings(backward, row);
    size_t n_states = backward->state_yields.n, n = n_states + backward->scan_yields.n;
    mdf_operand *outputs = gradient_new_array(gradient, n, sizeof *outputs);
    uint32_t index;

    if (n == 0) {
        return true;
    }
    if (settings == NULL || outputs == NULL || !append(gradient, &backward->made.formals, &backward->state_formals) ||
        !append(gradient, &backward->made.formals, &backward->scan_formals) ||
        !append(gradient, &backward->made.yields, &backward->state_yields) ||
        !append(gradient, &backward->made.yields, &backward->scan_yields) ||
        !append(gradient, &backward->states, &backward->scanned) ||
        !append(gradient, &backward->receivers, &backward->scan_receivers) ||
        !gradient_finish_body(gradient, &backward->made, &index) ||
        !gradient_emit(gradient, row, settings, &backward->states, &index, 1, outputs, n)) {
        return false;
    }
    backward->stacks = outputs + n_states;
    for (size_t i = 0; i < n; i++) {
        mdf_operand receiver = ((const mdf_operand *)backward->receivers.items)[i];

        if (receiver != MDF_NO_OPERAND && !gradient_add(gradient, receiver, outputs[i])) {
            return false;
        }
    }
    return true;
}

bool gradient_hand_back_loop(struct gradient *gradient, struct control *control, const struct mdf_code_call *call)
{
    struct derived_body *body = &control->bodies[0];
    struct backward backward = {.gradient = gradient, .control = control, .call = call, .made = {.body = body}};
    struct carried carried = {gradient_new_array(gradient, control->n_states, sizeof *carried.states),
                              gradient_new_array(gradient, body->code->n_captures, sizeof *carried.captures)};

    if (carried.states == NULL || carried.captures == NULL) {
        return false;
    }
    body->gradient.is_iterated = true;
    gradient_find_stable(&backward);
    gradient_find_reached(gradient, control, call);
    return begin_captures(&backward, carried.captures) && begin_states(&backward, carried.states) &&
           scan_output_gradients(&backward) && gradient_hand_back_range(&body->gradient, 0, body->gradient.n_instructions) &&
           carry_captures(&backward, carried.captures) && carry_states(&backward, carried.states) && stack_inputs(&backward) &&
           gradient_keep(&backward) && gradient_stack_products(&backward) && emit_backward(&backward) &&
           gradient_sum_products(&backward);
}
