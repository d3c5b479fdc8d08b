/* gradient_body.c - bodies of Scan, Loop and If once more.
 *
 * Comes in: the code of a body. Goes out: a unit with the same instructions, in which gradients are handed back, and which is the
 * body of another call when it is finished. */
#include "mdf_c/plan/gradient/gradient_control.h"

#include <string.h>

bool gradient_out_of_memory(struct gradient *gradient)
{
    compile_out_of_memory(gradient->compiler);
    return false;
}

void *gradient_new_array(struct gradient *gradient, size_t n, size_t size)
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
    return captures != NULL || gradient_out_of_memory(gradient);
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
    return indices != NULL || gradient_out_of_memory(gradient);
}

bool gradient_refuse_draw(struct gradient *gradient, const struct mdf_operator *draw)
{
    compile_error(
        gradient->compiler, MDF_UNSUPPORTED,
        "there is no derivative of a branch, or of a body within another, that draws random numbers (%s): they would have "
        "to be drawn again",
        draw->name);
    return false;
}

bool gradient_add_items(struct compiler *compiler, struct list *list, const void *items, size_t n, size_t size)
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
    if (!gradient_add_items(compiler, &unit->constants, copy->constants, copy->n_constants, sizeof *copy->constants)) {
        unit->constants.n = 0;
        mdf_code_clear(compiler->memory, copy);
        return false;
    }
    copy->n_constants = 0; /* they are the unit's */
    if (!gradient_add_items(compiler, &unit->bodies, copy->bodies, copy->n_bodies, sizeof *copy->bodies)) {
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
           gradient_add_items(compiler, &unit->instructions, copy->instructions, copy->n_instructions,
                              sizeof *copy->instructions) &&
           gradient_add_items(compiler, &unit->calls, copy->calls, copy->n_calls, sizeof *copy->calls) &&
           gradient_add_items(compiler, &unit->captures, copy->captures, copy->n_captures, sizeof *copy->captures) &&
           gradient_add_items(compiler, &unit->declarations, copy->declarations, copy->n_declarations,
                              sizeof *copy->declarations) &&
           add_facts(body, &unit->slot_facts, copy->n_slots, false) &&
           add_facts(body, &unit->constant_facts, body->code->n_constants, false) &&
           add_facts(body, &unit->capture_facts, copy->n_captures, true);
}

/* Begins to derive a body, of which `formals` change smoothly, and captures as the unit around has it. */
bool gradient_begin_body(struct gradient *outer, struct derived_body *body, const bool *formals)
{
    struct gradient *gradient = &body->gradient;

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

void gradient_end_body(struct derived_body *body)
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
                gradient_end_body(&controls[i]->bodies[k]);
            }
        }
    }
    gradient->controls.n = 0;
}

bool gradient_yield_is_active(struct derived_body *body, size_t yield)
{
    return gradient_track(&body->gradient, body->code->yields[yield])->is_active;
}

/* ------------------------------------------------------------------ calls with such bodies */

/* Hands the gradient of a yield, an operand of the body's unit, back to what the body takes. */
bool gradient_seed(struct derived_body *body, size_t yield, mdf_operand part)
{
    return !gradient_yield_is_active(body, yield) || gradient_add(&body->gradient, body->code->yields[yield], part);
}

/* Adds the finished body to the unit around it; its number there goes to `index`. */
bool gradient_finish_body(struct gradient *gradient, struct new_body *made, uint32_t *index)
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

/* Emits a call of n_bodies bodies; its outputs, n of them, are new. */
bool gradient_emit(struct gradient *gradient, const struct mdf_operator *row, const void *settings, const struct list *inputs,
                   const uint32_t *bodies, size_t n_bodies, mdf_operand *outputs, size_t n)
{
    struct mdf_code_call call = {.operator= row,
                                 .settings = settings,
                                 .inputs = inputs->items,
                                 .n_inputs = inputs->n,
                                 .outputs = outputs,
                                 .n_outputs = n,
                                 .n_bodies = n_bodies};
    uint32_t *kept = mdf_arena_array(gradient->compiler->arena, n_bodies, sizeof *kept);

    if (kept == NULL) {
        return gradient_out_of_memory(gradient);
    }
    memcpy(kept, bodies, n_bodies * sizeof *kept);
    for (size_t i = 0; i < n; i++) {
        outputs[i] = unit_new_slot(gradient->target, 0);
        if (outputs[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    call.bodies = kept;
    return unit_emit_call(gradient->target, &call);
}
