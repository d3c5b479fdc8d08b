/* gradient_draws.c - random numbers that ways back draw again.
 *
 * Comes in: code that is about to be derived. Goes out: the same with marks, values that say where the random generators are, in
 * front of what draws random numbers and may be run again on the way back: in a body that is iterated all but a single draw,
 * whose numbers the loop keeps (gradient_kept.c), and each If. Where it is run again, the generators go back to the mark first,
 * so that it draws the same numbers; behind all derivatives they go on from where the value left them. A mark that is run again
 * itself is made anew. */
#include "functions/python/gradients.h"
#include "mdf_c/plan/gradient/gradient.h"

#include <string.h>

#define PYTHON_MARK "gradient.mark_draws"
#define PYTHON_DRAW_AGAIN "gradient.draw_again"

/* The code of a unit, or of a body. */
struct view {
    struct compiler *compiler;
    struct unit *unit;     /* NULL: it is a body */
    struct mdf_code *code; /* NULL: it is a unit */
    const struct view *outer;
    bool is_iterated;
};

static const struct mdf_instruction *instructions_of(const struct view *view)
{
    return view->unit != NULL ? view->unit->instructions.items : view->code->instructions;
}

static size_t count_instructions(const struct view *view)
{
    return view->unit != NULL ? view->unit->instructions.n : view->code->n_instructions;
}

static const struct mdf_code_call *calls_of(const struct view *view)
{
    return view->unit != NULL ? view->unit->calls.items : view->code->calls;
}

static struct mdf_code *const *bodies_of(const struct view *view)
{
    return view->unit != NULL ? view->unit->bodies.items : view->code->bodies;
}

/* The call of an instruction; NULL: it is none. */
static const struct mdf_code_call *call_at(const struct view *view, size_t at)
{
    const struct mdf_instruction *instruction = instructions_of(view) + at;

    return instruction->opcode == MDF_OPCODE_CALL ? calls_of(view) + instruction->target : NULL;
}

/* ------------------------------------------------------------------ what draws */

bool gradient_is_draw(const struct mdf_code_call *call)
{
    return (call->operator->flags & MDF_OPERATOR_RANDOM) != 0;
}

bool gradient_is_mark(const struct mdf_code_call *call)
{
    return gradient_is_draw(call) && call->operator== mdf_operator_python(PYTHON_MARK);
}

bool gradient_goes_back(const struct mdf_code_call *call)
{
    return gradient_is_draw(call) && call->operator== mdf_operator_python(PYTHON_DRAW_AGAIN);
}

const struct mdf_operator *gradient_find_draw(const struct mdf_code_call *call, struct mdf_code *const *bodies)
{
    const struct mdf_operator *draw = gradient_is_draw(call) ? call->operator: NULL;

    for (size_t i = 0; draw == NULL && i < call->n_bodies; i++) {
        draw = call->bodies[i] != UINT32_MAX ? mdf_code_find_draw(bodies[call->bodies[i]]) : NULL;
    }
    return draw;
}

static bool is_drawing(const struct view *view, size_t at)
{
    const struct mdf_code_call *call = call_at(view, at);

    return call != NULL && gradient_find_draw(call, bodies_of(view)) != NULL;
}

static bool is_drawing_branch(const struct view *view, size_t at)
{
    return is_drawing(view, at) && call_at(view, at)->operator->form == MDF_FORM_IF;
}

/* ------------------------------------------------------------------ streams */

/* Goes through captures to where an operand is made, or is a constant. */
static void resolve(const struct view **view, mdf_operand *operand)
{
    while ((*view)->code != NULL && *operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(*operand) == MDF_OPERAND_CAPTURE) {
        *operand = (*view)->code->captures[MDF_OPERAND_INDEX(*operand)];
        *view = (*view)->outer;
    }
}

/* What a constant holds; NULL: it is none. */
static const struct mdf_value *constant_of(const struct view *view, mdf_operand operand)
{
    resolve(&view, &operand);
    if (view->unit != NULL) {
        return operand != MDF_NO_OPERAND ? unit_constant(view->unit, operand) : NULL;
    }
    return operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_CONSTANT
               ? &view->code->constants[MDF_OPERAND_INDEX(operand)]
               : NULL;
}

/* The first number of a constant row, or of a list that is written out. */
static bool find_first(const struct view *view, mdf_operand operand, double *number)
{
    const int64_t first = 0;
    const struct mdf_value *row = constant_of(view, operand);

    if (row != NULL) {
        return mdf_value_number_at(row, &first, 1, number);
    }
    resolve(&view, &operand);
    for (size_t at = 0; at < count_instructions(view); at++) {
        const struct mdf_code_call *call = call_at(view, at);

        if (call != NULL && call->n_outputs == 1 && call->outputs[0] == operand && call->n_inputs > 0 &&
            call->operator == mdf_operator_python(PYTHON_LIST)) {
            row = constant_of(view, call->inputs[0]);
            return row != NULL && mdf_value_to_double(row, number);
        }
    }
    return false;
}

