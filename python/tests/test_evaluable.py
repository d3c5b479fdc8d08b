"""EvaluableGraph: the scope of modeci_mdf's own tests of its class, first with dicts, then with modeci_mdf's objects."""

import numpy as np
import pytest
from conftest import DECAY, DOUBLE, model_of

import mdf_c


def evaluated(model, initializer=None, dt=None, **settings):
    graph = mdf_c.EvaluableGraph(model, **settings)
    graph.evaluate(initializer=initializer, time_increment=dt)
    return graph


def value_of(node, initializer=None):
    (port,) = node["output_ports"]
    return evaluated(model_of(node), initializer).enodes["n"].evaluable_outputs[port].curr_value


@pytest.mark.parametrize(
    ("function", "result"),
    [
        ({"function": "linear"}, 6),
        ({"function": "linear", "value": "2 * slope * variable0 + intercept"}, 6),  # the function goes first
        ({"value": "2 * slope * variable0 + intercept"}, 8),
        ({"value": "slope + intercept"}, 6),
    ],
)
@pytest.mark.parametrize(
    "args",
    [
        {"slope": 2, "intercept": 4, "variable0": 1},
        {"slope": 2, "intercept": 4, "variable0": "x"},
        {"slope": "2 * x", "intercept": 4, "variable0": "x"},
        {"slope": 2, "intercept": "2 * slope", "variable0": "x"},
        {"slope": "math.sqrt(4)", "intercept": "numpy.sqrt(16)", "variable0": 1},
    ],
)
def test_arguments_of_functions(function, args, result):
    node = {"input_ports": {"x": {}}, "functions": {"f": {**function, "args": args}}, "output_ports": {"y": {"value": "f"}}}
    assert value_of(node, {"x": 1}) == result


@pytest.mark.parametrize(
    ("parameter", "result"),
    [
        ({"value": "3 + 4"}, 7),
        ({"value": "x + 3"}, 6),
        ({"value": "[x, 4]"}, [3, 4]),
        ({"value": [1, 2]}, [1, 2]),
        ({"value": "a + x"}, [4, 5]),
        ({"value": "a * a"}, [1, 4]),
        ({"value": 0, "conditions": [{"id": "c", "test": "x < 4", "value": 1}]}, 1),
        ({"value": 0, "conditions": [{"id": "c", "test": "x < 1", "value": 1}]}, 0),
        ({"value": 0, "conditions": [{"id": "c", "test": "x == 3 and x <= 5", "value": 1}]}, 1),
        ({"value": 0, "conditions": [{"id": "c", "test": "x > 2", "value": "x + 2"}]}, 5),
    ],
)
def test_parameters(parameter, result):
    node = {"parameters": {"x": {"value": 3}, "a": {"value": [1, 2]}, "p": parameter}, "output_ports": {"y": {"value": "p"}}}
    graph = evaluated(model_of(node))
    for part in (graph.enodes["n"].evaluable_parameters["p"], graph.enodes["n"].evaluable_outputs["y"]):
        np.testing.assert_array_equal(part.curr_value, result)
    np.testing.assert_array_equal(graph.enodes["n"].evaluable_parameters["p"].curr_value, result)


def test_all_parts_of_a_node_can_be_looked_at():
    node = {
        "input_ports": {"x": {}},
        "functions": {"f": {"function": "linear", "args": {"variable0": "x", "slope": 2, "intercept": 1}}},
        "parameters": {"p": {"value": "f + 1"}},
        "output_ports": {"y": {"value": "p"}, "z": {"value": "x"}},
    }
    graph = mdf_c.EvaluableGraph(model_of(node))
    enode = graph.enodes["n"]
    assert enode.evaluable_outputs["y"].curr_value is None
    graph.evaluate(initializer={"x": 5.0, "of no port": 3})
    assert enode.evaluable_inputs["x"].curr_value == 5
    assert enode.evaluable_functions["f"].curr_value == 11
    assert enode.evaluable_parameters["p"].curr_value == 12
    assert enode.get_output("y") == 12 and enode.get_output() == (12, 5) and enode.get_output("nothing") is None
    assert isinstance(enode.get_output("y"), np.generic) and "12" in repr(enode.evaluable_outputs["y"])
    enode.evaluable_inputs["x"].set_input_value(6.0)
    graph.evaluate()
    assert enode.get_output("y") == 14


