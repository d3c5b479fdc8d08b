/* sweep_values.c - values in a sweep file: a list of numbers or of arrays, or a range that says how to make them. */
#include "mdf_c/cli/sweep/sweep_file.h"

#include "mdf_c/values/values.h"

#include <math.h>
#include <string.h>

/* More are taken for a slip of the pen. */
#define MOST_VALUES 100000000.0

/* The three numbers of a range. */
struct range {
    const struct mdf_node *node; /* the list of them */
    double from, to, third;
    bool is_whole; /* all three are integers */
};

static bool fault(const struct mdf_document *document, const struct mdf_node *node, const char *name, const char *why,
                  mdf_error *error)
{
    mdf_node_error(document, node, error, MDF_VALUE, "the values of '%s': %s", name, why);
    return false;
}

static double linear(const struct range *range, size_t i, size_t n)
{
    double step = (range->to - range->from) / (double)(n - 1);

    return i + 1 == n ? range->to : (double)i * step + range->from;
}

static double geometric(const struct range *range, size_t i, size_t n)
{
    return i == 0       ? range->from
           : i + 1 == n ? range->to
                        : range->from * pow(range->to / range->from, (double)i / (double)(n - 1));
}

static double stepwise(const struct range *range, size_t i, size_t n)
{
    (void)n;
    return range->from + (double)i * range->third;
}

/* How many values; NULL, or what is wrong. */
static const char *count_points(const struct range *range, double *n)
{
    *n = range->third;
    return *n >= 1 && *n == floor(*n) ? NULL : "the third number says how many values, so it must be a whole one, at least 1";
}

static const char *count_geometric(const struct range *range, double *n)
{
    return range->from * range->to > 0 ? count_points(range, n) : "geomspace needs two ends of the same sign, neither of them 0";
}

static const char *count_steps(const struct range *range, double *n)
{
    *n = ceil((range->to - range->from) / range->third);
    return *n >= 1 ? NULL
                   : "the range is empty: the third number is the step from the first towards the second, which is left out";
}

static const struct range_kind {
    const char *name;
    const char *(*count)(const struct range *range, double *n);
    double (*value)(const struct range *range, size_t i, size_t n);
    bool keeps_integers;
} range_kinds[] = {{"linspace", count_points, linear, false},
                   {"geomspace", count_geometric, geometric, false},
                   {"range", count_steps, stepwise, true}};

enum { N_RANGE_KINDS = sizeof range_kinds / sizeof *range_kinds };

bool is_sweep_range(const struct mdf_node *node)
{
    for (size_t i = 0; node->kind == MDF_NODE_OBJECT && node->as.object.n == 1 && i < N_RANGE_KINDS; i++) {
        if (strcmp(range_kinds[i].name, node->as.object.entries[0].key) == 0) {
            return true;
        }
    }
    return false;
}

static bool read_number(const struct mdf_node *node, double *number, bool *is_whole)
{
    *is_whole = *is_whole && node->kind == MDF_NODE_INT;
    *number = node->kind == MDF_NODE_INT ? (double)node->as.integer : node->kind == MDF_NODE_REAL ? node->as.real : NAN;
    return isfinite(*number);
}

static bool read_range(const struct mdf_node *node, struct range *range)
{
    struct mdf_node items[3];

    range->node = node;
    range->is_whole = true;
    for (size_t i = 0; i < 3; i++) {
        if (!mdf_node_item(node, i, &items[i])) {
            return false;
        }
    }
    return mdf_node_length(node) == 3 && read_number(&items[0], &range->from, &range->is_whole) &&
           read_number(&items[1], &range->to, &range->is_whole) && read_number(&items[2], &range->third, &range->is_whole);
}

