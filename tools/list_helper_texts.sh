#!/bin/sh
# Writes the functions of functions/elements/element_helpers.h, float32_functions.inc, float64_tables.inc, float64_functions.inc, mdf_c/tensor/half_floats.inc, small_floats.inc and of all routines (functions/kernel/routine.h)
# as texts for generated C, one row a function, with the comment in front of it:
#     {"modulo_float64", "static inline double mdf_modulo_float64(double a, double b)\n" ... },
# Of a routine for several element types, these are "$n" in its name, and "$T", "$U", "$D", "$R", "$W", "$V" in its text (mdf_source_of_type).
# mdf_c/source/source_helpers.c includes the result. Run from the root of the tree.
set -eu
export LC_ALL=C
awk '
function quoted(line) {
    gsub(/\\/, "\\\\", line)
    gsub(/"/, "\\\"", line)
    return "    \"" line "\\n\"\n"
}
# WORD(argument) becomes before argument after; the argument has no parentheses.
function replace(line, word, before, after, found) {
    while (match(line, word "\\([^()]*\\)")) {
        found = substr(line, RSTART + length(word) + 1, RLENGTH - length(word) - 2)
        line = substr(line, 1, RSTART - 1) before found after substr(line, RSTART + RLENGTH)
    }
    return line
}
# Splits what stands in parentheses from `start` on at its commas; the place behind it.
function split_arguments(line, start, arguments, i, c, depth, n) {
    n = 1
    arguments[1] = ""
    for (i = start; ; i++) {
        c = substr(line, i, 1)
        depth += (c == "(") - (c == ")")
        if (depth < 0) {
            return i + 1
        }
        if (c == "," && depth == 0) {
            arguments[++n] = ""
            i++
        } else {
            arguments[n] = arguments[n] c
        }
    }
}
# CHOOSE(a, b, c) becomes (a ? b : c), TAKE(rows, i) rows[i], PATCHED(a, b, f, x) ((a) ? f(x) : b), PATCHED_2(a, b, f, x, y) with f(x, y);
# where it is_near, (*far |= (a), b).
function choices(line, is_near, start, end, arguments) {
    while ((start = index(line, "CHOOSE(")) > 0) {
        end = split_arguments(line, start + 7, arguments)
        line = substr(line, 1, start - 1) "(" arguments[1] " ? " arguments[2] " : " arguments[3] ")" substr(line, end)
    }
    while ((start = index(line, "TAKE(")) > 0) {
        end = split_arguments(line, start + 5, arguments)
        line = substr(line, 1, start - 1) arguments[1] "[" arguments[2] "]" substr(line, end)
    }
    while ((start = index(line, "PATCHED(")) > 0) {
        end = split_arguments(line, start + 8, arguments)
        line = substr(line, 1, start - 1) (is_near ? "(*far |= (" arguments[1] "), " arguments[2] ")" : "((" arguments[1] ") ? " arguments[3] "(" arguments[4] ") : " arguments[2] ")") substr(line, end)
    }
    while ((start = index(line, "PATCHED_2(")) > 0) {
        end = split_arguments(line, start + 10, arguments)
        line = substr(line, 1, start - 1) (is_near ? "(*far |= (" arguments[1] "), " arguments[2] ")" : "((" arguments[1] ") ? " arguments[3] "(" arguments[4] "," arguments[5] ") : " arguments[2] ")") substr(line, end)
    }
    return line
}
# The words of float32_functions.inc and float64_functions.inc.
function in_words(line, bits, is_near) {
    line = choices(replace(replace(line, "HELPER", "mdf_", ""), "ALL", "", ""), is_near)
    line = replace(replace(line, "EXP_ARGUMENT", "", ""), "EXP_DOWN_ARGUMENT", "", "")
    sub(/^INLINE/, "static inline", line)
    gsub(/UNSIGNED_OF/, "uint" bits "_t", line)
    gsub(/SIGNED_OF/, "int" bits "_t", line)
    gsub(/ELEMENT/, bits == "32" ? "float" : "double", line)
    gsub(/BITS_OF/, "mdf_bits_float" bits, line)
    gsub(/OF_BITS/, "mdf_of_bits_float" bits, line)
    gsub(/FUSED/, "fmaf", line)
    gsub(/NOT_ABOVE/, "mdf_not_above_float" bits, line)
    gsub(/NOT_BELOW/, "mdf_not_below_float" bits, line)
    gsub(/SQRT/, bits == "32" ? "sqrtf" : "sqrt", line)
    gsub(/SCALE_DOWN/, "mdf_scale_down_float" bits, line)
    gsub(/SCALE/, "mdf_scale_float" bits, line)
    gsub(/EXP_POWER/, "mdf_exp_power_float" bits, line)
    gsub(/EXP_RESULT/, "mdf_exp_result_float" bits, line)
    return line
}
{ near = "" }
/[A-Z]/ && FILENAME ~ /float(32|64)_functions/ {
    bits = FILENAME ~ /float32/ ? "32" : "64"
    near = $0 ~ /PATCHED/ ? in_words($0, bits, 1) : ""
    $0 = in_words($0, bits, 0)
}
# The words of routines.
FILENAME ~ /_routine/ {
    $0 = replace(replace(replace($0, "NAME", "mdf_", "_$n"), "MATH", "", "$f"), "FUNCTION", "$T (*", ")($T)")
    gsub(/HEEDED\([^()]*\)/, "true")
    gsub(/APART/, "volatile")
    gsub(/NUMBER_OF\(/, "$R(")
    gsub(/ROUNDED_TOTAL\(/, "$V(")
    gsub(/ROUNDED\(/, "$W(")
    gsub(/ELEMENT/, "$T")
    gsub(/WIDE/, "$U")
    gsub(/TOTAL/, "$D")
    sub(/^INLINE/, "static inline")
}
/^$/ { comment = "" }
/^\/\*/ { comment = quoted($0); inside = 1 }
inside && !/^\/\*/ { comment = comment quoted($0) }
inside && /\*\/$/ { inside = 0; next }
/^static inline / {
    name = $0
    sub(/\(.*/, "", name)
    sub(/.*mdf_/, "", name)
    printf "{\"%s\",\n%s", name, comment
    writing = 1
    head = $0
    sub("mdf_" name "[(]", "mdf_near_" name "(uint32_t *far, ", head)
    near_text = quoted(head)
    is_patched = 0
}
writing { printf "%s", quoted($0) }
writing && !/^static inline / { near_text = near_text quoted(near != "" ? near : $0); is_patched = is_patched || near != "" }
# A function that is PATCHED also as near_NAME, which notes in *far that its result is to be found once more.
writing && /^}/ { print "},"; writing = 0; comment = "" }
/^}/ && is_patched { printf "{\"near_%s\",\n%s},\n", name, near_text; is_patched = 0 }
' functions/elements/element_helpers.h functions/elements/float32_functions.inc functions/elements/float64_tables.inc functions/elements/float64_functions.inc mdf_c/tensor/half_floats.inc mdf_c/tensor/small_floats.inc $(find functions -name '*_routine.inc' | sort)
