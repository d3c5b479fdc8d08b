/* export_python.c - functions of expressions as nodes of ONNX. What a function is, an element function, a fold, a move, is said by
 * its row; an operator of ONNX that is the same stands for it. Its type is what its kernel makes of a sample. */
#include "mdf_c/export/exporter.h"

#include "functions/elements/element.h"
#include "functions/kernel/fold.h"
#include "functions/kernel/move.h"
#include "functions/python/python.h"

#include <string.h>

enum { OPSET_OF_FORMS = 13, MOST_POSITIONS = 1 << 16 }; /* of elements that are gathered one by one */

/* A call that is being written. */
struct writing {
    struct exporter *exporter;
    struct onnx_graph *graph;
    const struct mdf_code_call *call;
    const struct symbol *inputs; /* arrays, but where the operator takes lists */
    size_t n_inputs;
    struct symbol *result; /* its type is known already */
};

/* ------------------------------------------------------------------ the kernel on samples */

/* Runs the kernel on samples of the inputs; `with_shapes`: of their shapes. False: it can not run, or memory ran out. */
static bool run_kernel(struct exporter *exporter, const struct mdf_operator *operator, const void *settings,
                       const struct symbol *inputs, size_t n_inputs, bool with_shapes, struct mdf_value *result)
{
    struct mdf_value *samples = mdf_arena_array(&exporter->arena, n_inputs + MDF_CALL_SCRATCH, sizeof *samples);
    const struct mdf_value **given = mdf_arena_array(&exporter->arena, n_inputs, sizeof *given);
    struct mdf_call call = {.kernel = operator->kernel, .operator= operator, .settings = settings, .inputs = given,
                            .n_inputs = n_inputs, .outputs = &result, .n_outputs = 1, .context = &exporter->context};
    bool done = samples != NULL && given != NULL;
    size_t i;

    for (i = 0; done && i < n_inputs; i++) {
        struct symbol input = inputs[i];

        if (!with_shapes && input.constant == NULL) {
            input.has_shape = false;
            input.rank = 0;
        }
        done = symbol_sample(exporter, &input, &samples[i]);
        given[i] = inputs[i].kind == SYMBOL_NOTHING && inputs[i].constant == NULL ? NULL : &samples[i];
    }
    call.scratch = samples + n_inputs;
    exporter->context.error.code = MDF_OK;
    done = done && operator->kernel(&call);
    for (i = 0; samples != NULL && i < n_inputs + MDF_CALL_SCRATCH; i++) {
        mdf_value_clear(exporter->memory, &samples[i]);
    }
    return done;
}

static bool have_full_shapes(const struct symbol *inputs, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        if (inputs[i].kind == SYMBOL_LIST ? !have_full_shapes(inputs[i].items, inputs[i].n_items)
                                          : inputs[i].kind == SYMBOL_TENSOR && !symbol_has_full_shape(&inputs[i])) {
            return false;
        }
    }
    return true;
}

static bool are_constants(const struct symbol *inputs, size_t n)
{
    size_t i;

    for (i = 0; i < n && (inputs[i].constant != NULL || inputs[i].kind == SYMBOL_NOTHING ||
                          (inputs[i].kind == SYMBOL_LIST && are_constants(inputs[i].items, inputs[i].n_items)));
         i++) {
    }
    return i == n;
}

/* The result's type, and its shape where those of the inputs are known. */
static bool find_type(struct writing *writing)
{
    struct exporter *exporter = writing->exporter;
    const struct mdf_operator *operator= writing->call->operator;
    struct mdf_value sample = {0};
    bool with_shapes = have_full_shapes(writing->inputs, writing->n_inputs), done;

    done = run_kernel(exporter, operator, writing->call->settings, writing->inputs, writing->n_inputs, true, &sample) ||
           (!with_shapes &&
            run_kernel(exporter, operator, writing->call->settings, writing->inputs, writing->n_inputs, false, &sample));
    if (!done) {
        export_refuse(exporter, "%s",
                      exporter->context.error.code != MDF_OK ? exporter->context.error.message : "its type is not known");
    } else if (sample.kind != MDF_KIND_TENSOR) {
        char title[MDF_OPERATOR_TITLE_SIZE];

        mdf_operator_title(operator, title);
        done = export_refuse(exporter, "%s gives no array", title);
    } else {
        *writing->result = (struct symbol){.kind = SYMBOL_TENSOR};
        symbol_set_form(exporter, writing->result, &sample, with_shapes);
    }
    mdf_value_clear(exporter->memory, &sample);
    return done;
}

/* The value of a call whose inputs are known, or of which nothing but shapes counts. */
static bool fold_constant(struct writing *writing)
{
    struct mdf_value *value = export_make(writing->exporter);

    if (value == NULL) {
        return false;
    }
    return (run_kernel(writing->exporter, writing->call->operator, writing->call->settings, writing->inputs, writing->n_inputs, true,
                       value) ||
            export_refuse(writing->exporter, "%s", writing->exporter->context.error.message)) &&
           symbol_of_value(writing->exporter, value, writing->result);
}

/* ------------------------------------------------------------------ small pieces */

static bool one(struct writing *writing, const char *operator, const struct symbol *a, const struct symbol *like,
                struct symbol *result)
{
    return export_op(writing->exporter, writing->graph, operator, &a, 1, NULL, like, result);
}

static bool two(struct writing *writing, const char *operator, const struct symbol *a, const struct symbol *b,
                const struct symbol *like, struct symbol *result)
{
    const struct symbol *inputs[] = {a, b};

    return export_op(writing->exporter, writing->graph, operator, inputs, 2, NULL, like, result);
}

