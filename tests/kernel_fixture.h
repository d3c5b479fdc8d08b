/* kernel_fixture.h - one call of an operator's kernel, for suites that compare fast kernels with plain forms written out there,
 * on random shapes and attributes. A run is done with one thread, again, and with three: the bits are the same each time. */
#ifndef MDF_TESTS_KERNEL_FIXTURE_H
#define MDF_TESTS_KERNEL_FIXTURE_H

#include "functions/operator.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INPUTS = 4, MAX_OUTPUTS = 2 };

static unsigned seed = 7;

/* A number from low to high. */
static inline int64_t pick(int64_t low, int64_t high)
{
    return low + (int64_t)((unsigned)rand_r(&seed) % (unsigned)(high - low + 1));
}

struct fixture {
    struct mdf_memory memory;
    struct mdf_context context;
    struct mdf_call call;
    const struct mdf_operator *operator;
    char settings[512];
    struct mdf_value inputs[MAX_INPUTS], output, second, scratch[MDF_CALL_SCRATCH];
    const struct mdf_value *input_pointers[MAX_INPUTS];
    struct mdf_value *output_pointers[MAX_OUTPUTS];
    bool constants[MAX_INPUTS];
};

static inline void *field(struct fixture *fixture, const char *name)
{
    for (const struct mdf_setting *setting = fixture->operator->settings; setting != NULL && setting->name != NULL; setting++) {
        if (strcmp(setting->name, name) == 0) {
            return fixture->settings + setting->offset;
        }
    }
    cr_assert_fail("%s has no attribute %s", fixture->operator->name, name);
    return NULL;
}

/* A call without attributes and inputs yet. */
static inline void begin(struct fixture *fixture, const char *name, int version)
{
    memset(fixture, 0, sizeof *fixture);
    mdf_memory_init(&fixture->memory, NULL, 0);
    fixture->context.memory = &fixture->memory;
    fixture->operator= mdf_operator_onnx(name, version);
    cr_assert(fixture->operator!= NULL && fixture->operator->settings_size <= sizeof fixture->settings);
    for (const struct mdf_setting *setting = fixture->operator->settings; setting != NULL && setting->name != NULL; setting++) {
        if (setting->type == MDF_SETTING_INT) {
            *(int64_t *)(void *)(fixture->settings + setting->offset) = MDF_NOT_GIVEN;
        } else if (setting->type == MDF_SETTING_FLOAT) {
            *(double *)(void *)(fixture->settings + setting->offset) = NAN;
        }
    }
    fixture->output_pointers[0] = &fixture->output;
    fixture->output_pointers[1] = &fixture->second;
    fixture->call = (struct mdf_call){.kernel = fixture->operator->kernel,
                                      .settings = fixture->settings,
                                      .inputs = fixture->input_pointers,
                                      .outputs = fixture->output_pointers,
                                      .n_outputs = 1,
                                      .constants = fixture->constants,
                                      .scratch = fixture->scratch,
                                      .context = &fixture->context,
                                      .operator= fixture->operator};
}

static inline void end(struct fixture *fixture)
{
    for (size_t i = 0; i < MAX_INPUTS; i++) {
        mdf_value_clear(&fixture->memory, &fixture->inputs[i]);
    }
    for (size_t i = 0; i < MDF_CALL_SCRATCH; i++) {
        mdf_value_clear(&fixture->memory, &fixture->scratch[i]);
    }
    mdf_value_clear(&fixture->memory, &fixture->output);
    mdf_value_clear(&fixture->memory, &fixture->second);
}

/* One more input, of random numbers from -1 to 1. */
static inline float *add_input(struct fixture *fixture, size_t rank, const int64_t *shape, bool is_constant)
{
    size_t i = fixture->call.n_inputs++;
    float *numbers = mdf_value_make_tensor(&fixture->memory, &fixture->inputs[i], MDF_DTYPE_FLOAT32, rank, shape);

    for (size_t k = 0; k < fixture->inputs[i].length; k++) {
        numbers[k] = (float)pick(-1000, 1000) / 1000;
    }
    fixture->input_pointers[i] = &fixture->inputs[i];
    fixture->constants[i] = is_constant;
    return numbers;
}

static inline size_t size_bytes(const struct mdf_value *value)
{
    return value->length * mdf_dtype_size((mdf_dtype)value->dtype);
}

/* Runs the call with one thread, again, and with three. */
static inline const float *run(struct fixture *fixture)
{
    size_t n_outputs = fixture->call.n_outputs;
    void *first[MAX_OUTPUTS] = {NULL};

    fixture->context.n_threads = 1;
    cr_assert(fixture->operator->kernel(&fixture->call), "%s", fixture->context.error.message);
    for (size_t i = 0; i < n_outputs; i++) {
        first[i] = malloc(size_bytes(fixture->output_pointers[i]) + 1);
        memcpy(first[i], fixture->output_pointers[i]->data, size_bytes(fixture->output_pointers[i]));
    }
    for (int round = 0; round < 2; round++) {
        fixture->context.n_threads = round == 0 ? 1 : 3;
        fixture->context.threads = round == 0 ? NULL : mdf_threads_new(&fixture->memory);
        cr_assert(fixture->operator->kernel(&fixture->call));
        for (size_t i = 0; i < n_outputs; i++) {
            cr_assert(memcmp(first[i], fixture->output_pointers[i]->data, size_bytes(fixture->output_pointers[i])) == 0,
                      "%s differs when it is repeated", fixture->operator->name);
        }
        mdf_threads_free(fixture->context.threads, &fixture->memory);
        fixture->context.threads = NULL;
    }
    for (size_t i = 0; i < n_outputs; i++) {
        free(first[i]);
    }
    return fixture->output.data;
}

static inline void check(const struct fixture *fixture, size_t i, double wanted, double tolerance)
{
    double is = (double)((const float *)fixture->output.data)[i];

    cr_assert(isnan(wanted)   ? isnan(is)
              : isinf(wanted) ? is == wanted
                              : fabs(is - wanted) <= tolerance,
              "%s: element %zu is %g, not %g", fixture->operator->name, i, is, wanted);
}

#endif
