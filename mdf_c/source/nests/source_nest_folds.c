/* source_nest_folds.c - the folds of a nest as C: totals before their loops, what they take, and how lanes, rows and blocks are
 * joined behind. */
#include "mdf_c/source/nests/nest_text.h"

#include <string.h>

/* What is taken into the total; $t, $x in parentheses where they need them. */
struct fold_row {
    const char *reals, *whole;       /* the new total, or the condition under which x is taken for it */
    const char *start, *whole_start; /* $n: of its type */
    const char *hint;
    bool is_index;
    const char *chosen; /* of an index the condition of reals without jumps, for vectors */
};

static const struct fold_row fold_rows[N_MDF_NEST_FOLDS] = {
    [MDF_NEST_SUM] = {"$t + $x", "($T)(($U)$t + ($U)$x)", "0", "0", "sum", false, NULL},
    [MDF_NEST_PRODUCT] = {"$t * $x", "($T)(($U)$t * ($U)$x)", "1", "1", "product", false, NULL},
    [MDF_NEST_MAXIMUM] = {"mdf_larger_$n($x, $t)", "$x > $t ? $x : $t", "-INFINITY", "$L_MIN", "largest", false, NULL},
    [MDF_NEST_MINIMUM] = {"mdf_smaller_$n($x, $t)", "$x < $t ? $x : $t", "INFINITY", "$L_MAX", "smallest", false, NULL},
    [MDF_NEST_LARGEST] = {"$t != $t ? $t : mdf_larger_$n($x, $t)", "$x > $t ? $x : $t", "-INFINITY", "$L_MIN", "largest", false,
                          NULL},
    [MDF_NEST_SMALLEST] = {"$t != $t ? $t : mdf_smaller_$n($x, $t)", "$x < $t ? $x : $t", "INFINITY", "$L_MAX", "smallest", false,
                           NULL},
    [MDF_NEST_FIRST_MAXIMUM] = {"$x > $t || ($x != $x && $t == $t)", "$x > $t", "0", "0", "largest", true,
                                "(($x > $t) | (($x != $x) & ($t == $t)))"},
    [MDF_NEST_FIRST_MINIMUM] = {"$x < $t || ($x != $x && $t == $t)", "$x < $t", "0", "0", "smallest", true,
                                "(($x < $t) | (($x != $x) & ($t == $t)))"},
    [MDF_NEST_LAST_MAXIMUM] = {"$x >= $t || $x != $x", "$x >= $t", "0", "0", "largest", true, "(($x >= $t) | ($x != $x))"},
    [MDF_NEST_LAST_MINIMUM] = {"$x <= $t || $x != $x", "$x <= $t", "0", "0", "smallest", true, "(($x <= $t) | ($x != $x))"},
};

/* A text with $t and $x replaced, for elements of a type. */
static const char *fold_text(struct nest_text *text, const char *form, mdf_dtype dtype, const char *total, const char *element)
{
    struct mdf_text result;
    const char *copy;

    mdf_text_init(&result, text->writer->memory);
    mdf_text_append_string(&result, "");
    form = mdf_source_of_type(text->writer, form, dtype);
    mdf_source_use_called(text->writer, form);
    for (; *form != '\0'; form++) {
        const char *found = form[0] != '$'   ? NULL
                            : form[1] == 't' ? total
                            : form[1] == 'x' ? element
                            : form[1] == 'L' ? (dtype == MDF_DTYPE_INT32 ? "INT32" : "INT64")
                                             : NULL;

        if (found != NULL) {
            mdf_text_append_string(&result, found);
            form++;
        } else {
            mdf_text_append(&result, form, 1);
        }
    }
    mdf_source_check(text->writer, &result);
    copy = result.failed ? "" : mdf_source_text(text->writer, "%s", result.bytes);
    mdf_text_release(&result);
    return copy;
}

/* An extreme of reals that takes one element after the other, without vectors: the processor foretells that few of them are
 * taken, so that none waits for the one before. */
