#!/usr/bin/env python3
"""Writes tests/data/psyneulink_cases.json: PsyNeuLink's functions with the values that the package itself computes.

    pip install psyneulink==0.21.0.0
    python3 tests/answers/generate_psyneulink_cases.py

A case: {"name", "function", "args", "metadata", "inputs", "outputs", "rtol"}. The function is called once for each of `inputs`, which is
its variable, and keeps between the calls what it keeps; `outputs` has for each call a list of the function's outputs, each as a flat list
of its numbers (the package wraps values in axes of its own). `args` and `metadata` are what PsyNeuLink's exporter writes: numbers to args,
all else to the metadata of the function.
rtol: 1e-12, where operations come in the same order; 1e-9 for the moments of decision times, in which terms cancel, and 1e-4 where a small
drift makes them cancel to their last digits: numpy's own tanh and sinh differ from the C library's there.
"""
import json
import os
import warnings

import numpy as np

warnings.filterwarnings("ignore")
import psyneulink as pnl  # noqa: E402
from psyneulink.core.components.functions.nonstateful import transferfunctions  # noqa: E402
from psyneulink.core.globals.context import Context, ContextFlags  # noqa: E402
from psyneulink.core.globals.utilities import convert_all_elements_to_np_array  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROW, OTHER, LAST = [0.5, -1.25, 2.0], [1.5, 0.0, -0.75], [-2.0, 3.0, 0.25]
ROWS = [ROW, OTHER, LAST]
PAIR = [[0.2, 0.7, 0.1], [0.3, 0.25, 0.45]]
SIGNED_PAIR = [[0.5, -1.25, 2.0], [1.5, 0.5, -0.75]]
BATCH = [[[1.0, 2.0, 3.0], [-1.0, 0.5, 2.5]]]


