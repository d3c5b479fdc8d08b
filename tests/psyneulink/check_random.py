#!/usr/bin/env python3
"""Random compositions of PsyNeuLink by mdf_c.psyneulink against Composition.run: mechanisms of several classes, projections of all
kinds, circles, control, nested compositions, conditions; for every fourth seed one that learns by backpropagation, too. What is
refused counts as such. A trial that PsyNeuLink does not end (two nodes that wait for each other) may not end here: it is an error, that it
can not or that it takes too long.

    check_random.py [--seeds N] [--from SEED]

The last line is `N models, N refused, N found`.
"""

import argparse
import contextlib
import signal
import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")

import psyneulink as pnl  # noqa: E402
from agreement import agree  # noqa: E402
from check_live import wrong_matrix  # noqa: E402
from psyneulink.core.components.component import ComponentError  # noqa: E402
from psyneulink.core.globals.utilities import set_global_seed  # noqa: E402

import mdf_c  # noqa: E402


class Maker:
    """Makes one composition from a seed."""

    def __init__(self, seed):
        self.rng, self.n_names = np.random.default_rng(seed), 0

    def choose(self, *options):
        return options[self.rng.integers(len(options))]

    def chance(self, likelihood):
        return self.rng.random() < likelihood

    def number(self):
        return float(np.round(self.rng.uniform(-1.5, 1.5), 2))

    def name(self):
        self.n_names += 1
        return f"{self.choose('M', 'N ', 'layer-')}{self.n_names}"

    def function(self):
        make = self.choose(
            lambda: pnl.Linear(slope=self.number(), intercept=self.number()),
            lambda: pnl.Logistic(gain=self.number(), bias=self.number(), offset=self.number(), scale=self.number()),
            lambda: pnl.Tanh(gain=self.number(), bias=self.number()),
            lambda: pnl.ReLU(gain=self.number(), leak=0.1),
            lambda: pnl.SoftMax(gain=abs(self.number()) + 0.1),
            lambda: pnl.Exponential(rate=0.2, bias=self.number()),
        )
        return make()

    def distribution(self):
        seed = {"seed": int(self.rng.integers(100))} if self.chance(0.5) else {}
        make = self.choose(
            lambda: pnl.NormalDist(mean=self.number(), standard_deviation=0.3, **seed),
            lambda: pnl.UniformDist(low=-0.5, high=0.7, **seed),
            lambda: pnl.ExponentialDist(beta=0.2, **seed),
            lambda: pnl.GammaDist(dist_shape=abs(self.number()), scale=0.1, **seed),
            lambda: pnl.WaldDist(mean=0.2, scale=0.3, **seed),
            lambda: pnl.UniformToNormalDist(standard_deviation=0.2, **seed),
        )
        return make()

    def walk(self, name):
        """A mechanism that draws by itself."""
        make = self.choose(
            lambda: pnl.DDM(name=name, function=pnl.DriftDiffusionAnalytical(drift_rate=self.number(), noise=0.8)),
            lambda: pnl.DDM(name=name, function=pnl.DriftDiffusionIntegrator(noise=0.8, threshold=2.0)),
            lambda: pnl.DDM(name=name, execute_until_finished=False, function=pnl.DriftDiffusionIntegrator(noise=0.5, threshold=5.0, time_step_size=0.5)),
            lambda: pnl.ProcessingMechanism(name=name, input_shapes=2, function=pnl.GaussianDistort(variance=0.5, seed=int(self.rng.integers(9)))),
            lambda: pnl.ProcessingMechanism(name=name, input_shapes=3, function=pnl.SoftMax(output=self.choose(pnl.PROB, pnl.PROB_INDICATOR))),
            lambda: pnl.ProcessingMechanism(name=name, function=self.distribution()),
        )
        return make()

    def output_ports(self):
        return [pnl.RESULT] + [port for port in (pnl.MEAN, pnl.VARIANCE, pnl.MAX_VAL) if self.chance(0.2)]

    def transfer_settings(self):
        settings = {"function": self.function(), "output_ports": self.output_ports()}
        if self.chance(0.4):
            settings.update(integrator_mode=True, integration_rate=float(np.round(self.rng.uniform(0.1, 0.9), 2)))
            if self.chance(0.2):
                settings.update(termination_threshold=0.05, execute_until_finished=True)
        if self.chance(0.35):
            settings["noise"] = self.distribution() if self.chance(0.5) else self.number()
        if self.chance(0.2):
            settings["clip"] = (-0.5, 0.75)
        return settings

    def mechanism(self):
        size, name = int(self.rng.integers(1, 4)), self.name()
        kind = self.rng.integers(11)
        if kind < 5:
            return pnl.TransferMechanism(name=name, input_shapes=size, **self.transfer_settings())
        if kind < 7:
            settings = self.transfer_settings()
            settings.pop("execute_until_finished", None), settings.pop("termination_threshold", None)
            extra = self.choose({"auto": self.number() / 3, "hetero": self.number() / 3}, {"matrix": self.rng.uniform(-0.5, 0.5, (size, size))}, {})
            return pnl.RecurrentTransferMechanism(name=name, input_shapes=size, **settings, **extra)
        if kind == 7:
            return pnl.LCAMechanism(name=name, input_shapes=size, leak=0.4, competition=0.2, noise=self.choose(0.0, self.distribution()))
        if kind == 8:
            make = self.choose(
                lambda: pnl.SimpleIntegrator(rate=self.number(), offset=self.number()),
                lambda: pnl.AdaptiveIntegrator(rate=0.3, noise=self.choose(0.0, self.distribution())),
                lambda: pnl.LeakyCompetingIntegrator(rate=0.5, time_step_size=0.2),
                lambda: pnl.AccumulatorIntegrator(rate=0.9, increment=self.number()),
            )
            return pnl.IntegratorMechanism(name=name, input_shapes=size, function=make())
        if kind == 9:
            return self.walk(name)
        return pnl.ProcessingMechanism(name=name, input_shapes=size, function=self.function())

    def connect(self, composition, sender, receiver, feedback=False):
        rows, columns = (len(np.ravel(port.defaults.value)) for port in (sender.output_ports[0], receiver.input_ports[0]))
        matrix = np.eye(rows) if rows == columns and self.chance(0.4) else np.round(self.rng.uniform(-1, 1, (rows, columns)), 2)
        projection = pnl.MappingProjection(matrix=matrix)
        composition.add_projection(projection, sender=sender, receiver=receiver, **({"feedback": True} if feedback else {}))

    def fill(self, composition, n, depth):
        nodes = []
        for _ in range(n):
            node = self.nested(depth) if depth > 0 and self.chance(0.15) else self.mechanism()
            composition.add_node(node)
            nodes.append(node)
        for i, receiver in enumerate(nodes[1:], 1):
            for sender in nodes[:i]:
                if self.chance(0.5):
                    self.connect(composition, sender, receiver)
        if self.chance(0.3) and n > 1:
            i, j = sorted(self.rng.choice(n, 2, replace=False))
            self.connect(composition, nodes[j], nodes[i], self.chance(0.5))
        return nodes

    def nested(self, depth):
        composition = pnl.Composition(name=self.name())
        self.fill(composition, int(self.rng.integers(1, 3)), depth - 1)
        return composition

    def control(self, composition, nodes):
        mechanisms = [node for node in nodes if isinstance(node, pnl.TransferMechanism)]
        if len(mechanisms) < 2:
            return
        monitored, modulated = (mechanisms[i] for i in self.rng.choice(len(mechanisms), 2, replace=False))
        parameter = next((name for name in ("slope", "gain", "rate") if hasattr(modulated.function.parameters, name)), None)
        if parameter is None or len(np.ravel(monitored.output_ports[0].defaults.value)) > 1:
            return
        signal = pnl.ControlSignal(modulates=(parameter, modulated), modulation=self.choose(pnl.MULTIPLICATIVE, pnl.ADDITIVE, pnl.OVERRIDE))
        composition.add_node(pnl.ControlMechanism(name=self.name(), monitor_for_control=monitored, control_signals=[signal]))

    def condition(self, composition, nodes):
        first, second = (nodes[i] for i in sorted(self.rng.choice(len(nodes), 2, replace=False)))
        composition.scheduler.add_condition(
            second, self.choose(pnl.EveryNCalls(first, 2), pnl.AfterNCalls(first, 2), pnl.AfterPass(1), pnl.AtPass(1))
        )

    def learner(self):
        """Layers with learning pathways between them, from one or two inputs to one or two outputs; and what it learns."""
        functions = (pnl.Linear(slope=0.7), pnl.Logistic(gain=1.5, bias=0.2), pnl.Logistic(), pnl.ReLU(leak=0.1), pnl.SoftMax())
        sizes = [int(size) for size in self.rng.integers(1, 5, int(self.rng.integers(2, 5)))]
        hidden = [pnl.TransferMechanism(name=self.name(), input_shapes=size, function=self.choose(*functions)) for size in sizes[1:-1]]
        ends = [[pnl.TransferMechanism(name=self.name(), input_shapes=size, function=self.choose(*functions)) for _ in range(self.choose(1, 2))] for size in (sizes[0], sizes[-1])]
        composition = pnl.Composition(name="random")
        settings = {"loss_spec": self.choose(pnl.Loss.MSE, pnl.Loss.SSE, pnl.Loss.L0), "learning_update": self.choose(pnl.AFTER, pnl.AFTER, pnl.ONLINE)}
        used = [(ends[0][i % len(ends[0])], ends[1][i % len(ends[1])]) for i in range(max(map(len, ends)))]
        known = set()
        for number, (first, last) in enumerate(used):
            middle = hidden if number == 0 else [node for node in hidden[:1] if {(first, node), (node, last)}.isdisjoint(known)]
            nodes = [first, *middle, last]
            pathway = [first]
            for sender, receiver in zip(nodes, nodes[1:]):
                pathway += [np.round(self.rng.uniform(-1, 1, (len(sender.output_port.value), len(receiver.output_port.value))), 2), receiver]
                known.add((sender, receiver))
            composition.add_backpropagation_learning_pathway(pathway, learning_rate=float(np.round(self.rng.uniform(0.05, 0.5), 2)), **settings)
        n = int(self.rng.integers(1, 5))
        inputs, targets = ({node: np.round(self.rng.uniform(-1, 1, (n, size)), 2).tolist() for node in nodes} for nodes, size in zip(ends, (sizes[0], sizes[-1])))
        inputs = {node: rows for node, rows in inputs.items() if node in [first for first, _ in used]}
        return composition, {"inputs": inputs, "targets": targets, "epochs": int(self.rng.integers(1, 4))}

    def composition(self):
        composition = pnl.Composition(name="random")
        nodes = self.fill(composition, int(self.rng.integers(1, 6)), 2)
        if self.chance(0.3):
            self.control(composition, nodes)
        if self.chance(0.3) and len(nodes) > 1:
            self.condition(composition, nodes)
        return composition

    def inputs(self, composition, n_trials):
        return {
            node: [[np.round(self.rng.uniform(-1, 1, len(np.ravel(port.defaults.value))), 2).tolist() for port in node.external_input_ports] for _ in range(n_trials)]
            for node in composition.get_nodes_by_role(pnl.NodeRole.INPUT)
        }


