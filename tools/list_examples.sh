#!/bin/sh
# Lists the examples from the tables of README files below examples/ (default: of examples/README.md), one a line: file within examples/,
# what it shows, options to run it with (quoted for the shell), separated by tabs. A row's first three columns count.
# Usage: list_examples.sh [README...]
set -eu
[ $# -gt 0 ] || set -- examples/README.md
for readme in "$@"; do
    folder=${readme#examples/}
    folder=${folder%README.md}
    sed -n 's/^| *\([a-z0-9_/]*\.[a-z]*\) *| *\([^|]*[^| ]\) *| *\([^|]*\)|.*$/\1\t\2\t\3/p' "$readme" | sed "s|\`||g; s|^|$folder|; s| *$||"
done
