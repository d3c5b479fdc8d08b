#!/bin/sh
# The compiler for C source made of random models: as it would be called, but without optimising, which takes most of its time.
exec "${MDF_RANDOM_CC:-cc}" "$@" -O0
