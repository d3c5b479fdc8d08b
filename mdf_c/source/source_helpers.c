/* source_helpers.c - functions that generated code needs and C does not have: exact sums, rounded-down quotients, conversions
 * that say where a number does not fit. Each is written out where something uses it. */
#include "mdf_c/source/source_writer.h"

#include <string.h>

struct fixed_helper {
    const char *name, *definition;
};

#define CHECKED(name, symbol, builtin, wide)                                             \
    {                                                                                    \
        name, "/* False: the result does not fit. */\n"                                  \
              "static inline bool mdf_" name "(int64_t a, int64_t b, int64_t *result)\n" \
              "{\n"                                                                      \
              "#if defined(__GNUC__)\n"                                                  \
              "    return !" builtin "(a, b, result);\n"                                 \
              "#else\n"                                                                  \
              "    *result = (int64_t)((uint64_t)a " symbol " (uint64_t)b);\n"           \
              "    return " wide ";\n"                                                   \
              "#endif\n"                                                                 \
              "}\n"                                                                      \
    }

/* Where a whole number is made real: what is less than 1 is made 0 before it is cut off. gcc takes this conversion and the one
 * back for trunc, without math that traps, and that keeps the sign of what becomes 0. Elsewhere it would be a branch for nothing.
 */
#define CUT "    x = x > -1 && x < 1 ? 0 : x;\n"
/* The conversions of a type, each of which is cut off towards zero; of a number that goes through no loop over elements the last
 * one, which the processor has, and of which compilers make no vectors. */
#define WHOLE(from, type, magnitude, bits, limit, lowest, least, builtin)                                                \
    {from "_to_int" bits, "/* Cut off towards zero. False: the number does not fit. */\n"                                \
                          "static inline bool mdf_" from "_to_int" bits "(" type " x, int" bits "_t *result)\n"          \
                          "{\n"                                                                                          \
                          "    bool fits = x " lowest " && x < " limit ";\n"                                             \
                          "\n" CUT "    *result = fits ? (int" bits "_t)x : 0;\n"                                        \
                          "    return fits;\n"                                                                           \
                          "}\n"},                                                                                        \
        {from "_as_int" bits, "/* Cut off towards zero. The lowest number stands for NaN and what does not fit. */\n"    \
                              "static inline int" bits "_t mdf_" from "_as_int" bits "(" type " x)\n"                    \
                              "{\n" CUT "    return (int" bits "_t)(" magnitude "(x) < " limit " ? x : " least ");\n"    \
                              "}\n"},                                                                                    \
    {                                                                                                                    \
        from "_as_int" bits "_alone",                                                                                    \
            "/* Cut off towards zero, where the lowest number stands for NaN and what does not fit: of one number. */\n" \
            "static inline int" bits "_t mdf_" from "_as_int" bits "_alone(" type " x)\n"                                \
            "{\n"                                                                                                        \
            "#if defined(__GNUC__) && defined(__SSE2__) && defined(__x86_64__)\n"                                        \
            "    const " type " first __attribute__((vector_size(16))) = {x};\n\n"                                       \
            "    return __builtin_ia32_" builtin "(first);\n"                                                            \
            "#else\n" CUT "    return (int" bits "_t)(" magnitude "(x) < " limit " ? x : " least ");\n"                  \
            "#endif\n"                                                                                                   \
            "}\n"                                                                                                        \
    }

/* The same to uint64, where those from -2^63 on wrap. */
#define NATURAL(from, type, f)                                                                                               \
    {#from "_to_uint64",                                                                                                     \
     "static inline bool mdf_" #from "_to_uint64(" #type " x, uint64_t *result)\n"                                           \
     "{\n" CUT "    *result = x >= 9223372036854775808.0" #f " && x < 18446744073709551616.0" #f " ? (uint64_t)x\n"          \
     "              : x >= -9223372036854775808.0" #f " && x < 9223372036854775808.0" #f " ? (uint64_t)(int64_t)x : 0;\n"    \
     "    return x >= -9223372036854775808.0" #f " && x < 18446744073709551616.0" #f ";\n"                                   \
     "}\n"},                                                                                                                 \
    {                                                                                                                        \
#from "_as_uint64", "/* Cut off towards zero. 2^63 stands for NaN and what is too low, 0 for what is too high. */\n" \
                            "static inline uint64_t mdf_" #from "_as_uint64(" #type " x)\n"                                  \
                            "{\n" CUT "    if (x >= 9223372036854775808.0" #f ") {\n"                                        \
                            "        return x < 18446744073709551616.0" #f " ? (uint64_t)x : 0;\n"                           \
                            "    }\n"                                                                                        \
                            "    return (uint64_t)(x >= -9223372036854775808.0" #f " ? (int64_t)x : INT64_MIN);\n"           \
                            "}\n"                                                                                            \
    }

