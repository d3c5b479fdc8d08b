/* source_nest.c - a loop nest (mdf_c/lowered/nest.h) as loops of C, in the order of nest_plan.h: a register is a variable of the
 * block in which it is made, or lies in an array where it is kept for another loop. */
#include "mdf_c/source/nests/nest_text.h"

#include <string.h>

/* ------------------------------------------------------------------ blocks */

void nest_text_open_block(struct nest_text *text, const char *head)
{
    mdf_source_open(text->writer, "%s", head);
    text->n_blocks++;
}

void nest_text_close_block(struct nest_text *text)
{
    mdf_source_close(text->writer);
    for (size_t i = 0; i < text->nest->n_steps; i++) {
        if (text->registers[i].block == text->n_blocks) {
            text->registers[i].name = NULL;
        }
        if (text->registers[i].place_block == text->n_blocks) {
            text->registers[i].place = NULL;
        }
    }
    text->n_blocks--;
}

const char *nest_text_extent(struct nest_text *text, size_t axis)
{
    return is_open_axis(text, axis) ? text->count : mdf_source_text(text->writer, "%zu", text->nest->extents[axis]);
}

void nest_text_open_pieces(struct nest_text *text, size_t axis, size_t n, const char *whole, const char *rest)
{
    const char *block = text->axes[axis].block, *all = nest_text_extent(text, axis);

    nest_text_open_block(text,
                         mdf_source_text(text->writer, "for (size_t %s = 0; %s < %s; %s += %zu)", block, block, all, block, n));
    if (!is_even(text, axis, n)) {
        mdf_source_line(text->writer, "const size_t %s = %s - %s < %zu ? %s : %s;", text->axes[axis].end, all, block, n, rest,
                        whole);
    }
}

void nest_text_close_group(struct nest_text *text)
{
    if (text->is_group) {
        text->is_group = false;
        nest_text_close_block(text);
    }
}

enum { MOST_WRITTEN_OUT = 16 }; /* runs of a loop, of which gcc makes statements one behind the other at first */

/* Whether a loop of n runs along the vector axis, which fill no vectors, makes totals, and another one is around it, as of a
 * product of small matrices: gcc does best to write such out, which then stay in registers. */
static bool is_of_totals(const struct nest_text *text, size_t n)
{
    size_t i;

    for (i = 0; i < text->nest->n_steps && !(step_of(text, i)->kind == MDF_NEST_FOLD && nest_plan_is_total(text->plan, i)); i++) {
    }
    return i < text->nest->n_steps && text->n_loops > 0 && n % 4 != 0;
}

/* A loop of n runs within which there is no other: compilers need not ask whether what it stores is read by another run, as of a
 * nest none is; of many arrays that may lie anywhere they would give up. */
void nest_text_open_innermost(struct nest_text *text, bool is_independent, size_t n, const char *head)
{
    const char *mark = "";

    if (is_independent && !text->plan->looks_up_by_truth) {
        bool is_short = n <= MOST_WRITTEN_OUT && !is_of_totals(text, n);

        mdf_source_use(text->writer, is_short ? "short" : "independent");
        mark = is_short ? "MDF_SHORT " : "MDF_INDEPENDENT ";
    }
    nest_text_open_block(text, mdf_source_text(text->writer, "%s%s", mark, head));
}

/* Opens a row in blocks; false: it is gone through as it is. */
static bool open_blocks(struct nest_text *text, size_t axis)
{
    size_t block = nest_text_block_of_row(text, axis);

    if (block < text->nest->extents[axis]) {
        nest_text_open_blocks_of_row(text, axis, block);
    }
    return block < text->nest->extents[axis];
}

/* In a loop over the vector axis, or out of it, as a step wants. */
void nest_text_enter(struct nest_text *text, size_t step)
{
    size_t vector = text->plan->vector;

    if (text->is_several) {
        return;
    }
    if (!nest_plan_is_vector(text->plan, step)) {
        nest_text_close_group(text);
    } else if (!text->is_group) {
        const char *index = text->axes[vector].index;
        const char *end = text->nest->extents[vector] <= text->plan->tile ? nest_text_extent(text, vector)
                          : is_even(text, vector, text->plan->tile)       ? mdf_source_text(text->writer, "%zu", text->plan->tile)
                                                                          : text->axes[vector].end;

        nest_text_name_fixed_places(text, step);
        if (text->nest->extents[vector] > text->plan->tile || !open_blocks(text, vector)) {
            nest_text_open_innermost(
                text, true, text->nest->extents[vector],
                mdf_source_text(text->writer, "for (size_t %s = 0; %s < %s; %s++)", index, index, end, index));
        }
        text->is_group = true;
    }
}

