#!/usr/bin/env python3
"""Writes tests/data/reference_cases.json: models with the answers of the Python engine and of ONNX's own node tests.

    pip install modeci_mdf==0.4.15 onnx onnxruntime numpy
    make all && python3 tests/answers/generate_reference_cases.py

A case: {"name", "model", "inputs", "steps", "dt", "expected", "rtol", "typed"}. Of the MDF cases `expected` is the plain value of each output
port of each node after the last step, from modeci_mdf 0.4.15. The ONNX cases are node tests of the onnx package (their models brought
to MDF by build/mdf-convert), at most two small ones an operator; `expected` is the typed value of each result.
rtol: 1e-12 for float64 in the same order of operations; 1e-5 where float32 takes part; 2e-2 for float16 and narrower, whose last digit is that large;
1e-3 for RoiAlign, whose node tests give four digits.
"""
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np

warnings.filterwarnings("ignore")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MOST_PER_OPERATOR, MOST_BYTES, MOST_BYTES_OF_FIRST = 2, 2500, 16000
DRAWS = {"Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial"}


def node(**parts):
    return {"m": {"format": "ModECI MDF v0.4", "graphs": {"g": {"nodes": {"n": parts}}}}}


def outputs(*names, **named):
    ports = {"out_" + n: {"value": n} for n in names}
    ports.update({k: {"value": v} for k, v in named.items()})
    return ports


PARAMETERS = {"a": {"value": 7}, "b": {"value": 2}, "c": {"value": -1.5}, "v": {"value": [1.0, -2.0, 3.0]},
              "w": {"value": [4, 5, 6]}, "m": {"value": [[1, 2, 3], [4, 5, 6]]}}
EXPRESSIONS = [
    "a + b * c", "-a // b", "a % -b", "2 ** 3 ** 2", "-2 ** 2", "a / b", "1 < b < 3", "a if a > b else c", "not a > b", "a > b and c",
    "v[1:]", "v[::-1]", "m[:, 1]", "m[-1][-2]", "v[v > 0]", "m @ v", "v + m", "w ** 2", "[x * 2 for x in w if x > 4]", "sum(x for x in [1, 2])",
    "abs(c)", "max(a, b)", "round(2.567, 2)", "len(m)", "sorted([3, 1, 2])", "math.sin(a)", "math.sqrt(b)", "math.hypot(3, 4)", "math.pi",
    "numpy.exp(v)", "numpy.roll(w, (1, 1))", "numpy.digitize(v, [2, 0.5, -2])", "numpy.digitize(v, [2, 0.5, -2], right=True)",
    "numpy.where(v > 0, v, w)", "numpy.sum(m, axis=0)", "numpy.mean(m, axis=1)", "numpy.std(w)",
    "numpy.cumsum(w)",
    "numpy.dot(v, w)", "numpy.linspace(0, 1, 5)", "numpy.clip(v, -1, 1)", "numpy.argmax(v)", "numpy.concatenate((v, w))", "m.T", "m.shape",
    "m.sum(axis=1)", "m.reshape(3, 2)", "v.tolist()", "a & 3", "a << 2", "~a", "3 in [1, 2, 3]", "numpy.maximum(v, 0)", "numpy.arctan2(v, w)",
    "numpy.sum(m, axis=0, initial=2.5)", "numpy.sum(v, initial=a)", "numpy.prod(w, initial=c)", "m.max(axis=1, initial=4)",
    "numpy.min(w, initial=2)", "numpy.array(w, copy=True, order='F')", "numpy.reshape(m, (3, 2), order='C')", "m.reshape(3, 2, order='C')",
    "numpy.ravel(m, 'C')", "v.astype('int32', copy=False)", "numpy.zeros((2, 1), order='F')", "numpy.sort(v, kind='stable')",
    "v.argsort(kind='mergesort')", "numpy.meshgrid(v, [1, 2], indexing='ij')", "numpy.meshgrid(v, [1, 2], [6], indexing='xy')", "numpy.diff(w, prepend=0)",
    "numpy.diff(v, n=2, prepend=[1, 2], append=a)", "numpy.diff(m, axis=0, append=c)", "numpy.diff(w, n=0, prepend=0)", "1 << numpy.quantile(w, 0.4, method='lower')",
    "1 << numpy.percentile(m, [10, 60], axis=1, method='nearest')", "numpy.ascontiguousarray(a)", "-numpy.conj(m > 2)",
]
STANDARD = {
    "linear": {"slope": 2.5, "intercept": -0.75}, "arctan": {"scale": 1.5}, "arcsin": {"scale": -2.0}, "arccos": {"scale": 0.5},
    "logistic": {"gain": 3.0, "bias": 0.1, "offset": -0.25}, "exponential": {"scale": 1.25, "rate": 0.5, "bias": 0.2, "offset": -1.0},
    "sin": {"scale": 2.0}, "cos": {"scale": 3.0}, "tan": {"scale": 0.25}, "sinh": {"scale": 1.0}, "cosh": {"scale": -1.0}, "tanh": {"scale": 4.0},
}


