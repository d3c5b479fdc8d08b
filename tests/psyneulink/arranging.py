"""Compositions whose runs are told more than inputs."""

import psyneulink as pnl
from building import arranged, comp


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


@arranged
def arranged_scheduler():
    a, b = pnl.TransferMechanism(name="A"), pnl.TransferMechanism(name="B", integrator_mode=True)
    result = comp([a, b])
    scheduler = pnl.Scheduler(composition=result)
    scheduler.add_condition(b, pnl.EveryNCalls(a, 3))
    return result, {"A": [[1.0], [2.0]]}, 3, {"scheduler": scheduler}
