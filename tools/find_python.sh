#!/bin/sh
# Prints a Python that has NumPy and pytest, which the tests of the Python package need; fails where there is none.
for python in ${PYTHON:-python3 /usr/bin/python3}; do
    if "$python" -c 'import numpy, pytest, sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
        echo "$python"
        exit 0
    fi
done
exit 1
