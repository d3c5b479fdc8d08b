"""Compositions of PsyNeuLink, small ones, as functions: what the live door (`mdf_c.psyneulink`) is compared with Composition.run on.

COMPOSITIONS maps a name to a function without arguments; what it returns are the composition, the inputs by names of mechanisms
(or None) and the number of trials. REFUSED has such functions, too, each with words of the error; ARRANGED those with further arguments
of Composition.run behind what they return.
"""

import functools
import math

import numpy as np
import psyneulink as pnl
from modeci_mdf.functions.standard import mdf_functions
from psyneulink.core.globals.utilities import _SeededPhilox, set_global_seed

COMPOSITIONS = {}
REFUSED = {}
ARRANGED = {}


def fresh(function):
    """The function, in a PsyNeuLink that has made nothing yet: else a second mechanism "A" is called "A-1"."""

    @functools.wraps(function)
    def build():
        for registry in pnl.primary_registries:
            pnl.clear_registry(registry)
        set_global_seed(0)
        return function()

    return build


def composition(function):
    COMPOSITIONS[function.__name__] = fresh(function)
    return COMPOSITIONS[function.__name__]


def comp(*pathways, name="comp"):
    result = pnl.Composition(name=name)
    for pathway in pathways:
        result.add_linear_processing_pathway(pathway) if isinstance(pathway, list) else result.add_node(pathway)
    return result


def alone(mechanism, inputs):
    """A mechanism by itself."""
    return comp(mechanism), {mechanism.name: inputs}, len(inputs)


def processing(function, inputs):
    return alone(pnl.ProcessingMechanism(name="T", input_shapes=len(inputs[0]), function=function), inputs)


def integrator(function):
    return alone(pnl.IntegratorMechanism(name="T", function=function), [[1.0]] * 4)


# Absolute time


def timed(mode, conditions, end):
    """A chain of three that run by time; the last one adds up."""
    a, b = pnl.TransferMechanism(name="A"), pnl.TransferMechanism(name="B", function=pnl.Linear(slope=2.0))
    result = comp([a, b, pnl.IntegratorMechanism(name="C", function=pnl.SimpleIntegrator)])
    result.scheduler.mode = mode
    for name, condition in conditions.items():
        result.scheduler.add_condition(result.nodes[name], condition)
    result.termination_processing = {pnl.TimeScale.TRIAL: end}
    return result, {"A": [[1.0], [2.0], [5.0]]}, 4


def intervals():
    """In one unit: between several PsyNeuLink rounds, by which what is to run at a time may not."""
    return {
        "A": pnl.TimeInterval(repeat=2),
        "B": pnl.TimeInterval(repeat="3 ms", start=3),
        "C": pnl.TimeInterval(repeat=1, unit="ms", end="30 ms"),
    }


@composition
def exact_time():
    return timed(pnl.SchedulingMode.EXACT_TIME, intervals(), pnl.TimeTermination(t=9))


@composition
def standard_time():
    return timed(pnl.SchedulingMode.STANDARD, intervals(), pnl.TimeTermination(t=9))


@composition
def exact_time_passes():
    conditions = {"A": pnl.TimeInterval(start=2), "B": pnl.TimeInterval(start=2), "C": pnl.TimeInterval(start=1, start_inclusive=False)}
    return timed(pnl.SchedulingMode.EXACT_TIME, conditions, pnl.AfterNPasses(3))


@composition
def exact_time_defaults():
    return timed(pnl.SchedulingMode.EXACT_TIME, {}, pnl.AfterNPasses(4))


# Functions


@composition
def accumulator():
    return integrator(pnl.AccumulatorIntegrator(rate=0.9, increment=0.4))


@composition
def dual_adaptive():
    return integrator(pnl.DualAdaptiveIntegrator())


@composition
def binomialdistort0():
    return processing(pnl.Identity(), [[1.0, 3.0, 2.0]])


@composition
def buffer():
    return processing(pnl.Buffer(default_variable=[[0.0, 0.0]], initializer=[[0.0, 0.0]], history=3), [[1, 2], [3, 4], [5, 6], [7, 8]])


@composition
def logistic_x0_scale():
    return processing(pnl.Logistic(gain=2.0, bias=-0.6, scale=3.0, offset=0.25), [[1.0], [-1.0]])


@composition
def normalize():
    return processing(pnl.Normalize(), [[1.0, -2.0, 0.5]])


@composition
def onehot():
    return processing(pnl.OneHot(mode=pnl.ARG_MAX_INDICATOR), [[1.0, 3.0, 2.0]])


@composition
def reduce_prod():
    mechanism = pnl.ProcessingMechanism(name="T", default_variable=[[0.0, 0.0, 0.0]], function=pnl.Reduce(operation=pnl.PRODUCT))
    return alone(mechanism, [[1.0, 3.0, 2.0]])


@composition
def relu():
    return processing(pnl.ReLU(gain=2.0, bias=0.1, leak=0.2), [[1.0, -2.0, 0.5]])


