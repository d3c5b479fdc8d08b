/* source_softmax.c - Softmax, LogSoftmax, Hardmax along lines of an array, as functions/folds/softmax_lines.inc computes them. */
#include "mdf_c/source/source_writer.h"

#include <string.h>

/* Adjacent elements of float32: exponentials as functions/elements/vector_math.inc has them, added in 16 parts. */
static void write_adjacent(struct mdf_source_writer *writer, const char *x, const char *y, size_t n_lines, size_t n, bool is_log)
{
    const char *exponential = mdf_source_use(writer, "exp_float32");

    mdf_source_open(writer, "for (size_t line = 0; line < %zu; line++)", n_lines);
    mdf_source_line(writer, "const float *x = %s + line * %zu;", x, n);
    mdf_source_line(writer, "float *y = %s + line * %zu, shift = -INFINITY, change;", y, n);
    mdf_source_line(writer, "double parts[16] = {0};");
    mdf_source_blank(writer);
    mdf_source_open(writer, "for (size_t i = 0; i < %zu; i++)", n);
    mdf_source_line(writer, "shift = x[i] > shift ? x[i] : shift;");
    mdf_source_close(writer);
    mdf_source_open(writer, "for (size_t i = 0; i < %zu; i++)", n);
    mdf_source_line(writer, "y[i] = %s(x[i] - shift);", exponential);
    mdf_source_close(writer);
    mdf_source_open(writer, "for (size_t i = 0; i < %zu; i++)", n);
    mdf_source_line(writer, "parts[i %% 16] += (double)y[i];");
    mdf_source_close(writer);
    mdf_source_open(writer, "for (size_t half = 8; half > 0; half /= 2)");
    mdf_source_open(writer, "for (size_t part = 0; part < half; part++)");
    mdf_source_line(writer, "parts[part] += parts[part + half];");
    mdf_source_close(writer);
    mdf_source_close(writer);
    mdf_source_line(writer, is_log ? "change = (float)log(parts[0]);" : "change = (float)(1 / parts[0]);");
    mdf_source_open(writer, "for (size_t i = 0; i < %zu; i++)", n);
    mdf_source_line(writer, is_log ? "y[i] = x[i] - shift - change;" : "y[i] *= change;");
    mdf_source_close(writer);
    mdf_source_close(writer);
}

bool mdf_source_write_softmax(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    const struct mdf_value *form = mdf_source_output(writer, call);
    const int64_t *shape = mdf_source_shape(form);
    bool is_flat = call->operator->since<13, is_log = call->operator->form == MDF_FORM_LOG_SOFTMAX;
    bool is_hard = call->operator->form == MDF_FORM_HARDMAX;
    mdf_dtype dtype = (mdf_dtype)form->dtype;
    const char *type = mdf_source_type(dtype), *suffix = dtype == MDF_DTYPE_FLOAT32 ? "f" : "", *x, *y;
    int64_t axis = is_flat ? 1 : -1;
    size_t n = 1, inner = 1, i;

    if (dtype != MDF_DTYPE_FLOAT32 && dtype != MDF_DTYPE_FLOAT64) {
        return mdf_source_refuse(writer, "the operator %s on elements of type %s", call->operator->name, mdf_dtype_name(dtype));
    }
    mdf_source_int_setting(call->operator, call->settings, "axis", &axis);
    axis = axis < 0 ? axis + (int64_t)form->rank : axis;
    for (i = (size_t)axis; i < form->rank; i++) {
        n *= i == (size_t)axis || is_flat ? (size_t)shape[i] : 1;
        inner *= i == (size_t)axis || is_flat ? 1 : (size_t)shape[i];
    }
    if (form->length == 0) {
        return true;
    }
    x = mdf_source_address(writer, call->call->inputs[0]);
    y = mdf_source_address(writer, call->call->outputs[0]);
    if (dtype == MDF_DTYPE_FLOAT32 && inner == 1 && !is_hard) {
        write_adjacent(writer, x, y, form->length / n, n, is_log);
        return true;
    }
    mdf_source_open(writer, "for (size_t line = 0; line < %zu; line++)", form->length / n);
    mdf_source_line(writer, "const %s *x = %s + line / %zu * %zu + line %% %zu;", type, x, inner, n * inner, inner);
    mdf_source_line(writer, "%s *y = %s + line / %zu * %zu + line %% %zu;", type, y, inner, n * inner, inner);
    mdf_source_line(writer, "size_t largest = 0;");
    mdf_source_line(writer, "double sum = 0;");
    mdf_source_blank(writer);
    mdf_source_open(writer, "for (size_t i = 1; i < %zu; i++)", n);
    mdf_source_line(writer, "largest = x[i * %zu] > x[largest * %zu] ? i : largest;", inner, inner);
    mdf_source_close(writer);
    mdf_source_line(writer, "const %s shift = x[largest * %zu];", type, inner);
    mdf_source_open(writer, "for (size_t i = 0; i < %zu; i++)", n);
    if (is_hard) {
        mdf_source_line(writer, "y[i * %zu] = i == largest;", inner);
    } else {
        mdf_source_line(writer, "const %s power = exp%s(x[i * %zu] - shift);", type, suffix, inner);
        mdf_source_blank(writer);
        mdf_source_line(writer, "sum += (double)power;");
        mdf_source_line(writer, is_log ? "y[i * %zu] = x[i * %zu] - shift;" : "y[i * %zu] = power;", inner, inner);
    }
    mdf_source_close(writer);
    if (is_hard) {
        mdf_source_line(writer, "(void)sum;");
        mdf_source_line(writer, "(void)shift;");
    } else {
        mdf_source_line(writer, is_log ? "const %s factor = (%s)log(sum);" : "const %s factor = (%s)(1 / sum);", type, type);
        mdf_source_open(writer, "for (size_t i = 0; i < %zu; i++)", n);
        mdf_source_line(writer, is_log ? "y[i * %zu] -= factor;" : "y[i * %zu] *= factor;", inner);
        mdf_source_close(writer);
    }
    mdf_source_close(writer);
    return true;
}
