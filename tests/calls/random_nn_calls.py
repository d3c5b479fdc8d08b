"""Random calls of the operators of neural networks, for tests/calls/sweep_operators.py --random N --family nn: all attributes and optional inputs, in the versions that
differ."""
import numpy as np

REALS = ["float", "float", "float", "double"]


def small(s, n, low=1, high=5):
    return [int(s.random.integers(low, high)) for _ in range(n)]


def window(s, rank, pooled=False):
    """Attributes of a window, and sizes of axes that it fits in."""
    kernel, strides, dilations = small(s, rank, 1, 4), small(s, rank, 1, 4), small(s, rank, 1, 3)
    auto = s.pick(["NOTSET"] * 4 + ["SAME_UPPER", "SAME_LOWER", "VALID"])
    pads = [int(s.random.integers(0, k if pooled else k + 1)) for k in kernel + kernel]
    sizes = [int(s.random.integers((k - 1) * d + 1, 12)) for k, d in zip(kernel, dilations)]
    attributes = {"strides": strides, "dilations": dilations}
    attributes.update({"auto_pad": auto} if auto != "NOTSET" else {"pads": pads} if s.random.random() < 0.7 else {})
    for name in ("strides", "dilations"):
        if s.random.random() < 0.2:
            attributes[name] = [1] * rank
            if s.random.random() < 0.5:
                del attributes[name]
    return kernel, sizes, attributes


def pools(s, allowed):
    op, rank = s.pick(["MaxPool", "AveragePool", "LpPool"]), int(s.random.integers(1, 4))
    kernel, sizes, attributes = window(s, rank, True)
    x = s.array(s.pick(REALS), (int(s.random.integers(1, 3)), int(s.random.integers(1, 4)), *sizes), 0)
    attributes.update(kernel_shape=kernel, ceil_mode=int(s.random.integers(2)))
    version = {"MaxPool": s.pick([8, 10, 11, 12, 22]), "AveragePool": s.pick([7, 10, 11, 19, 22]), "LpPool": s.pick([2, 11, 18, 22])}[op]
    if version < {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op]:
        attributes.pop("dilations", None)
    if version < {"MaxPool": 10, "AveragePool": 10, "LpPool": 18}[op]:
        attributes.pop("ceil_mode")
    if op == "AveragePool":
        attributes["count_include_pad"] = int(s.random.integers(2))
    if op == "LpPool":
        attributes["p"] = int(s.random.integers(1, 4))
    outputs = 1
    if op == "MaxPool" and s.random.random() < 0.5:
        attributes["storage_order"], outputs = int(s.random.integers(2)), 2
    return op, [x], attributes, {"version": version, "outputs": outputs}


