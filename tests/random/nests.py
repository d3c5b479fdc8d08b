"""Random ONNX programs whose loops have bodies of arrays: what becomes loop nests (docs/lowered.md). Broadcasts of unequal shapes, reductions along any axes, products of small
matrices, convolutions, moves, elements by the loop's number, places of extremes. ``make(seed)`` gives one case (case.py)."""
import random

import onnx_calls
import onnx_file
import onnx_grammar
import onnx_layers

TYPES = ["float32"] * 5 + ["float64"] * 3 + ["int64", "int32", "float16"]
NEWER_TYPES = TYPES + ["bfloat16"]  # of the operators of opset 15
REDUCTIONS = ["ReduceSum", "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"]
WHOLE_REDUCTIONS = ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare"]


class Program:
    def __init__(self, rng):
        self.rng, self.n_names = rng, 0
        self.opset = rng.choice([8, 13, 15, 18, 18, 21])
        self.sizes = rng.sample([1, 2, 3, 4, 5, 8, 9, 16, 17, 33], 3)
        self.type = rng.choice(self.types())

    def types(self):
        return NEWER_TYPES if self.opset >= 15 else TYPES

    def shape(self):
        rank = self.rng.choice([1, 2, 2, 2, 2, 3, 3, 3, 3, 5])
        shape = [self.rng.choice(self.sizes) for _ in range(rank)]
        while onnx_grammar.length(shape) > 2000:
            shape.pop()
        return shape


def _binary(g):
    x = g.pick(lambda v: v.type in NEWER_TYPES and v.shape is not None)
    y = g.pick(lambda v: v.type == x.type and v.shape is not None and onnx_calls.broadcast(x.shape, v.shape) not in (None, False))
    if g.rng.random() < 0.3:
        y = g.constant(x.type, [n if g.rng.random() < 0.5 else 1 for n in x.shape])
    shape = onnx_calls.broadcast(x.shape, y.shape)
    if len(shape) > 6 or onnx_grammar.length(shape) > 4000:
        return
    op = g.rng.choice(["Add", "Sub", "Mul", "Add", "Mul", "Max", "Min"] + ["Div"] * ("float" in x.type))
    g.call(op, [x, y] if g.rng.random() < 0.5 or op == "Div" else [y, x], [(x.type, shape)])


def _unary(g):
    x = g.pick(lambda v: "float" in v.type)
    if x is not None:
        g.call(g.rng.choice(["Exp", "Tanh", "Sigmoid", "Abs", "Neg", "Relu", "Floor", "Sqrt"]), [x], [(x.type, x.shape)])


def _reduce(g):
    x = g.pick(lambda v: v.type in NEWER_TYPES and v.shape)
    if x is None:
        return
    op, keep, rank = g.rng.choice(REDUCTIONS if "float" in x.type else WHOLE_REDUCTIONS), g.rng.choice([0, 1]), len(x.shape)
    axes = sorted(g.rng.sample(range(rank), g.rng.choice([1, 1, 1, min(2, rank), rank])))
    shape = [1 if i in axes else n for i, n in enumerate(x.shape) if keep or i not in axes]
    if g.rng.random() < 0.2 and g.program.opset >= 11:
        axes = [a - rank for a in axes]
    if g.program.opset >= 18 or (op == "ReduceSum" and g.program.opset >= 13):
        g.call(op, [x, g.constant("int64", [len(axes)], axes)], [(x.type, shape)], keepdims=keep)
    else:
        g.call(op, [x], [(x.type, shape)], keepdims=keep, axes=axes)


def _place(g):
    x = g.pick(lambda v: v.type in NEWER_TYPES and v.shape)
    if x is not None:
        axis, keep = g.rng.randrange(len(x.shape)), g.rng.choice([0, 1])
        shape = [1 if i == axis else n for i, n in enumerate(x.shape) if keep or i != axis]
        g.call(g.rng.choice(["ArgMax", "ArgMin"]), [x], [("int64", shape)], axis=axis, keepdims=keep, select_last_index=g.rng.choice([0, 1]))