void nest_text_leave(struct nest_text *text, const struct nest_event *opens)
{
    for (size_t i = 0; i < text->nest->n_steps; i++) {
        bool is_kept_here = text->registers[i].array != NULL && text->registers[i].name != NULL;

        if (is_kept_here || (step_of(text, i)->kind == MDF_NEST_LOAD && step_of(text, i)->view.at != MDF_NEST_NONE)) {
            nest_text_close_group(text);
            return;
        }
    }
    for (; opens->kind != NEST_CLOSE; opens++) {
        if (opens->kind == NEST_COMPUTE) {
            text->registers[opens->index].name = NULL;
        }
    }
}

static void open_tile(struct nest_text *text)
{
    size_t vector = text->plan->vector;

    nest_text_close_group(text);
    text->opens[text->n_loops] = NULL;
    text->outside[text->n_loops++] = text->n_blocks;
    nest_text_open_pieces(text, vector, text->plan->tile, mdf_source_text(text->writer, "%zu", text->plan->tile),
                          mdf_source_text(text->writer, "%s - %s", nest_text_extent(text, vector), text->axes[vector].block));
}

void nest_text_find_depths(const struct nest_text *text, const struct nest_event *opens, uint8_t folds[MDF_NEST_MOST_STEPS + 1])
{
    const struct nest_event *event = opens;
    size_t n = 0;

    while (event > text->plan->events && event[-1].kind == NEST_BEGIN) {
        event--;
        if (has_depths(text, event->index)) {
            folds[n++] = event->index;
        }
    }
    folds[n] = MDF_NEST_NONE;
}

/* The total of a block, and that of all so far. */
static const char *block_total(struct nest_text *text, size_t step, const char *variable)
{
    return nest_plan_is_vector(text->plan, step)
               ? mdf_source_text(text->writer, "%s[%s]", variable, text->axes[text->plan->vector].index)
               : variable;
}

/* Within a loop over the blocks of an axis. */
static void begin_blocks(struct nest_text *text, const uint8_t *folds)
{
    for (; *folds != MDF_NEST_NONE; folds++) {
        nest_text_enter(text, *folds);
        mdf_source_line(text->writer, "%s = 0;", block_total(text, *folds, text->registers[*folds].part));
    }
    nest_text_close_group(text);
}

static void end_blocks(struct nest_text *text, const uint8_t *folds)
{
    for (; *folds != MDF_NEST_NONE; folds++) {
        const char *total;

        nest_text_enter(text, *folds);
        total = block_total(text, *folds, text->registers[*folds].total);
        mdf_source_line(text->writer, "%s = %s + %s;", total, block_total(text, *folds, text->registers[*folds].part), total);
    }
    nest_text_close_group(text);
}

/* Whether no run of a loop over an axis reads what another one writes: it holds no other loop, and an element of a total that
 * lies in memory takes what one run makes. */
bool nest_text_is_independent(const struct nest_text *text, const struct nest_event *opens)
{
    const struct nest_event *event;
    bool writes = false;

    for (event = opens + 1; event->kind != NEST_CLOSE; event++) {
        const struct mdf_nest_step *step = step_of(text, event->index);

        if (event->kind == NEST_OPEN || event->kind == NEST_TILE) {
            return false;
        }
        if (event->kind == NEST_TAKE && (has_lanes(text, event->index) || has_row(text, event->index))) {
            if (step->level != opens->index || (has_lanes(text, event->index) && text->lanes[opens->index] != step->lanes &&
                                                text->nest->extents[opens->index] > step->lanes)) {
                return false;
            }
            writes = true;
        }
        writes = writes || event->kind == NEST_KEEP || (event->kind == NEST_COMPUTE && step->kind == MDF_NEST_STORE);
    }
    return writes && text->plan->vector == text->nest->n_axes;
}

