/* condition_times.c - TimeInterval and TimeTermination: times with units as exact fractions of a millisecond, then, when all are
 * known, as whole numbers of a tick that divides every one of them. See docs/scheduling.md, Absolute time. */
#include "mdf_c/plan/conditions/conditions.h"

#include <string.h>

/* ------------------------------------------------------------------ units */

/* Units of time in milliseconds. */
static const struct {
    const char *names[4];
    int64_t numerator, denominator;
} units[] = {
    {{"second", "sec", "s", NULL}, 1000, 1},
    {{"minute", "min", NULL, NULL}, 60000, 1},
    {{"hour", "hr", "h", NULL}, 3600000, 1},
    {{"day", "d", NULL, NULL}, 86400000, 1},
    {{"week", NULL, NULL, NULL}, 604800000, 1},
    {{"fortnight", NULL, NULL, NULL}, 1209600000, 1},
    {{"month", NULL, NULL, NULL}, 2629800000, 1}, /* a twelfth of a year */
    {{"year", "yr", "a", "julian_year"}, 31557600000, 1},
};

/* Prefixes of the second, as a word and as a letter, and their powers of ten. */
static const struct {
    const char *word, *letter;
    int power;
} prefixes[] = {
    {"atto", "a", -18}, {"femto", "f", -15},       {"pico", "p", -12},        {"nano", "n", -9},
    {"micro", "u", -6}, {"micro", "\xc2\xb5", -6}, {"micro", "\xce\xbc", -6}, {"milli", "m", -3},
    {"centi", "c", -2}, {"deci", "d", -1},         {"deca", "da", 1},         {"hecto", "h", 2},
    {"kilo", "k", 3},   {"mega", "M", 6},          {"giga", "G", 9},          {"tera", "T", 12},
};

/* Whether text[0 .. length) is the name of unit number `unit`, or its plural. */
static bool is_unit(const char *text, size_t length, size_t unit)
{
    for (size_t i = 0; i < 4 && units[unit].names[i] != NULL; i++) {
        size_t n = strlen(units[unit].names[i]);

        if (length >= n && memcmp(text, units[unit].names[i], n) == 0 &&
            (length == n || (length == n + 1 && n > 2 && text[n] == 's'))) {
            return true;
        }
    }
    return false;
}

/* A prefixed second: "ms", "microseconds", "kilosec". */
static bool find_prefixed(const char *text, size_t length, struct mdf_rational *factor)
{
    struct mdf_rational power = {1000, 1};
    const struct mdf_rational ten = {10, 1}, tenth = {1, 10};

    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        for (size_t turn = 0; turn < 2; turn++) {
            const char *prefix = turn == 0 ? prefixes[i].word : prefixes[i].letter;
            size_t n = strlen(prefix);

            if (length <= n || memcmp(text, prefix, n) != 0 || !is_unit(text + n, length - n, 0)) {
                continue;
            }
            for (int left = prefixes[i].power; left != 0; left += left < 0 ? 1 : -1) {
                mdf_rational_multiply(power, left < 0 ? tenth : ten, &power); /* fits: at most 10^15 either way */
            }
            *factor = power;
            return true;
        }
    }
    return false;
}

static bool find_unit(const char *text, size_t length, struct mdf_rational *factor)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (is_unit(text, length, i)) {
            return mdf_rational_make(units[i].numerator, units[i].denominator, factor);
        }
    }
    return find_prefixed(text, length, factor);
}

/* ------------------------------------------------------------------ times as they are written */

static const char no_time[] = "a time is a number, or a text like \"20 ms\"";

static bool bad_time(struct condition_builder *builder, const struct condition_call *call, const struct mdf_node *node,
                     const char *formal, const char *why)
{
    const char *text = node->kind == MDF_NODE_STRING ? node->as.string.bytes : mdf_node_describe(node);

    return condition_fault(builder, call, node, "'%s', %.80s, can not be read as a time: %s", formal, text, why);
}

