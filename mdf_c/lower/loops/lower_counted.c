/* lower_counted.c - Loops whose condition does nothing but count, as exporters write `for` and `while i < n`: how often they run
 * is known before, so that their stacks have a length and nothing is asked in a run. See lower_loops.h.
 *
 * In run k a number of the loop is a line, first + step k, if it is the run's number, a state to which each run adds the same
 * whole number, or whole numbers added to, subtracted from or multiplied with these. Conditions compare lines. All numbers have
 * to be exact in their types up to the last run. */
#include "mdf_c/lower/loops/lower_loops.h"
#include "mdf_c/lowered/lowered_reads.h"

#include <math.h>

enum { MOST_STEPS = 64 }; /* of a derivation */

static const uint64_t never = UINT64_MAX;
static const double most_runs = 0x1p31; /* that are counted */

struct line {
    double first, step;
};

struct counting {
    struct loop *loop;
    mdf_lowered_id supposed; /* a state that is taken for `value` while its step is looked for; NONE: none */
    double value;
    double most; /* runs for which all numbers are exact */
    int n_steps; /* left */
};

/* What makes a value: an op, or both sides of a condition. */
struct maker {
    const struct mdf_lowered_op *op;       /* NULL: none is found */
    const struct mdf_lowered_merge *merge; /* of an IF; else NULL */
};

static struct maker find_in(const struct mdf_lowered_op *ops, size_t n, mdf_lowered_id id)
{
    struct maker maker = {NULL, NULL};

    for (size_t i = n; i-- > 0 && maker.op == NULL;) {
        const struct mdf_lowered_if *branches = ops[i].code == MDF_LOWERED_IF ? ops[i].of.branches : NULL;

        if (branches == NULL) {
            maker.op = ops[i].out == id ? &ops[i] : NULL;
            continue;
        }
        for (size_t j = 0; j < branches->n_merges; j++) {
            if (branches->merges[j].out == id) {
                return (struct maker){&ops[i], &branches->merges[j]};
            }
        }
        maker = find_in(branches->then.ops, branches->then.n_ops, id);
        maker = maker.op != NULL ? maker : find_in(branches->otherwise.ops, branches->otherwise.n_ops, id);
    }
    return maker;
}

static struct maker find_maker(const struct counting *counting, mdf_lowered_id id)
{
    return find_in(counting->loop->region.ops, counting->loop->region.n_ops, id);
}

/* The largest whole number up to which all are numbers of a type; 0: it has no such numbers here. */
static double most_exact(mdf_dtype dtype)
{
    return dtype == MDF_DTYPE_FLOAT32                               ? 0x1p24
           : dtype == MDF_DTYPE_INT32                               ? 0x1p31 - 1
           : dtype == MDF_DTYPE_FLOAT64 || dtype == MDF_DTYPE_INT64 ? 0x1p53
                                                                    : 0;
}

/* Notes for how many runs the numbers of a line are exact; false: it is none of a type that can be. */
static bool keep_exact(struct counting *counting, mdf_lowered_id id, const struct line *line)
{
    double most = most_exact((mdf_dtype)counting->loop->lowering->lowered->values[id].form.dtype);
    bool is_whole = line->first == trunc(line->first) && line->step == trunc(line->step);

    if (line->step != 0 || line->first != trunc(line->first)) {
        double runs = line->step != 0 ? floor((most - fabs(line->first)) / fabs(line->step)) : counting->most;

        counting->most = fmin(counting->most, runs);
    }
    return most > 0 && (is_whole ? fabs(line->first) <= most : line->step == 0);
}

static bool find_line(struct counting *counting, mdf_lowered_id id, struct line *line);

static bool combine(struct counting *counting, const struct mdf_lowered_op *op, struct line *line)
{
    enum mdf_lowered_code code = mdf_lowered_wrapping(op->code);
    struct line a, b;

    if (!find_line(counting, op->in[0], &a) || !find_line(counting, op->in[1], &b) || a.first != trunc(a.first) ||
        b.first != trunc(b.first)) {
        return false; /* what is no whole number would be rounded */
    }
    if (code == MDF_LOWERED_MULTIPLY) {
        *line = (struct line){a.first * b.first, a.step * b.first + a.first * b.step};
        return a.step == 0 || b.step == 0;
    }
    *line = code == MDF_LOWERED_ADD ? (struct line){a.first + b.first, a.step + b.step}
                                    : (struct line){a.first - b.first, a.step - b.step};
    return code == MDF_LOWERED_ADD || code == MDF_LOWERED_SUBTRACT;
}

