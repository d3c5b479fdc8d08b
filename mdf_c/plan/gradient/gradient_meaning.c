/* gradient_meaning.c - derivatives of operators whose meaning is given by expressions (struct mdf_meaning).
 *
 * Comes in: a call of such an operator, whose outputs have gradients. Goes out: the code of the expressions, on what the call's
 * inputs are, and behind it that of their derivatives. Of the code nothing stays that these do not need. */
#include "mdf_c/plan/gradient/evaluation.h"
#include "mdf_c/plan/gradient/gradient_control.h"
#include "mdf_c/plan/traced/made_loop.h"

#include "functions/kernel/setting.h"

#include <string.h>

/* The expressions of a call, under way. */
struct writing {
    struct gradient *gradient;
    const struct mdf_code_call *call;
};

/* The next word of a text of words with blanks between them, as one of its own; NULL: none is left, or memory ran out. */
static const char *next_word(struct gradient *gradient, const char **text)
{
    size_t length;
    const char *word;

    *text += strspn(*text, " ");
    length = strcspn(*text, " ");
    if (length == 0) {
        return NULL;
    }
    word = mdf_arena_text(&gradient->compiler->scratch, *text, length);
    *text += length;
    if (word == NULL) {
        compile_out_of_memory(gradient->compiler);
    }
    return word;
}

/* What a name stands for in the target's scope. */
static mdf_operand find_step(struct target *target, const char *name)
{
    struct outcome outcome;

    return scope_find(target, name, &outcome) ? outcome.outputs[0]
                                              : compile_error(target->compiler, MDF_NAME, "a meaning has no step '%s'", name);
}

static bool write_steps(struct writing *writing, struct target *target, const struct mdf_meaning_step *steps);

/* ------------------------------------------------------------------ a Scan */

/* Names inside that stand for outer ones, "NAME:OUTER": the operands of these go to `inputs`, new slots to `formals`. */
static bool bind_formals(struct writing *writing, struct target *outer, struct target *inner, const char *pairs,
                         struct list *inputs, struct list *formals)
{
    struct gradient *gradient = writing->gradient;
    const char *pair;

    while ((pair = next_word(gradient, &pairs)) != NULL) {
        size_t length = strcspn(pair, ":");
        const char *name = mdf_arena_text(&gradient->compiler->scratch, pair, length);
        mdf_operand input = find_step(outer, pair + length + 1), formal = unit_new_slot(inner, 0);

        if (name == NULL) {
            return gradient_out_of_memory(gradient);
        }
        if (!list_add_operand(gradient->compiler, inputs, input) || !list_add_operand(gradient->compiler, formals, formal) ||
            !scope_bind(gradient->compiler, inner->scope, name, formal)) {
            return false;
        }
    }
    return true;
}

static bool find_yields(struct writing *writing, struct target *inner, const char *names, struct list *yields)
{
    const char *name;

    while ((name = next_word(writing->gradient, &names)) != NULL) {
        if (!list_add_operand(writing->gradient->compiler, yields, find_step(inner, name))) {
            return false;
        }
    }
    return true;
}

static bool write_body(struct writing *writing, struct target *outer, const struct mdf_meaning_scan *scan, struct list *inputs,
                       size_t *n_states, struct new_body *made, uint32_t *index)
{
    struct compiler *compiler = writing->gradient->compiler;
    struct unit *unit = &made->body->unit;
    struct scope scope = {.outer = outer->scope, .unit = unit};
    struct target inner = {compiler, unit, &scope};
    bool done;

    unit->outer = outer->unit;
    done = bind_formals(writing, outer, &inner, scan->states, inputs, &made->formals);
    *n_states = made->formals.n;
    done = done && bind_formals(writing, outer, &inner, scan->scanned, inputs, &made->formals) &&
           write_steps(writing, &inner, scan->steps) && find_yields(writing, &inner, scan->yields, &made->yields) &&
           gradient_finish_body(writing->gradient, made, index);
    unit_clear(compiler, unit);
    return done;
}

