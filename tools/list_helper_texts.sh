#!/bin/sh
# Writes the functions of functions/elements/element_helpers.h as texts for generated C, one row a function, with the comment in
# front of it:
#     {"modulo_float64", "static inline double mdf_modulo_float64(double a, double b)\n" ... },
# mdf_c/source/source_helpers.c includes the result. Run from the root of the tree.
set -eu
export LC_ALL=C
awk '
function quoted(line) {
    gsub(/\\/, "\\\\", line)
    gsub(/"/, "\\\"", line)
    return "    \"" line "\\n\"\n"
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
' functions/elements/element_helpers.h
