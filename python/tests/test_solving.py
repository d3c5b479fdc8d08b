"""Methods for time derivatives through Python: docs/time.md."""
import math

import numpy as np
import pytest

import mdf_c

DECAY = {"m": {"graphs": {"g": {"nodes": {"n": {
    "parameters": {"rate": {"value": 1.0}, "x": {"default_initial_value": 1.0, "time_derivative": "-rate * x"}},
    "output_ports": {"o": {"value": "x"}}}}}}}}


@pytest.mark.parametrize("method, error", [("euler", 2e-2), ("exponential_euler", 1e-15), ("heun", 1e-3), ("rk4", 1e-6), ("dopri5", 1e-7)])
def test_methods(method, error):
    result = mdf_c.run(DECAY, steps=11, dt=0.1, method=method)
    assert abs(result.results["o"] - math.exp(-1)) < error


def test_tolerance():
    errors = [abs(mdf_c.run(DECAY, steps=3, dt=0.5, method="dopri5", rtol=t, atol=t).results["o"] - math.exp(-1)) for t in (1e-3, 1e-6, 1e-10)]
    assert errors[0] < 1e-3 and errors[1] < 1e-6 and errors[2] < 1e-10


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_sweep(method):
    """Side by side where steps are the same, one by one where each instance takes its own: the bits of runs by themselves."""
    rates = np.linspace(0.1, 3, 37)
    swept = mdf_c.sweep(DECAY, {"n.rate": rates}, steps=21, dt=0.1, every=1, method=method, progress=False).outputs["n.o"]
    for rate, row in zip(rates, swept):
        assert (mdf_c.run(DECAY, steps=21, dt=0.1, record=True, method=method, parameters={"n.rate": float(rate)}).trace["n.o"] == row).all()


@pytest.mark.parametrize("method", ["heun", "rk4", "exponential_euler"])
def test_gradient(method):
    """A fixed step is code as any other: derivatives over the steps are those of what it computes."""
    def value(rate):
        return float(mdf_c.run(DECAY, steps=11, dt=0.1, method=method, parameters={"n.rate": rate}).results["o"])

    result, by = mdf_c.value_and_grad(DECAY, "o", ["n.rate"], steps=11, dt=0.1, method=method)
    assert float(result) == value(1.0)
    assert abs(float(by["n.rate"]) - (value(1 + 1e-5) - value(1 - 1e-5)) / 2e-5) < 1e-8


COUPLED = [("numpy.array([10.0 * (y[1] - y[0]), y[0] * (2.0 - y[2]) - y[1], y[0] * y[1] - 2.5 * y[2]])", [1.0, 0.5, 2.0]),
           ("[y[1], -4.0 * y[0] - 0.5 * y[1]]", [1.0, 2.0]),
           ("numpy.matmul(numpy.array([[-2.0, 0.5], [1.0, -1.0]]), y) - y * y", [[1.0, 0.5], [2.0, 1.0]]),
           ("numpy.concatenate((y[1:], y[:1])) - 3.0 * y", [1.0, 0.5, 2.0, 3.0]),
           ("1.0 - 0.5 * y * y", [[1.0, 0.5], [2.0, 1.0]]),
           ("numpy.sum(y) - 1.0", [1.0, 0.5, 2.0]),
           ("0.0 - y", [])]


