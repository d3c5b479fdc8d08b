"""Random expressions over names whose shapes are known: () for a number, (n,) for an array."""

STANDARD = {"linear": "variable0 slope intercept", "logistic": "variable0 gain bias offset", "exponential": "variable0 scale rate bias offset",
            "sin": "variable0 scale", "cos": "variable0 scale", "tan": "variable0 scale", "tanh": "variable0 scale",
            "sinh": "variable0 scale", "cosh": "variable0 scale", "arctan": "variable0 scale", "arcsin": "variable0 scale",
            "arccos": "variable0 scale", "Relu": "A"}

ONNX = [("Add", "A B", {}), ("Sub", "A B", {}), ("Mul", "A B", {}), ("Div", "A B", {}), ("Max", "data_0", {}), ("Relu", "X", {}),
        ("Sigmoid", "X", {}), ("Tanh", "input", {}), ("Abs", "X", {}), ("Neg", "X", {}), ("Exp", "input", {}), ("Sin", "input", {}),
        ("Cos", "input", {}), ("Floor", "X", {}), ("Sqrt", "X", {}), ("Softplus", "X", {}), ("Elu", "X", {"alpha": 0.5}),
        ("LeakyRelu", "X", {"alpha": 0.1}), ("Selu", "X", {}), ("Pow", "X Y", {}), ("Sign", "input", {}), ("Erf", "input", {}),
        ("HardSigmoid", "X", {}), ("Identity", "input", {}), ("Softsign", "input", {}),
        ("Reciprocal", "X", {}), ("Log", "input", {}), ("Ceil", "X", {}), ("Round", "X", {}), ("Atan", "input", {}), ("ThresholdedRelu", "X", {"alpha": 0.3})]

_CALLS = ["math.sin({})", "math.cos({})", "math.tanh({})", "abs({})", "math.atan({})", "math.floor({})", "math.erf({})", "float({})", "math.fabs({})",
          "math.exp(-abs({}))", "math.sqrt(abs({}))", "int({})", "round({})", "math.ceil({})", "bool({})", "math.log1p(abs({}))"]
_ARRAY_CALLS = ["numpy.sin({})", "numpy.cos({})", "numpy.tanh({})", "numpy.abs({})", "numpy.exp(-numpy.abs({}))", "numpy.floor({})", "numpy.sqrt(numpy.abs({}))",
                "numpy.square({})", "numpy.sign({})", "numpy.round({})", "numpy.arctan({})", "numpy.negative({})", "numpy.clip({}, -1, 1)", "numpy.log1p(numpy.abs({}))"]
_REDUCTIONS = ["{}.sum()", "numpy.mean({})", "numpy.max({})", "numpy.min({})", "{}[0]", "{}[-1]", "numpy.dot({0}, {0})", "len({})", "numpy.linalg.norm({})",
               "{}.shape[0]", "numpy.prod({})", "numpy.argmax({})", "sum({})", "numpy.any({} > 0.5)", "numpy.all({} < 2)"]
_REARRANGED = ["{}[::-1]", "numpy.cumsum({})", "numpy.roll({}, 1)", "numpy.sort({})", "numpy.flip({})", "{}.copy()", "numpy.cumprod({})",
               "numpy.concatenate(({0}[1:], {0}[:1]))", "numpy.append({0}[:-1], {0}[-1:], axis=0)"]


class Scope:
    """Names with the shapes of their values, own ones and those outside."""

    def __init__(self, names=()):
        self.names = list(names)

    def inner(self):
        return Scope(self.names)

    def add(self, name, shape):
        self.names.append((name, shape))

    def pick(self, rng, shape):
        """A name of that shape; None where there is none."""
        fitting = [n for n, s in self.names if s == shape]
        return rng.choice(fitting) if fitting else None


def number(rng):
    return rng.choice([0, 1, 2, 3, -1, 5, 0.0, 0.5, 1.0, -1.5, 0.1, 2.5, -0.25, round(rng.uniform(-3, 3), 2), round(rng.uniform(-3, 3), 3), rng.randint(-9, 9)])


def value(rng, shape):
    """A value as it stands in a file."""
    if shape:
        whole = rng.random() < 0.25
        return [rng.randint(-5, 5) if whole else float(number(rng)) for _ in range(shape[0])]
    return number(rng) if rng.random() < 0.95 else rng.random() < 0.5


def _literal(rng):
    x = number(rng)
    return f"({x})" if x < 0 else str(x)


def name_or_expression(rng, scope, shape):
    name = scope.pick(rng, shape)
    return name if name is not None and rng.random() < 0.6 else make(rng, scope, shape, 2)


