"""Compositions of which PsyNeuLink's exporter leaves something out: nested ones, control, gating, ports, learning, what was executed before."""

import numpy as np
import psyneulink as pnl
from building import alone, comp, composition


@composition
def nested_simple():
    x = pnl.TransferMechanism(name="X", input_shapes=2, function=pnl.Linear(slope=2.0))
    y = pnl.TransferMechanism(name="Y", input_shapes=2, function=pnl.Logistic())
    inner = comp([x, y], name="inner")
    a = pnl.TransferMechanism(name="A", input_shapes=2)
    z = pnl.TransferMechanism(name="Z", input_shapes=2, function=pnl.Linear(intercept=1.0))
    return comp([a, inner, z], name="outer"), {"A": [[1.0, 2.0], [0.0, 1.0]]}, 2


@composition
def nested_origin():
    x = pnl.IntegratorMechanism(name="X", function=pnl.SimpleIntegrator(rate=0.5))
    y = pnl.TransferMechanism(name="Y")
    inner = comp([x, y], name="inner")
    inner.scheduler.add_condition(y, pnl.EveryNCalls(x, 3))
    return comp(inner, name="outer"), {"inner": [[1.0], [2.0]]}, 2


@composition
def control_without_a_controller():
    """What is under control has the value that it was given with."""
    x = pnl.TransferMechanism(name="X", input_shapes=2, function=pnl.Linear(slope=(3.0, pnl.CONTROL)), noise=(0.5, pnl.CONTROL))
    y = pnl.TransferMechanism(name="Y", input_shapes=2, function=pnl.Logistic(gain=(2.0, pnl.CONTROL)))
    inner = comp([x, y], name="inner")
    a = pnl.TransferMechanism(name="A", input_shapes=2)
    return comp([a, inner], name="outer"), {"A": [[1.0, 0.2], [0.0, -1.0]]}, 2


@composition
def recurrence_by_itself():
    """The port that the recurrent projection leads to has no other one."""
    t = pnl.TransferMechanism(name="T")
    r = pnl.RecurrentTransferMechanism(name="R", input_shapes=3, function=pnl.Logistic(gain=0.5, bias=-0.9, offset=0.2), auto=0.3, hetero=-0.4)
    control = pnl.ControlMechanism(name="C", monitor_for_control=t, control_signals=[pnl.ControlSignal(modulates=("gain", r))])
    return comp(t, r, control), {"T": [[0.5], [-1.0], [2.0]]}, 3


@composition
def mdf_model_nested_comp_with_scheduler():
    e, f = (pnl.TransferMechanism(name=name) for name in "EF")
    inner = comp(e, f, name="Inner Composition")
    a = pnl.TransferMechanism(name="A", function=pnl.Linear(slope=5.0, intercept=2.0))
    b = pnl.TransferMechanism(name="B", function=pnl.Logistic)
    c, d = pnl.RecurrentTransferMechanism(name="C"), pnl.IntegratorMechanism(name="D", function=pnl.SimpleIntegrator)
    result = comp(a, b, c, d, inner)
    for sender, receiver in ((a, b), (a, c), (b, d), (c, d), (c, inner)):
        result.add_projection(pnl.MappingProjection(), sender, receiver)
    inner.add_projection(pnl.MappingProjection(), e, f)
    result.scheduler.add_condition_set(
        {a: pnl.EveryNPasses(1), b: pnl.EveryNCalls(a, 2), c: pnl.EveryNCalls(b, 2), d: pnl.TimeInterval(start=1)}
    )
    result.termination_processing = {
        pnl.TimeScale.RUN: pnl.AfterNTrials(1),
        pnl.TimeScale.TRIAL: pnl.AfterNCalls(d, 4),
    }
    return result, {"A": [[1.0]]}, 1


@composition
def control_forward():
    a, b = pnl.TransferMechanism(name="A"), pnl.TransferMechanism(name="B", function=pnl.Logistic())
    c = pnl.ControlMechanism(name="C", monitor_for_control=a, control_signals=[("gain", b)])
    return comp([a, b], c), {"A": [[1.0], [0.5], [2.0]]}, 3


