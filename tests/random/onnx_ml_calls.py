"""Random calls of operators of ai.onnx.ml on rows of features. Each function adds calls to a graph, or nothing where nothing fits."""
TYPES = ("float32", "float32", "float64", "int64", "int32")
TRANSFORMS = ["NONE", "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"]


def add(g):
    x = g.pick(lambda v: v.type in TYPES and v.shape is not None and len(v.shape) in (1, 2) and 0 not in v.shape)
    return x is not None and g.program.opset >= 9 and g.rng.choice(_KINDS)(g, x, x.shape[-1], x.shape[0] if len(x.shape) == 2 else 1)


def _reals(g, n):
    return [float(g.rng.choice([0, 1, -1, 0.5, round(g.rng.uniform(-3, 3), 2)])) for _ in range(n)]


def _call(g, op, inputs, outputs, **attributes):
    return g.call("ai.onnx.ml::" + op, inputs, outputs, **attributes)


def _scale(g, x, n, rows):
    return _call(g, "Scaler", [x], [("float32", x.shape)], offset=_reals(g, g.rng.choice([1, n])), scale=_reals(g, n))


def _normalise(g, x, n, rows):
    return _call(g, "Normalizer", [x], [("float32", x.shape)], norm=g.rng.choice(["MAX", "L1", "L2"]))


def _binarise(g, x, n, rows):
    return _call(g, "Binarizer", [x], [(x.type, x.shape)], threshold=0.5)


def _regress(g, x, n, rows):
    targets = g.rng.choice([1, 2, 3])
    return _call(g, "LinearRegressor", [x], [("float32", [rows, targets])], coefficients=_reals(g, n * targets), intercepts=_reals(g, targets), targets=targets,
                 post_transform=g.rng.choice(TRANSFORMS))


def _classify(g, x, n, rows):
    classes = g.rng.choice([2, 3])
    return _call(g, "LinearClassifier", [x], [("int64", [rows]), ("float32", [rows, classes])], coefficients=_reals(g, n * classes), intercepts=_reals(g, classes),
                 classlabels_ints=[g.rng.randint(-3, 9) for _ in range(classes)], post_transform=g.rng.choice(TRANSFORMS))


def _encode(g, x, n, rows):
    kinds = sorted(g.rng.sample(range(-4, 7), 5))
    return _call(g, "OneHotEncoder", [x], [("float32", x.shape + [5])], cats_int64s=kinds, zeros=1)


def _trees(g, n, targets):
    """Trees of one to three levels, as attributes of nodes, and the leaves: (tree, node)."""
    nodes, leaves = {key: [] for key in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids", "missing_value_tracks_true")}, []
    for tree in range(g.rng.choice([1, 2, 3])):
        first = len(nodes["treeids"])

        def grow(depth):
            number = len(nodes["treeids"]) - first
            is_leaf = depth == 0 or g.rng.random() < 0.2
            row = [tree, number, g.rng.randrange(n), 0.0 if is_leaf else _reals(g, 1)[0],
                   "LEAF" if is_leaf else g.rng.choice(["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]), 0, 0, g.rng.choice([0, 0, 1])]
            for key, value in zip(nodes, row):
                nodes[key].append(value)
            if is_leaf:
                leaves.append((tree, number))
                return number
            for side in ("truenodeids", "falsenodeids"):
                child = grow(depth - 1)
                nodes[side][first + number] = child
            return number

        grow(g.rng.choice([1, 2, 3]))
    return {f"nodes_{key}": value for key, value in nodes.items()}, leaves


def _forest(g, x, n, rows):
    targets = g.rng.choice([1, 2, 3])
    nodes, leaves = _trees(g, n, targets)
    shares = [(tree, node, target) for tree, node in leaves for target in range(targets) if g.rng.random() < 0.7]
    base = {"base_values": _reals(g, g.rng.choice([1, targets]))} if g.rng.random() < 0.4 else {}
    def shared(prefix):
        return {f"{prefix}_treeids": [s[0] for s in shares], f"{prefix}_nodeids": [s[1] for s in shares], f"{prefix}_ids": [s[2] for s in shares],
                f"{prefix}_weights": _reals(g, len(shares))}
    if not shares:
        return False
    if g.rng.random() < 0.5:
        return _call(g, "TreeEnsembleRegressor", [x], [("float32", [rows, targets])], **nodes, **base, **shared("target"), n_targets=targets,
                     aggregate_function=g.rng.choice(["SUM", "AVERAGE", "MIN", "MAX"]), post_transform=g.rng.choice(TRANSFORMS))
    labels = [g.rng.randint(-3, 9) for _ in range(targets)]
    scores = 2 if targets <= 2 and len({s[2] for s in shares}) == 1 else targets
    return _call(g, "TreeEnsembleClassifier", [x], [("int64", [rows]), ("float32", [rows, scores])], **nodes, **base, **shared("class"), classlabels_int64s=labels,
                 post_transform=g.rng.choice(TRANSFORMS))


def _machine(g, x, n, rows):
    kernel = {"kernel_type": g.rng.choice(["LINEAR", "POLY", "RBF", "SIGMOID"]), "kernel_params": [0.5, 0.25, 2.0]}
    if g.rng.random() < 0.5:
        vectors = g.rng.choice([0, 1, 3])
        return _call(g, "SVMRegressor", [x], [("float32", [rows, 1])], **kernel, n_supports=vectors, coefficients=_reals(g, vectors or n), rho=_reals(g, 1),
                     **({"support_vectors": _reals(g, vectors * n)} if vectors else {}))
    counts = [g.rng.randint(1, 2) for _ in range(g.rng.choice([2, 3]))]
    classes, pairs = len(counts), len(counts) * (len(counts) - 1) // 2
    chances = {"prob_a": _reals(g, pairs), "prob_b": _reals(g, pairs)} if g.rng.random() < 0.5 else {}
    return _call(g, "SVMClassifier", [x], [("int64", [rows]), ("float32", [rows, classes if chances or classes == 2 else pairs])], **kernel, **chances,
                 vectors_per_class=counts, support_vectors=_reals(g, sum(counts) * n), coefficients=_reals(g, sum(counts) * (classes - 1)), rho=_reals(g, pairs),
                 classlabels_ints=[g.rng.randint(-3, 9) for _ in counts])


def _label(g, x, n, rows):
    if "int" in x.type:
        keys = {"keys_int64s": [0, 1, 2, 3]}
    else:
        keys = {"keys_floats": [0.0, 1.0, 0.5, -1.0]}
    if x.type not in ("int64", "float32"):
        return False
    values = g.rng.choice([{"values_int64s": [5, -6, 7, 8], "default_int64": 3}, {"values_floats": _reals(g, 4), "default_float": 0.25}])
    return _call(g, "LabelEncoder", [x], [("int64" if "values_int64s" in values else "float32", x.shape)], **keys, **values)


_KINDS = [_machine, _label, _scale, _normalise, _binarise, _regress, _classify, _encode, _forest, _forest]