/* Streams that a call may draw from: up to that which its first input names, where that is a generator's description. */
static size_t count_streams(const struct view *view, const struct mdf_code_call *call)
{
    static const char generator[] = "generator ";
    const char *formals = call->operator->formals;
    bool is_named = gradient_is_draw(call) && formals != NULL && strncmp(formals, generator, sizeof generator - 1) == 0;
    double number;

    return is_named && find_first(view, call->inputs[0], &number) && number >= 0 && number < 0x1p31 ? (size_t)number + 1 : 0;
}

static size_t most_streams(const struct view *view, size_t first)
{
    size_t most = 0;

    for (size_t at = first; at < count_instructions(view); at++) {
        const struct mdf_code_call *call = call_at(view, at);
        size_t n = call != NULL ? count_streams(view, call) : 0;

        most = n > most ? n : most;
        for (size_t i = 0; call != NULL && i < call->n_bodies; i++) {
            if (call->bodies[i] != UINT32_MAX) {
                const struct view body = {view->compiler, NULL, bodies_of(view)[call->bodies[i]], view, false};

                n = most_streams(&body, 0);
                most = n > most ? n : most;
            }
        }
    }
    return most;
}

/* ------------------------------------------------------------------ marks */

/* Which instructions get a mark in front of them; how many: *n. */
static bool *find_places(const struct view *view, size_t first, size_t *n)
{
    size_t end = count_instructions(view), next;
    bool *places = mdf_arena_array(&view->compiler->scratch, end + 1, sizeof *places);

    *n = 0;
    if (places == NULL) {
        compile_out_of_memory(view->compiler);
        return NULL;
    }
    for (size_t at = first; at < end; at = next) {
        bool draws = false;

        next = gradient_end_of_instruction(instructions_of(view), at);
        for (size_t i = at; i < next; i++) {
            draws = draws || is_drawing(view, i);
            places[i] = is_drawing_branch(view, i);
        }
        places[at] = places[at] || (draws && view->is_iterated && (next > at + 1 || call_at(view, at)->n_bodies > 0));
    }
    for (size_t at = first; at < end; at++) {
        const struct mdf_code_call *before = at > first ? call_at(view, at - 1) : NULL;

        places[at] = places[at] && (before == NULL || !gradient_is_mark(before));
        *n += places[at];
    }
    return places;
}

static struct mdf_code_call new_mark(const struct mdf_gradient_mark *settings, mdf_operand *output)
{
    return (struct mdf_code_call){.operator= mdf_operator_python(PYTHON_MARK),
                                  .settings = settings,
                                  .inputs = output,
                                  .n_inputs = 0,
                                  .outputs = output,
                                  .n_outputs = 1};
}

/* One more slot and one more call, a mark that goes there. */
static bool add_mark(const struct view *view, const struct mdf_gradient_mark *settings, struct list *calls)
{
    struct compiler *compiler = view->compiler;
    struct target target = {compiler, view->unit, NULL};
    mdf_operand *output = mdf_arena_allocate(compiler->arena, sizeof *output);
    struct mdf_code_call call;

    if (output == NULL) {
        return compile_out_of_memory(compiler) != MDF_NO_OPERAND;
    }
    *output = view->unit != NULL ? unit_new_slot(&target, 0) : MDF_OPERAND(MDF_OPERAND_SLOT, view->code->n_slots++);
    call = new_mark(settings, output);
    return *output != MDF_NO_OPERAND && list_add(compiler, calls, &call, sizeof call);
}

/* The instructions with marks among them. A jump to what has a mark goes to that. */
static bool insert(const struct view *view, const bool *places, const struct mdf_gradient_mark *settings,
                   struct list *instructions, struct list *calls)
{
    struct compiler *compiler = view->compiler;
    size_t n = count_instructions(view), next = 0;
    uint32_t *targets = mdf_arena_array(&compiler->scratch, n + 1, sizeof *targets);

    if (targets == NULL) {
        return compile_out_of_memory(compiler) != MDF_NO_OPERAND;
    }
    for (size_t at = 0; at <= n; at++) {
        targets[at] = (uint32_t)next;
        next += at < n ? 1 + (size_t)places[at] : 0;
    }
    for (size_t at = 0; at < n; at++) {
        struct mdf_instruction instruction = instructions_of(view)[at];
        const struct mdf_instruction mark = {
            .opcode = MDF_OPCODE_CALL, .target = (uint32_t)calls->n, .origin = instruction.origin};

        instruction.target = unit_is_jump(&instruction) ? targets[instruction.target] : instruction.target;
        if ((places[at] && (!add_mark(view, settings, calls) || !list_add(compiler, instructions, &mark, sizeof mark))) ||
            !list_add(compiler, instructions, &instruction, sizeof instruction)) {
            return false;
        }
    }
    return true;
}