@composition
def gating():
    a, b = (pnl.TransferMechanism(name=name, input_shapes=2) for name in "AB")
    g = pnl.GatingMechanism(name="G", gate=[b.output_port])
    return comp([a, b], g), {"A": [[1.0, 2.0], [1.0, 2.0]], "G": [[0.5], [2.0]]}, 2


@composition
def lib_gilzenrat():
    def layer(name, size, x_0, **settings):
        return pnl.LCAMechanism(
            name=name,
            input_shapes=size,
            time_step_size=0.02,
            leak=1.0,
            function=pnl.Logistic(x_0=x_0),
            noise=pnl.NormalDist(standard_deviation=0.0),
            integrator_mode=True,
            **settings,
        )

    source = pnl.TransferMechanism(name="INPUT LAYER", input_shapes=2, initial_value=np.array([[0.0, 0.0]]))
    decision = layer("DECISION LAYER", 2, 0.0, self_excitation=1.0, competition=1.0)
    response = layer("RESPONSE", 1, 2.0, self_excitation=2.0)
    coherence, v, w = 0.95, (0.07 - 0.05 * 0.5) / 0.95, 0.14
    of_lc = {"threshold": 0.5, "uncorrelated_activity": 0.5, "time_step_size": 0.02, "mode": coherence, "time_constant_v": 0.05}
    of_lc |= {"time_constant_w": 5.0, "a_v": -1.0, "b_v": 1.0, "c_v": 1.0, "d_v": 0.0, "e_v": -1.0, "f_v": 1.0}
    of_lc |= {"a_w": 1.0, "b_w": -1.0, "c_w": 0.0, "t_0": 0.0, "initial_v": v, "initial_w": w}
    monitor = pnl.ObjectiveMechanism(
        name="LC ObjectiveMechanism", function=pnl.Linear, monitor=[(decision, None, None, np.array([[0.3], [0.0]]))]
    )
    lc = pnl.LCControlMechanism(
        name="LC",
        integration_method="EULER",
        base_level_gain=0.5,
        scaling_factor_gain=3.0,
        objective_mechanism=monitor,
        modulated_mechanisms=[decision, response],
        **{f"{name}_FitzHughNagumo": value for name, value in of_lc.items()},
    )
    crossed, out = np.array([[1.0, 0.33], [0.33, 1.0]]), np.array([[1.84], [0.0]])
    result = comp([source, crossed, decision, out, response], lc)
    return result, {"INPUT LAYER": [[0.0, 0.0]] * 10 + [[1.0, 0.0]] * 10}, 20


@composition
def autoassociative_learning():
    matrix = 0.1 * (np.ones((4, 4)) - np.eye(4))
    mechanism = pnl.RecurrentTransferMechanism(name="R", input_shapes=4, matrix=matrix, enable_learning=True)
    return alone(mechanism, [[1.0, 0.0, 1.0, 0.0]] * 3)


@composition
def mdf_model_integrators():
    def noise(kind, **settings):
        return kind(seed=0, **settings)

    def transfer(name, rate, function, integrator):
        settings = {} if rate is None else {"integration_rate": rate}
        return pnl.TransferMechanism(
            name=name, function=function, integrator_mode=True, integrator_function=integrator, **settings
        )

    uniform, normal = pnl.UniformDist, pnl.NormalDist
    a = transfer(
        "A", None, pnl.Linear(slope=0.5, intercept=1.0), pnl.SimpleIntegrator(rate=0.5, noise=noise(uniform, low=-1.0, high=1.0))
    )
    b = transfer(
        "B",
        0.9,
        pnl.Logistic(gain=0.1),
        pnl.AdaptiveIntegrator(offset=-1, noise=noise(normal, mean=-1.0, standard_deviation=0.5)),
    )
    c = transfer("C", 0.5, pnl.Linear(), pnl.AccumulatorIntegrator(noise=noise(normal, standard_deviation=0.25)))
    d = transfer(
        "D",
        0.5,
        pnl.Linear(),
        pnl.LeakyCompetingIntegrator(noise=noise(uniform, low=-0.5, high=0.5), time_step_size=0.2),
    )
    e = pnl.IntegratorMechanism(
        name="E", function=pnl.SimpleIntegrator(rate=0.5, offset=-1, noise=noise(uniform, low=-0.25, high=0.5))
    )
    result = comp([a, b, c, d, e])
    twice = {after: pnl.EveryNCalls(before, 2) for before, after in ((a, b), (b, c), (c, d), (d, e))}
    result.scheduler.add_condition_set({a: pnl.EveryNPasses(1), **twice})
    result.termination_processing = {
        pnl.TimeScale.RUN: pnl.AfterNTrials(1),
        pnl.TimeScale.TRIAL: pnl.All(pnl.Not(pnl.BeforeNCalls(e, 5))),
    }
    return result, {"A": [[1.0]]}, 1