/* "50 us": a number, then a unit; where one of them is not there, 1, or `factor`. */
static bool parse_time(const char *text, struct mdf_rational *factor, struct mdf_rational *number, const char **why)
{
    size_t length = strlen(text), n_number;

    for (; length > 0 && text[0] == ' '; text++, length--) {
    }
    for (; length > 0 && text[length - 1] == ' '; length--) {
    }
    n_number = strspn(text, "+-.0123456789");
    if (n_number < length && (text[n_number] == 'e' || text[n_number] == 'E') &&
        strspn(text + n_number + 1, "+-0123456789") > 0) {
        n_number += 1 + strspn(text + n_number + 1, "+-0123456789");
    }
    n_number = n_number < length ? n_number : length;
    if (n_number > 0 && !mdf_rational_parse(text, n_number, number)) {
        *why = "the number is malformed, or has too many digits to be counted exactly";
        return false;
    }
    text += n_number;
    length -= n_number;
    for (; length > 0 && (text[0] == ' ' || text[0] == '*'); text++, length--) {
    }
    if (n_number == 0 && length == 0) {
        *why = no_time;
        return false;
    }
    if (length > 0 && !find_unit(text, length, factor)) {
        *why = "the unit is not one of time: s, ms, us, ns, minute, hour, day, or their full names";
        return false;
    }
    return true;
}

/* A time argument in milliseconds. *is_given stays as it is where it is not given. */
static bool read_time(struct condition_builder *builder, const struct condition_call *call, const char *formal,
                      struct mdf_rational unit, struct mdf_rational *time, bool *is_given)
{
    const struct mdf_node *node = condition_argument(call, formal);
    struct mdf_rational number = {1, 1};
    char text[MDF_NUMBER_TEXT_SIZE];
    const char *why = no_time;
    bool done = false;

    if (node == NULL) {
        return true;
    }
    if (node->kind == MDF_NODE_INT) {
        done = mdf_rational_make(node->as.integer, 1, &number);
    } else if (node->kind == MDF_NODE_REAL) {
        done = mdf_rational_parse(text, mdf_format_float64(node->as.real, text), &number);
    } else if (node->kind == MDF_NODE_STRING) {
        done = parse_time(node->as.string.bytes, &unit, &number, &why);
    }
    if (done && !mdf_rational_multiply(number, unit, time)) {
        why = "it is too large, or too fine, to be counted exactly";
        done = false;
    }
    *is_given = true;
    return done || bad_time(builder, call, node, formal, why);
}

/* The unit of numbers without one; milliseconds unless it is given. */
static bool read_unit(struct condition_builder *builder, const struct condition_call *call, struct mdf_rational *unit)
{
    const struct mdf_node *node = condition_argument(call, "unit");

    *unit = (struct mdf_rational){1, 1};
    if (node == NULL) {
        return true;
    }
    if (node->kind != MDF_NODE_STRING || !find_unit(node->as.string.bytes, node->as.string.length, unit)) {
        return condition_fault(builder, call, node, "'unit', %.80s, is not a unit of time: s, ms, us, ns, minute, hour, day, ...",
                               node->kind == MDF_NODE_STRING ? node->as.string.bytes : mdf_node_describe(node));
    }
    return true;
}

static bool add_timing(struct condition_builder *builder, const struct timing *timing)
{
    struct mdf_condition *condition = condition_add(builder, MDF_CONDITION_TIME);

    if (condition == NULL) {
        return false;
    }
    condition->index = (uint32_t)builder->timings.n;
    return list_add(builder->compiler, &builder->timings, timing, sizeof *timing);
}

static bool is_later(struct mdf_rational a, struct mdf_rational b)
{
    int64_t left, right;

    if (__builtin_mul_overflow(a.numerator, b.denominator, &left) || __builtin_mul_overflow(b.numerator, a.denominator, &right)) {
        return false; /* the tick will not fit either, and that is told */
    }
    return left > right;
}

bool build_time_interval(struct condition_builder *builder, const struct condition_call *call)
{
    struct timing timing = {.start_is_inclusive = true, .end_is_inclusive = true, .owner = builder->owner};
    struct mdf_rational unit;

    if (!read_unit(builder, call, &unit) || !read_time(builder, call, "repeat", unit, &timing.repeat, &timing.has_repeat) ||
        !read_time(builder, call, "start", unit, &timing.start, &timing.has_start) ||
        !read_time(builder, call, "end", unit, &timing.end, &timing.has_end) ||
        !condition_flag(builder, call, "start_inclusive", &timing.start_is_inclusive) ||
        !condition_flag(builder, call, "end_inclusive", &timing.end_is_inclusive)) {
        return false;
    }
    if (!timing.has_repeat && !timing.has_start && !timing.has_end) {
        return condition_fault(builder, call, NULL, "one of 'repeat', 'start' and 'end' must be given");
    }
    if (timing.has_repeat && timing.repeat.numerator <= 0) {
        return condition_fault(builder, call, condition_argument(call, "repeat"), "'repeat' must be positive");
    }
    if (timing.has_start && timing.has_end && is_later(timing.start, timing.end)) {
        return condition_fault(builder, call, condition_argument(call, "start"), "'start' is later than 'end'");
    }
    return add_timing(builder, &timing);
}