def test_several_outputs_of_a_function():
    node = {
        "functions": {"f": {"function": "onnx::TopK", "args": {"X": [1.0, 3.0, 2.0], "K": [2]}}},
        "output_ports": {"best": {"value": "f[0]"}, "where": {"value": "f[1]"}},
    }
    found = evaluated(model_of(node)).enodes["n"]
    np.testing.assert_array_equal(found.get_output("best"), [3, 2])
    np.testing.assert_array_equal(found.get_output("where"), [1, 2])
    assert [list(item) for item in found.evaluable_functions["f"].curr_value] == [[3, 2], [1, 2]]


def test_time_goes_on_from_call_to_call():
    graph = mdf_c.EvaluableGraph(model_of(DECAY))
    graph.evaluate()
    assert graph.enodes["n"].get_output() == 1
    for expected in (0.9, 0.81):
        graph.evaluate(time_increment=0.1)
        assert graph.enodes["n"].get_output() == pytest.approx(expected, rel=1e-12)  # one rounding a step


def counter(name):
    return {
        "input_ports": {"in": {}},
        "parameters": {f"count_{name}": {"value": f"count_{name} + 1", "default_initial_value": 0}},
        "output_ports": {"out": {"value": f"count_{name}"}},
    }


def edge(sender, receiver):
    return {"sender": sender, "receiver": receiver, "sender_port": "out", "receiver_port": "in"}


def calls(kind, dependency, n):
    return {"type": kind, "kwargs": {"dependency": dependency, "n": n}}


def scheduled():
    return model_of(
        nodes={name: counter(name) for name in "ABC"},
        edges={"AB": edge("A", "B"), "AC": edge("A", "C")},
        conditions={
            "node_specific": {
                "A": {"type": "Always", "kwargs": {}},
                "B": calls("EveryNCalls", "A", 2),
                "C": calls("EveryNCalls", "A", 3),
            },
            "termination": {"environment_state_update": {"type": "AfterNCalls", "kwargs": {"dependency": "C", "n": 2}}},
        },
    )


EXPECTED_SETS = [{"A"}, {"A"}, {"B"}, {"A"}, {"C"}, {"A"}, {"B"}, {"A"}, {"A"}, {"B", "C"}]


def test_the_scheduler_tells_who_ran():
    graph = evaluated(scheduled())
    assert [{node.id for node in nodes} for nodes in graph.scheduler.execution_list[None]] == EXPECTED_SETS
    assert graph.enodes["A"].evaluable_parameters["count_A"].curr_value == 6
    assert graph.enodes["B"].evaluable_parameters["count_B"].curr_value == 3
    graph.evaluate()
    assert [{node.id for node in nodes} for nodes in graph.scheduler.execution_list[None]][: len(EXPECTED_SETS)] == EXPECTED_SETS
    assert graph.order_of_execution[:3] == ["A", "A", "B"]
    assert [{node.id for node in layer} for layer in graph.scheduler.consideration_queue] == [{"A"}, {"B", "C"}]


def test_verbose_is_off_by_default(capsys):
    evaluated(model_of(DOUBLE))
    assert capsys.readouterr().out == ""
    evaluated(model_of(DOUBLE), verbose=True)
    assert "'n'" in capsys.readouterr().out


def test_array_formats():
    graph = mdf_c.EvaluableGraph(model_of(DOUBLE))
    graph.evaluate(array_format="numpy")
    with pytest.raises(ValueError, match="tensorflow"):
        graph.evaluate(array_format="tensorflow")


# ---------------------------------------------------------------- with modeci_mdf


@pytest.fixture(name="mdf")
def fixture_mdf():
    return pytest.importorskip("modeci_mdf.mdf")


