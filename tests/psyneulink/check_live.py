#!/usr/bin/env python3
"""Compositions of PsyNeuLink through mdf_c.psyneulink against Composition.run, all trials, in two runs of which the second goes on.

    check_live.py [--jobs N] [--timeout SECONDS] [--record FOLDER] [NAME...]

Needs PsyNeuLink; mdf_c is found by PYTHONPATH. Each is told of as it ends. --record writes what tests without PsyNeuLink hold the engine to: the exported model, the
inputs of its ports and PsyNeuLink's results, one file a composition. The last line is `N passed, N failed`.
"""

import argparse
import json
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np

warnings.simplefilter("ignore")

import compositions  # noqa: E402
import learning  # noqa: E402
import one_by_one  # noqa: E402
from agreement import TOLERANCE, agree, rows  # noqa: E402

import mdf_c  # noqa: E402

def run_untouched(name):
    """Results of a composition that no program was made of, of one run."""
    composition, inputs, num_trials = compositions.COMPOSITIONS[name]()
    composition.run(inputs=dict(inputs), num_trials=num_trials)
    return composition.results


def check(name):
    """Against the composition, which runs on as if no program had been made of it."""
    composition, inputs, num_trials = compositions.COMPOSITIONS[name]()
    program, untouched = mdf_c.psyneulink.compile(composition), run_untouched(name)
    for turn in range(2):
        try:
            last = program.run(inputs, num_trials)
        except mdf_c.MdfUnsupportedError as error:  # a program has one run, where something looks at what was in it
            return None if turn == 1 and "looks at what was in the run" in str(error) else str(error)
        want = composition.run(inputs=dict(inputs), num_trials=num_trials)
        why = agree([last], [want]) or agree(program.results, composition.results)
        if turn == 0 and not getattr(composition.controller, "num_estimates", None):  # whose seeds differ each time
            why = why or agree(untouched, composition.results)
        if why:
            return why
    return None


def check_costs(name, holder):
    """Costs after each trial are those that PsyNeuLink's function has then; `holder` finds it."""
    composition, inputs, _ = compositions.COMPOSITIONS[name]()
    program, function = mdf_c.psyneulink.compile(composition), holder(composition).function
    (node, trials), mechanism = next(iter(inputs.items())), holder(composition)
    owner = getattr(mechanism, "owner", mechanism).name
    n_costs = 0
    for trial in trials:
        program.run({node: [trial]})
        composition.run(inputs={node: [trial]})
        for port, value in program.values()[owner].items():
            if port.endswith(("_cost", "_costs")):
                want = getattr(function.parameters, port[port.rindex("_", 0, port.rindex("_")) + 1 :]).get(composition)
                n_costs += 1
                if not np.allclose(value, np.ravel(want), rtol=TOLERANCE):
                    return f"{port}: {value} is not {want}"
    return None if n_costs else "there are no costs"


def simulated(name, values):
    """What PsyNeuLink's own simulations give, in its compiled mode."""
    estimation, inputs, _ = compositions.ESTIMATIONS[name]()
    if estimation.data is not None:
        return estimation.log_likelihood(*values, inputs=inputs, return_sim_data=True)
    found, function = [], estimation.controller.function
    function._fit = lambda obj_func, context=None: found.append((obj_func(*values), function._last)) or {
        "optimal_value": 0.0,
        "fitted_params": dict(zip(function.fit_param_names, values)),
    }
    objective = function._pec_objective_function
    function._pec_objective_function = lambda data: (setattr(function, "_last", data), objective(data))[1]
    estimation.run(inputs=inputs)
    return found[0]


def same_distribution(got, want):
    """Means and spreads within five standard errors."""
    n = want.shape[0] * want.shape[1]
    for outcome in range(want.shape[2]):
        a, b = got[:, :, outcome], want[:, :, outcome]
        error = 5 * max(a.std(), b.std()) / np.sqrt(n) + 1e-12
        if abs(a.mean() - b.mean()) > error or abs(a.std() - b.std()) > 2 * error:
            return f"outcome {outcome}: mean {a.mean()}, spread {a.std()}, not {b.mean()}, {b.std()}"
    return None


def check_estimation(name):
    """Simulations, objectives, and what a search finds."""
    composition, inputs, tried = compositions.ESTIMATIONS[name]()
    own = mdf_c.psyneulink.compile(composition)
    for values in tried:
        objective, data = simulated(name, values)
        got = own.simulate(*values, inputs=inputs)
        if got.shape != data.shape:
            return f"simulations have the shape {got.shape}, not {data.shape}"
        if name.endswith("_noise"):
            why = same_distribution(got, data)
        else:
            why = agree(got, data) or agree([[own.objective(*values, inputs=inputs)]], [[objective]])
        if why:
            return f"{values}: {why}"
    if composition.controller.function.method is None:
        return None
    own.run(inputs)
    other, inputs, _ = compositions.ESTIMATIONS[name]()
    other.run(inputs=inputs)
    names = other.optimized_parameter_values  # PsyNeuLink leaves out the last one where nothing is drawn
    want = [[*names.values(), other.optimal_value]]
    return agree([[*(own.optimized_parameter_values[name] for name in names), own.optimal_value]], want)