def cases():
    """(name of the class, parameters, variables, how many outputs it has)"""
    for rate, noise, offset in ((1.0, 0.0, 0.0), (0.3, 0.25, -0.5)):
        yield "SimpleIntegrator", dict(rate=rate, noise=noise, offset=offset), ROWS, 1
        yield "AdaptiveIntegrator", dict(rate=rate, noise=noise, offset=offset), ROWS, 1
        yield "LeakyCompetingIntegrator", dict(rate=rate, noise=noise, offset=offset, time_step_size=0.2), ROWS, 1
        yield "AccumulatorIntegrator", dict(rate=rate, noise=noise, increment=0.75), ROWS, 1
    yield "SimpleIntegrator", dict(initializer=[1.0, 2.0, 3.0], rate=[0.5, 1.0, 2.0]), ROWS, 1
    yield "AdaptiveIntegrator", dict(initializer=[1.0, 2.0, 3.0], rate=0.9), ROWS, 1
    yield "LeakyCompetingIntegrator", dict(initializer=[0.5, 0.5, 0.5]), ROWS, 1
    yield "DualAdaptiveIntegrator", {}, ROWS, 1
    for operation in ("sum", "s-l", "l-s"):
        yield "DualAdaptiveIntegrator", dict(
            operation=operation, initial_short_term_avg=0.5, initial_long_term_avg=0.25, short_term_gain=2.0, long_term_gain=1.5,
            short_term_bias=0.1, long_term_bias=-0.2, short_term_rate=0.7, long_term_rate=0.2, offset=0.3), ROWS, 1
    yield "InteractiveActivationIntegrator", dict(rate=0.4, decay=0.1), ROWS, 1
    yield "InteractiveActivationIntegrator", dict(rate=0.4, decay=0.1, rest=-0.2, max_val=0.9, min_val=-0.8, noise=0.05), ROWS, 1
    yield "DriftDiffusionIntegrator", dict(noise=0.0, rate=0.5, time_step_size=0.1, threshold=0.12, offset=0.01), ROWS, 2
    yield "DriftDiffusionIntegrator", dict(noise=0.0, starting_value=0.25, non_decision_time=0.3), [[1.0], [2.0], [-0.5]], 2
    yield "OrnsteinUhlenbeckIntegrator", dict(noise=0.0, rate=0.5, decay=0.75, time_step_size=0.1, offset=0.05), [[1.0], [2.0], [-0.5]], 2
    yield "FitzHughNagumoIntegrator", {}, [[0.1], [0.2], [0.3]], 3
    for method in ("RK4", "EULER"):
        yield "FitzHughNagumoIntegrator", dict(
            initial_v=-1.0, initial_w=0.25, d_v=1.0, b_v=0.5, t_0=0.5, time_step_size=0.1, threshold=0.5, mode=0.75, uncorrelated_activity=0.1,
            integration_method=method), [[0.0], [0.5], [-0.25], [1.0]], 3
    for drift in (1.0, -0.4, 0.0, 0.005, 3.0):
        yield "DriftDiffusionAnalytical", {}, [[drift]], 8
        yield "DriftDiffusionAnalytical", dict(drift_rate=0.5, threshold=1.5, starting_value=0.3, noise=0.8, non_decision_time=0.1), [[drift]], 8
    yield "DriftDiffusionAnalytical", dict(noise=0.05, threshold=2.0), [[1.0]], 8  # whose powers leave the range of numbers
    yield "DriftDiffusionAnalytical", dict(starting_value=1.0), [[0.7]], 8
    yield "Identity", {}, [ROW], 1
    yield "ReLU", dict(gain=2.0, bias=0.25, leak=0.1, scale=1.5, offset=-0.5), [ROW], 1
    yield "Gaussian", {}, [ROW], 1
    yield "Gaussian", dict(standard_deviation=0.5, bias=0.2, scale=2.0, offset=0.1), [ROW], 1
    yield "Normalize", {}, [SIGNED_PAIR], 1
    yield "Normalize", dict(per_item=False), [SIGNED_PAIR], 1
    yield "SoftMax", dict(gain=2.0), [ROW, SIGNED_PAIR], 1
    yield "SoftMax", dict(per_item=False), [SIGNED_PAIR], 1
    yield "SoftMax", dict(mask_threshold=1.0), [[0.5, 1.25, 2.0]], 1
    for output in ("arg_max", "arg_max_indicator", "MAX_VAL", "MAX_INDICATOR"):
        yield "SoftMax", dict(output=output), [[0.5, 2.0, 2.0]], 1
    for mode in ("arg_max", "arg_max_abs_indicator", "MAX_VAL", "MAX_ABS_VAL", "MAX_INDICATOR", "arg_min", "MIN_VAL", "MIN_ABS_INDICATOR"):
        yield "OneHot", dict(mode=mode), [[0.5, -2.0, 2.0, 2.0]], 1
    yield "OneHot", dict(direction="min", abs_val=True, indicator=True, tie="last"), [[0.5, -2.0, -0.5, 2.0]], 1
    yield "HypersphericalToCartesian", {}, [[0.3, 1.1, -0.4]], 1
    yield "Angle", {}, [[0.3, 1.1, -0.4]], 1
    yield "LinearTimer", dict(initial=2.0, final=-1.0, duration=4.0), [[0.0, 1.0, 4.0]], 1
    yield "AcceleratingTimer", dict(initial=1.0, final=3.0, duration=4.0), [[0.0, 1.0, 4.0]], 1
    yield "DeceleratingTimer", dict(initial=2.0, final=0.5, duration=4.0), [[0.0, 1.0, 4.0]], 1
    yield "AsymptoticTimer", dict(initial=1.0, final=3.0, duration=4.0, tolerance=0.02), [[0.0, 1.0, 4.0]], 1
    for operation in ("sum", "product"):
        yield "LinearCombination", dict(operation=operation), [SIGNED_PAIR], 1
        yield "LinearCombination", dict(operation=operation, weights=[[2.0], [-1.0]], exponents=[[2.0], [1.0]], scale=3.0, offset=0.5), [SIGNED_PAIR], 1
        yield "Reduce", dict(operation=operation), [SIGNED_PAIR], 1
        yield "Reduce", dict(operation=operation, weights=[[1.0, -1.0, 0.5]], scale=2.0, offset=-0.25), [[ROW]], 1
        yield "CombineMeans", dict(operation=operation), [SIGNED_PAIR], 1
        yield "CombineMeans", dict(operation=operation, weights=[[2.0], [-1.0]], exponents=[[2.0], [1.0]], scale=3.0, offset=0.5), [SIGNED_PAIR], 1
    yield "LinearCombination", dict(operation="cross-entropy"), [PAIR], 1
    yield "LinearCombination", dict(scale=2.0, offset=1.0), [ROW], 1
    yield "Concatenate", dict(scale=2.0, offset=0.5), [SIGNED_PAIR], 1
    yield "Rearrange", {}, [SIGNED_PAIR], 1
    yield "Rearrange", dict(arrangement=[(1, 0), (0, 0)]), [SIGNED_PAIR], 1
    yield "PredictionErrorDeltaFunction", dict(gamma=0.9), [SIGNED_PAIR], 1
    for metric in ("difference", "max_abs_diff", "normed_L0_similarity", "dot_product", "euclidean", "cosine", "correlation", "cross-entropy", "energy"):
        variable = PAIR if metric == "cross-entropy" else SIGNED_PAIR
        yield "Distance", dict(metric=metric), [variable], 1
        yield "Distance", dict(metric=metric, normalize=True), [variable], 1
    for name in ("Energy", "Stability", "Entropy"):
        yield name, {}, [[0.5, 0.25, 1.0]], 1
        yield name, dict(normalize=True, matrix=[[1.0, 2.0, 0.5], [0.25, 3.0, 1.0], [0.75, 1.5, 2.0]]), [[0.5, 0.25, 1.0]], 1
    yield "Energy", dict(matrix="InverseHollowMatrix"), [[0.5, -0.25, 1.0]], 1
    yield "Stability", dict(metric="difference", matrix="FullConnectivityMatrix"), [[0.5, -0.25, 1.0]], 1
    for loss in ("L0", "L1", "SSE", "MSE", "POISSON_NLL", "CROSS_ENTROPY"):
        yield "LossFunction", dict(loss=pnl.Loss[loss]), [[[0.5, 1.25, 2.0], [1.5, 0.5, 0.75]]], 1
    yield "LossFunction", dict(normalize=True), [[[0.5, 1.25, 2.0], [1.5, 0.5, 0.75]]], 1
    yield from memory_cases()
    yield from sphere_cases()


