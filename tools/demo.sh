#!/usr/bin/env bash
# Runs the examples and shows what they print, long outputs cut. BUILD is the folder of the programs.
set -eu

build=${BUILD:-build}
most_lines=8
most_columns=150

tools/list_examples.sh | while IFS=$'\t' read -r file shows options; do
    printf '\n%s\n$ %s/mdf-run %sexamples/%s\n' "$shows" "$build" "${options:+$options }" "$file"
    # The options are quoted for the shell.
    output=$(eval "$build/mdf-run $options examples/$file")
    printf '%s\n' "$output" | head -n $most_lines | sed "s/^\(.\{$most_columns\}\).\+/\1 .../"
    [ "$(printf '%s\n' "$output" | wc -l)" -le $most_lines ] || echo "..."
done
