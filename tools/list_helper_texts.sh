#!/bin/sh
# Writes the functions of functions/elements/element_helpers.h, float32_functions.inc and of all routines (functions/kernel/routine.h)
# as texts for generated C, one row a function, with the comment in front of it:
#     {"modulo_float64", "static inline double mdf_modulo_float64(double a, double b)\n" ... },
# Of a routine for several element types, these are "$n" in its name, and "$T", "$U", "$D" in its text (mdf_source_of_type).
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
# CHOOSE(a, b, c) becomes (a ? b : c).
function choices(line, start, i, c, depth, marks) {
    while ((start = index(line, "CHOOSE(")) > 0) {
        depth = 0
        marks = 0
        for (i = start + 7; depth >= 0; i++) {
            c = substr(line, i, 1)
            depth += (c == "(") - (c == ")")
            if (c == "," && depth == 0) {
                line = substr(line, 1, i - 1) (marks++ ? " :" : " ?") substr(line, i + 1)
                i++
            }
        }
        line = substr(line, 1, start - 1) substr(line, start + 6)
    }
    return line
}
# The words of float32_functions.inc.
/[A-Z]/ && FILENAME ~ /float32_functions/ {
    $0 = choices(replace(replace($0, "HELPER", "mdf_", ""), "ALL", "", ""))
    sub(/^INLINE/, "static inline")
    gsub(/UNSIGNED_OF/, "uint32_t")
    gsub(/SIGNED_OF/, "int32_t")
    gsub(/ELEMENT/, "float")
    gsub(/BITS_OF/, "mdf_bits_float32")
    gsub(/OF_BITS/, "mdf_of_bits_float32")
    gsub(/FUSED/, "fmaf")
    gsub(/NOT_ABOVE/, "mdf_not_above_float32")
    gsub(/NOT_BELOW/, "mdf_not_below_float32")
    gsub(/SCALE/, "mdf_scale_float32")
}
# The words of routines.
FILENAME ~ /_routine/ {
    $0 = replace(replace($0, "NAME", "mdf_", "_$n"), "MATH", "", "$f")
    gsub(/ELEMENT/, "$T")
    gsub(/WIDE/, "$U")
    gsub(/TOTAL/, "$D")
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
}
writing { printf "%s", quoted($0) }
writing && /^}/ { print "},"; writing = 0; comment = "" }
' functions/elements/element_helpers.h functions/elements/float32_functions.inc $(find functions -name '*_routine.inc' | sort)
