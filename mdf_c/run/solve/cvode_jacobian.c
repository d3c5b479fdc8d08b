/* cvode_jacobian.c - how slopes change with the states, for the linear equations of BDF's steps.
 *
 * A row of the Jacobian is the gradient of one slope. Which elements change which slopes is found when the solver begins; where
 * all that do are near each other in their order, the matrix is a band, and one run gives as many rows as have no column in
 * common. An element that is missed there costs steps, no exactness: what is solved for is not what the matrix is. Where it is no
 * band, all rows would cost more than differences. */
#include "mdf_c/run/solve/cvode_state.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* More elements are not looked at one by one. */
enum { MOST_PROBED = 2000 };

static bool find_gradient(struct mdf_state *state, const double *y)
{
    return mdf_solve_set_weights(state) && mdf_solve_run_part(state, &state->solve->differentiate, y, state->solve->gradient);
}

static size_t width_of(const struct mdf_solve *solve)
{
    size_t width = solve->lower + solve->upper + 1;

    return width < solve->n ? width : solve->n;
}

static bool is_band(const struct mdf_solve *solve)
{
    return width_of(solve) < solve->n;
}

static int set_jacobian(realtype time, N_Vector y, N_Vector slopes, SUNMatrix matrix, void *context, N_Vector a, N_Vector b,
                        N_Vector c)
{
    struct mdf_state *state = context;
    struct mdf_solve *solve = state->solve;
    size_t n = solve->n, width = width_of(solve);

    (void)time, (void)slopes, (void)a, (void)b, (void)c;
    for (size_t first = 0; first < width; first++) {
        for (size_t i = 0; i < n; i++) {
            solve->weights[i] = i % width == first;
        }
        if (!find_gradient(state, NV_DATA_S(y))) {
            return -1;
        }
        for (size_t row = first; row < n; row += width) {
            size_t begin = row > solve->lower ? row - solve->lower : 0;

            for (size_t column = begin; column < n && column <= row + solve->upper; column++) {
                SM_ELEMENT_B(matrix, (sunindextype)row, (sunindextype)column) = solve->gradient[column];
            }
        }
    }
    return 0;
}

/* ------------------------------------------------------------------ differences */

/* What differences are taken of, and by: all of n elements. */
struct differences {
    double *y;
    const double *slopes, *weights; /* the latter: of errors */
    double *changed, *other;        /* room for slopes */
    double gamma;                   /* what the Jacobian counts with in the equations of a step */
};

static double norm(const struct differences *of, const double *a, const double *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        double part = (a[i] - (b != NULL ? b[i] : 0)) * of->weights[i];

        sum += part * part;
    }
    return sqrt(sum / (double)n);
}

static bool look_at(struct mdf_state *state, const struct differences *of, size_t column, double value, double *slopes)
{
    double own = of->y[column];
    bool done;

    of->y[column] = value;
    done = mdf_solve_run_part(state, &state->solve->evaluate, of->y, slopes);
    of->y[column] = own;
    return done;
}

/* One column. Where slopes jump between the places, their difference does not get smaller with the distance: then it is taken on
 * the other side. With such a difference the equations of a step look solved where they are not. */
static bool set_column(struct mdf_state *state, const struct differences *of, size_t column, double least, double *to)
{
    size_t n = state->solve->n;
    double own = of->y[column], high = own + fmax(sqrt(DBL_EPSILON) * fabs(own), least / of->weights[column]),
           low = own - 0.5 * (high - own), length = high - own;
    const double *slopes = of->changed;

    if (!look_at(state, of, column, high, of->changed)) {
        return false;
    }
    if (of->gamma * norm(of, of->changed, of->slopes, n) * sqrt((double)n) > length * of->weights[column]) {
        if (!look_at(state, of, column, low, of->other)) {
            return false;
        }
        if (norm(of, of->other, of->slopes, n) < 0.25 * norm(of, of->changed, of->slopes, n)) {
            slopes = of->other;
            length = low - own;
        }
    }
    for (size_t row = 0; row < n; row++) {
        to[row] = (slopes[row] - of->slopes[row]) / length;
    }
    return true;
}

/* The lengths are those of SUNDIALS' own differences. */
static int set_differences(realtype time, N_Vector y, N_Vector slopes, SUNMatrix matrix, void *context, N_Vector a, N_Vector b,
                           N_Vector c)
{
    struct mdf_state *state = context;
    struct mdf_solve *solve = state->solve;
    struct differences of = {NV_DATA_S(y), NV_DATA_S(slopes), NV_DATA_S(c), NV_DATA_S(a), NV_DATA_S(b), 0};
    bool done = solve->library.CVodeGetErrWeights(solve->cvode, c) == CV_SUCCESS &&
                solve->library.CVodeGetCurrentGamma(solve->cvode, &of.gamma) == CV_SUCCESS;
    double size = done ? norm(&of, of.slopes, NULL, solve->n) : 0,
           least = size > 0 ? 1000 * fabs(of.gamma) * DBL_EPSILON * (double)solve->n * size : 1;

    (void)time;
    of.gamma = fabs(of.gamma);
    for (size_t column = 0; done && column < solve->n; column++) {
        done = set_column(state, &of, column, least, SM_COLUMN_D(matrix, (sunindextype)column));
    }
    return done ? 0 : -1;
}

