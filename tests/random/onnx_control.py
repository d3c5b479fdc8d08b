"""Random Loop, Scan and If calls with bodies that take from outside."""
import onnx_calls
import onnx_file
import onnx_grammar

STATE_TYPES = ["float32"] * 5 + ["float64", "int64", "int64", "bool", "string", "int32", "float16", "uint8"]


def add(graph):
    return graph.rng.choice([_loop, _loop, _loop, _scan, _scan, _branch, _branch])(graph)


def _same(value, type, shape):
    return value.type == type and value.shape == shape


def _body(graph):
    return onnx_grammar.Graph(graph.program, graph)


def _yielded(body, type, shape, passed):
    """What a body yields as a value of that type and shape: computed, an input, from outside, or a constant."""
    rng = body.rng
    if passed is not None and rng.random() < 0.12:
        return passed
    made = {name for node in body.nodes for name in node["outputs"]}
    own = [v for v in body.values if _same(v, type, shape) and v.name in made]
    if own and rng.random() < 0.8:
        return rng.choice(own[-4:])
    outside = [v for v in body.outer.visible() if _same(v, type, shape)]
    if outside and rng.random() < 0.1:
        return rng.choice(outside)  # captured and yielded as it is
    x = passed if passed is not None else body.get(type, shape)
    if type in ("float32", "float64", "int64", "int32", "float16") and rng.random() < 0.7:
        return body.call("Add", [x, body.get(type, rng.choice([shape, []]))], [(type, shape)])[0] if shape is not None else body.call("Identity", [x], [(type, shape)])[0]
    if type == "string" and body.program.opset >= 20 and shape is not None:
        return body.call("StringConcat", [x, body.constant("string", [])], [(type, shape)])[0]
    if type.startswith("seq("):
        element = body.pick(lambda v: v.type == type[4:-1]) or body.constant(type[4:-1], [])
        return body.call("SequenceInsert", [x, element], [(type, None)])[0]
    if type == "bool":
        return body.call("Not", [x], [(type, shape)])[0]
    return body.call("Identity", [x], [(type, shape)])[0]


def _finish(body, inputs, outputs):
    names = [v.name for v in outputs]
    declare = onnx_grammar.declared
    twice = []
    for k, value in enumerate(outputs):  # the same value listed twice is legal only by another name, in a file's graph
        if value.name in names[:k] and body.rng.random() < 0.7:
            value = body.call("Identity", [value], [(value.type, value.shape)])[0]
        twice.append(value)
    return {"inputs": [declare(v) for v in inputs], "outputs": [declare(v) for v in twice], "initializers": body.initializers, "nodes": body.nodes}


def _states(graph, n):
    """Initial values of state variables: values that are there, of every kind."""
    rng, states = graph.rng, []
    for _ in range(n):
        if rng.random() < 0.12:
            found = graph.pick(lambda v: v.type.startswith("seq(") or (v.type.startswith("optional(") and rng.random() < 0.3))
            if found is not None:
                states.append(found)
                continue
        type = rng.choice(STATE_TYPES)
        found = graph.pick(lambda v: onnx_calls.is_tensor(v) and v.shape is not None)
        states.append(found if found is not None and rng.random() < 0.6 else graph.get(type, graph.program.shape()))
    return states


def _inputs(body, values):
    made = [onnx_grammar.Value(body.fresh(), v.type, v.shape) for v in values]
    body.values += made
    return made


def _growing(body, inside):
    """By number of the states that become longer with each run: the axis, and the shape of what is put behind them. Mostly nothing else looks at them."""
    rng, growing = body.rng, {}
    for k, v in enumerate(inside):
        if onnx_calls.is_tensor(v) and v.shape and rng.random() < 0.15:
            axis = rng.choice([0, 0, rng.randrange(len(v.shape)), rng.randrange(len(v.shape))])
            growing[k] = axis, v.shape[:axis] + [rng.choice([1, 1, 2])] + v.shape[axis + 1:]
            v.shape = None
            if rng.random() < 0.7:
                body.values.remove(v)
    return growing


