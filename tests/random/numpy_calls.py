"""Random calls of numpy's functions and methods, with arguments by place and by name, in any order. ``make(rng)`` gives a text over names, and arrays for these."""
import numpy as np

DTYPES = ["float64"] * 6 + ["float32"] * 2 + ["int64"] * 4 + ["int32", "bool", "bool", "uint8"]

# Functions: what they take, by kind; behind "|" what may be given by place or name or not at all. A kind is drawn by the function of that name below.
CALLS = """
sum prod: a | axis:axes dtype keepdims:truth initial:small where
mean: a | axis:axes dtype:real_dtype keepdims:truth where
var std: a | axis:axes ddof:small_whole keepdims:truth where
max min amax amin: a | axis:axes keepdims:truth initial:small where
any all: a | axis:axes keepdims:truth where
argmax argmin: a | axis keepdims:truth
ptp: a | axis:axes keepdims:truth
count_nonzero: a | axis:axes keepdims:truth
nansum nanprod: n | axis:axes keepdims:truth dtype
nanmean nanmax nanmin: n | axis:axes keepdims:truth
nanvar nanstd: n | axis:axes ddof:small_whole keepdims:truth
median: a | axis:axes keepdims:truth
nanmedian: n | axis:axes keepdims:truth
average: a | axis weights=like_axis keepdims:truth
percentile: a q:percent | axis:axes keepdims:truth method
quantile: a q:share | axis:axes keepdims:truth method
nanpercentile: n q:percent | axis keepdims:truth
nanquantile: n q:share | axis keepdims:truth
cumsum cumprod: a | axis dtype
sort argsort: a | axis
diff: a1 | n:small_whole axis
flip: a | axis:axes
roll: a shift:whole | axis
repeat: a repeats:small_whole | axis
take: a1 indices:indices | axis mode:take_mode
searchsorted: ordered v:a | side
digitize: a bins:ordered | right:truth
interp: a xp:ordered fp:like_ordered | left:small right:small
bincount: counts | minlength:small_whole weights:like_counts
clip: a a_min:bound a_max:bound |
round around: a | decimals:digits
nan_to_num: n | copy:truth nan:small posinf:small neginf:small
isclose: a b:like | rtol:tolerance atol:tolerance equal_nan:truth
allclose: a b:like | rtol:tolerance atol:tolerance equal_nan:truth
array_equal: a b:like | equal_nan:truth
isin: a test_elements:a | invert:truth
where: t x:like y:like |
reshape: a shape:new_shape | order
ravel: a | order
expand_dims: a axis:new_axis |
squeeze: a | axis
transpose: a | axes:perm
permute_dims: a axes:perm |
swapaxes: a2 axis1:axis_of axis2:axis_of |
moveaxis: a2 source:axis_of destination:axis_of |
rot90: a2 | k:whole axes:two_axes
tile: a reps:reps |
pad: a1 pad_width:pad_width | mode:pad_mode
atleast_1d atleast_2d atleast_3d matrix_transpose: a |
fliplr flipud: a2 |
broadcast_to: a shape:wider |
concatenate: list | axis:axis_of_list
stack: list | axis:axis_of_stack
vstack hstack dstack column_stack: list |
append: a values:like | axis:axis_of
delete: a1 obj:whole | axis:axis_of
insert: a1 obj:whole values:small | axis:axis_of
matmul dot inner: a b:fits |
outer kron: a b:any_other |
vdot vecdot: a b:like |
cross: threes b:threes |
tensordot: a b:like | axes:few
trace: a2 | offset:whole axis1:axis_of axis2:axis_of
diagonal: a2 | offset:whole axis1:axis_of axis2:axis_of
diag diagflat: a12 | k:whole
tril triu: a2 | k:whole
convolve correlate: line v:line | mode:convolve_mode
zeros ones empty_: shape | dtype
full: shape fill_value:small | dtype
zeros_like ones_like: a | dtype
full_like: a fill_value:small | dtype
arange: start:small stop:small step:step | dtype
linspace: start:small stop:small | num:small_whole endpoint:truth
logspace: start:small stop:small | num:small_whole endpoint:truth base:positive
eye: N:small_whole | M:small_whole k:whole dtype
tri: N:small_whole | M:small_whole k:whole dtype
linalg.norm: a12 | ord:ord axis keepdims:truth
linalg.det linalg.inv: square |
linalg.matrix_power: square n:whole |
cov: a12 | rowvar:truth bias:truth ddof:small_whole
corrcoef: a12 | rowvar:truth
trapezoid: a1 | dx:positive axis
gradient: long |
unique: a |
flatnonzero: a |
histogram_: a |
median: a |
meshgrid_: line |
select_: t |
logaddexp hypot arctan2 copysign heaviside fmax fmin maximum minimum fmod mod floor_divide power float_power nextafter add subtract multiply divide: a b:like |
equal less greater_equal logical_and logical_or logical_xor: a b:like |
bitwise_and bitwise_or bitwise_xor left_shift right_shift gcd lcm: w b:like |
exp log sqrt sin tanh cbrt square reciprocal sign rint floor ceil trunc fix sinc abs negative positive degrees exp2 log1p expm1 arcsinh isnan isinf isfinite signbit logical_not isposinf: a |
invert: w |
""".strip().splitlines()

