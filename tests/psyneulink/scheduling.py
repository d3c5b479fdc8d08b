"""Compositions whose mechanisms run by conditions, or by time."""

import math

import psyneulink as pnl
from building import comp, composition
from modeci_mdf.functions.standard import mdf_functions

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


# How often something has run


def until(parameter, indices):
    a = pnl.TransferMechanism(name="A", integrator_mode=True, integrator_function=pnl.SimpleIntegrator)
    result = comp(a)
    result.termination_processing = {pnl.TimeScale.TRIAL: pnl.Threshold(a, parameter, 10, ">=", indices=indices)}
    return result, {"A": [[1.0]]}, 2


@composition
def until_so_many_runs_in_the_trial():
    return until("num_executions", pnl.TimeScale.TRIAL)


@composition
def until_so_many_runs():
    return until("execution_count", None)


# Conditions that count in another time scale than the exporter writes


def counted(condition):
    """A mechanism that runs by a condition, of how often the one before has run."""
    a, b = pnl.TransferMechanism(name="A"), pnl.TransferMechanism(name="B", integrator_mode=True)
    result = comp([a, b])
    result.scheduler.add_condition(b, condition(a))
    result.termination_processing = {pnl.TimeScale.TRIAL: pnl.AfterPass(3)}
    return result, {"A": [[1.0]]}, 4


@composition
def counted_in_the_run():
    return counted(lambda a: pnl.NWhen(pnl.Any(pnl.AfterNCalls(a, 7, time_scale=pnl.TimeScale.RUN), pnl.AtPass(1)), 6))


@composition
def counted_before_in_the_run():
    return counted(lambda a: pnl.BeforeNCalls(a, 5, time_scale=pnl.TimeScale.RUN))


@composition
def counted_in_the_pass():
    return counted(lambda a: pnl.AfterNCalls(a, 1, time_scale=pnl.TimeScale.PASS))


@composition
def counted_ever():
    return counted(lambda a: pnl.All(pnl.Not(pnl.AtNCalls(a, 6, time_scale=pnl.TimeScale.LIFE)), pnl.AtPass(1)))


@composition
def counted_together():
    return counted(lambda a: pnl.AfterNCallsCombined(a, n=6, time_scale=pnl.TimeScale.LIFE))


@composition
def counted_passes_of_the_run():
    return counted(lambda a: pnl.AtPass(5, time_scale=pnl.TimeScale.RUN))


@composition
def counted_nth_start():
    return counted(lambda a: pnl.AtTrialNStart(2))


# Control that its receiver does not wait for


@composition
def control_beside_a_nested_composition():
    a, b = pnl.TransferMechanism(name="A"), pnl.TransferMechanism(name="B")
    control = pnl.ControlMechanism(name="C", control_signals=pnl.ControlSignal(projections=[(pnl.SLOPE, b)]))
    inner = comp([a, b], name="inner")
    outer = comp(name="outer")
    outer.add_nodes([control, inner])
    return outer, {"C": [[2.0], [3.0]], "inner": [[2.0]]}, 3


# Recurrence that begins anew in each trial


@composition
def lca_that_begins_anew():
    settings = dict(threshold=0.55, leak=0.2, competition=1, noise=0.1, time_step_size=0.05, reset_stateful_function_when=pnl.AtTrialStart())
    mechanism = pnl.LCAMechanism(name="L", input_shapes=2, output_ports=[pnl.RESULT, pnl.DECISION_STEPS], **settings)
    return comp(mechanism), {"L": [[1.0, 0.0], [0.5, 0.6]]}, 4


def recurrent_that_begins_anew(**settings):
    settings.update(integrator_mode=True, function=pnl.Logistic, reset_stateful_function_when=pnl.AtTrialStart())
    return comp(pnl.RecurrentTransferMechanism(name="R", input_shapes=2, **settings)), {"R": [[1.0, 0.0], [0.5, 0.6]]}, 4


@composition
def recurrence_that_begins_anew():
    return recurrent_that_begins_anew(auto=0.3, hetero=-0.2, initial_value=[0.3, 0.4])


@composition
def recurrent_port_that_begins_anew():
    return recurrent_that_begins_anew(matrix=[[1.0, 2.0], [0.3, 0.4]], has_recurrent_input_port=True)
