/* lowered_cast.c - CAST: elements of one type as another, where all of them fit. See lowered.h. */
#include "mdf_c/lowered/lowered_run.h"

#include "functions/kernel/move.h"

#define JOIN_NAMES(a, b) a##b
#define JOIN(a, b) JOIN_NAMES(a, b)
/* NaN fits nowhere. Between -2^63 and the next number below lies no other. */
#define FITS_BITS(x, bits) ((bits) == 64 ? (x) >= -0x1p63 && (x) < 0x1p63 : (x) > -0x1p31 - 1 && (x) < 0x1p31)

#define CAST cast_float32
#define ELEMENT float
#define FITS(x, bits) FITS_BITS((double)(x), bits)
#include "mdf_c/lowered/lowered_cast.inc"

#define CAST cast_float64
#define ELEMENT double
#define FITS(x, bits) FITS_BITS(x, bits)
#include "mdf_c/lowered/lowered_cast.inc"

#define CAST cast_int32
#define ELEMENT int32_t
#include "mdf_c/lowered/lowered_cast.inc"

#define CAST cast_int64
#define ELEMENT int64_t
#include "mdf_c/lowered/lowered_cast.inc"

#define CAST cast_bool
#define ELEMENT uint8_t
#include "mdf_c/lowered/lowered_cast.inc"

/* Whether all reals fit uint64, where those from -2^63 on wrap. */
static bool fit_uint64(mdf_dtype from, const void *source, size_t n)
{
    bool all = true;

    for (size_t i = 0; i < n; i++) {
        double real = from == MDF_DTYPE_FLOAT32 ? (double)((const float *)source)[i] : ((const double *)source)[i];

        all = all & (real >= -0x1p63 && real < 0x1p64);
    }
    return all;
}

/* Whether the types are among those that have loops here; others are whole numbers that wrap, or reals of 16 bits. */
static bool has_loop(mdf_dtype dtype)
{
    return mdf_dtype_is_real(dtype) || dtype == MDF_DTYPE_INT32 || dtype == MDF_DTYPE_INT64 || dtype == MDF_DTYPE_BOOL;
}

bool mdf_lowered_cast(mdf_dtype from, mdf_dtype to, const void *source, void *target, size_t n)
{
    if (!has_loop(from) || !has_loop(to)) {
        bool are_reals = mdf_dtype_kind(from) == 'f' && mdf_dtype_kind(to) == 'f';
        bool is_cut = to == MDF_DTYPE_UINT64 && has_loop(from) && mdf_dtype_kind(from) == 'f';

        if ((!are_reals && !is_cut && mdf_dtype_kind(from) != 'i' && mdf_dtype_kind(from) != 'u' && from != MDF_DTYPE_BOOL) ||
            (is_cut && !fit_uint64(from, source, n))) {
            return false;
        }
        mdf_convert_elements(to, target, from, source, n, false);
        return true;
    }
    switch (from) {
    case MDF_DTYPE_FLOAT32:
        return cast_float32(to, source, target, n);
    case MDF_DTYPE_FLOAT64:
        return cast_float64(to, source, target, n);
    case MDF_DTYPE_INT32:
        return cast_int32(to, source, target, n);
    case MDF_DTYPE_INT64:
        return cast_int64(to, source, target, n);
    case MDF_DTYPE_BOOL:
        return cast_bool(to, source, target, n);
    default:
        return false;
    }
}

bool mdf_lowered_casts_all(const struct mdf_operator *operator)
{
    return operator!= NULL && operator->form !=
        MDF_FORM_NUMBER &&(operator->element != NULL ||(operator->move != NULL && operator->move->in_order));
}
