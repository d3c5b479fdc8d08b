/* recurrent_function.c - recurrent networks in loops: their routine (recurrent_routine.inc) as a function that looks at types,
 * shapes and attributes once, before the loop. Apart from the kernel, as it is compiled for each kind of vectors. */
#include "functions/recurrent/recurrent.h"

#include "functions/kernel/routine_vectors.h"

#include <math.h>
#include <string.h>

enum { N_INPUTS = 8 };

/* What stays in all calls; behind it lie the weights that are transposed once. */
struct kept {
    struct activation activations[MDF_ROUTINE_FUNCTIONS];
    const struct activation *functions[MDF_ROUTINE_FUNCTIONS];
    const void *weights, *recurrence; /* NULL: they are no constants */
    size_t n_bytes;
};

#define FUNCTION(name) const struct activation *name
#include "functions/recurrent/recurrent_plan_routine.inc"

static inline void mdf_apply_row_float32(float *x, int64_t n, const struct activation *function)
{
    mdf_activate_row(function, MDF_DTYPE_FLOAT32, (size_t)n, x);
}

static inline void mdf_apply_row_float64(double *x, int64_t n, const struct activation *function)
{
    mdf_activate_row(function, MDF_DTYPE_FLOAT64, (size_t)n, x);
}

#include "functions/moves/places_routine.inc"
#define ROUTINES "functions/products/add_product.inc"
#include "functions/kernel/routine_reals.inc"
#define ROUTINES "functions/products/multiply_routine.inc"
#include "functions/kernel/routine_reals.inc"
#define ROUTINES "functions/recurrent/recurrent_routine.inc"
#include "functions/kernel/routine_reals.inc"
#define ROUTINES "functions/recurrent/recurrent_function.inc"
#include "functions/kernel/routine_reals.inc"
#undef FUNCTION

MDF_REAL_ROUTINES_IN_VECTORS(run_recurrent)

/* Bytes of an input that is a constant. */
static size_t constant_bytes(const struct mdf_call *call, size_t i)
{
    size_t n_bytes = call->inputs[i]->length * mdf_dtype_size((mdf_dtype)call->inputs[i]->dtype);

    return mdf_call_is_constant(call, i) ? (n_bytes + sizeof(double) - 1) / sizeof(double) * sizeof(double) : 0;
}

size_t mdf_recurrent_kept_bytes(const struct mdf_call *call)
{
    return sizeof(struct kept) + constant_bytes(call, 1) + constant_bytes(call, 2);
}

static void turn(const struct mdf_call *call, const struct mdf_routine_plan *plan, size_t i, void *to)
{
    (plan->dtype == MDF_DTYPE_FLOAT32 ? mdf_turn_matrices_float32 : mdf_turn_matrices_float64)(
        call->inputs[i]->data, plan->whole[1], plan->whole[13] * plan->whole[5], plan->whole[i == 1 ? 4 : 5], to);
}

void mdf_recurrent_prepare(const struct mdf_call *call, const struct mdf_routine_plan *plan, void *memory)
{
    struct kept *kept = memory;
    char *weights = (char *)(kept + 1), *recurrence = weights + constant_bytes(call, 1);

    for (size_t i = 0; i < plan->n_functions; i++) {
        kept->activations[i] = (struct activation){.element = plan->functions[i],
                                                   .operation = &mdf_element_operations[plan->functions[i]->id],
                                                   .settings = *plan->function_settings[i]};
        kept->functions[i] = &kept->activations[i];
    }
    kept->weights = recurrence > weights && !mdf_has_rows_multiplied(plan->whole) ? weights : NULL;
    kept->recurrence = constant_bytes(call, 2) > 0 ? recurrence : NULL;
    kept->n_bytes = plan->kept_bytes;
    plan->whole[15] = kept->weights != NULL;
    plan->whole[16] = kept->recurrence != NULL;
    if (kept->weights != NULL) {
        turn(call, plan, 1, weights);
    }
    if (kept->recurrence != NULL) {
        turn(call, plan, 2, recurrence);
    }
}

/* How many bytes of weights each call transposes. */
static size_t turned_bytes(const struct mdf_routine_plan *plan)
{
    size_t n_rows = (size_t)(plan->whole[1] * plan->whole[13] * plan->whole[5]),
           n_bytes = (size_t)(plan->whole[4] + plan->whole[5]) * n_rows * mdf_dtype_size(plan->dtype),
           n_kept = plan->kept_bytes - sizeof(struct kept);

    return n_bytes > n_kept ? n_bytes - n_kept : 0;
}

/* Of so few products that the kernel's looks at types, shapes and attributes would take longer. */
mdf_routine_function mdf_recurrent_function(const struct mdf_routine_plan *plan)
{
    enum { MOST_PRODUCTS = 1 << 14, MOST_TURNED_BYTES = 1 << 12 };
    static const size_t sizes[] = {1, 2, 3, 5, 13};
    int64_t n = plan->whole[4] + plan->whole[5];

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && n <= MOST_PRODUCTS; i++) {
        n = plan->whole[sizes[i]] > MOST_PRODUCTS ? MOST_PRODUCTS + 1 : n * plan->whole[sizes[i]];
    }
    return n <= MOST_PRODUCTS && turned_bytes(plan) <= MOST_TURNED_BYTES ? MDF_WIDEST_OF_REALS(plan, run_recurrent) : NULL;
}
