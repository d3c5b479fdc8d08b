/* nest_folds.c - see nest_folds.h. */
#include "mdf_c/lowered/nest_folds.h"

#include <math.h>

enum { MOST_LANES = 128 };

typedef void (*fold_function)(size_t n, size_t n_row, size_t n_lanes, const void *from, void *to);

#define NAME(x) float32_##x
#define ELEMENT float
#define TOTAL float
#define LOWEST (-INFINITY)
#define HIGHEST INFINITY
#include "mdf_c/lowered/nest_folds.inc"

#define NAME(x) float64_##x
#define ELEMENT double
#define TOTAL double
#define LOWEST (-INFINITY)
#define HIGHEST INFINITY
#include "mdf_c/lowered/nest_folds.inc"

#define NAME(x) int32_##x
#define ELEMENT int32_t
#define TOTAL uint32_t
#define LOWEST INT32_MIN
#define HIGHEST INT32_MAX
#include "mdf_c/lowered/nest_folds.inc"

#define NAME(x) int64_##x
#define ELEMENT int64_t
#define TOTAL uint64_t
#define LOWEST INT64_MIN
#define HIGHEST INT64_MAX
#include "mdf_c/lowered/nest_folds.inc"

static const fold_function *folds_of(mdf_dtype dtype)
{
    return dtype == MDF_DTYPE_FLOAT32   ? float32_folds
           : dtype == MDF_DTYPE_FLOAT64 ? float64_folds
           : dtype == MDF_DTYPE_INT32   ? int32_folds
           : dtype == MDF_DTYPE_INT64   ? int64_folds
                                        : NULL;
}

bool mdf_nest_has_fold(enum mdf_nest_fold fold, mdf_dtype dtype)
{
    return fold < N_MDF_NEST_FOLDS && folds_of(dtype) != NULL;
}

void mdf_nest_fold_rows(const struct mdf_nest_step *step, size_t n, size_t n_row, const void *rows, void *totals)
{
    folds_of((mdf_dtype)step->operand_dtype)[step->fold](n, n_row, step->lanes, rows, totals);
}

/* ------------------------------------------------------------------ what a nest touches */

static bool touches(const struct mdf_lowered_nest *nest, enum mdf_nest_kind kind, mdf_lowered_id id)
{
    size_t i;

    for (i = 0; i < nest->n_steps; i++) {
        if (nest->steps[i].kind == kind && nest->steps[i].view.id == id) {
            return true;
        }
    }
    return false;
}

void mdf_nest_add_operands(const struct mdf_nest_step *step, struct mdf_nest_set *set)
{
    size_t k;

    for (k = 0; k < step->n_in; k++) {
        mdf_nest_set_add(set, step->in[k]);
    }
    if (step->kind == MDF_NEST_LOAD && step->view.at != MDF_NEST_NONE) {
        mdf_nest_set_add(set, step->view.at);
    }
}

bool mdf_nest_reads(const struct mdf_lowered_nest *nest, mdf_lowered_id id)
{
    return touches(nest, MDF_NEST_LOAD, id);
}

bool mdf_nest_stores(const struct mdf_lowered_nest *nest, mdf_lowered_id id)
{
    return touches(nest, MDF_NEST_STORE, id);
}