def edge(sender, sender_port, receiver, receiver_port, weight=None):
    made = {"sender": sender, "sender_port": sender_port, "receiver": receiver, "receiver_port": receiver_port}
    return made if weight is None else {**made, "parameters": {"weight": weight}}


def mdf_models():
    """(name, model, inputs, steps, dt)"""
    for i, text in enumerate(EXPRESSIONS):
        yield f"expression {text}", node(parameters=PARAMETERS, output_ports=outputs(o=text)), {}, 1, None
    for name, args in STANDARD.items():
        call = {"function": name, "args": {"variable0": "x", **args}}
        yield f"function {name}", node(input_ports={"x": {}}, functions={"f": call}, output_ports=outputs("f")), {"x": 0.3}, 1, None
        yield f"parameter {name}", node(parameters={"x": {"value": [0.1, -0.2, 0.9]}, "f": call}, output_ports=outputs("f")), {}, 1, None
    yield "MatMul", node(parameters={"A": {"value": [[1, 2], [3, 4]]}, "f": {"function": "MatMul", "args": {"A": "A", "B": [1, -1]}}},
                         output_ports=outputs("f")), {}, 1, None
    yield "Relu", node(parameters={"f": {"function": "Relu", "args": {"A": [-1.0, 2.0]}}}, output_ports=outputs("f")), {}, 1, None
    yield "Constant", node(parameters={"f": {"function": "onnx::Constant", "args": {"value": [1, 2]}}}, output_ports=outputs("f")), {}, 1, None
    yield "previous values", node(parameters={"k": {"value": "k + 1", "default_initial_value": 10}}, functions={"f": {"value": "k * 2"}},
                                  output_ports=outputs("k", "f")), {}, 4, None
    yield "derivative", node(parameters={"x": {"default_initial_value": 1, "time_derivative": "w"},
                                         "w": {"default_initial_value": 0, "time_derivative": "-4 * x"}}, output_ports=outputs("x", "w")), {}, 30, 0.01
    yield "conditions", node(parameters={"t": {"value": "t + 1"}, "l": {"value": 0, "conditions": {
        "on": {"test": "t > 2", "value": 5}, "off": {"test": "t > 4", "value": -1}}}}, output_ports=outputs("l")), {}, 6, None
    for i, port in enumerate([{}, {"shape": [2]}, {"default_value": 4.5}, {"reduce": "add"}, {"type": "float", "shape": [3]}]):
        yield f"port {json.dumps(port)}", node(input_ports={"i": port}, output_ports=outputs(o="i * 2")), {}, 2, None
    source = {"s": {"parameters": {"p": {"value": [1, 2, 3]}}, "output_ports": {"o": {"value": "p"}}},
              "t": {"parameters": {"p": {"value": [10, 20, 30]}}, "output_ports": {"o": {"value": "p"}}}}
    for weight in (None, 2, [1, 0, -1]):
        for reduce in ("add", "multiply"):
            nodes = {**source, "r": {"input_ports": {"i": {"reduce": reduce}}, "output_ports": {"o": {"value": "i"}}}}
            edges = {"e": edge("s", "o", "r", "i", 3), "f": edge("t", "o", "r", "i", weight if weight is not None else 2)}
            yield f"edges {reduce} {weight}", {"m": {"graphs": {"g": {"nodes": nodes, "edges": edges}}}}, {}, 2, None
    circle = {"n": {"input_ports": {"back": {"default_value": 1}}, "output_ports": {"o": {"value": "back * 2"}}}}
    yield "recurrence", {"m": {"graphs": {"g": {"nodes": circle, "edges": {"e": edge("n", "o", "n", "back")}}}}}, {}, 5, None


def plain(value):
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