static bool make_range(struct mdf_memory *memory, const struct mdf_document *document, const struct range_kind *kind,
                       const struct mdf_node *node, const char *name, struct mdf_value *values, mdf_error *error)
{
    struct range range;
    const char *wrong;
    bool is_whole;
    int64_t length;
    void *elements;
    double n;

    if (!read_range(node, &range)) {
        return fault(document, node, name, "a range is a list of three numbers, as {linspace: [0, 1, 11]} or {range: [0, 10, 2]}",
                     error);
    }
    wrong = kind->count(&range, &n);
    if (wrong != NULL || n > MOST_VALUES) {
        return fault(document, node, name, wrong != NULL ? wrong : "there are more than a hundred million", error);
    }
    is_whole = kind->keeps_integers && range.is_whole;
    length = (int64_t)n;
    elements = mdf_value_make_tensor(memory, values, is_whole ? MDF_DTYPE_INT64 : MDF_DTYPE_FLOAT64, 1, &length);
    if (elements == NULL) {
        mdf_memory_error(memory, error);
        return false;
    }
    for (size_t i = 0; i < (size_t)length; i++) {
        double value = length == 1 ? range.from : kind->value(&range, i, (size_t)length);

        if (is_whole) {
            ((int64_t *)elements)[i] = (int64_t)value;
        } else {
            ((double *)elements)[i] = value;
        }
    }
    values->strength = MDF_STRENGTH_LITERAL;
    return true;
}

static bool unknown_range(const struct mdf_document *document, const struct mdf_node *node, const char *name, mdf_error *error)
{
    struct mdf_nearest nearest;
    const char *guess = NULL;

    if (node->as.object.n == 1) {
        mdf_nearest_begin(&nearest, node->as.object.entries[0].key);
        for (size_t i = 0; i < N_RANGE_KINDS; i++) {
            mdf_nearest_offer(&nearest, range_kinds[i].name);
        }
        guess = mdf_nearest_result(&nearest);
    }
    mdf_node_error(
        document, node, error, MDF_VALUE,
        "the values of '%s': an object must be one of {linspace: [from, to, how many]}, {geomspace: [from, to, how many]}, "
        "{range: [from, to, step]}, {type: ..., data: ...}, or, of a parameter, {uniform: [from, to]}, {normal: [mean, "
        "deviation]}, {lognormal: [mean, deviation]}",
        name);
    mdf_error_suggest(error, guess);
    return false;
}

static const struct {
    const char *name;
    mdf_distribution_kind kind;
} distributions[] = {
    {"uniform", MDF_DISTRIBUTION_UNIFORM}, {"normal", MDF_DISTRIBUTION_NORMAL}, {"lognormal", MDF_DISTRIBUTION_LOGNORMAL}};

enum { N_DISTRIBUTIONS = sizeof distributions / sizeof *distributions };

bool read_sweep_distribution(const struct mdf_document *document, const struct mdf_node *node, const char *name,
                             mdf_distribution *distribution, bool *is_one, mdf_error *error)
{
    const struct mdf_node *numbers = NULL;
    struct mdf_node first, second;
    bool is_whole = true;

    for (size_t i = 0; node->kind == MDF_NODE_OBJECT && node->as.object.n == 1 && i < N_DISTRIBUTIONS && numbers == NULL; i++) {
        numbers = mdf_node_get(node, distributions[i].name);
        distribution->kind = distributions[i].kind;
    }
    *is_one = numbers != NULL;
    return numbers == NULL ||
           (mdf_node_length(numbers) == 2 && mdf_node_item(numbers, 0, &first) && mdf_node_item(numbers, 1, &second) &&
            read_number(&first, &distribution->a, &is_whole) && read_number(&second, &distribution->b, &is_whole)) ||
           fault(document, node, name, "a distribution is a list of two numbers, as {uniform: [0, 1]} or {normal: [0, 1]}",
                 error);
}

bool read_sweep_values(struct mdf_memory *memory, const struct mdf_document *document, const struct mdf_node *node,
                       const char *name, struct mdf_value *values, mdf_error *error)
{
    struct mdf_value read = {0};

    if (node->kind == MDF_NODE_OBJECT && mdf_node_get(node, "data") == NULL) {
        for (size_t i = 0; i < N_RANGE_KINDS; i++) {
            const struct mdf_node *range = mdf_node_get(node, range_kinds[i].name);

            if (range != NULL && node->as.object.n == 1) {
                return make_range(memory, document, &range_kinds[i], range, name, values, error);
            }
        }
        return unknown_range(document, node, name, error);
    }
    if (mdf_read_value(memory, document, node, &read, error) != MDF_OK) {
        mdf_value_clear(memory, &read);
        return false;
    }
    if (read.kind != MDF_KIND_TENSOR || read.dtype == MDF_DTYPE_STRING || read.rank == 0 || mdf_value_shape(&read)[0] == 0) {
        mdf_value_clear(memory, &read);
        return fault(document, node, name,
                     "they must be a list of numbers, or of arrays of one shape; of one value write [value]", error);
    }
    mdf_value_swap(values, &read);
    return true;
}