void nest_text_open(struct nest_text *text, const struct nest_event *event, size_t step)
{
    uint8_t depths[MDF_NEST_MOST_STEPS + 1];
    struct mdf_source_writer *writer = text->writer;
    size_t axis = event->index, n = text->nest->extents[axis];
    const char *index = text->axes[axis].index, *block = text->axes[axis].block, *end, *count, *begin;
    const char *next = step == 1 ? mdf_source_text(writer, "%s++", index) : mdf_source_text(writer, "%s += %zu", index, step);

    nest_text_close_group(text);
    text->opens[text->n_loops] = event;
    text->outside[text->n_loops++] = text->n_blocks;
    nest_text_find_depths(text, event, depths);
    text->lanes[axis] = depths[0] == MDF_NEST_NONE ? nest_text_lanes_of(text, event) : 1;
    count = step == 1                  ? nest_text_extent(text, axis)
            : is_open_axis(text, axis) ? mdf_source_text(writer, "%s - %s %% %zu", text->count, text->count, step)
                                       : mdf_source_text(writer, "%zu", n - n % step);
    begin = text->rest_of > 0 ? mdf_source_text(writer, "%s - %s %% %zu", count, count, text->rest_of) : "0";
    if (depths[0] != MDF_NEST_NONE) {
        end = mdf_source_text(writer, "%s + %d", block, (int)MDF_NEST_DEPTH);
        nest_text_open_pieces(text, axis, MDF_NEST_DEPTH, end, count);
        begin_blocks(text, depths);
        end = is_even(text, axis, MDF_NEST_DEPTH) ? end : text->axes[axis].end;
        nest_text_open_block(text, mdf_source_text(writer, "for (size_t %s = %s; %s < %s; %s)", index, block, index, end, next));
        return;
    }
    if (text->lanes[axis] == 1 && step == 1 && nest_text_is_independent(text, event) && open_blocks(text, axis)) {
        return;
    }
    if (text->lanes[axis] == 1) {
        nest_text_open_innermost(text, nest_text_is_independent(text, event), n / step,
                                 mdf_source_text(writer, "for (size_t %s = %s; %s < %s; %s)", index, begin, index, count, next));
        return;
    }
    nest_text_open_lanes(text, event);
}

void nest_text_close(struct nest_text *text)
{
    size_t outside = text->outside[--text->n_loops];
    uint8_t depths[MDF_NEST_MOST_STEPS + 1] = {MDF_NEST_NONE};

    nest_text_close_group(text);
    if (text->opens[text->n_loops] != NULL) {
        size_t axis = text->opens[text->n_loops]->index;

        nest_text_find_depths(text, text->opens[text->n_loops], depths);
        text->axes[axis].index = text->axes[axis].variable;
    }
    if (depths[0] != MDF_NEST_NONE) {
        nest_text_close_block(text);
        end_blocks(text, depths);
    }
    while (text->n_blocks > outside) {
        nest_text_close_block(text);
    }
}

enum { FEWEST_ALONG = 16 }; /* elements of a row that compilers make vectors of */

/* A truth in memory as one that compares. */
static const char *compared(struct nest_text *text, const char *element)
{
    return mdf_source_text(text->writer, "(*(const unsigned char *)&%s != 0)", element);
}

/* Whether a step within another's axes chooses by it, or joins it with other truths. */
static bool is_truth_within(const struct nest_text *text, size_t step)
{
    for (size_t i = step + 1; i < text->nest->n_steps; i++) {
        const struct mdf_nest_step *user = step_of(text, i);

        if (user->kind == MDF_NEST_ELEMENT && user->level > step_of(text, step)->level &&
            memchr(user->in, (int)step, user->n_in) != NULL) {
            return true;
        }
    }
    return false;
}

/* Whether a load is an element of an array of truths that others are joined with, or one that is the same for a whole row.
 * Compilers make vectors of such that compare something, not of a bool and what compares, and not of what a bool chooses: along a
 * row that is long enough, and in front of rows, it is loaded as a byte that is not 0. */
static bool is_joined_truth(const struct nest_text *text, size_t step)
{
    size_t level = step_of(text, step)->level, i;

    if (step_of(text, step)->dtype != MDF_DTYPE_BOOL || is_truth_within(text, step)) {
        return step_of(text, step)->dtype == MDF_DTYPE_BOOL;
    }
    if (level == 0 || text->nest->extents[level - 1] < FEWEST_ALONG ||
        text->writer->lowered->values[step_of(text, step)->view.id].is_scalar) {
        return false;
    }
    for (i = step + 1; i < text->nest->n_steps; i++) {
        const struct mdf_nest_step *user = step_of(text, i);

        if (user->kind == MDF_NEST_ELEMENT && user->operand_dtype == MDF_DTYPE_BOOL && user->n_in == 2 &&
            memchr(user->in, (int)step, user->n_in) != NULL) {
            return true;
        }
    }
    return false;
}