def convolutions(s, allowed):
    op, rank = s.pick(["Conv", "ConvTranspose", "ConvTranspose", "ConvInteger", "QLinearConv"]), int(s.random.integers(1, 4))
    kernel, sizes, attributes = window(s, rank)
    n, group, per, out = (int(s.pick(v)) for v in ([1, 2], [1, 1, 2, 3], [1, 2, 3], [1, 2, 4]))
    x_shape = (n, group * per, *sizes)
    w_shape = (group * per, out, *kernel) if op == "ConvTranspose" else (group * out, per, *kernel)
    attributes["group"] = group
    if s.random.random() < 0.5:
        attributes["kernel_shape"] = kernel
    if op in ("Conv", "ConvTranspose"):
        name = s.pick(REALS)
        bias = [s.array(name, (group * out,), 0)] if s.random.random() < 0.5 else []
        if op == "ConvTranspose":
            strides, dilations = attributes.get("strides", [1] * rank), attributes.get("dilations", [1] * rank)
            if s.random.random() < 0.5:
                attributes["output_padding"] = [int(s.random.integers(0, max(a, b))) for a, b in zip(strides, dilations)]
            elif s.random.random() < 0.3:
                attributes.pop("pads", None)
                attributes["output_shape"] = [(size - 1) * a + (k - 1) * d + 1 - int(s.random.integers(0, 2)) for size, a, k, d in zip(sizes, strides, kernel, dilations)]
        return op, [s.array(name, x_shape, 0), s.array(name, w_shape, 0), *bias], attributes, {"version": s.pick([1, 11, 22])}
    x = s.random.integers(0, 256, x_shape).astype(np.uint8)
    w = s.random.integers(0, 256, w_shape).astype(np.uint8) if s.random.random() < 0.5 else s.random.integers(-128, 128, w_shape).astype(np.int8)
    zero = np.array(int(s.random.integers(0, 255)), np.uint8)
    per_channel = op == "QLinearConv" and s.random.random() < 0.5
    w_zero = np.zeros((group * out,) if per_channel else (), w.dtype) + (int(s.random.integers(0, 100)) if w.dtype == np.uint8 and not per_channel else 0)
    w_zero = w_zero.astype(w.dtype)
    if op == "ConvInteger":
        return op, [x, w, zero, w_zero][: int(s.random.integers(2, 5))], attributes
    scale = (s.random.uniform(0.01, 0.1, (group * out,) if per_channel else ())).astype(np.float32)
    bias = [s.random.integers(-1000, 1000, group * out).astype(np.int32)] if s.random.random() < 0.5 else []
    return op, [x, np.float32(0.05).reshape(()), zero, w, np.asarray(scale), w_zero, np.array(s.random.uniform(0.1, 9), np.float32), np.array(int(s.random.integers(0, 255)), np.uint8), *bias], attributes


