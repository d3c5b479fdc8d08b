#!/usr/bin/env bash
# Builds the source distribution, from it the wheel, and runs the tests on the wheel installed in a fresh environment, away from the
# source and without a compiler. Needs the Python packages build, numpy and pytest.
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if ! python3 -m build --outdir "$folder/dist" python >"$folder/log" 2>&1; then
    cat "$folder/log" >&2
    exit 1
fi
python3 -m venv --system-site-packages "$folder/environment"
"$folder/environment/bin/python" -m pip install --quiet --no-deps "$folder"/dist/*.whl
# The tests, and what they read beside them; not the package.
mkdir -p "$folder/tree/python"
cp -r examples docs "$folder/tree"
cp -r python/tests "$folder/tree/python"
cd "$folder/tree/python"
mkdir "$folder/no_compilers"
for compiler in cc gcc clang c99 c11; do
    printf '#!/bin/sh\nexit 1\n' >"$folder/no_compilers/$compiler"
    chmod +x "$folder/no_compilers/$compiler"
done
env -u PYTHONPATH -u MDF_C_BUILD PATH="$folder/no_compilers:$PATH" "$folder/environment/bin/python" -m pytest -q -p no:cacheprovider tests