static bool add_calls(const struct view *view, struct list *calls)
{
    for (size_t i = 0; i < view->code->n_calls; i++) {
        if (!list_add(view->compiler, calls, &view->code->calls[i], sizeof *view->code->calls)) {
            return false;
        }
    }
    return true;
}

static bool insert_in_code(const struct view *view, const bool *places, const struct mdf_gradient_mark *settings)
{
    struct mdf_code *code = view->code;
    struct list instructions = {0}, calls = {0};

    code->n_names = code->n_nodes = 0;
    return add_calls(view, &calls) && insert(view, places, settings, &instructions, &calls) &&
           unit_keep_list(view->compiler, &instructions, sizeof *code->instructions, &code->instructions,
                          &code->n_instructions) &&
           unit_keep_list(view->compiler, &calls, sizeof *code->calls, &code->calls, &code->n_calls);
}

static bool insert_in_unit(const struct view *view, const bool *places, const struct mdf_gradient_mark *settings)
{
    struct list instructions = {0};

    if (!insert(view, places, settings, &instructions, &view->unit->calls)) {
        return false;
    }
    view->unit->instructions = instructions;
    return true;
}

/* Marks in bodies, then in the code itself. */
static bool mark(const struct view *view, size_t first, const struct mdf_gradient_mark *settings)
{
    const bool *places;
    size_t n;

    for (size_t at = first; at < count_instructions(view); at++) {
        const struct mdf_code_call *call = call_at(view, at);

        for (size_t i = 0; call != NULL && i < call->n_bodies; i++) {
            struct view body = {.compiler = view->compiler, .outer = view, .is_iterated = call->operator->form != MDF_FORM_IF };

            if (call->bodies[i] == UINT32_MAX) {
                continue;
            }
            body.code = bodies_of(view)[call->bodies[i]];
            if (mdf_code_find_draw(body.code) != NULL && !mark(&body, 0, settings)) {
                return false;
            }
        }
    }
    places = find_places(view, first, &n);
    return places != NULL &&
           (n == 0 || (view->unit != NULL ? insert_in_unit(view, places, settings) : insert_in_code(view, places, settings)));
}

bool gradient_mark_draws(struct target *target, size_t first)
{
    const struct view view = {target->compiler, target->unit, NULL, NULL, false};
    struct mdf_gradient_mark *settings = mdf_arena_allocate(target->compiler->arena, sizeof *settings);

    if (settings == NULL) {
        return compile_out_of_memory(target->compiler) != MDF_NO_OPERAND;
    }
    settings->n_streams = most_streams(&view, first);
    return mark(&view, first, settings);
}

static bool has_mark(const struct view *view, size_t first)
{
    for (size_t at = first; at < count_instructions(view); at++) {
        const struct mdf_code_call *call = call_at(view, at);

        if (call != NULL && gradient_is_mark(call)) {
            return true;
        }
        for (size_t i = 0; call != NULL && i < call->n_bodies; i++) {
            if (call->bodies[i] != UINT32_MAX) {
                const struct view body = {view->compiler, NULL, bodies_of(view)[call->bodies[i]], view, false};

                if (has_mark(&body, 0)) {
                    return true;
                }
            }
        }
    }
    return false;
}

bool gradient_has_marks(struct target *target, size_t first)
{
    return has_mark(&(struct view){target->compiler, target->unit, NULL, NULL, false}, first);
}

mdf_operand gradient_emit_mark(struct target *target, size_t first)
{
    const struct view view = {target->compiler, target->unit, NULL, NULL, false};
    struct mdf_gradient_mark *settings = mdf_arena_allocate(target->compiler->arena, sizeof *settings);
    mdf_operand output = unit_new_slot(target, 0);
    struct mdf_code_call call;

    if (settings == NULL) {
        return compile_out_of_memory(target->compiler);
    }
    settings->n_streams = most_streams(&view, first);
    call = new_mark(settings, &output);
    return output != MDF_NO_OPERAND && unit_emit_call(target, &call) ? output : MDF_NO_OPERAND;
}

bool gradient_emit_return(struct target *target, mdf_operand mark)
{
    return mark != MDF_NO_OPERAND && unit_call_python(target, PYTHON_DRAW_AGAIN, &mark, 1) != MDF_NO_OPERAND;
}

mdf_operand gradient_mark_before(struct gradient *gradient, size_t at)
{
    const struct view view = {.unit = gradient->unit};
    const struct mdf_code_call *call = at > gradient->first_instruction ? call_at(&view, at - 1) : NULL;

    return call != NULL && gradient_is_mark(call) ? call->outputs[0] : MDF_NO_OPERAND;
}
