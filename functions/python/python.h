/* python.h - what the compiler of expressions and the evaluator need to know of Python's values besides the operator rows.
 *
 * Numbers are rank-0 arrays of strength PYTHON (bool, int64, a real); tuples and lists are both of kind LIST, strings are rank-0
 * string arrays, objects have string keys. Whole numbers past 64 bits are float64. A range is an array of rank 1 of strength
 * PYTHON, whose items are Python ints. */
#ifndef MDF_FUNCTIONS_PYTHON_H
#define MDF_FUNCTIONS_PYTHON_H

#include "functions/kernel/operator.h"

/* What stands at one place of a subscript "x[1, a:b, ..., None]". */
enum mdf_subscript_kind {
    MDF_SUBSCRIPT_INDEX, /* consumes one operand: a number, an array or a list of indices, a mask, a key, None */
    MDF_SUBSCRIPT_SLICE, /* consumes one operand for each of start, stop and step that is there */
    MDF_SUBSCRIPT_ELLIPSIS,
    MDF_SUBSCRIPT_NEWAXIS
};

struct mdf_subscript_part {
    enum mdf_subscript_kind kind;
    bool has_start, has_stop, has_step;
};

/* So many values, or fewer, `sorted` brings in order by exchanging neighbours: what it makes of NaN is the same wherever it runs.
 */
enum { MDF_SORTED_BY_NEIGHBOURS = 12 };

/* The settings of "operator.getitem", filled by the compiler. Operand 0 is the object; the parts consume the others in order. */
struct mdf_subscript {
    const struct mdf_subscript_part *parts;
    size_t n_parts;
    bool is_tuple; /* has commas, or is "()": such a subscript is none of a list, string or object */
};

/* Whether a value can be gone through item by item: a list, an array of rank 1 or more, a string, an object (its keys). */
bool mdf_python_is_iterable(const struct mdf_value *value);
/* Number of items of such a value; of anything else 0. */
size_t mdf_python_length(const struct mdf_value *value);
/* `item` becomes item number `i` of `iterable`, which must be there. False: out of memory. */
bool mdf_python_item(struct mdf_memory *memory, struct mdf_value *item, const struct mdf_value *iterable, size_t i);

/* The value of "math.pi", "numpy.inf" and the like; false where the name is none of them. */
bool mdf_python_constant(const char *dotted_name, double *value);

/* The function of an array and a number that makes of the number an array as the other one is. */
const struct mdf_operator *mdf_python_full_like(void);

#endif