@composition
def mdf_model_with_control():
    samples = np.arange(0.1, 1.01, 0.3)
    source = pnl.TransferMechanism(name="Input")
    reward = pnl.TransferMechanism(name="reward", output_ports=[pnl.RESULT, pnl.MEAN, pnl.VARIANCE])
    function = pnl.DriftDiffusionAnalytical(noise=0.5, starting_value=0, non_decision_time=0.45)
    ports = [pnl.DECISION_VARIABLE, pnl.RESPONSE_TIME, pnl.PROBABILITY_UPPER_THRESHOLD]
    decision = pnl.DDM(name="Decision", function=function, output_ports=ports)
    result = pnl.Composition(name="comp")
    for node in (reward, decision):
        result.add_node(node, required_roles=[pnl.NodeRole.OUTPUT])
    result.add_linear_processing_pathway([source, pnl.IDENTITY_MATRIX, decision])
    objective = pnl.ObjectiveMechanism(
        function=pnl.LinearCombination(operation=pnl.PRODUCT),
        monitor=[
            reward,
            decision.output_ports[pnl.PROBABILITY_UPPER_THRESHOLD],
            (decision.output_ports[pnl.RESPONSE_TIME], -1, 1),
        ],
    )
    controller = pnl.OptimizationControlMechanism(
        agent_rep=result,
        state_features=[source.input_port, reward.input_port],
        state_feature_function=pnl.AdaptiveIntegrator(rate=0.5),
        objective_mechanism=objective,
        function=pnl.GridSearch,
        control=[
            {pnl.PROJECTIONS: (name, decision), pnl.ALLOCATION_SAMPLES: samples} for name in ("drift_rate", pnl.THRESHOLD)
        ],
    )
    result.add_controller(controller)
    return result, {"Input": [[0.5], [0.123]], "reward": [[20.0], [20.0]]}, 2


def controlled(modulation):
    a, b = pnl.TransferMechanism(name="A"), pnl.TransferMechanism(name="B", function=pnl.Linear(slope=3.0, intercept=0.5))
    signals = [pnl.ControlSignal(modulates=(name, b), modulation=modulation) for name in ("slope", "intercept")]
    c = pnl.ControlMechanism(name="C", monitor_for_control=a, control_signals=signals)
    return comp([a, b], c), {"A": [[1.0], [0.5], [2.0]]}, 3


@composition
def control_additive():
    return controlled(pnl.ADDITIVE)


@composition
def control_override():
    return controlled(pnl.OVERRIDE)


@composition
def control_two_signals():
    a, b = pnl.TransferMechanism(name="A"), pnl.TransferMechanism(name="B", input_shapes=2, function=pnl.Linear(slope=3.0))
    first = pnl.ControlMechanism(name="C", monitor_for_control=a, control_signals=[("slope", b)])
    second = pnl.ControlMechanism(name="D", monitor_for_control=a, control_signals=[("slope", b)])
    return comp([a, np.array([[1.0, 2.0]]), b], first, second), {"A": [[1.0], [0.5], [2.0]]}, 3


@composition
def control_feedback():
    """What is controlled comes before what is monitored: the signal of the trial before counts."""
    a = pnl.TransferMechanism(name="A", function=pnl.Linear(slope=2.0))
    b = pnl.TransferMechanism(name="B", function=pnl.Logistic())
    c = pnl.ControlMechanism(name="C", monitor_for_control=b, control_signals=[("slope", a)])
    return comp([a, b], c), {"A": [[1.0], [0.5], [2.0]]}, 3