def evaluate(model, inputs, steps, dt):
    from modeci_mdf.execution_engine import EvaluableGraph
    from modeci_mdf.mdf import Model

    with contextlib.redirect_stdout(io.StringIO()):
        graph = EvaluableGraph(Model.from_dict(json.loads(json.dumps(model))).graphs[0], verbose=False)
        for step in range(steps):
            graph.evaluate(time_increment=None if step == 0 else dt, initializer=inputs or None)
        return {n: {p: plain(o.curr_value) for p, o in e.evaluable_outputs.items()} for n, e in graph.enodes.items()}


def typed(value):
    if value is None:
        return None
    if isinstance(value, list):
        return {"sequence": [typed(v) for v in value]}
    if hasattr(value, "SerializeToString"):
        from onnx import numpy_helper

        value = numpy_helper.to_array(value)
    a = np.asarray(value)
    if a.dtype.kind in "OUS":
        return {"type": "string", "shape": list(a.shape), "data": [v.decode() if isinstance(v, bytes) else str(v) for v in a.ravel().tolist()]}
    if a.dtype.kind == "c":
        return {"type": str(a.dtype), "shape": list(a.shape), "data": [[v.real, v.imag] for v in a.ravel().tolist()]}
    if a.dtype.kind not in "biuf" or a.dtype == np.float16:
        return {"type": str(a.dtype), "shape": list(a.shape), "data": a.astype(np.float32).ravel().tolist()}
    if a.dtype == np.float32:
        return {"type": "float32", "shape": list(a.shape), "data": [float(str(x)) for x in a.ravel()]}
    return {"type": str(a.dtype), "shape": list(a.shape), "data": a.ravel().tolist()}


