"""``python -m mdf_c`` is mdf-run, and the package's console programs are those of the same names: the native program, which has them all, takes over."""

import os
import sys
from pathlib import Path

from ._library import native_file


def main() -> None:
    """Replaces this process by the program that it was called as, mdf-run where that is none, with the same arguments."""
    called = Path(sys.argv[0]).name
    name = called if called.startswith("mdf-") else "mdf-run"
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(native_file("mdf-run"), [name, *sys.argv[1:]])


if __name__ == "__main__":
    main()
