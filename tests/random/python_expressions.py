"""Random expressions in Python's syntax, of numbers, lists and arrays: operators, chained comparisons, choices, subscripts, comprehensions, Python's functions and those of math.
``make(rng)`` gives a text over names, and values for these: numbers of Python, arrays of numpy."""
import numpy as np

WHOLE = [0, 1, 2, 3, -1, -2, 7, 10]
REALS = [0.0, 0.5, 1.0, -1.5, 2.5, -0.0, 3.0, 0.1, -2.25, 1e10]


def _literal(x):
    return f"({x!r})" if x < 0 or str(x)[0] == "-" else repr(x)


class Draw:
    def __init__(self, rng):
        self.rng, self.values = rng, {}

    def _name(self, prefix, value):
        """One of the names that there are, or another."""
        own = [name for name in self.values if name[0] == prefix]
        if own and self.rng.random() < 0.6:
            return self.rng.choice(own)
        name = f"{prefix}{len(own)}"
        self.values[name] = value()
        return name

    def whole(self, depth=2):
        r = self.rng.random()
        if depth <= 0 or r < 0.25:
            return self._name("i", lambda: self.rng.choice(WHOLE)) if self.rng.random() < 0.5 else _literal(self.rng.choice(WHOLE))
        if r < 0.5:
            op = self.rng.choice(["+", "-", "*", "//", "%", "&", "|", "^", "**", "<<", ">>"])
            right = {"**": "2", "<<": "2", ">>": "1", "//": self.rng.choice(["3", "(-2)"]), "%": self.rng.choice(["3", "(-4)"])}.get(op) or self.whole(depth - 1)
            return f"({self.whole(depth - 1)} {op} {right})"
        n = depth - 1
        return self.rng.choice([lambda: f"len({self.list(n)})", lambda: f"int({self.real(n)})", lambda: f"abs({self.whole(n)})", lambda: f"round({self.real(n)})", lambda: f"sum({self.wholes(n)})",
                                lambda: f"math.{self.rng.choice(['floor', 'ceil', 'trunc'])}({self.real(n)})", lambda: f"max({self.whole(n)}, {self.whole(n)})", lambda: f"{self.array(n)}.size",
                                lambda: f"math.gcd({self.whole(n)}, {self.whole(n)})", lambda: f"({self.whole(n)} if {self.test(n)} else {self.whole(n)})", lambda: f"-{self.whole(n)}",
                                lambda: f"~{self.whole(n)}", lambda: f"divmod({self.whole(n)}, 3)[{self.rng.choice([0, 1])}]", lambda: f"bool({self.whole(n)})", lambda: f"pow({self.whole(n)}, 2)",
                                lambda: f"({self.test(n)}) + {self.whole(n)}", lambda: f"math.comb(5, abs({self.whole(n)}) % 6)", lambda: f"numpy.ndim({self.array(n)})",
                                lambda: f"min({self.wholes(n)} + [1])", lambda: f"math.isqrt(abs({self.whole(n)}))", lambda: f"{self.wholes(n)}.count({self.whole(0)})"])()

    def real(self, depth=2):
        r = self.rng.random()
        if depth <= 0 or r < 0.25:
            return self._name("f", lambda: self.rng.choice(REALS)) if self.rng.random() < 0.6 else _literal(self.rng.choice(REALS))
        if r < 0.55:
            op = self.rng.choice("+-*/%") if self.rng.random() < 0.85 else "//"
            right = self.number(depth - 1) if op in "+-*" else self.rng.choice(["2", "0.5", "(-3)", "1.5", "(-0.7)"])
            return f"({self.real(depth - 1)} {op} {right})"
        n = depth - 1
        return self.rng.choice([lambda: f"float({self.number(n)})", lambda: f"abs({self.real(n)})", lambda: f"round({self.real(n)}, {self.rng.choice([0, 1, 2, -1])})",
                                lambda: f"math.{self.rng.choice(['sin', 'cos', 'tanh', 'atan', 'fabs', 'expm1', 'erf', 'asinh', 'degrees', 'cbrt'])}({self.real(n)} % 3)", lambda: f"{self.whole(n)} / 4",
                                lambda: f"math.{self.rng.choice(['hypot', 'copysign', 'fmod', 'remainder', 'atan2', 'nextafter', 'dist'][:6])}({self.real(n)}, 1.5)", lambda: f"sum({self.reals(n)})",
                                lambda: f"max({self.real(n)}, {self.number(n)})", lambda: f"min({self.number(n)}, {self.real(n)}, 1)", lambda: f"({self.real(n)} if {self.test(n)} else {self.number(n)})",
                                lambda: f"({self.real(n)} and {self.number(n)})", lambda: f"({self.number(n)} or {self.real(n)})", lambda: f"math.fsum({self.reals(n)})", lambda: f"math.prod({self.reals(n)})",
                                lambda: f"math.{self.rng.choice(['modf', 'frexp'])}({self.real(n)})[{self.rng.choice([0, 1])}]", lambda: f"math.ldexp({self.real(n)}, 2)",
                                lambda: f"divmod({self.real(n)}, 1.5)[{self.rng.choice([0, 1])}]", lambda: f"{self.array(n)}.sum()", lambda: f"float({self.array(n)}.ravel()[:1].sum())"])()

    def number(self, depth=2):
        return self.whole(depth) if self.rng.random() < 0.4 else self.real(depth)

    def test(self, depth=2):
        n, r = depth - 1, self.rng.random()
        compare = self.rng.choice(["<", ">", "<=", ">=", "==", "!="])
        if r < 0.4 or depth <= 0:
            return f"{self.number(n)} {compare} {self.number(n)}"
        if r < 0.55:
            return f"{self.number(n)} {compare} {self.number(n)} {self.rng.choice(['<', '<=', '=='])} {self.number(n)}"
        return self.rng.choice([lambda: f"not ({self.test(n)})", lambda: f"({self.test(n)} {self.rng.choice(['and', 'or'])} {self.test(n)})", lambda: f"{self.whole(n)} {self.rng.choice(['in', 'not in'])} {self.wholes(n)}",
                                lambda: f"{self.rng.choice(['any', 'all'])}({self.list(n)})", lambda: f"({self.array(n)} {compare} {self.number(n)}).{self.rng.choice(['any', 'all'])}()",
                                lambda: f"{self.rng.choice(['any', 'all'])}(k > 0 for k in {self.list(n)})", lambda: f"{self.list(n)} {self.rng.choice(['==', '!=', '<', '>='])} {self.list(n)}",
                                lambda: f"math.isclose({self.real(n)}, {self.real(n)}, rel_tol=0.5)"])()

    def wholes(self, depth=2):
        n = depth - 1
        if depth <= 0:
            return self.rng.choice(["[1, 2, 3]", "[]", "[3, 1, 2]", "[0, 0, 5]"])
        return self.rng.choice([lambda: f"[{self.whole(n)}, {self.whole(n)}]", lambda: f"list(range({self.rng.choice(['4', '1, 5', '5, 0, -2', '0, 7, 3', self.whole(0) + ' % 5'])}))", lambda: f"{self.wholes(n)}{self.slice()}",
                                lambda: f"({self.wholes(n)} + {self.wholes(n)})", lambda: f"sorted({self.wholes(n)})", lambda: f"[k * {self.whole(0)} for k in {self.wholes(n)}]", lambda: f"list(reversed({self.wholes(n)}))",
                                lambda: f"[k for k in {self.wholes(n)} if k {self.rng.choice(['>', '<', '!=', '%'])} 2]", lambda: f"[j + k for j in {self.wholes(n)} for k in {self.wholes(n)} if j < k]", lambda: f"({self.wholes(n)} * 2)",
                                lambda: f"[k + j for k, j in enumerate({self.wholes(n)})]", lambda: f"[j * k for j, k in zip({self.wholes(n)}, {self.wholes(n)})]"])()

    def reals(self, depth=2):
        n = depth - 1
        if depth <= 0:
            return self.rng.choice(["[0.5, 1.5, -2.0]", "[1.25]", "[3.0, 1.0, 2.5]"])
        return self.rng.choice([lambda: f"[{self.real(n)}, {self.real(n)}]", lambda: f"[k + 0.5 for k in {self.wholes(n)}]", lambda: f"sorted({self.reals(n)})", lambda: f"{self.reals(n)}{self.slice()}", lambda: f"[k / 2 for k in {self.wholes(n)}]",
                                lambda: f"[{self.real(0)} if k > 1 else k + 0.0 for k in {self.reals(n)}]", lambda: f"({self.reals(n)} + {self.reals(n)})"])()

    def list(self, depth=2):
        return self.wholes(depth) if self.rng.random() < 0.6 else self.reals(depth)

    def slice(self):
        return self.rng.choice(["[1:]", "[:-1]", "[::-1]", "[::2]", "[-2:]", "[:2]", "[1:99]", "[-99:2]", "[3:1]", "[::-2]", "[5:0:-2]"])

    def array(self, depth=2):
        r, n = self.rng.random(), depth - 1
        if depth <= 0 or r < 0.25:
            return self._name("x", self._array)
        if r < 0.5:
            op = self.rng.choice(["+", "-", "*", "/", "//", "%", "**"])
            if op == "**":
                return f"({self.array(n)} ** {self.rng.choice(['2', '3', '0.5', '2.0', '(-1.0)'])})"
            right = self.number(n) if self.rng.random() < 0.6 else "{0}"
            left = self.array(n)
            return f"({left} {op} {right.format(left)})" if self.rng.random() < 0.7 else f"({right.format(left)} {op} {left})"
        return self.rng.choice([lambda: f"{self.array(n)}{self.subscript()}", lambda: f"{self.array(n)}[{(x := self.array(0))}.ravel()[:0].size:]", lambda: f"({self.array(n)} if {self.test(n)} else {self.array(n)})",
                                lambda: f"numpy.array({self.list(n)})", lambda: f"numpy.array([{self.number(n)}, {self.number(n)}])", lambda: f"-{self.array(n)}", lambda: f"abs({self.array(n)})",
                                lambda: f"numpy.where({(x := self.array(0))} > {self.number(0)}, {x}, {self.number(n)})", lambda: f"{self.array(n)}.T", lambda: f"{self.array(n)}.ravel()", lambda: f"{self.array(n)}.astype({self.rng.choice(['int', 'float', 'bool'])})",
                                lambda: f"({self.array(n)} {self.rng.choice(['<', '>=', '==', '!='])} {self.number(n)})", lambda: f"{(x := self.array(0))}[{x} > {self.number(0)}]", lambda: f"numpy.array([{self.wholes(0)}, {self.wholes(0)}])",
                                lambda: f"numpy.array([k * 2 for k in {self.array(0)}.ravel()])", lambda: f"{self.array(n)}.reshape(-1)", lambda: f"numpy.concatenate(({self.array(0)}.ravel(), {self.list(n)}))"])()

    def subscript(self):
        return self.rng.choice(["[0]", "[-1]", "[...]", "[None]", "[:, None]", "[..., 0]", "[::-1]", "[1:]", "[..., ::-1]", "[[0, -1]]", "[[True]]", "[0, ...]", "[..., None]", "[:, 0]", "[0:1, -1]", "[..., 1:, None]", "[[[0], [0]]]", "[0, [0, 0]]", "[None, ..., 0:1]"])

    def _array(self):
        shape = self.rng.choice([(3,), (1,), (2, 3), (1, 3), (0,), (2, 2, 2), (3, 1)])
        dtype = self.rng.choice(["float64"] * 4 + ["int64"] * 2 + ["float32", "bool", "int32", "uint8"])
        n = int(np.prod(shape))
        data = [self.rng.choice(REALS[:-1]) for _ in range(n)] if dtype[0] == "f" else [self.rng.choice([0, 1, 2, 3, 5, 7] if dtype in ("bool", "uint8") else WHOLE) for _ in range(n)]
        return np.array(data, dtype).reshape(shape)


def make(rng):
    draw = Draw(rng)
    return rng.choice([draw.whole, draw.real, draw.test, draw.list, draw.array, draw.array])(3), draw.values
