#!/bin/sh
# The compiler for C source made of random models: as it would be called, but without optimising, which takes most of its time; and a
# library is linked with what generated C calls alone, which takes half of the linker's.
case " $* " in
*" -shared "*) exec "${MDF_RANDOM_CC:-cc}" "$@" -O0 -fno-asynchronous-unwind-tables -nostdlib -lgcc ;;
*) exec "${MDF_RANDOM_CC:-cc}" "$@" -O0 ;;
esac