/* What a state yields, if it begins a run as `value`. */
static bool follow(struct counting *counting, size_t state, double value, double *next)
{
    const struct loop *loop = counting->loop;
    struct line line;
    bool done;

    counting->supposed = loop->result->states[state].parameter;
    counting->value = value;
    done = find_line(counting, loop_next_of(loop, state), &line) && line.step == 0;
    counting->supposed = MDF_LOWERED_NONE;
    *next = line.first;
    return done;
}

static bool find_state(struct counting *counting, mdf_lowered_id id, struct line *line)
{
    const struct loop *loop = counting->loop;
    const struct mdf_value *initial;
    double next, behind;
    size_t i;

    for (i = 0; i < loop->result->n_states && loop->result->states[i].parameter != id; i++) {
    }
    if (i == loop->result->n_states || counting->supposed != MDF_LOWERED_NONE ||
        !lowering_is_constant(loop->lowering, loop->result->states[i].initial)) {
        return false;
    }
    initial = lowering_example(loop->lowering, loop->result->states[i].initial);
    line->first = mdf_element_to_double((mdf_dtype)initial->dtype, initial->data);
    if (!follow(counting, i, line->first, &next) || !follow(counting, i, line->first + 1, &behind) || behind - next != 1) {
        return false;
    }
    line->step = next - line->first;
    return true;
}

/* The line that a scalar is; false: it is none. */
static bool find_line(struct counting *counting, mdf_lowered_id id, struct line *line)
{
    const struct lowering *lowering = counting->loop->lowering;
    const struct mdf_value *constant;
    struct maker maker;
    bool done;

    *line = (struct line){0, 0};
    if (id == MDF_LOWERED_NONE || !lowering->lowered->values[id].is_scalar || counting->n_steps-- <= 0) {
        return false;
    }
    if (lowering_is_constant(lowering, id)) {
        constant = lowering_example(lowering, id);
        line->first = constant->kind == MDF_KIND_TENSOR ? mdf_element_to_double((mdf_dtype)constant->dtype, constant->data) : NAN;
        return isfinite(line->first) && keep_exact(counting, id, line);
    }
    if (id == counting->supposed) {
        line->first = counting->value;
        return keep_exact(counting, id, line);
    }
    if (id == counting->loop->result->number) {
        line->step = 1;
        return counting->supposed == MDF_LOWERED_NONE && keep_exact(counting, id, line);
    }
    maker = find_maker(counting, id);
    done = maker.op == NULL                                                           ? find_state(counting, id, line)
           : maker.op->code == MDF_LOWERED_COPY || maker.op->code == MDF_LOWERED_CAST ? find_line(counting, maker.op->in[0], line)
           : maker.op->n_in == 2                                                      ? combine(counting, maker.op, line)
                                                                                      : false;
    return done && keep_exact(counting, id, line);
}

static double value_at(const struct line *line, double k)
{
    return line->first + line->step * k;
}

/* Whether a comparison of lines holds in run k; EQUAL is none of those that are asked about. */
static bool holds(enum mdf_lowered_code code, const struct line *a, const struct line *b, double k)
{
    double x = value_at(a, k), y = value_at(b, k);

    return code == MDF_LOWERED_LESS            ? x < y
           : code == MDF_LOWERED_LESS_EQUAL    ? x <= y
           : code == MDF_LOWERED_GREATER       ? x > y
           : code == MDF_LOWERED_GREATER_EQUAL ? x >= y
                                               : x != y;
}

static enum mdf_lowered_code opposite_of(enum mdf_lowered_code code)
{
    return code == MDF_LOWERED_LESS            ? MDF_LOWERED_GREATER_EQUAL
           : code == MDF_LOWERED_LESS_EQUAL    ? MDF_LOWERED_GREATER
           : code == MDF_LOWERED_GREATER       ? MDF_LOWERED_LESS_EQUAL
           : code == MDF_LOWERED_GREATER_EQUAL ? MDF_LOWERED_LESS
           : code == MDF_LOWERED_EQUAL         ? MDF_LOWERED_NOT_EQUAL
                                               : MDF_LOWERED_EQUAL;
}

/* The first run in which a comparison does not hold, or `never` where that is none of the first most_runs; false: that is not
 * found. The difference of two lines is one, so that it is where they meet, or beside. */
static bool compare(enum mdf_lowered_code code, const struct line *a, const struct line *b, uint64_t *first)
{
    double step = b->step - a->step, meet = (a->first - b->first) / step, k;

    *first = never;
    if (code == MDF_LOWERED_EQUAL) {
        return false;
    }
    if (!holds(code, a, b, 0)) {
        *first = 0;
        return true;
    }
    if (step == 0 || meet < 0 || meet > most_runs) {
        return true;
    }
    for (k = fmax(floor(meet) - 1, 0); k <= meet + 2; k++) {
        if (!holds(code, a, b, k)) {
            *first = (uint64_t)k;
            return true;
        }
    }
    return code == MDF_LOWERED_NOT_EQUAL; /* they meet between two runs */
}