@composition
def control_integration_rate():
    a = pnl.TransferMechanism(name="A")
    b = pnl.TransferMechanism(name="B", integrator_mode=True, integration_rate=0.5)
    c = pnl.ControlMechanism(name="C", monitor_for_control=a, control_signals=[("integration_rate", b)])
    return comp([a, b], c), {"A": [[1.0], [0.5], [0.25]]}, 3


@composition
def control_into_nested():
    x = pnl.TransferMechanism(name="X", function=pnl.Linear(slope=2.0))
    inner = comp(x, name="inner")
    a = pnl.TransferMechanism(name="A")
    c = pnl.ControlMechanism(name="C", monitor_for_control=a, control_signals=[("slope", x)])
    return comp([a, inner], c, name="outer"), {"A": [[1.0], [0.5], [2.0]]}, 3


@composition
def gating_input():
    a, b = (pnl.TransferMechanism(name=name, input_shapes=2) for name in "AB")
    g = pnl.GatingMechanism(name="G", gate=[b.input_port])
    return comp([a, pnl.MappingProjection(matrix=[[1.0, 2.0], [3.0, 4.0]]), b], g), {"A": [[1.0, 2.0]] * 2, "G": [[0.5], [2.0]]}, 2


@composition
def nested_matrices():
    x = pnl.TransferMechanism(name="X", input_shapes=3, function=pnl.Linear(slope=2.0))
    inner = comp(x, name="inner")
    a, z = pnl.TransferMechanism(name="A", input_shapes=2), pnl.TransferMechanism(name="Z", input_shapes=2)
    into, out = np.arange(6.0).reshape(2, 3), np.array([[1.0, 0.5], [0.0, 2.0], [1.0, 1.0]])
    result = comp(a, inner, z, name="outer")
    result.add_projection(pnl.MappingProjection(matrix=into), a, inner)
    result.add_projection(pnl.MappingProjection(matrix=out), inner, z)
    return result, {"A": [[1.0, 2.0], [0.0, 1.0]]}, 2


@composition
def nested_sum():
    """Two projections and feedback into one port of a nested composition."""
    x = pnl.TransferMechanism(name="X", input_shapes=2, function=pnl.Logistic())
    inner = comp([x], name="inner")
    a, b, z = (pnl.TransferMechanism(name=name, input_shapes=2) for name in "ABZ")
    result = comp(a, b, inner, z, name="outer")
    for sender, receiver, settings in ((a, inner, {}), (b, inner, {}), (inner, z, {}), (z, inner, {"feedback": True})):
        result.add_projection(pnl.MappingProjection(matrix=[[1.0, 0.5], [-0.5, 1.0]]), sender, receiver, **settings)
    return result, {"A": [[1.0, 2.0], [0.0, 1.0]], "B": [[3.0, 4.0], [1.0, -1.0]]}, 2


@composition
def nested_twice():
    x = pnl.TransferMechanism(name="X", function=pnl.Linear(slope=2.0))
    y = pnl.IntegratorMechanism(name="Y", function=pnl.SimpleIntegrator(rate=0.5))
    innermost = comp([x, y], name="innermost")
    w = pnl.TransferMechanism(name="W", function=pnl.Linear(intercept=1.0))
    inner = comp([innermost, w], name="inner")
    a, z = pnl.TransferMechanism(name="A"), pnl.TransferMechanism(name="Z", function=pnl.Logistic())
    return comp([a, inner, z], name="outer"), {"A": [[1.0], [2.0], [3.0]]}, 3


@composition
def nested_two_ports():
    """Two input mechanisms within, of which one is an output, too, and is read by the other output."""
    x, y = pnl.TransferMechanism(name="X", function=pnl.Linear(slope=2.0)), pnl.TransferMechanism(name="Y", input_shapes=2)
    z = pnl.TransferMechanism(name="Z")
    inner = pnl.Composition(name="inner")
    inner.add_node(x, required_roles=[pnl.NodeRole.OUTPUT])
    inner.add_linear_processing_pathway([x, z])
    inner.add_node(y)
    return comp(inner, name="outer"), {"inner": [[[1.0], [2.0, 3.0]], [[4.0], [5.0, 6.0]]]}, 2


