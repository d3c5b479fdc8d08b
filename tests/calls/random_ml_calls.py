"""Random calls of the operators of ai.onnx.ml, for tests/calls/sweep_operators.py --random N --family ml: models as scikit-learn and LightGBM make them, of random sizes,
labels of both kinds, all post transforms, numbers of all types, some missing."""
import numpy as np

POST = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]
WORDS = ["a", "b", "cat", "dög", "", "Straße", "7", "x y"]
ML = {"domain": "ai.onnx.ml"}


def floats(s, *shape, low=-2.0, high=2.0):
    return [float(np.float32(v)) for v in s.random.uniform(low, high, shape).ravel()]


def rows(s, name, n, c, low=-4, high=4):
    """n rows of c numbers; now and then some of them are halves, so that they meet thresholds."""
    a = s.array(name, (n, c), 0, low, high)
    return (np.round(a * 2) / 2).astype(a.dtype) if name in ("float", "double") and s.random.random() < 0.5 else a


def sizes(s):
    return int(s.pick([1, 1, 2, 5, 9, 40])), int(s.pick([1, 2, 3, 7]))


def labels(s, n):
    """Class labels of either kind: {attribute: values}."""
    if s.random.random() < 0.5:
        return {"int64s": s.random.permutation(20)[:n].tolist()}
    return {"strings": [WORDS[i] for i in s.random.permutation(len(WORDS))[:n]]}


def linear(s, allowed):
    n, c = sizes(s)
    x = rows(s, s.pick(["float", "float", "double", "int64", "int32"]), n, c)
    if s.random.random() < 0.5:
        targets = int(s.random.integers(1, 4))
        attributes = {"coefficients": floats(s, targets, c), "targets": targets, "post_transform": s.pick(POST[:4] if targets > 1 else ["NONE", "LOGISTIC"])}
        return "LinearRegressor", [x], {**attributes, **({"intercepts": floats(s, targets)} if s.random.random() < 0.7 else {})}, ML
    classes = int(s.random.integers(2, 5))
    scores = 1 if classes == 2 and s.random.random() < 0.5 else classes
    names = {"classlabels_ints" if k == "int64s" else "classlabels_strings": v for k, v in labels(s, classes).items()}
    attributes = {"coefficients": floats(s, scores, c), "intercepts": floats(s, scores), "post_transform": s.pick(POST if scores > 1 else ["NONE", "LOGISTIC"]), **names}
    return "LinearClassifier", [x], attributes, {**ML, "outputs": 2}


def columns(s, allowed):
    """Operators that change each number by itself, or by its row."""
    n, c = sizes(s)
    op, name = s.pick(["Normalizer", "Scaler", "Imputer", "Binarizer", "ArrayFeatureExtractor", "FeatureVectorizer"]), s.pick(["float", "double", "int64", "int32"])
    x = rows(s, name, n, c)
    if op == "Normalizer":
        return op, [x], {"norm": s.pick(["MAX", "L1", "L2"])}, ML
    if op == "Scaler":
        k = s.pick([1, c])
        return op, [x], {"offset": floats(s, k), "scale": floats(s, k)}, ML
    if op == "Imputer":
        k = s.pick([1, c])
        if name.startswith("int"):
            return op, [x.astype(np.int64)], {"imputed_value_int64s": s.random.integers(-9, 9, k).tolist(), "replaced_value_int64": int(s.random.integers(-2, 3))}, ML
        x = x.astype(np.float32)
        x[s.random.random(x.shape) < 0.3] = np.nan
        return op, [x], {"imputed_value_floats": floats(s, k), "replaced_value_float": float(s.pick([np.nan, 1.0, 0.5]))}, ML
    if op == "Binarizer":
        return op, [x.astype(np.float32)], {"threshold": float(s.pick([0.0, 0.5, 1.0, -1.5]))}, ML
    if op == "ArrayFeatureExtractor":
        return op, [x, s.random.integers(0, c, int(s.random.integers(1, 5))).astype(np.int64)], {}, ML
    widths = [int(s.random.integers(1, 4)) for _ in range(int(s.random.integers(1, 4)))]
    return op, [rows(s, name, n, w) for w in widths], {"inputdimensions": widths}, ML


