"""Models of ONNX by running Python on values that note what is done with them: for bodies whose text would be long.

    m = Model()
    x = m.input("x", numpy.ones(4, "float32"))
    last, rows = m.scan(lambda s, x_t: (s * 0.5 + x_t, m.Tanh(s)), [m.input("s", numpy.array(0, "float32"))], [x])
    m.output(last, rows)

`m.Foo(a, b, axis=1)` is a node of operator Foo; numbers and arrays among its inputs become constants, numbers of the type that the
first value has. What the outputs' type is, where it is not the first input's, is told by `dtype`."""

import numpy as np
from onnx import helper, numpy_helper

OPSET = 18
OF_TYPE = {"Equal": bool, "Less": bool, "LessOrEqual": bool, "Greater": bool, "ArgMax": "int64", "ArgMin": "int64"}


def onnx_type(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


class Value:
    """An array of the model: its name, type, and, of what comes from outside, shape."""

    def __init__(self, model, name, dtype, shape=None):
        self.model, self.name, self.dtype, self.shape = model, name, np.dtype(dtype), shape

    def info(self, name=None):
        return helper.make_tensor_value_info(name or self.name, onnx_type(self.dtype), self.shape)

    def to(self, dtype):
        return self.model.Cast(self, to=onnx_type(dtype), dtype=dtype)

    def __getitem__(self, at):
        """One index, or a range, along the first axis; several for several axes; None for a new axis."""
        at, x, axis = at if isinstance(at, tuple) else (at,), self, 0
        for part in at:
            if part is None:
                x, axis = self.model.Unsqueeze(x, np.array([axis])), axis + 1
            elif isinstance(part, slice):
                if part != slice(None):
                    ends = [np.array([v]) for v in (part.start or 0, np.iinfo("int64").max if part.stop is None else part.stop, axis)]
                    x = self.model.Slice(x, *ends)
                axis += 1
            else:
                x = self.model.Gather(x, part if isinstance(part, Value) else np.array(part), axis=axis)
        return x


def operator(kind, turned=False):
    return lambda a, b: a.model.node(kind, b, a) if turned else a.model.node(kind, a, b)


for method, kind in dict(add="Add", sub="Sub", mul="Mul", truediv="Div", mod="Mod", matmul="MatMul").items():
    setattr(Value, f"__{method}__", operator(kind))
    setattr(Value, f"__r{method}__", operator(kind, turned=True))
for method, kind in dict(lt="Less", gt="Greater", le="LessOrEqual", ge="GreaterOrEqual", and_="And", or_="Or").items():
    setattr(Value, f"__{method.rstrip('_')}__", operator(kind))
Value.__neg__ = lambda a: a.model.Neg(a)


class Model:
    def __init__(self):
        self.nodes, self.constants, self.inputs, self.outputs, self.arrays, self.n = [], {}, [], [], {}, 0

    def __getattr__(self, kind):
        return lambda *inputs, **attributes: self.node(kind, *inputs, **attributes)

    def name(self, stem):
        self.n += 1
        return f"{stem}_{self.n}"

    def constant(self, value, dtype):
        array = value if isinstance(value, np.ndarray) else np.array(value, dtype)
        key = array.dtype.str, array.shape, array.tobytes()
        if key not in self.constants:
            self.constants[key] = numpy_helper.from_array(array, self.name("constant"))
        return Value(self, self.constants[key].name, array.dtype)

    def node(self, kind, *inputs, dtype=None, n_outputs=1, **attributes):
        like = next((v.dtype for v in inputs[kind == "Where":] if isinstance(v, Value)), np.dtype("float32"))
        inputs = [v if isinstance(v, Value) else self.constant(v, like) for v in inputs]
        outputs = [Value(self, self.name(kind.lower()), dtype or OF_TYPE.get(kind, like)) for _ in range(n_outputs)]
        self.nodes.append(helper.make_node(kind, [v.name for v in inputs], [v.name for v in outputs], **attributes))
        return outputs[0] if n_outputs == 1 else outputs

    def sum(self, x, axis, keepdims=0):
        return self.ReduceSum(x, np.array([axis]), keepdims=keepdims)

    def max(self, x, axis, keepdims=0):
        return self.ReduceMax(x, np.array([axis]), keepdims=keepdims)

    def input(self, name, array):
        self.arrays[name] = array = np.asarray(array)
        self.inputs.append(Value(self, name, array.dtype, array.shape))
        return self.inputs[-1]

    def output(self, *values):
        self.outputs += values

    def body(self, function, formals):
        """The graph of a function of values, and what it gives. Each output is made by a node of its own."""
        outer, self.nodes = self.nodes, []
        results = function(*formals)
        results = [self.Identity(v) for v in (results if isinstance(results, (tuple, list)) else (results,))]
        graph = helper.make_graph(self.nodes, self.name("body"), [v.info() for v in formals], [v.info() for v in results])
        self.nodes = outer
        return graph, results

    def results(self, kind, inputs, given, **attributes):
        made = self.node(kind, *inputs, n_outputs=len(given), **attributes)
        made = made if isinstance(made, list) else [made]
        for value, like in zip(made, given):
            value.dtype = like.dtype
        return made[0] if len(made) == 1 else made

    def scan(self, function, states, items, **attributes):
        """function(states ..., items ...) gives the next states, then what is stacked."""
        formals = [Value(self, self.name("state"), v.dtype, v.shape) for v in states]
        formals += [Value(self, self.name("item"), v.dtype, None if v.shape is None else v.shape[1:]) for v in items]
        graph, given = self.body(function, formals)
        return self.results("Scan", [*states, *items], given, body=graph, num_scan_inputs=len(items), **attributes)

    def loop(self, n, function, *states):
        """function(i, states ...) gives the next states, then what is stacked."""
        return self.repeat(n, lambda i, on, *s: [on, *as_list(function(i, *s))], states)

    def loop_while(self, function, *states, n=np.iinfo("int64").max):
        """function(i, states ...) gives whether to go on, the next states, then what is stacked."""
        return self.repeat(n, lambda i, on, *s: function(i, *s), states)

    def repeat(self, n, function, states):
        n, states = n if isinstance(n, Value) else self.constant(n, "int64"), list(states)
        formals = [Value(self, self.name("i"), "int64", ()), Value(self, self.name("on"), bool, ())]
        formals += [Value(self, self.name("state"), v.dtype, v.shape) for v in states]
        graph, given = self.body(function, formals)
        return self.results("Loop", [n, self.constant(True, bool), *states], given[1:], body=graph)

    def choose(self, condition, yes, no):
        """If: functions of nothing."""
        (then_graph, given), (else_graph, _) = self.body(yes, []), self.body(no, [])
        return self.results("If", [condition], given, then_branch=then_graph, else_branch=else_graph)

    def proto(self):
        graph = helper.make_graph(self.nodes, "bodies", [v.info() for v in self.inputs], [v.info() for v in self.outputs],
                                  list(self.constants.values()))
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)


def as_list(values):
    return list(values) if isinstance(values, (tuple, list)) else [values]
