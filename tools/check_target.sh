#!/usr/bin/env bash
# Builds for another processor, and runs suites there under qemu-user: 32 bits, big-endian bytes. For Debian and what is made of it.
# Usage: check_target.sh TARGET [SUITE...]; TARGET: armhf, arm64, s390x. SUITE: test_dtype, ...; default: all but those of LEFT_OUT.
#        check_target.sh --make TARGET ARGUMENT...: calls make for the target, with these arguments, and no more.
#        check_target.sh --run TARGET FOLDER PACKAGE... -- COMMAND...: unpacks packages of the target below FOLDER, unless they are
#        there, and runs a program of theirs, named by its path in FOLDER, under the emulator.
# INSTALL_ONLY=1: get compiler and libraries, no more; BUILD_ONLY=1: build, no more. CFLAGS, JOBS as for make.
#
# What it installs (as root or by sudo, where it is not there): the cross compiler, qemu-user-static. The target's libraries are
# unpacked below build/TARGET/sysroot, by an apt of its own: the system's packages and sources stay as they are.
set -euo pipefail

only=
case ${1:-} in --make | --run) only=$1 && shift ;; esac
target=${1:?usage: check_target.sh TARGET [SUITE...]}
shift
case $target in
armhf) triplet=arm-linux-gnueabihf qemu=qemu-arm ;;
arm64) triplet=aarch64-linux-gnu qemu=qemu-aarch64 ;;
s390x) triplet=s390x-linux-gnu qemu=qemu-s390x ;;
*) echo "check_target.sh: no target '$target': armhf, arm64 or s390x" >&2 && exit 2 ;;
esac
compiler_packages="gcc-$triplet libc6-dev-$target-cross"
build=build/$target
sysroot=$PWD/$build/sysroot
libraries="libyaml-0-2 libyaml-dev libcjson1 libcjson-dev libbson-1.0-0 libbson-dev libprotobuf-c1 libprotobuf-c-dev libpcre2-8-0
    libpcre2-dev libjansson4 libjansson-dev libzip4 libzip-dev zlib1g zlib1g-dev libbz2-1.0 liblzma5 libzstd1 libssl3
    libsundials-cvodes6 libjpeg62-turbo libjpeg62-turbo-dev libpng16-16 libpng-dev libwebp7 libwebp-dev libopenjp2-7 libopenjp2-7-dev"

# ---------------------------------------------------------------- compiler, emulator, libraries

find_qemu() { command -v "$qemu-static" || command -v "$qemu"; }

if ! command -v "$triplet-gcc" >/dev/null || [ ! -d "/usr/$triplet/include" ] || ! find_qemu >/dev/null; then
    echo "apt installs: $compiler_packages qemu-user-static" >&2
    as_root=
    [ "$(id -u)" -eq 0 ] || as_root=sudo
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -q --no-install-recommends $compiler_packages qemu-user-static >&2
fi

