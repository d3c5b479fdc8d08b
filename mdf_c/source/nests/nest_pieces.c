/* nest_pieces.c - see nest_pieces.h. */
#include "mdf_c/source/nests/nest_pieces.h"

#include <string.h>

enum {
    FEWEST_INDICES = 32,
    MOST_STEPS = 64,
    MOST_DEEP = 4,    /* sums and differences that make a line */
    MOST_NUMBERS = 8, /* that these are made with */
    LARGEST_BITS = 40 /* of such a number: what is made of a few can not wrap */
};

/* The difference of a line and a number is at least `least` on one side of a cut. */
struct cut {
    uint8_t line; /* its number */
    int least;    /* 0 or 1 */
    const char *number;
};

/* What a step comes to on either side of a cut: a truth, or one of its operands. */
struct use {
    uint8_t cut; /* its number; MDF_NEST_NONE: of none */
    bool is_choice, is_below;
    uint8_t chosen[2]; /* of a choice: the register where the difference is less, and where it is at least so much */
    uint8_t operand;   /* that has to be the line there for it to be so, as it is on some side of other cuts */
};

struct search {
    struct mdf_source_writer *writer;
    const struct mdf_lowered_nest *nest;
    struct nest_pieces *pieces;
    struct cut cuts[NEST_MOST_CUTS];
    size_t n_cuts;
    const char *numbers[MOST_NUMBERS];
    size_t n_numbers;
    struct use uses[MOST_STEPS];
    const char *small; /* a truth of C: none of the numbers is too large */
};

/* ------------------------------------------------------------------ lines */

static bool is_small(int64_t number)
{
    return number <= INT64_C(1) << LARGEST_BITS && number >= -(INT64_C(1) << LARGEST_BITS);
}

/* A number that is loaded: its text, which is noted as one that must not be too large where it is no constant; NULL: it is none.
 */
static const char *number_of(struct search *search, uint8_t step)
{
    const struct mdf_nest_step *load = &search->nest->steps[step];
    const int64_t *element;
    const char *text;
    size_t i;

    if (load->kind != MDF_NEST_LOAD || load->dtype != MDF_DTYPE_INT64 || load->view.at != MDF_NEST_NONE) {
        return NULL;
    }
    for (size_t axis = 0; axis < search->nest->n_axes; axis++) {
        if (load->view.strides[axis] != 0) {
            return NULL;
        }
    }
    element = mdf_source_constant_element(search->writer, load->view.id);
    text =
        mdf_source_element(search->writer, load->view.id, mdf_source_text(search->writer, "%lld", (long long)load->view.first));
    if (element != NULL) {
        return is_small(*element) ? text : NULL;
    }
    for (i = 0; i < search->n_numbers && strcmp(search->numbers[i], text) != 0; i++) {
    }
    if (i == MOST_NUMBERS) {
        return NULL;
    }
    search->n_numbers += i == search->n_numbers;
    search->numbers[i] = text;
    return text;
}

/* The slope of constants that a step loads along the axis alone, and the first of them; 0: there is none. */
static int constant_slope(const struct search *search, const struct mdf_nest_step *load, int64_t *first)
{
    const struct mdf_lowered_value *value = &search->writer->lowered->values[load->view.id];
    size_t axis = search->pieces->axis, n = search->nest->extents[axis], i;
    const int64_t *elements = value->form.data;
    int64_t stride = load->view.strides[axis], slope;

    for (i = 0; i < search->nest->n_axes; i++) {
        if ((load->view.strides[i] != 0) != (i == axis)) {
            return 0;
        }
    }
    if (load->dtype != MDF_DTYPE_INT64 || load->view.at != MDF_NEST_NONE || value->place != MDF_LOWERED_CONSTANT ||
        value->is_scalar) {
        return 0;
    }
    elements += load->view.first;
    *first = elements[0];
    if (!is_small(*first)) {
        return 0;
    }
    slope = elements[stride] == *first + 1 ? 1 : -1;
    for (i = 1; i < n && elements[(int64_t)i * stride] == *first + slope * (int64_t)i; i++) {
    }
    return i == n ? (int)slope : 0;
}