static const char *one_by_one(const struct nest_text *text, size_t step)
{
    enum mdf_nest_fold fold = (enum mdf_nest_fold)step_of(text, step)->fold;

    return has_lanes(text, step) || has_row(text, step) || nest_plan_is_vector(text->plan, step) ? NULL
           : fold == MDF_NEST_MAXIMUM                                                            ? "$x > $t || $x != $x ? $x : $t"
           : fold == MDF_NEST_MINIMUM                                                            ? "$x < $t || $x != $x ? $x : $t"
                                                                                                 : NULL;
}

static const char *combined(struct nest_text *text, size_t step, const char *total, const char *element)
{
    mdf_dtype dtype = (mdf_dtype)step_of(text, step)->operand_dtype;
    const struct fold_row *row = &fold_rows[step_of(text, step)->fold];
    const char *reals = one_by_one(text, step);

    return fold_text(text, is_whole(dtype) ? row->whole : reals != NULL ? reals : row->reals, dtype, total, element);
}

static void combine(struct nest_text *text, size_t step, const char *total, const char *element)
{
    const struct mdf_nest_step *fold = step_of(text, step);

    if (!is_whole((mdf_dtype)fold->operand_dtype) && fold->fold <= MDF_NEST_PRODUCT) {
        mdf_source_line(text->writer, "%s %s %s;", total, fold->fold == MDF_NEST_SUM ? "+=" : "*=", element);
    } else {
        mdf_source_line(text->writer, "%s = %s;", total, combined(text, step, total, element));
    }
}

/* What a total is before it takes anything. That of blocks is -0, to which any total can be added as it is. */
static const char *beginning(struct nest_text *text, size_t step)
{
    const struct mdf_nest_step *fold = step_of(text, step);
    mdf_dtype dtype = (mdf_dtype)fold->operand_dtype;

    if (has_depths(text, step) && !fold->has_start && !is_whole(dtype)) {
        return dtype == MDF_DTYPE_FLOAT32 ? "-0.0f" : "-0.0";
    }
    if (fold->has_start && text->registers[fold->in[1]].array != NULL) { /* as it lies for later groups */
        return nest_text_kept(text, fold->in[1]);
    }
    return fold->has_start ? nest_text_operand(text, fold->in[1])
                           : fold_text(text, is_whole(dtype) ? fold_rows[fold->fold].whole_start : fold_rows[fold->fold].start,
                                       dtype, "", "");
}

/* The totals of a lane for all indices of the vector axis lie one behind the other: the element of a lane. */
static const char *total_in_lane(struct nest_text *text, size_t step, const char *lane)
{
    return mdf_source_text(text->writer, "%s[%s + %s * %zu]", text->registers[step].total, text->axes[text->plan->vector].index,
                           lane, tile_length(text));
}

/* A loop over lanes, with one over the vector axis in it, of which this is the line. */
static void write_for_lanes(struct nest_text *text, size_t step, size_t n, const char *total, const char *value)
{
    nest_text_close_group(text);
    mdf_source_open(text->writer, "for (size_t lane = 0; lane < %zu; lane++)", n);
    nest_text_enter(text, step);
    mdf_source_line(text->writer, "%s = %s;", total, value);
    nest_text_close_group(text);
    mdf_source_close(text->writer);
}

static void join_vector(struct nest_text *text, size_t step)
{
    const char *total = total_in_lane(text, step, "lane"), *other,
               *first =
                   mdf_source_text(text->writer, "%s[%s]", text->registers[step].total, text->axes[text->plan->vector].index);
    size_t half = nest_plan_lanes(text->plan, step) / 2;

    for (; half > 1; half /= 2) {
        other = total_in_lane(text, step, mdf_source_text(text->writer, "(lane + %zu)", half));
        write_for_lanes(text, step, half, total, combined(text, step, total, other));
    }
    if (half == 1) {
        nest_text_enter(text, step);
        combine(text, step, first, total_in_lane(text, step, "1"));
    }
}

