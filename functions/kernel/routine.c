/* routine.c - see routine.h. */
#include "functions/kernel/routine.h"

#include "mdf_c/base/arena.h"

bool mdf_routine_room(struct mdf_routine_plan *plan, size_t n_whole, size_t n_real)
{
    plan->whole = mdf_arena_array(plan->arena, n_whole, sizeof *plan->whole);
    plan->real = mdf_arena_array(plan->arena, n_real, sizeof *plan->real);
    plan->n_whole = n_whole;
    plan->n_real = n_real;
    return plan->whole != NULL && plan->real != NULL;
}

bool mdf_routine_kind(const struct mdf_value *value, mdf_dtype real, int64_t *kind)
{
    static const struct {
        mdf_dtype dtype;
        char letter;
    } letters[] = {{MDF_DTYPE_FLOAT64, 'd'}, {MDF_DTYPE_FLOAT32, 'f'}, {MDF_DTYPE_INT64, 'q'},  {MDF_DTYPE_INT32, 'i'},
                   {MDF_DTYPE_INT16, 'h'},   {MDF_DTYPE_INT8, 'b'},    {MDF_DTYPE_UINT64, 'Q'}, {MDF_DTYPE_UINT32, 'I'},
                   {MDF_DTYPE_UINT16, 'H'},  {MDF_DTYPE_UINT8, 'B'},   {MDF_DTYPE_BOOL, 'B'}};

    *kind = 0;
    if (value == NULL) {
        return true;
    }
    for (size_t i = 0; i < sizeof letters / sizeof *letters && value->kind == MDF_KIND_TENSOR; i++) {
        if (letters[i].dtype == (mdf_dtype)value->dtype) {
            bool is_rounded =
                value->dtype == MDF_DTYPE_FLOAT64 && real == MDF_DTYPE_FLOAT32 && value->strength != MDF_STRENGTH_TYPED;

            *kind = is_rounded ? 'r' : letters[i].letter;
        }
    }
    return *kind != 0;
}