static bool three(struct writing *writing, const char *operator, const struct symbol *a, const struct symbol *b,
                  const struct symbol *c, const struct symbol *like, struct symbol *result)
{
    const struct symbol *inputs[] = {a, b, c};

    return export_op(writing->exporter, writing->graph, operator, inputs, 3, NULL, like, result);
}

static bool two_with(struct writing *writing, const char *operator, const struct symbol *a, const struct symbol *b,
                     const char *attribute, int64_t value, const struct symbol *like, struct symbol *result)
{
    const struct symbol *inputs[] = {a, b};
    struct mdf_text attributes;
    bool done;

    mdf_text_init(&attributes, writing->exporter->memory);
    export_attribute_integer(&attributes, attribute, value);
    done = export_op(writing->exporter, writing->graph, operator, inputs, b != NULL ? 2 : 1, &attributes, like, result);
    mdf_text_release(&attributes);
    return done;
}

static bool cast(struct writing *writing, const struct symbol *symbol, mdf_dtype dtype, struct symbol *result)
{
    struct symbol array;

    return export_as_array(writing->exporter, writing->graph, symbol, &array) &&
           export_cast(writing->exporter, writing->graph, &array, dtype, result);
}

static bool number(struct writing *writing, double value, struct symbol *result)
{
    return symbol_of_real(writing->exporter, value, writing->result->dtype, result);
}

static bool refuse(struct writing *writing)
{
    char title[MDF_OPERATOR_TITLE_SIZE];

    mdf_operator_title(writing->call->operator, title);
    return export_refuse(writing->exporter, "%s has no form in ONNX", title);
}

/* ------------------------------------------------------------------ functions of elements */

/* Python's remainder has the sign of the divisor, C's and ONNX's of reals that of the dividend. */
static bool write_floor_remainder(struct writing *writing, const struct symbol *a, const struct symbol *b, struct symbol *result)
{
    const struct symbol *like = writing->result;
    struct symbol truth = *like, remainder, zero, is_some, is_negative, divisor_is_negative, differs, wrong, sum;

    truth.dtype = MDF_DTYPE_BOOL;
    if (mdf_dtype_kind(like->dtype) != 'f') {
        return two_with(writing, "Mod", a, b, "fmod", 0, like, result);
    }
    return two_with(writing, "Mod", a, b, "fmod", 1, like, &remainder) && number(writing, 0, &zero) &&
           two(writing, "Equal", &remainder, &zero, &truth, &differs) && one(writing, "Not", &differs, &truth, &is_some) &&
           two(writing, "Less", &remainder, &zero, &truth, &is_negative) &&
           two(writing, "Less", b, &zero, &truth, &divisor_is_negative) &&
           two(writing, "Xor", &is_negative, &divisor_is_negative, &truth, &differs) &&
           two(writing, "And", &is_some, &differs, &truth, &wrong) && two(writing, "Add", &remainder, b, like, &sum) &&
           three(writing, "Where", &wrong, &sum, &remainder, like, result);
}

/* CPython's: the quotient without the remainder, rounded down, and up again where that was too far. */
static bool write_floor_quotient(struct writing *writing, const struct symbol *a, const struct symbol *b, struct symbol *result)
{
    const struct symbol *like = writing->result;
    struct symbol truth = *like, remainder, multiple, quotient, floor, rest, half, one_more, is_more, sum;

    truth.dtype = MDF_DTYPE_BOOL;
    if (!write_floor_remainder(writing, a, b, &remainder) || !two(writing, "Sub", a, &remainder, like, &multiple)) {
        return false;
    }
    if (mdf_dtype_kind(like->dtype) != 'f') {
        return two(writing, "Div", &multiple, b, like, result);
    }
    return two(writing, "Div", &multiple, b, like, &quotient) && one(writing, "Floor", &quotient, like, &floor) &&
           two(writing, "Sub", &quotient, &floor, like, &rest) && number(writing, 0.5, &half) &&
           two(writing, "Greater", &rest, &half, &truth, &is_more) && number(writing, 1, &one_more) &&
           two(writing, "Add", &floor, &one_more, like, &sum) && three(writing, "Where", &is_more, &sum, &floor, like, result);
}

static bool write_remainder(struct writing *writing, const struct symbol *a, const struct symbol *b, struct symbol *result)
{
    return two_with(writing, "Mod", a, b, "fmod", 1, writing->result, result);
}

static bool write_not_equal(struct writing *writing, const struct symbol *a, const struct symbol *b, struct symbol *result)
{
    struct symbol equal;

    return two(writing, "Equal", a, b, writing->result, &equal) && one(writing, "Not", &equal, writing->result, result);
}

static bool write_square(struct writing *writing, const struct symbol *a, const struct symbol *b, struct symbol *result)
{
    (void)b;
    return two(writing, "Mul", a, a, writing->result, result);
}

static bool write_truncated(struct writing *writing, const struct symbol *a, const struct symbol *b, struct symbol *result)
{
    const struct symbol *like = writing->result;
    struct symbol truth = *like, zero, floor, ceiling, is_negative;

    (void)b;
    truth.dtype = MDF_DTYPE_BOOL;
    return number(writing, 0, &zero) && one(writing, "Floor", a, like, &floor) && one(writing, "Ceil", a, like, &ceiling) &&
           two(writing, "Less", a, &zero, &truth, &is_negative) &&
           three(writing, "Where", &is_negative, &ceiling, &floor, like, result);
}

