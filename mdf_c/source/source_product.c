/* source_product.c - products of matrices: MatMul, Gemm, numpy's matmul and dot.
 *
 * Each element is summed in the order of functions/gemm*: products that are multiplied as they lie (one or two rows, one column,
 * few multiplications, whole numbers) row by row, or as scalar products in 32 parts; larger ones in blocks of 256, with fused
 * multiplication and addition where the processor that writes the code has it, as the library does. Results are then the same to
 * the last bit. */
#include "mdf_c/source/source_writer.h"

#include "functions/elements/element.h"
#include "functions/products/gemm.h"
#include "mdf_c/base/processor.h"

#include <string.h>

enum { DEPTH = 256 };

/* C (+)= alpha A B with strides; texts are addresses. */
struct product_text {
    mdf_dtype dtype;
    size_t m, n, k;
    const char *a, *b, *c;
    int64_t a_row, a_column, b_row, b_column;
    bool add;
    double alpha;
};

static const char dot_helper[] = "/* A scalar product of adjacent elements, in 32 parts. */\n"
                                 "static $T mdf_dot_$n(size_t n, const $T *x, const $T *y)\n"
                                 "{\n"
                                 "    $T parts[32] = {0};\n"
                                 "    size_t i = 0;\n"
                                 "\n"
                                 "    for (; i + 32 <= n; i += 32) {\n"
                                 "        for (size_t part = 0; part < 32; part++) {\n"
                                 "            parts[part] += x[i + part] * y[i + part];\n"
                                 "        }\n"
                                 "    }\n"
                                 "    for (size_t half = 16; half > 0 && n >= 32; half /= 2) {\n"
                                 "        for (size_t part = 0; part < half; part++) {\n"
                                 "            parts[part] += parts[part + half];\n"
                                 "        }\n"
                                 "    }\n"
                                 "    for (; i < n; i++) {\n"
                                 "        parts[0] += x[i] * y[i];\n"
                                 "    }\n"
                                 "    return parts[0];\n"
                                 "}\n";

/* Whether the library multiplies large matrices with fused multiplication and addition on this processor. */
static bool has_fused(mdf_dtype dtype)
{
    return (dtype == MDF_DTYPE_FLOAT32 || dtype == MDF_DTYPE_FLOAT64) && mdf_has_avx2();
}

static const char *at(struct mdf_source_writer *writer, const char *row, int64_t row_stride, const char *column,
                      int64_t column_stride)
{
    return mdf_source_text(writer, "%s * %lld + %s * %lld", row, (long long)row_stride, column, (long long)column_stride);
}

static const char *scaled(struct mdf_source_writer *writer, const struct product_text *product, const char *element)
{
    double alpha = product->alpha;
    float single = (float)alpha;

    return alpha == 1
               ? element
               : mdf_source_text(writer, "%s * %s",
                                 mdf_source_literal(writer, product->dtype,
                                                    product->dtype == MDF_DTYPE_FLOAT32 ? (void *)&single : (void *)&alpha),
                                 element);
}

/* The unsigned type for whole numbers, which wrap. */
static const char *sum_type(mdf_dtype dtype)
{
    return mdf_dtype_kind(dtype) == 'f' ? mdf_source_type(dtype) : "uint64_t";
}

static void write_plain(struct mdf_source_writer *writer, const struct product_text *product)
{
    bool uses_dot = product->a_column == 1 && product->b_row == 1 && (product->b_column != 1 || product->n == 1);
    const char *type = mdf_source_type(product->dtype), *wide = sum_type(product->dtype);

    mdf_source_open(writer, "for (size_t row = 0; row < %zu; row++)", product->m);
    if (!product->add) {
        mdf_source_open(writer, "for (size_t column = 0; column < %zu; column++)", product->n);
        mdf_source_line(writer, "%s[row * %zu + column] = 0;", product->c, product->n);
        mdf_source_close(writer);
    }
    if (uses_dot) {
        mdf_source_helper(writer, mdf_source_of_type(writer, "dot_$n", product->dtype),
                          mdf_source_of_type(writer, dot_helper, product->dtype));
        mdf_source_open(writer, "for (size_t column = 0; column < %zu; column++)", product->n);
        mdf_source_line(
            writer, "%s[row * %zu + column] += %s;", product->c, product->n,
            scaled(writer, product,
                   mdf_source_text(writer, "mdf_dot_%s(%zu, %s + row * %lld, %s + column * %lld)", mdf_dtype_name(product->dtype),
                                   product->k, product->a, (long long)product->a_row, product->b, (long long)product->b_column)));
        mdf_source_close(writer);
    } else {
        mdf_source_open(writer, "for (size_t k = 0; k < %zu; k++)", product->k);
        mdf_source_line(writer, "const %s scale = %s;", wide,
                        scaled(writer, product,
                               mdf_source_text(writer, "(%s)%s[%s]", wide, product->a,
                                               at(writer, "row", product->a_row, "k", product->a_column))));
        mdf_source_blank(writer);
        mdf_source_open(writer, "for (size_t column = 0; column < %zu; column++)", product->n);
        mdf_source_line(writer, "%s[row * %zu + column] = (%s)((%s)%s[row * %zu + column] + scale * (%s)%s[%s]);", product->c,
                        product->n, type, wide, product->c, product->n, wide, product->b,
                        at(writer, "k", product->b_row, "column", product->b_column));
        mdf_source_close(writer);
        mdf_source_close(writer);
    }
    mdf_source_close(writer);
}