/* The slope of a register along the axis, and a text of what it is at index 0; 0: it is no line. */
static int follow(struct search *search, uint8_t step, size_t most_deep, const char **begin)
{
    const struct mdf_nest_step *own = &search->nest->steps[step];
    const char *row = NULL, *number;
    int64_t first;
    int slope = 0, k;

    if (own->kind == MDF_NEST_LOAD && (slope = constant_slope(search, own, &first)) != 0) {
        *begin = mdf_source_text(search->writer, "INT64_C(%lld)", (long long)first);
        return slope;
    }
    if (most_deep == 0 || own->kind != MDF_NEST_ELEMENT || own->operand_dtype != MDF_DTYPE_INT64 ||
        (own->code != MDF_LOWERED_ADD && own->code != MDF_LOWERED_SUBTRACT)) {
        return 0;
    }
    for (k = 0; k < 2 && slope == 0; k++) {
        slope = follow(search, own->in[k], most_deep - 1, &row);
    }
    number = slope != 0 ? number_of(search, own->in[2 - k]) : NULL;
    if (number == NULL) {
        return 0;
    }
    *begin = k == 1 ? mdf_source_text(search->writer, "%s %s %s", row, own->code == MDF_LOWERED_ADD ? "+" : "-", number)
             : own->code == MDF_LOWERED_ADD ? mdf_source_text(search->writer, "%s + %s", row, number)
                                            : mdf_source_text(search->writer, "%s - (%s)", number, row);
    return k == 2 && own->code == MDF_LOWERED_SUBTRACT ? -slope : slope;
}

/* The number of a line; MDF_NEST_NONE: the register is none. */
static uint8_t line_of(struct search *search, uint8_t step)
{
    struct nest_pieces *pieces = search->pieces;
    struct nest_line line = {.step = step};
    size_t i;

    for (i = 0; i < pieces->n_lines; i++) {
        if (pieces->lines[i].step == step) {
            return (uint8_t)i;
        }
    }
    line.slope = i < NEST_MOST_LINES ? (int8_t)follow(search, step, MOST_DEEP, &line.begin) : 0;
    if (line.slope == 0) {
        return MDF_NEST_NONE;
    }
    pieces->lines[pieces->n_lines++] = line;
    return (uint8_t)i;
}

/* ------------------------------------------------------------------ cuts */

/* What a register comes to in a piece, where `sides` tells of each cut on which side it is. */
static uint8_t resolved(const struct search *search, const bool *sides, uint8_t step)
{
    const struct use *use = &search->uses[step];

    while (use->cut != MDF_NEST_NONE && use->is_choice &&
           resolved(search, sides, use->operand) == search->pieces->lines[search->cuts[use->cut].line].step) {
        step = use->chosen[sides[use->cut]];
        use = &search->uses[step];
    }
    return step;
}

/* The line that a register is on some side of the cuts so far. */
static uint8_t line_on_a_side(struct search *search, uint8_t step)
{
    for (size_t k = 0; k < NEST_MOST_PIECES; k++) {
        bool sides[NEST_MOST_CUTS] = {(k & 1) != 0, (k & 2) != 0};
        uint8_t line = line_of(search, resolved(search, sides, step));

        if (line != MDF_NEST_NONE) {
            return line;
        }
    }
    return MDF_NEST_NONE;
}

/* The number of a cut; any: with whatever `least` there is one of that line and number. MDF_NEST_NONE: there are too many. */
static uint8_t cut_of(struct search *search, struct cut cut, bool any)
{
    size_t i;

    for (i = 0; i < search->n_cuts; i++) {
        const struct cut *other = &search->cuts[i];

        if (other->line == cut.line && strcmp(other->number, cut.number) == 0 && (any || other->least == cut.least)) {
            return (uint8_t)i;
        }
    }
    if (i == NEST_MOST_CUTS) {
        return MDF_NEST_NONE;
    }
    search->cuts[search->n_cuts++] = cut;
    return (uint8_t)i;
}

/* Finds a line and a number among two operands: which of them is the line; 2: there are none. */
static size_t find_line(struct search *search, const uint8_t *in, struct cut *cut)
{
    for (size_t k = 0; k < 2; k++) {
        cut->line = line_on_a_side(search, in[k]);
        cut->number = cut->line != MDF_NEST_NONE ? number_of(search, in[1 - k]) : NULL;
        if (cut->number != NULL) {
            return k;
        }
    }
    return 2;
}

/* A comparison of a line with a number. */
static void find_comparison(struct search *search, size_t i)
{
    const struct mdf_nest_step *step = &search->nest->steps[i];
    struct cut cut;
    size_t k = find_line(search, step->in, &cut);
    bool is_more = step->code == MDF_LOWERED_GREATER || step->code == MDF_LOWERED_GREATER_EQUAL,
         has_equal = step->code == MDF_LOWERED_GREATER_EQUAL || step->code == MDF_LOWERED_LESS_EQUAL;

    if (k == 2) {
        return;
    }
    is_more = k == 0 ? is_more : !is_more;
    cut.least = is_more != has_equal; /* d > 0, d <= 0: where d >= 1, or is not; d >= 0, d < 0: where d >= 0, or is not */
    search->uses[i] = (struct use){.cut = cut_of(search, cut, false), .is_below = !is_more, .operand = step->in[k]};
}