def sphere_cases():
    on_sphere = [0.0, 0.6, 0.8]
    for still in ([0.0, 0.0, 0.0], [1.0, 0.0, 0.0]):
        yield "DriftOnASphereIntegrator", dict(initializer=on_sphere, dimension=3.0, input_space="target"), [ROW, still, OTHER], 1
    yield "DriftOnASphereIntegrator", dict(initializer=on_sphere, rate=0.25, time_step_size=0.5), [ROW, OTHER, LAST], 1
    yield "DriftOnASphereIntegrator", dict(initializer=[1.0, 0.0, 0.0], input_space="target"), [[-1.0, 0.0, 0.0], OTHER], 1
    yield "DriftOnASphereIntegrator", dict(rate=0.25, dimension=3.0), [[0.0, 0.0], [0.5, -1.25], [1.5, 0.25]], 1
    yield "DriftOnASphereIntegrator", dict(initializer=on_sphere, input_space="tangent"), [[0.5, -1.25], [1.5, 0.25]], 1
    yield "DriftOnASphereIntegrator", dict(initializer=[0.6, 0.8], drift_dir=[-0.8, 0.6], rate=0.5, dimension=2.0), [[0.5], [0.0], [-1.25]], 1


def memory_cases():
    near, far, again = [[1.0, 2.0, 0.5], [0.0, 1.0, -1.0]], [[-1.0, 0.25, 3.0], [2.0, 2.0, 0.5]], [[1.0, 2.0, 0.5], [0.25, 1.5, -2.0]]
    start, cues = [[[0.5, 2.0, 1.0], [1.0, 1.0, 1.0]], far], [near, far, again, near, [[9.0, -1.0, 1.0], [0.5, 0.5, 0.5]]]
    euclidean = dict(distance_function=pnl.Distance(metric=pnl.EUCLIDEAN))
    for name, select, duplicates in (
        ("ContentAddressableMemory", "equidistant_entries_select", "duplicate_entries_allowed"),
        ("DictionaryMemory", "equidistant_keys_select", "duplicate_keys"),
    ):
        yield name, {}, cues, 1
        yield name, dict(initializer=start), cues, 1
        for metric in ("difference", "max_abs_diff", "normed_L0_similarity", "dot_product", "correlation", "energy"):
            for normalize in (False, True)[: 1 + (name == "DictionaryMemory")]:  # of the other the package refuses it
                # by some of them different entries are as near as the same ones
                first = start[:1] if metric in ("normed_L0_similarity", "energy") else start
                nearest = {"distance_function": pnl.Distance(metric=metric, normalize=normalize), select: "oldest"}
                yield name, dict(initializer=first, **nearest), cues, 1
        yield name, dict(initializer=start, max_entries=3, **euclidean), cues, 1
        yield name, dict(initializer=start, retrieval_prob=0.0), cues, 1
        yield name, dict(initializer=start, storage_prob=0.0, **euclidean), cues, 1
        yield name, dict(initializer=start, noise=0.25, **euclidean), cues, 1
        for which in ("oldest", "newest"):
            yield name, {duplicates: True, select: which, **euclidean}, cues + cues, 1
        yield name, {duplicates: "overwrite", **euclidean}, cues + cues, 1
        for mode in ("MAX_INDICATOR", "arg_min_abs_indicator", "arg_max_indicator"):
            yield name, {**dict(initializer=start, selection_function=pnl.OneHot(mode=mode), **euclidean), duplicates: mode == "MAX_INDICATOR"}, cues, 1
    for weights in ([1.0, 0.0], [0.5, 2.0], [2.0, 2.0], [0.0, 0.0]):
        for duplicates in (False, True, "overwrite"):
            settings = dict(distance_field_weights=weights, equidistant_entries_select="oldest", duplicate_entries_allowed=duplicates)
            yield "ContentAddressableMemory", dict(initializer=start[1:], **settings, **euclidean), cues, 1
    yield "ContentAddressableMemory", dict(duplicate_threshold=1.5, **euclidean), cues, 1
    yield "DictionaryMemory", dict(rate=0.5, **euclidean), cues, 1


