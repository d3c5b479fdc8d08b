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

[ -n "$(missing)" ] || exit 0
echo "Missing: $(missing | tr '\n' ' ')" >&2
if ! command -v apt-get >/dev/null 2>&1; then
    echo "This system has no apt-get: please install what corresponds to Debian's $packages" >&2
    exit 1
fi
as_root=
[ "$(id -u)" -eq 0 ] || as_root="sudo"
export DEBIAN_FRONTEND=noninteractive
# The lists of packages may be absent or old: they are fetched where the first attempt fails.
# shellcheck disable=SC2086
$as_root apt-get install -y -q $packages || { $as_root apt-get update -q && $as_root apt-get install -y -q $packages; }
[ -z "$(missing)" ] || { echo "Still missing: $(missing | tr '\n' ' ')" >&2; exit 1; }