@composition
def output_ports_custom():
    ports = [
        pnl.RESULT,
        pnl.STANDARD_DEVIATION,
        {pnl.NAME: "GAINED", pnl.FUNCTION: pnl.Logistic(gain=2.0)},
        {pnl.NAME: "SLOPED", pnl.FUNCTION: pnl.Linear(slope=2.0, intercept=1.0)},
    ]
    mechanism = pnl.TransferMechanism(name="T", input_shapes=3, output_ports=ports)
    return alone(mechanism, [[1.0, 2.0, 6.0], [0.0, -1.0, 1.0]])


@composition
def comparator_sums():
    mechanism = pnl.ComparatorMechanism(name="O", sample=[0.0, 0.0], target=[0.0, 0.0], output_ports=[pnl.OUTCOME, "SSE", "MSE"])
    return comp(mechanism), {"O": [[[1.0, 2.0], [3.0, 5.0]]]}, 1


@composition
def changed_afterwards():
    a, b = pnl.TransferMechanism(name="A"), pnl.TransferMechanism(name="B", noise=0.1)
    projection = pnl.MappingProjection(matrix=[[2.0]])
    result = comp([a, projection, b])
    a.function.parameters.slope.set(3.0, None)
    projection.parameters.matrix.set(np.array([[5.0]]), None)
    return result, {"A": [[1.0], [2.0]]}, 2


@composition
def threshold_of_value():
    a = pnl.TransferMechanism(name="A", input_shapes=2, integrator_mode=True, integration_rate=0.1)
    b = pnl.TransferMechanism(name="B", input_shapes=2)
    result = comp([a, b])
    result.scheduler.add_condition(b, pnl.Threshold(a, "value", 0.5, ">=", (0, 1)))
    return result, {"A": [[1.0, 1.0]]}, 2


@composition
def threshold_of_number():
    a = pnl.TransferMechanism(name="A", integrator_mode=True, integration_rate=0.1)
    b = pnl.TransferMechanism(name="B")
    result = comp([a, b])
    result.scheduler.add_condition(b, pnl.Threshold(a, "value", 0.5, ">=", (0, 0)))
    return result, {"A": [[1.0]]}, 2


@composition
def reset_each_trial():
    a = pnl.TransferMechanism(
        name="A", integrator_mode=True, integration_rate=0.5, reset_stateful_function_when=pnl.AtTrialStart()
    )
    b = pnl.TransferMechanism(name="B")
    result = comp([a, b])
    result.scheduler.add_condition(b, pnl.EveryNCalls(a, 3))
    return result, {"A": [[1.0], [2.0]]}, 2


@composition
def lca_finished():
    a = pnl.LCAMechanism(name="A", input_shapes=2, leak=0.5, competition=0.3, threshold=0.6, noise=0.0)
    b = pnl.TransferMechanism(name="B", input_shapes=2)
    return comp([a, b]), {"A": [[2.0, 0.2], [0.3, 3.0]]}, 2


@composition
def lca_measures():
    ports = [pnl.RESULT, pnl.MAX_VS_NEXT, pnl.MAX_VS_AVG, pnl.DECISION_INDEX]
    return comp(pnl.LCAMechanism(name="A", input_shapes=3, threshold=0.6, output_ports=ports)), {"A": [[1.0, -2.0, 0.5], [0.3, 0.9, 0.1]]}, 3


def counted(**settings):
    ports = [pnl.RESULT, "DECISION_STEPS", "DECISION_TIME"]
    a = pnl.LCAMechanism(name="A", input_shapes=3, time_step_size=0.2, output_ports=ports, **settings)
    b = pnl.TransferMechanism(name="B")
    result = comp(a, b)
    result.add_projection(pnl.MappingProjection(), sender=a.output_ports["DECISION_STEPS"], receiver=b)
    return result, {"A": [[1.0, -2.0, 0.5], [0.3, 0.9, 0.1]]}, 4


@composition
def lca_counts():
    return counted(threshold=0.6)


@composition
def lca_counts_of_a_criterion():
    return counted(threshold=0.3, threshold_criterion=pnl.MAX_VS_NEXT)


@composition
def lca_counts_until_it_converges():
    return counted(threshold=0.001, threshold_criterion=pnl.CONVERGENCE)


