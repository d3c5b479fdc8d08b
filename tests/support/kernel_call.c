/* kernel_call.c - see kernel_call.h. */
#include "tests/support/kernel_call.h"

#include "schemas/onnx_schema.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static unsigned seed = 11;

int64_t kernel_pick(int64_t low, int64_t high)
{
    return low + (int64_t)((unsigned)rand_r(&seed) % (unsigned)(high - low + 1));
}

static void set_default(const struct mdf_setting *setting, const struct mdf_schema_attribute *attribute, void *field)
{
    bool given = attribute != NULL && attribute->has_default;

    switch (setting->type) {
    case MDF_SETTING_INT:
        *(int64_t *)field = given ? attribute->default_int : MDF_NOT_GIVEN;
        break;
    case MDF_SETTING_FLOAT:
        *(double *)field = given ? attribute->default_float : (double)NAN;
        break;
    case MDF_SETTING_STRING:
        *(const char **)field = given ? attribute->default_string : NULL;
        break;
    case MDF_SETTING_DTYPE:
        *(mdf_dtype *)field = given ? mdf_dtype_from_onnx(attribute->default_int) : MDF_DTYPE_NONE;
        break;
    default:
        break; /* lists and arrays: none */
    }
}

void kernel_begin(struct kernel_call *call, const char *name, int version)
{
    const struct mdf_schema *schema = mdf_schema_find_anywhere(name, version);

    memset(call, 0, sizeof *call);
    mdf_memory_init(&call->memory, NULL, 0);
    call->context.memory = &call->memory;
    cr_assert_not_null(schema, "%s", name);
    call->operator= mdf_operator_onnx(name, schema->since);
    cr_assert(call->operator!= NULL && call->operator->settings_size <= sizeof call->settings);
    for (const struct mdf_setting *setting = call->operator->settings; setting != NULL && setting->name != NULL; setting++) {
        set_default(setting, mdf_schema_attribute(schema, setting->name), call->settings + setting->offset);
    }
    for (size_t i = 0; i < KERNEL_CALL_OUTPUTS; i++) {
        call->output_pointers[i] = &call->outputs[i];
    }
    call->call = (struct mdf_call){.kernel = call->operator->kernel,
                                   .settings = call->settings,
                                   .inputs = call->input_pointers,
                                   .outputs = call->output_pointers,
                                   .n_outputs = 1,
                                   .constants = call->constants,
                                   .scratch = call->scratch,
                                   .context = &call->context,
                                   .operator= call->operator};
}

void kernel_end(struct kernel_call *call)
{
    for (size_t i = 0; i < KERNEL_CALL_INPUTS; i++) {
        mdf_value_clear(&call->memory, &call->inputs[i]);
    }
    for (size_t i = 0; i < MDF_CALL_SCRATCH; i++) {
        mdf_value_clear(&call->memory, &call->scratch[i]);
    }
    for (size_t i = 0; i < KERNEL_CALL_OUTPUTS; i++) {
        mdf_value_clear(&call->memory, &call->outputs[i]);
    }
}

void *kernel_field(struct kernel_call *call, const char *name)
{
    for (const struct mdf_setting *setting = call->operator->settings; setting != NULL && setting->name != NULL; setting++) {
        if (strcmp(setting->name, name) == 0) {
            return call->settings + setting->offset;
        }
    }
    cr_assert_fail("%s has no attribute %s", call->operator->name, name);
    return NULL;
}

void kernel_set_int(struct kernel_call *call, const char *name, int64_t number)
{
    *(int64_t *)kernel_field(call, name) = number;
}

void kernel_set_ints(struct kernel_call *call, const char *name, const int64_t *items, size_t n)
{
    *(struct mdf_ints *)kernel_field(call, name) = (struct mdf_ints){items, n};
}

void kernel_set_text(struct kernel_call *call, const char *name, const char *text)
{
    *(const char **)kernel_field(call, name) = text;
}

/* ------------------------------------------------------------------ inputs */

enum { DRAWN_AT_ONCE = 64 };

static double pick_real(enum kernel_numbers numbers)
{
    static const double wild[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0};

    return numbers == NUMBERS_WILD && kernel_pick(0, 7) == 0 ? wild[kernel_pick(0, 4)] : (double)kernel_pick(-16, 16) / 16;
}