def learning_cases():
    """(name of the class, parameters, what the call gets besides its variable, variables, how many outputs it has)"""
    for name in ("Hebbian", "ContrastiveHebbian"):
        yield name, {}, {}, [ROW], 1
        yield name, dict(learning_rate=0.3), {}, [ROW, OTHER], 1
    yield "Hebbian", dict(learning_rate=[0.1, 0.2, 0.3]), {}, [ROW], 1
    for name in ("Reinforcement", "TDLearning"):
        yield name, {}, {}, [[[1.0, 1.0, 1.0], [0.0, 0.7, 0.0], [0.25]]], 2
        yield name, dict(learning_rate=0.4), {}, [[ROW, [-2.0, 0.0, 0.0], [-1.5]]], 2
    yield "TDLearning", {}, {}, [[ROW, OTHER, LAST]], 2
    matrix = [[0.5, -0.25], [1.5, 2.0], [-1.0, 0.75]]
    for loss, slope in ((pnl.Loss.MSE, 1.0), (pnl.Loss.SSE, [0.5, 0.25, 2.0]), (pnl.Loss.L0, [[0.5, 0.25, 2.0], [1.0, -1.0, 0.5], [0.0, 3.0, 0.1]]), (None, 0.5)):
        call = {"error_matrix": matrix, "activation_derivative": slope}
        yield "BackPropagation", dict(learning_rate=0.3, loss_spec=loss), call, [[[0.5, 1.0], ROW, [0.3, -0.8]]], 2
    yield "BackPropagation", {}, {"error_matrix": np.eye(3).tolist(), "activation_derivative": ROW}, [[[0.5, 1.0, 2.0, 3.0], ROW, OTHER]], 2
    square = [[0.5, -0.25, 1.0], [1.5, 2.0, 0.1], [-1.0, 0.75, 0.2]]
    for distance in ("gaussian", "linear", "exponential"):
        yield "Kohonen", dict(distance_function=distance, learning_rate=0.2), {}, [[ROW, OTHER, square]], 1


def em_cases():
    """(name of the class, parameters, what the call gets besides its variable, variables, how many outputs it has)"""
    memory = [[1.0, 2.0, 0.5], [0.25, -0.5, 0.75], [-2.0, 1.0, 3.0]]
    for axis in (0, 1):
        yield "EMStorage", {}, dict(memory_matrix=memory, axis=axis, decay_rate=0.5), [ROW], 1
        yield "EMStorage", {}, dict(memory_matrix=memory, axis=axis, storage_location=2), [ROW], 1
        yield "EMStorage", {}, dict(memory_matrix=memory, axis=axis, storage_prob=0.0), [ROW], 1
    query = [ROW, [0.25, 0.5, 0.125], [1.0]]
    for operation in ("COMPUTE_SCORES", "ACCESS_MEMORY", "retrieve"):
        for settings in ({}, dict(normalize_memories=False, decay_rate=0.25)):
            yield "MatrixMemory", dict(memory=memory, **settings), dict(operation=operation), [query, query], 3


def flat(value):
    return [float(x) for x in np.ravel(np.concatenate([np.ravel(np.asarray(v, dtype=float)) for v in value]) if isinstance(value, (list, tuple))
                                       else np.asarray(value, dtype=float))]


def outputs_of(value, n_outputs):
    return [flat(value)] if n_outputs == 1 else [flat(v) for v in value]


def written(value):
    """A function within a function as the exporter writes it."""
    if not hasattr(value, "componentType"):
        return str(value) if isinstance(value, pnl.Loss) else value
    names = ("metric", "normalize") if isinstance(value, pnl.Distance) else ("mode",)
    return {"metadata": {"type": type(value).__name__, **{name: getattr(value.defaults, name) for name in names}}}