@composition
def softmax_default():
    return processing(pnl.SoftMax(), [[1.0, 2.0, 0.5]])


@composition
def softmax_maxval():
    return processing(pnl.SoftMax(output=pnl.MAX_VAL), [[1.0, 2.0, 0.5]])


# Costs


@composition
def costs_of_transfer():
    function = pnl.TransferWithCosts(
        input_shapes=2,
        transfer_fct=pnl.Logistic(gain=2.0),
        enabled_cost_functions=pnl.CostFunctions.ALL,
        adjustment_cost_fct=pnl.Linear(slope=3.0, intercept=0.5),
        intensity_cost_fct=pnl.Exponential(rate=0.5),
    )
    return alone(pnl.ProcessingMechanism(name="T", input_shapes=2, function=function), [[0.5, 1.0], [1.0, 0.25], [1.0, 0.25]])


@composition
def costs_of_signal():
    source, target = pnl.TransferMechanism(name="A"), pnl.TransferMechanism(name="B")
    signal = pnl.ControlSignal(modulates=("slope", target), cost_options=pnl.CostFunctions.INTENSITY | pnl.CostFunctions.ADJUSTMENT)
    control = pnl.ControlMechanism(name="C", default_variable=[[1.0]], monitor_for_control=source, objective_mechanism=False, control_signals=[signal])
    result = comp([source, target])
    result.add_node(control)
    return result, {"A": [[0.5], [1.0], [1.0], [0.25]]}, 4


# Memories


CUES = [[[1.0, 2.0], [0.5, 1.0]], [[-1.0, 0.5], [2.0, 0.0]], [[1.0, 2.0], [0.5, 1.25]], [[1.0, 2.0], [0.5, 1.0]]]


def memory(function):
    mechanism = pnl.EpisodicMemoryMechanism(name="M", default_variable=[[0.0, 0.0], [0.0, 0.0]], function=function)
    return comp(mechanism), {"M": CUES}, 6


@composition
def memory_addressed():
    return memory(pnl.ContentAddressableMemory(initializer=[[[0.0, 1.0], [3.0, 1.0]]]))


@composition
def memory_empty_at_first():
    return memory(pnl.ContentAddressableMemory(distance_function=pnl.Distance(metric=pnl.EUCLIDEAN), max_entries=2))


@composition
def memory_overwritten():
    distance, first = pnl.Distance(metric=pnl.EUCLIDEAN), [[[0.0, 1.0], [3.0, 1.0]]]
    return memory(
        pnl.ContentAddressableMemory(
            initializer=first, distance_function=distance, distance_field_weights=[1.0, 0.0], duplicate_entries_allowed=pnl.OVERWRITE
        )
    )


@composition
def memory_dictionary():
    function = pnl.DictionaryMemory(initializer=[[[0.0, 1.0], [3.0, 1.0]]], distance_function=pnl.Distance(metric=pnl.EUCLIDEAN))
    mechanism = pnl.ProcessingMechanism(name="M", default_variable=[[0.0, 0.0], [0.0, 0.0]], function=function)
    return comp(mechanism), {"M": CUES}, 6


@composition
def memory_within():
    source = pnl.ProcessingMechanism(name="A", input_shapes=2)
    function = pnl.ContentAddressableMemory(
        default_variable=[[0.0, 0.0], [0.0, 0.0]], equidistant_entries_select=pnl.NEWEST, duplicate_entries_allowed=True, max_entries=3
    )
    mechanism = pnl.EpisodicMemoryMechanism(name="M", default_variable=[[0.0, 0.0], [0.0, 0.0]], function=function)
    target = pnl.TransferMechanism(name="B", input_shapes=2, function=pnl.Linear(slope=2.0))
    result = pnl.Composition(name="comp", nodes=[source, mechanism, target])
    result.add_projection(pnl.MappingProjection(sender=source, receiver=mechanism.input_ports[0]))
    result.add_projection(pnl.MappingProjection(sender=source, receiver=mechanism.input_ports[1], matrix=[[0.0, 1.0], [1.0, 0.5]]))
    result.add_projection(pnl.MappingProjection(sender=mechanism.output_ports[1], receiver=target))
    return result, {"A": [[1.0, 2.0], [0.5, -1.0], [0.25, 3.0]]}, 7


# Mechanisms with several input ports


@composition
def comparator():
    mechanism = pnl.ComparatorMechanism(name="O", sample=[0.0, 0.0], target=[0.0, 0.0])
    return comp(mechanism), {"O": [[[1.0, 2.0], [3.0, 5.0]]]}, 1


@composition
def linearcombination_weights():
    function = pnl.LinearCombination(weights=[[2.0], [-1.0]], exponents=[[1.0], [2.0]], scale=2.0, offset=1.0)
    mechanism = pnl.ProcessingMechanism(name="O", default_variable=[[0.0, 0.0], [0.0, 0.0]], function=function)
    return comp(mechanism), {"O": [[[1.0, 2.0], [3.0, 4.0]]]}, 1