def begin_anew():
    for registry in pnl.primary_registries:
        pnl.clear_registry(registry)
    set_global_seed(0)


def check_learning(seed):
    """The same of a composition that learns: trials in which it does, others, and again."""
    begin_anew()
    try:
        composition, arguments = Maker([seed, 1]).learner()
        program = mdf_c.psyneulink.compile(composition)
        for _ in range(2):
            composition.learn(**copied(arguments))
            composition.run(inputs=dict(arguments["inputs"]))
    except (pnl.CompositionError, ComponentError) as error:
        print(f"{seed}: PsyNeuLink: {error}", flush=True)
        return None
    if not all(np.isfinite(np.ravel(port).astype(float)).all() for trial in composition.results for port in trial):
        return None
    for _ in range(2):
        program.learn(**copied(arguments))
        program.run(dict(arguments["inputs"]))
    return agree(program.results, composition.results) or wrong_matrix(program, composition)


def copied(arguments):
    return {name: dict(value) if isinstance(value, dict) else value for name, value in arguments.items()}


LONGEST_RUN_S = 30  # a composition takes PsyNeuLink one or two


class EndlessError(Exception):
    """PsyNeuLink goes on and on."""


@contextlib.contextmanager
def ending():
    def stop(*_):
        raise EndlessError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, LONGEST_RUN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def made(seed):
    begin_anew()
    maker = Maker(seed)
    composition = maker.composition()
    composition._analyze_graph()
    return composition, maker.inputs(composition, 3), int(maker.rng.integers(1, 5))