@composition
def lca_counts_one_by_one():
    result, inputs, n = counted(threshold=0.55, execute_until_finished=False)
    return result, inputs, 3 * n


@composition
def lca_counts_without_threshold():
    return counted()


@composition
def lca_counts_up_to_a_bound():
    return counted(threshold=0.6, max_executions_before_finished=12)


# What was executed by itself before


@composition
def executed_before():
    nodes = [
        pnl.RecurrentTransferMechanism(name="R", input_shapes=3, hetero=-1.0),
        pnl.IntegratorMechanism(name="I", function=pnl.SimpleIntegrator),
        pnl.TransferMechanism(name="T", integrator_mode=True, initial_value=[[0.3]]),
        pnl.IntegratorMechanism(name="F", function=pnl.FitzHughNagumoIntegrator),
    ]
    for node, given in zip(nodes, ([1, 2, 3], [2.0], [0.4], [0.3])):
        node.execute(given)
    return comp(*nodes), {"R": [[1.0, 2.0, 3.0]], "I": [[1.0]], "T": [[2.0]], "F": [[0.5]]}, 3


@composition
def evc_gridsearch():
    """Control of the drift rate, which costs more the more there is of it."""
    source, reward = pnl.TransferMechanism(name="Input"), pnl.TransferMechanism(name="reward")
    function = pnl.DriftDiffusionAnalytical(noise=0.5, non_decision_time=0.45)
    ports = [pnl.RESPONSE_TIME, pnl.PROBABILITY_UPPER_THRESHOLD]
    decision = pnl.DDM(name="Decision", function=function, output_ports=ports)
    result = pnl.Composition(name="evc")
    result.add_node(reward, required_roles=[pnl.NodeRole.OUTPUT])
    result.add_linear_processing_pathway([source, decision])
    objective = pnl.ObjectiveMechanism(
        function=pnl.LinearCombination(operation=pnl.PRODUCT),
        monitor=[reward, decision.output_ports[pnl.PROBABILITY_UPPER_THRESHOLD], (decision.output_ports[pnl.RESPONSE_TIME], 1, -1)],
    )
    signals = [
        pnl.ControlSignal(
            modulates=(name, decision),
            allocation_samples=samples,
            cost_options=pnl.CostFunctions.INTENSITY,
            intensity_cost_function=pnl.Linear(slope=slope),
        )
        for name, samples, slope in (("drift_rate", [0.1, 0.5, 1.0, 2.0], 0.3), (pnl.THRESHOLD, [0.2, 0.6, 1.0], 0.1))
    ]
    result.add_controller(
        pnl.OptimizationControlMechanism(
            agent_rep=result,
            state_features=[source.input_port, reward.input_port],
            objective_mechanism=objective,
            function=pnl.GridSearch(),
            control_signals=signals,
        )
    )
    return result, {"Input": [[0.5], [0.123], [1.0], [0.7]], "reward": [[20.0], [2.0], [5.0], [1.0]]}, 4


@composition
def controller_before():
    a, b = pnl.TransferMechanism(name="A"), pnl.TransferMechanism(name="B", function=pnl.Linear(slope=1.0))
    result = comp([a, b])
    objective = pnl.ObjectiveMechanism(monitor=[b], function=pnl.Linear(slope=-1.0, intercept=3.0))
    signal = pnl.ControlSignal(modulates=("slope", b), allocation_samples=[1.0, 2.0, -0.5])
    controller = pnl.OptimizationControlMechanism(
        agent_rep=result,
        state_features=[a.input_port],
        objective_mechanism=objective,
        function=pnl.GridSearch(direction=pnl.MINIMIZE),
        control_signals=[signal],
    )
    result.add_controller(controller)
    result.controller_mode = pnl.BEFORE
    return result, {"A": [[1.0], [-1.0], [2.0]]}, 3


# Input ports that do something else than adding up


def two_to_one(function, **settings):
    a, b = pnl.TransferMechanism(name="A", input_shapes=2), pnl.TransferMechanism(name="B", input_shapes=2)
    c = pnl.TransferMechanism(name="C", input_shapes=2, input_ports=[{pnl.FUNCTION: function, pnl.INPUT_SHAPES: 2}], **settings)
    return comp([a, c], [b, c]), {"A": [[1.0, 2.0], [3.0, 4.0]], "B": [[0.5, 0.75]]}, 3