def coded(s, allowed):
    """Words to numbers and back."""
    op = s.pick(["OneHotEncoder", "LabelEncoder", "LabelEncoder", "CategoryMapper"])
    n = int(s.pick([1, 3, 8]))
    words = np.array([s.pick(WORDS) for _ in range(n)], dtype=object)
    whole = s.random.integers(0, 8, n).astype(np.int64)
    some = s.random.permutation(len(WORDS))[: int(s.random.integers(1, 6))].tolist()
    names = [WORDS[i] for i in some]
    if op == "OneHotEncoder":
        zeros = {"zeros": int(s.random.integers(2))}
        if not zeros["zeros"]:  # an unknown one is refused
            words, whole = np.array([s.pick(names) for _ in range(n)], dtype=object), np.array([s.pick(some) for _ in range(n)], np.int64)
        if s.random.random() < 0.5:
            return op, [words], {"cats_strings": names, **zeros}, ML
        return op, [whole.astype(s.pick([np.int64, np.int32, np.float32, np.float64]))], {"cats_int64s": some, **zeros}, ML
    if op == "CategoryMapper":
        attributes = {"cats_int64s": some, "cats_strings": names, "default_int64": -7, "default_string": "none"}
        return op, [s.pick([words, whole])], attributes, ML
    reals = [float(v) / 2 for v in some]
    kinds = {"strings": (words, names, "default_string", "?"), "int64s": (whole, some, "default_int64", -5), "floats": ((whole / 2).astype(np.float32), reals, "default_float", -0.5)}
    key, value = s.pick(list(kinds)), s.pick(list(kinds))
    if s.random.random() < 0.2:
        return op, [s.pick([words, whole])], {"classes_strings": WORDS[:5], "default_int64": -3, "default_string": "none"}, {**ML, "version": 1}
    attributes = {f"keys_{key}": kinds[key][1], f"values_{value}": kinds[value][1][::-1]}
    if s.random.random() < 0.7:
        attributes[kinds[value][2]] = kinds[value][3]
    return op, [kinds[key][0]], attributes, {**ML, "version": s.pick([2, 4])}


def svm(s, allowed):
    n, c = sizes(s)
    kernel = s.pick(["LINEAR", "POLY", "RBF", "SIGMOID"])
    x = rows(s, s.pick(["float", "double", "int64", "int32"]), n, c)
    shared = {"kernel_type": kernel, "kernel_params": [float(np.float32(v)) for v in (s.random.uniform(0.1, 1), s.random.uniform(-1, 1), s.pick([2, 3]))]}
    if s.random.random() < 0.4:
        supports = int(s.random.integers(1, 6))
        attributes = {**shared, "support_vectors": floats(s, supports, c), "coefficients": floats(s, supports), "n_supports": supports, "rho": floats(s, 1)}
        return "SVMRegressor", [x.astype(np.float32)], {**attributes, "one_class": int(s.random.random() < 0.3)}, ML
    classes = int(s.random.integers(2, 5))
    per = s.random.integers(1, 4, classes)
    pairs = classes * (classes - 1) // 2
    names = {"classlabels_ints" if k == "int64s" else "classlabels_strings": v for k, v in labels(s, classes).items()}
    attributes = {**shared, **names, "vectors_per_class": per.tolist(), "support_vectors": floats(s, int(per.sum()), c),
                  "coefficients": floats(s, classes - 1, int(per.sum())), "rho": floats(s, pairs)}
    if s.random.random() < 0.4:
        attributes.update(prob_a=floats(s, pairs, low=-2, high=-0.1), prob_b=floats(s, pairs))
    attributes["post_transform"] = s.pick(POST[:4]) if classes > 2 else "NONE"
    return "SVMClassifier", [x], attributes, {**ML, "outputs": 2}


