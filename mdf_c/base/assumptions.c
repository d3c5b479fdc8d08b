/* assumptions.c - what the code takes for granted of a machine and its compiler; where it is otherwise the build ends here. */
#include <assert.h>
#include <float.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static_assert(CHAR_BIT == 8, "a byte has 8 bits");
static_assert(sizeof(bool) == 1, "a truth takes a byte, as in NumPy and ONNX");
static_assert(sizeof(size_t) == 4 || sizeof(size_t) == 8, "sizes have 32 or 64 bits");
static_assert(sizeof(void *) == sizeof(size_t), "addresses are as long as sizes: arrays of either lie in arrays of the other");
static_assert(sizeof(void (*)(void)) == sizeof(void *), "functions have addresses like data (POSIX: dlsym)");
static_assert((-1 & 3) == 3 && (-1 >> 1) == -1, "negative whole numbers are two's complement, and keep their sign when they are shifted");
static_assert(sizeof(float) == 4 && FLT_RADIX == 2 && FLT_MANT_DIG == 24 && FLT_MAX_EXP == 128, "float is binary32 of IEEE 754");
static_assert(sizeof(double) == 8 && DBL_MANT_DIG == 53 && DBL_MAX_EXP == 1024, "double is binary64 of IEEE 754");
/* On x86 of 32 bits: -msse2 -mfpmath=sse. */
static_assert(FLT_EVAL_METHOD == 0, "every operation is rounded to its type at once: the same bits on every machine");
#if defined(__BYTE_ORDER__) && defined(__FLOAT_WORD_ORDER__)
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ || __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, "bytes go from one end to the other");
static_assert(__FLOAT_WORD_ORDER__ == __BYTE_ORDER__, "real numbers have their bytes in the order of whole ones");
#endif