static bool is_literal(const char *element)
{
    return strcmp(element, "true") == 0 || strcmp(element, "false") == 0;
}

static const char *loaded(struct nest_text *text, size_t step)
{
    const char *element = nest_text_viewed(text, step);

    return is_joined_truth(text, step) && !is_literal(element) ? compared(text, element) : element;
}

/* Whether a load is written where it is used: at its level, in one place; along the vector axis in each loop that uses it, which
 * of a nest that turns what it loads is the only one. */
bool nest_text_is_inlined(const struct nest_text *text, size_t step)
{
    if (text->plan->is_turned && nest_plan_is_vector(text->plan, step)) {
        return text->plan->n_uses[step] == 1;
    }
    if (text->writer->lowered->values[step_of(text, step)->view.id].is_scalar || nest_plan_is_vector(text->plan, step)) {
        return text->plan->n_uses[step] > 0;
    }
    for (size_t i = step + 1; i < text->nest->n_steps; i++) {
        const struct mdf_nest_step *user = step_of(text, i);

        if (text->plan->n_uses[step] == 1 && mdf_nest_set_has(&text->plan->steps, i) &&
            user->level == step_of(text, step)->level && memchr(user->in, (int)step, user->n_in) != NULL) {
            return true;
        }
    }
    return false;
}

/* What a register is called here. */
const char *nest_text_operand(struct nest_text *text, size_t step)
{
    const struct nest_register *own = &text->registers[step];

    if (own->name != NULL) {
        return own->name;
    }
    if (step_of(text, step)->kind == MDF_NEST_LOAD && nest_text_is_inlined(text, step)) {
        return loaded(text, step);
    }
    if (own->total != NULL && nest_plan_is_vector(text->plan, step) && text->plan->kept[step] == MDF_NEST_NONE) {
        return mdf_source_text(text->writer, "%s[%s]", own->total, text->axes[text->plan->vector].index);
    }
    return step_of(text, step)->dtype == MDF_DTYPE_BOOL && nest_plan_is_vector(text->plan, step) &&
                   tile_length(text) >= FEWEST_ALONG
               ? compared(text, nest_text_kept(text, step))
               : nest_text_kept(text, step);
}

/* ------------------------------------------------------------------ steps */

/* What a register is called, for readers: as the value that it is stored in, or loaded from. */
static const char *hint_of(const struct nest_text *text, size_t step)
{
    if (step_of(text, step)->kind == MDF_NEST_LOAD) {
        return mdf_source_hint(text->writer, step_of(text, step)->view.id);
    }
    for (size_t i = step + 1; i < text->nest->n_steps; i++) {
        if (step_of(text, i)->kind == MDF_NEST_STORE && step_of(text, i)->in[0] == step) {
            const char *name = text->writer->lowered->values[step_of(text, i)->view.id].name;

            return name != NULL && name[0] != '\0' ? name : "t";
        }
    }
    return "t";
}

/* A variable for a register, in the block that is open. */
const char *nest_text_name(struct nest_text *text, size_t step, const char *hint)
{
    struct nest_register *own = &text->registers[step];

    own->name = mdf_source_name(text->writer, &text->writer->locals, hint);
    own->block = text->n_blocks;
    return own->name;
}

/* Whether a step chooses an extreme for each element of a row. */
static bool is_extreme_in_row(const struct mdf_nest_step *step)
{
    return step->kind == MDF_NEST_ELEMENT && step->level > 0 &&
           mdf_source_extreme(step->operator, step->settings) != MDF_SOURCE_NO_EXTREME;
}

/* Whether it is one of several of them. */
static bool is_in_succession(const struct nest_text *text, size_t step)
{
    size_t n = 0;

    if (!is_extreme_in_row(step_of(text, step))) {
        return false;
    }
    for (size_t i = 0; i < text->nest->n_steps; i++) {
        n += is_extreme_in_row(step_of(text, i));
    }
    return n > 1;
}