@composition
def objective_product():
    function = pnl.LinearCombination(operation=pnl.PRODUCT)
    mechanism = pnl.ObjectiveMechanism(name="O", default_variable=[[0.0, 0.0], [0.0, 0.0]], function=function)
    return comp(mechanism), {"O": [[[1.0, 2.0], [3.0, 4.0]]]}, 1


@composition
def prediction_error():
    mechanism = pnl.PredictionErrorMechanism(name="T", sample=[0.0] * 4, target=[0.0] * 4)
    return comp(mechanism), {"T": [[[0.0, 1.0, 2.0, 3.0], [0.0, 0.0, 1.0, 0.0]]]}, 1


# Transfer mechanisms


@composition
def transfer_clip():
    return alone(pnl.TransferMechanism(name="T", input_shapes=2, function=pnl.Linear(slope=2.0), clip=(-1.0, 1.0)), [[1.0, 0.3]])


@composition
def transfer_mean_variance():
    mechanism = pnl.TransferMechanism(name="T", input_shapes=3, output_ports=[pnl.RESULT, pnl.MEAN, pnl.VARIANCE])
    return alone(mechanism, [[1.0, 2.0, 6.0]])


@composition
def transfer_noise_const():
    return alone(pnl.TransferMechanism(name="T", noise=0.5), [[1.0], [2.0]])


@composition
def transfer_num_executions():
    mechanism = pnl.TransferMechanism(
        name="T",
        integrator_mode=True,
        integration_rate=0.5,
        termination_measure=pnl.TimeScale.TRIAL,
        termination_threshold=5,
        execute_until_finished=True,
    )
    return alone(mechanism, [[1.0], [2.0]])


@composition
def transfer_until_finished():
    mechanism = pnl.TransferMechanism(
        name="T", integrator_mode=True, integration_rate=0.5, termination_threshold=0.1, execute_until_finished=True
    )
    return alone(mechanism, [[1.0], [2.0]])


@composition
def recurrent_auto_hetero():
    mechanism = pnl.RecurrentTransferMechanism(name="R", input_shapes=3, auto=0.5, hetero=-0.2)
    return alone(mechanism, [[1.0, 2.0, 3.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]])


# Decisions


@composition
def ddm_analytical():
    function = pnl.DriftDiffusionAnalytical(drift_rate=0.3, threshold=1.2, noise=0.7, non_decision_time=0.3)
    return alone(pnl.DDM(name="D", function=function), [[1.0], [-0.5], [0.25]])


@composition
def ddm_integrator_step():
    function = pnl.DriftDiffusionIntegrator(rate=1.0, noise=0.0, threshold=3.5)
    return alone(pnl.DDM(name="D", function=function, execute_until_finished=False), [[1.0]] * 6)


@composition
def lca_ddm_chain():
    first = pnl.DDM(name="D1", function=pnl.DriftDiffusionAnalytical(drift_rate=0.5))
    second = pnl.DDM(name="D2", function=pnl.DriftDiffusionAnalytical(drift_rate=0.2))
    return comp([first, second]), {"D1": [[1.0], [0.5]]}, 2


# Several mechanisms


@composition
def autodiff_xor():
    rng = np.random.RandomState(0)
    nodes = [
        pnl.TransferMechanism(name="I", input_shapes=2),
        pnl.TransferMechanism(name="H", input_shapes=3, function=pnl.Logistic),
        pnl.TransferMechanism(name="O", input_shapes=1, function=pnl.Logistic),
    ]
    first, second = pnl.MappingProjection(matrix=rng.randn(2, 3)), pnl.MappingProjection(matrix=rng.randn(3, 1))
    result = pnl.AutodiffComposition(name="xor", pathways=[[nodes[0], first, nodes[1], second, nodes[2]]])
    return result, {"I": [[0, 0], [0, 1], [1, 0], [1, 1]]}, 4


@composition
def converge_sum():
    a, b, c = (pnl.TransferMechanism(name=name, input_shapes=2) for name in "ABC")
    result = comp([a, c], [b, pnl.MappingProjection(matrix=[[1.0, 2.0], [3.0, 4.0]]), c])
    return result, {"A": [[1.0, 2.0], [0.0, 1.0]], "B": [[3.0, 4.0], [1.0, 1.0]]}, 2


@composition
def shadow_inputs():
    a = pnl.TransferMechanism(name="A", function=pnl.Linear(slope=5.0))
    b = pnl.TransferMechanism(name="B", input_ports=[a.input_port])
    return comp(b, a), {"A": [[1.0], [2.0]]}, 2