def class_of(name):
    """The deprecated Angle is in its module only."""
    return getattr(pnl, name, None) or getattr(transferfunctions, name)


def make_function(name, parameters, variable):
    """What a drift on a sphere begins along can not be told to its class."""
    settings = {key: value for key, value in parameters.items() if key != "drift_dir"}
    function = class_of(name)(default_variable=np.zeros_like(np.asarray(variable, dtype=float)) + (name == "Rearrange"), **settings)
    if "drift_dir" in parameters:
        function.parameters.drift_dir.set(np.array(parameters["drift_dir"]))
    return function


def make(name, parameters, variables, n_outputs):
    function = make_function(name, parameters, variables[0])
    outputs = [outputs_of(function(np.asarray(variable, dtype=float)), n_outputs) for variable in variables]
    args = {k: v for k, v in parameters.items() if isinstance(v, float)}
    metadata = {"type": name, **{k: written(v) for k, v in parameters.items() if k not in args}}
    shown = ", ".join(f"{k}={written(v)}" for k, v in parameters.items())
    return {"name": f"{name}({shown})", "function": name.lower(), "args": args, "metadata": metadata, "inputs": variables, "outputs": outputs,
            "rtol": 1e-12 if name != "DriftDiffusionAnalytical" else 1e-9 if abs(variables[0][0]) > 0.1 else 1e-4}


def as_items(variable):
    return np.asarray(variable, dtype=float) if np.ndim(variable[0]) == 0 else convert_all_elements_to_np_array(variable)


def make_learning(name, parameters, call, variables, n_outputs):
    """A learning function is called by a mechanism that knows the matrix behind and the derivative of what the receiver computes."""
    settings = dict(parameters)
    if name == "BackPropagation":
        settings["activation_derivative_fct"] = lambda input, output, context: np.asarray(call["activation_derivative"])
    function = getattr(pnl, name)(default_variable=as_items(variables[0]), **settings)
    given = {"params": {"error_matrix": np.asarray(call["error_matrix"])}} if call else {}
    outputs = [outputs_of(function(as_items(variable), **given), n_outputs) for variable in variables]
    told = {k: str(v) if isinstance(v, pnl.Loss) else v for k, v in parameters.items() if v is not None}
    args = {**call, **{k: v for k, v in told.items() if isinstance(v, float)}}
    metadata = {"type": name, **{k: v for k, v in told.items() if k not in args}}
    shown = ", ".join(f"{k}={v}" for k, v in {**told, **call}.items())
    return {"name": f"{name}({shown})", "function": name.lower(), "args": args, "metadata": metadata, "inputs": variables, "outputs": outputs, "rtol": 1e-12}


def make_em(name, parameters, call, variables, n_outputs):
    """Functions that a composition tells, in each call, what to do."""
    owner = pnl.ProcessingMechanism()  # a matrix memory is not made without one
    settings = {"memory": np.array(parameters["memory"]), "owner": owner} if "memory" in parameters else {}
    template = convert_all_elements_to_np_array([np.zeros(len(item)) for item in variables[0]]) if n_outputs > 1 else np.zeros(3)
    function = getattr(pnl, name)(default_variable=template, **{**parameters, **settings})
    outputs = []
    for variable in variables:
        items = convert_all_elements_to_np_array(variable) if n_outputs > 1 else np.array(variable)
        given = {key: np.array(value) if isinstance(value, list) else value for key, value in call.items()}
        outputs.append(outputs_of(function._function(items, context=Context(source=ContextFlags.COMMAND_LINE, execution_id=None), params=given), n_outputs))
    told = {**parameters, **call}
    args = {key: value for key, value in told.items() if isinstance(value, (int, float)) and not isinstance(value, bool)}
    metadata = {"type": name, **{key: value for key, value in told.items() if key not in args}}
    shown = ", ".join(f"{key}={value}" for key, value in told.items())
    return {"name": f"{name}({shown})", "function": name.lower(), "args": args, "metadata": metadata, "inputs": variables, "outputs": outputs, "rtol": 1e-12}


def main():
    made = [make(*case) for case in cases()] + [make_learning(*case) for case in learning_cases()]
    made += [make_em(*case) for case in em_cases()]
    with open(os.path.join(ROOT, "tests", "data", "psyneulink_cases.json"), "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in made) + "\n]\n")
    print(len(made), "cases")


if __name__ == "__main__":
    main()
