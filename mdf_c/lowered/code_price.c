/* code_price.c - see code_price.h. When machine code pays: about what it takes to generate it, and what each run of it saves, in
 * nanoseconds. The numbers are those of a processor of some years ago; that of the machine makes them wrong by a factor which is
 * the same for both. Suites have other prices (tests/support/early_code.c), so that they go both ways. */
#include "mdf_c/lowered/code_price.h"

#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/nest.h"

enum {
    PRICE_OF_ALL = 5000,
    PRICE_OF_OP = 800,
    PRICE_OF_STEP = 1000,        /* of a nest over one axis */
    PRICE_OF_FOLDED_STEP = 3500, /* of one with folds or several axes, which is written out in several ways */
    SAVED_BY_OP = 3,
    SAVED_BY_NEST = 30, /* besides what its steps do */
    SAVED_BY_STEP = 15
};

/* For each element of a step: whole rows, or tiles whose axes are folded. */
#define SAVED_BY_ELEMENT 0.15
#define SAVED_BY_FOLDED_ELEMENT 0.8

/* What machine code takes: an op of scalars, any other one besides what it does with each element, and that. */
#define TIME_OF_SCALAR 1.0
#define TIME_OF_OP 10.0
#define TIME_OF_ELEMENT 0.08
#define TIME_OF_FUNCTION 0.5
#define TIME_OF_PRODUCT 0.05
#define TIME_OF_WAKING 40000.0 /* a thread that sleeps, with enough left that it is worth it */

static void add_nest(const struct mdf_lowered_nest *nest, double n_runs, struct mdf_code_price *price)
{
    double saved = SAVED_BY_NEST, each;
    bool has_folds = false;

    for (size_t i = 0; i < nest->n_steps; i++) {
        has_folds = has_folds || nest->steps[i].kind == MDF_NEST_FOLD;
    }
    each = has_folds ? SAVED_BY_FOLDED_ELEMENT : SAVED_BY_ELEMENT;
    for (size_t i = 0; i < nest->n_steps; i++) {
        saved += SAVED_BY_STEP + each * (double)mdf_nest_count(nest, 0, nest->steps[i].level);
    }
    price->to_make += (double)(has_folds || nest->n_axes > 1 ? PRICE_OF_FOLDED_STEP : PRICE_OF_STEP) * (double)nest->n_steps;
    price->saved += n_runs * saved;
}

bool mdf_runs_are_unknown(const struct mdf_lowered_loop *loop)
{
    return loop->n_runs == SIZE_MAX && loop->n_padded == 0;
}

/* How often a region inside an op runs, for each run of the op; of two branches, each half the times. */
static double inner_runs(const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_loop *loop = op->code == MDF_LOWERED_LOOP ? op->of.loop : NULL;

    return loop == NULL                 ? 0.5
           : mdf_runs_are_unknown(loop) ? MDF_UNKNOWN_RUNS
           : loop->n_runs != SIZE_MAX   ? (double)loop->n_runs
                                        : (double)loop->n_padded;
}

static void add_region(const struct mdf_lowered_region *region, double n_runs, struct mdf_code_price *price)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        price->to_make += PRICE_OF_OP;
        price->saved += n_runs * SAVED_BY_OP;
        if (op->code == MDF_LOWERED_NEST) {
            add_nest(op->of.nest, n_runs, price);
        }
        for (size_t j = 0; mdf_lowered_inner(op, j) != NULL; j++) {
            add_region(mdf_lowered_inner(op, j), n_runs * inner_runs(op), price);
        }
    }
}

void mdf_code_price(const struct mdf_lowered *lowered, struct mdf_code_price *price)
{
    *price = (struct mdf_code_price){.to_make = PRICE_OF_ALL};
    add_region(&lowered->region, 1, price);
}

double mdf_saved_by_code(const struct mdf_lowered_region *region)
{
    struct mdf_code_price price = {.to_make = 0};

    add_region(region, 1, &price);
    return price.saved;
}

static double time_of_nest(const struct mdf_lowered_nest *nest)
{
    double ns = TIME_OF_OP;

    for (size_t i = 0; i < nest->n_steps; i++) {
        double each = nest->steps[i].code == MDF_LOWERED_ELEMENTS ? TIME_OF_FUNCTION : TIME_OF_ELEMENT;

        ns += each * (double)mdf_nest_count(nest, 0, nest->steps[i].level);
    }
    return ns;
}

static double time_of_call(const struct mdf_lowered_call *call)
{
    const struct mdf_lowered_product *product = call->product;

    return product == NULL ? TIME_OF_OP
                           : TIME_OF_OP + TIME_OF_PRODUCT * (double)product->n_rows * (double)product->prepared.n *
                                              (double)product->prepared.k;
}

double mdf_time_of_run(const struct mdf_lowered_region *region)
{
    double ns = 0;

    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        ns += op->code == MDF_LOWERED_NEST   ? time_of_nest(op->of.nest)
              : op->code == MDF_LOWERED_CALL ? time_of_call(op->of.call)
                                             : TIME_OF_SCALAR;
        for (size_t j = 0; mdf_lowered_inner(op, j) != NULL; j++) {
            ns += inner_runs(op) * mdf_time_of_run(mdf_lowered_inner(op, j));
        }
    }
    return ns;
}

double mdf_time_for_threads(double ns)
{
    return ns >= TIME_OF_WAKING ? ns : 0;
}

bool mdf_code_pays(const struct mdf_lowered *lowered)
{
    return !lowered->is_code_settled && lowered->saved_by_code != 0 && lowered->price_of_code <= 0;
}