static const struct fixed_helper fixed[] = {
    {"sum_float32_row", "/* A sum in 16 parts, in float64. */\n"
                        "static double mdf_sum_float32_row(const float *x, size_t n)\n"
                        "{\n"
                        "    double parts[16] = {0};\n"
                        "    size_t i = 0;\n"
                        "\n"
                        "    for (; i + 16 <= n; i += 16) {\n"
                        "        for (size_t part = 0; part < 16; part++) {\n"
                        "            parts[part] += (double)x[i + part];\n"
                        "        }\n"
                        "    }\n"
                        "    for (size_t part = 0; i + part < n; part++) {\n"
                        "        parts[part] += (double)x[i + part];\n"
                        "    }\n"
                        "    for (size_t half = 8; half > 0; half /= 2) {\n"
                        "        for (size_t part = 0; part < half; part++) {\n"
                        "            parts[part] += parts[part + half];\n"
                        "        }\n"
                        "    }\n"
                        "    return parts[0];\n"
                        "}\n"},
    CHECKED("add_exact", "+", "__builtin_add_overflow", "b >= 0 ? *result >= a : *result < a"),
    CHECKED("subtract_exact", "-", "__builtin_sub_overflow", "b >= 0 ? *result <= a : *result > a"),
    CHECKED("multiply_exact", "*", "__builtin_mul_overflow", "a == 0 || (!(a == -1 && b == INT64_MIN) && *result / a == b)"),
    {"shift_left_exact", "static inline bool mdf_shift_left_exact(int64_t a, int64_t b, int64_t *result)\n"
                         "{\n"
                         "    *result = b >= 0 && b < 63 ? (int64_t)((uint64_t)a << b) : 0;\n"
                         "    return b >= 0 && (a == 0 || (b < 63 && *result >> b == a));\n"
                         "}\n"},
    {"shift_right_exact", "static inline bool mdf_shift_right_exact(int64_t a, int64_t b, int64_t *result)\n"
                          "{\n"
                          "    *result = a >> (b < 0 || b > 63 ? 63 : b);\n"
                          "    return b >= 0;\n"
                          "}\n"},
    NATURAL(float32, float, f),
    NATURAL(float64, double, ),
    WHOLE("float32", "float", "fabsf", "32", "2147483648.0f", ">= -2147483648.0f", "-2147483648.0f", "cvttss2si"),
    WHOLE("float32", "float", "fabsf", "64", "9223372036854775808.0f", ">= -9223372036854775808.0f", "-9223372036854775808.0f",
          "cvttss2si64"),
    WHOLE("float64", "double", "fabs", "32", "2147483648.0", "> -2147483649.0", "-2147483648.0", "cvttsd2si"),
    WHOLE("float64", "double", "fabs", "64", "9223372036854775808.0", ">= -9223372036854775808.0", "-9223372036854775808.0",
          "cvttsd2si64"),
    {"jump",
     "/* Where something is accepted or not: a jump, which a processor foresees, and no choice that waits for the test. */\n"
     "#if defined(__GNUC__)\n"
     "#define MDF_JUMP __asm__ volatile(\"\")\n"
     "#else\n"
     "#define MDF_JUMP (void)0\n"
     "#endif\n"},
    {"independent", "/* In front of a loop of which no run reads what another one stores. */\n"
                    "#if defined(__GNUC__) && !defined(__clang__)\n"
                    "#define MDF_INDEPENDENT _Pragma(\"GCC ivdep\")\n"
                    "#else\n"
                    "#define MDF_INDEPENDENT\n"
                    "#endif\n"},
    {"short",
     "/* The same of a short loop, which gcc would write out before it looks for vectors: few are left to be found then. */\n"
     "#if defined(__GNUC__) && __GNUC__ >= 8 && !defined(__clang__)\n"
     "#define MDF_SHORT _Pragma(\"GCC ivdep\") _Pragma(\"GCC unroll 1\")\n"
     "#else\n"
     "#define MDF_SHORT\n"
     "#endif\n"},
    {"apart", "/* Of a function of which compilers make vectors by itself, and not within what calls it. */\n"
              "#if defined(__GNUC__)\n"
              "#define MDF_APART __attribute__((noinline))\n"
              "#else\n"
              "#define MDF_APART inline\n"
              "#endif\n"},
    {"add_exact_product",
     "/* sum + a * b, of numbers that were float: the product needs no rounding, so that fma has the same bits. */\n"
     "static inline double mdf_add_exact_product(double a, double b, double sum)\n"
     "{\n"
     "#if defined(FP_FAST_FMA) || defined(__FMA__)\n"
     "    return fma(a, b, sum);\n"
     "#else\n"
     "    return sum + a * b;\n"
     "#endif\n"
     "}\n"},
    {"vectors", "/* Compilers that have vectors as types, and parts of them; 0: do without. */\n"
                "#ifndef MDF_HAS_VECTORS\n"
                "#ifdef __has_builtin\n"
                "#define MDF_HAS_VECTORS __has_builtin(__builtin_shufflevector)\n"
                "#else\n"
                "#define MDF_HAS_VECTORS 0\n"
                "#endif\n"
                "#endif\n"},
    {"item",
     "#if defined(__GNUC__)\n"
     "#define MDF_LIKELY(truth) __builtin_expect(truth, 1)\n"
     "#else\n"
     "#define MDF_LIKELY(truth) (truth)\n"
     "#endif\n"
     "\n"
     "/* The number of one of n items, from the front or, below 0, from the back; of one that is not there: 0, and *beyond is\n"
     " * not 0. */\n"
     "static inline size_t mdf_item(int64_t index, int64_t n, uint64_t *beyond)\n"
     "{\n"
     "    if (MDF_LIKELY((uint64_t)index < (uint64_t)n)) {\n"
     "        return (size_t)index;\n"
     "    }\n"
     "    *beyond |= index < -n || index >= n;\n"
     "    return index < -n || index >= n ? 0 : (size_t)(index + n);\n"
     "}\n"},
    {"item_of_row", "/* The same of each of many, in vectors: without jumps, in one type, and another one of the n > 0 items is "
                    "as good as 0. */\n"
                    "static inline size_t mdf_item_of_row(int64_t index, int64_t n, uint64_t *beyond)\n"
                    "{\n"
                    "    const uint64_t end = (uint64_t)n, at = (uint64_t)index + (index < 0 ? end : 0);\n"
                    "    const uint64_t item = at < end ? at : end - 1;\n"
                    "\n"
                    "    *beyond |= at ^ item;\n"
                    "    return (size_t)item;\n"
                    "}\n"},
    {"side_by_side", "/* Whether 8 places of n >= 8 items, none of which counts from the back, are in succession. */\n"
                     "static inline bool mdf_side_by_side(const int64_t *at, int64_t n)\n"
                     "{\n"
                     "    const uint64_t first = (uint64_t)at[0];\n"
                     "    uint64_t apart = 0;\n"
                     "\n"
                     "    MDF_SHORT for (size_t i = 0; i < 8; i++) {\n"
                     "        apart |= ((uint64_t)at[i] - i) ^ first;\n"
                     "    }\n"
                     "    return apart == 0 && first < (uint64_t)n - 7;\n"
                     "}\n"},
#include "build/generated/helper_texts.inc"
};

