"""Writes mdf_c/run/sweep/sobol_directions.def: the directions of Joe and Kuo (new-joe-kuo-6.21201) for the first dimensions, from
SciPy's copy of them."""

import os
import sys

import numpy
import scipy

DIMENSIONS = 128


def main() -> None:
    path = os.path.join(os.path.dirname(scipy.__file__), "stats", "_sobol_direction_numbers.npz")
    with numpy.load(path) as table:
        polynomials, directions = table["poly"][:DIMENSIONS], table["vinit"][:DIMENSIONS]
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        out.write(
            "/* sobol_directions.def - made by tools/make_sobol_directions.py from the table new-joe-kuo-6.21201 of S. Joe and\n"
            " * F. Y. Kuo (https://web.maths.unsw.edu.au/~fkuo/sobol/): for each dimension its primitive polynomial, as bits, and\n"
            " * the first direction numbers, as many as its degree. */\n"
        )
        for polynomial, numbers in zip(polynomials[1:], directions[1:]):
            degree = int(polynomial).bit_length() - 1
            out.write(f"DIRECTIONS({polynomial}, {', '.join(str(n) for n in numbers[:degree])})\n")


if __name__ == "__main__":
    main()
