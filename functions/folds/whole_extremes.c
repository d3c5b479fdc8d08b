/* whole_extremes.c - see whole_extremes.h. The compiler makes vectors of plain loops, once for each instruction set. */
#include "functions/folds/whole_extremes.h"

#include "mdf_c/base/processor.h"

#include <string.h>

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq")))
#define OF_SET(x) x##_avx512
#include "functions/folds/whole_extremes_types.inc"
#define TARGET __attribute__((target("avx2")))
#define OF_SET(x) x##_avx2
#include "functions/folds/whole_extremes_types.inc"
#endif
#define TARGET
#define OF_SET(x) x##_plain
#include "functions/folds/whole_extremes_types.inc"

const struct mdf_whole_extremes *mdf_whole_extremes(mdf_dtype dtype)
{
    static const size_t n_types = sizeof extremes_plain / sizeof *extremes_plain;

    return (size_t)dtype < n_types ? MDF_WIDEST(extremes)[dtype] : NULL;
}