static bool express(struct nest_text *text, size_t step, const char *const operands[], struct mdf_source_expression *expression)
{
    const struct mdf_nest_step *own = step_of(text, step);
    struct mdf_lowered_op op = {.code = own->code,
                                .dtype = own->operand_dtype,
                                .n_in = own->n_in,
                                .out = MDF_LOWERED_NONE,
                                .loop = own->loop,
                                .loop_settings = own->loop_settings,
                                .operator= own->operator,
                                .settings = own->settings };
    bool done;

    for (size_t i = 0; i < MDF_MAX_OPERANDS; i++) {
        const struct mdf_nest_step *from = i < own->n_in ? step_of(text, own->in[i]) : NULL;

        op.in[i] = from != NULL && from->kind == MDF_NEST_LOAD ? from->view.id : MDF_LOWERED_NONE;
    }
    text->writer->origin = own->origin != NULL ? own->origin : text->writer->origin;
    text->writer->is_in_succession = is_in_succession(text, step);
    done = mdf_source_express(text->writer, &op, (mdf_dtype)own->dtype, operands, expression);
    text->writer->is_in_succession = false;
    return done;
}

/* The only step that uses a register, where it is a STORE at the same level, into one array. */
static size_t only_store(const struct nest_text *text, size_t step)
{
    for (size_t i = step + 1; i < text->nest->n_steps && text->plan->n_uses[step] == 1; i++) {
        if (step_of(text, i)->kind == MDF_NEST_STORE && step_of(text, i)->in[0] == step &&
            mdf_nest_set_has(&text->plan->steps, i) && text->writer->values[step_of(text, i)->view.id].copy == NULL) {
            return i;
        }
    }
    return MDF_NEST_NONE;
}

static void write_store(struct nest_text *text, size_t step, const char *element)
{
    struct mdf_source_value *value = &text->writer->values[step_of(text, step)->view.id];
    const char *name = value->name;

    mdf_source_line(text->writer, "%s = %s;", nest_text_viewed(text, step), element);
    if (value->copy != NULL) {
        value->name = value->copy;
        mdf_source_line(text->writer, "%s = %s;", nest_text_viewed(text, step), element);
        value->name = name;
    }
}

static bool write_element(struct nest_text *text, size_t step)
{
    const struct mdf_nest_step *own = step_of(text, step);
    const char *operands[MDF_MAX_OPERANDS] = {"", "", ""};
    struct mdf_source_expression expression = {.text = nest_text_sum_of_product(text, step)};
    size_t store = only_store(text, step), i;

    for (i = 0; i < own->n_in; i++) {
        operands[i] = nest_text_operand(text, own->in[i]);
    }
    if (expression.text == NULL && !express(text, step, operands, &expression)) {
        return false;
    }
    if (store != MDF_NEST_NONE && expression.refused == NULL && expression.checked == NULL && expression.unwanted == NULL) {
        write_store(text, store, expression.text);
        text->registers[step].is_stored = true;
        return true;
    }
    mdf_source_define(text->writer, (mdf_dtype)own->dtype, nest_text_name(text, step, hint_of(text, step)), &expression, true);
    return true;
}

/* Whether it is a product that is added as it is multiplied. */
static bool is_fused(const struct nest_text *text, size_t step)
{
    for (size_t i = step + 1; i < text->nest->n_steps; i++) {
        if (step_of(text, i)->is_fused && step_of(text, i)->in[0] == step) {
            return true;
        }
    }
    return false;
}

bool nest_text_compute(struct nest_text *text, size_t step)
{
    const struct mdf_nest_step *own = step_of(text, step);

    if ((own->kind == MDF_NEST_LOAD && nest_text_is_inlined(text, step)) || is_fused(text, step)) {
        return true;
    }
    nest_text_enter(text, step);
    if (own->kind == MDF_NEST_STORE) {
        if (!text->registers[own->in[0]].is_stored) {
            write_store(text, step, nest_text_operand(text, own->in[0]));
        }
        return true;
    }
    if (own->kind == MDF_NEST_LOAD) {
        const char *element = loaded(text, step);

        mdf_source_line(text->writer, "const %s %s = %s;", type_of(text, step), nest_text_name(text, step, hint_of(text, step)),
                        element);
    } else if (!write_element(text, step)) {
        return false;
    }
    if (text->plan->n_uses[step] == 0) { /* it is only of interest whether it is refused */
        mdf_source_line(text->writer, "(void)%s;", text->registers[step].name);
    }
    return true;
}

