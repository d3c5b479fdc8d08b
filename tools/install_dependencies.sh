#!/bin/sh
# Installs what the build needs, on systems with apt. Where everything is there already nothing is asked of the network.
set -eu

tools="gcc make pkg-config protoc-c"
libraries="yaml-0.1 libcjson libbson-1.0 libprotobuf-c libzip libpcre2-8 jansson criterion"
packages="gcc libc6-dev make pkg-config libyaml-dev libcjson-dev libbson-dev libprotobuf-c-dev protobuf-c-compiler libzip-dev libpcre2-dev libjansson-dev libcriterion-dev"

missing() {
    for tool in $tools; do
        command -v "$tool" >/dev/null 2>&1 || echo "$tool"
    done
    for library in $libraries; do
        pkg-config --exists "$library" 2>/dev/null || echo "$library"
    done
}

# ImageDecoder's libraries and SUNDIALS (the methods of CVODE), each of which the build does without where it is not there, the programs that draw mdf-run's pictures, and what
# the tests of the Python package need. They are asked for once a build folder.
optional="libjpeg libpng libtiff-4 libwebp libopenjp2"
optional_packages="libjpeg-dev libpng-dev libtiff-dev libwebp-dev libopenjp2-7-dev"
solver_packages="libsundials-dev"
picture_programs="dot gnuplot"
picture_packages="graphviz gnuplot-nox"
python_packages="python3 python3-numpy python3-pytest"
asked=build/optional_libraries_asked_for

absent() {
    for library in $optional; do
        pkg-config --exists "$library" 2>/dev/null || echo "$library"
    done
}

absent_solver() {
    echo | ${CC:-cc} -include cvodes/cvodes.h -E -xc - >/dev/null 2>&1 || echo "SUNDIALS"
}

absent_programs() {
    for program in $picture_programs; do
        command -v "$program" >/dev/null 2>&1 || echo "$program"
    done
}

absent_python() {
    tools/find_python.sh >/dev/null || echo "python3 with numpy and pytest"
}

wants_optional() {
    [ ! -e "$asked" ] && [ -n "$(absent)$(absent_solver)$(absent_programs)$(absent_python)" ] && command -v apt-get >/dev/null 2>&1
}

[ -n "$(missing)" ] || wants_optional || exit 0
if ! command -v apt-get >/dev/null 2>&1; then
    echo "Missing: $(missing | tr '\n' ' ')" >&2
    echo "This system has no apt-get: please install what corresponds to Debian's $packages" >&2
    exit 1
fi
as_root=
[ "$(id -u)" -eq 0 ] || as_root="sudo"
export DEBIAN_FRONTEND=noninteractive

# What is to come, before anything is changed: which packages, for what, how many bytes (as apt knows them) and about how long.
announce() {
    [ -z "$(missing)" ] || printf 'To build mdf_c, apt installs: %s\n' "$packages"
    if wants_optional; then
        [ -z "$(absent)" ] || printf 'For images (ImageDecoder): %s\n' "$optional_packages"
        [ -z "$(absent_solver)" ] || printf 'For the methods of CVODE (--method): %s\n' "$solver_packages"
        [ -z "$(absent_programs)" ] || printf 'For pictures (--graph-image, --plot): %s\n' "$picture_packages"
        [ -z "$(absent_python)" ] || printf 'To test the Python package: %s\n' "$python_packages"
        echo "Only the first time: without an optional one the rest works."
    fi
    # shellcheck disable=SC2046
    apt-get install -q --assume-no --no-install-recommends $(wanted) 2>/dev/null | grep -E '^(Need to get|After this operation)' || true
    echo "This takes one to three minutes; Ctrl-C stops it. Then the build takes about as long, once."
}

wanted() {
    [ -z "$(missing)" ] || echo "$packages"
    wants_optional || return 0
    [ -z "$(absent)" ] || echo "$optional_packages"
    [ -z "$(absent_solver)" ] || echo "$solver_packages"
    [ -z "$(absent_programs)" ] || echo "$picture_packages"
    [ -z "$(absent_python)" ] || echo "$python_packages"
}

# The lists of packages may be absent or old: they are fetched where the first attempt fails.
install() {
    # shellcheck disable=SC2086
    $as_root apt-get install -y -q $1 || { $as_root apt-get update -q && $as_root apt-get install -y -q $1; }
}

announce >&2
[ -z "$(missing)" ] || install "$packages"
if wants_optional; then
    mkdir -p build
    : >"$asked"
    [ -z "$(absent)" ] || install "$optional_packages" || echo "Without $(absent | tr '\n' ' '): ImageDecoder refuses their formats" >&2
    [ -z "$(absent_solver)" ] || install "$solver_packages" || echo "Without SUNDIALS: cvode_adams and cvode_bdf are refused" >&2
    [ -z "$(absent_programs)" ] || install "--no-install-recommends $picture_packages" ||
        echo "Without $(absent_programs | tr '\n' ' '): mdf-run draws no pictures by them" >&2
    [ -z "$(absent_python)" ] || install "--no-install-recommends $python_packages" ||
        echo "Without $(absent_python): the Python package is not tested" >&2
fi
[ -z "$(missing)" ] || { echo "Still missing: $(missing | tr '\n' ' ')" >&2; exit 1; }
