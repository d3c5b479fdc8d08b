/* gradient_sums.c - the gradients of matrices that a loop multiplies by in each iteration: sums of products, which become one
 * product behind the loop.
 *
 * Comes in: calls in a body that multiply a captured matrix by something. Goes out: the Scan that goes backward stacks what the
 * products are made of, and does not add them up. */
#include "mdf_c/plan/gradient/gradient_control.h"

/* The sums, of stacks x of factors and g of gradients of products by w, which stands behind or before x. As lines (see
 * functions/python/gradients.c) where w is a matrix or a vector. */
static const char *const
    sum_behind = "numpy.reshape(gradient.sum_of_products(x, g, w), w.shape) if w.ndim < 3 else gradient.products(x, g, w, True)",
    *const sum_before =
        "numpy.reshape(numpy.matmul(gradient.turn(gradient.lines(g, w, 2), True), gradient.lines(x, w, 3)), w.shape) "
        "if w.ndim < 3 else gradient.products(x, g, w, False)";

bool gradient_is_product(struct gradient *gradient, const struct mdf_code_call *call, size_t input)
{
    const struct mdf_operator *row = call->operator;

    return gradient->is_iterated && gradient->n_regions == 0 && (row->form == MDF_FORM_MATMUL || row->form == MDF_FORM_DOT) &&
           row->derivatives == mdf_derivatives_matmul && input < 2 &&
           MDF_OPERAND_KIND(call->inputs[input]) == MDF_OPERAND_CAPTURE &&
           MDF_OPERAND_KIND(call->inputs[1 - input]) == MDF_OPERAND_SLOT &&
           gradient_is_stable(gradient, call->inputs[1 - input]) && gradient_is_stable(gradient, call->outputs[0]);
}

bool gradient_add_product(struct gradient *gradient, const struct mdf_code_call *call, size_t input)
{
    const struct product product = {.capture = MDF_OPERAND_INDEX(call->inputs[input]),
                                    .is_behind = input == 1,
                                    .factor = gradient_track(gradient, call->inputs[1 - input])->value,
                                    .gradient = gradient_track(gradient, call->outputs[0])->gradient};

    return list_add(gradient->compiler, &gradient->products, &product, sizeof product);
}

/* Which of some operands is a value that goes along the first axis, in this direction; SIZE_MAX: none. */
static size_t find(const struct list *operands, const struct list *axes, const struct list *directions, mdf_operand value)
{
    for (size_t i = 0; i < operands->n; i++) {
        if (((const mdf_operand *)operands->items)[i] == value && ((const int64_t *)axes->items)[i] == 0 &&
            ((const int64_t *)directions->items)[i] == 1) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* Where a value is scanned from a stack of all iterations in their order; SIZE_MAX: nowhere. */
static size_t find_scanned(const struct backward *backward, mdf_operand value)
{
    return find(&backward->scan_formals, &backward->axes, &backward->directions, value);
}

/* Which scan output of the Scan is a stack of a value, in the order of the iterations; SIZE_MAX: none. */
static size_t find_stacked(const struct backward *backward, mdf_operand value)
{
    return find(&backward->scan_yields, &backward->output_axes, &backward->output_directions, value);
}

static bool stack(struct backward *backward, mdf_operand value)
{
    return find_scanned(backward, value) != SIZE_MAX || find_stacked(backward, value) != SIZE_MAX ||
           gradient_stack(backward, value, MDF_NO_OPERAND, 0, 1);
}

bool gradient_stack_products(struct backward *backward)
{
    const struct list *products = &backward->control->bodies[0].gradient.products;

    for (size_t i = 0; i < products->n; i++) {
        const struct product *product = (const struct product *)products->items + i;

        if (!stack(backward, product->factor) || !stack(backward, product->gradient)) {
            return false;
        }
    }
    return true;
}

static mdf_operand stack_of(const struct backward *backward, mdf_operand value)
{
    size_t scanned = find_scanned(backward, value);

    return scanned != SIZE_MAX ? ((const mdf_operand *)backward->scanned.items)[scanned]
                               : backward->stacks[find_stacked(backward, value)];
}

static bool sum_product(struct backward *backward, const struct product *product)
{
    struct gradient *gradient = backward->gradient;
    struct scope scope = {.unit = gradient->unit};
    struct target target = {gradient->compiler, gradient->unit, &scope};
    mdf_operand captured = backward->control->bodies[0].code->captures[product->capture], sum;

    if (!scope_bind(gradient->compiler, &scope, "x", stack_of(backward, product->factor)) ||
        !scope_bind(gradient->compiler, &scope, "g", stack_of(backward, product->gradient)) ||
        !scope_bind(gradient->compiler, &scope, "w", gradient_track(gradient, captured)->value)) {
        return false;
    }
    sum = gradient_compile_text(gradient, &target, NULL, product->is_behind ? sum_behind : sum_before);
    return sum != MDF_NO_OPERAND && gradient_add(gradient, captured, sum);
}

bool gradient_sum_products(struct backward *backward)
{
    const struct list *products = &backward->control->bodies[0].gradient.products;

    for (size_t i = 0; i < products->n; i++) {
        if (!sum_product(backward, (const struct product *)products->items + i)) {
            return false;
        }
    }
    return true;
}