static bool times(struct writing *writing, const struct symbol *a, double factor, struct symbol *result)
{
    struct symbol constant;

    return number(writing, factor, &constant) && two(writing, "Mul", a, &constant, writing->result, result);
}

static bool write_degrees(struct writing *writing, const struct symbol *a, const struct symbol *b, struct symbol *result)
{
    (void)b;
    return times(writing, a, 180 / 3.14159265358979323846, result);
}

static bool write_radians(struct writing *writing, const struct symbol *a, const struct symbol *b, struct symbol *result)
{
    (void)b;
    return times(writing, a, 3.14159265358979323846 / 180, result);
}

static bool write_log2(struct writing *writing, const struct symbol *a, const struct symbol *b, struct symbol *result)
{
    struct symbol logarithm, constant;

    (void)b;
    return one(writing, "Log", a, writing->result, &logarithm) && number(writing, 0.69314718055994530942, &constant) &&
           two(writing, "Div", &logarithm, &constant, writing->result, result);
}

static bool write_log10(struct writing *writing, const struct symbol *a, const struct symbol *b, struct symbol *result)
{
    struct symbol logarithm, constant;

    (void)b;
    return one(writing, "Log", a, writing->result, &logarithm) && number(writing, 2.30258509299404568402, &constant) &&
           two(writing, "Div", &logarithm, &constant, writing->result, result);
}

static bool write_exp2(struct writing *writing, const struct symbol *a, const struct symbol *b, struct symbol *result)
{
    struct symbol base;

    (void)b;
    return number(writing, 2, &base) && two(writing, "Pow", &base, a, writing->result, result);
}

static bool write_hypotenuse(struct writing *writing, const struct symbol *a, const struct symbol *b, struct symbol *result)
{
    struct symbol x, y, sum;

    return two(writing, "Mul", a, a, writing->result, &x) && two(writing, "Mul", b, b, writing->result, &y) &&
           two(writing, "Add", &x, &y, writing->result, &sum) && one(writing, "Sqrt", &sum, writing->result, result);
}

static bool write_finite(struct writing *writing, const struct symbol *a, const struct symbol *b, struct symbol *result)
{
    struct symbol difference, is_nan; /* an infinity less itself is no number */

    (void)b;
    return two(writing, "Sub", a, a, a, &difference) && one(writing, "IsNaN", &difference, writing->result, &is_nan) &&
           one(writing, "Not", &is_nan, writing->result, result);
}

static bool write_hyperbolic(struct writing *writing, const struct symbol *a, bool is_sine, struct symbol *result)
{
    const struct symbol *like = writing->result;
    struct symbol negative, up, down, both;

    return one(writing, "Neg", a, like, &negative) && one(writing, "Exp", a, like, &up) &&
           one(writing, "Exp", &negative, like, &down) && two(writing, is_sine ? "Sub" : "Add", &up, &down, like, &both) &&
           times(writing, &both, 0.5, result);
}

static bool write_cosh(struct writing *writing, const struct symbol *a, const struct symbol *b, struct symbol *result)
{
    (void)b;
    return write_hyperbolic(writing, a, false, result);
}

static bool write_tangent(struct writing *writing, const struct symbol *a, const struct symbol *b, struct symbol *result)
{
    struct symbol sine, cosine;

    (void)b;
    return one(writing, "Sin", a, writing->result, &sine) && one(writing, "Cos", a, writing->result, &cosine) &&
           two(writing, "Div", &sine, &cosine, writing->result, result);
}

/* Where no operator of ONNX has the element, or ONNX Runtime has none for float64: another operator, or several. */
static const struct element_form {
    enum mdf_element_id id;
    const char *operator; /* NULL: `write` */
    bool (*write)(struct writing *writing, const struct symbol *a, const struct symbol *b, struct symbol *result);
} element_forms[] = {
    {MDF_ELEMENT_power, "Pow", NULL},
    {MDF_ELEMENT_each_power, "Pow", NULL},
    {MDF_ELEMENT_power_of_numbers, "Pow", NULL},
    {MDF_ELEMENT_maximum, "Max", NULL},
    {MDF_ELEMENT_minimum, "Min", NULL},
    {MDF_ELEMENT_exact_absolute, "Abs", NULL},
    {MDF_ELEMENT_kept, "Identity", NULL},
    {MDF_ELEMENT_positive, "Identity", NULL},
    {MDF_ELEMENT_error_function, "Erf", NULL},
    {MDF_ELEMENT_quotient, "Div", NULL},
    {MDF_ELEMENT_divide, "Div", NULL},
    {MDF_ELEMENT_floor_quotient, NULL, write_floor_quotient},
    {MDF_ELEMENT_floor_remainder, NULL, write_floor_remainder},
    {MDF_ELEMENT_c_remainder, NULL, write_remainder},
    {MDF_ELEMENT_not_equal, NULL, write_not_equal},
    {MDF_ELEMENT_square, NULL, write_square},
    {MDF_ELEMENT_truncated, NULL, write_truncated},
    {MDF_ELEMENT_degrees, NULL, write_degrees},
    {MDF_ELEMENT_radians, NULL, write_radians},
    {MDF_ELEMENT_logarithm_base_two, NULL, write_log2},
    {MDF_ELEMENT_logarithm_base_ten, NULL, write_log10},
    {MDF_ELEMENT_exponential_base_two, NULL, write_exp2},
    {MDF_ELEMENT_hypotenuse, NULL, write_hypotenuse},
    {MDF_ELEMENT_is_finite, NULL, write_finite},
    {MDF_ELEMENT_cosine_hyperbolic, NULL, write_cosh},
    {MDF_ELEMENT_tangent, NULL, write_tangent},
};