@composition
def stroop_feedforward():
    def layer(name, **settings):
        return pnl.ProcessingMechanism(name=name, input_shapes=2, **settings)

    color_in, word_in, task = layer("COLOR INPUT"), layer("WORD INPUT"), layer("TASK INPUT")
    color, word = (layer(name, function=pnl.Logistic(bias=-4)) for name in ("COLOR HIDDEN", "WORD HIDDEN"))
    out = layer("OUTPUT", function=pnl.Logistic())
    strong, weak = np.array([[3, -3], [-3, 3]]), np.array([[2, -2], [-2, 2]])
    result = comp(
        [color_in, weak, color, weak, out],
        [word_in, strong, word, strong, out],
        [task, np.array([[4, 4], [0, 0]]), color],
        [task, np.array([[0, 0], [4, 4]]), word],
        name="Stroop",
    )
    color_naming, word_reading = [1, 0], [0, 1]
    inputs = {
        "COLOR INPUT": [[1, 0], [1, 0], [0, 1]],
        "WORD INPUT": [[0, 1], [1, 0], [1, 0]],
        "TASK INPUT": [color_naming, color_naming, word_reading],
    }
    return result, inputs, 3


@composition
def mdf_model_varied_matrix_sizes():
    rng = np.random.RandomState(5)
    sizes = {"A": 2, "B": 3, "C": 4, "D": 5, "F": 4}
    nodes = {name: pnl.TransferMechanism(name=name, input_shapes=size) for name, size in sizes.items()}
    nodes["E"] = pnl.TransferMechanism(name="E", default_variable=[[0.0] * 3, [0.0] * 3])
    result = comp(*nodes.values())

    def connect(sender, receiver, rows, columns, matrix=None):
        matrix = rng.rand(rows, columns) if matrix is None else matrix
        result.add_projection(pnl.MappingProjection(matrix=matrix), sender=nodes[sender], receiver=receiver)

    connect("A", nodes["B"], 2, 3, np.arange(1.0, 7).reshape(2, 3))
    connect("A", nodes["C"], 2, 4, np.arange(1.0, 9).reshape(2, 4))
    connect("B", nodes["D"], 3, 5, np.arange(1.0, 16).reshape(3, 5))
    connect("C", nodes["D"], 4, 5, np.arange(1.0, 21).reshape(4, 5))
    connect("A", nodes["E"].input_ports[0], 2, 3)
    connect("B", nodes["E"].input_ports[1], 3, 3)
    connect("C", nodes["E"].input_ports[0], 4, 3)
    connect("D", nodes["E"].input_ports[1], 5, 3)
    connect("E", nodes["F"], 3, 4)
    return result, {"A": [[1.0, 2.0]]}, 1


@composition
def feedback_cycle():
    a = pnl.TransferMechanism(name="A", function=pnl.Logistic(gain=2.0))
    b = pnl.TransferMechanism(name="B", integrator_mode=True, integration_rate=0.5)
    result = comp([a, pnl.MappingProjection(matrix=[[0.7]]), b])
    result.add_projection(pnl.MappingProjection(matrix=[[-0.3]]), sender=b, receiver=a, feedback=True)
    return result, {"A": [[1.0], [0.5], [0.2]]}, 3


@composition
def lib_cohen_huston_horse_race():
    def recurrent(name, size, **settings):
        return pnl.RecurrentTransferMechanism(
            name=name, input_shapes=size, hetero=-2.0, integrator_mode=True, integration_rate=0.1, **settings
        )

    colors_in, words_in = (pnl.TransferMechanism(name=name, input_shapes=3) for name in ("COLORS_INPUT", "WORDS_INPUT"))
    task_in = pnl.TransferMechanism(name="TASK_INPUT", input_shapes=2)
    task, response = (recurrent(name, 2, function=pnl.Logistic()) for name in ("TASK", "RESPONSE"))
    colors, words = (recurrent(name, 3, function=pnl.Logistic(x_0=4.0)) for name in ("COLORS HIDDEN", "WORDS HIDDEN"))
    stimulus, none = np.diag([1.0, 1.0, 0.0]), np.zeros((2, 3))
    weak, strong = (weight * np.eye(3, 2) for weight in (1.5, 2.5))
    color_task, word_task = np.array([[4.0, 0.0]] * 3), np.array([[0.0, 4.0]] * 3)
    result = comp(
        [colors_in, stimulus, colors, weak, response, none, colors],
        [words_in, stimulus, words, strong, response, none, words],
        [task_in, task, color_task.T, colors, color_task, task],
        [task_in, task, word_task.T, words, word_task, task],
    )
    return result, {"COLORS_INPUT": [[1, 0, 0]], "WORDS_INPUT": [[0, 1, 0]], "TASK_INPUT": [[1, 0]]}, 10