/* One total for each index of the vector axis, and each lane. */
static void begin_vector(struct nest_text *text, size_t step)
{
    const struct fold_row *row = &fold_rows[step_of(text, step)->fold];
    struct nest_register *own = &text->registers[step];
    const char *index = text->axes[text->plan->vector].index;
    size_t n = tile_length(text), n_lanes = nest_plan_lanes(text->plan, step);

    if (own->total == NULL) {
        own->total = mdf_source_buffer(text->writer, (mdf_dtype)step_of(text, step)->dtype, n * n_lanes, row->hint);
    }
    if (row->is_index && own->best == NULL) {
        own->best = mdf_source_buffer(text->writer, (mdf_dtype)step_of(text, step)->operand_dtype, n, "best");
    }
    if (has_depths(text, step) && own->part == NULL) {
        own->part = mdf_source_buffer(text->writer, (mdf_dtype)step_of(text, step)->dtype, n, "part");
    }
    if (nest_plan_is_in_pairs(text->plan, step)) { /* it begins with its first element */
        return;
    }
    if (n_lanes > 1) {
        write_for_lanes(text, step, n_lanes, total_in_lane(text, step, "lane"), beginning(text, step));
        return;
    }
    nest_text_enter(text, step);
    mdf_source_line(text->writer, "%s[%s] = %s;", own->total, index, beginning(text, step));
    if (row->is_index) { /* which is looked at when the first element is taken, too */
        mdf_source_line(text->writer, "%s[%s] = 0;", own->best, index);
    }
}

void nest_text_begin(struct nest_text *text, size_t step)
{
    struct mdf_source_writer *writer = text->writer;
    const struct mdf_nest_step *fold = step_of(text, step);
    const struct fold_row *row = &fold_rows[fold->fold];
    mdf_dtype dtype = (mdf_dtype)fold->operand_dtype;
    struct nest_register *own = &text->registers[step];
    const char *start;

    own->name = NULL;
    if (nest_plan_is_vector(text->plan, step)) {
        begin_vector(text, step);
        return;
    }
    nest_text_close_group(text);
    start = beginning(text, step);
    if (has_row(text, step)) {
        own->row = own->row != NULL ? own->row : mdf_source_buffer(writer, dtype, text->nest->extents[fold->level], "row");
        own->total = own->row;
        return;
    }
    own->total = mdf_source_name(writer, &writer->locals, row->hint);
    own->is_of_few = nest_text_begins_few(text);
    if (own->is_of_few) {
        return;
    }
    if (row->is_index) {
        own->best = mdf_source_name(writer, &writer->locals, "best");
        mdf_source_line(writer, "%s %s = 0;", mdf_source_type(dtype), own->best);
    }
    if (has_depths(text, step)) {
        own->part = mdf_source_name(writer, &writer->locals, "part");
        mdf_source_line(writer, "%s %s = %s, %s;", type_of(text, step), own->total, start, own->part);
    } else if (!has_lanes(text, step)) {
        mdf_source_line(writer, "%s %s = %s;", type_of(text, step), own->total, start);
    } else {
        size_t n_lanes = nest_plan_used_lanes(text->nest, fold);

        mdf_source_line(writer, "%s %s[%zu];", type_of(text, step), own->total, n_lanes);
        mdf_source_blank(writer);
        nest_text_open_innermost(text, true, n_lanes,
                                 mdf_source_text(writer, "for (size_t lane = 0; lane < %zu; lane++)", n_lanes));
        mdf_source_line(writer, "%s[lane] = %s;", own->total, start);
        nest_text_close_block(text);
    }
}

const char *nest_text_total(struct nest_text *text, size_t step)
{
    const struct mdf_nest_step *fold = step_of(text, step);
    const char *total = has_depths(text, step) ? text->registers[step].part : text->registers[step].total, *index;
    size_t axis = fold->level, n_lanes = nest_plan_lanes(text->plan, step); /* the axis that is folded */

    index = text->axes[axis].index;
    if (text->registers[step].running != NULL) {
        return text->registers[step].running;
    }
    if (n_lanes > 1) {
        return total_in_lane(text, step,
                             text->nest->extents[axis] <= n_lanes ? index
                                                                  : mdf_source_text(text->writer, "(%s %% %zu)", index, n_lanes));
    }
    if (nest_plan_is_vector(text->plan, step)) {
        return mdf_source_text(text->writer, "%s[%s]", total, text->axes[text->plan->vector].index);
    }
    if (!has_lanes(text, step) && !has_row(text, step)) {
        return total;
    }
    if (has_row(text, step)) {
        return mdf_source_text(text->writer, "%s[%s]", total, index);
    }
    if (text->lanes[axis] == fold->lanes) {
        return mdf_source_text(text->writer, "%s[%s]", total, text->axes[axis].lane);
    }
    return mdf_source_text(text->writer, text->nest->extents[axis] <= fold->lanes ? "%s[%s]" : "%s[%s %% %u]", total, index,
                           (unsigned)fold->lanes);
}