/* The ends of an integer type of `n_bits` bits. */
static int64_t pick_end(bool is_signed, int n_bits)
{
    bool low = kernel_pick(0, 1) == 0;

    if (is_signed) {
        return low ? -(INT64_C(1) << (n_bits - 2)) * 2 : INT64_MAX >> (64 - n_bits);
    }
    return low ? 0 : (int64_t)(UINT64_MAX >> (64 - n_bits));
}

static int64_t pick_whole(mdf_dtype dtype, enum kernel_numbers numbers)
{
    bool is_signed = mdf_dtype_kind(dtype) == 'i';

    return numbers == NUMBERS_WILD && kernel_pick(0, 7) == 0 ? pick_end(is_signed, (int)mdf_dtype_size(dtype) * 8)
                                                             : kernel_pick(is_signed ? -9 : 0, 9);
}

struct mdf_value *kernel_add(struct kernel_call *call, mdf_dtype dtype, size_t rank, const int64_t *shape,
                             enum kernel_numbers numbers, bool is_constant)
{
    size_t i = call->call.n_inputs++;
    char *elements = mdf_value_make_tensor(&call->memory, &call->inputs[i], dtype, rank, shape);
    char kind = mdf_dtype_kind(dtype);
    bool is_real = kind == 'f' || kind == 'c';

    cr_assert(elements != NULL && i < KERNEL_CALL_INPUTS);
    for (size_t from = 0, n; from < call->inputs[i].length; from += n) {
        union {
            double reals[DRAWN_AT_ONCE];
            int64_t wholes[DRAWN_AT_ONCE];
        } drawn;

        n = call->inputs[i].length - from < DRAWN_AT_ONCE ? call->inputs[i].length - from : DRAWN_AT_ONCE;
        for (size_t k = 0; k < n; k++) {
            if (is_real) {
                drawn.reals[k] = pick_real(numbers);
            } else {
                drawn.wholes[k] = kind == 'b' ? kernel_pick(0, 1) : kind == 'i' || kind == 'u' ? pick_whole(dtype, numbers) : 0;
            }
        }
        mdf_convert_elements(dtype, elements + from * mdf_dtype_size(dtype), is_real ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_INT64,
                             &drawn, n, false);
    }
    call->input_pointers[i] = &call->inputs[i];
    call->constants[i] = is_constant;
    return &call->inputs[i];
}

void kernel_add_integers(struct kernel_call *call, const int64_t *items, size_t n)
{
    int64_t size = (int64_t)n;
    struct mdf_value *array = kernel_add(call, MDF_DTYPE_INT64, 1, &size, NUMBERS_SHORT, kernel_pick(0, 1) == 1);

    if (n > 0) {
        memcpy(array->data, items, n * sizeof *items);
    }
}

const struct mdf_value *kernel_add_quantisation(struct kernel_call *call, mdf_dtype dtype, int64_t n)
{
    struct mdf_value *numbers = kernel_add(call, dtype, (size_t)kernel_pick(0, 1), &n, NUMBERS_WILD, kernel_pick(0, 1) == 1);

    for (size_t i = 0; dtype == MDF_DTYPE_FLOAT32 && i < numbers->length; i++) {
        ((float *)numbers->data)[i] = (float)kernel_pick(1, 99) / 300;
    }
    for (size_t i = 0; dtype != MDF_DTYPE_FLOAT32 && i < numbers->length && kernel_pick(0, 3) == 0; i++) {
        ((uint8_t *)numbers->data)[i] = dtype == MDF_DTYPE_UINT8 ? 128 : 0;
    }
    return numbers;
}

void kernel_omit(struct kernel_call *call)
{
    call->input_pointers[call->call.n_inputs++] = NULL;
}

/* ------------------------------------------------------------------ results */

static void run_once(struct kernel_call *call, int n_threads)
{
    call->context.n_threads = n_threads;
    call->context.threads = n_threads > 1 ? mdf_threads_new(&call->memory) : NULL;
    cr_assert(call->operator->kernel(&call->call), "%s: %s", call->operator->name, call->context.error.message);
    mdf_threads_free(call->context.threads, &call->memory);
    call->context.threads = NULL;
}