@composition
def botvinick_conflict():
    """Botvinick et al. (2001): units settle on the task alone, then the words meet the colors; conflict is the energy of the responses."""

    def recurrent(name, size, function, **settings):
        return pnl.RecurrentTransferMechanism(
            name=name,
            input_shapes=size,
            function=function,
            hetero=-2.0,
            integrator_mode=True,
            integration_rate=0.01,
            **settings,
        )

    color_in, word_in = (pnl.ProcessingMechanism(name=name, input_shapes=3) for name in ("COLOR INPUT", "WORD INPUT"))
    task_in = pnl.ProcessingMechanism(name="TASK INPUT", input_shapes=2)
    color, word = (recurrent(name, 3, pnl.Logistic(x_0=4.0)) for name in ("COLOR HIDDEN", "WORD HIDDEN"))
    task = recurrent("TASK DEMAND", 2, pnl.Logistic())
    energy = pnl.Stability(
        default_variable=np.zeros(2),
        metric=pnl.ENERGY,
        matrix=np.array([[0.0, -4.0], [-4.0, 0.0]]),
    )
    conflict = {
        pnl.NAME: "DECISION ENERGY",
        pnl.VARIABLE: (pnl.OWNER_VALUE, 0),
        pnl.FUNCTION: energy,
    }
    response = recurrent("RESPONSE", 2, pnl.Logistic(), output_ports=[pnl.RESULT, conflict])
    weak, strong = 1.5 * np.eye(3, 2), 2.5 * np.eye(3, 2)
    to_color, to_word = (
        np.array([[4.0] * 3, [0.0] * 3]),
        np.array([[0.0] * 3, [4.0] * 3]),
    )
    result = comp(
        [color_in, np.eye(3), color, weak, response, weak.T, color],
        [word_in, np.eye(3), word, strong, response, strong.T, word],
        [task_in, np.eye(2), task, to_color, color, to_color.T, task],
        [task_in, np.eye(2), task, to_word, word, to_word.T, task],
        name="conflict",
    )
    inputs = {
        "COLOR INPUT": [[0, 0, 0]] * 5 + [[1, 0, 0]] * 15,
        "WORD INPUT": [[0, 0, 0]] * 5 + [[0, 1, 0]] * 15,
    }
    return result, {**inputs, "TASK INPUT": [[1, 0]] * 20}, 20


@composition
def necker_cube():
    """Corners of a cube, seen in two ways: those of one way excite their neighbours, the two of a corner inhibit each other."""
    n_corners = 8
    corners = [
        [
            pnl.TransferMechanism(
                name=f"{way}{i}",
                function=pnl.Linear(),
                integrator_mode=True,
                integration_rate=0.5,
            )
            for i in range(n_corners)
        ]
        for way in "AB"
    ]
    edges = [(i, i ^ bit) for i in range(n_corners) for bit in (1, 2, 4)]
    pathways = [[ways[i], np.array([[0.25]]), ways[j]] for ways in corners for i, j in edges]
    pathways += [[sender[i], np.array([[-0.5]]), receiver[i]] for sender, receiver in (corners, corners[::-1]) for i in range(n_corners)]
    rng = np.random.RandomState(3)
    return (
        comp(*pathways, name="necker"),
        {node: [[rng.normal()]] for ways in corners for node in ways},
        10,
    )


# Schedules


@composition
def ex_SimpleBranching_conditional():
    a, b, c, d = (pnl.TransferMechanism(name=name) for name in "ABCD")
    result = comp([a, b, c], [a, b, d])
    result.scheduler.add_condition_set(
        {a: pnl.AtNCalls(a, 0), b: pnl.Always(), c: pnl.EveryNCalls(b, 5), d: pnl.EveryNCalls(c, 2)}
    )
    return result, {"A": [[1.0]]}, 2


@composition
def ex_SimpleLinear_conditional():
    a, b, c = (pnl.TransferMechanism(name=name) for name in "ABC")
    result = comp([a, b, c])
    result.scheduler.add_condition_set({a: pnl.AtNCalls(a, 0), b: pnl.Always(), c: pnl.EveryNCalls(b, 5)})
    return result, {"A": [[1.0]]}, 2


def scheduled():
    a = pnl.IntegratorMechanism(name="A", function=pnl.SimpleIntegrator(rate=0.5))
    b = pnl.TransferMechanism(name="B", function=pnl.Linear(slope=2.0))
    c = pnl.TransferMechanism(name="C", function=pnl.Linear(slope=3.0, intercept=1.0))
    return comp([a, b, c]), a, b, c


@composition
def sched_afterncalls_any_all_not():
    result, a, b, c = scheduled()
    result.scheduler.add_condition(b, pnl.All(pnl.AfterNCalls(a, 3), pnl.Not(pnl.AtPass(4))))
    result.scheduler.add_condition(c, pnl.Any(pnl.AfterNCalls(b, 2), pnl.AtPass(1)))
    result.termination_processing = {pnl.TimeScale.TRIAL: pnl.AfterNCalls(c, 4)}
    return result, {"A": [[1.0]]}, 2


@composition
def sched_everyncalls():
    result, a, b, c = scheduled()
    result.scheduler.add_condition_set({b: pnl.EveryNCalls(a, 2), c: pnl.EveryNCalls(b, 2)})
    return result, {"A": [[1.0]]}, 2


@composition
def sched_nwhen():
    result, a, b, c = scheduled()
    result.scheduler.add_condition_set({b: pnl.NWhen(pnl.AfterNCalls(a, 2), 1), c: pnl.EveryNCalls(b, 1)})
    result.termination_processing = {pnl.TimeScale.TRIAL: pnl.AfterNPasses(5)}
    return result, {"A": [[1.0]]}, 1


