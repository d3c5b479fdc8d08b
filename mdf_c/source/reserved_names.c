/* reserved_names.c - names that mean something else in C, so that nothing of a model may be called so. Macros and functions are
 * those of the headers that generated code includes, also where a compiler is not held to the letter of C11 (gcc's default). */
#include "mdf_c/source/source_writer.h"

#include <string.h>

/* Keywords of C up to C23 and of C++, since a header may be included there; macros; types and functions that generated code uses,
 * and its own variables. */
static const char *const words[] = {"alignas",
                                    "alignof",
                                    "and",
                                    "asm",
                                    "auto",
                                    "bool",
                                    "break",
                                    "case",
                                    "catch",
                                    "char",
                                    "class",
                                    "const",
                                    "constexpr",
                                    "continue",
                                    "decltype",
                                    "default",
                                    "delete",
                                    "do",
                                    "double",
                                    "else",
                                    "enum",
                                    "explicit",
                                    "export",
                                    "extern",
                                    "false",
                                    "float",
                                    "for",
                                    "friend",
                                    "goto",
                                    "if",
                                    "inline",
                                    "int",
                                    "long",
                                    "mutable",
                                    "namespace",
                                    "new",
                                    "noexcept",
                                    "not",
                                    "nullptr",
                                    "operator",
                                    "or",
                                    "private",
                                    "protected",
                                    "public",
                                    "register",
                                    "restrict",
                                    "return",
                                    "short",
                                    "signed",
                                    "sizeof",
                                    "static",
                                    "struct",
                                    "switch",
                                    "template",
                                    "this",
                                    "throw",
                                    "true",
                                    "try",
                                    "typedef",
                                    "typeid",
                                    "typename",
                                    "typeof",
                                    "union",
                                    "unsigned",
                                    "using",
                                    "virtual",
                                    "void",
                                    "volatile",
                                    "wchar_t",
                                    "while",
                                    "xor",
                                    "static_assert",
                                    "bitand",
                                    "bitor",
                                    "compl",
                                    "and_eq",
                                    "or_eq",
                                    "xor_eq",
                                    "not_eq",
                                    "thread_local",
                                    "NULL",
                                    "NAN",
                                    "INFINITY",
                                    "MAXFLOAT",
                                    "linux",
                                    "unix",
                                    "i386",
                                    "offsetof",
                                    "fpclassify",
                                    "isfinite",
                                    "isinf",
                                    "isnan",
                                    "isnormal",
                                    "signbit",
                                    "isgreater",
                                    "isgreaterequal",
                                    "isless",
                                    "islessequal",
                                    "islessgreater",
                                    "isunordered",
                                    "iscanonical",
                                    "issignaling",
                                    "issubnormal",
                                    "iszero",
                                    "math_errhandling",
                                    "signgam",
                                    "size_t",
                                    "int8_t",
                                    "int16_t",
                                    "int32_t",
                                    "int64_t",
                                    "uint8_t",
                                    "uint16_t",
                                    "uint32_t",
                                    "uint64_t",
                                    "memcpy",
                                    "memset",
                                    "memmove",
                                    "memcmp",
                                    "main",
                                    "s",
                                    "i",
                                    "dt",
                                    "refused",
                                    "beyond",
                                    "far",
                                    "index",
                                    "time",
                                    "gamma",
                                    "scalb",
                                    "j0",
                                    "j1",
                                    "jn",
                                    "y0",
                                    "y1",
                                    "yn",
                                    "typeof_unqual",
                                    "char8_t"};

/* Families of macros, and of functions of the C library of which a model's own (NAME_init, NAME_size) could be one. */
static const char *const beginnings[] = {"FP_",  "HUGE",   "INT8_",    "INT16_",  "INT32_",  "INT64_",   "INTMAX_",  "INTPTR_",
                                         "INT_", "UINT8_", "UINT16_",  "UINT32_", "UINT64_", "UINTMAX_", "UINTPTR_", "UINT_",
                                         "M_",   "MATH_",  "PTRDIFF_", "SIG_",    "SIZE_",   "WCHAR_",   "WINT_",    "SNAN",
                                         "mdf_", "MDF_",   "pthread_", "posix_",  "inet6_",  "malloc_"};
static const char *const owners[] = {"aio", "cnd", "fanotify", "inotify", "mtx", "printf", "sem"};

/* Functions of math.h, each with variants that end in f and l. */
static const char *const functions[] = {
    "acos",    "acosh",     "asin",      "asinh",      "atan",  "atan2",     "atanh",  "cbrt",  "ceil",   "copysign",
    "cos",     "cosh",      "erf",       "erfc",       "exp",   "exp2",      "exp10",  "expm1", "fabs",   "fdim",
    "floor",   "fma",       "fmax",      "fmin",       "fmod",  "frexp",     "hypot",  "ilogb", "ldexp",  "lgamma",
    "llrint",  "llround",   "log",       "log10",      "log1p", "log2",      "logb",   "lrint", "lround", "modf",
    "nan",     "nearbyint", "nextafter", "nexttoward", "pow",   "remainder", "remquo", "rint",  "round",  "roundeven",
    "scalbln", "scalbn",    "sin",       "sincos",     "sinh",  "sqrt",      "tan",    "tanh",  "tgamma", "trunc"};

static bool is_among(const char *name, const char *const *list, size_t n)
{
    size_t i;

    for (i = 0; i < n && (name[0] != list[i][0] || strcmp(name, list[i]) != 0); i++) {
    }
    return i < n;
}

static bool is_function(const char *name)
{
    size_t length = strlen(name), i;

    for (i = 0; i < sizeof functions / sizeof *functions; i++) {
        size_t n = name[0] == functions[i][0] ? strlen(functions[i]) : 0;

        if (n > 0 && strncmp(name, functions[i], n) == 0 &&
            (length == n || (length == n + 1 && (name[n] == 'f' || name[n] == 'l')))) {
            return true;
        }
    }
    return false;
}

bool mdf_source_begins_reserved(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof beginnings / sizeof *beginnings && strncmp(name, beginnings[i], strlen(beginnings[i])) != 0; i++) {
    }
    return i < sizeof beginnings / sizeof *beginnings;
}

bool mdf_source_is_reserved(const char *name)
{
    return is_among(name, words, sizeof words / sizeof *words) || is_among(name, owners, sizeof owners / sizeof *owners) ||
           is_function(name);
}
