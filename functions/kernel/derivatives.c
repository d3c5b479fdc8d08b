/* derivatives.c - derivatives of operators and functions by their inputs. See derivatives.h. */
#include "functions/kernel/derivatives.h"

#include "functions/elements/element.h"

const struct mdf_derivative mdf_derivatives_flat[] = {{MDF_DERIVATIVE_ANY, NULL}, {MDF_DERIVATIVE_END, NULL}};
const struct mdf_derivative mdf_derivatives_reshaped[] = {
    {0, "numpy.reshape(dy, x0.shape)"}, {MDF_DERIVATIVE_ANY, NULL}, {MDF_DERIVATIVE_END, NULL}};
const struct mdf_derivative mdf_derivatives_parts[] = {{MDF_DERIVATIVE_END, NULL}};
/* What meets a vector is one product of two numbers an element, and no sum of such. */
#define MATMUL_BACK "gradient.product_of_matrices(dy, x0, x1)"
#define MATMUL_LEFT "gradient.turn(gradient.row(x0), True)"
#define MATMUL_RIGHT "gradient.turn(gradient.column(x1), True)"
const struct mdf_derivative mdf_derivatives_matmul[] = {
    {0, MATMUL_BACK " * " MATMUL_RIGHT " if x1.ndim == 1 else numpy.matmul(" MATMUL_BACK ", " MATMUL_RIGHT ")"},
    {1, "gradient.without_column(" MATMUL_LEFT " * " MATMUL_BACK " if x0.ndim == 1 else numpy.matmul(" MATMUL_LEFT
        ", " MATMUL_BACK "), x1)"},
    {MDF_DERIVATIVE_END, NULL}};

const struct mdf_derivative mdf_derivatives_clip[] = {
    {0, "dy * (x0 == y)"}, {1, "dy * ((x0 < x1) & (y == x1))"}, {2, "dy * ((x0 > x2) & (y == x2))"}, {MDF_DERIVATIVE_END, NULL}};

/* Those of elements.def, which hold for all operators that compute the element. */
static const struct {
    enum mdf_element_id id;
    struct mdf_derivative derivative;
} element_rows[] = {
#define DERIVATIVE(id, input, expression) {MDF_ELEMENT_##id, {input, expression}},
#define FLAT(id) {MDF_ELEMENT_##id, {MDF_DERIVATIVE_ANY, NULL}},
#include "functions/elements/elements.def"
};

static bool is_for(const struct mdf_derivative *derivative, size_t input)
{
    return derivative->input == MDF_DERIVATIVE_ANY || derivative->input == (int)input;
}

static const struct mdf_derivative *find_of_element(const struct mdf_element *element, size_t input)
{
    for (; element != NULL; element = element->base) {
        for (size_t i = 0; i < sizeof element_rows / sizeof *element_rows; i++) {
            if (element_rows[i].id == element->id && is_for(&element_rows[i].derivative, input)) {
                return &element_rows[i].derivative;
            }
        }
    }
    return NULL;
}

const struct mdf_derivative *mdf_derivative_find(const struct mdf_operator *row, const void *settings, size_t input)
{
    const struct mdf_derivative *derivative = row->derivatives;

    for (; derivative != NULL && derivative->input != MDF_DERIVATIVE_END; derivative++) {
        if (is_for(derivative, input)) {
            return derivative;
        }
    }
    return find_of_element(mdf_element_of(row, settings), input);
}