@composition
def mdf_model_basic():
    a = pnl.TransferMechanism(name="A", function=pnl.Linear(slope=5.0, intercept=2.0))
    b = pnl.TransferMechanism(name="B", function=pnl.Logistic())
    result = comp([a, b])
    result.scheduler.add_condition_set({a: pnl.EveryNPasses(1), b: pnl.EveryNCalls(a, 2)})
    result.termination_processing = {
        pnl.TimeScale.RUN: pnl.AfterNTrials(1),
        pnl.TimeScale.TRIAL: pnl.All(pnl.Not(pnl.BeforeNCalls(b, 5))),
    }
    return result, {"A": [[1.0]]}, 1


@composition
def mdf_ddi_threshold():
    function = pnl.DriftDiffusionIntegrator(rate=0.5, offset=1, non_decision_time=1, seed=0, noise=0.0, threshold=100.0)
    a = pnl.IntegratorMechanism(name="A", function=function)
    result = comp(a)
    reached = [pnl.Threshold(a, "value", sign * 100.0, test, (0, 0)) for sign, test in ((1, ">="), (-1, "<="))]
    result.termination_processing = {pnl.TimeScale.TRIAL: pnl.Or(*reached)}
    return result, {"A": [[1.0]]}, 1


@composition
def mdf_model_udfs():
    a = pnl.TransferMechanism(name="A")
    functions = {"B": pnl.UserDefinedFunction(mdf_functions["sin"]["function"], scale=1), "C": pnl.UserDefinedFunction(math.cos)}
    b, c = (pnl.ProcessingMechanism(name=name, function=function) for name, function in functions.items())
    result = comp([a, b, c])
    result.scheduler.add_condition_set({b: pnl.EveryNCalls(a, 2), c: pnl.EveryNCalls(b, 2)})
    return result, {"A": [[10.0]]}, 1


# What the file does not say


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


# More of what the file does not say


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


# Winners


def winners(inputs=((1.0, -0.5, 0.3, 0.1), (0.2, 0.4, -0.3, 0.9)), **settings):
    return alone(pnl.KWTAMechanism(name="T", input_shapes=4, **settings), [list(row) for row in inputs])


@composition
def winners_by_default():
    return winners()


@composition
def winners_two_of_four():
    return winners(k_value=2, threshold=0.3, ratio=0.4, auto=0.5, hetero=-0.2, clip=[0.1, 0.8])


@composition
def winners_part_of_all():
    return winners(k_value=0.6, threshold=-0.1, ratio=0.2, inhibition_only=False, function=pnl.Linear(slope=1.5))


@composition
def winners_by_average():
    return winners(k_value=3, average_based=True, inhibition_only=False, threshold=0.2)


@composition
def winners_all_and_none():
    nodes = [pnl.KWTAMechanism(name=name, input_shapes=2, k_value=k, matrix=[[0.1, 0.2], [0.3, 0.4]]) for name, k in (("A", 0), ("B", 2))]
    return comp(*nodes), {"A": [[1.0, 0.5], [0.2, -3.0]], "B": [[1.0, 0.5], [0.2, -3.0]]}, 3


# Timers


def timer(trajectory, inputs=((1.0,), (0.5,), (1.0,), (1.5,), (1.0,), (2.0,)), **settings):
    return alone(pnl.TimerMechanism(name="T", trajectory=trajectory, **settings), [list(row) for row in inputs])


@composition
def timer_linear():
    return timer(pnl.LinearTimer, start=0.1, end=0.4, duration=0.3, increment=0.1)


@composition
def timer_accelerating():
    return timer(pnl.AcceleratingTimer, start=1, end=3, duration=2, increment=0.5)


@composition
def timer_decelerating():
    return timer(pnl.DeceleratingTimer, start=1, end=3, duration=2, increment=0.5)


@composition
def timer_asymptotic():
    return timer(pnl.AsymptoticTimer, start=-1, end=-3, duration=3, increment=1)


@composition
def timer_of_each_trial():
    return timer(pnl.LinearTimer(initial=0.2), reset_stateful_function_when=pnl.AtTrialStart(), inputs=((70.0,), (100.0,), (20.0,)))


@composition
def timer_by_itself():
    """It gets no input but its default."""
    steps = {pnl.NAME: "STEPS", pnl.DEFAULT_INPUT: pnl.DEFAULT_VARIABLE}
    own = pnl.TimerMechanism(name="T", start=1, end=3, increment=1, duration=2, input_ports=steps)
    return comp(pnl.ProcessingMechanism(name="P"), own), {"P": [[2.5]]}, 4


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


# Random numbers: those of PsyNeuLink, trial by trial

TRIALS = [[1.0, -0.5], [0.25, 2.0], [0.0, 0.0], [1.5, 1.0], [-1.0, 0.5]]


