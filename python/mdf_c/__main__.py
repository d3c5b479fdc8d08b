"""``python -m mdf_c`` is mdf-run: the program itself takes over."""

import os
import sys

from ._library import native_file


def main() -> None:
    """Replaces this process by mdf-run with the same arguments."""
    program = str(native_file("mdf-run"))
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(program, ["mdf-run", *sys.argv[1:]])


if __name__ == "__main__":
    main()
