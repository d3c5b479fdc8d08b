"""Compositions of one mechanism, or of few around one: functions, costs, memories, decisions, winners, timers."""

import psyneulink as pnl
from building import alone, comp, composition, integrator, processing

# Functions


@composition
def accumulator():
    return integrator(pnl.AccumulatorIntegrator(rate=0.9, increment=0.4))


@composition
def leaky_with_an_offset():
    return integrator(pnl.LeakyCompetingIntegrator(rate=0.3, noise=0.1, time_step_size=0.2, offset=0.1))


@composition
def rates_of_elements():
    mechanism = pnl.IntegratorMechanism(name="T", input_shapes=2, function=pnl.AdaptiveIntegrator(rate=[0.3, 0.6], offset=[0.1, 0.2]))
    return alone(mechanism, [[1.0, 2.0], [0.5, -1.0], [0.0, 0.0]])


@composition
def increments_of_elements():
    mechanism = pnl.IntegratorMechanism(name="T", input_shapes=2, function=pnl.AccumulatorIntegrator(rate=0.9, increment=[0.3, 0.1]))
    return alone(mechanism, [[1.0, 2.0], [0.5, -1.0], [0.0, 0.0]])


@composition
def noise_of_elements():
    integrating = pnl.TransferMechanism(name="T", input_shapes=2, integrator_mode=True, noise=[0.1, 0.2])
    return comp([integrating, pnl.IntegratorMechanism(name="I", input_shapes=2, function=pnl.SimpleIntegrator(noise=[0.3, -0.2]))]), {
        "T": [[1.0, 2.0], [0.5, -1.0]]
    }, 3


@composition
def drift_on_a_sphere():
    function = pnl.DriftOnASphereIntegrator(default_variable=[0.0, 0.0], initializer=[0.6, 0.8, 0.0], dimension=3, noise=0.1, seed=3)
    mechanism = pnl.ProcessingMechanism(name="T", default_variable=[0.0, 0.0], function=function)
    return alone(mechanism, [[0.5, 0.2], [0.1, 0.2], [0.0, 0.0]])


@composition
def drift_on_a_sphere_to_a_place():
    function = pnl.DriftOnASphereIntegrator(dimension=3, default_variable=[0.0, 0.0, 0.0], noise=[0.1, 0.2], rate=0.5, time_step_size=0.3, seed=7)
    return processing(function, [[0.5, 0.2, 0.3], [0.1, 0.2, -1.0], [0.1, 0.2, -1.0]])


@composition
def drift_on_a_circle():
    return alone(pnl.IntegratorMechanism(name="T", function=pnl.DriftOnASphereIntegrator(dimension=2, noise=0.3, initializer=[0.6, 0.8], default_variable=[0.0])), [[0.5], [-2.0]])


@composition
def neurons_within_a_transfer():
    integrating = pnl.FitzHughNagumoIntegrator(default_variable=[[0.0, 0.0]], initial_v=[0.0, 0.1], initial_w=[0.0, 0.2])
    ports = [pnl.RESULT, *({pnl.NAME: name, pnl.VARIABLE: (pnl.OWNER_VALUE, i)} for i, name in ((1, "w"), (2, "time")))]
    mechanism = pnl.TransferMechanism(name="T", input_shapes=2, function=pnl.Logistic(gain=2.0), integrator_mode=True, integrator_function=integrating, output_ports=ports)
    of_a_class = pnl.TransferMechanism(name="C", integrator_mode=True, integrator_function=pnl.FitzHughNagumoIntegrator)
    return comp([mechanism, of_a_class]), {"T": [[1.0, 0.5], [2.0, 1.0], [0.3, -0.2]]}, 4


@composition
def walks_within_a_transfer():
    walking = pnl.DriftDiffusionIntegrator(default_variable=[[0.0, 0.0]], noise=0.1, threshold=2.0, seed=3)
    mechanism = pnl.TransferMechanism(name="T", input_shapes=2, function=pnl.Logistic(gain=2.0), integrator_mode=True, integrator_function=walking)
    return alone(mechanism, [[1.0, 0.5], [2.0, 1.0], [0.3, -0.2]])