static bool is_in_store(const struct search *search, size_t i)
{
    for (size_t k = i + 1; k < search->nest->n_steps; k++) {
        if (search->nest->steps[k].kind != MDF_NEST_ELEMENT && search->nest->steps[k].n_in > 0 &&
            memchr(search->nest->steps[k].in, (int)i, search->nest->steps[k].n_in) != NULL) {
            return true;
        }
    }
    return false;
}

/* The larger or the smaller one of a line and a number. */
static void find_extreme(struct search *search, size_t i, bool is_larger)
{
    const struct mdf_nest_step *step = &search->nest->steps[i];
    struct cut cut = {.least = 1};
    size_t k = find_line(search, step->in, &cut);
    uint8_t line, number;

    if (k == 2 || is_in_store(search, i)) { /* what is stored has the level of its store */
        return;
    }
    line = step->in[k];
    number = step->in[1 - k];
    search->uses[i] = (struct use){.cut = cut_of(search, cut, true),
                                   .is_choice = true,
                                   .chosen = {is_larger ? number : line, is_larger ? line : number},
                                   .operand = line};
}

/* A choice by a comparison. */
static void find_choice(struct search *search, size_t i)
{
    const struct mdf_nest_step *step = &search->nest->steps[i];
    const struct use *test = &search->uses[step->in[0]];
    bool is_below = test->is_below;

    if (test->cut != MDF_NEST_NONE && !test->is_choice && !is_in_store(search, i)) {
        search->uses[i] = (struct use){.cut = test->cut,
                                       .is_choice = true,
                                       .chosen = {step->in[is_below ? 1 : 2], step->in[is_below ? 2 : 1]},
                                       .operand = test->operand};
    }
}

/* Finds what steps come to on either side of cuts. Comparisons come first, as extremes may go with their cuts. */
static void find_uses(struct search *search)
{
    const struct mdf_nest_step *steps = search->nest->steps;

    for (size_t i = 0; i < search->nest->n_steps; i++) {
        search->uses[i].cut = MDF_NEST_NONE;
        if (steps[i].kind == MDF_NEST_ELEMENT && steps[i].operand_dtype == MDF_DTYPE_INT64 && steps[i].code >= MDF_LOWERED_LESS &&
            steps[i].code <= MDF_LOWERED_GREATER_EQUAL) {
            find_comparison(search, i);
        }
    }
    for (size_t i = 0; i < search->nest->n_steps; i++) {
        enum mdf_source_extreme extreme =
            steps[i].kind == MDF_NEST_ELEMENT ? mdf_source_extreme(steps[i].operator, steps[i].settings) : MDF_SOURCE_NO_EXTREME;

        if (steps[i].kind == MDF_NEST_ELEMENT && steps[i].code == MDF_LOWERED_SELECT) {
            find_choice(search, i);
        } else if (extreme != MDF_SOURCE_NO_EXTREME && steps[i].n_in == 2 && steps[i].code == MDF_LOWERED_ELEMENTS &&
                   steps[i].operand_dtype == MDF_DTYPE_INT64 && steps[i].dtype == MDF_DTYPE_INT64) {
            find_extreme(search, i, extreme == MDF_SOURCE_LARGER);
        }
    }
}

/* ------------------------------------------------------------------ pieces */

/* What is computed of numbers now, and was of a line, is computed once. */
static void lower_level(const struct search *search, size_t i, struct mdf_nest_step *steps)
{
    uint8_t level = 0;

    if (steps[i].kind != MDF_NEST_ELEMENT || steps[i].n_in == 0 || is_in_store(search, i)) {
        return;
    }
    for (size_t k = 0; k < steps[i].n_in; k++) {
        level = steps[steps[i].in[k]].level > level ? steps[steps[i].in[k]].level : level;
    }
    steps[i].level = level;
}

