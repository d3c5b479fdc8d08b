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

#define TO_WHOLE(from, type, bits, limit, lowest)                                                                  \
    {                                                                                                              \
        from "_to_int" bits, "/* Cut off towards zero. False: the number does not fit. */\n"                       \
                             "static inline bool mdf_" from "_to_int" bits "(" type " x, int" bits "_t *result)\n" \
                             "{\n"                                                                                 \
                             "    bool fits = x " lowest " && x < " limit ";\n"                                    \
                             "\n"                                                                                  \
                             "    *result = fits ? (int" bits "_t)x : 0;\n"                                        \
                             "    return fits;\n"                                                                  \
                             "}\n"                                                                                 \
    }

/* What the functions of float32 share: see functions/elements/vector_math.inc, whose results these are. */
#define SINGLE_BASE                                                                                                            \
    "/* exp, tanh and their kin of float32, as the library has them: without branches, so that loops become vectors. */\n"     \
    "static inline uint32_t mdf_bits(float x)\n{\n    uint32_t bits;\n\n    memcpy(&bits, &x, sizeof bits);\n    return "      \
    "bits;\n}\n\n"                                                                                                             \
    "static inline float mdf_single(uint32_t bits)\n{\n    float x;\n\n    memcpy(&x, &bits, sizeof x);\n    return x;\n}\n\n" \
    "static inline float mdf_magnitude(float x)\n{\n    return mdf_single(mdf_bits(x) & 0x7fffffffu);\n}\n\n"                  \
    "static inline float mdf_with_sign_of(float x, float y)\n{\n    return mdf_single(mdf_bits(y) | (mdf_bits(x) & "           \
    "0x80000000u));\n}\n\n"                                                                                                    \
    "static inline float mdf_not_above(float limit, float x)\n{\n    return limit < x ? limit : x;\n}\n\n"                     \
    "static inline float mdf_not_below(float limit, float x)\n{\n    return limit > x ? limit : x;\n}\n\n"                     \
    "/* x - less = n log 2 + r: r, and n, and q of exp(r) = 1 + r + r^2 q. */\n"                                               \
    "static inline float mdf_split(float x, float less, uint32_t *n, float *q)\n"                                              \
    "{\n"                                                                                                                      \
    "    const float to_whole = 12582912.0f;\n"                                                                                \
    "    const float shifted = fmaf(x - less, 1.44269504f, to_whole), whole = shifted - to_whole;\n"                           \
    "    const float r = fmaf(whole, 1.90465430e-9f, fmaf(whole, -0.693147182f, x)) - less;\n"                                 \
    "\n"                                                                                                                       \
    "    *q = fmaf(r, fmaf(r, 0.0013811662f, 0.008370135f), 0.041668527f);\n"                                                  \
    "    *q = fmaf(r, fmaf(r, *q, 0.16666509f), 0.49999994f);\n"                                                               \
    "    *n = mdf_bits(shifted) - mdf_bits(to_whole);\n"                                                                       \
    "    return r;\n"                                                                                                          \
    "}\n\n"                                                                                                                    \
    "/* The same: exp(r), and n. */\n"                                                                                         \
    "static inline float mdf_reduce(float x, float less, uint32_t *n)\n"                                                       \
    "{\n"                                                                                                                      \
    "    float q;\n"                                                                                                           \
    "    const float r = mdf_split(x, less, n, &q);\n"                                                                         \
    "\n"                                                                                                                       \
    "    return fmaf(r, fmaf(r, q, 1.0f), 1.0f);\n"                                                                            \
    "}\n\n"                                                                                                                    \
    "static inline float mdf_power_of_two(uint32_t n)\n{\n    return mdf_single((n + 127u) << 23);\n}\n\n"                     \
    "static inline float mdf_scale(float y, uint32_t n)\n"                                                                     \
    "{\n"                                                                                                                      \
    "    const uint32_t half = (uint32_t)((int32_t)n >> 1);\n"                                                                 \
    "\n"                                                                                                                       \
    "    return y * mdf_power_of_two(half) * mdf_power_of_two(n - half);\n"                                                    \
    "}\n\n"                                                                                                                    \
    "static inline float mdf_exp_float32(float x)\n"                                                                           \
    "{\n"                                                                                                                      \
    "    uint32_t n;\n"                                                                                                        \
    "    const float y = mdf_reduce(mdf_not_below(-104.0f, mdf_not_above(89.0f, x)), 0.0f, &n);\n"                             \
    "\n"                                                                                                                       \
    "    return mdf_scale(y, n);\n"                                                                                            \
    "}\n"