def _look(body, state, axis, shape):
    """A few calls that read a state that grows along an axis; `shape`: of what is put behind it. What they give has shapes that do not change."""
    rng = body.rng
    for _ in range(rng.choice([1, 1, 2])):
        kinds = ["Shape", "Gather", "Gather"] + (["Sub", "Reduce", "Softmax"] + (["attention"] * 3 if axis == len(shape) - 2 else []) if state.type in ("float32", "float64") else [])
        kind = rng.choice(kinds)
        if kind == "Shape":
            size, = body.call("Shape", [state], [("int64", [len(shape)])])
            if rng.random() < 0.3:  # what is of its size, and yet another value
                body.call("ReduceSum", [body.call("ConstantOfShape", [size], [("float32", None)])[0]], [("float32", [])], keepdims=0)
        elif kind == "Gather":
            index = body.constant("int64", [], [rng.choice([0, -1, -1])]) if rng.random() < 0.8 else body.get("int64", [])
            body.call("Gather", [state, index], [(state.type, shape[:axis] + shape[axis + 1:])], axis=axis)
        elif kind == "attention":
            turned, = body.call("Transpose", [state], [(state.type, None)], perm=[*range(axis), axis + 1, axis])
            scores, = body.call("MatMul", [body.get(state.type, shape[:axis] + [1, shape[-1]]), turned], [(state.type, None)])
            body.call("MatMul", [body.call("Softmax", [scores], [(state.type, None)], axis=axis + 1)[0], state], [(state.type, shape[:axis] + [1, shape[-1]])])
        else:
            other, = (body.call("Sub", [state, body.get(state.type, [1 if k == axis else n for k, n in enumerate(shape)])], [(state.type, None)]) if kind == "Sub"
                      else body.call("Softmax", [state], [(state.type, None)], axis=axis) if kind == "Softmax" else [state])
            body.call(rng.choice(["ReduceSum", "ReduceSumSquare", "ReduceMin", "ReduceL2"]), [other], [(state.type, [])], keepdims=0)


def _pass_on(body, state):
    """A call whose bodies give a state of the loop around as it is: both branches of an If, or a Loop that begins with it, or a Scan that goes through it."""
    rng = body.rng
    name, given = ({"name": body.fresh(), "type": state.type} for _ in range(2))
    kind = rng.choice(["If", "If", "Loop", "Scan"])
    keep = {"op": "Identity", "inputs": [state.name if kind == "If" else name["name"]], "outputs": [given["name"]]}
    if kind == "If":
        branch = {"graph": {"inputs": [], "outputs": [given], "nodes": [keep]}}
        return body.call("If", [body.get("bool", [])], [(state.type, None)], then_branch=branch, else_branch=branch)
    if kind == "Scan":
        return body.call("Scan", [state], [(state.type, None)], num_scan_inputs=1, body={"graph": {"inputs": [name], "outputs": [given], "nodes": [keep]}})
    number, on, still = ({"name": body.fresh(), "type": type, "shape": []} for type in ("int64", "bool", "bool"))
    again = {"op": "Identity", "inputs": [on["name"]], "outputs": [still["name"]]}
    return body.call("Loop", [body.constant("int64", [], [rng.choice([0, 1, 2])]), "", state], [(state.type, None)],
                     body={"graph": {"inputs": [number, on, name], "outputs": [still, given], "nodes": [again, keep]}})


def _longer(body, state, axis, shape):
    return body.call("Concat", [state, body.get(state.type, shape)], [(state.type, None)], axis=axis)[0]


