/* processor.h - how many cores there are, and which vectors the processor has. MDF_VECTOR_BYTES=32 or 16, for tests, leaves out wider ones. */
#ifndef MDF_BASE_PROCESSOR_H
#define MDF_BASE_PROCESSOR_H

#include <stdbool.h>

#ifndef MDF_VECTOR_BYTES
#define MDF_VECTOR_BYTES 64
#endif

/* Cores that are online, from 1 to 256. It asks the system, which opens a file. */
int mdf_count_cores(void);

/* For a thread that looks again and again. */
static inline void mdf_pause_shortly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* AVX-512 F, DQ, VL and BW; then there is what mdf_has_avx2 says too. */
static inline bool mdf_has_avx512(void)
{
#if defined(__x86_64__) && MDF_VECTOR_BYTES >= 64
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw");
#else
    return false;
#endif
}

/* Besides, AVX-512 VNNI: products of bytes. */
static inline bool mdf_has_vnni(void)
{
#if defined(__x86_64__)
    return mdf_has_avx512() && __builtin_cpu_supports("avx512vnni");
#else
    return false;
#endif
}

/* AVX2 and FMA; every processor with AVX2 has F16C, which not all compilers can ask for. */
static inline bool mdf_has_avx2(void)
{
#if defined(__x86_64__) && MDF_VECTOR_BYTES >= 32
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

/* Of what is compiled for several kinds of vectors, as NAME_avx512, NAME_avx2 and NAME_plain: the one for this processor. */
#if defined(__x86_64__)
#define MDF_WIDEST(name) (mdf_has_avx512() ? name##_avx512 : mdf_has_avx2() ? name##_avx2 : name##_plain)
#else
#define MDF_WIDEST(name) (name##_plain)
#endif

#endif
