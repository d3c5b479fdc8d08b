#!/bin/sh
# The C compiler as suites call it (CC): what it makes without a word is kept in $BUILD/compiled, by its arguments, the compiler, and the
# contents of all that goes in: sources (or standard input), headers beside them and in folders of -I, objects. The next time it is copied
# from there.
unset LD_PRELOAD
case "${BUILD:=build}" in /*) kept=$BUILD/compiled ;; *) kept=${0%/*}/../../$BUILD/compiled ;; esac
case " $* " in # asked for each library that mdf-run keeps
*" --version "*)
    [ "$kept/version" -nt "$(command -v cc)" ] || { mkdir -p "$kept" && cc --version >"$kept/version.$$" && mv "$kept/version.$$" "$kept/version"; }
    while IFS= read -r line; do echo "$line"; done <"$kept/version"
    exit
    ;;
esac
out=/dev/null words= files=$(command -v cc) previous= source=/dev/null
trap '[ "$source" = /dev/null ] || rm -f "$source"' EXIT
for word; do
    case "$previous:$word" in
    -o:*) out=$word ;;
    *:-) source=$(mktemp) && cat >"$source" && files="$files $source" ;;
    *:-o) ;;
    *:-I*) files="$files ${word#-I}/*.h" ;;
    *:*.c) files="$files $word $(dirname "$word")/*.h" ;;
    *:*.o) files="$files $word" ;;
    *) words="$words $word" ;;
    esac
    previous=$word
done
[ "$out" != /dev/null ] || case " $words " in *" -fsyntax-only "*) ;; *) exec cc "$@" ;; esac # a.out, or a file beside the source
[ -d "$kept" ] || mkdir -p "$kept"
key=$({ echo "$words" && cat $files; } 2>/dev/null | sha1sum) # unquoted: patterns of headers
made=$kept/${key%% *}.made.so
if ! [ -f "$made" ]; then
    said=$(cc "$@" <"$source" 2>&1)
    status=$?
    [ -z "$said" ] || echo "$said" >&2
    [ "$status" -ne 0 ] || [ -n "$said" ] || { cp "$out" "$made.$$" 2>/dev/null && mv "$made.$$" "$made"; }
    exit "$status"
fi
[ "$out" = /dev/null ] || cp "$made" "$out"
