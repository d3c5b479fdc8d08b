"""Looking inside: values in bodies by iteration, and where the time goes."""

import numpy as np
import pytest

import mdf_c


def test_bodies_by_step_and_iteration(examples):
    result = mdf_c.run(examples / "newton_sqrt.json", {"a": 9.0}, 2, trace_bodies=True)
    assert len(result.bodies) == 2
    (call,) = result.bodies[1]["solver"]
    assert (call["operator"], call["body"]) == ("onnx::Loop", "improve")
    assert len(call["iterations"]) == result["iterations"]
    assert [one["inputs"]["n"] for one in call["iterations"]] == list(range(len(call["iterations"])))
    assert call["iterations"][-1]["outputs"]["step"]["better"] == result["x"] == 3.0


def test_nothing_is_kept_unless_it_is_asked_for(examples):
    result = mdf_c.run(examples / "newton_sqrt.json")
    assert result.bodies == [] and result.profile == {}
    with pytest.raises(mdf_c.MdfError, match="before its first evaluation"):
        result.state.inspect(bodies=True)


@pytest.mark.parametrize("plain", [False, True])
def test_times_add_up(examples, plain):
    profile = mdf_c.run(examples / "lif_population.json", steps=20, dt=0.1, profile=True, plain=plain).profile
    assert profile["evaluations"] == 20
    assert sum(place["self_s"] for place in profile["places"]) == pytest.approx(profile["total_s"])
    assert any("lowered" in row["name"] for row in profile["operators"]) != plain
    assert profile["nodes"][0]["calls"] == 20


def test_stacks_for_a_flame_graph(examples):
    state = mdf_c.compile(examples / "newton_sqrt.json", plain=True).state()
    state.inspect(profile=True)
    state.evaluate()
    stacks = [line.rsplit(" ", 1) for line in state.profile_stacks().splitlines()]
    assert "root;solver;onnx::Loop;improve;step;abs" in dict(stacks)
    assert np.isclose(sum(int(time) for _, time in stacks) / 1e9, state.profile()["total_s"], rtol=0.01, atol=1e-6)
