#!/usr/bin/env bash
# Builds the source distribution, from it the wheel, and runs the tests on the wheel installed in a fresh environment, away from the
# source and without a compiler. Needs the Python packages build, numpy and pytest; with auditwheel, the platform in the wheel's name is
# compared with what that finds.
# TARGET=arm64: the wheel for another processor (tools/check_target.sh), which has tests run under qemu-user, with Debian's Python and
# NumPy of that processor: those of TESTS, by default running, values, types and errors.
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# check_tag WHEEL
check_tag() {
    if ! command -v auditwheel >/dev/null; then
        echo "auditwheel is not there: the platform in the wheel's name is not looked at" >&2
        return
    fi
    local tag=${1##*-}
    tag=${tag%.whl}
    auditwheel show "$1" >"$folder/audit"
    tr '\n' ' ' <"$folder/audit" | grep -q "platform tag: \"$tag\"" || { cat "$folder/audit" >&2 && exit 1; }
    echo "auditwheel: $tag, $(du -k "$1" | cut -f1) kB"
}

# check_size WHEEL: README.md says how many megabytes it has at most, and how many once it is installed: bounds, of which a wheel uses three quarters or more.
check_size() {
    local said packed unpacked
    said=$(sed -n 's/.* It has at most \([0-9]*\) MB, and \([0-9]*\) MB once it is installed.*/\1 \2/p' README.md)
    packed=$(stat -c %s "$1")
    unpacked=$(python3 -c 'import sys, zipfile; print(sum(one.file_size for one in zipfile.ZipFile(sys.argv[1]).infolist()))' "$1")
    is_bound() { [ "$1" -le $((${2:-0} * 1000000)) ] && [ "$1" -ge $((${2:-0} * 750000)) ]; }
    # shellcheck disable=SC2086
    set -- $said
    is_bound "$packed" "${1:-}" && is_bound "$unpacked" "${2:-}" || { echo "the wheel has $packed bytes, installed $unpacked, and README.md says at most ${said:-nothing} (MB)" >&2 && exit 1; }
}

# The tests, and what they read beside them; not the package.
copy_tests() {
    mkdir -p "$folder/tree/python"
    cp -r examples docs "$folder/tree"
    cp -r python/tests "$folder/tree/python"
}

check_there() {
    local root=$PWD environment=$PWD/build/$TARGET/python site=$folder/site wheel
    MDF_C_WHEEL_TARGET=$TARGET python3 -m build --wheel --outdir "$folder/dist" python >"$folder/log" 2>&1 || { cat "$folder/log" >&2 && exit 1; }
    wheel=$(echo "$folder"/dist/*.whl)
    check_tag "$wheel"
    python3 -m pip install --quiet --target "$site" --platform manylinux2014_aarch64 --platform manylinux_2_17_aarch64 \
        --platform manylinux_2_28_aarch64 --python-version 3.11 --implementation cp --only-binary=:all: numpy pytest
    python3 -m zipfile -e "$wheel" "$site"
    chmod +x "$site"/mdf_c/native/mdf-*
    copy_tests
    there() {
        tools/check_target.sh --run "$TARGET" "$environment" python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libexpat1 libffi8 \
            libuuid1 libsqlite3-0 -- usr/bin/python3.11 "$@"
    }
    export PYTHONPATH=$site PYTHONHOME=$environment/usr PYTHONDONTWRITEBYTECODE=1
    there -c "import platform, mdf_c; print(platform.machine(), float(mdf_c.run('examples/newton_sqrt.json', inputs={'a': 10})['x']))"
    # shellcheck disable=SC2086
    there -m pytest -q -p no:cacheprovider -c /dev/null --rootdir "$folder/tree/python" $(printf "$folder/tree/python/tests/test_%s.py " ${TESTS:-running values types errors})
}

if [ -n "${TARGET:-}" ]; then
    check_there
    exit
fi
if ! python3 -m build --outdir "$folder/dist" python >"$folder/log" 2>&1; then
    cat "$folder/log" >&2
    exit 1
fi
check_tag "$(echo "$folder"/dist/*.whl)"
check_size "$(echo "$folder"/dist/*.whl)"
python3 -m venv --system-site-packages "$folder/environment"
"$folder/environment/bin/python" -m pip install --quiet --no-deps "$folder"/dist/*.whl
copy_tests
cd "$folder/tree/python"
mkdir "$folder/no_compilers"
for compiler in cc gcc clang c99 c11; do
    printf '#!/bin/sh\nexit 1\n' >"$folder/no_compilers/$compiler"
    chmod +x "$folder/no_compilers/$compiler"
done
env -u PYTHONPATH -u MDF_C_BUILD PATH="$folder/no_compilers:$PATH" "$folder/environment/bin/python" -m pytest -q -p no:cacheprovider tests