/* ------------------------------------------------------------------ the band */

static void widen(struct mdf_solve *solve, size_t row, size_t column)
{
    if (row > column && row - column > solve->lower) {
        solve->lower = row - column;
    }
    if (column > row && column - row > solve->upper) {
        solve->upper = column - row;
    }
}

/* Slopes that are no number where one element is none. */
static bool probe_column(struct mdf_state *state, size_t column, double *y)
{
    struct mdf_solve *solve = state->solve;
    double own = y[column];
    bool done;

    y[column] = NAN;
    done = mdf_solve_run_part(state, &solve->evaluate, y, solve->gradient);
    y[column] = own;
    for (size_t row = 0; done && row < solve->n; row++) {
        if (!isfinite(solve->gradient[row])) {
            widen(solve, row, column);
        }
    }
    return done;
}

/* What the gradient of one slope says where all elements are off: by another branch it may be another one. */
static bool probe_row(struct mdf_state *state, size_t row, double *y, double off)
{
    struct mdf_solve *solve = state->solve;
    bool done;

    memset(solve->weights, 0, solve->n * sizeof *solve->weights);
    solve->weights[row] = 1;
    for (size_t i = 0; i < solve->n; i++) {
        solve->left[i] = y[i] + off; /* nothing is left yet */
    }
    done = find_gradient(state, solve->left);
    for (size_t column = 0; done && column < solve->n; column++) {
        if (solve->gradient[column] != 0) {
            widen(solve, row, column);
        }
    }
    return done;
}

/* As wide as what has been found; whole where that is in vain. */
static void find_band(struct mdf_state *state)
{
    struct mdf_solve *solve = state->solve;
    mdf_error *error = &state->shared->execution.context.error;
    double *y = NV_DATA_S(solve->y);
    bool done = solve->n <= MOST_PROBED;

    solve->lower = solve->upper = 0;
    for (size_t i = 0; done && i < solve->n && 2 * width_of(solve) < solve->n; i++) {
        done = probe_column(state, i, y) && probe_row(state, i, y, 1.5) && probe_row(state, i, y, -1.5);
    }
    if (!done && !mdf_state_is_interrupted(state)) {
        memset(error, 0, sizeof *error); /* it is no error that there is no value there */
    }
    if (!done || 2 * width_of(solve) >= solve->n) {
        solve->lower = solve->upper = solve->n - 1;
    }
}

/* ------------------------------------------------------------------ life */

static bool make_exact(struct mdf_state *state)
{
    struct mdf_memory *memory = &state->shared->memory;
    struct mdf_solve *solve = state->solve;

    solve->weights = mdf_memory_allocate_zeroed(memory, solve->n, sizeof *solve->weights);
    solve->gradient = mdf_memory_allocate_zeroed(memory, solve->n_all, sizeof *solve->gradient);
    if (solve->weights == NULL || solve->gradient == NULL) {
        return false;
    }
    find_band(state);
    return true;
}

bool mdf_solve_make_linear(struct mdf_state *state)
{
    struct mdf_solve *solve = state->solve;
    const struct mdf_cvode_library *library = &solve->library;
    sunindextype n = (sunindextype)solve->n;
    bool has_derivatives = solve->differentiate.range.end > solve->differentiate.range.first, has_band;

    if (has_derivatives && !make_exact(state)) {
        return false;
    }
    has_band = has_derivatives && is_band(solve);
    solve->matrix = has_band ? library->SUNBandMatrix(n, (sunindextype)solve->upper, (sunindextype)solve->lower, solve->context)
                             : library->SUNDenseMatrix(n, n, solve->context);
    solve->linear = solve->matrix == NULL ? NULL
                    : has_band            ? library->SUNLinSol_Band(solve->y, solve->matrix, solve->context)
                                          : library->SUNLinSol_Dense(solve->y, solve->matrix, solve->context);
    return solve->linear != NULL && library->CVodeSetLinearSolver(solve->cvode, solve->linear, solve->matrix) == CVLS_SUCCESS &&
           library->CVodeSetJacFn(solve->cvode, has_band ? set_jacobian : set_differences) == CVLS_SUCCESS;
}

void mdf_solve_release_jacobian(struct mdf_solve *solve, struct mdf_memory *memory)
{
    mdf_memory_release(memory, solve->weights);
    mdf_memory_release(memory, solve->gradient);
    solve->weights = NULL;
    solve->gradient = NULL;
}