/* Blocks of DEPTH rows of B, each summed from 0. */
static void write_blocks(struct mdf_source_writer *writer, const struct product_text *product)
{
    const char *type = mdf_source_type(product->dtype), *sums = mdf_source_buffer(writer, product->dtype, product->n, "sums");
    const char *suffix = product->dtype == MDF_DTYPE_FLOAT32 ? "f" : "",
               *b = mdf_source_text(writer, "%s[%s]", product->b, at(writer, "k", product->b_row, "column", product->b_column));

    mdf_source_open(writer, "for (size_t row = 0; row < %zu; row++)", product->m);
    mdf_source_open(writer, "for (size_t first = 0; first < %zu; first += %d)", product->k, (int)DEPTH);
    mdf_source_line(writer, "const size_t end = first + %d < %zu ? first + %d : %zu;", (int)DEPTH, product->k, (int)DEPTH,
                    product->k);
    mdf_source_blank(writer);
    mdf_source_open(writer, "for (size_t column = 0; column < %zu; column++)", product->n);
    mdf_source_line(writer, "%s[column] = 0;", sums);
    mdf_source_close(writer);
    mdf_source_open(writer, "for (size_t k = first; k < end; k++)");
    mdf_source_line(
        writer, "const %s scale = %s;", type,
        scaled(writer, product,
               mdf_source_text(writer, "%s[%s]", product->a, at(writer, "row", product->a_row, "k", product->a_column))));
    mdf_source_blank(writer);
    mdf_source_open(writer, "for (size_t column = 0; column < %zu; column++)", product->n);
    mdf_source_line(writer,
                    has_fused(product->dtype) ? "%s[column] = fma%s(scale, %s, %s[column]);"
                                              : "%s[column] = %s%s * scale + %s[column];",
                    sums, has_fused(product->dtype) ? suffix : "", b, sums);
    mdf_source_close(writer);
    mdf_source_close(writer);
    mdf_source_open(writer, "for (size_t column = 0; column < %zu; column++)", product->n);
    if (product->add) {
        mdf_source_line(writer, "%s[row * %zu + column] = %s[column] + %s[row * %zu + column];", product->c, product->n, sums,
                        product->c, product->n);
    } else {
        mdf_source_line(writer, "%s[row * %zu + column] = first > 0 ? %s[column] + %s[row * %zu + column] : %s[column];",
                        product->c, product->n, sums, product->c, product->n, sums);
    }
    mdf_source_close(writer);
    mdf_source_close(writer);
    mdf_source_close(writer);
}

static void write_product(struct mdf_source_writer *writer, const struct product_text *given)
{
    struct product_text product = *given;
    struct mdf_product like = {.dtype = product.dtype, .m = product.m, .n = product.n, .k = product.k};

    if (product.m == 0 || product.n == 0) {
        return;
    }
    if (!mdf_product_is_packed(&like)) {
        if (product.n == 1 && product.m > 1 && product.a_row == 1) { /* as the vector times the matrix transposed */
            product.m = 1;
            product.n = given->m;
            product.a = given->b;
            product.a_column = given->b_row;
            product.b = given->a;
            product.b_row = given->a_column;
            product.b_column = given->a_row;
        }
        write_plain(writer, &product);
        return;
    }
    write_blocks(writer, &product);
}

/* ------------------------------------------------------------------ MatMul */

static int64_t batch_size(const struct mdf_value *operand, size_t axis, size_t n_axes)
{
    size_t n_own = operand->rank > 2 ? operand->rank - 2 : 0;

    return axis + n_own < n_axes ? 1 : mdf_source_shape(operand)[axis + n_own - n_axes];
}

/* Whether one matrix multiplies all of the first operand, whose batches then are further rows. */
static bool has_one_second(const struct mdf_value *a, const struct mdf_value *b, size_t n_axes)
{
    size_t axis;

    for (axis = 0; axis < n_axes; axis++) {
        int64_t a_size = batch_size(a, axis, n_axes), b_size = batch_size(b, axis, n_axes);

        if ((a_size != 1 || b_size != 1) && (b_size != 1 || a_size == 1)) {
            return false;
        }
    }
    return true;
}