static void keep(struct nest_text *text, size_t step)
{
    struct nest_register *own = &text->registers[step];
    const char *element;
    size_t n = 1;

    nest_text_enter(text, step);
    for (size_t axis = 0; axis < step_of(text, step)->level; axis++) {
        n *= nest_text_is_axis_kept(text, step, axis) ? nest_text_kept_extent(text, axis) : 1;
    }
    if (own->array == NULL) {
        own->array = mdf_source_buffer(text->writer, (mdf_dtype)step_of(text, step)->dtype, n, hint_of(text, step));
    }
    element =
        own->name != NULL ? own->name : mdf_source_text(text->writer, "%s[%s]", own->total, text->axes[text->plan->vector].index);
    mdf_source_line(text->writer, "%s = %s;", nest_text_kept(text, step), element);
}

static bool compute(struct nest_text *text, const struct nest_event *event)
{
    if (!nest_text_compute(text, event->index)) {
        return false;
    }
    if (step_of(text, event->index)->kind != MDF_NEST_STORE) {
        nest_text_name_places(text, event);
    }
    return true;
}

/* ------------------------------------------------------------------ the nest */

bool nest_text_write_event(struct nest_text *text, const struct nest_event *event)
{
    switch ((enum nest_event_kind)event->kind) {
    case NEST_TILE:
        open_tile(text);
        break;
    case NEST_OPEN:
        nest_text_open(text, event, 1);
        break;
    case NEST_CLOSE:
        nest_text_close(text);
        break;
    case NEST_COMPUTE:
        return compute(text, event);
    case NEST_KEEP:
        keep(text, event->index);
        break;
    case NEST_BEGIN:
        nest_text_begin(text, event->index);
        break;
    case NEST_TAKE:
        nest_text_take(text, event->index);
        break;
    case NEST_END:
        nest_text_end(text, event->index);
        break;
    }
    return true;
}

/* Gives what is stored its place, and finds out whether an element can be refused. */
static bool prepare(struct nest_text *text)
{
    static const char *const operands[MDF_MAX_OPERANDS] = {"a", "b", "c"};
    struct mdf_source_expression expression;

    for (size_t i = 0; i < text->nest->n_steps; i++) {
        const struct mdf_nest_step *step = step_of(text, i);

        if (!mdf_nest_set_has(&text->plan->steps, i)) {
            continue;
        }
        if (type_of(text, i) == NULL) {
            return mdf_source_refuse(text->writer, "elements of type %s", mdf_dtype_name((mdf_dtype)step->dtype));
        }
        if (step->kind == MDF_NEST_STORE) {
            mdf_source_declare_result(text->writer, step->view.id);
        } else if (step->kind == MDF_NEST_LOAD && step->view.at != MDF_NEST_NONE) {
            text->why_beyond =
                step->view.cuts ? "a slice is longer or shorter than when the model was compiled" : "an index is out of range";
        } else if (step->kind == MDF_NEST_ELEMENT) {
            if (!express(text, i, operands, &expression)) {
                return false;
            }
            text->why = expression.refused != NULL || expression.checked != NULL ? expression.why : text->why;
        }
    }
    return true;
}

/* Variables of the axes: their names are free again behind the nest. The first one is "i", which is reserved for that. */
static void name_axes(struct nest_text *text)
{
    static const char *const letters[MDF_NEST_MOST_AXES] = {"i", "j", "k", "l", "m", "n", "o", "p"};
    struct mdf_source_writer *writer = text->writer;
    struct mdf_source_names *names = &writer->locals;

    for (size_t axis = 0; axis < text->nest->n_axes; axis++) {
        const char *index = axis == 0 ? letters[0] : mdf_source_name(writer, names, letters[axis]);

        text->axes[axis].index = index;
        text->axes[axis].variable = index;
        text->axes[axis].block = mdf_source_name(writer, names, mdf_source_text(writer, "%s_block", index));
        text->axes[axis].end = mdf_source_name(writer, names, mdf_source_text(writer, "%s_end", index));
        text->axes[axis].lane = mdf_source_name(writer, names, mdf_source_text(writer, "%s_lane", index));
    }
}

static void free_axes(struct nest_text *text)
{
    struct mdf_source_names *names = &text->writer->locals;

    for (size_t axis = 0; axis < text->nest->n_axes; axis++) {
        mdf_source_free_name(text->writer, names, text->axes[axis].index);
        mdf_source_free_name(text->writer, names, text->axes[axis].block);
        mdf_source_free_name(text->writer, names, text->axes[axis].end);
        mdf_source_free_name(text->writer, names, text->axes[axis].lane);
    }
}