def test(rng, scope):
    """A condition: one truth."""
    left, right = make(rng, scope, (), 1), make(rng, scope, (), 1)
    made = f"{left} {rng.choice(['<', '<=', '>', '>=', '==', '!='])} {right}"
    if rng.random() < 0.15:
        made = f"{made} {rng.choice(['and', 'or'])} {test(rng, scope)}"
    if rng.random() < 0.06:
        made = f"not ({made})"
    return made


def state_update(rng, scope, name, shape):
    """The next value of a state: of itself mostly, and so that it does not grow without bound."""
    other = make(rng, scope, shape, 2)
    return rng.choice([f"0.5 * {name} + {other}", f"{name} + 1", f"{name} + {other}", other, f"0.9 * {name} - 0.1 * {other}",
                       f"{other} if {test(rng, scope)} else {name}" if not shape else f"{name} * 0.5 + {other}"])


def make(rng, scope, shape, depth):
    """An expression that gives that shape."""
    r = rng.random()
    if depth >= 2 and r < 0.08 and scope.pick(rng, shape) is not None:
        return scope.pick(rng, shape)  # another value as it is
    if depth <= 0 or r < 0.2:
        name = scope.pick(rng, shape)
        if name is not None and rng.random() < 0.85:
            return name
        if not shape:
            return _literal(rng)
        scalar = scope.pick(rng, ())
        return f"numpy.full({shape[0]}, {scalar if scalar is not None and rng.random() < 0.7 else _literal(rng)})" if rng.random() < 0.5 else str(value(rng, shape))
    if r < 0.62:
        return _operation(rng, scope, shape, depth)
    if r < 0.74:
        return rng.choice(_ARRAY_CALLS if shape or rng.random() < 0.3 else _CALLS).format(make(rng, scope, shape, depth - 1))
    if r < 0.86:
        return _choice(rng, scope, shape, depth)
    if shape:
        return rng.choice(_REARRANGED).format(f"({make(rng, scope, shape, depth - 1)})")
    arrays = [(n, s) for n, s in scope.names if s]
    if arrays:
        return rng.choice(_REDUCTIONS).format(rng.choice(arrays)[0])
    return rng.choice(["max({}, {})", "min({}, {})", "numpy.maximum({}, {})", "math.hypot({}, {})", "math.atan2({}, {})", "[{}, {}][0]", "sum([{}, {}])",
                       "sum([x * {} for x in range(3) if x < {}])", "{} + 0 * numpy.random.random() + {}", "numpy.random.uniform(0, 1) + {} * {}", "numpy.sum(psyneulink.draw_uniform([1], 3, [0.0])) * {} + {}", "({} and {})", "({} or {})"]).format(
        make(rng, scope, shape, depth - 1), make(rng, scope, shape, depth - 1))


def _operation(rng, scope, shape, depth):
    left = make(rng, scope, shape, depth - 1)
    right = make(rng, scope, shape if rng.random() < 0.6 else (), depth - 1)
    if rng.random() < 0.5 and shape:
        left, right = right, left
        if shape and not rng.random() < 0.5:
            left = make(rng, scope, shape, depth - 1)
    kind = rng.choice(["+", "-", "*", "+", "-", "*", "/", "//", "%", "**"])
    if kind in ("/", "//", "%"):  # by something that is not 0, mostly
        right = f"(1 + {'numpy.abs' if shape else 'abs'}({right}))" if rng.random() < 0.9 else right
        return f"({left} {kind} {right})"
    if kind == "**":
        exponent = scope.pick(rng, ()) if shape and rng.random() < 0.3 else None
        if exponent is not None:  # one that changes
            return f"({left} ** (int({exponent}) % 4))"
        return f"({left} ** {rng.choice([2, 2, 3, 0.5 if rng.random() < 0.1 else 2])})"
    return f"({left} {kind} {right})"


def _choice(rng, scope, shape, depth):
    a, b = make(rng, scope, shape, depth - 1), make(rng, scope, shape, depth - 1)
    if rng.random() < 0.5:
        b = b if shape or rng.random() < 0.7 else rng.choice(["0", "0", "1", "False"])  # beside a real number: of either type
        return f"({a} if {test(rng, scope)} else {b})"
    if shape:
        return f"numpy.where({make(rng, scope, shape, 1)} > {make(rng, scope, (), 1)}, {a}, {b})"
    return f"numpy.where({test(rng, scope)}, {a}, {b})" if rng.random() < 0.5 else f"({a} * ({test(rng, scope)}))"
