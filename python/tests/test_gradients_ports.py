"""Derivatives of models whose conditions look at input ports, and of what is given to ports for one run of their node."""

import numpy as np
import pytest
from conftest import model_of

import mdf_c

EDGES = {"e": {"sender": "A", "sender_port": "o", "receiver": "n", "receiver_port": "x"}}
READER = {"input_ports": {"x": {}}, "parameters": {"k": {"value": 1.3}}, "output_ports": {"y": {"value": "x * k"}}}


def threshold(node, port, limit, comparator=">", **others):
    return {"type": "Threshold", "kwargs": {"dependency": node, "parameter": port, "threshold": limit, "comparator": comparator, **others}}


def any_of(*conditions):
    return {"type": "Any", "kwargs": {"dependencies": list(conditions)}}


def gaining(port, value="v + 0.3 + k * numpy.sum(u)"):
    return {"input_ports": {"u": port}, "parameters": {"k": {"value": 0.9}, "v": {"value": value, "default_initial_value": 0.47}}, "output_ports": {"o": {"value": "v"}}}


def scheduled(nodes, of_nodes, edges=EDGES, ends=None, inputs=None):
    model = model_of(nodes=nodes, edges=edges)
    graph = model["m"]["graphs"]["g"]
    graph["conditions"] = {"node_specific": of_nodes}
    if ends is not None:
        graph["conditions"]["termination"] = {"environment_state_update": ends}
    if inputs is not None:
        graph["metadata"] = {"inputs": inputs, "outputs": ["y"]}
    return model


def is_derived(model, of, node, parameters, steps, inputs):
    """As the steps compute it, plain and lowered and after many calls, and as differences have it."""
    plain, fast = (mdf_c.gradient(model, of, list(parameters), steps=steps, plain=plain) for plain in (True, False))
    value, by = plain(inputs=inputs)
    np.testing.assert_array_equal(value, mdf_c.run(model, inputs=inputs, steps=steps).outputs[node][of])
    for _ in range(4):
        again, again_by = fast(inputs=inputs)
        np.testing.assert_array_equal(value, again)
        for name in parameters:
            np.testing.assert_array_equal(by[name], again_by[name])
    for name, at in parameters.items():
        above, below = (np.sum(fast({name: at + h}, inputs=inputs)[0]) for h in (1e-6, -1e-6))
        assert by[name] == pytest.approx((above - below) / 2e-6, rel=1e-7, abs=1e-8)
    return value


def test_a_port_that_an_edge_fills_has_its_default_value_until_its_node_has_run_then_nothing():
    seen = set()
    source = {"parameters": {"v": {"value": "v + 1", "default_initial_value": 0.5}}, "output_ports": {"o": {"value": "v"}}}
    for default in (None, 4.0):
        port = {} if default is None else {"default_value": default}
        node = {"input_ports": {"x": port}, "parameters": {"w": {"value": "w + k * 0.1 + x * 0.01", "default_initial_value": 0.2}, "k": {"value": 1.3}}, "output_ports": {"y": {"value": "w * k"}}}
        for comparator, limit in ((">", 3.0), ("<", 3.0), ("==", 0.0), ("!=", 4.0)):
            model = scheduled({"A": source, "n": node}, {"n": any_of(threshold("n", "x", limit, comparator), threshold("A", "v", 3.2))})
            seen.add(float(is_derived(model, "y", "n", {"A.v": 0.5, "n.k": 1.3}, 3, {})))
    assert len(seen) > 2


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("port", [{}, {"default_value": 2.5}, {"default_value": 0.7, "reduce": "add"}])
def test_what_is_given_is_looked_at_until_it_is_read(port, steps):
    values = set()
    for inputs in ({}, {"A.u": 0.4}, {"A.u": 3.5}):
        for comparator in "<>":
            model = scheduled({"A": gaining(port), "n": READER}, {"n": any_of(threshold("A", "u", 2.0, comparator), threshold("A", "v", 3.0))})
            values.add(float(is_derived(model, "y", "n", {"A.v": 0.47, "A.k": 0.9, "n.k": 1.3}, steps, inputs)))
    assert len(values) > 3


