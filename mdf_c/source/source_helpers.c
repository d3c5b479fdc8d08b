/* source_helpers.c - functions that generated code needs and C does not have: exact sums, rounded-down quotients, conversions that
 * say where a number does not fit. Each is written out where something uses it. */
#include "mdf_c/source/source_writer.h"

#include <string.h>

struct fixed_helper {
    const char *name, *definition;
};

#define CHECKED(name, symbol, builtin, wide)                                              \
    {                                                                                     \
        name, "/* False: the result does not fit. */\n"                                   \
              "static inline bool mdf_" name "(int64_t a, int64_t b, int64_t *result)\n"  \
              "{\n"                                                                       \
              "#if defined(__GNUC__)\n"                                                   \
              "    return !" builtin "(a, b, result);\n"                                  \
              "#else\n"                                                                   \
              "    *result = (int64_t)((uint64_t)a " symbol " (uint64_t)b);\n"            \
              "    return " wide ";\n"                                                    \
              "#endif\n"                                                                  \
              "}\n"                                                                       \
    }

#define WHOLE(bits)                                                                                                       \
    {"quotient_int" bits, "/* The lowest number by -1 wraps. */\n"                                                        \
                          "static inline int" bits "_t mdf_quotient_int" bits "(int" bits "_t a, int" bits "_t b)\n"      \
                          "{\n"                                                                                           \
                          "    return b == 0 ? 0 : b == -1 ? (int" bits "_t)(0 - (uint" bits "_t)a) : a / b;\n"           \
                          "}\n"},                                                                                         \
        {"remainder_int" bits, "static inline int" bits "_t mdf_remainder_int" bits "(int" bits "_t a, int" bits "_t b)\n" \
                               "{\n"                                                                                      \
                               "    return b == 0 || b == -1 ? 0 : a % b;\n"                                              \
                               "}\n"},                                                                                    \
        {"floor_quotient_int" bits,                                                                                       \
         "static inline int" bits "_t mdf_floor_quotient_int" bits "(int" bits "_t a, int" bits "_t b)\n"                 \
         "{\n"                                                                                                            \
         "    return b == 0    ? 0\n"                                                                                     \
         "           : b == -1 ? (int" bits "_t)(0 - (uint" bits "_t)a)\n"                                                \
         "                     : a / b - (a % b != 0 && (a < 0) != (b < 0));\n"                                           \
         "}\n"},                                                                                                          \
        {"floor_remainder_int" bits,                                                                                      \
         "static inline int" bits "_t mdf_floor_remainder_int" bits "(int" bits "_t a, int" bits "_t b)\n"                \
         "{\n"                                                                                                            \
         "    return b == 0 || b == -1 ? 0 : a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);\n"                       \
         "}\n"}

#define TO_WHOLE(from, type, bits, limit, lowest)                                                                   \
    {                                                                                                               \
        from "_to_int" bits, "/* Cut off towards zero. False: the number does not fit. */\n"                        \
                             "static inline bool mdf_" from "_to_int" bits "(" type " x, int" bits "_t *result)\n"  \
                             "{\n"                                                                                  \
                             "    bool fits = x " lowest " && x < " limit ";\n"                                     \
                             "\n"                                                                                   \
                             "    *result = fits ? (int" bits "_t)x : 0;\n"                                         \
                             "    return fits;\n"                                                                   \
                             "}\n"                                                                                  \
    }

#define MODULO(name, type, suffix)                                                      \
    {                                                                                   \
        "modulo_" name, "/* The remainder with the sign of b. */\n"                     \
                        "static inline " type " mdf_modulo_" name "(" type " a, " type " b)\n" \
                        "{\n"                                                           \
                        "    " type " rest = fmod" suffix "(a, b);\n"                   \
                        "\n"                                                            \
                        "    if (rest == 0) {\n"                                        \
                        "        return copysign" suffix "(0, b);\n"                    \
                        "    }\n"                                                       \
                        "    return (b < 0) != (rest < 0) ? rest + b : rest;\n"         \
                        "}\n"                                                           \
    }

static const struct fixed_helper fixed[] = {
    CHECKED("add_exact", "+", "__builtin_add_overflow", "b >= 0 ? *result >= a : *result < a"),
    CHECKED("subtract_exact", "-", "__builtin_sub_overflow", "b >= 0 ? *result <= a : *result > a"),
    CHECKED("multiply_exact", "*", "__builtin_mul_overflow",
            "a == 0 || (!(a == -1 && b == INT64_MIN) && *result / a == b)"),
    WHOLE("32"),
    WHOLE("64"),
    TO_WHOLE("float32", "float", "32", "2147483648.0f", ">= -2147483648.0f"),
    TO_WHOLE("float32", "float", "64", "9223372036854775808.0f", ">= -9223372036854775808.0f"),
    TO_WHOLE("float64", "double", "32", "2147483648.0", "> -2147483649.0"),
    TO_WHOLE("float64", "double", "64", "9223372036854775808.0", ">= -9223372036854775808.0"),
    MODULO("float32", "float", "f"),
    MODULO("float64", "double", ""),
    {"whole_power", "/* The lowest 64 bits of a power. */\n"
                    "static inline uint64_t mdf_whole_power(uint64_t base, uint64_t exponent)\n"
                    "{\n"
                    "    uint64_t result = 1;\n"
                    "\n"
                    "    for (; exponent > 0; exponent >>= 1) {\n"
                    "        result *= exponent & 1 ? base : 1;\n"
                    "        base *= base;\n"
                    "    }\n"
                    "    return result;\n"
                    "}\n"},
    {"floor_quotient_float64", "/* The floor of a / b. */\n"
                               "static inline double mdf_floor_quotient_float64(double a, double b)\n"
                               "{\n"
                               "    double rest = fmod(a, b), quotient = (a - rest) / b, whole;\n"
                               "\n"
                               "    if (rest != 0 && (b < 0) != (rest < 0)) {\n"
                               "        quotient -= 1;\n"
                               "    }\n"
                               "    if (quotient == 0) {\n"
                               "        return copysign(0, a / b);\n"
                               "    }\n"
                               "    whole = floor(quotient);\n"
                               "    return quotient - whole > 0.5 ? whole + 1 : whole;\n"
                               "}\n"},
};

const char *mdf_source_helper(struct mdf_source_writer *writer, const char *name, const char *definition)
{
    struct mdf_source_helper *helper;

    for (helper = writer->helpers; helper != NULL; helper = helper->next) {
        if (strcmp(helper->name + 4, name) == 0) {
            return helper->name;
        }
    }
    helper = mdf_arena_allocate(&writer->arena, sizeof *helper);
    if (helper == NULL) {
        writer->body.failed = true;
        return "";
    }
    helper->name = mdf_source_text(writer, "mdf_%s", name);
    helper->definition = definition;
    *writer->last_helper = helper;
    writer->last_helper = &helper->next;
    return helper->name;
}

const char *mdf_source_use(struct mdf_source_writer *writer, const char *name)
{
    size_t i;

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
    writer->body.failed = writer->body.failed || result.failed;
    copy = result.failed ? "" : mdf_source_text(writer, "%s", result.bytes);
    mdf_text_release(&result);
    return copy;
}
