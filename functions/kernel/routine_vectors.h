/* routine_vectors.h - functions of routines (routine.h) in the vectors of this processor, where it has them: the same text
 * compiled once more. MDF_ROUTINE_IN_VECTORS(name) makes name_in_vectors of mdf_name, MDF_ROUTINE_WIDEST(name) is the one to
 * call. */
#ifndef MDF_FUNCTIONS_KERNEL_ROUTINE_VECTORS_H
#define MDF_FUNCTIONS_KERNEL_ROUTINE_VECTORS_H

#include "functions/kernel/routine.h"
#include "mdf_c/base/processor.h"

#if defined(__x86_64__)
#define MDF_ROUTINE_IN_VECTORS(name)                                                                   \
    __attribute__((target("avx2,fma"), flatten)) static bool name##_in_vectors(                        \
        void *const *out, const void *const *in, const int64_t *whole, const double *real, void *work) \
    {                                                                                                  \
        return mdf_##name(out, in, whole, real, work);                                                 \
    }
#define MDF_ROUTINE_WIDEST(name) (mdf_has_avx2() ? name##_in_vectors : mdf_##name)
#else
#define MDF_ROUTINE_IN_VECTORS(name)
#define MDF_ROUTINE_WIDEST(name) (mdf_##name)
#endif

/* Of the types that routine_reals.inc includes. */
#define MDF_REAL_ROUTINES_IN_VECTORS(name) MDF_ROUTINE_IN_VECTORS(name##_float32) MDF_ROUTINE_IN_VECTORS(name##_float64)
#define MDF_WIDEST_OF_REALS(plan, name)                                        \
    ((plan)->dtype == MDF_DTYPE_FLOAT32   ? MDF_ROUTINE_WIDEST(name##_float32) \
     : (plan)->dtype == MDF_DTYPE_FLOAT64 ? MDF_ROUTINE_WIDEST(name##_float64) \
                                          : NULL)

#endif
