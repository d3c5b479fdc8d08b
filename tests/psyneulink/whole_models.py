"""Compositions of several mechanisms: models of the library and of the literature."""

import numpy as np
import psyneulink as pnl
from building import comp, composition


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