static bool write_scan(struct writing *writing, struct target *target, const struct mdf_meaning_step *step)
{
    struct gradient *gradient = writing->gradient;
    const struct mdf_operator *row = gradient_scan_row();
    void *settings = gradient_copy_settings(gradient, row, NULL);
    const char *names = step->name, *name;
    struct derived_body body = {0};
    struct new_body made = {.body = &body};
    struct list inputs = {0};
    mdf_operand *outputs;
    size_t n_states;
    uint32_t index;

    if (settings == NULL || !write_body(writing, target, step->scan, &inputs, &n_states, &made, &index)) {
        return false;
    }
    *(int64_t *)(uintptr_t)mdf_setting_field(row, settings, "num_scan_inputs") = (int64_t)(inputs.n - n_states);
    outputs = gradient_new_array(gradient, made.yields.n, sizeof *outputs);
    if (outputs == NULL || !gradient_emit(gradient, row, settings, &inputs, &index, 1, outputs, made.yields.n)) {
        return false;
    }
    for (size_t i = 0; (name = next_word(gradient, &names)) != NULL; i++) {
        if (!scope_bind(gradient->compiler, target->scope, name, outputs[i])) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ a body of the call */

/* As the body of a Loop: what that gives and takes stands in front. */
static struct mdf_code *copy_body(struct gradient *gradient, const struct mdf_code *body)
{
    struct compiler *compiler = gradient->compiler;
    mdf_operand *captures = mdf_arena_array(compiler->arena, body->n_captures + 1, sizeof *captures);
    mdf_operand *formals = mdf_arena_array(compiler->arena, 3, sizeof *formals);
    mdf_operand *yields = mdf_arena_array(compiler->arena, 2, sizeof *yields);
    bool *is_own = mdf_arena_array(compiler->arena, 2, sizeof *is_own);
    struct mdf_static_type *types = mdf_arena_array(compiler->arena, 2, sizeof *types);
    struct mdf_code *copy;

    if (captures == NULL || formals == NULL || yields == NULL || is_own == NULL || types == NULL) {
        compile_out_of_memory(compiler);
        return NULL;
    }
    copy = unit_copy_code(compiler, body);
    if (copy == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < body->n_captures; i++) {
        captures[i] = gradient_track(gradient, body->captures[i])->value;
    }
    formals[0] = MDF_OPERAND(MDF_OPERAND_SLOT, copy->n_slots);
    formals[1] = yields[0] = MDF_OPERAND(MDF_OPERAND_SLOT, copy->n_slots + 1);
    formals[2] = body->formals[0];
    yields[1] = body->yields[0];
    is_own[0] = false;
    is_own[1] = body->yield_is_own != NULL && body->yield_is_own[0];
    types[0] = types[1] = mdf_static_unknown;
    copy->n_slots += 2;
    copy->captures = captures;
    copy->formals = formals;
    copy->yields = yields;
    copy->yield_is_own = is_own;
    copy->yield_types = types;
    copy->n_formals = 3;
    copy->n_yields = 2;
    return copy;
}

/* "body NUMBER STEP": what that body of the call makes of the step; the step, where the call has no such body. */
static mdf_operand write_own_body(struct writing *writing, struct target *target, const char *text)
{
    struct gradient *gradient = writing->gradient;
    const char *word = next_word(gradient, &text), *number = word != NULL ? next_word(gradient, &text) : NULL;
    const char *name = number != NULL ? next_word(gradient, &text) : NULL;
    mdf_operand before = name != NULL ? find_step(target, name) : MDF_NO_OPERAND, after;
    size_t at = number != NULL ? (size_t)(number[0] - '0') : 0;
    struct mdf_code *body;

    if (before == MDF_NO_OPERAND || at >= writing->call->n_bodies || writing->call->bodies[at] == UINT32_MAX) {
        return before;
    }
    after = unit_new_slot(target, 0);
    body = after != MDF_NO_OPERAND
               ? copy_body(gradient, ((struct mdf_code **)gradient->unit->bodies.items)[writing->call->bodies[at]])
               : NULL;
    return body != NULL && made_loop_emit(target, body, 1, MDF_NO_OPERAND, &before, &after, 1) ? after : MDF_NO_OPERAND;
}

/* ------------------------------------------------------------------ all steps */

static bool write_steps(struct writing *writing, struct target *target, const struct mdf_meaning_step *steps)
{
    for (const struct mdf_meaning_step *step = steps; step->name != NULL; step++) {
        mdf_operand operand;

        if (step->scan != NULL) {
            if (!write_scan(writing, target, step)) {
                return false;
            }
            continue;
        }
        operand = strncmp(step->expression, "body ", 5) == 0
                      ? write_own_body(writing, target, step->expression)
                      : gradient_compile_text(writing->gradient, target, writing->call, step->expression);
        if (operand == MDF_NO_OPERAND || !scope_bind(target->compiler, target->scope, step->name, operand)) {
            return false;
        }
    }
    return true;
}

/* All expressions behind one another: what they can name is found in that. */
static const char *join_texts(struct gradient *gradient, const struct mdf_meaning_step *steps, const char *text)
{
    for (; steps->name != NULL && text != NULL; steps++) {
        text = steps->scan != NULL ? join_texts(gradient, steps->scan->steps,
                                                mdf_arena_printf(&gradient->compiler->scratch, "%s %s %s", text,
                                                                 steps->scan->states, steps->scan->scanned))
                                   : mdf_arena_printf(&gradient->compiler->scratch, "%s %s", text, steps->expression);
    }
    if (text == NULL) {
        compile_out_of_memory(gradient->compiler);
    }
    return text;
}

/* The outputs that have gradients, as the steps compute them. */
static bool find_values(struct writing *writing, struct target *target, struct list *values)
{
    const struct mdf_code_call *call = writing->call;
    const char *names = call->operator->meaning->outputs, *name;

    for (size_t i = 0; i < call->n_outputs && (name = next_word(writing->gradient, &names)) != NULL; i++) {
        struct derived_value value = {MDF_NO_OPERAND, MDF_NO_OPERAND};

        if (strcmp(name, "-") == 0 || call->outputs[i] == MDF_NO_OPERAND) {
            continue;
        }
        value.seed = gradient_track(writing->gradient, call->outputs[i])->gradient;
        if (value.seed == MDF_NO_OPERAND) {
            continue;
        }
        value.value = find_step(target, name);
        if (value.value == MDF_NO_OPERAND || !list_add(writing->gradient->compiler, values, &value, sizeof value)) {
            return false;
        }
    }
    return true;
}

static bool add_input(struct gradient *gradient, mdf_operand input, struct list *inputs, struct list *values)
{
    bool is_listed = !gradient_track(gradient, input)->is_active;

    for (size_t k = 0; k < inputs->n && !is_listed; k++) {
        is_listed = ((const mdf_operand *)inputs->items)[k] == input;
    }
    return is_listed || (list_add_operand(gradient->compiler, inputs, input) &&
                         list_add_operand(gradient->compiler, values, gradient_track(gradient, input)->value));
}

/* What the inputs are that change smoothly, and what bodies capture, each once. */
static bool find_inputs(struct gradient *gradient, const struct mdf_code_call *call, struct list *inputs, struct list *values)
{
    for (size_t i = 0; i < call->n_inputs; i++) {
        if (call->inputs[i] != MDF_NO_OPERAND && !gradient_is_whole(call, i) &&
            !add_input(gradient, call->inputs[i], inputs, values)) {
            return false;
        }
    }
    for (size_t i = 0; i < call->n_bodies; i++) {
        const struct mdf_code *body =
            call->bodies[i] != UINT32_MAX ? ((struct mdf_code **)gradient->unit->bodies.items)[call->bodies[i]] : NULL;

        for (size_t k = 0; body != NULL && k < body->n_captures; k++) {
            if (!add_input(gradient, body->captures[k], inputs, values)) {
                return false;
            }
        }
    }
    return true;
}

bool gradient_hand_back_meaning(struct gradient *gradient, const struct mdf_code_call *call)
{
    const struct mdf_meaning *meaning = call->operator->meaning;
    struct writing writing = {gradient, call};
    struct scope scope = {.unit = gradient->unit};
    struct target target = {gradient->compiler, gradient->unit, &scope};
    struct list ys = {0}, inputs = {0}, xs = {0};
    const char *text = join_texts(gradient, meaning->steps, "");
    const struct mdf_operator *draw = call->n_bodies > 0 ? gradient_find_draw(call, gradient->unit->bodies.items) : NULL;
    size_t first = unit_position(gradient->unit);
    mdf_operand *results;

    if (draw != NULL) {
        return gradient_refuse_draw(gradient, draw); /* it runs again */
    }
    if (text == NULL || !gradient_bind_call(gradient, &scope, call, text)) {
        return false;
    }
    first = unit_position(gradient->unit);
    if (!write_steps(&writing, &target, meaning->steps) || !find_values(&writing, &target, &ys) ||
        !find_inputs(gradient, call, &inputs, &xs)) {
        return false;
    }
    results = gradient_new_array(gradient, xs.n, sizeof *results);
    if (results == NULL ||
        (ys.n > 0 && !compile_gradients_from(gradient->target, first, ys.items, ys.n, xs.items, xs.n, results))) {
        return false;
    }
    for (size_t i = 0; ys.n > 0 && i < xs.n; i++) {
        if (!gradient_add(gradient, ((const mdf_operand *)inputs.items)[i], results[i])) {
            return false;
        }
    }
    return true;
}