@composition
def losses():
    function, shapes = pnl.LossFunction(default_variable=[[0.0, 0.0], [0.0, 0.0]], loss=pnl.Loss.CROSS_ENTROPY), [[0.0, 0.0], [0.0, 0.0]]
    soft = pnl.ProcessingMechanism(name="T", default_variable=shapes, function=function)
    squared = pnl.ObjectiveMechanism(name="O", default_variable=shapes, function=pnl.LossFunction(default_variable=shapes, loss=pnl.Loss.SSE))
    return comp(soft, squared), {"T": [[[0.5, 1.0], [0.25, 2.0]]], "O": [[[0.5, 1.0], [0.25, 2.0]]]}, 1


@composition
def dual_adaptive():
    return integrator(pnl.DualAdaptiveIntegrator())


@composition
def binomialdistort0():
    return processing(pnl.Identity(), [[1.0, 3.0, 2.0]])


@composition
def buffer():
    return processing(pnl.Buffer(default_variable=[[0.0, 0.0]], initializer=[[0.0, 0.0]], history=3), [[1, 2], [3, 4], [5, 6], [7, 8]])


@composition
def logistic_x0_scale():
    return processing(pnl.Logistic(gain=2.0, bias=-0.6, scale=3.0, offset=0.25), [[1.0], [-1.0]])


@composition
def normalize():
    return processing(pnl.Normalize(), [[1.0, -2.0, 0.5]])


@composition
def onehot():
    return processing(pnl.OneHot(mode=pnl.ARG_MAX_INDICATOR), [[1.0, 3.0, 2.0]])


@composition
def reduce_prod():
    mechanism = pnl.ProcessingMechanism(name="T", default_variable=[[0.0, 0.0, 0.0]], function=pnl.Reduce(operation=pnl.PRODUCT))
    return alone(mechanism, [[1.0, 3.0, 2.0]])


@composition
def relu():
    return processing(pnl.ReLU(gain=2.0, bias=0.1, leak=0.2), [[1.0, -2.0, 0.5]])


@composition
def softmax_adaptive():
    function = pnl.SoftMax(gain=pnl.ADAPTIVE, adapt_base=2.0, adapt_entropy_weighting=0.3, per_item=True)
    return alone(pnl.ProcessingMechanism(name="T", default_variable=[[0.1, 0.2, 0.3], [1.0, 2.0, 3.0]], function=function), [[[0.1, 2.0, -0.5], [1.0, 0.5, 3.0]]])


@composition
def softmax_adaptive_of_one():
    return processing(pnl.SoftMax(gain=pnl.ADAPTIVE, adapt_scale=1.5), [[1.0, 2.0, 0.5]])


@composition
def softmax_default():
    return processing(pnl.SoftMax(), [[1.0, 2.0, 0.5]])


@composition
def softmax_maxval():
    return processing(pnl.SoftMax(output=pnl.MAX_VAL), [[1.0, 2.0, 0.5]])


# Costs


@composition
def costs_of_transfer():
    function = pnl.TransferWithCosts(
        input_shapes=2,
        transfer_fct=pnl.Logistic(gain=2.0),
        enabled_cost_functions=pnl.CostFunctions.ALL,
        adjustment_cost_fct=pnl.Linear(slope=3.0, intercept=0.5),
        intensity_cost_fct=pnl.Exponential(rate=0.5),
    )
    return alone(pnl.ProcessingMechanism(name="T", input_shapes=2, function=function), [[0.5, 1.0], [1.0, 0.25], [1.0, 0.25]])


