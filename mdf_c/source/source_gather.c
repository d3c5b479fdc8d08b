/* source_gather.c - Gather with indices that are only known when it runs; constant ones are moves. */
#include "mdf_c/source/source_writer.h"

bool mdf_source_write_gather(struct mdf_source_writer *writer, const struct mdf_source_call *call)
{
    const struct mdf_value *data = mdf_source_input(writer, call, 0), *indices = mdf_source_input(writer, call, 1);
    mdf_lowered_id out = call->call->outputs[0];
    const int64_t *shape = mdf_source_shape(data);
    int64_t axis = 0;
    size_t n_outer = 1, n_inner = 1, size, i;
    const char *to, *from;

    if (writer->lowered->values[call->call->inputs[1]].place == MDF_LOWERED_CONSTANT) {
        return mdf_source_write_move(writer, call);
    }
    mdf_source_int_setting(call->operator, call->settings, "axis", &axis);
    axis = axis < 0 ? axis + (int64_t)data->rank : axis;
    for (i = 0; i < data->rank; i++) {
        n_outer *= i < (size_t)axis ? (size_t)shape[i] : 1;
        n_inner *= i > (size_t)axis ? (size_t)shape[i] : 1;
    }
    size = (size_t)shape[axis];
    mdf_source_open(writer, "for (size_t outer = 0; outer < %zu; outer++)", n_outer);
    mdf_source_open(writer, "for (size_t k = 0; k < %zu; k++)", indices->length);
    mdf_source_line(writer, "int64_t item = (int64_t)%s;", mdf_source_element(writer, call->call->inputs[1], "k"));
    mdf_source_blank(writer);
    mdf_source_line(writer, "item += item < 0 ? %zu : 0;", size);
    mdf_source_bail_out_if(writer, mdf_source_text(writer, "item < 0 || item >= %zu", size),
                           "onnx::Gather: an index is out of range");
    to = mdf_source_text(writer, "(outer * %zu + k) * %zu + inner", indices->length, n_inner);
    from = mdf_source_text(writer, "(outer * %zu + (size_t)item) * %zu + inner", size, n_inner);
    mdf_source_open(writer, "for (size_t inner = 0; inner < %zu; inner++)", n_inner);
    mdf_source_line(writer, "%s = %s;", mdf_source_element(writer, out, to),
                    mdf_source_element(writer, call->call->inputs[0], from));
    mdf_source_close(writer);
    mdf_source_close(writer);
    mdf_source_close(writer);
    return true;
}
