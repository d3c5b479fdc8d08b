/* element.h - functions of elements: what elements.def says of them, for those who ask at run time. See docs/elements.md.
 *
 * The row of an operator that computes one points at it (struct mdf_operator, `element`); who lowers, writes or differentiates an
 * operator asks that, and knows no names. */
#ifndef MDF_FUNCTIONS_ELEMENTS_ELEMENT_H
#define MDF_FUNCTIONS_ELEMENTS_ELEMENT_H

#include "functions/elements/elementwise.h"
#include "functions/kernel/operator.h"

enum mdf_element_id {
#define FUNCTION(id, base, n_operands) MDF_ELEMENT_##id,
#include "functions/elements/elements.def"
    MDF_ELEMENT_COUNT
};

/* Kinds of elements, as sets. */
enum {
    MDF_ELEMENTS_FLOAT32 = 1,
    MDF_ELEMENTS_FLOAT64 = 2,
    MDF_ELEMENTS_SIGNED = 4,
    MDF_ELEMENTS_UNSIGNED = 8,
    MDF_ELEMENTS_BOOL = 16,
    MDF_ELEMENTS_HALVES = 32, /* float16 and bfloat16, which are moved and chosen */
    MDF_ELEMENTS_REALS = MDF_ELEMENTS_FLOAT32 | MDF_ELEMENTS_FLOAT64,
    MDF_ELEMENTS_WHOLE = MDF_ELEMENTS_SIGNED | MDF_ELEMENTS_UNSIGNED,
    MDF_ELEMENTS_NUMBERS = MDF_ELEMENTS_REALS | MDF_ELEMENTS_WHOLE,
    MDF_ELEMENTS_ALL = MDF_ELEMENTS_NUMBERS | MDF_ELEMENTS_BOOL
};

struct mdf_element {
    enum mdf_element_id id;
    const struct mdf_element *base; /* what is not said of the function is as for this one; NULL: none */
    size_t n_operands;
};

/* What a function is for elements of some kinds. */
struct mdf_element_form {
    enum mdf_element_id id;
    unsigned kinds;
    const char *text;    /* the expression, as elements.def has it */
    const char *refused; /* a condition under which it has no result; NULL: never */
    const char *why;
};

/* What the operators of functions with attributes have as such, each some of them. */
struct mdf_element_settings {
    double alpha, beta, gamma, bias, lambd;
    const char *approximate;
};
extern const struct mdf_setting mdf_element_setting_rows[];

extern const struct mdf_element mdf_elements[MDF_ELEMENT_COUNT];
extern const struct mdf_operation mdf_element_operations[MDF_ELEMENT_COUNT];

#define MDF_ELEMENT(id) (&mdf_elements[MDF_ELEMENT_##id])

/* The kind of a type; 0: none of the above. */
unsigned mdf_element_kind(mdf_dtype dtype);
/* The function of elements that an operator computes with these attributes; NULL: none. */
const struct mdf_element *mdf_element_of(const struct mdf_operator *operator, const void * settings);
/* The form of a function for elements of a type; NULL: it has none. */
const struct mdf_element_form *mdf_element_form(const struct mdf_element *element, mdf_dtype dtype);
/* Whether it is the same truth for all elements of a type: no whole number is NaN. */
bool mdf_element_is_constant(const struct mdf_element *element, mdf_dtype dtype);
/* The function of the first operand that a function of two reals is where the second is this number in all elements; NULL: none.
 */
const struct mdf_element *mdf_element_with_constant(const struct mdf_element *element, double number);
/* The function whose loop it is for elements of a type; NULL: of none. */
const struct mdf_element *mdf_element_of_loop(mdf_loop loop, mdf_dtype dtype);
/* What elements.def says of it as nodes of ONNX, for results of some of the kinds; NULL: nothing. What its base has does not
 * count: that is another function. */
const char *mdf_element_nodes(const struct mdf_element *element, unsigned kinds);
/* The first operand that is measured in the unit of the result, as all behind it; SIZE_MAX: none is. */
size_t mdf_element_alike(const struct mdf_element *element);
/* The kernel of an operator that is nothing but its element. */
bool mdf_element_call(struct mdf_call *call);

#endif
