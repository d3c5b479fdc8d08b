"""Compositions that draw random numbers: those of PsyNeuLink, trial by trial."""

import psyneulink as pnl
from building import alone, comp, composition

TRIALS = [[1.0, -0.5], [0.25, 2.0], [0.0, 0.0], [1.5, 1.0], [-1.0, 0.5]]


@composition
def drawn_noise():
    return alone(pnl.TransferMechanism(name="T", input_shapes=2, noise=pnl.NormalDist(mean=0.5), function=pnl.Logistic()), TRIALS)


@composition
def drawn_noise_of_integrator():
    noise = pnl.NormalDist(standard_deviation=0.3)
    return alone(pnl.TransferMechanism(name="T", input_shapes=2, noise=noise, integrator_mode=True, clip=(-1, 1)), TRIALS)


@composition
def drawn_by_methods():
    nodes = [
        pnl.TransferMechanism(name="T", input_shapes=2, noise=pnl.NormalDist(mean=0.5).function),
        pnl.TransferMechanism(name="I", input_shapes=2, noise=pnl.UniformDist().function, integrator_mode=True),
        pnl.ProcessingMechanism(name="P", input_shapes=2, function=pnl.SimpleIntegrator(noise=pnl.GammaDist(dist_shape=2.5).function)),
    ]
    return comp(*nodes), {node.name: TRIALS for node in nodes}, 5


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
