/* lower_range.c - what is known of whole numbers before they are computed: between which numbers they lie, and how far one is
 * from another. See lowering.h.
 *
 * A number is followed back through the ops that make it, to the numbers of loops and to constants. */
#include "mdf_c/lower/lowering.h"

#include "mdf_c/base/sizes.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/tensor/dtype.h"

enum { MOST_OPS = 12 }; /* that are followed */

/* Larger ones are not looked at: so sums of a few do not pass the ends of int64. */
static const int64_t largest_number = INT64_C(1) << 60;

const struct mdf_lowered_op *lowering_maker(const struct lowering *lowering, mdf_lowered_id id)
{
    const struct region *region = lowering->facts[id].region;
    size_t at =
        region == NULL || lowering->region == NULL || lowering->facts[id].depth > lowering->region->depth ? 0 : region->n_ops;

    while (at-- > 0) {
        if (region->ops[at].code < MDF_LOWERED_PUT && region->ops[at].out == id) {
            return &region->ops[at];
        }
    }
    return NULL;
}

static bool is_whole_number(const struct lowering *lowering, mdf_lowered_id id)
{
    const struct mdf_lowered_value *value = &lowering->lowered->values[id];

    return value->is_scalar && (value->form.dtype == MDF_DTYPE_INT64 || value->form.dtype == MDF_DTYPE_INT32);
}

static bool find_constant(const struct lowering *lowering, mdf_lowered_id id, int64_t *number)
{
    const struct mdf_value *form = &lowering->lowered->values[id].form;

    if (!lowering_is_constant(lowering, id) || !is_whole_number(lowering, id)) {
        return false;
    }
    *number = form->dtype == MDF_DTYPE_INT64 ? *(const int64_t *)form->data : *(const int32_t *)form->data;
    return *number >= -largest_number && *number <= largest_number;
}

static bool multiply_ranges(const struct lowering_range *a, const struct lowering_range *b, struct lowering_range *result)
{
    static const int64_t most = INT64_C(1) << 30; /* of one of them; the other one has twice as many bits at most */

    if (a->low < 0 || b->low < 0 || (b->high > 0 && a->high > largest_number / b->high) || (a->high > most && b->high > most)) {
        return false;
    }
    *result = (struct lowering_range){a->low * b->low, a->high * b->high};
    return true;
}

/* Of an op on two numbers that are known to lie in ranges. */
static bool combine_ranges(enum mdf_lowered_code code, const struct lowering_range *a, const struct lowering_range *b,
                           struct lowering_range *result)
{
    switch ((int)mdf_lowered_wrapping(code)) {
    case MDF_LOWERED_ADD:
        *result = (struct lowering_range){a->low + b->low, a->high + b->high};
        return true;
    case MDF_LOWERED_SUBTRACT:
        *result = (struct lowering_range){a->low - b->high, a->high - b->low};
        return true;
    case MDF_LOWERED_MULTIPLY:
        return multiply_ranges(a, b, result);
    case MDF_LOWERED_QUOTIENT:
    case MDF_LOWERED_FLOOR_QUOTIENT:
        *result = (struct lowering_range){0, a->high};
        return a->low >= 0 && b->low > 0;
    case MDF_LOWERED_REMAINDER:
    case MDF_LOWERED_FLOOR_REMAINDER:
        *result = (struct lowering_range){0, b->high - 1};
        return (a->low >= 0 || code == MDF_LOWERED_FLOOR_REMAINDER) && b->low > 0;
    default:
        return false;
    }
}

static bool find_range(const struct lowering *lowering, mdf_lowered_id id, unsigned *n_left, struct lowering_range *range)
{
    const struct mdf_lowered_op *op;
    struct lowering_range a, b;
    size_t first;

    if (find_constant(lowering, id, &range->low)) {
        range->high = range->low;
        return true;
    }
    if (lowering->facts[id].is_number) {
        *range = (struct lowering_range){0, mdf_smaller(lowering->facts[id].most, largest_number / MOST_OPS)};
        return true;
    }
    op = is_whole_number(lowering, id) && *n_left > 0 ? lowering_maker(lowering, id) : NULL;
    if (op == NULL) {
        return false;
    }
    (*n_left)--;
    first = op->code == MDF_LOWERED_SELECT; /* its first operand is a truth */
    if (!find_range(lowering, op->in[first], n_left, &a)) {
        return false;
    }
    if (op->code == MDF_LOWERED_COPY || op->code == MDF_LOWERED_CAST) {
        *range = a;
    } else if (op->n_in != first + 2 || !find_range(lowering, op->in[first + 1], n_left, &b)) {
        return false;
    } else if (op->code == MDF_LOWERED_SELECT) {
        *range = (struct lowering_range){mdf_smaller(a.low, b.low), mdf_larger(a.high, b.high)};
    } else if (!combine_ranges((enum mdf_lowered_code)op->code, &a, &b, range)) {
        return false;
    }
    return lowering->lowered->values[id].form.dtype == MDF_DTYPE_INT64 || (range->low >= INT32_MIN && range->high <= INT32_MAX);
}

bool lowering_find_range(const struct lowering *lowering, mdf_lowered_id id, struct lowering_range *range)
{
    unsigned n_left = MOST_OPS;

    return find_range(lowering, id, &n_left, range) && range->low >= -largest_number && range->high <= largest_number;
}

/* The number that another one is made of by adding *offset; NONE: it is *offset. */
static mdf_lowered_id find_base(const struct lowering *lowering, mdf_lowered_id id, int64_t *offset)
{
    *offset = 0;
    for (unsigned i = 0; i < MOST_OPS; i++) {
        const struct mdf_lowered_op *op;
        enum mdf_lowered_code code;
        int64_t number;
        bool is_first; /* it is the first operand that something is added to */

        if (find_constant(lowering, id, &number)) {
            *offset += number;
            return MDF_LOWERED_NONE;
        }
        op = lowering_maker(lowering, id);
        if (op == NULL || (op->n_in > 1 && !find_constant(lowering, op->in[1], &number) &&
                           (op->code == MDF_LOWERED_SUBTRACT || !find_constant(lowering, op->in[0], &number)))) {
            return id;
        }
        code = mdf_lowered_wrapping(op->code);
        is_first = op->n_in == 1 || lowering_is_constant(lowering, op->in[1]);
        if (code != MDF_LOWERED_COPY && code != MDF_LOWERED_ADD && (code != MDF_LOWERED_SUBTRACT || !is_first)) {
            return id;
        }
        *offset += code == MDF_LOWERED_COPY ? 0 : code == MDF_LOWERED_ADD ? number : -number;
        id = op->in[!is_first];
        if (*offset < -largest_number || *offset > largest_number) {
            return id;
        }
    }
    return id;
}

bool lowering_find_difference(const struct lowering *lowering, mdf_lowered_id a, mdf_lowered_id b, int64_t *difference)
{
    struct lowering_range range;
    int64_t from, to;

    if (!lowering_find_range(lowering, a, &range) || !lowering_find_range(lowering, b, &range) ||
        find_base(lowering, a, &to) != find_base(lowering, b, &from)) {
        return false;
    }
    *difference = to - from;
    return true;
}