@composition
def costs_of_signal():
    source, target = pnl.TransferMechanism(name="A"), pnl.TransferMechanism(name="B")
    signal = pnl.ControlSignal(modulates=("slope", target), cost_options=pnl.CostFunctions.INTENSITY | pnl.CostFunctions.ADJUSTMENT)
    control = pnl.ControlMechanism(name="C", default_variable=[[1.0]], monitor_for_control=source, objective_mechanism=False, control_signals=[signal])
    result = comp([source, target])
    result.add_node(control)
    return result, {"A": [[0.5], [1.0], [1.0], [0.25]]}, 4


# Memories


CUES = [[[1.0, 2.0], [0.5, 1.0]], [[-1.0, 0.5], [2.0, 0.0]], [[1.0, 2.0], [0.5, 1.25]], [[1.0, 2.0], [0.5, 1.0]]]


def memory(function):
    mechanism = pnl.EpisodicMemoryMechanism(name="M", default_variable=[[0.0, 0.0], [0.0, 0.0]], function=function)
    return comp(mechanism), {"M": CUES}, 6


@composition
def memory_addressed():
    return memory(pnl.ContentAddressableMemory(initializer=[[[0.0, 1.0], [3.0, 1.0]]]))


@composition
def memory_empty_at_first():
    return memory(pnl.ContentAddressableMemory(distance_function=pnl.Distance(metric=pnl.EUCLIDEAN), max_entries=2))


@composition
def memory_overwritten():
    distance, first = pnl.Distance(metric=pnl.EUCLIDEAN), [[[0.0, 1.0], [3.0, 1.0]]]
    return memory(
        pnl.ContentAddressableMemory(
            initializer=first, distance_function=distance, distance_field_weights=[1.0, 0.0], duplicate_entries_allowed=pnl.OVERWRITE
        )
    )


@composition
def memory_dictionary():
    function = pnl.DictionaryMemory(initializer=[[[0.0, 1.0], [3.0, 1.0]]], distance_function=pnl.Distance(metric=pnl.EUCLIDEAN))
    mechanism = pnl.ProcessingMechanism(name="M", default_variable=[[0.0, 0.0], [0.0, 0.0]], function=function)
    return comp(mechanism), {"M": CUES}, 6


@composition
def memory_within():
    source = pnl.ProcessingMechanism(name="A", input_shapes=2)
    function = pnl.ContentAddressableMemory(
        default_variable=[[0.0, 0.0], [0.0, 0.0]], equidistant_entries_select=pnl.NEWEST, duplicate_entries_allowed=True, max_entries=3
    )
    mechanism = pnl.EpisodicMemoryMechanism(name="M", default_variable=[[0.0, 0.0], [0.0, 0.0]], function=function)
    target = pnl.TransferMechanism(name="B", input_shapes=2, function=pnl.Linear(slope=2.0))
    result = pnl.Composition(name="comp", nodes=[source, mechanism, target])
    result.add_projection(pnl.MappingProjection(sender=source, receiver=mechanism.input_ports[0]))
    result.add_projection(pnl.MappingProjection(sender=source, receiver=mechanism.input_ports[1], matrix=[[0.0, 1.0], [1.0, 0.5]]))
    result.add_projection(pnl.MappingProjection(sender=mechanism.output_ports[1], receiver=target))
    return result, {"A": [[1.0, 2.0], [0.5, -1.0], [0.25, 3.0]]}, 7


# Mechanisms with several input ports


@composition
def comparator():
    mechanism = pnl.ComparatorMechanism(name="O", sample=[0.0, 0.0], target=[0.0, 0.0])
    return comp(mechanism), {"O": [[[1.0, 2.0], [3.0, 5.0]]]}, 1


@composition
def linearcombination_weights():
    function = pnl.LinearCombination(weights=[[2.0], [-1.0]], exponents=[[1.0], [2.0]], scale=2.0, offset=1.0)
    mechanism = pnl.ProcessingMechanism(name="O", default_variable=[[0.0, 0.0], [0.0, 0.0]], function=function)
    return comp(mechanism), {"O": [[[1.0, 2.0], [3.0, 4.0]]]}, 1


