"""Compositions that are refused, and the words that say so."""

import numpy as np
import psyneulink as pnl
from building import alone, comp, processing, refused
from psyneulink.core.globals.utilities import _SeededPhilox


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


@refused(["AdaptiveIntegrator", "an array of functions", "itself can not run"])
def noise_of_several_distributions():
    noise = [pnl.NormalDist(), pnl.UniformDist()]
    return alone(pnl.TransferMechanism(name="T", input_shapes=2, integrator_mode=True, noise=noise), [[1.0, 2.0]])


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


@refused(["RecurrentTransferMechanism 'T'", "does not add up its projections"])
def product_of_recurrent_projections():
    ports = [{pnl.FUNCTION: pnl.LinearCombination(operation=pnl.PRODUCT), pnl.INPUT_SHAPES: 1}]
    return alone(pnl.RecurrentTransferMechanism(name="T", input_ports=ports), [[1.0]])


@refused(["TransferMechanism 'T'", "input port 'InputPort-0'", "Python function, 'twice'"])
def python_function_of_an_input_port():
    return alone(pnl.TransferMechanism(name="T", input_ports=[{pnl.FUNCTION: pnl.UserDefinedFunction(custom_function=twice)}]), [[1.0]])


@refused(["MappingProjection 'M'", "its parameter 'matrix'", "AccumulatorIntegrator"])
def matrix_that_accumulates():
    a, b, matrix = pnl.TransferMechanism(name="A", input_shapes=2), pnl.TransferMechanism(name="B", input_shapes=2), np.array([[1.0, 2.0], [3.0, 4.0]])
    settings = {pnl.DEFAULT_VARIABLE: matrix, pnl.INITIALIZER: matrix, pnl.RATE: matrix}
    pnl.MappingProjection(name="M", sender=a, receiver=b, matrix={pnl.VALUE: matrix, pnl.FUNCTION: pnl.AccumulatorIntegrator, pnl.FUNCTION_PARAMS: settings})
    return comp([a, b]), {"A": [[1.0, 2.0]]}, 1


@refused(["ControlMechanism 'C'", "controller of 'comp'"])
def controller_that_does_not_search():
    a = pnl.TransferMechanism(name="A")
    result = comp(a)
    result.add_controller(pnl.ControlMechanism(name="C", default_variable=[10], control_signals=[pnl.ControlSignal(modulates=(pnl.SLOPE, a))]))
    return result, {"A": [[1.0]]}, 1


@refused(["IntegratorMechanism 'T'", "keeps more than its value"])
def reset_of_two_states():
    a, mechanism = pnl.ProcessingMechanism(name="A"), pnl.IntegratorMechanism(name="T", function=pnl.DualAdaptiveIntegrator())
    control = pnl.ControlMechanism(name="C", monitor_for_control=a, modulation=pnl.OVERRIDE, control=("reset", mechanism))
    return pnl.Composition(name="comp", nodes=[a, control, mechanism]), {"A": [[1.0]], "T": [[1.0]]}, 1


@refused(["RecurrentTransferMechanism 'T'", "AtTrialStart"])
def reset_of_what_learns():
    settings = dict(integrator_mode=True, reset_stateful_function_when=pnl.AtTrialStart(), enable_learning=True)
    return alone(pnl.RecurrentTransferMechanism(name="T", input_shapes=2, **settings), [[1.0, 2.0]])


@refused(["TransferMechanism 'A'", "begins anew", "before it has run"])
def feedback_from_what_begins_anew():
    a = pnl.TransferMechanism(name="A", integrator_mode=True, reset_stateful_function_when=pnl.AtTrialStart())
    b = pnl.TransferMechanism(name="B")
    result = comp([b, a])
    result.add_projection(pnl.MappingProjection(sender=a, receiver=b), feedback=True)
    return result, {"B": [[1.0]]}, 1


@refused(["TransferMechanism 'A'", "begins anew", "before it has run"])
def begins_anew_and_runs_late():
    a = pnl.TransferMechanism(name="A", integrator_mode=True, reset_stateful_function_when=pnl.AtTrialStart())
    b = pnl.TransferMechanism(name="B", integrator_mode=True)
    result = comp([a, b])
    result.scheduler.add_condition(a, pnl.AtPass(2))
    result.scheduler.add_condition(b, pnl.Always())
    return result, {"A": [[1.0]]}, 1


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