/* Whether a register and what it is made of are variables of the blocks that are open. */
static bool has_names(const struct nest_text *text, size_t step)
{
    const struct mdf_nest_step *own = step_of(text, step);
    bool has = text->registers[step].name != NULL;

    for (size_t i = 0; i < own->n_in; i++) {
        has = has && text->registers[own->in[i]].name != NULL;
    }
    return has;
}

static const char *add_product(struct nest_text *text, size_t product, const char *sum)
{
    const uint8_t *factors = step_of(text, product)->in;

    return mdf_source_text(text->writer, "%s(%s, %s, %s)", mdf_source_use(text->writer, "add_exact_product"),
                           nest_text_operand(text, factors[0]), nest_text_operand(text, factors[1]), sum);
}

/* Whether what a total takes is a product that needs no rounding. Of one that waits for itself from element to element the sum
 * alone is sooner there. */
static bool takes_product(const struct nest_text *text, size_t step)
{
    const struct mdf_nest_step *fold = step_of(text, step);

    return fold->fold == MDF_NEST_SUM && mdf_nest_is_exact_product(text->nest, fold->in[0]) && has_names(text, fold->in[0]) &&
           (has_lanes(text, step) || nest_plan_is_vector(text->plan, step)) && !has_row(text, step);
}

const char *nest_text_joined(struct nest_text *text, size_t step, const char *total, const char *element)
{
    return combined(text, step, total, element);
}

/* An element of which it counts where it stands, in one of some rows side by side. It is chosen, by a condition without jumps: of
 * stores that are only made for some elements, and of conditions one behind the other, compilers make no vectors, or slow ones.
 */
static void choose_index(struct nest_text *text, size_t step, const char *total, const char *element)
{
    struct mdf_source_writer *writer = text->writer;
    const struct mdf_nest_step *fold = step_of(text, step);
    mdf_dtype dtype = (mdf_dtype)fold->operand_dtype;
    const struct fold_row *row = &fold_rows[fold->fold];
    const char *index = text->axes[fold->level].index, *taken = mdf_source_name(writer, &writer->locals, "taken");
    const char *best = mdf_source_text(writer, "%s[%s]", text->registers[step].best, text->axes[text->plan->vector].index);

    mdf_source_line(
        writer, "const bool %s = (%s == 0) | %s;", taken, index,
        fold_text(text, is_whole(dtype) ? mdf_source_text(writer, "(%s)", row->whole) : row->chosen, dtype, best, element));
    mdf_source_line(writer, "%s = %s ? %s : %s;", best, taken, element, best);
    mdf_source_line(writer, "%s = %s ? (int64_t)%s : %s;", total, taken, index, total);
}

static void take_index(struct nest_text *text, size_t step, const char *total, const char *element)
{
    struct mdf_source_writer *writer = text->writer;
    const char *index = text->axes[step_of(text, step)->level].index, *best = text->registers[step].best;

    if (nest_plan_is_vector(text->plan, step)) {
        choose_index(text, step, total, element);
        return;
    }
    mdf_source_open(writer, "if (%s == 0 || %s)", index, combined(text, step, best, element));
    mdf_source_line(writer, "%s = %s;", best, element);
    mdf_source_line(writer, "%s = (int64_t)%s;", total, index);
    mdf_source_close(writer);
}