/* The operator of ONNX whose row has the element and no attributes. */
static const char *operator_of_element(const struct exporter *exporter, const struct mdf_element *element)
{
    const struct mdf_schema *schema;
    size_t i;

    for (i = 0; (schema = mdf_schema_at(i)) != NULL; i++) {
        const struct mdf_operator *row =
            schema->domain[0] == '\0' && schema->since <= exporter->opset ? mdf_operator_onnx(schema->name, schema->since) : NULL;

        if (row != NULL && row->element == element && row->settings == NULL) {
            return schema->name;
        }
    }
    return NULL;
}

/* The type that the operands are brought to: the result's, or, where that is a truth, their own common one. */
static mdf_dtype operand_type(const struct writing *writing, const char *operator, size_t n)
{
    const struct mdf_schema *schema = operator != NULL ? mdf_schema_find("", operator, writing->exporter->opset) : NULL;
    mdf_dtype dtype = writing->result->dtype;
    struct symbol common = writing->inputs[0];
    size_t i;

    if (schema != NULL && schema->inputs[0].variable >= 0 && schema->inputs[0].variable == schema->outputs[0].variable) {
        return dtype;
    }
    if (dtype != MDF_DTYPE_BOOL) {
        return dtype;
    }
    if (schema != NULL && schema->inputs[0].tensor_types == MDF_DTYPE_BIT(MDF_DTYPE_BOOL)) {
        return MDF_DTYPE_BOOL;
    }
    for (i = 1; i < n; i++) {
        common.dtype = export_common_type(writing->exporter, &common, &writing->inputs[i]);
        common.strength =
            writing->inputs[i].strength > common.strength ? writing->inputs[i].strength : common.strength;
    }
    return common.dtype == MDF_DTYPE_BOOL && (schema == NULL || (schema->inputs[0].tensor_types & MDF_DTYPE_BIT(MDF_DTYPE_BOOL)) == 0)
               ? MDF_DTYPE_INT32
               : common.dtype;
}

static bool write_select(struct writing *writing)
{
    struct symbol condition, a, b;

    return cast(writing, &writing->inputs[0], MDF_DTYPE_BOOL, &condition) &&
           cast(writing, &writing->inputs[1], writing->result->dtype, &a) &&
           cast(writing, &writing->inputs[2], writing->result->dtype, &b) &&
           three(writing, "Where", &condition, &a, &b, writing->result, writing->result);
}

/* What bits are of truths: logic. */
static const char *logic_of(const struct mdf_element *element)
{
    return element->id == MDF_ELEMENT_bitwise_and   ? "And"
           : element->id == MDF_ELEMENT_bitwise_or  ? "Or"
           : element->id == MDF_ELEMENT_bitwise_xor ? "Xor"
           : element->id == MDF_ELEMENT_complement  ? "Not"
                                                    : NULL;
}

static bool write_element(struct writing *writing, const struct mdf_element *element)
{
    const struct element_form *form = NULL;
    struct symbol operands[2], result;
    const char *operator= NULL;
    mdf_dtype dtype;
    size_t n = element->n_operands, i;

    for (i = n; i < writing->n_inputs; i++) {
        if (writing->inputs[i].kind != SYMBOL_NOTHING) {
            return refuse(writing); /* an argument that makes it another function */
        }
    }
    if (element->id == MDF_ELEMENT_select) {
        return write_select(writing);
    }
    for (i = 0; i < sizeof element_forms / sizeof *element_forms && form == NULL; i++) {
        form = element_forms[i].id == element->id ? &element_forms[i] : NULL;
    }
    if (writing->result->dtype == MDF_DTYPE_BOOL && logic_of(element) != NULL) {
        operator= logic_of(element);
    } else {
        operator= form != NULL ? form->operator : operator_of_element(writing->exporter, element);
    }
    if (n > 2 || n > writing->n_inputs || (operator== NULL && form == NULL)) {
        return refuse(writing);
    }
    dtype = operand_type(writing, operator, n);
    if (dtype == MDF_DTYPE_NONE) {
        return export_refuse(writing->exporter, "its operands have no common type");
    }
    for (i = 0; i < n; i++) {
        if (!cast(writing, &writing->inputs[i], dtype, &operands[i])) {
            return false;
        }
    }
    if (!(operator== NULL ? form->write(writing, &operands[0], &operands[n - 1], &result)
          : n == 1        ? one(writing, operator, &operands[0], writing->result, &result)
                          : two(writing, operator, &operands[0], &operands[1], writing->result, &result))) {
        return false;
    }
    *writing->result = result;
    return true;
}

/* ------------------------------------------------------------------ folds */

static const char *operator_of_fold(const struct exporter *exporter, const struct mdf_fold *fold)
{
    const struct mdf_schema *schema;
    size_t i;

    if (fold->result != MDF_FOLD_TOTAL) {
        return fold->result == MDF_FOLD_PLACE_OF_LARGEST ? "ArgMax" : "ArgMin";
    }
    for (i = 0; (schema = mdf_schema_at(i)) != NULL; i++) {
        const struct mdf_operator *row =
            schema->domain[0] == '\0' && schema->since <= exporter->opset ? mdf_operator_onnx(schema->name, schema->since) : NULL;

        if (row != NULL && row->fold != NULL && row->fold->result == MDF_FOLD_TOTAL && row->fold->divides == fold->divides &&
            !row->fold->truths && !row->fold->shifts && strcmp(row->fold->way->name, fold->way->name) == 0 &&
            (row->fold->after == NULL || row->fold->after->id == MDF_ELEMENT_kept)) {
            return schema->name;
        }
    }
    return NULL;
}

