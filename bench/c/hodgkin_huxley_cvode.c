/* hodgkin_huxley_cvode.c - examples/hodgkin_huxley.yaml by hand: its right-hand side in C, solved by CVODE to a tolerance. Prints v at the end, and
 * the seconds that solving it took. hodgkin_huxley_cvode TIME DT TOLERANCE */
#include <cvodes/cvodes.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <time.h>

static int right_side(realtype t, N_Vector y, N_Vector slopes, void *context)
{
    double v = NV_Ith_S(y, 0), m = NV_Ith_S(y, 1), h = NV_Ith_S(y, 2), n = NV_Ith_S(y, 3);
    double x_m = (v + 40.0) / 10.0, x_n = (v + 55.0) / 10.0;
    double alpha_m = fabs(x_m) > 1e-6 ? x_m / (1.0 - exp(-x_m)) : 1.0 + x_m / 2.0, beta_m = 4.0 * exp(-(v + 65.0) / 18.0);
    double alpha_h = 0.07 * exp(-(v + 65.0) / 20.0), beta_h = 1.0 / (1.0 + exp(-(v + 35.0) / 10.0));
    double alpha_n = fabs(x_n) > 1e-6 ? 0.1 * x_n / (1.0 - exp(-x_n)) : 0.1 + 0.05 * x_n, beta_n = 0.125 * exp(-(v + 65.0) / 80.0);

    (void)t, (void)context;
    NV_Ith_S(slopes, 0) = 10.0 - 120.0 * m * m * m * h * (v - 50.0) - 36.0 * n * n * n * n * (v + 77.0) - 0.3 * (v + 54.387);
    NV_Ith_S(slopes, 1) = alpha_m * (1.0 - m) - beta_m * m;
    NV_Ith_S(slopes, 2) = alpha_h * (1.0 - h) - beta_h * h;
    NV_Ith_S(slopes, 3) = alpha_n * (1.0 - n) - beta_n * n;
    return 0;
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    double end = atof(argv[argc > 3 ? 1 : 0]), dt = argc > 3 ? atof(argv[2]) : 1, tolerance = argc > 3 ? atof(argv[3]) : 1e-6;
    double start_s, t = 0;
    SUNContext context;
    SUNContext_Create(NULL, &context);
    N_Vector y = N_VNew_Serial(4, context);
    SUNMatrix matrix = SUNDenseMatrix(4, 4, context);
    SUNLinearSolver linear = SUNLinSol_Dense(y, matrix, context);
    void *cvode = CVodeCreate(CV_BDF, context);

    NV_Ith_S(y, 0) = -65.0, NV_Ith_S(y, 1) = 0.0529, NV_Ith_S(y, 2) = 0.5961, NV_Ith_S(y, 3) = 0.3177;
    CVodeInit(cvode, right_side, 0, y);
    CVodeSStolerances(cvode, tolerance, tolerance);
    CVodeSetMaxNumSteps(cvode, -1);
    CVodeSetLinearSolver(cvode, linear, matrix);
    start_s = now_s();
    for (long i = 1; i <= lround(end / dt); i++) {
        CVode(cvode, (double)i * dt, y, &t, CV_NORMAL);
    }
    printf("%.17g %.9f\n", NV_Ith_S(y, 0), now_s() - start_s);
    return 0;
}
