"""Estimations of parameters."""

import numpy as np
import psyneulink as pnl
from building import estimation


def walk(noise=0.0, **settings):
    ddm = pnl.DDM(
        name="D",
        function=pnl.DriftDiffusionIntegrator(rate=0.3, noise=noise, threshold=0.6, non_decision_time=0.15, time_step_size=0.01),
        output_ports=[pnl.DECISION_OUTCOME, pnl.RESPONSE_TIME],
    )
    model = pnl.Composition(pathways=ddm, name="walk")
    parameters = {("rate", ddm): np.linspace(0.1, 1.0, 4), ("threshold", ddm): np.linspace(0.3, 0.9, 3)}
    settings = {"initial_seed": 42, **settings}
    if "depends_on" in settings:
        settings["depends_on"] = {("threshold", ddm): settings["depends_on"]}
    ports = [ddm.output_ports[pnl.DECISION_OUTCOME], ddm.output_ports[pnl.RESPONSE_TIME]]
    estimation = pnl.ParameterEstimationComposition(name="estimation", nodes=[model], parameters=parameters, outcome_variables=ports, **settings)
    return estimation, model


WALK_INPUTS = [[1.0], [0.5], [-1.0], [0.75]]


def measured(noise):
    """What somebody may have measured, in two conditions."""
    import pandas

    rng = np.random.default_rng(1)
    data = pandas.DataFrame({"decision": [1, 1, 0, 1] * 10, "time": 0.5 + rng.random(40), "condition": ["easy", "hard"] * 20})
    data["decision"] = data["decision"].astype("category")
    return data


@estimation
def estimation_by_objective():
    settings = {"method": "differential_evolution", "max_iterations": 1}
    result, model = walk(objective_function=lambda data: float(np.mean(data[:, :, 1])), optimization_function=pnl.PECOptimizationFunction(**settings))
    return result, {model: WALK_INPUTS}, [(0.3, 0.5), (0.9, 0.35)]


@estimation
def estimation_by_data():
    result, model = walk(noise=0.0, data=measured(0.0).drop(columns="condition"), num_estimates=2)
    return result, {model: WALK_INPUTS * 10}, [(0.3, 0.5), (0.9, 0.35)]


@estimation
def estimation_in_conditions():
    result, model = walk(noise=0.0, data=measured(0.0), depends_on="condition", num_estimates=2)
    return result, {model: WALK_INPUTS * 10}, [(0.3, 0.5, 0.8), (0.9, 0.35, 0.4)]


@estimation
def estimation_with_two_inputs():
    a, b = pnl.TransferMechanism(name="A"), pnl.TransferMechanism(name="B", input_shapes=1)
    c = pnl.TransferMechanism(name="C", function=pnl.Logistic(gain=2.0))
    model = pnl.Composition(pathways=[[a, c], [b, c]], name="two")
    parameters = {("slope", a): np.linspace(0.5, 1.5, 3), ("gain", c): np.linspace(1.0, 3.0, 3), ("intercept", b): np.linspace(0.0, 1.0, 3)}
    result = pnl.ParameterEstimationComposition(
        name="estimation",
        nodes=[model],
        parameters=parameters,
        outcome_variables=[c.output_port],
        objective_function=lambda data: float(np.sum((data - 0.75) ** 2)),
        optimization_function=pnl.PECOptimizationFunction(method="differential_evolution", max_iterations=1, direction="minimize"),
        initial_seed=3,
    )
    return result, {a: [[1.0], [0.5], [-1.0]], b: [[0.25], [0.0], [0.5]]}, [(0.75, 1.5, 0.25), (1.25, 2.5, 0.75)]


@estimation
def estimation_with_noise():
    result, model = walk(noise=0.5, data=measured(0.5).drop(columns="condition"), num_estimates=1000)
    return result, {model: WALK_INPUTS * 10}, [(0.3, 0.5), (0.9, 0.35)]