/* The nest of a piece: choices are what they choose, and loads at places of a line go along it. */
static bool make_nest(struct search *search, const bool *sides, struct nest_piece *piece)
{
    const struct mdf_lowered_nest *nest = search->nest;
    struct mdf_nest_step *steps = mdf_arena_array(&search->writer->arena, nest->n_steps, sizeof *steps);
    size_t axis = search->pieces->axis;

    if (steps == NULL) {
        return mdf_source_out_of_memory(search->writer);
    }
    memset(piece->places, MDF_NEST_NONE, sizeof piece->places);
    piece->nest = *nest;
    piece->nest.steps = steps;
    piece->nest.is_open = true;
    piece->nest.open_axis = (uint8_t)axis;
    for (size_t i = 0; i < nest->n_steps; i++) {
        struct mdf_nest_view *view = &steps[i].view;
        uint8_t line;

        steps[i] = nest->steps[i];
        for (size_t k = 0; k < steps[i].n_in; k++) {
            steps[i].in[k] = resolved(search, sides, steps[i].in[k]);
        }
        lower_level(search, i, steps);
        if (steps[i].kind != MDF_NEST_LOAD || view->at == MDF_NEST_NONE) {
            continue;
        }
        view->at = resolved(search, sides, view->at);
        line = line_of(search, view->at);
        if (line != MDF_NEST_NONE) {
            piece->places[i] = line;
            view->at = MDF_NEST_NONE;
            view->strides[axis] += view->at_stride * search->pieces->lines[line].slope;
        }
    }
    return true;
}

/* Whether what is stored takes the place of something that the next piece might load, or is no array. */
static bool takes_place(const struct mdf_source_writer *writer, mdf_lowered_id id)
{
    const struct mdf_lowered_value *value = &writer->lowered->values[id];
    const struct mdf_source_value *own = &writer->values[id];

    return value->is_scalar || value->is_in_place || own->takes_input || own->is_made_there || own->copy != NULL;
}

/* Whether nothing of a nest keeps it from being done in pieces: what goes along the axis is loaded, computed, stored. */
static bool may_be_cut(const struct mdf_source_writer *writer, const struct mdf_lowered_nest *nest, size_t axis)
{
    if (nest->is_open || nest->n_steps > MOST_STEPS || nest->extents[axis] < FEWEST_INDICES || mdf_nest_is_folded(nest, axis)) {
        return false;
    }
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        if (step->kind == MDF_NEST_STORE && (step->view.strides[axis] == 0 || takes_place(writer, step->view.id))) {
            return false;
        }
    }
    return true;
}

/* Writes a variable of a number, and notes its name. */
static const char *write_number(struct mdf_source_writer *writer, const char *type, const char *hint, const char *text)
{
    const char *name = mdf_source_name(writer, &writer->locals, hint);

    mdf_source_line(writer, "const %s %s = %s;", type, name, text);
    return name;
}

/* Where the pieces on both sides of a cut meet, between two indices. */
static const char *write_cut(struct search *search, const struct cut *cut, const char *from, const char *to)
{
    struct mdf_source_writer *writer = search->writer;
    const struct nest_line *line = &search->pieces->lines[cut->line];
    const char *at = line->slope > 0 ? mdf_source_text(writer, "%s - %s + %d", cut->number, line->begin, cut->least)
                                     : mdf_source_text(writer, "%s - %s + %d", line->begin, cut->number, 1 - cut->least);
    const char *end = write_number(writer, "int64_t", "cut", mdf_source_text(writer, "%s ? %s : 0", search->small, at));

    return write_number(
        writer, "size_t", "end",
        mdf_source_text(writer, "%s < (int64_t)%s ? %s : %s > (int64_t)%s ? %s : (size_t)%s", end, from, from, end, to, to, end));
}

/* Whether the side of a cut follows from that of another one, of the same line and number. */
static bool is_known(const struct search *search, size_t i, bool *sides)
{
    for (size_t k = 0; k < i; k++) {
        const struct cut *cut = &search->cuts[i], *other = &search->cuts[k];

        if (cut->line == other->line && strcmp(cut->number, other->number) == 0 && sides[k] == (other->least > cut->least)) {
            sides[i] = sides[k];
            return true;
        }
    }
    return false;
}

/* Cuts what lies between two indices by the cuts from number `i` on; false: memory was refused. */
static bool cut_pieces(struct search *search, size_t i, bool *sides, const char *from, const char *to)
{
    struct nest_pieces *pieces = search->pieces;
    const char *end;
    bool first;

    if (i == search->n_cuts) {
        pieces->all[pieces->n].from = from;
        pieces->all[pieces->n].to = to;
        return make_nest(search, sides, &pieces->all[pieces->n++]);
    }
    if (is_known(search, i, sides)) {
        return cut_pieces(search, i + 1, sides, from, to);
    }
    end = write_cut(search, &search->cuts[i], from, to);
    first = pieces->lines[search->cuts[i].line].slope < 0;
    sides[i] = first;
    if (!cut_pieces(search, i + 1, sides, from, end)) {
        return false;
    }
    sides[i] = !first;
    return cut_pieces(search, i + 1, sides, end, to);
}