void nest_text_take(struct nest_text *text, size_t step)
{
    struct mdf_source_writer *writer = text->writer;
    const struct mdf_nest_step *fold = step_of(text, step);
    const char *total, *element;

    nest_text_enter(text, fold->in[0]);
    total = nest_text_total(text, step);
    if (fold->is_fused) {
        const struct mdf_nest_step *product = step_of(text, fold->in[0]);

        mdf_source_line(writer, "%s = fma%s(%s, %s, %s);", total, fold->dtype == MDF_DTYPE_FLOAT32 ? "f" : "",
                        nest_text_operand(text, product->in[0]), nest_text_operand(text, product->in[1]), total);
        return;
    }
    if (takes_product(text, step)) {
        mdf_source_line(writer, "%s = %s;", total, add_product(text, fold->in[0], total));
        return;
    }
    element = nest_text_operand(text, fold->in[0]);
    if (has_row(text, step)) {
        mdf_source_line(writer, "%s = %s;", total, element);
        return;
    }
    if (!fold_rows[fold->fold].is_index) {
        combine(text, step, total, element);
        return;
    }
    take_index(text, step, total, element);
}

const char *nest_text_sum_of_product(struct nest_text *text, size_t step)
{
    const struct mdf_nest_step *sum = step_of(text, step);

    for (size_t i = sum->n_in; i-- > 0 && sum->code == MDF_LOWERED_ADD;) {
        if (mdf_nest_is_exact_product(text->nest, sum->in[i]) && has_names(text, sum->in[i])) {
            return add_product(text, sum->in[i], nest_text_operand(text, sum->in[1 - i]));
        }
    }
    return NULL;
}

/* Joining so many lanes takes longer than a call. */
enum { LANES_APART = 16 };

/* The numbers of `n` lanes from `first` on. */
static const char *lane_numbers(struct mdf_source_writer *writer, size_t first, size_t n)
{
    const char *numbers = "";

    for (size_t i = first; i < first + n; i++) {
        numbers = mdf_source_text(writer, "%s, %zu", numbers, i);
    }
    return numbers;
}

/* Vectors are loaded in pieces of so many bytes: a compiler that prefers such ones stores totals so, and a load of more than one
 * store wrote waits until they have reached the cache. */
enum { PIECE_BYTES = 32 };

/* The parts from `first` on, each `stride`th, joined: the upper half of them with the lower. */
static const char *join_parts(struct nest_text *text, size_t step, size_t first, size_t stride, size_t n)
{
    const char *low, *high;

    if (stride == n) {
        return mdf_source_text(text->writer, "part_%zu", first);
    }
    low = join_parts(text, step, first, 2 * stride, n);
    high = join_parts(text, step, first + stride, 2 * stride, n);
    return mdf_source_text(text->writer, "(%s)", combined(text, step, low, high));
}

/* Lanes in vectors that compilers with such have: of loops over arrays some make elements, one by one. */
static const char *join_in_vectors(struct nest_text *text, size_t step, size_t n_lanes, const char *type, size_t size_bytes)
{
    struct mdf_source_writer *writer = text->writer;
    size_t n = n_lanes / 2 * size_bytes < PIECE_BYTES ? n_lanes / 2 : PIECE_BYTES / size_bytes;
    const char *body =
        mdf_source_text(writer, "    typedef %s of_%zu __attribute__((vector_size(%zu)));\n", type, n, n * size_bytes);

    for (size_t k = 0; k < n_lanes / n; k++) {
        body = mdf_source_text(writer, "%s    of_%zu part_%zu;\n    memcpy(&part_%zu, lanes + %zu, sizeof part_%zu);\n", body, n,
                               k, k, k * n, k);
    }
    body = mdf_source_text(writer, "%s    const of_%zu t_%zu = %s;\n", body, n, n, join_parts(text, step, 0, 1, n_lanes / n));
    for (; n > 2; n /= 2) {
        const char *half =
            mdf_source_text(writer, "__builtin_shufflevector(t_%zu, t_%zu%s)", n, n, lane_numbers(writer, 0, n / 2));
        const char *other =
            mdf_source_text(writer, "__builtin_shufflevector(t_%zu, t_%zu%s)", n, n, lane_numbers(writer, n / 2, n / 2));

        body =
            mdf_source_text(writer, "%s    typedef %s of_%zu __attribute__((vector_size(%zu)));\n    const of_%zu t_%zu = %s;\n",
                            body, type, n / 2, n / 2 * size_bytes, n / 2, n / 2, combined(text, step, half, other));
    }
    return mdf_source_text(writer, "%s    return %s;\n", body, combined(text, step, "t_2[0]", "t_2[1]"));
}