const struct mdf_value *kernel_run(struct kernel_call *call)
{
    struct mdf_value first[KERNEL_CALL_OUTPUTS] = {0};

    run_once(call, 1);
    for (size_t i = 0; i < call->call.n_outputs; i++) {
        cr_assert(mdf_value_copy_apart(&call->memory, &first[i], &call->outputs[i]));
    }
    for (int round = 0; round < 2; round++) {
        run_once(call, round == 0 ? 1 : 3);
        for (size_t i = 0; i < call->call.n_outputs; i++) {
            size_t n_bytes = first[i].length * mdf_dtype_size((mdf_dtype)first[i].dtype);

            cr_assert(call->outputs[i].length == first[i].length &&
                          (n_bytes == 0 || memcmp(first[i].data, call->outputs[i].data, n_bytes) == 0),
                      "%s differs when it is repeated", call->operator->name);
        }
    }
    for (size_t i = 0; i < call->call.n_outputs; i++) {
        mdf_value_clear(&call->memory, &first[i]);
    }
    return &call->outputs[0];
}

double kernel_number_for(const struct mdf_value *numbers, int64_t slice)
{
    return kernel_number(numbers, numbers->length == 1 ? 0 : (size_t)slice);
}

double kernel_number(const struct mdf_value *array, size_t i)
{
    mdf_dtype dtype = (mdf_dtype)array->dtype;

    return mdf_element_to_double(dtype, (const char *)array->data + i * mdf_dtype_size(dtype));
}

int64_t kernel_whole(const struct mdf_value *array, size_t i)
{
    mdf_dtype dtype = (mdf_dtype)array->dtype;

    return mdf_element_to_int64(dtype, (const char *)array->data + i * mdf_dtype_size(dtype));
}

void kernel_check(const struct kernel_call *call, size_t output, size_t i, double wanted, double tolerance)
{
    double is = kernel_number(&call->outputs[output], i);

    cr_assert(isnan(wanted)   ? isnan(is)
              : isinf(wanted) ? is == wanted
                              : fabs(is - wanted) <= tolerance,
              "%s: element %zu of output %zu is %.17g, not %.17g", call->operator->name, i, output, is, wanted);
}

void kernel_check_quantised(const struct kernel_call *call, size_t i, double sum, float scale, double zero)
{
    bool is_signed = call->outputs[0].dtype == MDF_DTYPE_INT8;
    double number = rint(sum * (double)scale) + zero;

    kernel_check(call, 0, i, fmin(fmax(number, is_signed ? -128 : 0), is_signed ? 127 : 255), 0);
}

void kernel_check_shape(const struct kernel_call *call, size_t output, size_t rank, const int64_t *shape)
{
    const struct mdf_value *array = &call->outputs[output];

    cr_assert(array->rank == rank, "%s: rank %u, not %zu", call->operator->name, array->rank, rank);
    for (size_t i = 0; i < rank; i++) {
        cr_assert(mdf_value_shape(array)[i] == shape[i], "%s: size %lld of axis %zu, not %lld", call->operator->name,
                  (long long)mdf_value_shape(array)[i], i, (long long)shape[i]);
    }
}

/* ------------------------------------------------------------------ places */

void kernel_index(size_t rank, const int64_t *shape, size_t at, int64_t *index)
{
    for (size_t i = rank; i-- > 0;) {
        index[i] = (int64_t)(at % (size_t)shape[i]);
        at /= (size_t)shape[i];
    }
}

void kernel_next(size_t rank, const int64_t *shape, int64_t *index)
{
    for (size_t i = rank; i-- > 0;) {
        if (++index[i] < shape[i]) {
            return;
        }
        index[i] = 0;
    }
}

size_t kernel_place(size_t rank, const int64_t *shape, const int64_t *index)
{
    size_t place = 0;

    for (size_t i = 0; i < rank; i++) {
        place = place * (size_t)shape[i] + (size_t)index[i];
    }
    return place;
}

size_t kernel_n_elements(size_t rank, const int64_t *shape)
{
    size_t n = 1;

    for (size_t i = 0; i < rank; i++) {
        n *= (size_t)shape[i];
    }
    return n;
}