/* The offset of a batch of an operand whose batch indices are batch0, batch1, ... */
static const char *batch_offset(struct mdf_source_writer *writer, const struct mdf_value *operand, size_t n_axes, size_t n_matrix)
{
    const char *text = "0";
    int64_t stride = (int64_t)n_matrix;
    size_t axis;

    for (axis = n_axes; axis-- > 0;) {
        int64_t size = batch_size(operand, axis, n_axes);

        if (size > 1) {
            text = mdf_source_text(writer, "%s + batch%zu * %lld", text, axis, (long long)stride);
        }
        stride *= size;
    }
    return text;
}

static bool write_batches(struct mdf_source_writer *writer, const struct mdf_value *a, const struct mdf_value *b, size_t n_axes,
                          struct product_text *product)
{
    const char *c_offset = "0", *type = mdf_source_type(product->dtype);
    int64_t stride = (int64_t)(product->m * product->n);
    size_t axis;

    for (axis = n_axes; axis-- > 0;) {
        int64_t a_size = batch_size(a, axis, n_axes), b_size = batch_size(b, axis, n_axes), size = a_size == 1 ? b_size : a_size;

        mdf_source_open(writer, "for (size_t batch%zu = 0; batch%zu < %lld; batch%zu++)", axis, axis, (long long)size, axis);
        c_offset = mdf_source_text(writer, "%s + batch%zu * %lld", c_offset, axis, (long long)stride);
        stride *= size;
    }
    mdf_source_line(writer, "const %s *left = %s + %s;", type, product->a,
                    batch_offset(writer, a, n_axes, product->m * product->k));
    mdf_source_line(writer, "const %s *right = %s + %s;", type, product->b,
                    batch_offset(writer, b, n_axes, product->k * product->n));
    mdf_source_line(writer, "%s *result = %s + %s;", type, product->c, c_offset);
    mdf_source_blank(writer);
    product->a = "left";
    product->b = "right";
    product->c = "result";
    write_product(writer, product);
    for (axis = 0; axis < n_axes; axis++) {
        mdf_source_close(writer);
    }
    return true;
}

/* The address of an operand's elements, which are converted first where they have another type. */
static const char *operand_address(struct mdf_source_writer *writer, const struct mdf_source_call *call, size_t i,
                                   mdf_dtype dtype)
{
    const struct mdf_value *form = mdf_source_input(writer, call, i);
    const char *converted;

    if (form->dtype == dtype) {
        return mdf_source_text(writer, "(%s)", mdf_source_address(writer, call->call->inputs[i]));
    }
    converted = mdf_source_buffer(writer, dtype, form->length, "converted");
    mdf_source_open(writer, "for (size_t i = 0; i < %zu; i++)", form->length);
    mdf_source_line(writer, "%s[i] = (%s)%s;", converted, mdf_source_type(dtype),
                    mdf_source_element(writer, call->call->inputs[i], "i"));
    mdf_source_close(writer);
    return converted;
}

static bool check_types(struct mdf_source_writer *writer, const struct mdf_source_call *call, const struct mdf_value *a,
                        const struct mdf_value *b, mdf_dtype result)
{
    bool is_onnx = strchr(call->operator->name, '.') == NULL;

    if (a == NULL || b == NULL || (is_onnx && (a->dtype != b->dtype || a->dtype != (uint8_t)result)) ||
        mdf_source_type((mdf_dtype)a->dtype) == NULL || mdf_source_type((mdf_dtype)b->dtype) == NULL ||
        (result != MDF_DTYPE_FLOAT32 && result != MDF_DTYPE_FLOAT64 && result != MDF_DTYPE_INT64 && result != MDF_DTYPE_UINT64)) {
        return mdf_source_refuse(writer, "the operator %s on elements of types %s and %s", call->operator->name,
                                 mdf_dtype_name(a != NULL ? (mdf_dtype)a->dtype : MDF_DTYPE_NONE),
                                 mdf_dtype_name(b != NULL ? (mdf_dtype)b->dtype : MDF_DTYPE_NONE));
    }
    return true;
}