static const char *join_in_loops(struct nest_text *text, size_t step, size_t n_lanes, const char *type)
{
    const char *body = "";

    for (size_t half = n_lanes / 2; half > 0; half /= 2) {
        body = mdf_source_text(text->writer,
                               "%s    for (size_t lane = 0; lane < %zu; lane++) {\n"
                               "        const %s other = lanes[lane + %zu];\n\n"
                               "        lanes[lane] = %s;\n"
                               "    }\n",
                               body, half, type, half, combined(text, step, "lanes[lane]", "other"));
    }
    return mdf_source_text(text->writer, "%s    return lanes[0];\n", body);
}

/* A helper that joins the lanes of a total, in loops whose lengths the compiler sees, or in vectors. */
static const char *join_helper(struct nest_text *text, size_t step, size_t n_lanes)
{
    struct mdf_source_writer *writer = text->writer;
    const struct mdf_nest_step *fold = step_of(text, step);
    mdf_dtype dtype = (mdf_dtype)fold->operand_dtype;
    const char *type = mdf_source_type(dtype), *name, *loops, *vectors = "";
    bool is_apart = n_lanes >= LANES_APART;

    if (is_apart) {
        mdf_source_use(writer, "apart");
    }
    name = mdf_source_text(writer, "%s_of_%zu_%s", fold_rows[fold->fold].hint, n_lanes, mdf_dtype_name(dtype));
    loops = mdf_source_text(writer, "static %s %s mdf_%s(%s *lanes)\n{\n%s}\n", is_apart ? "MDF_APART" : "inline", type, name,
                            type, join_in_loops(text, step, n_lanes, type));
    if (!is_whole(dtype) && fold->fold <= MDF_NEST_PRODUCT && n_lanes >= 4) {
        mdf_source_use(writer, "vectors");
        vectors = mdf_source_text(writer, "#if MDF_HAS_VECTORS\nstatic inline %s mdf_%s(const %s *lanes)\n{\n%s}\n#else\n", type,
                                  name, type, join_in_vectors(text, step, n_lanes, type, mdf_dtype_size(dtype)));
    }
    return mdf_source_helper(writer, name,
                             mdf_source_text(writer,
                                             "/* Joins lanes: the upper half with the lower, until there is one. */\n%s%s%s",
                                             vectors, loops, vectors[0] != '\0' ? "#endif\n" : ""));
}

enum { MOST_JOINED_APART = 8 };

/* Whether the lanes of a total are joined as single numbers: of some of them the last element came alone, and a vector of what is
 * stored in pieces would be loaded late. */
static bool is_joined_singly(const struct nest_text *text, size_t step, size_t n_lanes)
{
    return n_lanes > 1 && n_lanes <= MOST_JOINED_APART && !is_even(text, step_of(text, step)->level, n_lanes);
}

/* A helper that joins them so. What clang makes of single numbers are vectors along the rows, whose elements it gathers: there
 * the lanes are joined as they are elsewhere. */