@composition
def drawn_noise():
    return alone(pnl.TransferMechanism(name="T", input_shapes=2, noise=pnl.NormalDist(mean=0.5), function=pnl.Logistic()), TRIALS)


@composition
def drawn_noise_of_integrator():
    noise = pnl.NormalDist(standard_deviation=0.3)
    return alone(pnl.TransferMechanism(name="T", input_shapes=2, noise=noise, integrator_mode=True, clip=(-1, 1)), TRIALS)


@composition
def drawn_by_all_distributions():
    kinds = {
        "gamma": pnl.GammaDist(dist_shape=2.5, scale=0.5),
        "small gamma": pnl.GammaDist(dist_shape=0.3),
        "exponential": pnl.ExponentialDist(beta=2.0),
        "uniform": pnl.UniformDist(low=-1.0, high=3.0),
        "wald": pnl.WaldDist(mean=1.5, scale=0.7),
        "inverted": pnl.UniformToNormalDist(mean=1.0, standard_deviation=0.2),
        "normal": pnl.NormalDist(seed=11),
    }
    nodes = [pnl.TransferMechanism(name=name, input_shapes=2, noise=kind) for name, kind in kinds.items()]
    return comp(*nodes), {node.name: TRIALS for node in nodes}, 12


@composition
def drawn_by_mechanisms():
    functions = [pnl.NormalDist(mean=1.0), pnl.UniformDist(seed=4), pnl.GaussianDistort(variance=0.5, bias=0.1), pnl.BinomialDistort(p=0.4)]
    nodes = [pnl.ProcessingMechanism(name=f"P{i}", input_shapes=2, function=function) for i, function in enumerate(functions)]
    return comp(*nodes), {node.name: TRIALS for node in nodes}, 5


@composition
def drawn_walks():
    first = pnl.DDM(name="until", function=pnl.DriftDiffusionIntegrator(noise=0.5, threshold=2.0, time_step_size=0.1, seed=9))
    second = pnl.DDM(name="steps", function=pnl.DriftDiffusionIntegrator(noise=0.5, threshold=30.0), execute_until_finished=False)
    third = pnl.IntegratorMechanism(name="pulled", function=pnl.OrnsteinUhlenbeckIntegrator(noise=0.5, decay=-0.1))
    return comp(first, second, third), {node.name: [[0.1], [-0.2], [0.3]] for node in (first, second, third)}, 7


@composition
def drawn_decisions():
    nodes = [pnl.DDM(name=f"D{seed}", seed=seed, function=pnl.DriftDiffusionAnalytical(noise=1.0)) for seed in (1, 2)]
    return comp(*nodes), {node.name: [[0.1], [-0.2], [0.0]] for node in nodes}, 30


@composition
def drawn_choices():
    soft = pnl.TransferMechanism(name="soft", input_shapes=3, function=pnl.SoftMax(output=pnl.PROB, gain=0.5))
    sign = pnl.ProcessingMechanism(name="sign", input_shapes=3, function=pnl.SoftMax(output=pnl.PROB_INDICATOR))
    ports = [{pnl.NAME: "values", pnl.INPUT_SHAPES: 3}, {pnl.NAME: "odds", pnl.INPUT_SHAPES: 3}]
    hot = pnl.ProcessingMechanism(name="hot", input_ports=ports, function=pnl.OneHot(mode=pnl.PROB))
    inputs = [[1.0, 2.0, 3.0], [0.5, 0.0, -1.0]]
    odds = [[[1.0, 2.0, 3.0], [0.2, 0.3, 0.5]], [[4.0, 5.0, 6.0], [0.0, 1.0, 0.0]]]
    return comp(soft, sign, hot), {"soft": inputs, "sign": inputs, "hot": odds}, 10


@composition
def drawn_until_threshold():
    lca = pnl.LCAMechanism(
        name="lca", input_shapes=2, noise=pnl.NormalDist(standard_deviation=0.2), termination_threshold=0.7, termination_measure=max
    )
    return alone(lca, TRIALS)


@composition
def drawn_in_nested():
    inner = comp([pnl.TransferMechanism(name="a", input_shapes=2, noise=pnl.UniformDist()), pnl.DDM(name="d", function=pnl.DriftDiffusionAnalytical())], name="inner")
    outer = pnl.TransferMechanism(name="o", input_shapes=2, noise=pnl.UniformDist())
    result = comp([outer, inner])
    return result, {"o": TRIALS}, 5


@composition
def drawn_with_settings_afterwards():
    mechanism = pnl.TransferMechanism(name="T", input_shapes=2, noise=pnl.NormalDist())
    mechanism.integrator_function.parameters.noise.get(None).parameters.standard_deviation.set(0.25, None)
    return alone(mechanism, TRIALS)


@composition
def drawn_by_seeds_that_are_set():
    seeded = pnl.DDM(name="D", function=pnl.DriftDiffusionAnalytical(noise=1.0))
    control = pnl.ControlMechanism(
        name="C", control_signals=[pnl.ControlSignal(modulates=("seed", seeded), modulation=pnl.OVERRIDE)], default_variable=[[0.0]]
    )
    source = pnl.TransferMechanism(name="S")
    result = comp([source, control], seeded)
    return result, {"S": [[3.0], [3.0], [7.0], [3.0]], "D": [[0.05]]}, 12


