#!/bin/sh
# Lists the examples from the table in examples/README.md, one a line: file, what it shows, options to run it with
# (quoted for the shell), separated by tabs.
set -eu
sed -n 's/^| *\([a-z0-9_]*\.[a-z]*\) *| *\(.*[^ ]\) *| *\(.*\)|$/\1\t\2\t\3/p' examples/README.md | sed 's/`//g'