@composition
def objective_product():
    function = pnl.LinearCombination(operation=pnl.PRODUCT)
    mechanism = pnl.ObjectiveMechanism(name="O", default_variable=[[0.0, 0.0], [0.0, 0.0]], function=function)
    return comp(mechanism), {"O": [[[1.0, 2.0], [3.0, 4.0]]]}, 1


@composition
def prediction_error():
    mechanism = pnl.PredictionErrorMechanism(name="T", sample=[0.0] * 4, target=[0.0] * 4)
    return comp(mechanism), {"T": [[[0.0, 1.0, 2.0, 3.0], [0.0, 0.0, 1.0, 0.0]]]}, 1


# Transfer mechanisms


@composition
def transfer_clip():
    return alone(pnl.TransferMechanism(name="T", input_shapes=2, function=pnl.Linear(slope=2.0), clip=(-1.0, 1.0)), [[1.0, 0.3]])


@composition
def transfer_mean_variance():
    mechanism = pnl.TransferMechanism(name="T", input_shapes=3, output_ports=[pnl.RESULT, pnl.MEAN, pnl.VARIANCE])
    return alone(mechanism, [[1.0, 2.0, 6.0]])


@composition
def transfer_noise_const():
    return alone(pnl.TransferMechanism(name="T", noise=0.5), [[1.0], [2.0]])


@composition
def transfer_num_executions():
    mechanism = pnl.TransferMechanism(
        name="T",
        integrator_mode=True,
        integration_rate=0.5,
        termination_measure=pnl.TimeScale.TRIAL,
        termination_threshold=5,
        execute_until_finished=True,
    )
    return alone(mechanism, [[1.0], [2.0]])


@composition
def transfer_until_finished():
    mechanism = pnl.TransferMechanism(
        name="T", integrator_mode=True, integration_rate=0.5, termination_threshold=0.1, execute_until_finished=True
    )
    return alone(mechanism, [[1.0], [2.0]])


@composition
def ddm_of_one_number_with_ports_of_an_array():
    ports = [pnl.SELECTED_INPUT_ARRAY, pnl.DECISION_VARIABLE_ARRAY]
    return alone(pnl.DDM(name="D", function=pnl.DriftDiffusionAnalytical(), output_ports=ports), [[1.0], [-0.5]])


def of_two_ports(function, **settings):
    variable = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    mechanism = pnl.TransferMechanism(name="T", default_variable=variable, function=function, integrator_mode=True, **settings)
    return alone(mechanism, [[[1.5, 2.5, 0.5], [3.5, 4.5, 0.0]], [[1.0, 0.0, 0.5], [-3.5, 4.5, 0.0]]])


@composition
def integrating_two_ports():
    return of_two_ports(pnl.Linear(slope=2.0), integration_rate=0.25)


@composition
def integrating_two_ports_from_initial_values():
    return of_two_ports(pnl.SoftMax(), initial_value=[[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]])


def so_many_runs(scale, **settings):
    measure = dict(termination_measure=scale, termination_threshold=3)
    return alone(pnl.TransferMechanism(name="T", integrator_mode=True, **measure, **settings), [[1.0], [2.0]])


@composition
def runs_in_the_pass():
    return so_many_runs(pnl.TimeScale.PASS)


@composition
def runs_in_the_pass_one_by_one():
    result, inputs, _ = so_many_runs(pnl.TimeScale.PASS, execute_until_finished=False, max_executions_before_finished=2)
    result.termination_processing = {pnl.TimeScale.TRIAL: pnl.AfterPass(2)}
    return result, inputs, 3


@composition
def runs_in_the_run():
    return so_many_runs(pnl.TimeScale.RUN)


@composition
def recurrent_matrix():
    return alone(pnl.RecurrentTransferMechanism(name="T", input_shapes=2, matrix=[[0.1, 0.2], [0.3, 0.4]], integrator_mode=True, clip=[-1, 1]), [[1.0, -2.0], [0.5, 0.0]])