@composition
def product_of_projections():
    return two_to_one(pnl.LinearCombination(operation=pnl.PRODUCT))


@composition
def weighted_projections():
    return two_to_one(pnl.LinearCombination(weights=[[1.0], [-2.0]], offset=0.1), integrator_mode=True)


@composition
def reduced_input():
    port = {pnl.VARIABLE: [[0.0, 0.0, 0.0]], pnl.FUNCTION: pnl.Reduce(operation=pnl.PRODUCT)}
    mechanism = pnl.ProcessingMechanism(name="T", input_ports=[port, {pnl.NAME: "two"}], function=pnl.LinearCombination())
    return alone(mechanism, [[[1.0, 2.0, 3.0], [4.0]]])


@composition
def gated_product():
    result, inputs, n = two_to_one(pnl.LinearCombination(operation=pnl.PRODUCT))
    gate = pnl.GatingMechanism(name="G", input_shapes=1, gate=[next(node for node in result.nodes if node.name == "C").input_port])
    result.add_node(gate)
    return result, {**inputs, "G": [[0.5], [2.0]]}, n


def choosing(function, **settings):
    ports = ["DECISION_VARIABLE_ARRAY", "SELECTED_INPUT_ARRAY", pnl.RESPONSE_TIME]
    return alone(pnl.DDM(name="T", input_format=pnl.ARRAY, function=function, output_ports=ports, **settings), [[0.5, 0.2], [0.1, 0.9]])


@composition
def ddm_of_an_array():
    return choosing(pnl.DriftDiffusionAnalytical())


@composition
def ddm_that_walks_by_an_array():
    return choosing(pnl.DriftDiffusionIntegrator(noise=0.5, threshold=2.0))


@composition
def ddm_that_never_resets():
    function = pnl.DriftDiffusionIntegrator(threshold=10.0)
    return alone(pnl.DDM(name="T", function=function, execute_until_finished=False, reset_stateful_function_when=pnl.Never()), [[2.0], [2.5]])


@composition
def means_of_different_lengths():
    a, b = pnl.TransferMechanism(name="A", input_shapes=2), pnl.TransferMechanism(name="B", input_shapes=3)
    result = comp([a, np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), b])
    result.add_node(pnl.LCControlMechanism(name="LC", monitor_for_control=[a, b], modulated_mechanisms=result))
    return result, {"A": [[1.0, 2.0], [0.3, 0.2]]}, 3


def reset_by_control(**settings):
    a, modulation = pnl.ProcessingMechanism(name="A"), settings.pop("modulation", None)
    counter = pnl.IntegratorMechanism(name="T", function=pnl.SimpleIntegrator(initializer=[0.5]), **settings)
    control = pnl.ControlMechanism(name="C", monitor_for_control=a, modulation=modulation, control=("reset", counter))
    return pnl.Composition(name="comp", nodes=[a, control, counter]), {"A": [[0.0], [0.0], [1.0], [0.0]], "T": [[1.0]]}, 6


@composition
def reset_by_a_signal():
    return reset_by_control(modulation=pnl.OVERRIDE)


@composition
def reset_by_a_factor():
    return reset_by_control(reset_default=1)


def noise_by_control(parameter):
    function = pnl.AccumulatorIntegrator(rate=0, noise=pnl.NormalDist(seed=[1], mean=15))
    a, mechanism = pnl.ProcessingMechanism(name="A"), pnl.IntegratorMechanism(name="T", default_variable=[0], function=function)
    control = pnl.ControlMechanism(name="C", monitor_for_control=a, modulation=pnl.OVERRIDE, control=(parameter, mechanism))
    return pnl.Composition(name="comp", nodes=[a, control, mechanism]), {"A": [[10.0], [20.0]], "T": [[0.0]]}, 4


@composition
def mean_of_noise_by_control():
    return noise_by_control(pnl.DIST_MEAN)


@composition
def deviation_of_noise_by_control():
    return noise_by_control(pnl.STANDARD_DEVIATION)