METHODS = set("all any argmax argmin argsort clip cumprod cumsum diagonal dot flatten max mean min prod ravel repeat reshape round squeeze std sum swapaxes take trace transpose var".split())


def _table():
    rows = []
    for line in CALLS:
        names, _, what = line.partition(":")
        needed, _, optional = what.partition("|")
        rows += [(name, [_argument(x) for x in needed.split()], [_argument(x) for x in optional.split()]) for name in names.split() if not name.endswith("_")]
    return rows


def _argument(text):
    """(name or None, kind)."""
    for separator in ":=":
        name, found, kind = text.partition(separator)
        if found:
            return name, kind
    return (text, text) if text in NAMED else (None, text)


NAMED = {"axis", "dtype", "where", "side", "order", "method"}


class Draw:
    """Values of arguments as texts, and the arrays that they name."""

    def __init__(self, rng):
        self.rng, self.arrays = rng, {}
        self.reals = None  # of this type are all reals, which are then none of the numbers where functions have corners
        self.first = None  # the array that others go with
        self.items = 0  # of a list

    def array(self, shape, dtype=None, special=0.05):
        rng = self.rng
        dtype = dtype or rng.choice(DTYPES)
        dtype, n = self.reals if self.reals and dtype.startswith("float") else dtype, int(np.prod(shape))
        if dtype == "bool":
            data = [rng.random() < 0.5 for _ in range(n)]
        elif dtype == self.reals:
            data = [rng.uniform(-3, 3) for _ in range(n)]
        elif dtype.startswith("float"):
            data = [rng.choice([float("nan"), float("inf"), -0.0]) if rng.random() < special else round(rng.uniform(-3, 3), rng.choice([0, 1, 2])) for _ in range(n)]
        else:
            data = [rng.randint(0 if dtype.startswith("u") else -4, 6) for _ in range(n)]
        name = "xyzuvw"[len(self.arrays)]
        self.arrays[name] = np.array(data, dtype).reshape(shape)
        return name

    def shape_of(self, ranks):
        return tuple(self.rng.choice([1, 2, 2, 3, 3, 4, 0] if self.rng.random() < 0.2 else [1, 2, 3, 4]) for _ in range(self.rng.choice(ranks)))

    def begin(self, name):
        self.first = self.arrays[name]
        return name

    def a(self):
        return self.begin(self.array(self.shape_of([0, 1, 1, 2, 2, 3])))

    def n(self):
        return self.begin(self.array(self.shape_of([1, 1, 2, 3]), special=0.3))

    def w(self):
        return self.begin(self.array(self.shape_of([0, 1, 2]), self.rng.choice(["int64", "int64", "int32", "uint8", "bool"])))

    def t(self):
        return self.begin(self.array(self.shape_of([0, 1, 2]), "bool"))

    def a1(self):
        return self.begin(self.array(self.shape_of([1, 1, 2, 3])))

    def a12(self):
        return self.begin(self.array(self.shape_of([1, 2])))

    def a2(self):
        return self.begin(self.array(self.shape_of([2, 2, 3])))

    def long(self):
        return self.begin(self.array((self.rng.choice([2, 3, 5]),)))

    def line(self):
        return self.begin(self.array((self.rng.choice([1, 2, 3, 5]),)))

    def threes(self):
        return self.begin(self.array((*self.shape_of([0, 0, 1]), 3)))

    def square(self):
        n = self.rng.choice([1, 2, 3])
        return self.begin(self.array((*self.shape_of([0, 0, 0, 1]), n, n), self.rng.choice(["float64", "float64", "float32", "int64"]), 0))

    def ordered(self):
        name = self.line()
        self.arrays[name] = np.unique(np.nan_to_num(self.arrays[name], posinf=9, neginf=-9))
        self.first = self.arrays[name]
        return name

    def like_ordered(self):
        return self.array(self.first.shape, "float64")

    def counts(self):
        return self.begin(self.array((self.rng.choice([1, 3, 6]),), "uint8"))

    def like_counts(self):
        return self.array(self.first.shape, "float64")

    def like(self):
        """Of a shape that goes with the first's."""
        shape, r = self.first.shape, self.rng.random()
        if r < 0.2:
            return self.array(())
        if r < 0.5:
            return self.array(shape, self.first.dtype.name)
        if r < 0.75:
            shape = tuple(n if self.rng.random() < 0.7 else 1 for n in shape)
        return self.array(shape)

    def any_other(self):
        return self.array(self.shape_of([0, 1, 2]))

    def fits(self):
        n = self.first.shape[-1] if self.first.ndim else 1
        return self.array(self.rng.choice([(n,), (n, 2), (n, 1), self.first.shape[:-2] + (n, 3)]) if self.first.ndim else ())

    def list(self):
        shape = self.shape_of([1, 1, 2])
        names = [self.array(shape) for _ in range(self.rng.choice([1, 2, 3]))]
        self.begin(names[0])
        return self.rng.choice(["[{}]", "({},)"]).format(", ".join(names))

    # ---- what goes with the first

    def _axis(self, most):
        return str(self.rng.randint(-most, most - 1)) if most and self.rng.random() < 0.97 else str(self.rng.choice([0, 1, -1, 5]))

    def axis(self):
        return self._axis(self.first.ndim) if self.rng.random() < 0.9 else "None"

    def axis_of(self):
        return self._axis(self.first.ndim)

    def axes(self):
        rank = self.first.ndim
        if rank >= 2 and self.rng.random() < 0.35:
            chosen = [k - rank * (self.rng.random() < 0.3) for k in self.rng.sample(range(rank), self.rng.randint(1, rank))]
            return f"({', '.join(map(str, chosen))},)"
        return "()" if self.rng.random() < 0.04 else self.axis()

    def new_axis(self):
        return self._axis(self.first.ndim + 1)

    def axis_of_list(self):
        return self._axis(self.first.ndim)

    def axis_of_stack(self):
        return self._axis(self.first.ndim + 1)

    def two_axes(self):
        return "({}, {})".format(*self.rng.sample(range(self.first.ndim), 2))

    def perm(self):
        return str(tuple(k - self.first.ndim * (self.rng.random() < 0.2) for k in self.rng.sample(range(self.first.ndim), self.first.ndim)))

    def new_shape(self):
        n = self.first.size
        return self.rng.choice(["-1", f"({n},)", "(-1, 1)", f"(1, {n})", f"({n}, 1)", "(2, -1)", str(self.first.shape[::-1]), str(list(self.first.shape[::-1]))])

    def wider(self):
        return str((*self.shape_of([0, 1]), *(n if n != 1 else self.rng.choice([1, 3]) for n in self.first.shape)))

    def shape(self):
        return self.rng.choice([str(self.shape_of([0, 1, 2])), str(list(self.shape_of([1, 2]))), "3"])

    def where(self):
        shape = tuple(n if self.rng.random() < 0.8 else 1 for n in self.first.shape)
        return self.array(shape, "bool")

    def indices(self):
        most = max(1, min(self.first.shape, default=1))
        return self.rng.choice([str(self.rng.randint(-most, most - 1)), str([self.rng.randint(-most, most - 1) for _ in range(2)]), f"[[0], [{most - 1}]]", "[]" if self.rng.random() < 0.1 else "[0]"])

    def like_axis(self):
        return self.array(self.first.shape, "float64", 0)

    # ---- others

    def truth(self):
        return self.rng.choice(["True", "True", "False"])

    def dtype(self):
        return self.rng.choice(["float", "int", "numpy.float32", "numpy.int32", "numpy.float64", "bool", "'float32'"])

    def real_dtype(self):
        return self.rng.choice(["float", "numpy.float32", "numpy.float64"])

    def small(self):
        return self.rng.choice(["0", "1", "2", "-1", "0.5", "-2.5", "3.0", "1.25"])

    def positive(self):
        return self.rng.choice(["1", "2", "0.5", "2.0", "10"])

    def step(self):
        return self.rng.choice(["1", "2", "-1", "0.5", "0.25", "-0.75"])

    def small_whole(self):
        return self.rng.choice(["0", "1", "1", "2", "3"])

    def few(self):
        return self.rng.choice(["0", "1", "2", "([0], [0])", "(0, 0)", "(-1, -1)"])

    def whole(self):
        return self.rng.choice(["0", "1", "-1", "2", "-2"])

    def bound(self):
        return self.rng.choice(["-1", "0", "1", "2", "0.5", "None", "-1.5"])

    def digits(self):
        return self.rng.choice(["0", "1", "2", "-1"])

    def tolerance(self):
        return self.rng.choice(["0", "0.1", "0.5", "1e-5"])

    def percent(self):
        return self.rng.choice(["0", "50", "25", "100", "33.3", "[25, 75]", "[0, 50, 100]", "(10,)"])

    def share(self):
        return self.rng.choice(["0", "0.5", "0.25", "1", "0.333", "[0.25, 0.75]", "(0.1,)"])

    def reps(self):
        return self.rng.choice(["2", "1", "(2, 1)", "(1, 2)", "[2]", "0", "(2, 1, 2)"])

    def pad_width(self):
        return self.rng.choice(["1", "(1, 2)", "2", "0", "((1, 0),)", str([[self.rng.choice([0, 1, 2]), self.rng.choice([0, 1])] for _ in range(self.first.ndim)])])

    def pad_mode(self):
        return self.rng.choice(["'constant'", "'edge'", "'reflect'", "'symmetric'", "'wrap'"])

    def take_mode(self):
        return self.rng.choice(["'raise'", "'wrap'", "'clip'"])

    def side(self):
        return self.rng.choice(["'left'", "'right'"])

    def order(self):
        return self.rng.choice(["'C'", "'F'"])

    def method(self):
        return self.rng.choice(["'linear'", "'lower'", "'higher'", "'nearest'", "'midpoint'"])

    def convolve_mode(self):
        return self.rng.choice(["'full'", "'same'", "'valid'"])

    def ord(self):
        return self.rng.choice(["None", "1", "2", "numpy.inf", "-numpy.inf", "0", "'fro'", "3", "-1"])


