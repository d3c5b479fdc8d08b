"""Parameters that are Loop, Scan or If, with bodies."""
import expressions


def make(model, scope, shape):
    """The parameter, and how many outputs it has; the first has that shape."""
    return model.rng.choice([_loop, _loop, _scan, _branch])(model, scope, shape)


def _loop(model, scope, shape):
    rng = model.rng
    states = [(model.fresh("s"), shape if k == 0 else model.shape()) for k in range(rng.choice([1, 1, 2, 3]))]
    i, go = model.fresh("i"), model.fresh("go")
    inner = scope.inner()
    inner.add(i, ())
    for name, own in states:
        inner.add(name, own)
    parameters = _parameters(model, inner)
    outputs, stops = {}, rng.random() < 0.4
    names = [go if not stops else model.fresh("on")]
    if stops:
        outputs[names[0]] = {"value": expressions.test(rng, inner)}
    for name, own in states:
        if rng.random() < 0.12:
            names.append(name)  # passed through
            continue
        names.append(model.fresh("n"))
        outputs[names[-1]] = {"value": go if rng.random() < 0.05 else expressions.state_update(rng, inner, name, own)}
    for _ in range(rng.choice([0, 0, 1, 2])):
        names.append(model.fresh("x"))
        outputs[names[-1]] = {"value": expressions.make(rng, inner, model.shape(), 2)}
    if len(names) > 2 and rng.random() < 0.08:
        names.append(rng.choice(names[1:]))
    body = _body(model, [i, go] + [n for n, _ in states], names, outputs, parameters)
    args = {"M": rng.choice([0, 1, 1, 2, 3, 4, 5])}
    if rng.random() < 0.2:
        args["M"] = f"int(abs({expressions.make(rng, scope, (), 0)})) % 5"
    if rng.random() < 0.4:
        args["cond"] = rng.choice([True, False, True, expressions.test(rng, scope)])
    args["v_initial"] = [_initial(model, scope, own) for _, own in states]
    args["body"] = body
    return {"function": "onnx::Loop", "args": args}, len(names) - 1


def _parameters(model, inner):
    """Parameters of a body's node, which outputs may use: values, and Loop, Scan and If in their turn."""
    made = {}
    for _ in range(model.rng.choice([0, 0, 0, 1, 2])):
        name, shape = model.fresh("q"), model.shape()
        if model.depth < 2 and model.rng.random() < 0.4:
            model.depth += 1
            made[name], n = make(model, inner, shape)
            model.depth -= 1
            inner.add(f"{name}[0]" if n > 1 else name, shape)
        else:
            made[name] = {"value": expressions.make(model.rng, inner, shape, 2)}
            inner.add(name, shape)
    return made


def _initial(model, scope, shape):
    """A list, which is always a list of values, or an expression."""
    made = expressions.make(model.rng, scope, shape, 1)
    return made


def _body(model, inputs, outputs, ports, parameters=None):
    rng = model.rng
    node = {"input_ports": {name: {} for name in inputs if rng.random() < 0.9}, "output_ports": ports}
    body = {"metadata": {"inputs": inputs, "outputs": outputs}, "nodes": {model.fresh("B"): node}, "edges": {}}
    if parameters:
        node["parameters"] = parameters
    if ports and rng.random() < 0.25:  # one output goes through another node
        name = rng.choice(list(ports))
        port, own = model.fresh("i"), next(iter(body["nodes"]))
        other, inner = model.fresh("B"), model.fresh("t")
        ports[inner] = ports.pop(name)
        body["nodes"][other] = {"input_ports": {port: {}}, "output_ports": {name: {"value": rng.choice([port, f"{port} + 1", f"2 * {port}"])}}}
        body["edges"][model.fresh("e")] = {"sender": own, "sender_port": inner, "receiver": other, "receiver_port": port}
    r = rng.random()
    if r < 0.4:
        name = model.fresh("body")
        model.graphs[name] = body
        return name
    return body if r < 0.7 else {model.fresh("body"): body}


def _scan(model, scope, shape):
    rng = model.rng
    states = [(model.fresh("s"), shape if k == 0 else model.shape()) for k in range(rng.choice([0, 1, 1, 2]))]
    scanned = [model.fresh("x") for _ in range(rng.choice([1, 1, 2]))]
    inner = scope.inner()
    for name, own in states:
        inner.add(name, own)
    for name in scanned:
        inner.add(name, ())
    parameters = _parameters(model, inner)
    length = rng.choice([1, 1, 2, 3, 4])
    outputs, names = {}, []
    for name, own in states:
        names.append(model.fresh("n"))
        outputs[names[-1]] = {"value": expressions.state_update(rng, inner, name, own)}
    for _ in range(rng.choice([0, 1, 1, 2]) if states else 1):
        names.append(model.fresh("y"))
        outputs[names[-1]] = {"value": expressions.make(rng, inner, model.shape(), 2)}
    args = {"initial_state_and_scan_inputs": [_initial(model, scope, own) for _, own in states] + [str([float(expressions.number(rng)) for _ in range(length)]) for _ in scanned],
            "num_scan_inputs": len(scanned), "body": _body(model, [n for n, _ in states] + scanned, names, outputs, parameters)}
    if rng.random() < 0.2:
        args["scan_input_directions"] = [rng.choice([0, 1]) for _ in scanned]
    return {"function": "onnx::Scan", "args": args}, len(names)


def _branch(model, scope, shape):
    rng = model.rng
    n = rng.choice([1, 1, 2])
    branches = []
    for _ in range(2):
        inner = scope.inner()
        parameters = _parameters(model, inner)
        ports = {model.fresh("y"): {"value": expressions.make(rng, inner, shape if k == 0 else model.shape(), 2)} for k in range(n)}
        names = list(ports)
        branches.append(_body(model, [], names, ports, parameters))
    return {"function": "onnx::If", "args": {"cond": expressions.test(rng, scope), "then_branch": branches[0], "else_branch": branches[1]}}, n