@pytest.mark.parametrize("slope, start", COUPLED)
def test_exponential_euler_of_arrays(slope, start):
    """Each element goes on by how its own slope changes with itself, whatever the others do; and all of it is lowered."""
    model = {"m": {"graphs": {"g": {"nodes": {"n": {
        "parameters": {"y": {"default_initial_value": start, "time_derivative": slope}}, "output_ports": {"o": {"value": "y"}}}}}}}}

    def slopes(y):
        return np.asarray(eval(slope, {"numpy": np, "y": y}), dtype=float) + np.zeros_like(y)

    y = np.array(start, dtype=float)
    for _ in range(5):
        factors, k = np.zeros_like(y), slopes(y)
        for i in np.ndindex(y.shape):
            off = np.zeros_like(y)
            off[i] = 1e-6
            factors[i] = (slopes(y + off)[i] - slopes(y - off)[i]) / 2e-6
        factors = np.where(factors == 0, 1e-12, factors)
        y = y + k * np.expm1(0.05 * factors) / factors
    state = mdf_c.compile(model, method="exponential_euler").state()
    for step in range(6):
        state.evaluate(dt=None if step == 0 else 0.05)
    assert np.allclose(state.output("n", "o"), y, rtol=1e-8, atol=1e-8)
    assert "step by step" not in state.explain()


SPIRAL = {"m": {"graphs": {"g": {"nodes": {"n": {
    "input_ports": {"push": {"default_value": 0.25}},
    "parameters": {
        "W": {"value": [[-0.4, 1.1], [-0.9, 0.2]]},
        "x0": {"value": [0.7, -0.2]},
        "x": {"default_initial_value": "2.0 * x0", "time_derivative": "numpy.tanh(numpy.matmul(W, x)) * back + push"},
        "back": {"value": "1.0 / (1.0 + numpy.sum(x * x))"}},
    "output_ports": {"o": {"value": "x * back"}}}}}}}}


@pytest.mark.parametrize("method", ["cvode_adams", "cvode_bdf"])
def test_sensitivities_beside_what_is_kept(method):
    """An output that counts evaluations has no derivative, which is no matter where others are asked for."""
    model = {"m": {"graphs": {"g": {"nodes": {"n": {
        "parameters": {"r": {"value": 0.7}, "x": {"default_initial_value": 1.0, "time_derivative": "-r * x"}, "k": {"default_initial_value": 0, "value": "k + 1"}},
        "output_ports": {"k": {"value": "k"}, "x": {"value": "x"}, "twice": {"value": "2.0 * x"}}}}}}}}
    of = mdf_c.forward_sensitivities(model, ["twice", "x"], ["n.r"], steps=3, dt=0.5, method=method, rtol=1e-9, atol=1e-11)
    values, by = of({"n.r": 0.7})
    times = np.array([0.0, 0.5, 1.0])
    assert np.allclose(values["twice"], 2 * np.exp(-0.7 * times), atol=1e-7)
    assert np.allclose(by["twice"]["n.r"], -2 * times * np.exp(-0.7 * times), atol=1e-6)
    assert np.allclose(by["x"]["n.r"], -times * np.exp(-0.7 * times), atol=1e-6)
    with pytest.raises(ValueError, match="it keeps a value from one evaluation to the next"):
        mdf_c.value_and_grad(model, "k", ["n.r"], steps=3, dt=0.5, method=method)


@pytest.mark.parametrize("method", ["cvode_adams", "cvode_bdf"])
def test_sensitivities(method):
    """CVODES solves for derivatives beside the states: those of fine fixed steps, and the value has the bits of a run."""
    of = ["n.W", "n.x0"]
    exact = mdf_c.value_and_grad(SPIRAL, "o", of, steps=801, dt=0.005, method="rk4", inputs={"push": 0.1})[1]
    errors = []
    for tolerance in (1e-5, 1e-10):
        settings = {"steps": 11, "dt": 0.4, "method": method, "rtol": tolerance, "atol": tolerance, "inputs": {"push": 0.1}}
        value, by = mdf_c.value_and_grad(SPIRAL, "o", of, **settings)
        np.testing.assert_array_equal(value, mdf_c.run(SPIRAL, **settings).results["o"])
        assert [np.shape(by[name]) for name in of] == [(2, 2), (2,)]
        errors.append(max(np.abs(by[name] - exact[name]).max() for name in of))
    assert errors[0] < 3e-3 and errors[1] < 1e-7