def check_refused(name):
    build, words = compositions.REFUSED[name]
    try:
        mdf_c.psyneulink.compile(build()[0])
    except mdf_c.MdfUnsupportedError as error:
        return next((f"the error does not say {word!r}: {error}" for word in words if word not in str(error)), None)
    return "it is not refused"


def arguments_of_learn(arguments):
    """A copy of those that PsyNeuLink takes apart."""
    return {name: dict(value) if isinstance(value, dict) else value for name, value in arguments.items()}


def check_learning(name):
    """Learning, running, learning again, running: results, learned matrices, what `learn` returns."""
    composition, arguments, inputs = learning.LEARNING[name]()
    program = mdf_c.psyneulink.compile(composition)
    why = None
    for _ in range(2):
        last = program.learn(**arguments_of_learn(arguments))
        want = composition.learn(**arguments_of_learn(arguments))
        own, other = program.learning_results, composition.learning_results
        why = why or agree([last], [want]) or agree(own, other) or wrong_matrix(program, composition)
        program.run(dict(inputs))
        composition.run(inputs=dict(inputs))
        why = why or agree(program.results, composition.results)
    return why


def wrong_matrix(program, composition):
    """Of the matrix itself PsyNeuLink shows the value of the last trial; its parameter port has the one of the next. What torch
    learns is put into the matrix."""
    for projection in composition.projections:
        if projection.name in program.matrices:
            own, other = program.matrices[projection.name], matrix_of(composition, projection)
            if not np.allclose(own, other, rtol=TOLERANCE, atol=TOLERANCE):
                return f"the matrix of '{projection.name}' is {own}, not {other}"
    return None if program.matrices else "nothing is learned"


def matrix_of(composition, projection):
    if isinstance(composition, learning.pnl.AutodiffComposition):
        return projection.parameters.matrix.get(composition)
    return projection.parameter_ports["matrix"].parameters.value.get(composition)


def check_not_learned(name):
    build, words = learning.NOT_LEARNED[name]
    composition, arguments, _ = build()
    try:
        mdf_c.psyneulink.compile(composition).learn(**arguments)
    except mdf_c.MdfUnsupportedError as error:
        return next((f"the error does not say {word!r}: {error}" for word in words if word not in str(error)), None)
    return "it is not refused"


def check_forms_of_inputs(name="sched_everyncalls"):
    """Lists, functions, generators, single rows, objects as keys: each gives what the same does with Composition.run."""

    def drawn():
        yield from ({"A": [[value]]} for value in (1.0, 2.0, 3.0))

    build = compositions.COMPOSITIONS[name]
    forms = [
        (lambda node: [[1.0], [2.0], [3.0]], None),
        (lambda node: {node: [[1.0], [2.0]]}, 5),
        (lambda node: {node: 2.0}, 3),
        (lambda node: {node: [1.0, 2.0]}, None),
        (lambda node: lambda trial: {node: [[float(trial)]]}, 3),
        (lambda node: drawn(), 2),
        (lambda node: None, 2),
    ]
    for number, (form, num_trials) in enumerate(forms):
        composition = build()[0]
        program = mdf_c.psyneulink.compile(composition)
        program.run(form(composition.nodes["A"]), num_trials)
        composition.run(inputs=form(composition.nodes["A"]), num_trials=num_trials)
        why = agree(program.results, composition.results)
        if why:
            return f"form {number}: {why}"
    return None


def check_reset(name):
    composition, inputs, num_trials = compositions.COMPOSITIONS[name]()
    program = mdf_c.psyneulink.compile(composition)
    first = program.run(inputs, num_trials)
    program.reset()
    return agree([program.run(inputs, num_trials)], [first]) or (None if len(program.results) == num_trials else "results are kept")


def check_arranged(name):
    """Runs that are told more than inputs; the second goes on, the third is told otherwise, which is refused until a reset."""
    composition, inputs, num_trials, arrangement = compositions.ARRANGED[name]()
    own, goes_on = mdf_c.psyneulink.compile(composition), {k: v for k, v in arrangement.items() if k != "initialize_cycle_values"}
    own.run(inputs, num_trials, **arrangement)
    composition.run(inputs=dict(inputs), num_trials=num_trials, **arrangement)
    own.run(inputs, num_trials, **goes_on)
    composition.run(inputs=dict(inputs), num_trials=num_trials, **goes_on)
    why = agree(own.results, composition.results)
    try:
        own.run(inputs, num_trials, termination_processing={})
    except mdf_c.MdfUnsupportedError as error:
        return why or (None if "arranged in another way" in str(error) else str(error))
    return "another arrangement is not refused"


