/* lanes_driver.c - instances side by side in generated C (mdf-compile --lanes) against states by themselves, for any model: includes
 * the source, which is called "model". Each lane has other inputs and another seed. Arguments: steps, dt ("nan": none). Prints what
 * differs first, and ends with 1; with 0 where nothing does. */
#define MDF_COMPILED
#include "model.c"

#include "mdf_c/mdf.h"

#include <stdio.h>
#include <stdlib.h>

static struct model one[model_n_lanes];
static struct model_lanes all;

enum { MOST_BYTES = 16 }; /* of an element */

static size_t size_of(int dtype)
{
    switch (dtype) {
#define MDF_CASE(name, text, size, ...) \
    case MDF_DTYPE_##name:              \
        return size;
        MDF_DTYPE_LIST(MDF_CASE)
#undef MDF_CASE
    default:
        return 8;
    }
}

/* Something small that differs between steps and lanes. */
static void make_element(int dtype, size_t step, size_t lane, size_t i, char *element)
{
    int small = (int)((3 * step + 5 * lane + 7 * i) % 11);
    double real = 0.37 * small - 1.5;
    float narrow = (float)real;
    int64_t whole = small - 3;
    uint16_t half = (uint16_t)(0x3c00 + 16 * small); /* bits: small steps, of either type */

    memset(element, 0, MOST_BYTES);
    if (dtype == MDF_DTYPE_FLOAT64) {
        memcpy(element, &real, sizeof real);
    } else if (dtype == MDF_DTYPE_FLOAT32) {
        memcpy(element, &narrow, sizeof narrow);
    } else if (dtype == MDF_DTYPE_FLOAT16 || dtype == MDF_DTYPE_BFLOAT16) {
        memcpy(element, &half, sizeof half);
    } else if (dtype == MDF_DTYPE_BOOL) {
        element[0] = small % 2;
    } else {
        whole = dtype == MDF_DTYPE_INT8 || dtype == MDF_DTYPE_INT16 || dtype == MDF_DTYPE_INT32 || dtype == MDF_DTYPE_INT64 ? whole : small;
        whole = size_of(dtype) == 1 && dtype != MDF_DTYPE_INT8 && dtype != MDF_DTYPE_UINT8 ? small % 2 : whole; /* types of few bits */
        memcpy(element, &whole, size_of(dtype) < sizeof whole ? size_of(dtype) : sizeof whole);
    }
}

static void set_inputs(size_t step)
{
    for (size_t input = 0; input < mdf_compiled.n_inputs; input++) {
        const struct mdf_compiled_port *port = &mdf_compiled.inputs[input];
        size_t size = size_of(port->dtype), n = port->n_elements;
        char *wide = calloc(n * model_n_lanes + 1, MOST_BYTES), *own = calloc(n + 1, MOST_BYTES), element[MOST_BYTES];

        for (size_t lane = 0; lane < model_n_lanes && wide != NULL && own != NULL; lane++) {
            for (size_t i = 0; i < n; i++) {
                make_element(port->dtype, step, lane, i, element);
                memcpy(own + i * size, element, size);
                memcpy(wide + (i * model_n_lanes + lane) * size, element, size);
            }
            model_set_input(&one[lane], (int)input, own);
        }
        model_lanes_set_input(&all, (int)input, wide);
        free(wide);
        free(own);
    }
}

/* NaN are NaN: their signs depend on the order of operands. */
static bool is_same(int dtype, const char *a, const char *b)
{
    double x, y;
    float u, v;
    uint16_t half[2], infinity = dtype == MDF_DTYPE_FLOAT16 ? 0x7c00 : 0x7f80;

    if (dtype == MDF_DTYPE_FLOAT64) {
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return memcmp(a, b, 8) == 0 || (isnan(x) && isnan(y));
    }
    if (dtype == MDF_DTYPE_FLOAT32) {
        memcpy(&u, a, sizeof u);
        memcpy(&v, b, sizeof v);
        return memcmp(a, b, 4) == 0 || (isnan(u) && isnan(v));
    }
    if (dtype == MDF_DTYPE_FLOAT16 || dtype == MDF_DTYPE_BFLOAT16) {
        memcpy(&half[0], a, 2);
        memcpy(&half[1], b, 2);
        return half[0] == half[1] || ((half[0] & 0x7fff) > infinity && (half[1] & 0x7fff) > infinity);
    }
    return memcmp(a, b, size_of(dtype)) == 0;
}

static bool hold_output(size_t step, size_t output)
{
    const struct mdf_compiled_port *port = &mdf_compiled.outputs[output];
    const char *wide = model_lanes_output(&all, (int)output);
    size_t size = size_of(port->dtype);

    for (size_t lane = 0; lane < model_n_lanes; lane++) {
        const char *alone = model_output(&one[lane], (int)output);

        if (model_lanes_has_output(&all, (int)output, lane) != (alone != NULL) || (wide == NULL && alone != NULL)) {
            printf("step %zu, %s.%s: one of the two is not there\n", step, port->node, port->port);
            return false;
        }
        for (size_t i = 0; alone != NULL && i < port->n_elements; i++) {
            if (!is_same(port->dtype, wide + (i * model_n_lanes + lane) * size, alone + i * size)) {
                printf("step %zu, %s.%s, element %zu of lane %zu\n", step, port->node, port->port, i, lane);
                return false;
            }
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    size_t n_steps = argc > 2 ? (size_t)atoi(argv[1]) : 1;
    double dt = argc > 2 ? strtod(argv[2], NULL) : NAN;

    model_lanes_init(&all);
    for (size_t lane = 0; lane < model_n_lanes; lane++) {
        model_init(&one[lane]);
        model_seed(&one[lane], 1000 + lane);
        model_lanes_seed(&all, lane, 1000 + lane);
    }
    for (size_t step = 0; step < n_steps; step++) {
        size_t failed = model_n_lanes;

        set_inputs(step);
        for (size_t lane = 0; lane < model_n_lanes; lane++) {
            failed = model_step(&one[lane], step == 0 ? NAN : dt) != 0 && failed == model_n_lanes ? lane : failed;
        }
        if ((model_lanes_step(&all, step == 0 ? NAN : dt) != 0) != (failed < model_n_lanes) ||
            (failed < model_n_lanes && (all.failed_lane != failed || strcmp(model_message(&one[failed]), model_lanes_message(&all)) != 0))) {
            printf("step %zu: %s, and lane %zu by itself: %s\n", step, model_lanes_message(&all), failed,
                   failed < model_n_lanes ? model_message(&one[failed]) : "no error");
            return 1;
        }
        if (failed < model_n_lanes) {
            return 0;
        }
        for (size_t output = 0; output < mdf_compiled.n_outputs; output++) {
            if (mdf_compiled.outputs[output].dtype != MDF_DTYPE_NONE && !hold_output(step, output)) {
                return 1;
            }
        }
    }
    return 0;
}