# unpack FOLDER PACKAGE...: below that folder, with a list of which file is of which package.
unpack() {
    local root=$PWD apt=$build/apt folder=$1
    shift
    [ ! -e "$folder/done" ] || return 0
    rm -rf "$folder" "$apt"
    mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$folder"
    : >"$apt/status"
    own_apt() {
        apt-get -q -o "APT::Architecture=$target" -o "APT::Architectures::=$target" -o "Dir::State=$root/$apt" -o APT::Sandbox::User=root \
            -o "Dir::State::status=$root/$apt/status" -o "Dir::Cache=$root/$apt" "$@"
    }
    own_apt update >&2 || echo "some of the lists were not to be had: going on with the others" >&2
    (cd "$apt/archives" && own_apt download "$@" >&2)
    for package in "$apt"/archives/*.deb; do
        dpkg-deb -x "$package" "$folder"
        dpkg-deb -c "$package" | awk -v name="$(dpkg-deb -f "$package" Package)" '{ print name, $6 }' >>"$folder/owners"
    done
    : >"$folder/done"
}

# shellcheck disable=SC2086
unpack "$sysroot" $libraries
[ -z "${INSTALL_ONLY:-}" ] || exit 0

if [ "$only" = --run ]; then
    folder=$1 packages=()
    shift
    while [ "$1" != -- ]; do
        packages+=("$1") && shift
    done
    shift
    unpack "$folder" "${packages[@]}"
    program=$folder/$1
    shift
    exec "$(find_qemu)" -L "/usr/$triplet" -E LD_LIBRARY_PATH="$folder/usr/lib/$triplet:$folder/lib/$triplet:$sysroot/usr/lib/$triplet:$sysroot/lib/$triplet:/usr/$triplet/lib" \
        "$program" "$@"
fi

# ---------------------------------------------------------------- build

export PKG_CONFIG_LIBDIR="$sysroot/usr/lib/$triplet/pkgconfig:$sysroot/usr/share/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$sysroot"
export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
own_headers=
[ ! -d "$sysroot/usr/include/$triplet" ] || own_headers=" -isystem $sysroot/usr/include/$triplet"
settings=(BUILD="$build" CC="$triplet-gcc" AR="$triplet-ar" ALONE=1 CFLAGS="${CFLAGS:--Og -g1}$own_headers"
    LDFLAGS="-Wl,-rpath-link,$sysroot/usr/lib/$triplet -Wl,-rpath-link,$sysroot/lib/$triplet")
if [ "$only" = --make ]; then
    exec make --no-print-directory -j"${JOBS:-$(nproc)}" "${settings[@]}" "$@"
fi
all_suites=$(basename -a tests/*/test_*.c)
suites=${*:-${all_suites//.c/}}
programs=$(make -s print-programs)
# shellcheck disable=SC2086
make --no-print-directory -j"${JOBS:-$(nproc)}" "${settings[@]}" programs $(printf "$build/tests/%s " $suites) preload
[ -z "${BUILD_ONLY:-}" ] || exit 0

# ---------------------------------------------------------------- run

# What runs there lies below $build/run under the same names, each a call of the emulator, as suites start programs.
emulator=$(find_qemu)
stand_in() {
    mkdir -p "$(dirname "$build/run/$1")"
    printf '#!/bin/sh\nexec %s -L /usr/%s -E LD_LIBRARY_PATH=%s %s "$@"\n' "$emulator" "$triplet" \
        "$sysroot/usr/lib/$triplet:$sysroot/lib/$triplet:/usr/$triplet/lib" "$PWD/$build/$1" >"$build/run/$1"
    chmod +x "$build/run/$1"
}
for program in $programs; do
    stand_in "$program"
done
# Suites compile what the engine writes: the target's compiler, which knows no -march=native, under the names by which they call one.
# A program that it makes becomes NAME.there, and NAME a call of the emulator.
mkdir -p "$build/run/bin"
cat >"$build/run/bin/cc" <<END
#!/usr/bin/env bash
PATH=\${PATH//"$PWD/$build/run/bin:"/} # a cache of compilers would find this one again
program=1 output=a.out previous= arguments=()
for argument; do
    case \$argument in -march=native) continue ;; -shared | -c | -S | -E | -fsyntax-only) program= ;; esac
    [ "\$previous" != -o ] || output=\$argument
    previous=\$argument
    arguments+=("\$argument")
done
$(command -v "$triplet-gcc") "\${arguments[@]}" || exit
[ -n "\$program" ] && [ -f "\$output" ] && [ "\$(head -c 4 "\$output" | tail -c 3)" = ELF ] || exit 0
mv "\$output" "\$output.there"
case \$output in /*) ;; *) output=\$PWD/\$output ;; esac
printf '#!/bin/sh\nexec %s -L /usr/%s -E LD_LIBRARY_PATH=%s "%s" "\$@"\n' "$emulator" "$triplet" \
    "$sysroot/usr/lib/$triplet:$sysroot/lib/$triplet:/usr/$triplet/lib" "\$output.there" >"\$output"
chmod +x "\$output"
END
chmod +x "$build/run/bin/cc"
for name in gcc c99 "$triplet-gcc"; do
    cp "$build/run/bin/cc" "$build/run/bin/$name"
done
runs=
for suite in $suites; do
    # What needs the machine itself: failing system calls are put in front of the C library, which an emulator's own calls go to as well;
    # times; and what compiles tens of programs takes hours.
    case " ${LEFT_OUT-test_failing test_parallel test_command_line} " in *" $suite "*) [ $# -gt 0 ] || continue ;; esac
    stand_in "tests/$suite"
    runs="$runs $build/run/tests/$suite"
done
# shellcheck disable=SC2086
PATH="$PWD/$build/run/bin:$PATH" CC="$triplet-gcc" BUILD="$build/run" tools/run_suites.sh $runs