bool build_time_termination(struct condition_builder *builder, const struct condition_call *call)
{
    struct timing timing = {.start_is_inclusive = true, .owner = builder->owner};
    struct mdf_rational unit;

    return read_unit(builder, call, &unit) && read_time(builder, call, "t", unit, &timing.start, &timing.has_start) &&
           condition_flag(builder, call, "inclusive", &timing.start_is_inclusive) && add_timing(builder, &timing);
}

/* ------------------------------------------------------------------ which times set the clock */

/* What the conditions of a graph say together about absolute time. */
struct time_base {
    bool is_absolute; /* some condition is seen to be one of time */
    bool is_exact;    /* sets meet starts and ends too, not repeats alone */
    bool has_step, has_start;
    struct mdf_rational step;     /* the largest time that divides all that sets must meet; 0 where that is 0 alone */
    struct mdf_rational start;    /* the earliest time that is of interest */
    struct mdf_rational tick;     /* divides all times, and the time of a set */
    struct mdf_rational interval; /* the time of a set */
};

static bool too_far_apart(struct condition_builder *builder)
{
    compile_error(builder->compiler, MDF_LIMIT,
                  "the times of the conditions are too large and too fine to be counted together exactly");
    return false;
}

static void take_earlier(struct mdf_rational time, bool *has_start, struct mdf_rational *start)
{
    if (!*has_start || is_later(*start, time)) {
        *start = time;
    }
    *has_start = true;
}

/* A time that sets must meet. */
static bool meet(struct time_base *base, struct mdf_rational time)
{
    time.numerator = time.numerator < 0 ? -time.numerator : time.numerator;
    if (!base->has_step || base->step.numerator == 0) {
        base->step = time;
        base->has_step = true;
        return true;
    }
    return time.numerator == 0 || mdf_rational_gcd(base->step, time, &base->step);
}

static bool meet_bounds(struct time_base *base, const struct timing *timing)
{
    return (!timing->has_start || !timing->start_is_inclusive || meet(base, timing->start)) &&
           (!timing->has_end || !timing->end_is_inclusive || meet(base, timing->end));
}

/* The conditions of time within All and Any; those within Not and NWhen are not seen. */
static bool scan_root(struct condition_builder *builder, uint32_t root, struct time_base *base)
{
    const struct mdf_condition *conditions = builder->conditions.items;
    struct mdf_rational earliest = {0, 1};
    bool has_earliest = false, is_absolute = false;
    uint32_t i = root;

    while (i < conditions[root].end) {
        const struct mdf_condition *condition = &conditions[i];
        const struct timing *timing;

        i = condition->kind == MDF_CONDITION_ALL || condition->kind == MDF_CONDITION_ANY ? i + 1 : condition->end;
        if (condition->kind != MDF_CONDITION_TIME) {
            continue;
        }
        timing = (const struct timing *)builder->timings.items + condition->index;
        is_absolute = true;
        if ((timing->has_repeat && !meet(base, timing->repeat)) || (base->is_exact && !meet_bounds(base, timing))) {
            return too_far_apart(builder);
        }
        if (timing->has_start && timing->start_is_inclusive) {
            take_earlier(timing->start, &has_earliest, &earliest);
        }
        if (timing->has_end && timing->end_is_inclusive) {
            take_earlier(timing->end, &has_earliest, &earliest);
        }
    }
    if (is_absolute) {
        take_earlier(earliest, &base->has_start, &base->start);
        base->is_absolute = true;
    }
    return true;
}

static bool divide_tick(struct time_base *base, bool has_time, struct mdf_rational time)
{
    return !has_time || time.numerator == 0 || mdf_rational_gcd(base->tick, time, &base->tick);
}

/* A set takes the common divisor of what sets must meet over the number of layers, so that a pass takes it whole; 1 ms where
 * there is nothing to meet. */