static const char *single_join_helper(struct nest_text *text, size_t step, size_t n_lanes)
{
    struct mdf_source_writer *writer = text->writer;
    const struct mdf_nest_step *fold = step_of(text, step);
    const char *type = type_of(text, step), *joins_all = join_helper(text, step, n_lanes), *lanes[MOST_JOINED_APART], *body = "",
               *name;
    size_t n_names = 0;

    for (size_t i = 0; i < n_lanes; i++) {
        lanes[i] = mdf_source_text(writer, "lanes[%zu]", i);
    }
    for (size_t half = n_lanes / 2; half > 1; half /= 2) {
        for (size_t i = 0; i < half; i++) {
            name = mdf_source_text(writer, "t_%zu", n_names++);
            body = mdf_source_text(writer, "%s    const %s %s = %s;\n", body, type, name,
                                   combined(text, step, lanes[i], lanes[i + half]));
            lanes[i] = name;
        }
    }
    name = mdf_source_text(writer, "%s_of_%zu_%s_singly", fold_rows[fold->fold].hint, n_lanes,
                           mdf_dtype_name((mdf_dtype)fold->operand_dtype));
    return mdf_source_helper(writer, name,
                             mdf_source_text(writer,
                                             "/* The same of lanes of which some were stored last by themselves. */\n"
                                             "static inline %s mdf_%s(%s *lanes)\n{\n#if defined(__clang__)\n"
                                             "    return %s(lanes);\n#else\n%s    return %s;\n#endif\n}\n",
                                             type, name, type, joins_all, body, combined(text, step, lanes[0], lanes[1])));
}

/* Lanes joined in pairs of neighbours. */
static const char *join_pairs(struct nest_text *text, size_t step)
{
    return mdf_source_text(text->writer,
                           "    for (size_t half = %u; half > 0; half /= 2) {\n"
                           "        for (size_t lane = 0; lane < half; lane++) {\n            lanes[lane] = %s;\n        }\n"
                           "    }\n",
                           (unsigned)step_of(text, step)->lanes / 2,
                           combined(text, step, "lanes[2 * lane]", "lanes[2 * lane + 1]"));
}

/* A helper that folds a row in an order of its own (enum mdf_nest_order). */
static const char *row_helper(struct nest_text *text, size_t step)
{
    static const char *const names[N_MDF_NEST_ORDERS] = {"", "blocks", "pairwise", "rest"};
    struct mdf_source_writer *writer = text->writer;
    const struct mdf_nest_step *fold = step_of(text, step);
    bool is_pairwise = fold->order == MDF_NEST_PAIRWISE, by_halves = fold->order != MDF_NEST_WITH_REST;
    mdf_dtype dtype = (mdf_dtype)fold->operand_dtype;
    const char *type = mdf_source_type(dtype), *start = fold_rows[fold->fold].start, *name, *halves = "", *joined;

    name = mdf_source_text(writer, "%s_%s_%s", fold_rows[fold->fold].hint, names[fold->order], mdf_dtype_name(dtype));
    if (by_halves) {
        halves = mdf_source_text(writer,
                                 "    if (n > %d) {\n        const size_t half = %s;\n"
                                 "        const %s total = mdf_%s(x, half), other = mdf_%s(x + half, n - half);\n\n"
                                 "        return %s;\n    }\n",
                                 is_pairwise ? 128 : 512, is_pairwise ? "n / 2 - n / 2 % 8" : "n / 2 / 8 * 8", type, name, name,
                                 combined(text, step, "total", "other"));
    }
    joined = is_pairwise ? join_pairs(text, step)
                         : mdf_source_text(writer, "    lanes[0] = %s(lanes);\n", join_helper(text, step, fold->lanes));
    return mdf_source_helper(
        writer, name,
        mdf_source_text(writer,
                        "static %s mdf_%s(const %s *x, size_t n)\n{\n    %s lanes[%u];\n    size_t i = 0;\n\n%s"
                        "    for (size_t lane = 0; lane < %u; lane++) {\n        lanes[lane] = %s;\n    }\n"
                        "    for (; i + %u <= n; i += %u) {\n        for (size_t lane = 0; lane < %u; lane++) {\n"
                        "            lanes[lane] = %s;\n        }\n    }\n%s"
                        "%s%s    return lanes[0];\n}\n",
                        type, name, type, type, (unsigned)fold->lanes, halves, (unsigned)fold->lanes, start,
                        (unsigned)fold->lanes, (unsigned)fold->lanes, (unsigned)fold->lanes,
                        combined(text, step, "lanes[lane]", "x[i + lane]"),
                        fold->order == MDF_NEST_IN_BLOCKS
                            ? mdf_source_text(writer, "    for (; i < n; i++) {\n        lanes[i %% 8] = %s;\n    }\n",
                                              combined(text, step, "lanes[i % 8]", "x[i]"))
                            : "",
                        joined,
                        mdf_source_text(writer, "    for (; i < n; i++) {\n        lanes[0] = %s;\n    }\n",
                                        combined(text, step, "lanes[0]", "x[i]"))));
}