def _loop(graph):
    rng = graph.rng
    states = _states(graph, rng.choice([0, 1, 1, 2, 3]))
    lists = {}
    if graph.program.opset >= 13 and rng.random() < 0.15:
        lists[len(states)] = rng.choice(["float32", "int64", "float64", "bool"]), graph.program.shape()
        type = lists[len(states)][0]
        states.append(graph.call("SequenceEmpty", [], [(f"seq({type})", None)], dtype=onnx_file.ELEMENTS[type])[0])
    body = _body(graph)
    i, go = onnx_grammar.Value(body.fresh(), "int64", []), onnx_grammar.Value(body.fresh(), "bool", [])
    body.values += [i, go]
    inside = _inputs(body, states)
    growing = _growing(body, inside)
    longer = {}
    for k in growing:
        if rng.random() < 0.4:
            _look(body, inside[k], *growing[k])
        if rng.random() < 0.5 and graph.program.opset >= 9:
            _pass_on(body, inside[k])
        if rng.random() < 0.4:
            longer[k] = _longer(body, inside[k], *growing[k])
            body.values.remove(longer[k])
            _look(body, longer[k], *growing[k])
    for k in lists:
        if rng.random() < 0.4:
            body.call("SequenceLength", [inside[k]], [("int64", [])])
        if rng.random() < 0.8:
            body.values.remove(inside[k])
    body.grow(rng.choice([0, 1, 2, 3, 4]))
    has_condition, has_count = rng.random() < 0.4, True
    if has_condition:
        truths = [v for v in body.values if _same(v, "bool", [])]
        on = rng.choice(truths + [go]) if rng.random() < 0.5 else body.call("Less", [i, body.constant("int64", [], [rng.choice([0, 1, 2, 3])])], [("bool", [])])[0]
        has_count = rng.random() < 0.8
        if not has_count:
            on = body.call("Less", [i, body.constant("int64", [], [rng.choice([0, 1, 2])])], [("bool", [])])[0]
    else:
        on = go if rng.random() < 0.6 else body.constant("bool", [], [True])
    outputs = [on] + [longer.get(k) or _longer(body, v, *growing[k]) if k in growing
                      else body.call("SequenceInsert", [v, body.get(*lists[k])], [(v.type, None)])[0] if k in lists else _yielded(body, v.type, v.shape, v) for k, v in enumerate(inside)]
    stacked = []
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        value = body.pick(lambda v: onnx_calls.is_tensor(v) and v.shape is not None)
        if value is not None:
            stacked.append(value if value.name in [x for n in body.nodes for x in n["outputs"]] or rng.random() < 0.3
                           else body.call("Identity", [value], [(value.type, value.shape)])[0])
    if stacked and rng.random() < 0.1:
        stacked.append(stacked[0])
    count = rng.choice([0, 1, 1, 2, 3, 4])
    made = [(v.type, None if k in growing else v.shape) for k, v in enumerate(states)]
    made += [(v.type, [count] + v.shape if not has_condition else None) for v in stacked]
    if not made:
        return False
    m = "" if not has_count else graph.constant("int64", rng.choice([[], [], [1]]), [count])
    if has_count and rng.random() < 0.15:
        found = graph.pick(lambda v: _same(v, "int64", []))
        if found is not None:
            m, _ = graph.call("Mod", [found, graph.constant("int64", [], [4])], [("int64", [])])[0], None
            made = made[:len(states)] + [(v.type, None) for v in stacked]
    condition = "" if not has_condition else graph.get("bool", [])
    results = graph.call("Loop", [m, condition] + states, made, body={"graph": _finish(body, [i, go] + inside, outputs + stacked)})
    for k in lists:
        if rng.random() < 0.8:
            graph.call("ConcatFromSequence", [results[k]], [(lists[k][0], None)], axis=rng.choice([0, 0, 0, 1]), new_axis=rng.choice([0, 1]))
    return results


def _scan(graph):
    rng = graph.rng
    if graph.program.opset < 9:
        return _scan_of_a_batch(graph)
    length = rng.choice([1, 1, 2, 3])
    states = [v for v in _states(graph, rng.choice([0, 1, 1, 2])) if onnx_calls.is_tensor(v)]
    scanned = []
    for _ in range(rng.choice([1, 1, 2])):
        found = graph.pick(lambda v: onnx_calls.is_tensor(v) and v.shape and v.shape[0] == length)
        scanned.append(found if found is not None else graph.constant(rng.choice(STATE_TYPES), [length] + graph.program.shape()))
    body = _body(graph)
    inside = _inputs(body, states)
    axes = [rng.choice([k for k, n in enumerate(v.shape) if n == length]) if rng.random() < 0.3 else 0 for v in scanned]
    slices = [onnx_grammar.Value(body.fresh(), v.type, v.shape[:axis] + v.shape[axis + 1:]) for v, axis in zip(scanned, axes)]
    body.values += slices
    outputs, stacked = _scan_body(body, inside)
    ends = [rng.randrange(len(v.shape) + 1) if rng.random() < 0.3 else 0 for v in stacked]
    made = [(v.type, v.shape) for v in states] + [(v.type, v.shape[:end] + [length] + v.shape[end:]) for v, end in zip(stacked, ends)]
    if not made:
        return False
    attributes = {}
    if any(axes):
        attributes["scan_input_axes"] = axes
    if any(ends):
        attributes["scan_output_axes"] = ends
    if rng.random() < 0.2:
        attributes["scan_input_directions"] = [rng.choice([0, 1]) for _ in scanned]
    if stacked and rng.random() < 0.2:
        attributes["scan_output_directions"] = [rng.choice([0, 1]) for _ in stacked]
    return graph.call("Scan", states + scanned, made, num_scan_inputs=len(scanned), **attributes,
                      body={"graph": _finish(body, inside + slices, outputs + stacked)})


