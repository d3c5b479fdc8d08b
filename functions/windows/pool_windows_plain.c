/* pool_windows_plain.c - pool_windows.inc in vectors: portable ones. */
#include "functions/windows/pool_windows_kernels.h"

#define TARGET
#define NAME(x) x##_float32_plain
#define ELEMENT float
#define LANES 4
#define BITS int32_t
#include "functions/windows/pool_windows.inc"
#define TARGET
#define NAME(x) x##_float64_plain
#define ELEMENT double
#define LANES 2
#define BITS int64_t
#include "functions/windows/pool_windows.inc"