/* A helper that finds where an extreme of a row stands: the extreme, in lanes, of which any order gives the same, then its place.
 * NaN is one where any element is. */
static const char *place_helper(struct nest_text *text, size_t step)
{
    struct mdf_source_writer *writer = text->writer;
    enum mdf_nest_fold fold = (enum mdf_nest_fold)step_of(text, step)->fold;
    bool is_largest = fold == MDF_NEST_FIRST_MAXIMUM || fold == MDF_NEST_LAST_MAXIMUM,
         is_first = fold == MDF_NEST_FIRST_MAXIMUM || fold == MDF_NEST_FIRST_MINIMUM;
    mdf_dtype dtype = (mdf_dtype)step_of(text, step)->operand_dtype;
    const struct fold_row *row = &fold_rows[is_largest ? MDF_NEST_MAXIMUM : MDF_NEST_MINIMUM];
    const char *form = is_whole(dtype) ? row->whole : row->reals, *type = mdf_source_type(dtype),
               *name = mdf_source_text(writer, "%s_%s_%s", is_first ? "first" : "last", row->hint, mdf_dtype_name(dtype));

    mdf_source_use(writer, "short");
    return mdf_source_helper(
        writer, name,
        mdf_source_text(writer,
                        "/* Of at least 16 elements. */\n"
                        "static int64_t mdf_%s(const %s *x, size_t n)\n{\n    const size_t whole = n - n %% 16;\n"
                        "    %s lanes[16], extreme;\n    size_t i;\n\n    memcpy(lanes, x, sizeof lanes);\n"
                        "    for (i = 16; i < whole; i += 16) {\n        MDF_SHORT for (size_t lane = 0; lane < 16; lane++) {\n"
                        "            lanes[lane] = %s;\n        }\n    }\n"
                        "    for (i = whole; i < n; i++) {\n        lanes[0] = %s;\n    }\n    extreme = lanes[0];\n"
                        "    for (size_t lane = 1; lane < 16; lane++) {\n        extreme = %s;\n    }\n"
                        "    for (i = %s; x[i] != extreme%s; i%s) {\n    }\n    return (int64_t)i;\n}\n",
                        name, type, type, fold_text(text, form, dtype, "lanes[lane]", "x[i + lane]"),
                        fold_text(text, form, dtype, "lanes[0]", "x[i]"), fold_text(text, form, dtype, "extreme", "lanes[lane]"),
                        is_first ? "0" : "n - 1", is_whole(dtype) ? "" : " && x[i] == x[i]", is_first ? "++" : "--"));
}

void nest_text_end(struct nest_text *text, size_t step)
{
    struct nest_register *own = &text->registers[step];

    if (nest_plan_is_vector(text->plan, step)) {
        join_vector(text, step);
        return;
    }
    nest_text_close_group(text);
    own->name = own->total;
    own->block = text->n_blocks;
    if (own->is_of_few) {
        return;
    }
    if (has_row(text, step)) {
        mdf_source_line(text->writer, "const %s %s = %s;", type_of(text, step),
                        nest_text_name(text, step, fold_rows[step_of(text, step)->fold].hint),
                        mdf_source_text(text->writer, "%s(%s, %s)",
                                        is_found_in_row(text, step) ? place_helper(text, step) : row_helper(text, step),
                                        own->total, nest_text_extent(text, step_of(text, step)->level)));
    }
    if (has_lanes(text, step)) {
        size_t n = nest_plan_used_lanes(text->nest, step_of(text, step));
        const char *join = is_joined_singly(text, step, n) ? single_join_helper(text, step, n) : join_helper(text, step, n);
        const char *joined = mdf_source_text(text->writer, "%s(%s)", join, own->total);

        mdf_source_line(text->writer, "const %s %s = %s;", type_of(text, step),
                        nest_text_name(text, step, fold_rows[step_of(text, step)->fold].hint), joined);
    }
}