@pytest.mark.parametrize("given", [0.4, 2.6])
def test_what_the_interface_declares_is_there_for_the_whole_evaluation(given):
    at = {"A.v": 0.47, "A.k": 0.9, "n.k": 1.3}
    model = scheduled({"A": gaining({}), "n": READER}, {"n": any_of(threshold("A", "u", 2.0), threshold("A", "v", 3.0))}, inputs=["A.u"])
    is_derived(model, "y", "n", at, 3, {"A.u": given})
    ends = any_of({"type": "All", "kwargs": {"dependencies": [threshold("A", "u", 2.0), {"type": "AfterNPasses", "kwargs": {"n": 2}}]}}, threshold("A", "v", 6.0))
    is_derived(scheduled({"A": gaining({}), "n": READER}, {"n": threshold("A", "u", 0.1)}, ends=ends, inputs=["A.u"]), "y", "n", at, 2, {"A.u": given})


def test_one_element_of_an_array_that_is_given():
    for first in (0.4, 2.6):
        model = scheduled({"A": gaining({"shape": [2]}), "n": READER}, {"n": any_of(threshold("A", "u", 2.0, indices=[0]), threshold("A", "v", 3.0))}, inputs=["A.u"])
        is_derived(model, "y", "n", {"A.v": 0.47, "n.k": 1.3}, 3, {"A.u": np.array([first, 0.3])})


def nested(port, edges):
    """A node whose graph looks at its own input port."""
    inner = {"nodes": {"I": {"input_ports": {"x": port}, "parameters": {"k": {"value": 0.3}, "v": {"value": "v + x * k + 0.2", "default_initial_value": 0.1}}, "output_ports": {"o": {"value": "v"}}},
                       "J": {"input_ports": {"x": {}}, "output_ports": {"y": {"value": "x * 2"}}}},
             "edges": {"e": {"sender": "I", "sender_port": "o", "receiver": "J", "receiver_port": "x"}},
             "conditions": {"node_specific": {"J": any_of(threshold("I", "x", 0.6), threshold("I", "v", 1.0))}}, "metadata": {"inputs": ["x"], "outputs": ["y"]}}  # fmt: skip
    nodes = {"S": {"parameters": {"w": {"value": "w + 0.1", "default_initial_value": 0.3}}, "output_ports": {"o": {"value": "w"}}},
             "n": {"input_ports": {"x": {}}, "graph": inner, "parameters": {"z": {"value": 1.5}}, "output_ports": {"r": {"value": "y * z"}}}}  # fmt: skip
    return model_of(nodes=nodes, edges=edges)


def test_a_graph_within_a_node_looks_at_what_the_node_is_given():
    edge = {"e": {"sender": "S", "sender_port": "o", "receiver": "n", "receiver_port": "x"}}
    at = {"S.w": 0.3, "n.z": 1.5}
    for port in ({}, {"default_value": 0.7}):
        is_derived(nested(port, edge), "r", "n", at, 4, {})
    for given in (0.8, 0.2):
        is_derived(nested({}, {}), "r", "n", at, 4, {"n.x": given})


def test_what_is_given_is_read_once_by_nodes_that_run_several_times():
    for port in ({}, {"default_value": 2.5}, {"type": "float64", "shape": []}):
        for inputs in ({}, {"A.u": 0.4}):
            model = scheduled({"A": gaining(port), "n": READER}, {"n": {"type": "EveryNCalls", "kwargs": {"dependency": "A", "n": 3}}})
            is_derived(model, "y", "n", {"A.v": 0.47, "A.k": 0.9, "n.k": 1.3}, 2, inputs)