# What is refused, and the words that say so


def refused(words):
    def add(function):
        REFUSED[function.__name__] = (composition(function), words)
        del COMPOSITIONS[function.__name__]
        return function

    return add


def twice(variable):
    return 2 * variable


@refused(["ProcessingMechanism 'T'", "Python function, 'twice'"])
def python_function():
    return processing(twice, [[1.0]])


@refused(["TransferMechanism 'T'", "output port 'DOUBLE'", "Python function, 'twice'"])
def python_function_of_a_port():
    return alone(pnl.TransferMechanism(name="T", output_ports=[{pnl.NAME: "DOUBLE", pnl.FUNCTION: twice}]), [[1.0]])


@refused(["TransferMechanism 'T'", "its noise is", "<lambda>"])
def noise_of_python():
    return alone(pnl.TransferMechanism(name="T", noise=lambda: 0.5), [[1.0]])


@refused(["NormalDist", "_SeededPhilox", "RandomState"])
def another_generator():
    noise = pnl.NormalDist()
    noise.parameters.random_state.set(_SeededPhilox([3]), None)
    mechanism = pnl.TransferMechanism(name="T", noise=noise)
    mechanism.parameters.noise.get(None).parameters.random_state.set(_SeededPhilox([3]), None)
    return alone(mechanism, [[1.0]])


@refused(["ContrastiveHebbianMechanism 'T'", "code of their own"])
def class_with_code():
    return alone(pnl.ContrastiveHebbianMechanism(name="T", input_size=2, hidden_size=0, target_size=2), [[1.0, 2.0]])


@refused(["TransferMechanism 'T'", "does not add up its projections"])
def product_of_projections():
    return alone(pnl.TransferMechanism(name="T", input_ports=[{pnl.FUNCTION: pnl.LinearCombination(operation=pnl.PRODUCT)}]), [[1.0]])


@refused(["RecurrentTransferMechanism 'T'", "AtTrialStart"])
def reset_of_recurrence():
    mechanism = pnl.RecurrentTransferMechanism(name="T", integrator_mode=True, reset_stateful_function_when=pnl.AtTrialStart())
    return alone(mechanism, [[1.0]])


@refused(["Composition 'comp'", "While"])
def condition_of_python():
    a = pnl.TransferMechanism(name="A")
    result = comp(a)
    result.scheduler.add_condition(a, pnl.While(twice, 1))
    return result, {"A": [[1.0]]}, 1


@refused(["Composition 'comp'", "default_absolute_time_unit"])
def another_unit_of_time():
    result = comp(pnl.TransferMechanism(name="A"))
    result.scheduler.default_absolute_time_unit = 2 * result.scheduler.default_absolute_time_unit
    return result, {"A": [[1.0]]}, 1


@refused(["TransferMechanism 'A_B'", "rename one of them"])
def names_that_become_one():
    return comp([pnl.TransferMechanism(name="A B"), pnl.TransferMechanism(name="A_B")]), {"A B": [[1.0]]}, 1


# Estimation of parameters: what builds one, its inputs, and values to try

ESTIMATIONS = {}


def estimation(function):
    ESTIMATIONS[function.__name__] = composition(function)
    del COMPOSITIONS[function.__name__]
    return ESTIMATIONS[function.__name__]


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


# What a run is told besides its inputs


def arranged(function):
    ARRANGED[function.__name__] = fresh(function)
    return ARRANGED[function.__name__]


@arranged
def arranged_end_of_trials():
    a, b = pnl.IntegratorMechanism(name="A", function=pnl.SimpleIntegrator(rate=0.5)), pnl.TransferMechanism(name="B", function=pnl.Linear(slope=2.0))
    ends = {pnl.TimeScale.TRIAL: pnl.AfterNCalls(b, 3), pnl.TimeScale.RUN: pnl.AfterNTrials(2)}
    return comp([a, b]), {"A": [[1.0], [2.0], [3.0]]}, 3, {"termination_processing": ends}


@arranged
def arranged_circle():
    a, b = pnl.TransferMechanism(name="A"), pnl.TransferMechanism(name="B", function=pnl.Linear(slope=2.0))
    return comp([a, b, a]), {"A": [[1.0], [2.0]]}, 3, {"initialize_cycle_values": {a: [3.0], b: [0.5]}}


@arranged
def arranged_resets():
    a = pnl.IntegratorMechanism(name="A", function=pnl.SimpleIntegrator(rate=0.5))
    b = pnl.IntegratorMechanism(name="B", function=pnl.AccumulatorIntegrator(increment=0.5), reset_stateful_function_when=pnl.AtTrialStart())
    return comp([a, b]), {"A": [[1.0], [2.0]]}, 3, {"reset_stateful_functions_when": pnl.AtTrialStart()}