TABLE = _table()


def call(draw):
    """One call."""
    rng = draw.rng
    name, needed, optional = rng.choice(TABLE)
    made = [(formal, getattr(draw, kind)()) for formal, kind in needed]
    chosen, by_place = [], True
    for formal, kind in optional:
        if rng.random() < 0.45:
            chosen.append((formal if formal is not None else None, getattr(draw, kind)(), by_place and rng.random() < 0.3))
        by_place = by_place and bool(chosen) and chosen[-1][2]
    by_name = [f"{formal}={value}" for formal, value, place in chosen if not place]
    rng.shuffle(by_name)
    places = [value for _, value, place in chosen if place]
    first, rest = made[0][1], made[1:]
    if rest and all(formal is not None for formal, _ in rest) and rng.random() < 0.2 and not places:  # what is needed by name too, in any order
        by_name += [f"{formal}={value}" for formal, value in rest]
        rng.shuffle(by_name)
        rest = []
    arguments = ", ".join([value for _, value in rest] + places + by_name)
    if name in METHODS and first.isidentifier() and rng.random() < 0.3:
        return f"{first}.{name}({arguments})"
    return f"numpy.{name}({', '.join([first] + [arguments] * bool(arguments))})"


def make(rng):
    """(text, {name: array}): a call, now and then within something simple."""
    draw = Draw(rng)
    text, r = call(draw), rng.random()
    if r < 0.1:
        text = f"({text}) * 2"
    elif r < 0.15:
        text = f"({text}) + 1"
    elif r < 0.2:
        text = f"numpy.sum({text})"
    elif r < 0.23:
        text = f"-numpy.asarray({text})"
    return text, draw.arrays