def test_sensitivities_of_the_first_value():
    value, by = mdf_c.value_and_grad(SPIRAL, "o", ["n.x0", "n.W"], method="cvode_bdf")
    expected = mdf_c.value_and_grad(SPIRAL, "o", ["n.x0", "n.W"])
    np.testing.assert_array_equal(value, expected[0])
    np.testing.assert_allclose(by["n.x0"], expected[1]["n.x0"], rtol=1e-13)
    assert not by["n.W"].any()


def test_sensitivities_that_there_are_not():
    ball = {"m": {"graphs": {"g": {"nodes": {"n": {
        "parameters": {"x": {"default_initial_value": 1.0, "time_derivative": -1.0, "conditions": [{"id": "up", "test": "x < 0", "value": 1.0}]}},
        "output_ports": {"o": {"value": "x"}}}}}}}}
    with pytest.raises(mdf_c.MdfError, match="no derivatives of a solution by cvode_bdf here: events change states"):
        mdf_c.value_and_grad(ball, "o", ["n.x"], steps=3, dt=0.1, method="cvode_bdf")
    with pytest.raises(mdf_c.MdfError, match="it has gradients, no other products"):
        mdf_c.jvp(DECAY, "o", ["n.rate"], steps=3, dt=0.1, method="cvode_bdf")
    plain = {"m": {"graphs": {"g": {"nodes": {"n": {"parameters": {"a": {"value": 2.0}, "n": {"value": "n + a"}}, "output_ports": {"o": {"value": "n"}}}}}}}}
    assert mdf_c.value_and_grad(plain, "o", ["n.a"], steps=3, dt=0.1, method="cvode_bdf")[1]["n.a"] == 3


RELAY = {"m": {"graphs": {"g": {"nodes": {"n": {
    "parameters": {"side": {"value": 1.0}, "x": {"default_initial_value": 1.0, "time_derivative": "-x + numpy.where(x > side - 2.0, -2.0, 1.0)"}},
    "output_ports": {"o": {"value": "x"}}}}}}}}


@pytest.mark.parametrize("method", ["dopri5", "cvode_adams", "cvode_bdf"])
def test_slopes_that_lead_back_to_a_jump(method):
    """An error in runs and sweeps; the instance by which nothing slides is solved."""
    settings = {"steps": 2, "dt": 20.0, "method": method}
    with pytest.raises(mdf_c.MdfError, match="lead back to the jump from either of its sides"):
        mdf_c.run(RELAY, **settings)
    with pytest.raises(mdf_c.MdfError, match="lead back to the jump from either of its sides"):
        mdf_c.sweep(RELAY, {"n.side": [9.0, 1.0]}, progress=False, **settings)
    assert mdf_c.sweep(RELAY, {"n.side": [9.0, 8.0]}, progress=False, **settings).outputs["n.o"] == pytest.approx([1, 1], abs=1e-5)


def test_a_limit_of_steps():
    with pytest.raises(mdf_c.MdfError, match="more steps in one evaluation than the step limit allows"):
        mdf_c.run(DECAY, steps=2, dt=10.0, method="dopri5", step_limit=5)
    assert mdf_c.run(DECAY, steps=2, dt=10.0, method="dopri5", step_limit=500).results["o"] < 1e-4


def test_refused():
    with pytest.raises(mdf_c.MdfError, match="no derivatives over the steps of a graph with a method that chooses its steps"):
        mdf_c.value_and_grad(DECAY, "o", ["n.rate"], steps=11, dt=0.1, method="dopri5")
    with pytest.raises(ValueError, match="method must be one of euler, exponential_euler, heun, rk4, dopri5, cvode_adams, cvode_bdf, not 'rk5'"):
        mdf_c.run(DECAY, method="rk5")
    for name in ("rtol", "atol", "max_step"):
        with pytest.raises(ValueError, match=f"{name} must be a number above 0"):
            mdf_c.run(DECAY, method="dopri5", **{name: -1.0})