/* The axes that a call reduces, of an array of known rank; or all (n SIZE_MAX) where none are said. */
static bool find_axes(struct writing *writing, const struct mdf_fold *fold, int64_t *axes, size_t *n, bool *keeps)
{
    struct exporter *exporter = writing->exporter;
    size_t rank = writing->inputs[0].rank, i;
    struct mdf_value *samples = mdf_arena_array(&exporter->arena, writing->n_inputs + MDF_CALL_SCRATCH, sizeof *samples);
    const struct mdf_value **given = mdf_arena_array(&exporter->arena, writing->n_inputs, sizeof *given);
    bool *reduced = mdf_arena_array(&exporter->arena, rank + 1, sizeof *reduced), done;
    struct mdf_call call = {.operator= writing->call->operator, .settings = writing->call->settings, .inputs = given,
                            .n_inputs = writing->n_inputs, .context = &exporter->context};

    *keeps = false;
    *n = SIZE_MAX;
    if (samples == NULL || given == NULL || reduced == NULL) {
        return export_out_of_memory(exporter);
    }
    done = true;
    for (i = 0; done && i < writing->n_inputs; i++) {
        done = symbol_sample(exporter, &writing->inputs[i], &samples[i]);
        given[i] = writing->inputs[i].kind == SYMBOL_NOTHING && writing->inputs[i].constant == NULL ? NULL : &samples[i];
    }
    call.scratch = samples + writing->n_inputs;
    exporter->context.error.code = MDF_OK;
    if (done && writing->inputs[0].has_shape) {
        done = fold->axes(&call, rank, reduced, keeps) || export_refuse(exporter, "%s", exporter->context.error.message);
        for (i = 0, *n = 0; done && i < rank; i++) {
            if (reduced[i]) {
                axes[(*n)++] = (int64_t)i;
            }
        }
    } else if (done && !are_constants(writing->inputs + 1, writing->n_inputs - 1)) {
        done = refuse(writing);
    } else if (done && writing->n_inputs > 1 && writing->inputs[1].kind == SYMBOL_TENSOR) {
        done = mdf_value_to_int64(writing->inputs[1].constant, axes) || refuse(writing);
        *n = 1;
    }
    for (i = 0; i < writing->n_inputs + MDF_CALL_SCRATCH; i++) {
        mdf_value_clear(exporter->memory, &samples[i]);
    }
    return done;
}

/* From which version on the axes of a reduction are an input. */
static bool axes_are_input(const struct exporter *exporter, const char *operator)
{
    const struct mdf_schema *schema = mdf_schema_find("", operator, exporter->opset);

    return schema != NULL && mdf_schema_attribute(schema, "axes") == NULL;
}

static bool write_place(struct writing *writing, const char *operator, const struct symbol *input, const int64_t *axes, size_t n,
                        bool keeps)
{
    static const int64_t all = -1;
    struct symbol flat, shape, like = *input;
    struct mdf_text attributes;
    const struct symbol *taken = input;
    bool done = true;

    if (n != 1) { /* of all elements in a row */
        done = !keeps && (n == SIZE_MAX || n == input->rank) && symbol_of_integers(writing->exporter, &all, 1, &shape);
        if (!done) {
            return refuse(writing);
        }
        done = two(writing, "Reshape", input, &shape, &like, &flat);
        taken = &flat;
    }
    mdf_text_init(&attributes, writing->exporter->memory);
    export_attribute_integer(&attributes, "axis", n == 1 ? axes[0] : 0);
    export_attribute_integer(&attributes, "keepdims", keeps);
    done = done && export_op(writing->exporter, writing->graph, operator, &taken, 1, &attributes, writing->result, writing->result);
    mdf_text_release(&attributes);
    return done;
}

static bool write_fold(struct writing *writing, const struct mdf_fold *fold)
{
    const char *operator= operator_of_fold(writing->exporter, fold);
    int64_t *axes = mdf_arena_array(&writing->exporter->arena, writing->inputs[0].rank + 1, sizeof *axes);
    struct symbol input, listed;
    const struct symbol *inputs[] = {&input, &listed};
    struct mdf_text attributes;
    size_t n = 0, n_inputs = 1;
    bool keeps, done;

    if (operator== NULL || fold->truths || fold->fits) {
        return refuse(writing);
    }
    if (axes == NULL) {
        return export_out_of_memory(writing->exporter);
    }
    if (!find_axes(writing, fold, axes, &n, &keeps)) {
        return false;
    }
    if (fold->result != MDF_FOLD_TOTAL) {
        return cast(writing, &writing->inputs[0], writing->inputs[0].dtype, &input) &&
               write_place(writing, operator, &input, axes, n, keeps);
    }
    if (!cast(writing, &writing->inputs[0], writing->result->dtype, &input)) {
        return false;
    }
    mdf_text_init(&attributes, writing->exporter->memory);
    export_attribute_integer(&attributes, "keepdims", keeps);
    done = true;
    if (n == 0) { /* nothing is reduced */
        done = one(writing, "Identity", &input, writing->result, writing->result);
        mdf_text_release(&attributes);
        return done;
    }
    if (n != SIZE_MAX && axes_are_input(writing->exporter, operator)) {
        done = symbol_of_integers(writing->exporter, axes, n, &listed);
        n_inputs = 2;
    } else if (n != SIZE_MAX) {
        export_attribute_integers(&attributes, "axes", axes, n);
    }
    done = done &&
           export_op(writing->exporter, writing->graph, operator, inputs, n_inputs, &attributes, writing->result, writing->result);
    mdf_text_release(&attributes);
    return done;
}

