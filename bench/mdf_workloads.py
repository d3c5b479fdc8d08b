"""MDF models to be timed step by step: those of bench/models, for which bench/c has the same by hand; examples/; and upstream's
own examples where ../shared has them."""

import collections
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
UPSTREAM = HERE.parent.parent / "shared" / "reference" / "mdf" / "models" / "upstream"

# steps: how many are timed by fast engines; small: by slow ones, and how many results are compared after. outputs: NODE.PORT in
# the order of the hand-written C; None: all that there are.
Problem = collections.namedtuple("Problem", "name group path dt steps small outputs c targets")

STEPS = {"modeci_mdf": 10_000, "c": 4, "c compiled": 1.3}
# Dynamics grow what sums and products in another order differ by.
TOLERANCE = 1e-9


def own(name, dt, outputs, steps=100_000):
    path = HERE / "models" / f"{name}.yaml"
    return Problem(name.replace("_", " "), "MDF models", path, dt, steps, 200, outputs.split(), name, STEPS)


def example(name, dt, steps=10_000):
    return Problem(f"examples/{name}", "MDF examples", EXAMPLES / name, dt, steps, 50, None, None, {})


def upstream(name, dt, steps=50_000):
    targets = {key: value for key, value in STEPS.items() if key == "modeci_mdf"}
    title = f"upstream {pathlib.Path(name).name}"
    return Problem(title, "MDF models of upstream", UPSTREAM / name, dt, steps, 50, None, None, targets)


ALL = [
    own("fitzhugh_nagumo", 0.05, "pulse.current membrane.v membrane.w"),
    own("izhikevich", 0.25, "neuron.v neuron.u neuron.fired"),
    own("newton_cooling", 0.5, "cup.temperature cup.flow"),
    own("integrate_and_fire_net", 0.1, "first.v synapses.current second.v second.spike", 20_000),
    own("switched_rlc", 0.001, "board.voltage board.current"),
    own("every_n_calls", None, "A.n B.sum C.sum", 20_000),
    upstream("MDF/FN.mdf.json", 0.00005),
    upstream("NeuroML/IzhikevichTest.mdf.json", 0.0005),
    upstream("MDF/NewtonCoolingModel.json", 0.1),
    upstream("MDF/RNN/IAF_net.json", 0.1, 10_000),
    upstream("MDF/SwitchedRLC_Circuit.json", 0.001),
    upstream("MDF/abc_conditions.json", None, 10_000),
    example("fitzhugh_nagumo.yaml", 0.05),
    example("cooling.yaml", 10.0),
    example("traffic_light.yaml", None),
    example("weighted_edges.json", None),
    example("slow_and_fast.yaml", None),
]

WORKLOADS = {problem.name: problem for problem in ALL if problem.path.exists()}