def grow(s, c, depth):
    """The nodes of a random tree, in order: dicts with the numbers of their children."""
    nodes = []

    def add(left_depth):
        number = len(nodes)
        node = {"mode": "LEAF", "feature": 0, "value": 0.0, "true": 0, "false": 0, "missing": 0}
        nodes.append(node)
        if left_depth > 0 and s.random.random() < 0.85:
            node.update(mode=s.pick(["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]) if s.mixed else "BRANCH_LEQ",
                        feature=int(s.random.integers(c)), value=float(s.random.integers(-6, 7)) / 2, missing=int(s.random.integers(2)))
            node["true"], node["false"] = add(left_depth - 1), add(left_depth - 1)
        return number

    add(depth)
    return nodes


def trees(s, allowed):
    n, c = sizes(s)
    s.mixed = s.random.random() < 0.4
    forest = [grow(s, c, int(s.random.integers(0, 5))) for _ in range(int(s.pick([1, 2, 5, 30])))]
    flat = [(t, i, node) for t, nodes in enumerate(forest) for i, node in enumerate(nodes)]
    leaves = [(t, i) for t, i, node in flat if node["mode"] == "LEAF"]
    double = s.random.random() < 0.2
    x = rows(s, "double" if double else s.pick(["float", "float", "int64", "int32"]), n, c)
    if x.dtype == np.float32 and s.random.random() < 0.4:
        x[s.random.random(x.shape) < 0.2] = np.nan
    attributes = {"nodes_treeids": [t for t, _, _ in flat], "nodes_nodeids": [i for _, i, _ in flat], "nodes_featureids": [d["feature"] for _, _, d in flat],
                  "nodes_modes": [d["mode"] for _, _, d in flat], "nodes_values": [d["value"] for _, _, d in flat], "nodes_truenodeids": [d["true"] for _, _, d in flat],
                  "nodes_falsenodeids": [d["false"] for _, _, d in flat]}
    if s.random.random() < 0.5:
        attributes["nodes_missing_value_tracks_true"] = [d["missing"] for _, _, d in flat]
    n_targets = int(s.random.integers(1, 4))
    classifier = s.random.random() < 0.5
    kind = "class" if classifier else "target"
    n_labels = max(2, n_targets)
    targets = n_labels if classifier and s.random.random() < 0.7 else 1 if classifier and n_labels == 2 else n_labels if classifier else n_targets
    given = [(t, i, k) for t, i in leaves for k in range(targets) if s.random.random() < 0.8 or k == 0]
    attributes.update({f"{kind}_treeids": [t for t, _, _ in given], f"{kind}_nodeids": [i for _, i, _ in given], f"{kind}_ids": [k for _, _, k in given],
                       f"{kind}_weights": floats(s, len(given))})
    if s.random.random() < 0.4:
        attributes["base_values"] = floats(s, targets)
    version = s.pick([1, 3])
    if double and version == 3:  # numbers of float64 belong to float64
        for name in ("nodes_values", f"{kind}_weights", "base_values"):
            if name in attributes:
                attributes[name + "_as_tensor"] = np.array(attributes.pop(name), np.float64)
    elif double:
        x = x.astype(np.float32)
    attributes["post_transform"] = s.pick(POST[:4]) if targets > 1 else s.pick(["NONE", "LOGISTIC"])
    if classifier:
        attributes.update({"classlabels_" + k: v for k, v in labels(s, n_labels).items()})
        return "TreeEnsembleClassifier", [x], attributes, {**ML, "version": version, "outputs": 2}
    attributes.update(n_targets=n_targets, aggregate_function=s.pick(["SUM", "AVERAGE", "MIN", "MAX"]))
    return "TreeEnsembleRegressor", [x], attributes, {**ML, "version": version}


def maps(s, allowed):
    op = s.pick(["DictVectorizer", "CastMap", "ZipMap"])
    if op == "ZipMap":
        n, c = sizes(s)
        return op, [s.array("float", (n, c), 0)], {"classlabels_" + k: v for k, v in labels(s, c).items()}, ML
    by_word = s.random.random() < 0.5
    keys = [WORDS[i] for i in s.random.permutation(len(WORDS))[:3]] if by_word else sorted(s.random.permutation(8)[:3].tolist())
    if op == "DictVectorizer":
        vocabulary = {"string_vocabulary": WORDS} if by_word else {"int64_vocabulary": list(range(8))}
        value = s.pick(["float", "double", "string", "int64"])
        value = "int64" if by_word and value == "string" else "float" if not by_word and value == "int64" else value
        made = {"float": lambda: float(np.float32(s.random.uniform(-2, 2))), "double": lambda: float(s.random.uniform(-2, 2)), "string": lambda: s.pick(WORDS), "int64": lambda: int(s.random.integers(9))}
        return op, [{k: made[value]() for k in keys}], vocabulary, {**ML, "map": ("string" if by_word else "int64", value)}
    keys = sorted(s.random.permutation(6)[:3].tolist())
    value = s.pick(["float", "string"])
    to = s.pick(["TO_FLOAT", "TO_STRING", "TO_INT64"])
    attributes = {"cast_to": to, **({"map_form": "SPARSE", "max_map": int(s.random.integers(max(keys) + 1, 10))} if s.random.random() < 0.5 else {"map_form": "DENSE"})}
    return op, [{k: float(np.float32(s.random.integers(-9, 9))) / 2 if value == "float" else str(int(s.random.integers(-9, 9))) for k in keys}], attributes, {**ML, "map": ("int64", value)}


FAMILIES = [linear, linear, columns, columns, coded, coded, svm, svm, trees, trees, trees, maps]