/* The full name of a helper that is written already; NULL: it is not. */
static const struct mdf_source_helper *find_used(const struct mdf_source_writer *writer, const char *name)
{
    const struct mdf_source_helper *helper;

    for (helper = writer->helpers; helper != NULL && strcmp(helper->name + strlen("mdf_"), name) != 0; helper = helper->next) {
    }
    return helper;
}

const char *mdf_source_definition(const struct mdf_source_writer *writer, const char *name)
{
    const struct mdf_source_helper *used = find_used(writer, name);

    return used != NULL ? used->definition : NULL;
}

const char *mdf_source_find_called(const char *text, size_t *length)
{
    static const char prefix[] = "mdf_", characters[] = "abcdefghijklmnopqrstuvwxyz_0123456789";

    text = strstr(text, prefix);
    if (text != NULL) {
        text += strlen(prefix);
        *length = strspn(text, characters);
    }
    return text;
}

const char *mdf_source_helper(struct mdf_source_writer *writer, const char *name, const char *definition)
{
    const struct mdf_source_helper *used = find_used(writer, name);
    struct mdf_source_helper *helper;
    const char *full_name;

    if (used != NULL) {
        return used->name;
    }
    full_name = mdf_source_text(writer, "mdf_%s", name);
    helper = mdf_arena_allocate(&writer->arena, sizeof *helper);
    if (helper == NULL || full_name[0] == '\0') {
        mdf_source_out_of_memory(writer);
        return "";
    }
    helper->name = full_name;
    helper->definition = definition;
    *writer->last_helper = helper;
    writer->last_helper = &helper->next;
    return helper->name;
}

void mdf_source_append_helpers(const struct mdf_source_writer *writer, struct mdf_text *text)
{
    const struct mdf_source_helper *helper;

    for (helper = writer->helpers; helper != NULL; helper = helper->next) {
        const char *cut = writer->makes_reals ? NULL : strstr(helper->definition, CUT);

        if (cut != NULL) {
            mdf_text_append(text, helper->definition, (size_t)(cut - helper->definition));
        }
        mdf_text_printf(text, "%s\n", cut != NULL ? cut + strlen(CUT) : helper->definition);
    }
}

