"""``python -m mdf_c.fitting`` is mdf-fit."""

from .command import main

if __name__ == "__main__":
    main()