def _scan_body(body, inside):
    """The states that it yields, and its scan outputs."""
    rng = body.rng
    body.grow(rng.choice([0, 1, 2, 3]))
    outputs = [_yielded(body, v.type, v.shape, v) for v in inside]
    stacked = []
    for _ in range(rng.choice([0, 1, 1, 2]) if outputs else 1):
        value = body.pick(lambda v: onnx_calls.is_tensor(v) and v.shape is not None)
        if value is not None:
            stacked.append(value if rng.random() < 0.3 else body.call("Identity", [value], [(value.type, value.shape)])[0])
    return outputs, stacked


def _scan_of_a_batch(graph):
    """That of opset 8."""
    rng = graph.rng
    batch, length = rng.choice([1, 2, 3]), rng.choice([1, 2, 3])
    types = [type for type in STATE_TYPES if type != "string" or rng.random() < 0.3]

    def get(leading):
        found = graph.pick(lambda v: onnx_calls.is_tensor(v) and v.shape is not None and v.shape[:len(leading)] == leading)
        return found if found is not None and rng.random() < 0.6 else graph.constant(rng.choice(types), leading + graph.program.shape())

    states = [get([batch]) for _ in range(rng.choice([0, 1, 1, 2]))]
    scanned = [get([batch, length]) for _ in range(rng.choice([1, 1, 2]))]
    body = _body(graph)
    inside = _inputs(body, [onnx_grammar.Value("", v.type, v.shape[1:]) for v in states])
    slices = _inputs(body, [onnx_grammar.Value("", v.type, v.shape[2:]) for v in scanned])
    outputs, stacked = _scan_body(body, inside)
    made = [(v.type, v.shape) for v in states] + [(v.type, [batch, length] + v.shape) for v in stacked]
    if not made:
        return False
    given = [v for v in graph.visible() if v.most == length and v.shape == [batch]]  # inputs of the graph: known only when it runs
    constant = graph.constant("int64", [batch], onnx_grammar.lengths(rng, batch, length)) if rng.random() < 0.5 else ""
    lengths = rng.choice(given) if given and rng.random() < 0.8 else constant
    attributes = {"directions": [rng.choice([0, 1]) for _ in scanned]} if rng.random() < 0.4 else {}
    return graph.call("Scan", [lengths] + states + scanned, made, num_scan_inputs=len(scanned), **attributes,
                      body={"graph": _finish(body, inside + slices, outputs + stacked)})


def _branch(graph):
    rng = graph.rng
    kinds = []
    for _ in range(rng.choice([1, 1, 2])):
        found = graph.pick(lambda v: v.shape is not None or v.type.startswith("seq("))
        kinds.append((found.type, found.shape) if found is not None else ("float32", []))
    branches = []
    differs = [shape is not None and not type.startswith("seq(") and rng.random() < 0.1 for type, shape in kinds]
    for number in range(2):
        body = _body(graph)
        body.grow(rng.choice([0, 0, 1, 2, 3]))
        outputs = []
        for (type, shape), other in zip(kinds, differs):
            shape = shape + [2] if other and number == 1 else shape
            source = graph.pick(lambda v: _same(v, type, shape))
            outputs.append(_yielded(body, type, shape, source) if source is not None or not type.startswith("seq(") else None)
        if None in outputs:
            return False
        names = [x for n in body.nodes for x in n["outputs"]] + [x["name"] for x in body.initializers]
        outputs = [v if v.name in names or rng.random() < 0.3 else body.call("Identity", [v], [(v.type, v.shape)])[0] for v in outputs]
        branches.append(_finish(body, [], outputs))
    condition = graph.get("bool", [])
    kinds = [(type, None if other else shape) for (type, shape), other in zip(kinds, differs)]
    return graph.call("If", [condition], kinds, then_branch={"graph": branches[0]}, else_branch={"graph": branches[1]})
