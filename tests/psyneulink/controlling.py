"""Compositions whose controller, an OptimizationControlMechanism with GridSearch, decides from simulations: those that keep values from
trial to trial, and those that draw random numbers. They join the others of compositions.py."""

import psyneulink as pnl
from building import comp, composition, refused

TRIALS = [[1.0], [-1.0], [2.0], [0.5], [-0.3], [1.5]]
SAMPLES = [1.0, 2.0, -0.5, 0.3]


def searched(first, mode=pnl.AFTER, search=None, between=(), cost=0.2, **settings):
    """A mechanism of one number that `first` feeds, whose slope is searched for; the least value is the best."""
    last = pnl.TransferMechanism(name="B")
    result = comp([first, *between, last])
    signal = pnl.ControlSignal(
        modulates=("slope", last),
        allocation_samples=SAMPLES,
        cost_options=pnl.CostFunctions.INTENSITY,
        intensity_cost_function=pnl.Linear(slope=cost),
    )
    controller = pnl.OptimizationControlMechanism(
        name="C",
        agent_rep=result,
        state_features=[first.input_port],
        objective_mechanism=pnl.ObjectiveMechanism(name="O", monitor=[last], function=pnl.Linear(slope=-1.0, intercept=3.0)),
        function=pnl.GridSearch(**{"direction": pnl.MINIMIZE, **(search or {})}),
        control_signals=[signal],
        **settings,
    )
    result.add_controller(controller)
    result.controller_mode = mode
    return result, {first.name: TRIALS}, len(TRIALS)


def integrating(**settings):
    return pnl.TransferMechanism(name="A", integrator_mode=True, integration_rate=0.5, **settings)


def noise(seed=None):
    return pnl.NormalDist(standard_deviation=0.5, **({} if seed is None else {"seed": seed}))


@composition
def search_from_the_state():
    return searched(integrating())


@composition
def search_from_the_state_before():
    return searched(integrating(), pnl.BEFORE)


@composition
def search_from_a_recurrent_state():
    return searched(pnl.RecurrentTransferMechanism(name="A", auto=0.5, hetero=0.0, integrator_mode=True, integration_rate=0.4))


@composition
def search_over_several_trials():
    return searched(integrating(), num_trials_per_estimate=3)


@composition
def search_with_conditions():
    slow = pnl.ProcessingMechanism(name="S", function=pnl.SimpleIntegrator(rate=0.5))
    result, inputs, n = searched(integrating(), between=[slow])
    result.scheduler.add_condition(slow, pnl.EveryNCalls(result.nodes["A"], 2))
    return result, inputs, n


@composition
def search_until_finished():
    first = integrating(execute_until_finished=True, termination_threshold=0.1, max_executions_before_finished=7)
    return searched(first)


@composition
def search_with_noise():
    return searched(pnl.TransferMechanism(name="A", noise=noise()))


@composition
def search_with_noise_and_state():
    return searched(integrating(noise=noise(3)), pnl.BEFORE)


@composition
def search_with_estimates():
    return searched(integrating(noise=noise()), num_estimates=3)


@composition
def search_with_estimates_before():
    return searched(integrating(noise=noise(5)), pnl.BEFORE, num_estimates=4)


@composition
def search_with_the_same_seeds():
    return searched(integrating(noise=noise()), num_estimates=3, same_seed_for_all_allocations=True)


@composition
def search_with_estimates_apart():
    return searched(pnl.TransferMechanism(name="A", noise=noise()), search={"aggregation_function": None}, num_estimates=2)


@composition
def search_of_walks_with_estimates():
    walk = pnl.DDM(
        name="A",
        function=pnl.DriftDiffusionIntegrator(noise=0.5, threshold=2.0, time_step_size=0.1),
        execute_until_finished=True,
        reset_stateful_function_when=pnl.AtTrialStart(),
        output_ports=[pnl.DECISION_VARIABLE],
    )
    return searched(walk, num_estimates=2)


@composition
def search_of_decisions_with_estimates():
    return searched(pnl.DDM(name="A", function=pnl.DriftDiffusionAnalytical(noise=0.5), output_ports=[pnl.DECISION_VARIABLE]), num_estimates=3)


@composition
def search_among_equals():
    return searched(
        pnl.TransferMechanism(name="A", function=pnl.Linear(slope=0.0)),
        search={"select_randomly_from_optimal_values": True, "seed": 4},
        cost=0.0,
    )


@composition
def search_with_one_stream_of_seeds():
    first, second = (pnl.TransferMechanism(name=name, noise=noise()) for name in "AD")
    return searched(first, between=[second], num_estimates=3, noise_stream_policy="shared_seed")


@composition
def search_with_a_stream_of_seeds_each():
    first, second = (pnl.TransferMechanism(name=name, noise=noise()) for name in "AD")
    return searched(first, between=[second], num_estimates=3, noise_stream_policy="independent")


def nested_in_three(last, controlled=None):
    """Compositions within each other, the innermost with a mechanism; the outermost, and the one called `controlled`, have a controller."""
    inside = pnl.Composition(name="level3", pathways=[last])
    for level in ("level2", "level1", "level0"):
        around = pnl.Composition(name=level, pathways=[inside], controller_mode=pnl.BEFORE)
        if level in ("level0", controlled):
            around.add_controller(
                pnl.OptimizationControlMechanism(
                    name=f"C_{level}",
                    agent_rep=around,
                    state_features=[inside.input_port],
                    objective_mechanism=pnl.ObjectiveMechanism(name=f"O_{level}", monitor=[last]),
                    function=pnl.GridSearch(),
                    control_signals=pnl.ControlSignal(modulates=(pnl.SLOPE, last), allocation_samples=[1.0, 3.0, 2.0]),
                )
            )
        inside = around
    return inside, {"level1": TRIALS}, len(TRIALS)


@composition
def search_within_three_compositions():
    return nested_in_three(pnl.ProcessingMechanism(name="A"))


@refused(["OptimizationControlMechanism 'C_level1'", "it controls 'level1' within 'level0'"])
def search_by_two_controllers():
    return nested_in_three(pnl.ProcessingMechanism(name="A"), "level1")


@refused(["OptimizationControlMechanism 'C'", "no GridSearch"])
def search_by_gradient():
    first = pnl.TransferMechanism(name="A")
    result, inputs, n = searched(first)
    result.controller.function = pnl.GradientOptimization()
    return result, inputs, n