def resizes(s, allowed):
    version, rank = s.pick([10, 11, 13, 18, 19, 19]), int(s.pick([1, 2, 3, 4]))
    mode = s.pick(["nearest", "linear", "cubic"])
    if version == 10 and mode == "cubic":
        mode = "nearest"
    name = s.pick(["float", "float", "uint8", "int32", "double"])
    shape = tuple(small(s, rank, 1, 8))
    x = s.array(name, shape, 0, 0, 9)
    still = [i < rank - (2 if mode == "cubic" else rank) for i in range(rank)]
    scales = np.array([1.0 if still[i] else s.pick([1.0, 0.5, 0.6, 1.5, 2.0, 2.3, 3.0, 0.8]) for i in range(rank)], np.float32)
    if version == 10:
        return "Resize", [x, scales], {"mode": mode}, {"version": 10}
    coordinates = s.pick(["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"] + (["half_pixel_symmetric"] if version >= 19 else []))
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates}
    roi = np.array([], np.float32)
    if coordinates == "tf_crop_and_resize":
        roi = np.array([0.0 if t else float(s.pick([0.0, 0.1, 0.25])) for t in still] + [1.0 if t else float(s.pick([1.0, 0.9, 0.6, 1.2])) for t in still], np.float32)
        attributes["extrapolation_value"] = 9.0
    if mode == "nearest":
        attributes["nearest_mode"] = s.pick(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic":
        attributes["cubic_coeff_a"] = float(s.pick([-0.75, -0.5]))
        if coordinates != "tf_crop_and_resize":
            attributes["exclude_outside"] = int(s.random.integers(2))
    by_size = s.random.random() < 0.4
    sizes = np.array([n if still[i] else max(1, int(n * k)) for i, (n, k) in enumerate(zip(shape, scales))], np.int64)
    if version >= 18:
        if mode != "nearest" and s.random.random() < 0.3 and coordinates != "tf_crop_and_resize":
            attributes["antialias"] = 1
        if by_size and s.random.random() < 0.4:
            attributes["keep_aspect_ratio_policy"] = s.pick(["stretch", "not_larger", "not_smaller"])
        if rank > 1 and s.random.random() < 0.3 and mode != "cubic":
            axes = sorted(s.random.permutation(rank)[: int(s.random.integers(1, rank))].tolist())
            attributes["axes"] = [a - rank if s.random.random() < 0.3 else a for a in axes]
            sizes, scales = sizes[axes], scales[axes]
            roi = np.concatenate([roi[:rank][axes], roi[rank:][axes]]) if len(roi) else roi
    inputs = [x, roi if version < 13 or len(roi) else None]
    return "Resize", inputs + ([np.array([], np.float32) if version < 13 else None, sizes] if by_size else [scales]), attributes, {"version": version}


def recurrent(s, allowed):
    op = s.pick(["RNN", "GRU", "LSTM"])
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    direction = s.pick(["forward", "reverse", "bidirectional"])
    d, length, batch, n_in, n = 2 if direction == "bidirectional" else 1, *small(s, 4, 1, 6)
    name, version = "float" if s.random.random() < 0.8 else "double", s.pick([7, 14, 22])
    layout = int(version >= 14 and s.random.random() < 0.3)

    def some(*shape):
        return s.array(name, shape, 0, -1, 1)

    x = some(*((batch, length) if layout else (length, batch)), n_in)
    state = (batch, d, n) if layout else (d, batch, n)
    inputs = [x, some(d, gates * n, n_in), some(d, gates * n, n), some(d, 2 * gates * n) if s.random.random() < 0.6 else None,
              s.random.integers(1, length + 1, batch).astype(np.int32) if s.random.random() < 0.4 else None, some(*state) if s.random.random() < 0.5 else None]
    attributes = {"hidden_size": n, "direction": direction, **({"layout": layout} if version >= 14 else {})}
    if op == "LSTM":
        inputs += [some(*state) if s.random.random() < 0.5 else None, some(d, 3 * n) if s.random.random() < 0.4 else None]
        if s.random.random() < 0.2:
            attributes["input_forget"] = 1
    if op == "GRU":
        attributes["linear_before_reset"] = int(s.random.integers(2))
    if s.random.random() < 0.3:
        attributes["clip"] = 0.5
    if s.random.random() < 0.4:
        activations = ["Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "HardSigmoid", "Elu", "Softsign", "Softplus"]
        count = d * {"RNN": 1, "GRU": 2, "LSTM": 3}[op]
        attributes["activations"] = [s.pick(activations) for _ in range(count)]
        alphas = {"Affine": (1.5, 0.5), "LeakyRelu": (0.1,), "ThresholdedRelu": (0.3,), "HardSigmoid": (0.3, 0.4), "Elu": (0.7,)}
        if s.random.random() < 0.7 or set(attributes["activations"]) & {"Affine"}:
            attributes["activation_alpha"] = [alphas[a][0] if a in alphas else 0.0 for a in attributes["activations"]]
            attributes["activation_beta"] = [alphas[a][1] if len(alphas.get(a, ())) > 1 else 0.0 for a in attributes["activations"]]
    while inputs[-1] is None:
        inputs.pop()
    return op, inputs, attributes, {"version": version, "outputs": 3 if op == "LSTM" else 2}


def normalisations(s, allowed):
    op = s.pick(["BatchNormalization", "InstanceNormalization", "LayerNormalization", "GroupNormalization", "RMSNormalization", "LRN", "MeanVarianceNormalization",
                 "LpNormalization"])
    name, rank = s.pick(REALS), int(s.random.integers(2, 5))
    shape = tuple(small(s, rank, 1, 6))
    x, c = s.array(name, shape, 0), shape[1]
    epsilon = {"epsilon": float(s.pick([1e-5, 1e-3, 0.1]))}
    if op == "BatchNormalization":
        version = s.pick([7, 9, 14, 15])
        parts = [s.array(name, (c,), 0), s.array(name, (c,), 0), s.array(name, (c,), 0), s.array(name, (c,), 0, 0.1, 3)]
        training = version >= 14 and s.random.random() < 0.4
        return op, [x, *parts], {**epsilon, "momentum": 0.8, **({"training_mode": 1} if training else {})}, {"version": version, "outputs": 3 if training else 1}
    if op == "InstanceNormalization":
        x = s.array(name, tuple(small(s, max(rank, 3), 2, 6)), 0)
        return op, [x, s.array(name, (x.shape[1],), 0), s.array(name, (x.shape[1],), 0)], epsilon
    if op == "GroupNormalization":
        groups, version = int(s.random.integers(1, 4)), s.pick([18, 21])
        x = s.array(name, (2, groups * 2, *small(s, 2, 1, 5)), 0)
        n = groups if version == 18 else groups * 2
        return op, [x, s.array(name, (n,), 0), s.array(name, (n,), 0)], {**epsilon, "num_groups": groups}, {"version": version}
    if op in ("LayerNormalization", "RMSNormalization"):
        axis = s.axis(rank)
        tail = shape[axis % rank :]
        parts = [s.array(name, tail, 0)] + ([s.array(name, tail, 0)] if op[0] == "L" and s.random.random() < 0.5 else [])
        return op, [x, *parts], {**epsilon, "axis": axis}, {"outputs": s.pick([1, 3]) if op[0] == "L" else 1}
    if op == "LRN":
        x = s.array(name, (2, int(s.random.integers(1, 9)), *small(s, 2, 1, 4)), 0)
        return op, [x], {"size": int(s.pick([1, 2, 3, 4, 5])), "alpha": 0.05, "beta": 0.6, "bias": 1.5}
    if op == "MeanVarianceNormalization":
        axes = sorted(s.random.permutation(rank)[: int(s.random.integers(1, rank + 1))].tolist())
        return op, [x], {"axes": axes}
    return op, [s.array(name, shape, 0, 1, 4)], {"axis": s.axis(rank), "p": int(s.pick([1, 2]))}


def regions(s, allowed):
    op = s.pick(["RoiAlign", "RoiAlign", "MaxRoiPool", "NonMaxSuppression", "GridSample", "GridSample", "MaxUnpool", "Upsample", "GlobalLpPool", "DepthToSpace", "Col2Im"])
    name = s.pick(["float", "double"]) if op in ("RoiAlign", "GridSample") else "float"
    n, c, h, w = int(s.random.integers(1, 3)), int(s.random.integers(1, 4)), *small(s, 2, 2, 9)
    x = s.array(name, (n, c, h, w), 0)
    count = int(s.random.integers(1, 4))
    corners = np.sort(s.random.uniform(-1, 10, (count, 2, 2)), axis=1).reshape(count, 4)
    if s.random.random() < 0.5:  # of one decimal place, and whole numbers of elements: the points of a cell are counted in float32
        corners = np.round(corners, 1)
        corners[:, 2:] = corners[:, :2] + s.random.integers(1, 8, (count, 2))
    if op == "RoiAlign":
        version = s.pick([10, 16, 22])
        attributes = {"mode": s.pick(["avg", "max"]), "output_height": int(s.random.integers(1, 4)), "output_width": int(s.random.integers(1, 4)),
                      "sampling_ratio": int(s.random.integers(0, 3)), "spatial_scale": float(s.pick([1.0, 0.5, 0.7]))}
        if version >= 16:
            attributes["coordinate_transformation_mode"] = s.pick(["half_pixel", "output_half_pixel"])
        return op, [x, corners.astype(x.dtype), s.random.integers(0, n, count).astype(np.int64)], attributes, {"version": version}
    if op == "MaxRoiPool":
        rois = np.concatenate([s.random.integers(0, n, (count, 1)), np.round(np.clip(corners, 0, 8))], axis=1).astype(np.float32)
        return op, [x, rois], {"pooled_shape": small(s, 2, 1, 4), "spatial_scale": float(s.pick([1.0, 0.5]))}
    if op == "NonMaxSuppression":
        k, classes = int(s.random.integers(1, 9)), int(s.random.integers(1, 3))
        boxes = s.random.uniform(0, 1, (n, k, 4)).astype(np.float32)
        scores = s.random.permutation(n * classes * k).reshape(n, classes, k).astype(np.float32) / 10
        more = [np.array([int(s.random.integers(0, 5))], np.int64), np.array([s.pick([0.0, 0.3, 0.6])], np.float32), np.array([s.pick([0.0, 0.5])], np.float32)]
        return op, [boxes, scores, *more[: int(s.random.integers(1, 4))]], {"center_point_box": int(s.random.integers(2))}, {"version": s.pick([10, 11])}
    if op == "GridSample":
        version = s.pick([16, 20, 22])
        modes = ["bilinear", "nearest", "bicubic"] if version == 16 else ["linear", "nearest", "cubic"]
        attributes = {"mode": s.pick(modes), "padding_mode": s.pick(["zeros", "border", "reflection"]), "align_corners": int(s.random.integers(2))}
        if version > 16 and "cubic" not in attributes["mode"] and s.random.random() < 0.3:
            x = s.array(name, (n, c, h, w, 3), 0)
            return op, [x, s.random.uniform(-1.3, 1.3, (n, 2, 3, 2, 3)).astype(x.dtype)], attributes, {"version": version}
        return op, [x, s.random.uniform(-1.4, 1.4, (n, 3, 4, 2)).astype(x.dtype)], attributes, {"version": version}
    if op == "MaxUnpool":
        kernel, strides = small(s, 2, 2, 4), small(s, 2, 2, 4)
        size = [(a - 1) * t + k for a, k, t in zip((h, w), kernel, strides)]
        at = np.stack([s.random.permutation(n * c * size[0] * size[1])[: n * c * h * w]]).reshape(n, c, h, w).astype(np.int64)
        return op, [x, at], {"kernel_shape": kernel, "strides": strides}
    if op == "Upsample":
        scales = [1.0, 1.0, float(s.pick([1.0, 1.5, 2.0, 3.0])), float(s.pick([1.0, 2.0, 2.5]))]
        if s.random.random() < 0.5:
            return op, [x], {"mode": s.pick(["nearest", "linear"]), "scales": scales}, {"version": 7}
        return op, [x, np.array(scales, np.float32)], {"mode": s.pick(["nearest", "linear"])}, {"version": 9}
    if op == "GlobalLpPool":
        return op, [x], {"p": int(s.random.integers(1, 4))}
    if op == "DepthToSpace":
        block = int(s.random.integers(1, 4))
        if s.random.random() < 0.5:
            return "SpaceToDepth", [s.array("float", (n, c, h * block, w * block), 0)], {"blocksize": block}
        return op, [s.array("float", (n, c * block * block, h, w), 0)], {"blocksize": block, "mode": s.pick(["DCR", "CRD"])}
    image, block, strides, dilations, pads = small(s, 2, 5, 9), small(s, 2, 1, 3), small(s, 2, 1, 3), small(s, 2, 1, 3), small(s, 4, 0, 2)
    steps = [(image[i] + pads[i] + pads[i + 2] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(2)]
    data = s.array("float", (n, c * block[0] * block[1], steps[0] * steps[1]), 0)
    return op, [data, np.array(image, np.int64), np.array(block, np.int64)], {"strides": strides, "dilations": dilations, "pads": pads}


def deformed(s, allowed):
    kernel, strides, dilations, pads = small(s, 2, 1, 4), small(s, 2, 1, 3), small(s, 2, 1, 3), small(s, 4, 0, 2)
    group, offsets, n, per = int(s.pick([1, 2])), int(s.pick([1, 2])), int(s.pick([1, 2])), int(s.pick([1, 2]))
    size = [int(s.random.integers((k - 1) * d + 1, 8)) for k, d in zip(kernel, dilations)]
    out = [(size[i] + pads[i] + pads[i + 2] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(2)]
    name, taps = s.pick(REALS), offsets * kernel[0] * kernel[1]
    inputs = [s.array(name, (n, 2 * per, *size), 0), s.array(name, (2 * group, 2 * per // group, *kernel), 0), s.array(name, (n, 2 * taps, *out), 0, -2, 2)]
    inputs += [s.array(name, (2 * group,), 0) if s.random.random() < 0.5 else None, s.array(name, (n, taps, *out), 0, 0, 1) if s.random.random() < 0.5 else None]
    while inputs[-1] is None:
        inputs.pop()
    return "DeformConv", inputs, {"group": group, "offset_group": offsets, "strides": strides, "dilations": dilations, "pads": pads}, {"version": s.pick([19, 22])}


def losses(s, allowed):
    op, version = s.pick(["SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"]), s.pick([12, 13])
    n, c, tail = int(s.random.integers(1, 4)), int(s.random.integers(1, 5)), small(s, int(s.random.integers(0, 3)), 1, 4)
    target = s.random.integers(0, c, (n, *tail)).astype(s.pick([np.int64, np.int32]))
    attributes = {"reduction": s.pick(["none", "sum", "mean"])}
    if s.random.random() < 0.4:
        attributes["ignore_index"] = int(s.pick([0, -1, 255]))
        target = np.where(s.random.random(target.shape) < 0.3, attributes["ignore_index"], target).astype(target.dtype)
    inputs = [s.array(s.pick(REALS), (n, c, *tail), 0), target]
    if s.random.random() < 0.5:
        inputs.append(s.array("float" if inputs[0].dtype == np.float32 else "double", (c,), 0, 0.1, 2))
    return op, inputs, attributes, {"version": version, "outputs": s.pick([1, 2]) if op[0] == "S" else 1}


def attentions(s, allowed):
    version = s.pick([23, 24])
    n, q_heads, q_len, kv_len, size, v_size = (int(s.pick(v)) for v in ([1, 2], [1, 2, 4], [1, 3, 4], [1, 2, 5, 6], [1, 2, 4], [1, 2, 4]))
    kv_heads = int(s.pick([h for h in (1, 2, 4) if q_heads % h == 0]))
    attributes = {"is_causal": int(s.random.integers(2))} if s.random.random() < 0.5 else {}
    if s.random.random() < 0.3:
        attributes["scale"] = 0.3
    if s.random.random() < 0.3:
        attributes["softcap"] = 2.0
    q, k, v = s.array("float", (n, q_heads, q_len, size), 0), s.array("float", (n, kv_heads, kv_len, size), 0), s.array("float", (n, kv_heads, kv_len, v_size), 0)
    past, outputs, total = [], 1, kv_len
    if s.random.random() < 0.3:
        length = int(s.random.integers(1, 4))
        past, outputs, total = [s.array("float", (n, kv_heads, length, size), 0), s.array("float", (n, kv_heads, length, v_size), 0)], 3, kv_len + length
    if s.random.random() < 0.3:
        attributes["qk_matmul_output_mode"], outputs = int(s.random.integers(4)), 4
    if s.random.random() < 0.3 and not past and outputs == 1:
        q, k, v = (np.ascontiguousarray(a.transpose(0, 2, 1, 3)).reshape(n, a.shape[2], -1) for a in (q, k, v))
        attributes.update(q_num_heads=q_heads, kv_num_heads=kv_heads)
    mask = None
    if s.random.random() < 0.5:
        of = s.pick([(q_len, total), (n, 1, q_len, total), (n, q_heads, q_len, total), (1, total)])
        mask = s.array("bool", of) if s.random.random() < 0.5 else s.array("float", of, 0)
    inputs = [q, k, v] + ([mask] if mask is not None or past else []) + past
    return "Attention", inputs, attributes, {"version": version, "outputs": outputs}


FAMILIES = [pools, pools, convolutions, convolutions, resizes, resizes, recurrent, recurrent, normalisations, regions, regions, deformed, losses, attentions]
