/* lower_part.c - calls that only take some elements of an array, in rows, as Split and Slice do: which they take is found by
 * numbering the elements. See lowering.h. */
#include "mdf_c/lower/lowering.h"

#include "functions/kernel/move.h"

bool lowering_takes_parts(const struct mdf_operator *operator)
{
    return operator->move != NULL && operator->move->cuts;
}

bool lowering_find_part(const struct mdf_value *whole, const struct mdf_value *result, struct mdf_lowered_part *part)
{
    const int64_t *numbers = result->data;
    size_t n = 1, row, i;

    if (result->kind != MDF_KIND_TENSOR || result->dtype != MDF_DTYPE_INT64 || result->length < 2) {
        return false;
    }
    while (n < result->length && numbers[n] == numbers[n - 1] + 1) {
        n++;
    }
    *part = (struct mdf_lowered_part){.first = (size_t)numbers[0], .n_rows = result->length / n, .n = n};
    if (result->length % n != 0 || (part->n_rows > 1 && numbers[n] <= numbers[0])) {
        return false;
    }
    part->step = part->n_rows > 1 ? (size_t)(numbers[n] - numbers[0]) : 0;
    for (row = 0; row < part->n_rows; row++) {
        for (i = 0; i < n; i++) {
            if (numbers[row * n + i] != (int64_t)(part->first + row * part->step + i)) {
                return false;
            }
        }
    }
    return part->first + (part->n_rows - 1) * part->step + n <= whole->length;
}