/* Has those written that a definition calls. */
static void use_called(struct mdf_source_writer *writer, const char *own_name, const char *definition)
{
    const char *at = definition;
    size_t length;

    while ((at = mdf_source_find_called(at, &length)) != NULL) {
        char name[64];

        if (length < sizeof name && (length != strlen(own_name) || memcmp(at, own_name, length) != 0)) {
            memcpy(name, at, length);
            name[length] = '\0';
            mdf_source_use(writer, name);
        }
    }
}

/* The definition of a fixed helper; NULL: there is none of the name. */
static const char *find_fixed(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof fixed / sizeof *fixed && strcmp(fixed[i].name, name) != 0; i++) {
    }
    return i < sizeof fixed / sizeof *fixed ? fixed[i].definition : NULL;
}

/* The same of one for several types, "scale_$n" for "scale_float32", in that type. */
static const char *find_of_type(struct mdf_source_writer *writer, const char *name)
{
    for (unsigned dtype = 0; dtype < MDF_DTYPE_COUNT; dtype++) {
        const char *suffix = mdf_dtype_name((mdf_dtype)dtype), *definition;
        size_t length = strlen(name), n = strlen(suffix);

        if (mdf_source_type((mdf_dtype)dtype) == NULL || length <= n || strcmp(name + length - n, suffix) != 0 ||
            name[length - n - 1] != '_') {
            continue;
        }
        definition = find_fixed(mdf_source_text(writer, "%.*s$n", (int)(length - n), name));
        if (definition != NULL) {
            return mdf_source_of_type(writer, definition, (mdf_dtype)dtype);
        }
    }
    return NULL;
}

const char *mdf_source_use(struct mdf_source_writer *writer, const char *name)
{
    const struct mdf_source_helper *used = find_used(writer, name);
    const char *definition;

    if (used != NULL) {
        return used->name;
    }
    definition = find_fixed(name);
    definition = definition != NULL ? definition : find_of_type(writer, name);
    if (definition == NULL) {
        return "";
    }
    use_called(writer, name, definition);
    return mdf_source_helper(writer, name, definition);
}

bool mdf_source_has_helper(struct mdf_source_writer *writer, const char *name)
{
    return find_used(writer, name) != NULL || find_fixed(name) != NULL || find_of_type(writer, name) != NULL;
}

void mdf_source_use_called(struct mdf_source_writer *writer, const char *text)
{
    use_called(writer, "", text);
}

static const char *wide_type(mdf_dtype dtype)
{
    return mdf_dtype_is_half(dtype)       ? mdf_source_type(MDF_DTYPE_FLOAT32)
           : mdf_dtype_kind(dtype) == 'f' ? mdf_source_type(dtype)
           : mdf_dtype_size(dtype) == 8   ? "uint64_t"
                                          : "uint32_t";
}

/* What an element becomes of, and what becomes one: the conversion, or how a half is converted from `from`. */
static const char *conversion_to(struct mdf_source_writer *writer, mdf_dtype dtype, mdf_dtype from)
{
    return mdf_dtype_is_half(dtype) ? mdf_source_text(writer, "mdf_%s_to_%s", mdf_dtype_name(from), mdf_dtype_name(dtype))
                                    : mdf_source_text(writer, "(%s)", mdf_source_type(dtype));
}

static const char *conversion_of(struct mdf_source_writer *writer, mdf_dtype dtype)
{
    return mdf_dtype_is_half(dtype) ? mdf_source_text(writer, "mdf_%s_to_float32", mdf_dtype_name(dtype)) : "";
}

const char *mdf_source_of_type(struct mdf_source_writer *writer, const char *text, mdf_dtype dtype)
{
    struct mdf_text result;
    const char *copy;

    mdf_text_init(&result, writer->memory);
    mdf_text_append_string(&result, "");
    for (; *text != '\0'; text++) {
        const char *found = text[0] != '$'   ? NULL
                            : text[1] == 'T' ? mdf_source_type(dtype)
                            : text[1] == 'U' ? wide_type(dtype)
                            : text[1] == 'D' ? (mdf_dtype_kind(dtype) == 'f' ? "double" : wide_type(dtype))
                            : text[1] == 'n' ? mdf_dtype_name(dtype)
                            : text[1] == 'R' ? conversion_of(writer, dtype)
                            : text[1] == 'W' ? conversion_to(writer, dtype, MDF_DTYPE_FLOAT32)
                            : text[1] == 'V' ? conversion_to(writer, dtype, MDF_DTYPE_FLOAT64)
                            : text[1] == 'f' ? (dtype == MDF_DTYPE_FLOAT32 ? "f" : "")
                                             : NULL;

        if (found != NULL) {
            mdf_text_append_string(&result, found);
            text++;
        } else {
            mdf_text_append(&result, text, 1);
        }
    }
    mdf_source_check(writer, &result);
    copy = result.failed ? "" : mdf_source_text(writer, "%s", result.bytes);
    mdf_text_release(&result);
    return copy;
}