def make_scheduled(mdf):
    def node(name):
        return mdf.Node(
            id=name,
            input_ports=[mdf.InputPort(id="in")],
            parameters=[mdf.Parameter(id=f"count_{name}", value=f"count_{name} + 1", default_initial_value=0)],
            output_ports=[mdf.OutputPort(id="out", value=f"count_{name}")],
        )

    a, b, c = (node(name) for name in "ABC")
    edges = [mdf.Edge(id=f"A{n}", sender="A", receiver=n, sender_port="out", receiver_port="in") for n in "BC"]
    twice = mdf.Condition(type="EveryNCalls", kwargs={"dependency": a, "n": 2})
    not_not = mdf.Condition(type="Not", kwargs={"condition": mdf.Condition(type="Not", kwargs={"condition": twice})})
    conditions = mdf.ConditionSet(
        node_specific={"B": not_not, "C": mdf.Condition(type="EveryNCalls", kwargs={"dependency": a, "n": 3})},
        termination={"environment_state_update": mdf.Condition(type="AfterNCalls", kwargs={"dependency": c, "n": 2})},
    )
    return mdf.Model(id="m", graphs=[mdf.Graph(id="g", nodes=[a, b, c], edges=edges, conditions=conditions)])


@pytest.mark.parametrize("reads", ("graph", "model", "conditions read from a file"))
def test_empty_lists_are_values_of_parameters(mdf, reads):
    model = make_scheduled(mdf)
    graph = model.graphs[0]
    graph.nodes[0].parameters.append(mdf.Parameter(id="empty", value=[]))
    graph.nodes[0].output_ports.append(mdf.OutputPort(id="nothing", value="empty"))
    if reads == "conditions read from a file":  # of which to_dict fails
        graph.conditions = mdf.Model.from_dict(model.to_dict()).graphs[0].conditions
    result = mdf_c.run(graph if reads == "graph" else model)
    assert result.outputs["A"]["nothing"].shape == (0,)


def test_graphs_of_modeci_mdf(mdf):
    first = make_scheduled(mdf)
    second = mdf.Model.from_dict(first.to_dict())
    for model in (first, second):
        graph = evaluated(model.graphs[0])
        assert [{node.id for node in nodes} for nodes in graph.scheduler.execution_list[None]] == EXPECTED_SETS
        assert graph.enodes["A"].node is model.graphs[0].nodes[0] and graph.graph is model.graphs[0]
        assert graph.root_nodes == ["A"] and [node.id for node in graph.output_nodes] == ["B", "C"]
        assert graph.enodes["A"].evaluable_parameters["count_A"].parameter.id == "count_A"
    assert evaluated(first).enodes["A"].get_output() == 6


def test_a_graph_that_psyneulink_made_is_read_in_its_dialect(mdf):
    count = mdf.Parameter(id="count", value="count + given", default_initial_value=0)
    node = mdf.Node(
        id="n",
        input_ports=[mdf.InputPort(id="given", shape="()", type="float64")],
        parameters=[count],
        output_ports=[mdf.OutputPort(id="y", value="count")],
    )
    twice = {"environment_state_update": mdf.Condition(type="AfterNCalls", kwargs={"dependency": node, "n": 2})}
    for metadata, dialect, expected in [
        (None, None, 1.0),  # an input serves the first run only
        ({"type": "Composition", "execute_until_finished": True}, None, 2.0),
        ({"type": "Composition", "execute_until_finished": True}, "reference", 1.0),
        (None, "psyneulink", 2.0),
    ]:
        graph = mdf.Graph(id="g", nodes=[node], conditions=mdf.ConditionSet(termination=twice), metadata=metadata)
        ours = mdf_c.EvaluableGraph(graph, **({} if dialect is None else {"dialect": dialect}))
        ours.evaluate(initializer={"given": 1.0})
        assert ours.enodes["n"].get_output() == expected