def test_and_by_nodes_that_run_until_they_are_finished():
    node = gaining({"default_value": 0.2}) | {"output_ports": {"y": {"value": "v"}}, "metadata": {}}
    node["parameters"]["is_finished"] = {"value": "v > 3"}
    node["metadata"] = {"execute_until_finished": True}
    for inputs in ({}, {"A.u": 0.7}):
        is_derived(model_of(nodes={"A": node}), "y", "A", {"A.v": 0.47, "A.k": 0.9}, 2, inputs)


def within(port, inner_port, conditions=None, outer=None):
    """A node whose graph has an input, in a graph that may run it several times."""
    graph = {"nodes": {"I": {"input_ports": {"x": inner_port}, "parameters": {"k": {"value": 0.3}, "v": {"value": "v + x * k + 0.2", "default_initial_value": 0.1}}, "output_ports": {"y": {"value": "v"}}}}}
    if conditions is not None:
        graph["conditions"] = conditions
    model = model_of(nodes={"n": {"input_ports": {"x": port}, "graph": graph, "parameters": {"z": {"value": 1.5}}, "output_ports": {"r": {"value": "y * z"}}}})
    if outer is not None:
        model["m"]["graphs"]["g"]["conditions"] = outer
    return model


PORTS = [({}, {}), ({"default_value": 2.5}, {}), ({"shape": []}, {}), ({}, {"default_value": 0.7}), ({"default_value": 2.5}, {"default_value": 0.7})]


@pytest.mark.parametrize("port, inner_port", PORTS)
def test_a_graph_within_a_node_is_given_something_or_has_its_default_value(port, inner_port):
    values = {float(is_derived(within(port, inner_port), "r", "n", {"n.z": 1.5}, 3, inputs)) for inputs in ({}, {"n.x": 0.4})}
    assert len(values) == 2


@pytest.mark.parametrize("port, inner_port", PORTS)
def test_what_several_runs_of_such_a_graph_would_not_read_alike_is_refused(port, inner_port):
    twice = {"termination": {"environment_state_update": {"type": "AfterNPasses", "kwargs": {"n": 2}}}}
    for model in (within(port, inner_port, conditions=twice), within(port, inner_port, outer=twice)):
        is_derived(model, "r", "n", {"n.z": 1.5}, 2, {})
        try:
            is_derived(model, "r", "n", {"n.z": 1.5}, 2, {"n.x": 0.4})
        except mdf_c.MdfError as error:
            assert "there are no derivatives with a value given to the port" in str(error)


@pytest.mark.parametrize("reduce", ["add", "multiply", "overwrite"])
@pytest.mark.parametrize("limits", [(1.2, 1.9, 0.4), (9.0, 1.9, 0.1), (1.2, 9.0, 9.0)])
def test_a_port_reduces_what_values_say_that_edges_bring(reduce, limits):
    nodes = {"A": {"parameters": {"k": {"value": 0.37}, "v": {"value": "v + k", "default_initial_value": 0.45}}, "output_ports": {"o": {"value": "v"}}}}
    nodes |= {name: {"input_ports": {"x": {}}, "output_ports": {"o": {"value": f"x * x + {i}"}}} for i, name in enumerate("BCD")}
    nodes["n"] = {"input_ports": {"x": {"reduce": reduce, "default_value": 0.3}}, "parameters": {"k": {"value": 1.3}, "s": {"value": "s * 0.5 + x * k", "default_initial_value": 0.2}}, "output_ports": {"y": {"value": "s"}}}
    edges = {f"{a}{b}": {"sender": a, "sender_port": "o", "receiver": b, "receiver_port": "x"} for a, b in ("AB", "AC", "AD", "Bn", "Cn", "Dn")}
    conditions = {name: threshold("A", "v", limit) for name, limit in zip("BCD", limits)} | {"n": {"type": "EveryNCalls", "kwargs": {"dependency": "A", "n": 1}}}
    model = scheduled(nodes, conditions, edges=edges, ends={"type": "AfterNPasses", "kwargs": {"n": 2}})
    is_derived(model, "y", "n", {"A.v": 0.45, "A.k": 0.37, "n.k": 1.3, "n.s": 0.2}, 3, {})