def _product(g):
    x = g.pick(lambda v: v.type in ("float32", "float64") and v.shape and len(v.shape) >= 2)
    if x is None:
        return
    n = g.rng.choice(g.program.sizes)
    batch = [m if g.rng.random() < 0.5 else 1 for m in x.shape[:-2]] if g.rng.random() < 0.6 else []
    fits = g.pick(lambda v: v.type == x.type and v.shape and len(v.shape) == 2 and v.shape[0] == x.shape[-1])
    y = fits if fits is not None and g.rng.random() < 0.6 else g.constant(x.type, batch + [x.shape[-1], n])
    if g.rng.random() < 0.2:
        y = g.constant(x.type, [x.shape[-1]])
        g.call("MatMul", [x, y], [(x.type, x.shape[:-1])])
        return
    g.call("MatMul", [x, y], [(x.type, x.shape[:-1] + y.shape[-1:])])


def _slide(g):
    """A convolution: of channels where there are axes for these, else of a line or a plane."""
    x = g.pick(lambda v: v.type in ("float32", "float64") and v.shape and len(v.shape) < 5)
    if x is None:
        return
    shape = x.shape if len(x.shape) > 2 else [1, 1] + x.shape
    image = x if shape is x.shape else g.call("Reshape", [x, g.constant("int64", [len(shape)], shape)], [(x.type, shape)])[0]
    attributes, counts = onnx_layers.windows(g, shape[2:], True)
    groups, outputs = g.rng.choice([n for n in (1, 1, 2, 3, 4) if shape[1] % n == 0]), g.rng.choice([1, 1, 2, 3])
    if min(counts) < 1 or onnx_grammar.length(shape[:1] + [groups * outputs] + counts) > 2000:
        return
    inputs = [image, g.constant(x.type, [groups * outputs, shape[1] // groups] + attributes["kernel_shape"])]
    inputs += [g.constant(x.type, [groups * outputs])] * (g.rng.random() < 0.4)
    made = g.call("Conv", inputs, [(x.type, [shape[0], groups * outputs] + counts)], group=groups, **attributes)[0]
    if made.shape == shape and image is not x:
        g.call("Reshape", [made, g.constant("int64", [len(x.shape)], x.shape)], [(x.type, x.shape)])


def _move(g):
    x = g.pick(lambda v: v.type in NEWER_TYPES and v.shape)
    if x is None:
        return
    rank, kind = len(x.shape), g.rng.choice(["Transpose", "Transpose", "Slice", "Unsqueeze", "Reshape", "Expand"])
    if kind == "Transpose":
        perm = g.rng.sample(range(rank), rank)
        g.call(kind, [x], [(x.type, [x.shape[p] for p in perm])], perm=perm)
    elif kind == "Slice":
        axis = g.rng.randrange(rank)
        n, backwards = x.shape[axis], g.rng.random() < 0.3
        first = g.rng.randrange(n)
        shape = list(x.shape)
        shape[axis] = first + 1 if backwards else n - first
        end = -n - 1 if backwards else n
        g.call(kind, [x] + [g.constant("int64", [1], [k]) for k in (first, end, axis, -1 if backwards else 1)], [(x.type, shape)])
    elif kind == "Unsqueeze" and rank < 6:
        axis = g.rng.randint(0, rank)
        made = [(x.type, x.shape[:axis] + [1] + x.shape[axis:])]
        g.call(kind, [x, g.constant("int64", [1], [axis])], made) if g.program.opset >= 13 else g.call(kind, [x], made, axes=[axis])
    elif kind == "Reshape" and rank > 1:
        shape = x.shape[:-2] + [x.shape[-2] * x.shape[-1]] if g.rng.random() < 0.5 else x.shape[::-1]
        g.call(kind, [x, g.constant("int64", [len(shape)], shape)], [(x.type, shape)])
    elif kind == "Expand" and rank < 6 and onnx_grammar.length(x.shape) < 500:
        shape = [g.rng.choice([2, 3])] + x.shape
        g.call(kind, [x, g.constant("int64", [len(shape)], shape)], [(x.type, shape)])


def _index(g, size):
    """The loop's number as an index of an axis of that length: now and then counted from the end, or past it."""
    index = g.pick(lambda v: v.type == "int64" and v.shape == [] and v in g.numbers)
    if index is None:
        return None
    if size < g.n_runs and g.rng.random() < 0.9:
        index = g.call("Mod", [index, g.constant("int64", [], [size])], [("int64", [])])[0]
    if g.rng.random() < 0.2:
        index = g.call("Sub", [index, g.constant("int64", [], [size])], [("int64", [])])[0]
    return index


def _gather(g):
    x = g.pick(lambda v: v.type in NEWER_TYPES and v.shape)
    if x is None:
        return
    axis = g.rng.randrange(len(x.shape))
    index = _index(g, x.shape[axis])
    if index is not None:
        g.call("Gather", [x, index], [(x.type, x.shape[:axis] + x.shape[axis + 1:])], axis=axis)


def _element(g):
    """An element of a row of a table, which goes on as a number."""
    x = g.pick(lambda v: v.type in NEWER_TYPES and v.shape and len(v.shape) == 2)
    if x is None or not g.numbers:
        return
    row = g.call("Gather", [x, _index(g, x.shape[0])], [(x.type, x.shape[1:])], axis=0)[0]
    element = g.call("Gather", [row, _index(g, x.shape[1])], [(x.type, [])], axis=0)[0]
    g.call("Add", [x, g.call("Mul", [element, element], [(x.type, [])])[0]], [(x.type, x.shape)])


def _put(g, x=None):
    """An element, or a row, at the loop's number; the result, None: there is none."""
    x = x or g.pick(lambda v: v.type in NEWER_TYPES and v.shape)
    if x is None or not g.numbers or g.program.opset < 11:
        return None
    rank, reduction = len(x.shape), {"reduction": "add"} if g.program.opset >= 16 and g.rng.random() < 0.1 else {}
    axis = g.rng.randrange(rank)
    n = 1 if g.rng.random() < 0.4 else g.rng.choice([1, 1, rank])
    if g.rng.random() < 0.4:
        shape, put = [1] * rank, [1] * rank
    else:
        shape, put, axis = [1] * g.rng.choice([0, 1, 2]) + [n], x.shape[n:], None
        put = shape[:-1] + put
    parts = [g.call("Unsqueeze", [_index(g, x.shape[axis or k]), g.constant("int64", [1], [0])], [("int64", [1])])[0] for k in range(n if axis is None else 1)]
    index = g.call("Reshape", [parts[0] if len(parts) == 1 else g.call("Concat", parts, [("int64", [n])], axis=0)[0], g.constant("int64", [len(shape)], shape)], [("int64", shape)])[0]
    value = g.pick(lambda v: v.type == x.type and v.shape == put) or g.constant(x.type, put)
    name, more = ("ScatterND", {}) if axis is None else ("ScatterElements", {"axis": axis - g.rng.choice([0, rank])})
    return g.call(name, [x, index, value], [(x.type, x.shape)], **more, **reduction)[0]


def _cut(g):
    """A slice that begins where the loop's number says, along one axis or two."""
    x = g.pick(lambda v: v.type in NEWER_TYPES and v.shape)
    number = g.pick(lambda v: v.type == "int64" and v.shape == [] and v in g.numbers)
    if x is None or number is None:
        return
    axes = g.rng.sample(range(len(x.shape)), min(len(x.shape), g.rng.choice([1, 1, 2])))
    shape, starts, ends, steps = list(x.shape), [], [], []
    for axis in axes:
        shape[axis] = g.rng.randint(1, x.shape[axis])
        steps.append(1)
        room = x.shape[axis] - shape[axis] + (1 if g.rng.random() < 0.95 else 2)  # now and then it is cut shorter at the end
        start = g.call("Mod", [number, g.constant("int64", [], [room])], [("int64", [])])[0]
        if g.rng.random() < 0.15:
            start = g.call("Sub", [start, g.constant("int64", [], [x.shape[axis]])], [("int64", [])])[0]
        starts.append(g.call("Unsqueeze", [start, g.constant("int64", [1], [0])], [("int64", [1])])[0])
        ends.append(g.call("Add", [starts[-1], g.constant("int64", [1], [shape[axis]])], [("int64", [1])])[0])
        if g.rng.random() < 0.2:
            steps[-1] = g.rng.choice([2, 3, 10**9])
            shape[axis] = (shape[axis] - 1) // steps[-1] + 1
    both = [each[0] if len(each) == 1 else g.call("Concat", each, [("int64", [len(each)])], axis=0)[0] for each in (starts, ends)]
    named = [axis - g.rng.choice([0, len(x.shape)]) for axis in axes]
    last = [g.constant("int64", [len(axes)], each) for each in ([named, steps] if any(step > 1 for step in steps) else [named])]
    g.call("Slice", [x] + both + last, [(x.type, shape)])


def _cast(g):
    x = g.pick(lambda v: "float" in v.type or v.type == "int32")
    if x is not None and x.shape is not None:
        to = g.rng.choice([type for type in g.program.types() if "float" in type and type != x.type])
        g.call("Cast", [x], [(to, x.shape)], to=onnx_file.ELEMENTS[to])


def _fold_axis(g, x, shape, axis):
    """What is left of an array of which only one axis has a length that is not known before."""
    ops = ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean"] if "float" in x.type else ["ReduceSum", "ReduceMax"]
    given = g.program.opset >= 18
    op = g.rng.choice(ops)
    left = [n for i, n in enumerate(shape) if i != axis]
    if given or (op == "ReduceSum" and g.program.opset >= 13):
        g.call(op, [x, g.constant("int64", [1], [axis])], [(x.type, left)], keepdims=0)
    else:
        g.call(op, [x], [(x.type, left)], keepdims=0, axes=[axis])


def _prefix(g):
    """All rows up to that of the loop's number, or from it on: an array that is as long as the number says."""
    x = g.pick(lambda v: v.type in NEWER_TYPES and v.shape)
    number = g.pick(lambda v: v.type == "int64" and v.shape == [] and v in g.numbers)
    if x is None or number is None:
        return
    axis = g.rng.choice([0, 0, g.rng.randrange(len(x.shape))])
    at = g.call("Mod", [number, g.constant("int64", [], [x.shape[axis]])], [("int64", [])])[0]
    at = g.call("Unsqueeze", [at, g.constant("int64", [1], [0])], [("int64", [1])])[0]
    if g.rng.random() < 0.7:
        ends = [g.constant("int64", [1], [0]), g.call("Add", [at, g.constant("int64", [1], [1])], [("int64", [1])])[0]]
    else:
        ends = [at, g.constant("int64", [1], [2**31])]
    part = g.call("Slice", [x] + ends + [g.constant("int64", [1], [axis])], [(x.type, None)])[0]
    if "float" in x.type and g.rng.random() < 0.4:
        part = g.call(g.rng.choice(["Tanh", "Neg"]), [part], [(x.type, None)])[0]
    _fold_axis(g, part, x.shape, axis)


def _chosen(g):
    """Elements or rows that some condition chooses: as many as there are then."""
    x = g.pick(lambda v: v.type in ("float32", "float64") and v.shape and len(v.shape) < 4)
    if x is None or g.program.opset < 13:
        return
    first = g.call("Gather", [x, g.constant("int64", [], [0])], [(x.type, x.shape[1:])], axis=0)[0] if len(x.shape) == 2 else x
    if len(first.shape) != 1:
        return
    mask = g.call("Greater", [first, g.constant(x.type, [], [-1.5])], [("bool", first.shape)])[0]
    if g.rng.random() < 0.5:
        axis = len(x.shape) - 1
        part = g.call("Compress", [x, mask], [(x.type, None)], axis=axis)[0]
        return _fold_axis(g, part, x.shape, axis)
    places = g.call("Transpose", [g.call("NonZero", [mask], [("int64", None)])[0]], [("int64", None)], perm=[1, 0])[0]
    part = g.call("GatherND", [first, places], [(x.type, None)])[0]
    _fold_axis(g, part, [None], 0)


_KINDS = [_binary] * 6 + [_unary] * 2 + [_reduce] * 4 + [_place] + [_product] * 3 + [_slide] * 2 + [_move] * 4 + [_gather] * 2 + [_element] + [_put] * 2 + [_cut] * 2 + [_prefix, _chosen] + [_cast]


def _fill(body, n):
    for _ in range(n):
        body.attempt(body.rng.choice(_KINDS))


class _Growing:
    """A state that becomes longer along an axis with each run, and what the body makes of it: values whose axis of that length is `None` in `shapes`."""

    def __init__(self, body, state, first, axis, more):
        self.body, self.rng, self.state, self.axis, self.more = body, body.rng, state, axis, more
        self.open, self.shapes = [state], {state.name: first[:axis] + [None] + first[axis + 1:]}

    def call(self, op, inputs, type, shape, **attributes):
        value, = self.body.call(op, inputs, [(type, shape if None not in shape else None)], **attributes)
        if None in shape:
            self.body.values.remove(value)
            self.open.append(value)
            self.shapes[value.name] = shape
        return value

    def pick(self, fits=lambda v, shape: True):
        found = [v for v in self.open if fits(v, self.shapes[v.name])]
        return (self.rng.choice(found[-3:]), ) if found else ()

    def look(self):
        for x in self.pick():
            self.rng.choice([self.binary, self.binary, self.binary, self.unary, self.reduce, self.reduce, self.reduce, self.move, self.product, self.other])(x, self.shapes[x.name])

    def binary(self, x, shape):
        op = self.rng.choice(["Add", "Sub", "Mul", "Max", "Min"] + ["Div"] * ("float" in x.type))
        for y in self.pick(lambda v, other: v.type == x.type and len(other) == len(shape) and v is not x and other.index(None) == shape.index(None)
                           and all(m == n or 1 in (m, n) for m, n in zip(other, shape))) if self.rng.random() < 0.4 else ():
            self.call(op, [x, y], x.type, [n if m == 1 else m for m, n in zip(self.shapes[y.name], shape)])
            return
        form = [1 if n is None or self.rng.random() < 0.3 else n for n in shape][self.rng.choice([0, 0, 1]):]
        y = self.body.pick(lambda v: v.type == x.type and v.shape == form) or self.body.constant(x.type, form)
        self.call(op, [x, y] if self.rng.random() < 0.6 else [y, x], x.type, shape)

    def unary(self, x, shape):
        if "float" in x.type:
            self.call(self.rng.choice(["Exp", "Tanh", "Abs", "Neg", "Relu", "Floor"]), [x], x.type, shape)

    def reduce(self, x, shape):
        rank, keep = len(shape), self.rng.choice([0, 1])
        op = self.rng.choice(REDUCTIONS if "float" in x.type else WHOLE_REDUCTIONS)
        axes = sorted(self.rng.sample(range(rank), self.rng.choice([1, 1, min(2, rank), rank])))
        made = [1 if i in axes else n for i, n in enumerate(shape) if keep or i not in axes]
        if self.body.program.opset >= 18 or (op == "ReduceSum" and self.body.program.opset >= 13):
            self.call(op, [x, self.body.constant("int64", [len(axes)], axes)], x.type, made, keepdims=keep)
        else:
            self.call(op, [x], x.type, made, keepdims=keep, axes=axes)

    def move(self, x, shape):
        if self.rng.random() < 0.5:
            perm = self.rng.sample(range(len(shape)), len(shape))
            self.call("Transpose", [x], x.type, [shape[p] for p in perm], perm=perm)
        elif len(shape) < 4:
            axis = self.rng.randint(0, len(shape))
            made = shape[:axis] + [1] + shape[axis:]
            if self.body.program.opset >= 13:
                self.call("Unsqueeze", [x, self.body.constant("int64", [1], [axis])], x.type, made)
            else:
                self.call("Unsqueeze", [x], x.type, made, axes=[axis])

    def product(self, x, shape):
        if "float" not in x.type or len(shape) < 2 or None in shape[:-2]:
            return
        n, outer, rows, columns = self.rng.choice(self.body.program.sizes), shape[:-2], shape[-2], shape[-1]
        for y in self.pick(lambda v, other: v.type == x.type and other[:-1] == outer + [columns] and columns is None) if columns is None else ():
            self.call("MatMul", [x, y], x.type, outer + [rows, self.shapes[y.name][-1]])
        if columns is not None:
            self.call("MatMul", [x, self.body.constant(x.type, [columns, n])], x.type, outer + [rows, n])
        if rows is not None:
            self.call("MatMul", [self.body.constant(x.type, outer + [n, rows]), x], x.type, outer + [n, columns])

    def other(self, x, shape):
        axis, kind = shape.index(None), self.rng.choice(["Softmax", "ArgMax", "Cast", "Where", "Gather"])
        if kind == "Softmax" and "float" in x.type and self.body.program.opset >= 13:
            self.call(kind, [x], x.type, shape, axis=axis)
        elif kind == "ArgMax":
            self.call(kind, [x], "int64", shape[:axis] + shape[axis + 1:], axis=axis, keepdims=0)
        elif kind == "Cast" and x.type == "float32":
            self.call(kind, [x], "float64", shape, to=onnx_file.ELEMENTS["float64"])
        elif kind == "Where" and self.body.program.opset >= 9:
            less = self.call("Less", [x, self.body.constant(x.type, [])], "bool", shape)
            self.open.remove(less)
            self.call(kind, [less, x, self.body.constant(x.type, [])], x.type, shape)
        elif kind == "Gather":
            self.call(kind, [x, self.body.constant("int64", [], [self.rng.choice([0, -1])])], x.type, shape[:axis] + shape[axis + 1:], axis=axis)

    def longer(self):
        item = self.body.pick(lambda v: v.type == self.state.type and v.shape == self.more) or self.body.constant(self.state.type, self.more)
        item = self.body.call("Mul", [item, self.body.constant(item.type, self.more)], [(item.type, self.more)])[0]
        value, = self.body.call("Concat", [self.state, item], [(item.type, None)], axis=self.axis)
        self.body.values.remove(value)
        self.open.append(value)
        self.shapes[value.name] = self.shapes[self.state.name]
        return value


def _grow(body, state):
    """What the body makes of a state that grows; the state, longer."""
    first, number = state.shape, body.rng.choice([1, 1, 2])
    axis = body.rng.choice([0, body.rng.randrange(len(first))])
    growing = _Growing(body, state, first, axis, first[:axis] + [number] + first[axis + 1:])
    state.shape = None
    for _ in range(body.rng.choice([0, 1, 3, 5])):
        body.attempt(lambda _: growing.look())
    longer = growing.longer()
    for _ in range(body.rng.choice([0, 1, 3, 5])):
        body.attempt(lambda _: growing.look())
    return longer


def _next(body, state):
    """What a state becomes: something of its type and shape that does not run away."""
    found = [v for v in body.values if v.type == state.type and v.shape == state.shape and v is not state]
    made = {name for node in body.nodes for name in node["outputs"]}
    own = [v for v in found if v.name in made]
    if body.numbers and state.shape and body.program.opset >= 13 and body.rng.random() < 0.3:
        state = body.rng.choice(own) if own and body.rng.random() < 0.5 else state  # into what was made of it, or of others
        for _ in range(body.rng.choice([1, 1, 2])):
            state = _put(body, state)
        return state
    x = body.rng.choice(own) if own else body.call("Add", [state, body.constant(state.type, state.shape)], [(state.type, state.shape)])[0]
    if "float" in x.type and body.rng.random() < 0.7:
        x = body.call("Tanh", [x], [(x.type, x.shape)])[0]
    return x


def make(seed):
    rng = random.Random(f"nests {seed}")
    program = Program(rng)
    graph = onnx_grammar.Graph(program)
    inputs = [onnx_grammar.Value(graph.fresh(), rng.choice([program.type, program.type, rng.choice(program.types())]), program.shape()) for _ in range(rng.choice([2, 3, 4]))]
    n_runs, is_scan = rng.choice([1, 2, 3, 5]), rng.random() < 0.5
    grows = not is_scan and rng.random() < 0.5
    states = inputs[:rng.choice([1, 1, 2])]
    if grows:  # so that it passes the lengths at which sums and loops take another way
        n_runs = rng.choice([2, 3, 5, 20, 70])
        states = [onnx_grammar.Value(graph.fresh(), program.type, [rng.choice([1, 1, 2, 5, 62, 505])] + rng.choice([[], [1], [2], [3], [4], [8], [9], [2, 4], [16]]))]
        inputs[0] = states[0]
    scanned = [onnx_grammar.Value(graph.fresh(), program.type, [n_runs] + program.shape()[:3]) for _ in range(rng.choice([1, 2]))] if is_scan else []
    graph.values += inputs + scanned
    graph.numbers, graph.n_runs = [], n_runs
    body = onnx_grammar.Graph(program, graph)
    batch = [rng.choice([1, 2, 3])] if is_scan and program.opset < 9 else []
    inside = [onnx_grammar.Value(body.fresh(), v.type, v.shape) for v in states]
    axes = [rng.randrange(len(v.shape)) if rng.random() < 0.3 and not batch else 0 for v in scanned]
    for v, axis in zip(scanned, axes):
        v.shape.insert(axis, v.shape.pop(0))
    items = [onnx_grammar.Value(body.fresh(), v.type, v.shape[:axis] + v.shape[axis + 1:]) for v, axis in zip(scanned, axes)]
    for v in (states + scanned) * len(batch):
        v.shape = batch + v.shape
    number, go = onnx_grammar.Value(body.fresh(), "int64", []), onnx_grammar.Value(body.fresh(), "bool", [])
    body.numbers, body.n_runs = [] if is_scan else [number], n_runs
    body.values += (inside if not grows else []) + items + body.numbers
    _fill(body, rng.choice([3, 5, 8, 12, 16]))
    nexts = [_grow(body, v) if grows else _next(body, v) for v in inside]
    made = {name for node in body.nodes for name in node["outputs"]}
    own = [v for v in body.values if v.name in made and v.shape is not None and len(v.shape) < 4]
    stacked = rng.sample(own, min(len(own), rng.choice([1, 2, 3])))
    yielded = [v.name for v in nexts + stacked]
    twice = [v if v.name in made and yielded.count(v.name) == 1 and rng.random() < 0.5 else body.call("Identity", [v], [(v.type, v.shape)])[0]
             for v in nexts + stacked]  # no name twice
    declared = onnx_grammar.declared
    ends = [rng.randrange(len(v.shape) + 1) if is_scan and rng.random() < 0.3 and not batch else 0 for v in stacked]
    results = [(v.type, None if grows else v.shape) for v in states] + [(v.type, batch + v.shape[:end] + [n_runs] + v.shape[end:]) for v, end in zip(stacked, ends)]
    inner = {"initializers": body.initializers, "nodes": body.nodes}
    if is_scan:
        inner |= {"inputs": [declared(v) for v in inside + items], "outputs": [declared(v) for v in twice]}
        given = {name: [n - rng.choice([0, rank]) for n, rank in zip(where, ranks)] for name, where, ranks in [
            ("scan_input_axes", axes, [len(v.shape) for v in scanned]), ("scan_output_axes", ends, [len(v.shape) + 1 for v in stacked])] if any(where)}
        lengths = []
        if batch:
            inputs += [onnx_grammar.Value(graph.fresh(), "int64", batch, n_runs)] * (rng.random() < 0.7)
            lengths = [inputs[-1] if inputs[-1].most else ""]
            given = {"directions": [rng.choice([0, 1]) for _ in scanned]} if rng.random() < 0.4 else {}
        made = graph.call("Scan", lengths + states + scanned, results, num_scan_inputs=len(scanned), **given, body={"graph": inner})
    else:
        inner |= {"inputs": [declared(v) for v in [number, go] + inside], "outputs": [declared(v) for v in [go] + twice]}
        count = graph.constant("int64", [], [n_runs])
        if rng.random() < 0.3:  # known only when it runs
            inputs.append(onnx_grammar.Value(graph.fresh(), "int64", [], n_runs))
            count, results = inputs[-1], results[:len(states)] + [(type, None) for type, _ in results[len(states):]]
        made = graph.call("Loop", [count, ""] + states, results, body={"graph": inner})
    model = {"opset": program.opset, "inputs": [declared(v) for v in inputs + scanned], "outputs": [declared(v) for v in made],
             "initializers": graph.initializers, "nodes": graph.nodes}
    phases = [{"steps": rng.choice([2, 4]), "inputs": {v.name: onnx_grammar.given(rng, v) for v in inputs + scanned}} for _ in range(rng.choice([1, 2]))]
    return {"format": "onnx", "model": model, "phases": phases, "dt": None}