def converted(model):
    """The MDF form of an ONNX model, by mdf-convert; None where it is refused."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "model.onnx"), os.path.join(folder, "model.json")
        with open(source, "wb") as f:
            f.write(model.SerializeToString())
        done = subprocess.run([os.path.join(ROOT, "build", "mdf-convert"), source, target], capture_output=True)
        if done.returncode != 0:
            return None
        with open(target) as f:
            return json.load(f)


def onnx_cases():
    from onnx.backend.test.case.node import collect_testcases

    taken = {}
    for test in sorted(collect_testcases(None), key=lambda t: t.name):
        model = test.model
        operator = model.graph.node[0].op_type if len(model.graph.node) == 1 else ""
        if operator in DRAWS or "_training" in test.name or not operator:
            continue
        given, answers = test.data_sets[0]
        if taken.get(operator, 0) >= MOST_PER_OPERATOR:
            continue
        try:
            inputs = {v.name: typed(x) for v, x in zip(model.graph.input, given)}
            expected = {v.name: typed(x) for v, x in zip(model.graph.output, answers)}
        except (TypeError, ValueError):
            continue
        try:
            size = len(json.dumps([inputs, expected], allow_nan=False))
        except ValueError:  # Jansson reads no NaN
            continue
        if size > (MOST_BYTES if operator in taken else MOST_BYTES_OF_FIRST):
            continue
        mdf = converted(model)
        if mdf is None or "NaN" in json.dumps(mdf) or "Infinity" in json.dumps(mdf):
            continue
        types = {t["type"] for t in list(inputs.values()) + list(expected.values()) if t and "type" in t}
        wide = types <= {"float32", "float64", "int64", "int32", "bool", "string", "int8", "uint8", "int16", "uint16", "uint32", "uint64"}
        taken[operator] = taken.get(operator, 0) + 1
        yield {"name": test.name, "operator": operator, "model": mdf, "inputs": inputs, "steps": 1, "dt": None, "expected": expected,
               "rtol": 1e-3 if operator == "RoiAlign" else 1e-5 if wide else 2e-2, "typed": True}


def graph_model(nodes, inputs, outputs, opsets=(("", 18), ("ai.onnx.ml", 3))):
    """A model of several nodes; inputs {name: array}, outputs {name: onnx type}."""
    from onnx import helper, numpy_helper

    constants = [numpy_helper.from_array(v, k) for k, v in inputs.items()]
    graph = helper.make_graph(nodes, "g", [], [helper.make_value_info(k, t) for k, t in outputs.items()], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(*o) for o in opsets], ir_version=8)


def composed_cases():
    """Operators without a node test that serves: small models, evaluated by onnx.reference or by hand."""
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    def tensor(kind=TensorProto.FLOAT):
        return helper.make_tensor_type_proto(kind, None)

    sequence = helper.make_sequence_type_proto(tensor())
    f = np.array([0.5, -1.0], np.float32)
    models = {
        "sequences": (graph_model([
            helper.make_node("SequenceEmpty", [], ["e"]), helper.make_node("SequenceInsert", ["e", "a"], ["s1"]),
            helper.make_node("SequenceConstruct", ["b", "a"], ["s2"]), helper.make_node("SequenceInsert", ["s2", "b", "one"], ["s3"]),
            helper.make_node("SequenceErase", ["s3", "zero"], ["s4"]), helper.make_node("SequenceAt", ["s4", "one"], ["x"]),
            helper.make_node("SequenceLength", ["s3"], ["n"]), helper.make_node("ConcatFromSequence", ["s4"], ["c"], axis=0)],
            {"a": f, "b": f + 1, "one": np.array(1), "zero": np.array(0)},
            {"s1": sequence, "s4": sequence, "x": tensor(), "n": tensor(TensorProto.INT64), "c": tensor()}), None),
        "is_nan": (graph_model([helper.make_node("Div", ["a", "z"], ["q"]), helper.make_node("IsNaN", ["q"], ["n"]),
                                helper.make_node("IsInf", ["q"], ["i"])],
                               {"a": np.array([1, 0, -1, 2], np.float32), "z": np.array([0, 0, 0, 1], np.float32)},
                               {"n": tensor(TensorProto.BOOL), "i": tensor(TensorProto.BOOL)}), None),
        "optional": (graph_model([helper.make_node("Optional", ["a"], ["o"]), helper.make_node("OptionalHasElement", ["o"], ["h"]),
                                  helper.make_node("OptionalGetElement", ["o"], ["x"])], {"a": f},
                                 {"h": tensor(TensorProto.BOOL), "x": tensor()}), {"h": np.array(True), "x": f}),
        "smooth": (graph_model([helper.make_node("Constant", [], ["a"], value_floats=[0.5, -1.0]), helper.make_node("Erf", ["a"], ["e"]),
                                helper.make_node("Mish", ["a"], ["m"])], {}, {"e": tensor(), "m": tensor()}), None),
        "global_lp_pool": (graph_model([helper.make_node("GlobalLpPool", ["x"], ["y"])], {"x": np.array([[[3, 4]]], np.float32)}, {"y": tensor()}),
                           {"y": np.array([[[5]]], np.float32)}),
        "max_roi_pool": (graph_model([helper.make_node("MaxRoiPool", ["x", "r"], ["y"], pooled_shape=[1, 1])],
                                     {"x": np.array([[[[1, 2], [3, 4]]]], np.float32), "r": np.array([[0, 0, 0, 1, 1]], np.float32)},
                                     {"y": tensor()}), {"y": np.array([[[[4]]]], np.float32)}),
        "gradient": (graph_model([helper.make_node("Mul", ["a", "b"], ["p"]), helper.make_node("Exp", ["p"], ["y"]),
                                  helper.make_node("Gradient", ["a", "b"], ["d"], domain="ai.onnx.preview.training", xs=["a"], zs=["b"], y="y")],
                                 {"a": f, "b": f + 2}, {"d": tensor()}, (("", 18), ("ai.onnx.preview.training", 1))), {"d": (f + 2) * np.exp(f * (f + 2))}),
    }
    for name, (model, answer) in models.items():
        names = [o.name for o in model.graph.output]
        if answer is None:
            answer = dict(zip(names, ReferenceEvaluator(model).run(names, {})))
        yield {"name": name, "model": converted(model), "inputs": {}, "steps": 1, "dt": None, "expected": {k: typed(v) for k, v in answer.items()},
               "rtol": 1e-5, "typed": True}


TREES = {"nodes_treeids": [0] * 5 + [1] * 3, "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2], "nodes_featureids": [0, 1, 0, 0, 0, 2, 0, 0],
         "nodes_values": [0.25, -0.5, 0, 0, 0, 1.5, 0, 0], "nodes_modes": ["BRANCH_LEQ", "BRANCH_GT", "LEAF", "LEAF", "LEAF", "BRANCH_LT", "LEAF", "LEAF"],
         "nodes_truenodeids": [1, 3, 0, 0, 0, 1, 0, 0], "nodes_falsenodeids": [2, 4, 0, 0, 0, 2, 0, 0]}


def ml_cases():
    """Operators of ai.onnx.ml, most of which have no node test, evaluated by onnx.reference; CategoryMapper by hand."""
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    x = np.array([[0.5, -1, 2], [-0.25, 0.75, 1], [0, 0, -1]], np.float32)
    weights, svm = [0.5, -0.25, 1, 2, 0.125, -1, -0.5, 0.75, 0.25], {"support_vectors": [1.0, 0, 2, -1, 0.5, 0.5, 0, 1, -1, 2, 1, 0], "rho": [0.25, -0.5, 0.125],
                                                                    "kernel_params": [0.5, 0.25, 2.0]}
    shares = {"treeids": [0, 0, 0, 1, 1], "nodeids": [2, 3, 4, 1, 2], "ids": [0, 1, 2, 1, 0], "weights": [1.0, 2, 3, 4, 5]}
    calls = [("Scaler", x, {"offset": [1.0, 2, 3], "scale": [2.0, 3, 4]}), ("Normalizer", x, {"norm": "L2"}), ("Normalizer", x, {"norm": "L1"}),
             ("Imputer", x, {"imputed_value_floats": [7.0, 8, 9], "replaced_value_float": 0.5}), ("OneHotEncoder", np.array([3, 1, 9]), {"cats_int64s": [1, 2, 3]}),
             ("OneHotEncoder", np.array(["b", "c"], object), {"cats_strings": ["a", "b"]}), ("FeatureVectorizer", x, {"inputdimensions": [3]}),
             ("LinearRegressor", x, {"coefficients": weights[:6], "intercepts": [0.5, -1], "targets": 2})]
    for transform in ("NONE", "SOFTMAX", "LOGISTIC"):
        calls.append(("LinearClassifier", x, {"coefficients": weights, "intercepts": [0.5, -1, 0.25], "classlabels_ints": [4, 5, 6], "post_transform": transform}))
    calls.append(("LinearClassifier", x, {"coefficients": weights[:3], "intercepts": [0.5], "classlabels_strings": ["no", "yes"], "post_transform": "LOGISTIC"}))
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        calls.append(("SVMRegressor", x, {**svm, "rho": [0.25], "coefficients": weights[:4], "n_supports": 4, "kernel_type": kernel, "one_class": 0}))
        calls.append(("SVMClassifier", x, {**svm, "coefficients": weights[:8], "vectors_per_class": [1, 2, 1], "kernel_type": kernel, "classlabels_ints": [4, 5, 6]}))
    # Two classes: with more onnx.reference multiplies where the pairwise coupling of LIBSVM and ONNX Runtime does not.
    calls.append(("SVMClassifier", x, {**svm, "rho": [0.25, 0], "coefficients": weights[:4], "vectors_per_class": [2, 2], "kernel_type": "RBF", "classlabels_ints": [4, 5],
                                       "prob_a": [-0.5], "prob_b": [0.125]}))
    for aggregate in ("SUM", "AVERAGE"):
        calls.append(("TreeEnsembleRegressor", x, {**TREES, **{"target_" + k: v for k, v in shares.items()}, "n_targets": 3, "aggregate_function": aggregate}))
    for transform in ("NONE", "SOFTMAX"):
        calls.append(("TreeEnsembleClassifier", x, {**TREES, **{"class_" + k: v for k, v in shares.items()}, "classlabels_int64s": [7, 8, 9], "post_transform": transform}))
    for i, (operator, value, attributes) in enumerate(calls):
        label = helper.make_tensor_type_proto(TensorProto.STRING if "classlabels_strings" in attributes else TensorProto.INT64, None)
        score = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
        outputs = {"label": label, "scores": score} if operator.endswith("Classifier") else {"y": score}
        call = helper.make_node(operator, ["x"], list(outputs), domain="ai.onnx.ml", **attributes)
        model = graph_model([call], {"x": value}, outputs)
        answers = ReferenceEvaluator(model).run(None, {})
        answers = [a.astype(np.float32) if np.asarray(a).dtype.kind == "f" else a for a in answers]
        yield {"name": f"{operator} {i}", "model": converted(model), "inputs": {}, "steps": 1, "dt": None,
               "expected": {k: typed(v) for k, v in zip(outputs, answers)}, "rtol": 1e-5, "typed": True}
    by_hand = [("CategoryMapper", ["q", "z"], {"cats_strings": ["p", "q"], "cats_int64s": [4, 5]}, [5, -1]),
               ("DictVectorizer", {"a": 4, "c": 8}, {"string_vocabulary": ["a", "c", "b", "z"]}, [[4, 8, 0, 0]]),
               ("DictVectorizer", {"3": 0.5}, {"int64_vocabulary": [1, 3]}, [[0, 0.5]]),
               ("CastMap", {"10": 2, "9": 1.5}, {}, [[1.5, 2]]), ("CastMap", {"0": 2, "3": 1}, {"map_form": "SPARSE", "max_map": 4, "cast_to": "TO_INT64"}, [[2, 0, 0, 1]]),
               ("ZipMap", [[0.25, 0.75], [1, 0]], {"classlabels_strings": ["a", "b"]}, [{"a": 0.25, "b": 0.75}, {"a": 1, "b": 0}]),
               ("ZipMap", [0.25, 0.75], {"classlabels_int64s": [3, 5]}, [{"3": 0.25, "5": 0.75}])]
    for i, (operator, value, attributes, answer) in enumerate(by_hand):
        call = {"function": "ai.onnx.ml::" + operator, "args": {"X": "x", **attributes}}
        yield {"name": f"{operator} by hand {i}", "model": node(input_ports={"x": {}}, parameters={"f": call}, output_ports={"out_f": {"value": "f"}}), "inputs": {"x": value},
               "steps": 1, "dt": None, "expected": {"n": {"out_f": answer}}, "rtol": 1e-6, "typed": False}


def microsoft_cases():
    """Operators of com.microsoft, evaluated by ONNX Runtime, whose they are."""
    import onnxruntime
    from onnx import TensorProto, helper

    real = np.float32
    rows, image = np.array([[0.5, -1, 2], [-0.25, 0.75, 1], [0, 0, -1]], real), np.arange(8, dtype=real).reshape(1, 2, 2, 2) / 4
    kernels = (np.arange(12, dtype=real) - 5).reshape(2, 1, 2, 3) / 8
    calls = [("CDist", [rows, rows[:2] + real(0.5)], {"metric": "euclidean"}, TensorProto.FLOAT), ("Inverse", [rows + 2 * np.eye(3, dtype=real)], {}, TensorProto.FLOAT),
             ("MurmurHash3", [np.array([[1, -2], [0, 7]], np.int32)], {"seed": 3}, TensorProto.UINT32),
             ("Tokenizer", [np.array(["ab, cd", "", "e"], object)], {"mark": 1, "mincharnum": 1, "pad_value": "#", "tokenexp": "[a-z]+"}, TensorProto.STRING),
             ("ConvTransposeWithDynamicPads", [image, kernels, np.array([0, 1, 1, 0])], {"strides": [2, 1]}, TensorProto.FLOAT),
             ("DynamicQuantizeLSTM", [image.reshape(4, 1, 2), *[np.arange(16 * n, dtype=np.uint8).reshape(1, n, 16) * 5 for n in (2, 4)], np.arange(32, dtype=real)[None] / 64,
                                      *[None] * 4, *[np.array([x]).astype(t) for x in (0.01, 0.02) for x, t in ((x, real), (120, np.uint8))]],
              {"hidden_size": 4}, TensorProto.FLOAT)]
    for operator, inputs, attributes, kind in calls:
        given = {f"x{i}": x for i, x in enumerate(inputs) if x is not None}
        names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
        call = helper.make_node(operator, names, ["y"], domain="com.microsoft", **attributes)
        model = graph_model([call], given, {"y": helper.make_tensor_type_proto(kind, None)}, (("", 17), ("com.microsoft", 1)))
        answer = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {})[0]
        yield {"name": operator, "model": converted(model), "inputs": {}, "steps": 1, "dt": None, "expected": {"y": typed(answer)}, "rtol": 1e-5, "typed": True}


def runs(case):
    """Whether the engine knows the operator: a case that it refuses as unsupported says nothing."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(case["model"], f)
        f.flush()
        done = subprocess.run([os.path.join(ROOT, "build", "mdf-run"), "--check", f.name], capture_output=True, text=True)
        return "is not supported" not in done.stderr


def main():
    cases = []
    for name, model, inputs, steps, dt in mdf_models():
        cases.append({"name": name, "model": model, "inputs": inputs, "steps": steps, "dt": dt, "expected": evaluate(model, inputs, steps, dt),
                      "rtol": 1e-12, "typed": False})
    cases += [c for c in onnx_cases() if runs(c)] + list(composed_cases()) + list(ml_cases()) + list(microsoft_cases())
    path = os.path.join(ROOT, "tests", "data", "reference_cases.json")
    with open(path, "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
    print(len(cases), "cases,", os.path.getsize(path), "bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