def check_endless(seed):
    composition, inputs, n_trials = made(seed)  # the one that was stopped is broken
    try:
        mdf_c.psyneulink.compile(composition, time_limit=5.0).run(inputs, n_trials)
    except mdf_c.MdfUnsupportedError:
        raise
    except mdf_c.MdfError as error:
        return None if "can never end" in str(error) or isinstance(error, mdf_c.MdfLimitError) else str(error)
    return f"PsyNeuLink does not end in {LONGEST_RUN_S} s what ends here"


def check(seed):
    """None: they agree; a text: they do not, or it is refused."""
    try:
        composition, inputs, n_trials = made(seed)
        with ending():
            composition.run(inputs=dict(inputs), num_trials=n_trials)
    except EndlessError:
        return check_endless(seed)
    except Exception as error:  # it is no composition
        print(f"{seed}: PsyNeuLink: {type(error).__name__}", flush=True)
        return None
    if not all(np.isfinite(np.concatenate([np.ravel(port).astype(float) for port in trial])).all() for trial in composition.results):
        return None  # what overflows does so in the order of sums
    again, inputs, _ = made(seed)  # generators that all runs share stand elsewhere in the one that has run
    program = mdf_c.psyneulink.compile(again)
    program.run(inputs, n_trials)
    return agree(program.results, composition.results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--from", dest="first", type=int, default=93000000)
    arguments = parser.parse_args()
    n_refused = n_found = 0
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        try:
            why = check(seed) or (check_learning(seed) if seed % 4 == 0 else None)
        except mdf_c.MdfUnsupportedError as error:
            n_refused += 1
            print(f"{seed}: refused: {str(error)[:200]}", flush=True)
            continue
        except Exception as error:  # of PsyNeuLink or of this package: both are told
            why = f"{type(error).__name__}: {error}"
        if why:
            n_found += 1
            print(f"{seed}: {why[:300]}", flush=True)
    print(f"{arguments.seeds} models, {n_refused} refused, {n_found} found")
    return 1 if n_found else 0


if __name__ == "__main__":
    sys.exit(main())
