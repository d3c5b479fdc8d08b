"""Compositions of PsyNeuLink that learn: what `learn` of the live door is compared with Composition.learn on.

LEARNING maps a name to a function without arguments; what it returns are the composition, arguments of `learn`, and inputs of
`run`. NOT_LEARNED has such functions, too, each with words of the error.
"""

import numpy as np
import psyneulink as pnl
from building import fresh

LEARNING = {}
NOT_LEARNED = {}


def learns(function):
    LEARNING[function.__name__] = fresh(function)
    return function


def refused(*words):
    def add(function):
        NOT_LEARNED[function.__name__] = (fresh(function), words)
        return function

    return add


def weights(rows, columns, seed=0):
    return np.round(np.random.default_rng(seed).uniform(-1, 1, (rows, columns)), 2)


def transfer(name, size, function=pnl.Logistic, **settings):
    return pnl.TransferMechanism(name=name, input_shapes=size, function=function() if isinstance(function, type) else function, **settings)


def rows(n, size, seed=1):
    return np.round(np.random.default_rng(seed).uniform(-1, 1, (n, size)), 2).tolist()


def layers(sizes, functions, **settings):
    """Layers one after the other, all of whose weights are learned."""
    nodes = [transfer(f"L{i}", size, function) for i, (size, function) in enumerate(zip(sizes, functions))]
    pathway = [nodes[0]]
    for i, node in enumerate(nodes[1:]):
        pathway += [weights(sizes[i], sizes[i + 1], i), node]
    result = pnl.Composition(name="comp")
    result.add_backpropagation_learning_pathway(pathway, **settings)
    inputs = {nodes[0]: rows(3, sizes[0])}
    return result, {"inputs": inputs, "targets": {nodes[-1]: rows(3, sizes[-1], 2)}, "epochs": 3}, inputs


def autodiff(sizes, functions, integrator_mode=False, loss_spec=pnl.Loss.MSE, optimizer_type="sgd", weight_decay=0.0, **arguments):
    """The same as an AutodiffComposition; `arguments` are of learn."""
    nodes = [transfer(f"L{i}", size, function, integrator_mode=integrator_mode and i == 1) for i, (size, function) in enumerate(zip(sizes, functions))]
    pathway = [nodes[0]]
    for i, node in enumerate(nodes[1:]):
        pathway += [weights(sizes[i], sizes[i + 1], i), node]
    result = pnl.AutodiffComposition(
        name="comp", pathways=[pathway], learning_rate=0.1, loss_spec=loss_spec, optimizer_type=optimizer_type, weight_decay=weight_decay
    )
    inputs = {nodes[0]: rows(5, sizes[0])}
    return result, {"inputs": inputs, "targets": {nodes[-1]: rows(5, sizes[-1], 2)}, "epochs": 3, **arguments}, inputs


def xor_inputs(first, last):
    inputs = {first: [[0, 0], [0, 1], [1, 0], [1, 1]]}
    return {"inputs": {"inputs": inputs, "targets": {last: [[0], [1], [1], [0]]}, "epochs": 5}}, inputs


# By torch


SIGMOIDS = [pnl.Linear, pnl.Logistic, pnl.Logistic]


@learns
def autodiff_trials():
    return autodiff([2, 3, 2], SIGMOIDS)


@learns
def autodiff_minibatches():
    return autodiff([2, 3, 2], SIGMOIDS, minibatch_size=2)


@learns
def autodiff_all_at_once():
    return autodiff([2, 3, 2], [pnl.Linear, pnl.Tanh(gain=0.5), pnl.Linear(slope=2.0)], minibatch_size=pnl.TRAINING_SET)


@learns
def autodiff_optimizations():
    return autodiff([2, 3, 2], [pnl.Linear, pnl.ReLU(leak=0.1), pnl.SoftMax], optimizations_per_minibatch=2)


@learns
def autodiff_adam():
    return autodiff([2, 4, 3, 2], [pnl.Linear, pnl.Logistic, pnl.Tanh, pnl.Logistic], optimizer_type="adam", minibatch_size=2)


@learns
def autodiff_adam_with_decay():
    return autodiff([2, 3, 2], SIGMOIDS, optimizer_type="adam", weight_decay=0.1, learning_rate=0.05)


@learns
def autodiff_decay():
    return autodiff([2, 3, 2], SIGMOIDS, weight_decay=0.1)


@learns
def autodiff_sse():
    return autodiff([2, 3, 2], SIGMOIDS, loss_spec=pnl.Loss.SSE, minibatch_size=2)


@learns
def autodiff_l1():
    return autodiff([2, 3, 2], SIGMOIDS, loss_spec=pnl.Loss.L1, minibatch_size=2)


