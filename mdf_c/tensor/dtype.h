/* dtype.h - element types: their properties, conversion between them, and the type that two operands share. */
#ifndef MDF_TENSOR_DTYPE_H
#define MDF_TENSOR_DTYPE_H

#include "mdf_c/mdf.h"

#include <stdbool.h>

typedef uint32_t mdf_dtype_set; /* one bit an element type */
#define MDF_DTYPE_BIT(dtype) ((mdf_dtype_set)1 << (dtype))

/* Kind letter of MDF_DTYPE_LIST: 'b' 'i' 'u' 'f' 'c' 's'; '?' for MDF_DTYPE_NONE. */
char mdf_dtype_kind(mdf_dtype dtype);
/* Truths and whole numbers, with sign or without. */
bool mdf_dtype_is_whole(mdf_dtype dtype);
/* Elements that have an order: all but complex numbers and strings. */
bool mdf_dtype_has_order(mdf_dtype dtype);
/* float16 and bfloat16, of which float32 is computed. */
bool mdf_dtype_is_half(mdf_dtype dtype);
/* float32 and float64, which are computed with in their own type. */
static inline bool mdf_dtype_is_real(unsigned dtype)
{
    return dtype == MDF_DTYPE_FLOAT32 || dtype == MDF_DTYPE_FLOAT64;
}
/* Bits that an element has of its own: those of 2 and 4 bits are held in a byte. 0: strings. */
unsigned mdf_dtype_bits(mdf_dtype dtype);
/* The type of whole bytes that holds the same numbers: 2- and 4-bit integers as int8 and uint8, all others as they are. */
mdf_dtype mdf_dtype_in_bytes(mdf_dtype dtype);
/* Whether a type of whole numbers holds an int64, or an element of any type but strings, as it is. */
bool mdf_dtype_holds_integer(mdf_dtype whole, int64_t integer);
bool mdf_dtype_holds(mdf_dtype whole, mdf_dtype dtype, const void *element);
/* TensorProto.DataType of ONNX, and back; MDF_DTYPE_NONE where there is none. */
int mdf_dtype_to_onnx(mdf_dtype dtype);
mdf_dtype mdf_dtype_from_onnx(int64_t data_type);

/* How firmly a value's type is fixed: what has no declared type takes the type of what it meets. */
enum mdf_strength {
    MDF_STRENGTH_PYTHON,  /* a Python number: weak in type, raises on division by zero, whole numbers do not wrap */
    MDF_STRENGTH_LITERAL, /* an array without declared type: weak in type, computes as numpy does */
    MDF_STRENGTH_TYPED    /* of a declared type */
};

/* A type as a model spells it: "float" (float64), "int" (int64), "double", "float32", "tensor(float)" (float32),
 * "seq(tensor(int64))", "optional(seq(tensor(float)))", "map(string,tensor(float))", "Tensor" (any), numpy's and ml_dtypes'
 * names. */
struct mdf_declared_type {
    mdf_dtype dtype; /* MDF_DTYPE_NONE: any */
    bool exact;      /* a width was named: values are converted; false for the bare "float", "int", which only widen */
    bool sequence, optional;
    bool map;         /* an object: `dtype` is MDF_DTYPE_NONE, and its values have the type `values` */
    mdf_dtype values; /* of a map only */
};
/* False where the text names no type. */
bool mdf_parse_type(const char *text, struct mdf_declared_type *type);
/* The name of a type that was probably meant; NULL: none is near. */
const char *mdf_nearest_type(const char *text);

/* A real number as a whole one of a type that holds `lowest` to `largest`: cut off toward zero, at the ends of the range too. NaN
 * is the lowest, as it is for the processor's conversion (and INT64_MIN for mdf_element_to_int64). */
#define MDF_TO_WHOLE(type, real, lowest, largest) \
    ((real) >= (double)(largest) ? (largest) : (real) > (double)(lowest) ? (type)(real) : (lowest))

/* The type that two operands share, by numpy's rules (NEP 50), weak operands giving way. `real` is the type of reals
 * without a declared type (float64, or float32 with --float32). MDF_DTYPE_NONE: they share none. */
mdf_dtype mdf_promote(mdf_dtype a, enum mdf_strength a_strength, mdf_dtype b, enum mdf_strength b_strength, mdf_dtype real);

/* One element of a small float type as float32 and back (round to nearest even). */
float mdf_float16_to_float(uint16_t bits);
uint16_t mdf_float16_from_float(float value);
float mdf_bfloat16_to_float(uint16_t bits);
uint16_t mdf_bfloat16_from_float(float value);

/* Converts `n` elements of any types but strings. Real to integer truncates (out of range: as x86 and numpy do, never
 * undefined), to bool is "not zero"; 2- and 4-bit integers keep their low bits; complex to real keeps the real part.
 * False: the pair is not convertible (strings). `source` and `target` do not overlap. */
bool mdf_convert_elements(mdf_dtype target_dtype, void *target, mdf_dtype source_dtype, const void *source, size_t n,
                          bool saturate);

/* Whether n elements have the same bits, or are NaN both: of two NaN operands C does not say which one's bits are kept. */
bool mdf_elements_same(mdf_dtype dtype, const void *a, const void *b, size_t n);

/* One element read as float64 or int64 (real numbers truncate; NaN gives INT64_MIN), any type but strings. */
double mdf_element_to_double(mdf_dtype dtype, const void *element);
int64_t mdf_element_to_int64(mdf_dtype dtype, const void *element);

#endif