def test_the_same_as_modeci_mdf_itself(mdf, examples):
    engine = pytest.importorskip("modeci_mdf.execution_engine")
    utils = pytest.importorskip("modeci_mdf.utils")
    for name, steps, dt in [("fitzhugh_nagumo.yaml", 50, 0.05), ("cooling.yaml", 20, 10.0), ("traffic_light.yaml", 8, None)]:
        graph = utils.load_mdf(str(examples / name)).graphs[0]
        theirs, ours = engine.EvaluableGraph(graph), mdf_c.EvaluableGraph(graph)
        for step in range(steps):
            for evaluable in (theirs, ours):
                evaluable.evaluate(time_increment=dt if step else None)
            for node, enode in theirs.enodes.items():
                for port, part in enode.evaluable_outputs.items():
                    got = ours.enodes[node].evaluable_outputs[port].curr_value
                    np.testing.assert_allclose(got, part.curr_value, rtol=1e-12)  # rounding of sums in another order


def test_a_graph_read_from_a_file_whose_parameters_have_conditions(mdf):
    condition = {"id": "high", "test": "x > 2", "value": "7.0"}
    parameters = [mdf.Parameter(id="x", value=3), mdf.Parameter(id="p", value=0.5, conditions=[condition])]
    node = mdf.Node(id="n", parameters=parameters, output_ports=[mdf.OutputPort(id="y", value="p")])
    graph = mdf.Graph(id="g", nodes=[node])
    assert evaluated(graph).enodes["n"].get_output() == 7
    assert evaluated(mdf.Model(id="m", graphs=[graph])).enodes["n"].get_output() == 7


def test_conditions_are_read_as_graph_schedulers(mdf):
    scheduler = pytest.importorskip("graph_scheduler")
    model = make_scheduled(mdf)
    graph = mdf_c.EvaluableGraph(model.graphs[0])
    nodes = {node.id: node for node in model.graphs[0].nodes}
    read = graph.parse_condition(mdf.Condition(type="EveryNCalls", kwargs={"dependency": "A", "n": 2}))
    assert isinstance(read, scheduler.EveryNCalls) and "A" in str(read.args[0])
    read = graph.parse_condition({"type": "All", "kwargs": {"dependencies": [{"type": "Always", "kwargs": {}}]}})
    assert isinstance(read, scheduler.All)
    assert isinstance(graph.scheduler.conditions[nodes["B"]], scheduler.Not)
    assert scheduler.TimeScale.ENVIRONMENT_STATE_UPDATE in graph.scheduler.termination_conds
    threshold = mdf.Condition(type="Threshold", dependency="A", parameter="count_A", threshold=5, comparator=">=")
    assert isinstance(graph.parse_condition(threshold), scheduler.Threshold)
    with pytest.raises(ValueError, match="Sometimes"):
        graph.parse_condition({"type": "Sometimes", "kwargs": {}})
    with pytest.raises(ValueError):
        graph.parse_condition({"type": "Threshold", "kwargs": {"threshold": 1}})
    with pytest.raises(TypeError):
        graph.parse_condition(3)


@pytest.mark.parametrize(("indices", "result"), [((0,), [5, 6]), ((1,), [4, 5])])
@pytest.mark.parametrize(("dependency", "parameter"), [("A", "out"), ("A", "p"), ("B", "out")])
def test_thresholds_in_arrays(mdf, dependency, parameter, indices, result):
    grows = mdf.Parameter(id="p", value="[p[0] + 1, p[1] + 1]", default_initial_value=np.array([0, 1]))
    a = mdf.Node(id="A", parameters=[grows], output_ports=[mdf.OutputPort(id="out", value="p", shape=(2,))])
    b = mdf.Node(
        id="B", input_ports=[mdf.InputPort(id="in", shape=(2,))], output_ports=[mdf.OutputPort(id="out", value="in", shape=(2,))]
    )
    threshold = mdf.Condition(
        type="Threshold", dependency=dependency, parameter=parameter, threshold=5, comparator=">=", indices=indices
    )
    both = mdf.Condition(type="And", dependencies=[threshold, mdf.Condition(type="JustRan", dependency="B")])
    graph = mdf.Graph(
        id="g",
        nodes=[a, b],
        edges=[mdf.Edge(id="e", sender="A", receiver="B", sender_port="out", receiver_port="in")],
        conditions=mdf.ConditionSet(termination={"environment_state_update": both}),
    )
    np.testing.assert_array_equal(evaluated(graph).enodes["B"].get_output(), result)