/* ------------------------------------------------------------------ moves */

static bool write_reshape(struct writing *writing, const struct symbol *input)
{
    struct symbol shape;

    return symbol_of_integers(writing->exporter, writing->result->shape, writing->result->rank, &shape) &&
           two(writing, "Reshape", input, &shape, writing->result, writing->result);
}

/* The elements of all inputs that are moved in a row, with a 0 before them. */
static bool write_row(struct writing *writing, size_t n_data, struct symbol *row)
{
    static const int64_t all = -1;
    const struct symbol **rows = mdf_arena_array(&writing->exporter->arena, n_data + 1, sizeof *rows);
    struct symbol *flat = mdf_arena_array(&writing->exporter->arena, n_data + 1, sizeof *flat), shape, input, zero, like;
    struct mdf_text attributes;
    bool done;
    size_t i;

    if (rows == NULL || flat == NULL) {
        return export_out_of_memory(writing->exporter);
    }
    if (!symbol_of_integers(writing->exporter, &all, 1, &shape) || !number(writing, 0, &zero)) {
        return false;
    }
    like = *writing->result;
    like.has_shape = false;
    like.rank = 0;
    for (i = 0; i <= n_data; i++) {
        if (!cast(writing, i == 0 ? &zero : &writing->inputs[i - 1], writing->result->dtype, &input) ||
            !two(writing, "Reshape", &input, &shape, &like, &flat[i])) {
            return false;
        }
        rows[i] = &flat[i];
    }
    mdf_text_init(&attributes, writing->exporter->memory);
    export_attribute_integer(&attributes, "axis", 0);
    done = export_op(writing->exporter, writing->graph, "Concat", rows, n_data + 1, &attributes, &like, row);
    mdf_text_release(&attributes);
    return done;
}

/* Where each element of the result comes from, by the kernel. */
static bool write_gather(struct writing *writing, const struct mdf_move *move)
{
    struct exporter *exporter = writing->exporter;
    size_t n = writing->n_inputs, n_data = mdf_move_data(move, n), i;
    struct mdf_value *samples = mdf_arena_array(&exporter->arena, n + MDF_CALL_SCRATCH, sizeof *samples), result = {0},
                     *places = export_make(exporter), *output = &result;
    const struct mdf_value **given = mdf_arena_array(&exporter->arena, n, sizeof *given);
    struct mdf_call call = {.kernel = writing->call->operator->kernel, .operator= writing->call->operator,
                            .settings = writing->call->settings, .inputs = given, .n_inputs = n, .outputs = &output,
                            .n_outputs = 1, .context = &exporter->context};
    struct symbol positions, row;
    bool done = samples != NULL && given != NULL && places != NULL;

    if (!done) {
        return export_out_of_memory(exporter);
    }
    if (!have_full_shapes(writing->inputs, n) || !are_constants(writing->inputs + n_data, n - n_data)) {
        return export_refuse(exporter, "which elements are meant is not known before it runs (shapes or indices are not)");
    }
    for (i = 0; done && i < n; i++) {
        done = symbol_sample(exporter, &writing->inputs[i], &samples[i]);
        given[i] = writing->inputs[i].kind == SYMBOL_NOTHING && writing->inputs[i].constant == NULL ? NULL : &samples[i];
    }
    call.scratch = samples + n;
    exporter->context.error.code = MDF_OK;
    done = done && (mdf_move_positions(&call, move, places) || export_refuse(exporter, "%s", exporter->context.error.message));
    if (done && places->length > MOST_POSITIONS) {
        done = export_refuse(exporter, "it moves more elements one by one than %d", MOST_POSITIONS);
    }
    for (i = 0; done && i < places->length; i++) {
        ((int64_t *)places->data)[i] += 1; /* behind the 0 */
    }
    done = done && symbol_of_value(exporter, places, &positions) && write_row(writing, n_data, &row) &&
           two(writing, "Gather", &row, &positions, writing->result, writing->result);
    for (i = 0; i < n + MDF_CALL_SCRATCH; i++) {
        mdf_value_clear(exporter->memory, &samples[i]);
    }
    mdf_value_clear(exporter->memory, &result);
    return done;
}

/* One whole number as index of the first axis, whatever else is known. */
static bool write_item(struct writing *writing, bool *is_item)
{
    const struct mdf_subscript *subscript = writing->call->settings;
    struct symbol index;

    *is_item = subscript->n_parts == 1 && subscript->parts[0].kind == MDF_SUBSCRIPT_INDEX && writing->n_inputs == 2 &&
               writing->inputs[1].kind == SYMBOL_TENSOR && mdf_dtype_kind(writing->inputs[1].dtype) == 'i';
    return *is_item && cast(writing, &writing->inputs[1], MDF_DTYPE_INT64, &index) &&
           two_with(writing, "Gather", &writing->inputs[0], &index, "axis", 0, writing->result, writing->result);
}

static bool write_move(struct writing *writing, const struct mdf_move *move)
{
    struct symbol input;
    bool is_item = false;

    if (writing->call->operator->form == MDF_FORM_LIST_ITEM) {
        bool done = write_item(writing, &is_item);

        if (is_item) {
            return done;
        }
    }
    if (move->in_order && symbol_has_full_shape(writing->result)) {
        return cast(writing, &writing->inputs[0], writing->result->dtype, &input) && write_reshape(writing, &input);
    }
    return write_gather(writing, move);
}

