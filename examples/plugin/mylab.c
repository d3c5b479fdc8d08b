/* mylab.c - a plugin: functions of its own for models, without compiling mdf_c anew. See docs/plugins.md.
 *
 *     cc -shared -fPIC -o mylab.so mylab.c $(pkg-config --cflags mdf) -lm
 *     mdf-run --plugin mylab.so saturate.json
 *
 * It needs the header mdf.h only, and is not linked with the library: what it needs of it comes in `host` and in each `call`. */
#include <mdf.h>

#include <math.h>

/* The kernels, which are also the text `kernels`: mdf-compile writes it into the C source of models that call them. */
MDF_FUNCTION_SOURCE(kernels,

/* Number of elements of an array. */
static size_t length(const mdf_tensor *array)
{
    size_t n = 1;

    for (size_t i = 0; i < array->rank; i++) {
        n *= (size_t)array->shape[i];
    }
    return n;
}

static mdf_status take_limit(mdf_function_call *call, double *limit)
{
    if (length(&call->inputs[1]) != 1) {
        return call->fail(call, MDF_SHAPE, "the limit is one number");
    }
    *limit = *(const double *)call->inputs[1].data;
    return *limit > 0 ? MDF_OK : call->fail(call, MDF_VALUE, "the limit has to be above 0");
}

/* mylab::saturate(x, limit = 1): x / (1 + |x| / limit). The output is there already, with the shape of x. */
static mdf_status mylab_saturate(mdf_function_call *call)
{
    const double *x = call->inputs[0].data;
    double *result = call->outputs[0];
    double limit;
    mdf_status status = take_limit(call, &limit);

    for (size_t i = 0; status == MDF_OK && i < length(&call->inputs[0]); i++) {
        result[i] = x[i] / (1 + fabs(x[i]) / limit);
    }
    return status;
}

/* mylab::polar(x, y): radius and angle. */
static mdf_status mylab_polar(mdf_function_call *call)
{
    double x;
    double y;

    if (length(&call->inputs[0]) != 1 || length(&call->inputs[1]) != 1) {
        return call->fail(call, MDF_SHAPE, "x and y are one number each");
    }
    x = *(const double *)call->inputs[0].data;
    y = *(const double *)call->inputs[1].data;
    *(double *)call->outputs[0] = hypot(x, y);
    *(double *)call->outputs[1] = atan2(y, x);
    return MDF_OK;
}

/* mylab::positive(x): the elements above 0, however many. */
static mdf_status mylab_positive(mdf_function_call *call)
{
    const double *x = call->inputs[0].data;
    size_t n = length(&call->inputs[0]);
    size_t n_positive = 0;
    double *result;

    for (size_t i = 0; i < n; i++) {
        n_positive += x[i] > 0;
    }
    result = call->make(call, 0, MDF_DTYPE_FLOAT64, 1, &(int64_t){(int64_t)n_positive});
    for (size_t i = 0; result != NULL && i < n; i++) {
        if (x[i] > 0) {
            *result++ = x[i];
        }
    }
    return MDF_OK; /* where an output is refused, the engine says why */
}

);

/* ------------------------------------------------------------------ what only the engine calls */

/* From the gradient of the result, inputs[2], those of x and of the limit. */
static mdf_status derive_saturate(mdf_function_call *call)
{
    const double *x = call->inputs[0].data, *dy = call->inputs[2].data;
    double *dx = call->outputs[0], *dlimit = call->outputs[1], limit;
    mdf_status status = take_limit(call, &limit);

    *dlimit = 0;
    for (size_t i = 0; status == MDF_OK && i < length(&call->inputs[0]); i++) {
        double below = 1 + fabs(x[i]) / limit;

        dx[i] = dy[i] / (below * below);
        *dlimit += dy[i] * x[i] * fabs(x[i]) / (limit * limit * below * below);
    }
    return status;
}

/* polar gives two numbers. */
static mdf_status polar_shapes(mdf_function_call *call)
{
    for (size_t i = 0; i < 2; i++) {
        call->make(call, i, MDF_DTYPE_FLOAT64, 0, NULL);
    }
    return MDF_OK;
}

/* ------------------------------------------------------------------ the plugin */

MDF_PLUGIN_EXPORT const int mdf_plugin_interface = MDF_PLUGIN_INTERFACE;

MDF_PLUGIN_EXPORT mdf_status mdf_plugin_register(const mdf_plugin_host *host)
{
    const mdf_function functions[] = {
        {.size = sizeof(mdf_function),
         .name = "mylab::saturate",
         .arguments = (const char *const[]){"x: float64", "limit: float64 = 1", NULL},
         .kernel = mylab_saturate,
         .c_name = "mylab_saturate",
         .c_source = kernels,
         .derivative = derive_saturate},
        {.size = sizeof(mdf_function),
         .name = "mylab::polar",
         .arguments = (const char *const[]){"x: float64", "y: float64", NULL},
         .outputs = (const char *const[]){"radius: float64", "angle: float64", NULL},
         .kernel = mylab_polar,
         .c_name = "mylab_polar",
         .c_source = kernels,
         .shapes = polar_shapes},
        {.size = sizeof(mdf_function),
         .name = "mylab::positive",
         .arguments = (const char *const[]){"x: float64", NULL},
         .kernel = mylab_positive,
         .c_name = "mylab_positive",
         .c_source = kernels,
         .flags = MDF_FUNCTION_MAKES_OUTPUTS},
    };

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (host->register_function(host->functions, &functions[i], host->error) != MDF_OK) {
            return host->error->code;
        }
    }
    return MDF_OK;
}