@learns
def autodiff_two_pathways():
    """They cross and end apart; rates are of projections, one of which learns nothing."""
    a, b, c, d, e = (transfer(name, 2) for name in "ABCDE")
    slow = pnl.MappingProjection(name="slow", matrix=weights(2, 2, 1))
    fixed = pnl.MappingProjection(name="fixed", matrix=weights(2, 2, 2), learnable=False)
    pathways = [[a, weights(2, 2, 3), c, slow, d], [b, fixed, c, weights(2, 2, 4), e]]
    result = pnl.AutodiffComposition(name="comp", pathways=pathways, learning_rate={"slow": 0.01, pnl.DEFAULT_LEARNING_RATE: 0.2})
    inputs = {a: rows(4, 2), b: rows(4, 2, 5)}
    return result, {"inputs": inputs, "targets": {d: rows(4, 2, 6), e: rows(4, 2, 7)}, "epochs": 2, "minibatch_size": 3}, inputs


# Backpropagation


def three_layers(**settings):
    return layers([2, 3, 2], [pnl.Linear, pnl.Logistic, pnl.Logistic], learning_rate=0.3, **settings)


@learns
def backpropagation_xor():
    nodes = [transfer("input", 2, pnl.Linear), transfer("hidden", 5), transfer("output", 1)]
    result = pnl.Composition(name="comp")
    result.add_backpropagation_learning_pathway([nodes[0], weights(2, 5), nodes[1], weights(5, 1), nodes[2]], learning_rate=2.0)
    return (result, *xor_inputs(nodes[0], nodes[2]))


@learns
def backpropagation_one_layer():
    return layers([2, 3], [pnl.Linear, pnl.Logistic])


@learns
def backpropagation_linear():
    return layers([3, 2, 2], [pnl.Linear, pnl.Linear(slope=0.5, intercept=0.3), pnl.Linear(slope=2.0)], learning_rate=0.1)


@learns
def backpropagation_three_hidden_layers():
    return layers([2, 4, 3, 2, 2], [pnl.Linear, pnl.Logistic(gain=2.0, bias=0.3), pnl.Logistic, pnl.Logistic, pnl.Logistic], learning_rate=0.7)


@learns
def backpropagation_relu():
    return layers([3, 4, 2], [pnl.Linear, pnl.ReLU(gain=1.5, leak=0.1), pnl.ReLU(leak=0.2)], learning_rate=0.05)


@learns
def backpropagation_softmax():
    return layers([3, 4, 3], [pnl.Linear, pnl.Logistic, pnl.SoftMax()], learning_rate=0.5)


@learns
def backpropagation_softmax_hidden():
    return layers([3, 4, 2], [pnl.Linear, pnl.SoftMax(gain=2.0), pnl.Logistic], learning_rate=0.5)


@learns
def loss_sse():
    return three_layers(loss_spec=pnl.Loss.SSE)


@learns
def loss_l0():
    return three_layers(loss_spec=pnl.Loss.L0)


@learns
def online():
    return three_layers(learning_update=pnl.ONLINE)


@learns
def not_enabled():
    return three_layers(learning_update=False)


@learns
def not_enabled_in_the_composition():
    result, arguments, inputs = three_layers()
    result.enable_learning = False
    return result, arguments, inputs


@learns
def another_learning_rate():
    result, arguments, inputs = three_layers()
    return result, {**arguments, "learning_rate": 0.9}, inputs


@learns
def rates_of_projections():
    nodes = [transfer("A", 2, pnl.Linear), transfer("B", 3), transfer("C", 2)]
    first = pnl.MappingProjection(matrix=weights(2, 3), learning_rate=0.1)
    second = pnl.MappingProjection(matrix=weights(3, 2), learnable=False)
    result = pnl.Composition(name="comp", learning_rate=0.6)
    result.add_backpropagation_learning_pathway([nodes[0], first, nodes[1], second, nodes[2]])
    inputs = {nodes[0]: rows(3, 2)}
    return result, {"inputs": inputs, "targets": {nodes[2]: rows(3, 2)}, "epochs": 2, "learning_rate": 0.9}, inputs


@learns
def rates_of_projections_together():
    nodes = [transfer("A", 2, pnl.Linear), transfer("B", 3), transfer("C", 2)]
    first, second = pnl.MappingProjection(nodes[0], nodes[1], matrix=weights(2, 3)), pnl.MappingProjection(nodes[1], nodes[2], matrix=weights(3, 2))
    result = pnl.Composition(name="comp", learning_rate={pnl.DEFAULT_LEARNING_RATE: 0.6, first: 0.1, second: None})
    result.add_backpropagation_learning_pathway([nodes[0], first, nodes[1], second, nodes[2]])
    inputs = {nodes[0]: rows(3, 2)}
    return result, {"inputs": inputs, "targets": {nodes[2]: rows(3, 2)}, "epochs": 2}, inputs


