#!/bin/sh
# mdf-fit is a program of the Python package (docs/fitting.md): this starts it. Made by make: @PACKAGE@ is the folder with the package, where
# it is not installed, and @BUILD@ the engine's.
if [ -n "@PACKAGE@" ] && [ -d "@PACKAGE@/mdf_c" ]; then
    PYTHONPATH="@PACKAGE@${PYTHONPATH:+:$PYTHONPATH}"
    MDF_C_BUILD="@BUILD@"
    export PYTHONPATH MDF_C_BUILD
fi
python=${PYTHON:-python3}
if ! "$python" -c 'import numpy, mdf_c' 2>/dev/null; then
    echo "mdf-fit: error: $python has no package mdf_c, or no NumPy: pip install './python[fit]', or say by PYTHON which Python has them" >&2
    exit 1
fi
exec "$python" -m mdf_c.fitting "$@"