def check_after_a_run(name="drawn_walks"):
    """A composition that has run: the program begins where that run began, and does not touch the composition's generators."""
    composition, inputs, num_trials = compositions.COMPOSITIONS[name]()
    composition.run(inputs=dict(inputs), num_trials=num_trials)
    program = mdf_c.psyneulink.compile(composition)
    program.run(inputs, num_trials)
    return agree(program.results, composition.results)


def check_after_learning(name):
    """A composition that has learned: the program begins with what that was, also to learn."""
    composition, arguments, inputs = learning.LEARNING[name]()
    composition.learn(**arguments_of_learn(arguments))
    program = mdf_c.psyneulink.compile(composition)
    why = agree([program.run(dict(inputs))], [composition.run(inputs=dict(inputs))])
    last, want = program.learn(**arguments_of_learn(arguments)), composition.learn(**arguments_of_learn(arguments))
    return why or agree([last], [want]) or wrong_matrix(program, composition)


def steps_of(inputs):
    return [{port: value.tolist() for port, value in step.items()} for step in inputs]


def controlled_steps(program, inputs, num_trials):
    """Inputs of the model, with the allocations that the controller has found."""
    steps, record_steps = [], mdf_c.psyneulink.record_steps
    mdf_c.psyneulink.record_steps = lambda state, step, *others: steps.append(step) or record_steps(state, step, *others)
    program.run(inputs, num_trials)
    mdf_c.psyneulink.record_steps = record_steps
    return steps


def record(name, folder):
    composition, inputs, num_trials = compositions.COMPOSITIONS[name]()
    program = mdf_c.psyneulink.compile(composition)
    steps = controlled_steps(program, inputs, num_trials) if composition.controller else program.model_inputs(inputs, num_trials)
    composition.run(inputs=inputs, num_trials=num_trials)
    write_record(name, folder, program, steps_of(steps), composition.results)


def record_learning(name, folder):
    composition, arguments, inputs = learning.LEARNING[name]()
    program = mdf_c.psyneulink.compile(composition)
    steps = steps_of(program.model_inputs_of_learning(**arguments_of_learn(arguments)) + program.model_inputs(dict(inputs)))
    composition.learn(**arguments_of_learn(arguments))
    composition.run(inputs=dict(inputs))
    write_record(name, folder, program, steps, composition.results)


def write_record(name, folder, program, steps, results):
    found = [
        {".".join(place): np.ravel(port).tolist() for place, port in zip(program.outlets, trial)}
        for trial in results
    ]
    text = json.dumps({"model": program.model, "inputs": steps, "results": found}, separators=(",", ":"))
    (Path(folder) / f"{name}.json").write_text(text + "\n")


def check_and_record(name, check, folder):
    why = check()
    if why is None and folder and name in compositions.COMPOSITIONS:
        record(name, folder)
    elif why is None and folder and name in learning.LEARNING and not name.startswith("autodiff"):  # no part of the model
        record_learning(name, folder)
    return why


def all_checks():
    """Functions without arguments that return None, or why not, by name."""
    kinds = (
        (check, compositions.COMPOSITIONS),
        (check_refused, compositions.REFUSED),
        (check_arranged, compositions.ARRANGED),
        (check_learning, learning.LEARNING),
        (check_not_learned, learning.NOT_LEARNED),
        (check_estimation, compositions.ESTIMATIONS),
    )
    checks = {name: partial(function, name) for function, names in kinds for name in names}
    return checks | {
        "forms_of_inputs": check_forms_of_inputs,
        "draws_after_a_run": check_after_a_run,
        **{f"{name}_after_learning": partial(check_after_learning, name) for name in ("backpropagation_xor", "autodiff_minibatches")},
        "reset": partial(check_reset, "sched_everyncalls"),
        "reset_of_draws": partial(check_reset, "drawn_walks"),
        "costs_of_transfer_told": partial(check_costs, "costs_of_transfer", lambda composition: composition.nodes["T"]),
        "costs_of_signal_told": partial(check_costs, "costs_of_signal", lambda composition: composition.nodes["C"].control_signals[0]),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record")
    parser.add_argument("names", nargs="*")
    one_by_one.add_options(parser)
    arguments, checks = parser.parse_args(), all_checks()
    names = arguments.names or list(checks)
    wanted = {name: partial(check_and_record, name, checks[name], arguments.record) for name in names}
    failed = one_by_one.run(wanted, arguments.jobs, arguments.timeout)
    print(f"{len(names) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
