#!/usr/bin/env bash
# Fails where a file includes one of a higher layer, or where two files of the tree have the same basename.
# Run from the root of the tree. --order: prints the layers, the lowest first. Every include of the project is written from the root.
set -eu
export LC_ALL=C
order="base tensor schemas document functions expression dialect model code lowered machine lower plan run source values export write pictures api cli"
if [ "${1:-}" = --order ]; then
    echo "$order"
    exit
fi

{ find mdf_c schemas functions -name '*.[ch]' -o -name '*.inc'; } | sort | awk -v layers="$order" '
function layer(path) {
    if (path == "mdf_c/mdf.h") return "public"
    if (path ~ /^(schemas|functions)\//) return substr(path, 1, index(path, "/") - 1)
    if (split(path, part, "/") > 2 && part[1] == "mdf_c") return part[2]
    return ""
}
BEGIN {
    n = split(layers, order, " ")
    for (i = 1; i <= n; i++) height[order[i]] = i
    # Neighbours in the order that know nothing of each other.
    apart["functions", "document"] = apart["functions", "expression"] = apart["expression", "functions"] = 1
}
{
    file = $0
    mine = layer(file)
    name = file
    sub(/.*\//, "", name)
    if (name in seen) {
        print file ": the basename is that of " seen[name]
        bad = 1
    }
    seen[name] = file
    if (mine != "public" && !(mine in height)) {
        print file ": lies in no layer"
        bad = 1
    }
    number = 0
    while ((getline line < file) > 0) {
        number++
        if (line !~ /^[ \t]*#[ \t]*include[ \t]*"/) continue
        split(line, quoted, "\"")
        target = quoted[2]
        if (target ~ /^build\/generated\//) continue
        theirs = layer(target)
        if (theirs == "") {
            print file ":" number ": \"" target "\" is not written from the root"
            bad = 1
        } else if (theirs != "public" && (mine == "public" || height[theirs] > height[mine] || (mine, theirs) in apart)) {
            print file ":" number ": " mine " includes " theirs " (" target ")"
            bad = 1
        }
    }
    close(file)
}
END { exit bad }
' >&2 || { echo "the layers are not kept: see docs/architecture.md" >&2; exit 1; }
