/* lines.c - see lines.h. */
#include "functions/products/lines.h"

#include <string.h>

_Static_assert(sizeof(struct mdf_lines_source) <= MDF_LINE_BYTES, "the elements begin on the next line");

static char *first_line(void *bytes)
{
    return (char *)bytes + (MDF_LINE_BYTES - (uintptr_t)bytes % MDF_LINE_BYTES) % MDF_LINE_BYTES;
}

char *mdf_lines_make(struct mdf_call *call, struct mdf_value *value, size_t n_bytes)
{
    int64_t size = (int64_t)(n_bytes + MDF_LINE_BYTES);
    void *bytes = mdf_value_make_tensor(call->context->memory, value, MDF_DTYPE_UINT8, 1, &size);

    if (bytes == NULL) {
        mdf_call_out_of_memory(call);
        return NULL;
    }
    return first_line(bytes);
}

bool mdf_lines_count(size_t rows, size_t columns, size_t element_bytes, size_t *n_bytes)
{
    if (!mdf_size_multiply(rows, columns, n_bytes) || !mdf_size_multiply(*n_bytes, element_bytes, n_bytes) ||
        *n_bytes > PTRDIFF_MAX / 4) {
        return false;
    }
    *n_bytes = (*n_bytes + MDF_LINE_BYTES - 1) / MDF_LINE_BYTES * MDF_LINE_BYTES;
    return true;
}

char *mdf_lines_keep(struct mdf_call *call, struct mdf_value *value, bool is_constant, size_t n_bytes,
                     const struct mdf_lines_source *source, bool *is_there)
{
    char *bytes;

    *is_there = false;
    if (value->kind == MDF_KIND_TENSOR && value->dtype == MDF_DTYPE_UINT8 && value->length == n_bytes + 2 * MDF_LINE_BYTES) {
        bytes = first_line(value->data);
        *is_there = is_constant && memcmp(bytes, source, sizeof *source) == 0;
    } else {
        bytes = mdf_lines_make(call, value, n_bytes + MDF_LINE_BYTES);
    }
    if (bytes != NULL && !*is_there) {
        memcpy(bytes, source, sizeof *source);
    }
    return bytes == NULL ? NULL : bytes + MDF_LINE_BYTES;
}