/* That the places of a load along a line are in range, from the front where it is live: nothing is loaded by others. */
static const char *in_range(struct search *search, const struct nest_piece *piece, size_t load, bool is_live)
{
    const struct nest_line *line = &search->pieces->lines[piece->places[load]];
    long long limit = (long long)piece->nest.steps[load].view.at_limit, below = is_live ? 0 : limit;
    const char *sign = line->slope > 0 ? "+" : "-";

    return mdf_source_text(
        search->writer,
        "(%s >= %s || ((uint64_t)(%s %s (int64_t)%s + %lld) < %lld && (uint64_t)(%s %s ((int64_t)%s - 1) + %lld) "
        "< %lld))",
        piece->from, piece->to, line->begin, sign, piece->from, below, below + limit, line->begin, sign, piece->to, below,
        below + limit);
}

/* That no number is too large, and that all places along lines are in range. */
static const char *condition_of(struct search *search)
{
    const char *condition = search->small;

    for (size_t k = 0; k < search->pieces->n; k++) {
        const struct nest_piece *piece = &search->pieces->all[k];
        struct mdf_nest_set live = mdf_source_live_steps(search->writer, &piece->nest);

        for (size_t i = 0; i < piece->nest.n_steps; i++) {
            if (piece->places[i] != MDF_NEST_NONE) {
                condition = mdf_source_text(search->writer, "%s && %s", condition,
                                            in_range(search, piece, i, mdf_nest_set_has(&live, i)));
            }
        }
    }
    return condition;
}

/* Whether a load is at a place that is a line on some side of cuts. */
static bool has_line(struct search *search)
{
    for (size_t i = 0; i < search->nest->n_steps; i++) {
        const struct mdf_nest_step *load = &search->nest->steps[i];

        if (load->kind == MDF_NEST_LOAD && load->view.at != MDF_NEST_NONE &&
            line_on_a_side(search, load->view.at) != MDF_NEST_NONE) {
            return true;
        }
    }
    return false;
}

/* Begins a block with what the lines are at index 0. */
static void write_lines(struct search *search)
{
    struct mdf_source_writer *writer = search->writer;
    const char *limit = mdf_source_text(writer, "(INT64_C(1) << %d)", (int)LARGEST_BITS), *small = "";

    mdf_source_open(writer, "%s", "");
    for (size_t i = 0; i < search->n_numbers; i++) {
        small = mdf_source_text(writer, "%s%s%s < %s && %s > -%s", small, i > 0 ? " && " : "", search->numbers[i], limit,
                                search->numbers[i], limit);
    }
    search->small = search->n_numbers > 0 ? write_number(writer, mdf_source_type(MDF_DTYPE_BOOL), "small", small) : "true";
    for (size_t i = 0; i < search->pieces->n_lines; i++) {
        struct nest_line *line = &search->pieces->lines[i];

        line->begin =
            write_number(writer, "int64_t", "begin", mdf_source_text(writer, "%s ? %s : 0", search->small, line->begin));
    }
}

bool nest_pieces_make(struct mdf_source_writer *writer, const struct mdf_lowered_nest *nest, struct nest_pieces **made)
{
    struct nest_pieces *pieces = mdf_arena_array(&writer->arena, 1, sizeof *pieces);
    bool sides[NEST_MOST_CUTS] = {false};

    *made = NULL;
    if (pieces == NULL) {
        return mdf_source_out_of_memory(writer);
    }
    for (size_t axis = nest->n_axes; axis-- > 0;) {
        struct search search = {.writer = writer, .nest = nest, .pieces = pieces};

        if (!may_be_cut(writer, nest, axis)) {
            continue;
        }
        memset(pieces, 0, sizeof *pieces);
        pieces->axis = axis;
        find_uses(&search);
        if (has_line(&search)) {
            const char *first, *end;

            write_lines(&search);
            first = write_number(writer, "size_t", "first", "0");
            end = write_number(writer, "size_t", "end", mdf_source_text(writer, "%zu", nest->extents[axis]));
            *made = pieces;
            if (!cut_pieces(&search, 0, sides, first, end)) {
                return false;
            }
            pieces->condition = condition_of(&search);
            return true;
        }
    }
    return true;
}