/* ------------------------------------------------------------------ what else there is */

static bool write_product(struct writing *writing, bool is_dot)
{
    const struct symbol *a = &writing->inputs[0], *b = &writing->inputs[1];
    struct symbol x, y;
    bool is_scaled = is_dot && ((a->has_shape && a->rank == 0) || (b->has_shape && b->rank == 0));

    if (is_dot && !is_scaled && (!a->has_shape || !b->has_shape || a->rank > 2 || b->rank > 2)) {
        return refuse(writing);
    }
    return cast(writing, a, writing->result->dtype, &x) && cast(writing, b, writing->result->dtype, &y) &&
           two(writing, is_scaled ? "Mul" : "MatMul", &x, &y, writing->result, writing->result);
}

static bool write_clip(struct writing *writing)
{
    struct symbol value, bound;
    size_t i;

    if (!cast(writing, &writing->inputs[0], writing->result->dtype, &value)) {
        return false;
    }
    for (i = 1; i < writing->n_inputs; i++) { /* a_min a_max min max */
        if (writing->inputs[i].kind != SYMBOL_NOTHING &&
            (!cast(writing, &writing->inputs[i], writing->result->dtype, &bound) ||
             !two(writing, i % 2 == 1 ? "Max" : "Min", &value, &bound, writing->result, &value))) {
            return false;
        }
    }
    *writing->result = value;
    return true;
}

/* Python's min and max of some numbers: the first of those that are equal. */
static bool write_extreme(struct writing *writing)
{
    bool is_min = strcmp(writing->call->operator->name, "min") == 0;
    const struct symbol *items = writing->inputs;
    size_t n = writing->n_inputs, i;
    struct symbol best, next, truth, is_better;

    if (n == 1 && items[0].kind == SYMBOL_LIST) {
        n = items[0].n_items;
        items = items[0].items;
    } else if (n == 1) {
        return refuse(writing);
    }
    truth = *writing->result;
    truth.dtype = MDF_DTYPE_BOOL;
    if (!cast(writing, &items[0], writing->result->dtype, &best)) {
        return false;
    }
    for (i = 1; i < n; i++) {
        if (!cast(writing, &items[i], writing->result->dtype, &next) ||
            !two(writing, is_min ? "Less" : "Greater", &next, &best, &truth, &is_better) ||
            !three(writing, "Where", &is_better, &next, &best, writing->result, &best)) {
            return false;
        }
    }
    *writing->result = best;
    return true;
}

static bool write_logarithm(struct writing *writing)
{
    struct symbol x, base, logarithm, of_base;
    bool has_base = writing->n_inputs > 1 && writing->inputs[1].kind != SYMBOL_NOTHING;

    if (!cast(writing, &writing->inputs[0], writing->result->dtype, &x) ||
        !one(writing, "Log", &x, writing->result, &logarithm)) {
        return false;
    }
    if (!has_base) {
        *writing->result = logarithm;
        return true;
    }
    return cast(writing, &writing->inputs[1], writing->result->dtype, &base) &&
           one(writing, "Log", &base, writing->result, &of_base) &&
           two(writing, "Div", &logarithm, &of_base, writing->result, writing->result);
}

/* numpy.zeros_like and its kin: one number in the shape of the first input. */
static bool write_filled(struct writing *writing)
{
    struct symbol shape_type = {.kind = SYMBOL_TENSOR, .dtype = MDF_DTYPE_INT64, .strength = MDF_STRENGTH_TYPED}, shape, filling;

    return number(writing, strcmp(writing->call->operator->name, "numpy.ones_like") == 0, &filling) &&
           one(writing, "Shape", &writing->inputs[0], &shape_type, &shape) &&
           two(writing, "Expand", &filling, &shape, writing->result, writing->result);
}

/* Functions whose rows have no column that says what they are. */
static const struct {
    const char *name;
    bool (*write)(struct writing *writing);
} named_forms[] = {{"numpy.clip", write_clip},          {"min", write_extreme},
                   {"max", write_extreme},              {"math.log", write_logarithm},
                   {"numpy.zeros_like", write_filled},  {"numpy.empty_like", write_filled},
                   {"numpy.ones_like", write_filled}};

static bool write_by_name(struct writing *writing, bool *is_known)
{
    size_t i;

    for (i = 0; i < sizeof named_forms / sizeof *named_forms; i++) {
        if (strcmp(writing->call->operator->name, named_forms[i].name) == 0) {
            *is_known = true;
            return named_forms[i].write(writing);
        }
    }
    return false;
}

/* An item of a list. */
static bool take_list_item(struct writing *writing)
{
    const struct mdf_subscript *subscript = writing->call->settings;
    const struct symbol *list = &writing->inputs[0];
    int64_t index = 0;

    if (subscript->n_parts != 1 || subscript->parts[0].kind != MDF_SUBSCRIPT_INDEX || writing->n_inputs != 2 ||
        writing->inputs[1].constant == NULL || !mdf_value_to_int64(writing->inputs[1].constant, &index)) {
        return export_refuse(writing->exporter, "which items of a list are meant is not known before it runs");
    }
    index += index < 0 ? (int64_t)list->n_items : 0;
    if (index < 0 || (size_t)index >= list->n_items) {
        return export_refuse(writing->exporter, "the index is outside of the list");
    }
    *writing->result = list->items[index];
    return true;
}

