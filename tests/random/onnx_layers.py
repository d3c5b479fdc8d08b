"""Random calls of convolutions, pools, recurrent networks, quantised numbers and arrays of other sizes. Each function adds calls to a graph, or nothing where nothing fits."""
ACTIVATIONS = ["Tanh", "Sigmoid", "Relu", "Softsign", "Softplus", "HardSigmoid", "LeakyRelu", "Elu"]


def add(g):
    return g.rng.choice(_KINDS)(g, g.rng.choice(["float32", "float32", "float64"]))


def _length(shape):
    n = 1
    for size in shape:
        n *= size
    return n


def _array(g, type, shape):
    """A value that is there, brought into the shape, or a constant."""
    x = g.pick(lambda v: v.type == type and v.shape is not None and _length(v.shape) == _length(shape))
    return g.call("Reshape", [x, g.constant("int64", [len(shape)], shape)], [(type, shape)])[0] if x is not None else g.constant(type, shape)


def windows(g, sizes, with_dilations):
    """Attributes of windows over axes of these sizes, and how many there are of each."""
    kernel = [g.rng.randint(1, min(3, n)) for n in sizes]
    strides, pads = [g.rng.choice([1, 1, 2, 3]) for _ in sizes], [g.rng.randint(0, k - 1) for k in kernel + kernel]
    dilations = [g.rng.choice([1, 1, 2]) if with_dilations and 2 * k - 1 <= n else 1 for k, n in zip(kernel, sizes)]
    rank = len(sizes)
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    counts = [(n + pads[i] + pads[i + rank] - spans[i]) // strides[i] + 1 for i, n in enumerate(sizes)]
    return {"kernel_shape": kernel, "strides": strides, "pads": pads} | ({"dilations": dilations} if with_dilations else {}), counts


def _plane(g):
    return [g.rng.choice([1, 2, 3, 5, 7, 18]) for _ in range(g.rng.choice([1, 2, 2, 3]))]


def _convolve(g, type):
    groups, channels, outputs, batch = g.rng.choice([1, 1, 2, 3]), g.rng.choice([1, 1, 2, 5]), g.rng.choice([1, 2, 7]), g.rng.choice([1, 2])
    sizes = _plane(g)
    attributes, counts = windows(g, sizes, True)
    if min(counts) < 1:
        return False
    inputs = [_array(g, type, [batch, groups * channels] + sizes), g.get(type, [groups * outputs, channels] + attributes["kernel_shape"])]
    if g.rng.random() < 0.6:
        inputs.append(g.get(type, [groups * outputs]))
    return g.call("Conv", inputs, [(type, [batch, groups * outputs] + counts)], group=groups, **attributes)


def _convolve_back(g, type):
    groups, channels, outputs, sizes = g.rng.choice([1, 1, 2]), g.rng.choice([1, 3]), g.rng.choice([1, 2]), _plane(g)[:2]
    kernel, strides = [g.rng.randint(1, 3) for _ in sizes], [g.rng.choice([1, 2, 3]) for _ in sizes]
    pads = [g.rng.randint(0, (k - 1) // 2) for k in kernel + kernel]
    counts = [(n - 1) * s + k - pads[i] - pads[i + len(sizes)] for i, (n, s, k) in enumerate(zip(sizes, strides, kernel))]
    inputs = [_array(g, type, [1, groups * channels] + sizes), g.get(type, [groups * channels, outputs] + kernel)]
    if g.rng.random() < 0.6:
        inputs.append(g.get(type, [groups * outputs]))
    return min(counts) > 0 and g.call("ConvTranspose", inputs, [(type, [1, groups * outputs] + counts)], group=groups, kernel_shape=kernel, strides=strides, pads=pads)


def _pool(g, type):
    sizes, planes = _plane(g), [g.rng.choice([1, 2]), g.rng.choice([1, 3])]
    attributes, counts = windows(g, sizes, False)
    if min(counts) < 1:
        return False
    x, op = _array(g, type, planes + sizes), g.rng.choice(["MaxPool", "AveragePool", "LpPool"])
    if op == "MaxPool" and g.rng.random() < 0.3:
        return g.call(op, [x], [(type, planes + counts), ("int64", planes + counts)], **attributes)
    extra = {"count_include_pad": 1} if op == "AveragePool" and g.rng.random() < 0.3 else {"p": g.rng.choice([1, 2])} if op == "LpPool" else {}
    return g.call(op, [x], [(type, planes + counts)], **attributes, **extra)


def _pool_planes(g, type):
    sizes = _plane(g)
    return g.call(g.rng.choice(["GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"]), [_array(g, type, [2, 3] + sizes)], [(type, [2, 3] + [1] * len(sizes))])


def _recur(g, type):
    op, gates, n_functions = g.rng.choice([("RNN", 1, 1), ("GRU", 3, 2), ("LSTM", 4, 3)])
    steps, batch, n, hidden = g.rng.choice([1, 2, 4]), g.rng.choice([1, 3]), g.rng.choice([1, 3]), g.rng.choice([1, 2, 5])
    direction = g.rng.choice(["forward", "reverse", "bidirectional"])
    directions = 2 if direction == "bidirectional" else 1
    inputs = [_array(g, type, [steps, batch, n]), g.get(type, [directions, gates * hidden, n]), g.get(type, [directions, gates * hidden, hidden]),
              g.rng.choice(["", g.constant(type, [directions, 2 * gates * hidden])]),
              g.rng.choice(["", g.constant("int32", [batch], [g.rng.randint(0, steps) for _ in range(batch)])])]
    state = [directions, batch, hidden]
    if g.rng.random() < 0.5:
        inputs += [g.get(type, state)]
        inputs += [g.get(type, state), g.rng.choice(["", g.constant(type, [directions, 3 * hidden])])] if op == "LSTM" else []
    while inputs[-1] == "":
        inputs.pop()
    attributes = {"hidden_size": hidden, "direction": direction}
    if g.rng.random() < 0.4:
        attributes["activations"] = [g.rng.choice(ACTIVATIONS) for _ in range(directions * n_functions)]
    if g.rng.random() < 0.3:
        attributes["clip"] = 0.75
    if op == "GRU" and g.rng.random() < 0.5:
        attributes["linear_before_reset"] = 1
    if op == "LSTM" and g.rng.random() < 0.3:
        attributes["input_forget"] = 1
    return g.call(op, inputs, [(type, [steps, directions, batch, hidden])] + [(type, state)] * (2 if op == "LSTM" else 1), **attributes)


def _bytes(g, shape):
    """Quantised numbers of that shape, their scale and their zero point."""
    type = g.rng.choice(["uint8", "int8"])
    scale, zero = g.constant("float32", [], [g.rng.choice([0.5, 0.1, 0.02])]), g.constant(type, [], [g.rng.choice([0, 3, 100])])
    if g.rng.random() < 0.3:
        return g.constant(type, shape), scale, zero
    return g.call("QuantizeLinear", [_array(g, "float32", shape), scale, zero], [(type, shape)])[0], scale, zero


def _dequantise(g, _type):
    if g.program.opset < 10:
        return False
    shape = [g.rng.choice([1, 2, 3, 5]) for _ in range(g.rng.choice([1, 2, 3]))]
    x, scale, zero = _bytes(g, shape)
    if g.program.opset >= 13 and g.rng.random() < 0.5:
        axis = g.rng.randrange(len(shape))
        scale = g.constant("float32", [shape[axis]], [g.rng.choice([0.5, 0.1, 0.02]) for _ in range(shape[axis])])
        zero = g.constant(x.type, [shape[axis]], [g.rng.randint(0, 100) for _ in range(shape[axis])])
        x = g.call("QuantizeLinear", [_array(g, "float32", shape), scale, zero], [(x.type, shape)], axis=axis)[0]
        return g.call("DequantizeLinear", [x, scale, zero], [("float32", shape)], axis=axis)
    if g.program.opset >= 11 and g.rng.random() < 0.3:
        return g.call("DynamicQuantizeLinear", [_array(g, "float32", shape)], [("uint8", shape), ("float32", []), ("uint8", [])])
    return g.call("DequantizeLinear", [x, scale, zero], [("float32", shape)])


def _multiply_bytes(g, _type):
    if g.program.opset < 10:
        return False
    m, k, n, batch = g.rng.choice([1, 3]), g.rng.choice([1, 2, 9]), g.rng.choice([1, 4]), g.rng.choice([[], [], [2]])
    a, a_scale, a_zero = _bytes(g, batch + [m, k])
    b, b_scale, b_zero = _bytes(g, g.rng.choice([[], batch]) + [k, n])
    if g.rng.random() < 0.5:
        return g.call("MatMulInteger", g.rng.choice([[a, b], [a, b, a_zero], [a, b, a_zero, b_zero]]), [("int32", batch + [m, n])])
    return g.call("QLinearMatMul", [a, a_scale, a_zero, b, b_scale, b_zero, a_scale, a_zero], [(a.type, batch + [m, n])])


def _convolve_bytes(g, _type):
    groups, channels, outputs, sizes = g.rng.choice([1, 1, 2]), g.rng.choice([1, 3]), g.rng.choice([1, 2]), _plane(g)
    attributes, counts = windows(g, sizes, True)
    if min(counts) < 1 or g.program.opset < 10:
        return False
    x, x_scale, x_zero = _bytes(g, [1, groups * channels] + sizes)
    w, w_scale, w_zero = _bytes(g, [groups * outputs, channels] + attributes["kernel_shape"])
    shape = [1, groups * outputs] + counts
    if g.rng.random() < 0.5:
        return g.call("ConvInteger", g.rng.choice([[x, w], [x, w, x_zero], [x, w, x_zero, w_zero]]), [("int32", shape)], group=groups, **attributes)
    bias = [g.constant("int32", [groups * outputs], [g.rng.randint(-900, 900) for _ in range(groups * outputs)])] if g.rng.random() < 0.5 else []
    return g.call("QLinearConv", [x, x_scale, x_zero, w, w_scale, w_zero, x_scale, x_zero] + bias, [(x.type, shape)], group=groups, **attributes)


def _resize(g, type):
    if g.program.opset < 13:
        return False
    shape = [g.rng.choice([1, 2, 3, 4]) for _ in range(g.rng.choice([1, 2, 3]))]
    sizes = [g.rng.choice([n, n, g.rng.randint(1, 7)]) for n in shape]
    attributes = {"mode": g.rng.choice(["nearest", "linear", "cubic"]),
                  "coordinate_transformation_mode": g.rng.choice(["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"])}
    if attributes["mode"] == "nearest":
        type = g.rng.choice([type, "int64", "uint8"])
    return g.call("Resize", [_array(g, type, shape), "", "", g.constant("int64", [len(sizes)], sizes)], [(type, sizes)], **attributes)


def _normalise_groups(g, type):
    groups, channels, sizes = g.rng.choice([1, 2, 3]), g.rng.choice([1, 2]), _plane(g)
    shape = [g.rng.choice([1, 2]), groups * channels] + sizes
    if g.rng.random() < 0.3:
        return g.call("LRN", [_array(g, type, shape)], [(type, shape)], size=g.rng.choice([1, 2, 3]))
    if g.program.opset < 21:
        return False
    return g.call("GroupNormalization", [_array(g, type, shape)] + [g.get(type, [groups * channels]) for _ in range(2)], [(type, shape)], num_groups=groups)


_KINDS = [_dequantise, _multiply_bytes, _convolve_bytes, _resize, _normalise_groups] + [_convolve, _convolve, _convolve_back, _pool, _pool_planes, _recur, _recur]