static bool choose_tick(struct condition_builder *builder, struct time_base *base, size_t n_layers)
{
    const struct mdf_rational one = {1, 1};
    struct mdf_rational share;

    base->interval = one;
    if (base->has_step && (!mdf_rational_make(1, n_layers > 0 ? (int64_t)n_layers : 1, &share) ||
                           !mdf_rational_multiply(base->step, share, &base->interval))) {
        return too_far_apart(builder);
    }
    base->tick = base->interval.numerator > 0 ? base->interval : one;
    for (size_t i = 0; i < builder->timings.n; i++) {
        const struct timing *timing = (const struct timing *)builder->timings.items + i;

        if (!divide_tick(base, timing->has_repeat, timing->repeat) || !divide_tick(base, timing->has_start, timing->start) ||
            !divide_tick(base, timing->has_end, timing->end)) {
            return too_far_apart(builder);
        }
    }
    return true;
}

/* ------------------------------------------------------------------ ticks */

/* Of each node the number of its layer. */
static int64_t *number_layers(struct condition_builder *builder, const struct mdf_program *program)
{
    int64_t *numbers = mdf_arena_array(&builder->compiler->scratch, program->n_nodes, sizeof *numbers);

    for (size_t i = 0; numbers != NULL && i < program->n_layers; i++) {
        for (size_t j = 0; j < program->layers[i].n_nodes; j++) {
            numbers[program->layers[i].nodes[j]] = (int64_t)i;
        }
    }
    return numbers;
}

/* The whole number of ticks in a time; room is left for a tick more and for counting on. */
static bool count_ticks(struct mdf_rational time, const struct time_base *base, int64_t *n_ticks)
{
    return mdf_rational_count(time, base->tick, n_ticks) && *n_ticks < INT64_MAX / 4 && *n_ticks > INT64_MIN / 4;
}

/* The window of a condition; a repeat counts from the start where all nodes are in one layer, else from when the owner's layer
 * is first looked at. */
static bool make_window(const struct timing *timing, const struct time_base *base, size_t n_layers, const int64_t *layers,
                        struct mdf_time_window *window)
{
    int64_t interval;

    *window = (struct mdf_time_window){INT64_MIN, INT64_MAX, 0, 0};
    if ((timing->has_start && !count_ticks(timing->start, base, &window->first)) ||
        (timing->has_end && !count_ticks(timing->end, base, &window->last)) ||
        (timing->has_repeat && !count_ticks(timing->repeat, base, &window->repeat)) ||
        !count_ticks(base->interval, base, &interval)) {
        return false;
    }
    if (n_layers <= 1 && timing->has_start) {
        window->offset = window->first;
    } else if (timing->owner != SIZE_MAX && __builtin_mul_overflow(interval, layers[timing->owner], &window->offset)) {
        return false;
    }
    window->first += timing->has_start && !timing->start_is_inclusive;
    window->last -= timing->has_end && !timing->end_is_inclusive;
    return true;
}

static double in_ms(struct mdf_rational time)
{
    return (double)time.numerator / (double)time.denominator;
}

static bool scan_roots(struct condition_builder *builder, struct time_base *base)
{
    for (size_t i = 0; i < builder->graph->graph->n_nodes; i++) {
        if (!scan_root(builder, builder->nodes[i].condition, base)) {
            return false;
        }
    }
    for (size_t i = 0; i < builder->terminations.n; i++) {
        if (!scan_root(builder, ((const uint32_t *)builder->terminations.items)[i], base)) {
            return false;
        }
    }
    return true;
}

bool condition_finish_times(struct condition_builder *builder, struct mdf_schedule *schedule, const struct mdf_program *program)
{
    int64_t *layers = number_layers(builder, program);
    struct time_base base = {.is_exact = builder->graph->is_exact};

    schedule->times = mdf_arena_array(builder->compiler->arena, builder->timings.n, sizeof *schedule->times);
    if (schedule->times == NULL || layers == NULL) {
        compile_out_of_memory(builder->compiler);
        return false;
    }
    if (!scan_roots(builder, &base) || !choose_tick(builder, &base, program->n_layers)) {
        return false;
    }
    for (size_t i = 0; i < builder->timings.n; i++) {
        if (!make_window((const struct timing *)builder->timings.items + i, &base, program->n_layers, layers,
                         &schedule->times[i])) {
            return too_far_apart(builder);
        }
    }
    schedule->is_absolute = base.is_absolute;
    schedule->tick_ms = in_ms(base.tick);
    return (count_ticks(base.interval, &base, &schedule->interval) &&
            (!base.has_start || count_ticks(base.start, &base, &schedule->start))) ||
           too_far_apart(builder);
}