/* Helpers that others are built on. */
struct needed_helper {
    const char *name, *needs;
};

static const struct needed_helper needed[] = {{"expm1_float32", "exp_float32"},     {"mish_float32", "exp_float32"},
                                              {"tanh_float32", "exp_float32"},      {"sigmoid_float32", "exp_float32"},
                                              {"erf_float32", "exp_float32"},       {"gelu_float32", "exp_float32"},
                                              {"common_multiple", "common_divisor"}};

static const struct fixed_helper fixed[] = {
    {"exp_float32", SINGLE_BASE},
    {"expm1_float32", "static inline float mdf_expm1_float32(float x)\n"
                      "{\n"
                      "    uint32_t n;\n"
                      "    float q, power, half;\n"
                      "    const float r = mdf_split(mdf_not_below(-20.0f, mdf_not_above(89.0f, x)), 0.0f, &n, &q);\n"
                      "\n"
                      "    power = mdf_power_of_two(n - 1u);\n"
                      "    half = fmaf(power, fmaf(r * r, q, r), power - 0.5f);\n"
                      "    return mdf_magnitude(x) < 0x1p-60f ? x : half + half;\n"
                      "}\n"},
    {"mish_float32", "static inline float mdf_mish_float32(float x)\n"
                     "{\n"
                     "    const float e = mdf_exp_float32(x > 20.0f ? 20.0f : x), w = e * (e + 2.0f);\n"
                     "\n"
                     "    return x * (w / (w + 2.0f));\n"
                     "}\n"},
    {"tanh_float32", "static inline float mdf_tanh_float32(float x)\n"
                     "{\n"
                     "    const float a = mdf_not_above(10.0f, mdf_magnitude(x)), square = a * a;\n"
                     "    float small = fmaf(square, fmaf(square, -0.0057170447f, 0.020650586f), -0.053743497f), e;\n"
                     "    uint32_t n;\n"
                     "\n"
                     "    small = fmaf(square, fmaf(square, small, 0.13331491f), -0.33333284f);\n"
                     "    small = fmaf(a * square, small, a);\n"
                     "    e = mdf_reduce(a + a, 0.0f, &n);\n"
                     "    e = mdf_power_of_two(n) * e;\n"
                     "    e = 1.0f - 2.0f / (e + 1.0f);\n"
                     "    return mdf_with_sign_of(x, a < 0.625f ? small : e);\n"
                     "}\n"},
    {"sigmoid_float32", "static inline float mdf_sigmoid_float32(float x)\n"
                        "{\n"
                        "    const float e = mdf_exp_float32(mdf_single(mdf_bits(x) | 0x80000000u));\n"
                        "\n"
                        "    return (x >= 0.0f ? 1.0f : e) / (1.0f + e);\n"
                        "}\n"},
    {"erf_float32", "static inline float mdf_erf_float32(float x)\n"
                    "{\n"
                    "    const float a = mdf_not_above(4.0f, mdf_magnitude(x)), square = a * a;\n"
                    "    float small = fmaf(square, fmaf(square, 7.853861e-05f, -0.00080101937f), 0.0051883277f), log;\n"
                    "\n"
                    "    small = fmaf(square, fmaf(square, fmaf(square, small, -0.026853813f), 0.112835854f), -0.37612626f);\n"
                    "    small = fmaf(a, fmaf(square, small, 0.12837917f), a);\n"
                    "    log = fmaf(a, fmaf(a, fmaf(a, -2.1686763e-05f, 0.0004413353f), -0.0042045563f), 0.02520824f);\n"
                    "    log = fmaf(a, fmaf(a, fmaf(a, log, -0.108418554f), -0.6332199f), -1.1295784f);\n"
                    "    log = fmaf(a, log, 0.00018803704f);\n"
                    "    log = 1.0f - mdf_exp_float32(log);\n"
                    "    return mdf_with_sign_of(x, a < 1.0f ? small : log);\n"
                    "}\n"},
    {"gelu_float32",
     "static inline float mdf_gelu_float32(float x)\n"
     "{\n"
     "    const float a = mdf_not_above(16.0f, mdf_magnitude(x)), t = 1.0f / fmaf(a, 0.35355339f, 1.0f), u = 1.0f - t;\n"
     "    const float half = -0.5f * a, square = half * a;\n"
     "    float p = fmaf(u, fmaf(u, -0.14741552f, 0.6304202f), -0.93421745f), tail;\n"
     "    uint32_t n;\n"
     "\n"
     "    p = fmaf(u, fmaf(u, fmaf(u, p, 0.51357365f), -0.16715667f), 0.24391298f);\n"
     "    p = fmaf(u, fmaf(u, fmaf(u, p, 0.1550276f), -0.30284306f), -1.2567667f);\n"
     "    p = fmaf(u, p, fmaf(half, a, -square));\n"
     "    tail = mdf_reduce(square, -p, &n);\n"
     "    tail = mdf_scale(half * t * tail, n);\n"
     "    return x >= 0.0f ? x + tail : tail - (x - x);\n"
     "}\n"},
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
    TO_WHOLE("float32", "float", "32", "2147483648.0f", ">= -2147483648.0f"),
    TO_WHOLE("float32", "float", "64", "9223372036854775808.0f", ">= -9223372036854775808.0f"),
    TO_WHOLE("float64", "double", "32", "2147483648.0", "> -2147483649.0"),
    TO_WHOLE("float64", "double", "64", "9223372036854775808.0", ">= -9223372036854775808.0"),
    {"item", "/* The number of an item, from the front or, below 0, from the back; of one that is not there: 0. */\n"
             "static inline size_t mdf_item(int64_t index, int64_t n, bool *refused)\n"
             "{\n"
             "    const bool is_there = index >= -n && index < n;\n"
             "\n"
             "    *refused |= !is_there;\n"
             "    return !is_there ? 0 : index < 0 ? (size_t)(index + n) : (size_t)index;\n"
             "}\n"},
#include "build/generated/helper_texts.inc"
};

const char *mdf_source_helper(struct mdf_source_writer *writer, const char *name, const char *definition)
{
    struct mdf_source_helper *helper;
    const char *full_name;

    for (helper = writer->helpers; helper != NULL; helper = helper->next) {
        if (strcmp(helper->name + strlen("mdf_"), name) == 0) {
            return helper->name;
        }
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

const char *mdf_source_use(struct mdf_source_writer *writer, const char *name)
{
    size_t i;

    for (i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (strcmp(needed[i].name, name) == 0) {
            mdf_source_use(writer, needed[i].needs);
        }
    }

    for (i = 0; i < sizeof fixed / sizeof *fixed && strcmp(fixed[i].name, name) != 0; i++) {
    }
    return i < sizeof fixed / sizeof *fixed ? mdf_source_helper(writer, name, fixed[i].definition) : "";
}

static const char *wide_type(mdf_dtype dtype)
{
    return mdf_dtype_kind(dtype) == 'f' ? mdf_source_type(dtype) : mdf_dtype_size(dtype) == 8 ? "uint64_t" : "uint32_t";
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
                            : text[1] == 'n' ? mdf_dtype_name(dtype)
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