static bool make_list(struct writing *writing)
{
    *writing->result = (struct symbol){.kind = SYMBOL_LIST, .items = writing->inputs, .n_items = writing->n_inputs};
    return true;
}

static bool has_list(const struct writing *writing)
{
    size_t i;

    for (i = 0; i < writing->n_inputs && writing->inputs[i].kind != SYMBOL_LIST; i++) {
    }
    return i < writing->n_inputs;
}

static bool write_by_form(struct writing *writing)
{
    const struct mdf_operator *operator= writing->call->operator;
    const struct mdf_element *element;
    bool is_known = false, done;

    if (!find_type(writing)) {
        return false;
    }
    done = write_by_name(writing, &is_known);
    if (is_known) {
        return done;
    }
    switch (operator->form) {
    case MDF_FORM_MATMUL:
    case MDF_FORM_DOT:
        return write_product(writing, operator->form == MDF_FORM_DOT);
    case MDF_FORM_NUMBER:
    case MDF_FORM_LIST_ARRAY:
        return cast(writing, &writing->inputs[0], writing->result->dtype, writing->result);
    default:
        break;
    }
    element = mdf_element_of(operator, writing->call->settings);
    if (element != NULL) {
        return write_element(writing, element);
    }
    if (operator->fold != NULL) {
        return write_fold(writing, operator->fold);
    }
    return operator->move != NULL ? write_move(writing, operator->move) : refuse(writing);
}

/* The same with lists as arrays, or with the items of the list as inputs. */
static bool write_without_lists(struct writing *writing)
{
    struct symbol *arrays = mdf_arena_array(&writing->exporter->arena, writing->n_inputs, sizeof *arrays);
    struct mdf_code_call call = *writing->call;
    size_t i;

    if (arrays == NULL) {
        return export_out_of_memory(writing->exporter);
    }
    if (call.operator->of_items != NULL && writing->inputs[0].kind == SYMBOL_LIST && writing->inputs[0].constant == NULL) {
        const struct mdf_move *move = call.operator->of_items->move;
        size_t n_items = writing->inputs[0].n_items, n_behind = move != NULL ? move->n_behind : 0, n;
        struct symbol *items;

        n_behind = writing->n_inputs - 1 > n_behind ? writing->n_inputs - 1 : n_behind; /* what is left out is there as nothing */
        n = n_items + n_behind;
        items = mdf_arena_array(&writing->exporter->arena, n, sizeof *items);

        if (items == NULL) {
            return export_out_of_memory(writing->exporter);
        }
        memcpy(items, writing->inputs[0].items, n_items * sizeof *items);
        for (i = 0; i < n_behind; i++) {
            items[n_items + i] = i + 1 < writing->n_inputs ? writing->inputs[i + 1] : (struct symbol){.kind = SYMBOL_NOTHING};
        }
        call.operator= call.operator->of_items;
        writing->call = &call;
        writing->inputs = items;
        writing->n_inputs = n;
        return write_by_form(writing);
    }
    for (i = 0; i < writing->n_inputs; i++) {
        if (writing->inputs[i].constant != NULL) {
            arrays[i] = writing->inputs[i]; /* axes, shapes */
        } else if (!export_as_array(writing->exporter, writing->graph, &writing->inputs[i], &arrays[i])) {
            return false;
        }
    }
    writing->inputs = arrays;
    return write_by_form(writing);
}

bool export_python_call(struct exporter *exporter, struct onnx_graph *graph, const struct mdf_code_call *call,
                        const struct symbol *inputs, struct symbol *outputs)
{
    struct writing writing = {exporter, graph, call, inputs, call->n_inputs, &outputs[0]};
    const struct mdf_operator *operator= call->operator;
    size_t i;

    if (exporter->opset < OPSET_OF_FORMS && !are_constants(inputs, call->n_inputs)) {
        return export_ask_opset(exporter, OPSET_OF_FORMS, "expressions");
    }
    if ((operator->flags & MDF_OPERATOR_RANDOM) != 0) {
        return export_refuse(exporter, "'%s' draws random numbers", operator->name);
    }
    if (call->n_outputs != 1) {
        return refuse(&writing);
    }
    if (are_constants(inputs, call->n_inputs)) {
        return fold_constant(&writing);
    }
    if (operator->form == MDF_FORM_LIST || strcmp(operator->name, "outputs") == 0) {
        return make_list(&writing);
    }
    if (operator->form == MDF_FORM_LIST_ITEM && inputs[0].kind == SYMBOL_LIST) {
        return take_list_item(&writing);
    }
    for (i = 0; i < call->n_inputs; i++) {
        if (inputs[i].kind == SYMBOL_UNKNOWN || inputs[i].kind == SYMBOL_SEQUENCE) {
            return inputs[i].kind == SYMBOL_UNKNOWN ? export_refuse(exporter, "a value is used before it is computed")
                                                    : refuse(&writing);
        }
        if (inputs[i].kind == SYMBOL_TENSOR && inputs[i].dtype == MDF_DTYPE_NONE) {
            return export_refuse(exporter, "the type of an operand is not known before it runs: declare it");
        }
    }
    if (operator->form == MDF_FORM_OF_SHAPE && have_full_shapes(inputs, call->n_inputs)) {
        return fold_constant(&writing);
    }
    return has_list(&writing) && strcmp(operator->name, "min") != 0 && strcmp(operator->name, "max") != 0
               ? write_without_lists(&writing)
               : write_by_form(&writing);
}
