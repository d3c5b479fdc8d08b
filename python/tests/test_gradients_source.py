"""Derivatives of models whose conditions look at values as C source: the same bits as in the engine."""

import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import model_of

import mdf_c

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "random"))
gradient_source = pytest.importorskip("gradient_source", reason="a wheel comes without what makes C of a gradient")

PARAMETERS = ["n.k", "A.k", "A.v"]


def one(kind, **arguments):
    return {"type": kind, "kwargs": arguments}


def threshold(limit):
    return one("Threshold", dependency="A", parameter="v", threshold=limit, comparator=">")


def waiting(condition, ends):
    nodes = {"A": {"parameters": {"k": {"value": 0.7}, "v": {"value": "v * 0.5 + k", "default_initial_value": 0.45}}, "output_ports": {"o": {"value": "v"}}},
             "B": {"input_ports": {"x": {}}, "parameters": {"w": {"value": "w + x * 0.3", "default_initial_value": 0.1}}, "output_ports": {"o": {"value": "w"}}},
             "F": {"parameters": {"q": {"value": "q + 1", "default_initial_value": 0}, "is_finished": {"value": "q >= 2"}}, "output_ports": {"o": {"value": "q"}}},
             "n": {"input_ports": {"x": {}, "z": {}}, "parameters": {"s": {"value": "s * 0.9 + x * z", "default_initial_value": 0.2}, "k": {"value": 1.3}}, "output_ports": {"y": {"value": "s * k"}}}}  # fmt: skip
    edges = {str(i): {"sender": sender, "sender_port": "o", "receiver": receiver, "receiver_port": port} for i, (sender, receiver, port) in enumerate([("A", "B", "x"), ("A", "n", "x"), ("B", "n", "z")])}
    model = model_of(nodes=nodes, edges=edges)
    model["m"]["graphs"]["g"]["conditions"] = {"node_specific": {"n": condition}, "termination": {"environment_state_update": ends}}
    return model


CONDITIONS = [
    threshold(1.1),
    one("Any", dependencies=[threshold(1.5), one("EveryNCalls", dependency="A", n=3)]),
    one("All", dependencies=[threshold(0.9), one("Not", condition=one("AtPass", n=1))]),
    one("WhenFinished", dependency="F"),
    one("WhenFinishedAny", dependencies=["F", "A"]),
    one("NWhen", condition=threshold(0.9), n=2),
]


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("steps", [1, 3])
def test_conditions_that_look_at_values_have_a_form_in_c_where_the_number_of_passes_is_known(condition, steps):
    model = waiting(condition, one("AfterNPasses", n=3))
    value, by = mdf_c.gradient(model, "y", PARAMETERS, steps=steps)()
    expected = [np.asarray(value), *(by[name] for name in PARAMETERS)]
    for got, like in zip(gradient_source.evaluate(model, "y", PARAMETERS, steps, None, "g", expected), expected, strict=True):
        np.testing.assert_array_equal(got, like)


@pytest.mark.parametrize("condition", [*CONDITIONS, one("EveryNCalls", dependency="A", n=2)])
@pytest.mark.parametrize("ends", [one("AllHaveRun"), one("Any", dependencies=[threshold(1.35), one("AfterNPasses", n=6)])])
def test_and_where_values_end_the_passes_with_a_bound_on_these(condition, ends):
    model = waiting(condition, ends)
    free, bounded = (mdf_c.gradient(model, "y", PARAMETERS, steps=2, **others)() for others in ({}, {"max_passes": 20}))
    expected = [np.asarray(free[0]), *(free[1][name] for name in PARAMETERS)]
    for name in PARAMETERS:
        np.testing.assert_array_equal(free[1][name], bounded[1][name])
    for got, like in zip(gradient_source.evaluate(model, "y", PARAMETERS, 2, None, "g", expected, ["--max-passes", "20"]), expected, strict=True):
        np.testing.assert_array_equal(got, like)


def test_passes_that_do_not_end_within_their_bound_are_an_error_in_c_too():
    model = waiting(one("Always"), threshold(5.0))
    with pytest.raises(mdf_c.MdfError, match="zero"):
        mdf_c.gradient(model, "y", PARAMETERS, max_passes=20)()
    with pytest.raises(gradient_source.Refused, match="zero"):
        gradient_source.evaluate(model, "y", PARAMETERS, 1, None, "g", [], ["--max-passes", "20"])