bool mdf_source_write_matmul(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    const struct mdf_value *a = mdf_source_input(writer, call, 0), *b = mdf_source_input(writer, call, 1);
    const struct mdf_value *form = mdf_source_output(writer, call);
    size_t n_axes, axis, n_batches = 1;
    struct product_text product = {.alpha = 1};

    if (!check_types(writer, call, a, b, (mdf_dtype)form->dtype)) {
        return false;
    }
    if (a->rank == 0 || b->rank == 0 || (call->operator->form == MDF_FORM_DOT && b->rank> 2)) {
        return mdf_source_refuse(writer, "numpy.dot of arrays of more than two axes, or of another type and a number");
    }
    n_axes = a->rank > b->rank ? a->rank : b->rank;
    n_axes = n_axes > 2 ? n_axes - 2 : 0;
    product.dtype = (mdf_dtype)form->dtype;
    product.m = a->rank > 1 ? (size_t)mdf_source_shape(a)[a->rank - 2] : 1;
    product.k = (size_t)mdf_source_shape(a)[a->rank - 1];
    product.n = b->rank > 1 ? (size_t)mdf_source_shape(b)[b->rank - 1] : 1;
    product.a_row = (int64_t)product.k;
    product.a_column = product.b_column = 1;
    product.b_row = (int64_t)product.n;
    product.a = operand_address(writer, call, 0, product.dtype);
    product.b = operand_address(writer, call, 1, product.dtype);
    product.c =
        mdf_source_text(writer, form->length == 1 && writer->lowered->values[call->call->outputs[0]].is_scalar ? "(%s)" : "%s",
                        mdf_source_address(writer, call->call->outputs[0]));
    for (axis = 0; axis < n_axes; axis++) {
        int64_t a_size = batch_size(a, axis, n_axes);

        n_batches *= (size_t)(a_size == 1 ? batch_size(b, axis, n_axes) : a_size);
    }
    if (has_one_second(a, b, n_axes)) {
        product.m *= n_batches;
        write_product(writer, &product);
        return true;
    }
    return write_batches(writer, a, b, n_axes, &product);
}

/* ------------------------------------------------------------------ Gemm */

/* Writes beta C into the result. */
static void write_addend(struct mdf_source_writer *writer, const struct mdf_source_call *call, const struct mdf_value *c,
                         double beta, const struct product_text *product)
{
    const int64_t *shape = mdf_source_shape(c);
    size_t rows = c->rank > 1 ? (size_t)shape[c->rank - 2] : 1, columns = c->rank > 0 ? (size_t)shape[c->rank - 1] : 1;
    struct product_text scaling = *product;
    const char *index = mdf_source_text(writer, "row * %zu + column * %d", rows == 1 ? 0 : columns, columns == 1 ? 0 : 1);

    scaling.alpha = beta;
    mdf_source_open(writer, "for (size_t row = 0; row < %zu; row++)", product->m);
    mdf_source_open(writer, "for (size_t column = 0; column < %zu; column++)", product->n);
    mdf_source_line(writer, "%s[row * %zu + column] = %s;", product->c, product->n,
                    scaled(writer, &scaling, mdf_source_element(writer, call->call->inputs[2], index)));
    mdf_source_close(writer);
    mdf_source_close(writer);
}

bool mdf_source_write_gemm(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    const struct mdf_value *a = mdf_source_input(writer, call, 0), *b = mdf_source_input(writer, call, 1),
                           *c = mdf_source_input(writer, call, 2);
    const struct mdf_value *form = mdf_source_output(writer, call);
    struct product_text product = {.alpha = 1};
    int64_t turn_a = 0, turn_b = 0;
    double beta = 1;

    if (!check_types(writer, call, a, b, (mdf_dtype)form->dtype)) {
        return false;
    }
    mdf_source_real_setting(call->operator, call->settings, "alpha", &product.alpha);
    mdf_source_real_setting(call->operator, call->settings, "beta", &beta);
    mdf_source_int_setting(call->operator, call->settings, "transA", &turn_a);
    mdf_source_int_setting(call->operator, call->settings, "transB", &turn_b);
    product.dtype = (mdf_dtype)form->dtype;
    if ((product.alpha != 1 || beta != 1) && mdf_dtype_kind(product.dtype) != 'f') {
        return mdf_source_refuse(writer, "Gemm of whole numbers with factors");
    }
    product.m = (size_t)mdf_source_shape(form)[0];
    product.n = (size_t)mdf_source_shape(form)[1];
    product.k = (size_t)mdf_source_shape(a)[turn_a != 0 ? 0 : 1];
    product.a_row = turn_a != 0 ? 1 : mdf_source_shape(a)[1];
    product.a_column = turn_a != 0 ? mdf_source_shape(a)[1] : 1;
    product.b_row = turn_b != 0 ? 1 : mdf_source_shape(b)[1];
    product.b_column = turn_b != 0 ? mdf_source_shape(b)[1] : 1;
    product.a = operand_address(writer, call, 0, product.dtype);
    product.b = operand_address(writer, call, 1, product.dtype);
    product.c = mdf_source_text(writer, "(%s)", mdf_source_address(writer, call->call->outputs[0]));
    if (c != NULL) {
        write_addend(writer, call, c, beta, &product);
        product.add = true;
    }
    write_product(writer, &product);
    return true;
}
