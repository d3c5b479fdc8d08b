#!/bin/sh
# The compiler for C source made of random models: as it would be called, but without optimising, which takes most of its time; and a
# library is linked with what generated C calls alone, which takes half of the linker's. MDF_RANDOM_SANITIZE: flags in place of -O0 for
# libraries that sanitizers watch; their runtime is there, preloaded, and not for the compiler.
unset LD_PRELOAD
case " $* " in
*" -shared "*) exec "${MDF_RANDOM_CC:-cc}" "$@" ${MDF_RANDOM_SANITIZE:--O0} -fno-asynchronous-unwind-tables -nostdlib -lgcc ;;
*) exec "${MDF_RANDOM_CC:-cc}" "$@" -O0 ;;
esac
