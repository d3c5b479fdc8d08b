/* bool_loops.c - "and", "or" and "either" of truth values, which are bytes: loops in the widest vectors that the processor has,
 * as all that there is to do is to read and write. The expressions are those of elements.def. */
#include "functions/elements/loops/element_loops.h"
#include "mdf_c/base/processor.h"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx512f,avx512vl,avx512bw")))
#define NAME(x) x##_avx512
#include "functions/elements/loops/bool_loops.inc"
#define TARGET __attribute__((target("avx2")))
#define NAME(x) x##_avx2
#include "functions/elements/loops/bool_loops.inc"
#endif
#define TARGET
#define NAME(x) x##_plain
#include "functions/elements/loops/bool_loops.inc"

#define LOOP(id)                                                                                              \
    bool mdf_element_##id##_bool8(void *target, const void *const operands[], const size_t steps[], size_t n, \
                                  const void *settings)                                                       \
    {                                                                                                         \
        (void)settings;                                                                                       \
        MDF_WIDEST(id)(target, operands[0], operands[1], steps[0], steps[1], n);                              \
        return true;                                                                                          \
    }
LOOP(logical_and)
LOOP(logical_or)
LOOP(logical_xor)