/* A whole loop, where it has a form of its own: what closes it, or NULL where it could not be written. False: it has none. */
static bool write_loop(struct nest_text *text, const struct nest_event *opens, const struct nest_event **end)
{
    static const struct {
        const struct nest_event *(*find_end)(const struct nest_text *text, const struct nest_event *opens);
        bool (*write)(struct nest_text *text, const struct nest_event *opens);
    } forms[] = {{nest_text_end_of_pairs, nest_text_write_pairs},
                 {nest_text_end_of_several, nest_text_write_several},
                 {nest_text_end_of_few, nest_text_write_few},
                 {nest_text_end_of_neighbours, nest_text_write_neighbours}};

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        *end = forms[i].find_end(text, opens);
        if (*end != NULL) {
            *end = forms[i].write(text, opens) ? *end : NULL;
            return true;
        }
    }
    return false;
}

/* All that is planned, between what it may be refused for. */
static bool write_events(struct nest_text *text)
{
    const struct nest_plan *plan = text->plan;
    bool done = true;

    for (size_t i = 0; done && i < plan->n_events; i++) {
        const struct nest_event *event = &plan->events[i];
        const struct nest_event *again = event->kind == NEST_CLOSE ? nest_text_rest_of_lanes(text) : NULL, *end = NULL;

        text->event = event;
        done = event->kind == NEST_OPEN && write_loop(text, event, &end) ? end != NULL : nest_text_write_event(text, event);
        i = end != NULL ? (size_t)(end - plan->events) : again != NULL ? (size_t)(again - plan->events) - 1 : i;
    }
    nest_text_close_group(text);
    return done;
}

/* Whether a step computes elements of a loop by a function that has a near one, which compilers make vectors of. */
static bool has_near(struct nest_text *text)
{
    static const char *const operands[MDF_MAX_OPERANDS] = {"a", "b", "c"};
    struct mdf_source_expression expression;
    bool found = false;

    text->writer->is_near = true;
    for (size_t i = 0; !found && i < text->nest->n_steps; i++) {
        const struct mdf_nest_step *step = step_of(text, i);

        found = step->kind == MDF_NEST_ELEMENT && step->level > 0 && mdf_nest_set_has(&text->plan->steps, i) &&
                express(text, i, operands, &expression) && expression.text != NULL && strstr(expression.text, "&far") != NULL;
    }
    text->writer->is_near = false;
    return found;
}

/* The nest twice where functions of C's library would keep compilers from making vectors: without them, and, where some element
 * needs one, once more. */
static bool write_near(struct nest_text *text)
{
    struct mdf_source_writer *writer = text->writer;
    struct nest_text again = *text;
    const char *old[MDF_NEST_MOST_STEPS];
    bool done;

    if (!nest_text_may_repeat(text) || !has_near(text)) {
        return write_events(text);
    }
    mdf_source_open(writer, "%s", "");
    mdf_source_line(writer, "uint32_t far = 0;");
    mdf_source_blank(writer);
    nest_text_keep_old(text, old);
    writer->is_near = true;
    done = write_events(text);
    writer->is_near = false;
    mdf_source_open(writer, "if (far != 0)");
    nest_text_restore_old(text, old);
    done = done && write_events(&again);
    mdf_source_close(writer);
    mdf_source_close(writer);
    return done;
}

bool nest_text_write(struct nest_text *text)
{
    struct mdf_source_writer *writer = text->writer;
    bool done;

    if (!prepare(text)) {
        return false;
    }
    name_axes(text);
    if (text->why != NULL || text->why_beyond != NULL) {
        mdf_source_open(writer, "%s", "");
        if (text->why != NULL) {
            mdf_source_line(writer, "bool refused = false;");
        }
        if (text->why_beyond != NULL) {
            mdf_source_line(writer, "uint64_t beyond = 0;");
        }
        mdf_source_blank(writer);
    }
    done = write_near(text);
    if (text->why_beyond != NULL) {
        mdf_source_bail_out_if(writer, "beyond != 0", text->why_beyond);
    }
    if (text->why != NULL) {
        mdf_source_bail_out_if(writer, "refused", text->why);
    }
    if (text->why != NULL || text->why_beyond != NULL) {
        mdf_source_close(writer);
    }
    free_axes(text);
    return done;
}
