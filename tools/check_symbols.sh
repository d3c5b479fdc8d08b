#!/usr/bin/env bash
# Fails where the objects of one layer need a symbol that a higher layer defines, which no include shows. The layers are those of
# tools/check_layers.sh.
# Usage: check_symbols.sh FOLDER OBJECT...   the library's objects, and the folder that they lie in
set -eu
export LC_ALL=C
order=$(tools/check_layers.sh --order)
folder=$1
shift
nm -A -g "$@" | awk -v objects="$folder/" -v layers="$order" '
function layer(path, part) {
    split(substr(path, length(objects) + 1), part, "/")
    return part[1] == "mdf_c" ? part[2] : part[1]
}
BEGIN {
    n = split(layers, order, " ")
    for (i = 1; i <= n; i++) height[order[i]] = i
}
{
    file = $1
    sub(/:.*/, "", file)
    if ($(NF - 1) ~ /U$/) {
        user[++n_uses] = file
        used[n_uses] = $NF
    } else {
        home[$NF] = file
    }
}
END {
    for (i = 1; i <= n_uses; i++) {
        mine = layer(user[i])
        if (used[i] in home && height[layer(home[used[i]])] > height[mine]) {
            print user[i] ": " mine " needs " used[i] " of " layer(home[used[i]]) " (" home[used[i]] ")"
            bad = 1
        }
    }
    exit bad
}
' >&2 || { echo "symbols go up: see docs/architecture.md" >&2; exit 1; }