@learns
def minibatches():
    result, arguments, inputs = three_layers()
    return result, {**arguments, "minibatch_size": 2}, inputs


@learns
def optimizations():
    result, arguments, inputs = three_layers()
    return result, {**arguments, "optimizations_per_minibatch": 3, "num_trials": 5}, inputs


@learns
def stroop():
    color, word = transfer("color", 2, pnl.Linear), transfer("word", 2, pnl.Linear)
    hidden_color, hidden_word = transfer("hidden color", 2, pnl.Logistic(bias=-4)), transfer("hidden word", 2, pnl.Logistic(bias=-4))
    response = transfer("response", 2)
    result = pnl.Composition(name="stroop")
    result.add_backpropagation_learning_pathway([color, weights(2, 2), hidden_color, weights(2, 2, 1), response], learning_rate=0.5)
    result.add_backpropagation_learning_pathway([word, weights(2, 2, 2), hidden_word, weights(2, 2, 3), response], learning_rate=0.5)
    inputs = {color: [[1, 0], [0, 1], [0, 0]], word: [[0, 0], [1, 0], [0, 1]]}
    return result, {"inputs": inputs, "targets": {response: [[1, 0], [0, 1], [1, 0]]}, "epochs": 3}, inputs


@learns
def crossing_pathways():
    """Two outputs whose errors meet in the hidden layer, two inputs."""
    a, b, hidden, c, d = transfer("A", 2, pnl.Linear), transfer("B", 3, pnl.Linear), transfer("H", 4), transfer("C", 2), transfer("D", 1)
    result = pnl.Composition(name="comp")
    result.add_backpropagation_learning_pathway([a, weights(2, 4), hidden, weights(4, 2, 1), c], learning_rate=0.4)
    result.add_backpropagation_learning_pathway([b, weights(3, 4, 2), hidden, weights(4, 1, 3), d], learning_rate=0.2)
    inputs = {a: rows(3, 2), b: rows(3, 3)}
    return result, {"inputs": inputs, "targets": {c: rows(3, 2, 4), d: rows(3, 1, 5)}, "epochs": 2}, inputs


@learns
def pathways_of_different_lengths():
    """Errors arrive in the hidden layer at different times: what is learned first must not change what others learn from."""
    a, b, c, d, e = transfer("A", 2), transfer("B", 3), transfer("C", 2), transfer("D", 3), transfer("E", 2)
    result = pnl.Composition(name="comp")
    result.add_backpropagation_learning_pathway([a, weights(2, 3), b, weights(3, 2, 1), c, weights(2, 3, 2), d], learning_rate=0.4)
    result.add_backpropagation_learning_pathway([b, weights(3, 2, 3), e], learning_rate=0.3)
    inputs = {a: rows(3, 2)}
    return result, {"inputs": inputs, "targets": {d: rows(3, 3, 4), e: rows(3, 2, 5)}, "epochs": 2}, inputs


@learns
def apart():
    """Two pathways that have nothing to do with each other."""
    a, b, c, d = (transfer(name, 2) for name in "ABCD")
    result = pnl.Composition(name="comp")
    result.add_backpropagation_learning_pathway([a, weights(2, 2), b], learning_rate=0.4)
    result.add_backpropagation_learning_pathway([c, weights(2, 2, 1), d], learning_rate=0.2)
    inputs = {a: rows(3, 2), c: rows(3, 2, 3)}
    return result, {"inputs": inputs, "targets": {b: rows(3, 2, 4), d: rows(3, 2, 5)}}, inputs


@learns
def learned_before_an_integrator():
    """What keeps values goes on from learning to running, and back."""
    result, arguments, inputs = three_layers()
    slow = transfer("slow", 2, pnl.Linear, integrator_mode=True, integration_rate=0.3)
    result.add_node(slow)
    result.add_projection(pnl.MappingProjection(matrix=weights(3, 2, 7)), sender=result.nodes["L1"], receiver=slow)
    return result, arguments, inputs


# Other rules


@learns
def reinforcement():
    source = transfer("input", 3, pnl.Linear)
    chosen = transfer("action", 3, pnl.SoftMax(output=pnl.ARG_MAX_INDICATOR))
    result = pnl.Composition(name="comp")
    matrix = pnl.MappingProjection(matrix=np.diag([0.3, 0.5, 0.4]))
    result.add_reinforcement_learning_pathway([source, matrix, chosen], learning_rate=0.1)
    inputs = {source: [[1, 1, 1]] * 4}
    return result, {"inputs": inputs, "targets": {chosen: [[10.0], [3.0], [1.0], [0.5]]}, "epochs": 2}, inputs