/* Two conditions of which both have to hold (`and`), or one: a test that is one of the sides that it chooses from, or stands for
 * one. */
struct joint {
    bool is_and;
    mdf_lowered_id in[2];
};

static bool find_choice(const struct lowering *lowering, mdf_lowered_id test, mdf_lowered_id then, mdf_lowered_id otherwise,
                        struct joint *joint)
{
    bool is_or = then == test || (lowering_is_constant(lowering, then) && lowering_is_true(lowering, then));

    joint->is_and = otherwise == test || (lowering_is_constant(lowering, otherwise) && !lowering_is_true(lowering, otherwise));
    joint->in[0] = test;
    joint->in[1] = joint->is_and ? then : otherwise;
    return is_or != joint->is_and;
}

static bool find_joint(const struct lowering *lowering, const struct maker *maker, struct joint *joint)
{
    const struct mdf_lowered_op *op = maker->op;

    if (maker->merge != NULL) {
        return maker->merge->then != MDF_LOWERED_NONE && maker->merge->otherwise != MDF_LOWERED_NONE &&
               find_choice(lowering, op->of.branches->condition, maker->merge->then, maker->merge->otherwise, joint);
    }
    if (op->code == MDF_LOWERED_SELECT) {
        return op->dtype == MDF_DTYPE_BOOL && find_choice(lowering, op->in[0], op->in[1], op->in[2], joint);
    }
    *joint = (struct joint){op->code == MDF_LOWERED_AND, {op->in[0], op->in[1]}};
    return op->code == MDF_LOWERED_AND || op->code == MDF_LOWERED_OR;
}

static bool is_comparison(enum mdf_lowered_code code)
{
    return code == MDF_LOWERED_EQUAL || code == MDF_LOWERED_NOT_EQUAL || code == MDF_LOWERED_LESS ||
           code == MDF_LOWERED_LESS_EQUAL || code == MDF_LOWERED_GREATER || code == MDF_LOWERED_GREATER_EQUAL;
}

/* The first run in which a condition does not hold, or, if it is negated, does; false: that is not found. */
static bool find_end(struct counting *counting, mdf_lowered_id id, bool is_negated, uint64_t *first)
{
    const struct lowering *lowering = counting->loop->lowering;
    enum mdf_lowered_code code;
    struct maker maker;
    struct joint joint;
    struct line a, b;
    uint64_t other;

    if (id == MDF_LOWERED_NONE || counting->n_steps-- <= 0) {
        return false;
    }
    if (lowering_is_constant(lowering, id)) {
        const struct mdf_value *constant = lowering_example(lowering, id);

        if (constant->kind != MDF_KIND_TENSOR || constant->dtype != MDF_DTYPE_BOOL || constant->length != 1) {
            return false; /* a number that is made a truth, or none */
        }
        *first = lowering_is_true(lowering, id) != is_negated ? never : 0;
        return true;
    }
    maker = find_maker(counting, id);
    if (maker.op == NULL || !lowering->lowered->values[id].is_scalar) {
        return false;
    }
    code = (enum mdf_lowered_code)maker.op->code;
    if (code == MDF_LOWERED_COPY || code == MDF_LOWERED_NOT || (code == MDF_LOWERED_CAST && maker.op->dtype == MDF_DTYPE_BOOL)) {
        return find_end(counting, maker.op->in[0], is_negated != (code == MDF_LOWERED_NOT), first);
    }
    if (is_comparison(code)) {
        return find_line(counting, maker.op->in[0], &a) && find_line(counting, maker.op->in[1], &b) &&
               compare(is_negated ? opposite_of(code) : code, &a, &b, first);
    }
    if (!find_joint(lowering, &maker, &joint) || joint.is_and == is_negated ||
        !find_end(counting, joint.in[0], is_negated, first) || !find_end(counting, joint.in[1], is_negated, &other)) {
        return false;
    }
    *first = other < *first ? other : *first;
    return true;
}

size_t loop_count_runs(struct loop *loop, mdf_lowered_id goes_on, uint64_t trip_count)
{
    struct counting counting = {.loop = loop, .supposed = MDF_LOWERED_NONE, .most = most_runs, .n_steps = MOST_STEPS};
    uint64_t first, n;

    if (!find_end(&counting, goes_on, false, &first)) {
        return SIZE_MAX;
    }
    n = first < trip_count ? first + 1 : trip_count; /* the run that does not go on is one too */
    return n > 0 && (double)n <= counting.most ? (size_t)n : SIZE_MAX;
}