@composition
def recurrent_auto_hetero():
    mechanism = pnl.RecurrentTransferMechanism(name="R", input_shapes=3, auto=0.5, hetero=-0.2)
    return alone(mechanism, [[1.0, 2.0, 3.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]])


# Decisions


@composition
def ddm_analytical():
    function = pnl.DriftDiffusionAnalytical(drift_rate=0.3, threshold=1.2, noise=0.7, non_decision_time=0.3)
    return alone(pnl.DDM(name="D", function=function), [[1.0], [-0.5], [0.25]])


@composition
def ddm_integrator_step():
    function = pnl.DriftDiffusionIntegrator(rate=1.0, noise=0.0, threshold=3.5)
    return alone(pnl.DDM(name="D", function=function, execute_until_finished=False), [[1.0]] * 6)


@composition
def lca_ddm_chain():
    first = pnl.DDM(name="D1", function=pnl.DriftDiffusionAnalytical(drift_rate=0.5))
    second = pnl.DDM(name="D2", function=pnl.DriftDiffusionAnalytical(drift_rate=0.2))
    return comp([first, second]), {"D1": [[1.0], [0.5]]}, 2


# Winners


def winners(inputs=((1.0, -0.5, 0.3, 0.1), (0.2, 0.4, -0.3, 0.9)), **settings):
    return alone(pnl.KWTAMechanism(name="T", input_shapes=4, **settings), [list(row) for row in inputs])


@composition
def winners_by_default():
    return winners()


@composition
def winners_two_of_four():
    return winners(k_value=2, threshold=0.3, ratio=0.4, auto=0.5, hetero=-0.2, clip=[0.1, 0.8])


@composition
def winners_part_of_all():
    return winners(k_value=0.6, threshold=-0.1, ratio=0.2, inhibition_only=False, function=pnl.Linear(slope=1.5))


@composition
def winners_by_average():
    return winners(k_value=3, average_based=True, inhibition_only=False, threshold=0.2)


@composition
def winners_all_and_none():
    nodes = [pnl.KWTAMechanism(name=name, input_shapes=2, k_value=k, matrix=[[0.1, 0.2], [0.3, 0.4]]) for name, k in (("A", 0), ("B", 2))]
    return comp(*nodes), {"A": [[1.0, 0.5], [0.2, -3.0]], "B": [[1.0, 0.5], [0.2, -3.0]]}, 3


# Timers


def timer(trajectory, inputs=((1.0,), (0.5,), (1.0,), (1.5,), (1.0,), (2.0,)), **settings):
    return alone(pnl.TimerMechanism(name="T", trajectory=trajectory, **settings), [list(row) for row in inputs])


@composition
def timer_linear():
    return timer(pnl.LinearTimer, start=0.1, end=0.4, duration=0.3, increment=0.1)


@composition
def timer_accelerating():
    return timer(pnl.AcceleratingTimer, start=1, end=3, duration=2, increment=0.5)


@composition
def timer_decelerating():
    return timer(pnl.DeceleratingTimer, start=1, end=3, duration=2, increment=0.5)


@composition
def timer_asymptotic():
    return timer(pnl.AsymptoticTimer, start=-1, end=-3, duration=3, increment=1)


@composition
def timer_of_each_trial():
    return timer(pnl.LinearTimer(initial=0.2), reset_stateful_function_when=pnl.AtTrialStart(), inputs=((70.0,), (100.0,), (20.0,)))


@composition
def timer_by_itself():
    """It gets no input but its default."""
    steps = {pnl.NAME: "STEPS", pnl.DEFAULT_INPUT: pnl.DEFAULT_VARIABLE}
    own = pnl.TimerMechanism(name="T", start=1, end=3, increment=1, duration=2, input_ports=steps)
    return comp(pnl.ProcessingMechanism(name="P"), own), {"P": [[2.5]]}, 4