@learns
def temporal_differences():
    sample = transfer("sample", 6, pnl.Linear)
    action = transfer("action", 6, pnl.Linear)
    result = pnl.Composition(name="comp")
    result.add_td_learning_pathway([sample, pnl.MappingProjection(matrix=np.zeros((6, 6))), action], learning_rate=0.3)
    inputs = {sample: [[0, 0, 1, 1, 1, 1]] * 3}
    return result, {"inputs": inputs, "targets": {action: [[0, 0, 0, 0, 1, 0]] * 3}, "epochs": 2}, inputs


def recurrent(**settings):
    node = pnl.RecurrentTransferMechanism(name="R", input_shapes=3, enable_learning=True, **settings)
    result = pnl.Composition(name="comp")
    result.add_node(node)
    inputs = {node: rows(3, 3)}
    return result, {"inputs": inputs, "epochs": 2}, inputs


@learns
def hebbian():
    return recurrent(function=pnl.Logistic(), matrix=weights(3, 3), learning_rate=0.1)


@learns
def hebbian_default_rate():
    return recurrent(function=pnl.Linear(slope=0.5), auto=0.1, hetero=0.2)


@learns
def hebbian_with_a_port_of_its_own():
    return recurrent(function=pnl.Logistic(), matrix=weights(3, 3), has_recurrent_input_port=True)


@learns
def hebbian_contrastive():
    return recurrent(function=pnl.Logistic(), matrix=weights(3, 3), learning_function=pnl.ContrastiveHebbian)


@learns
def hebbian_integrator():
    return recurrent(function=pnl.Logistic(), matrix=weights(3, 3), integrator_mode=True, integration_rate=0.4, learning_rate=0.2)


@learns
def hebbian_behind_another():
    result, arguments, _ = recurrent(function=pnl.Logistic(), matrix=weights(3, 3), learning_rate=0.1)
    before = transfer("before", 2)
    result.add_linear_processing_pathway([before, weights(2, 3), result.nodes["R"]])
    inputs = {before: rows(4, 2)}
    return result, {"inputs": inputs, "epochs": 2}, inputs


# What is refused


@refused("no learning mechanisms")
def nothing_learns():
    node = transfer("A", 2)
    result = pnl.Composition(name="comp")
    result.add_node(node)
    return result, {"inputs": {node: rows(2, 2)}}, {}


@refused("TransferMechanism 'L1'", "from trial to trial")
def autodiff_of_what_integrates():
    result, arguments, inputs = autodiff([2, 3, 2], [pnl.Linear, pnl.Logistic, pnl.Logistic], integrator_mode=True)
    return result, arguments, inputs


@refused("LCAMechanism 'B'", "from trial to trial")
def autodiff_of_what_competes():
    first, last = transfer("A", 2), pnl.LCAMechanism(name="B", input_shapes=2)
    result = pnl.AutodiffComposition(name="comp", pathways=[[first, weights(2, 2), last]])
    return result, {"inputs": {first: rows(2, 2)}, "targets": {last: rows(2, 2)}}, {}


@refused("KL_DIV", "MSE")
def autodiff_kl_divergence():
    return autodiff([2, 3, 2], [pnl.Linear, pnl.Logistic, pnl.SoftMax], loss_spec=pnl.Loss.KL_DIV)


@refused("CROSS_ENTROPY", "SSE")
def loss_cross_entropy():
    return layers([2, 3, 2], [pnl.Linear, pnl.Logistic, pnl.SoftMax()], loss_spec=pnl.Loss.CROSS_ENTROPY)


@refused("conditions")
def conditions():
    result, arguments, inputs = layers([2, 3, 2], [pnl.Linear, pnl.Logistic, pnl.Logistic])
    result.scheduler.add_condition(result.nodes["L1"], pnl.EveryNCalls(result.nodes["L0"], 2))
    return result, arguments, inputs


@refused("learning_condition")
def until_it_converges():
    return recurrent(function=pnl.Logistic(), matrix=weights(3, 3), learning_condition=pnl.CONVERGENCE, termination_threshold=0.01, integrator_mode=True)


@refused("ONLINE", "AFTER")
def two_ways_of_updating():
    a, b, c = transfer("A", 2), transfer("B", 2), transfer("C", 2)
    result = pnl.Composition(name="comp")
    result.add_backpropagation_learning_pathway([a, weights(2, 2), c], learning_update=pnl.ONLINE)
    result.add_backpropagation_learning_pathway([b, weights(2, 2), c])
    return result, {"inputs": {a: rows(2, 2), b: rows(2, 2)}, "targets": {c: rows(2, 2)}}, {}
