/* method.c - see method.h. Tableaux: Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.1 and II.5; the
 * exponential Euler method as for equations that are linear in their own state, with the derivative in place of the factor. */
#include "mdf_c/plan/solve/method.h"

#include "mdf_c/plan/program.h"

#include <stddef.h>

static const struct mdf_method_row rows[] = {
    [MDF_METHOD_EULER] = {.kind = MDF_METHOD_IN_NODES, .order = 1},
    [MDF_METHOD_EXPONENTIAL_EULER] =
        {.kind = MDF_METHOD_FIXED,
         .order = 1,
         .needs_stiffness = true,
         .stages = {"y"},
         .result = "y + h * (k1 * numpy.where(a * h == 0, 1.0, numpy.expm1(a * h) / numpy.where(a * h == 0, 1.0, a * h)))"},
    [MDF_METHOD_HEUN] = {.kind = MDF_METHOD_FIXED,
                         .order = 2,
                         .stages = {"y", "y + h * k1"},
                         .result = "y + h * (0.5 * (k1 + k2))"},
    [MDF_METHOD_RK4] = {.kind = MDF_METHOD_FIXED,
                        .order = 4,
                        .stages = {"y", "y + h * (0.5 * k1)", "y + h * (0.5 * k2)", "y + h * k3"},
                        .result = "y + h * ((k1 + 2.0 * (k2 + k3) + k4) / 6.0)"},
    [MDF_METHOD_DOPRI5] =
        {.kind = MDF_METHOD_ADAPTIVE,
         .order = 5,
         .stages = {"y", "y + h * (k1 / 5.0)", "y + h * (3.0 / 40.0 * k1 + 9.0 / 40.0 * k2)",
                    "y + h * (44.0 / 45.0 * k1 - 56.0 / 15.0 * k2 + 32.0 / 9.0 * k3)",
                    "y + h * (19372.0 / 6561.0 * k1 - 25360.0 / 2187.0 * k2 + 64448.0 / 6561.0 * k3 - 212.0 / 729.0 * k4)",
                    "y + h * (9017.0 / 3168.0 * k1 - 355.0 / 33.0 * k2 + 46732.0 / 5247.0 * k3 + 49.0 / 176.0 * k4 - "
                    "5103.0 / 18656.0 * k5)",
                    "y + h * (35.0 / 384.0 * k1 + 500.0 / 1113.0 * k3 + 125.0 / 192.0 * k4 - 2187.0 / 6784.0 * k5 + "
                    "11.0 / 84.0 * k6)"},
         .error = "h * (71.0 / 57600.0 * k1 - 71.0 / 16695.0 * k3 + 71.0 / 1920.0 * k4 - 17253.0 / 339200.0 * k5 + "
                  "22.0 / 525.0 * k6 - k7 / 40.0)"},
    [MDF_METHOD_CVODE_ADAMS] = {.kind = MDF_METHOD_LIBRARY},
    [MDF_METHOD_CVODE_BDF] = {.kind = MDF_METHOD_LIBRARY},
};

#define NAME(name, text) text,
const char *const mdf_method_names[] = {MDF_METHOD_LIST(NAME) NULL};
#undef NAME

#define END(name, text) [MDF_SOLVER_##name] = text,
const char *const mdf_solver_ends[] = {[MDF_SOLVER_CAME_THROUGH] = "", MDF_SOLVER_END_LIST(END)};
#undef END

const struct mdf_method_row *mdf_method_row(mdf_method method)
{
    return &rows[method];
}

bool mdf_method_takes_own_steps(mdf_method method)
{
    return rows[method].kind == MDF_METHOD_ADAPTIVE || rows[method].kind == MDF_METHOD_LIBRARY;
}
