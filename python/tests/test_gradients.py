"""gradient, value_and_grad: derivatives by parameters, of one step and of many."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import model_of

import mdf_c

RNN = {
    "cell": {
        "parameters": {
            "w": {"value": [[0.3, -0.2], [0.1, 0.4]]},
            "x": {"value": [[0.5, -0.4], [0.2, 0.9], [-0.7, 0.1]]},
            "h": {"function": "onnx::Scan", "args": {"initial_state_and_scan_inputs": "[x[0], x]", "num_scan_inputs": 1, "body": "step"}},
        },
        "output_ports": {"last": {"value": "h"}},
    }
}
STEP = {
    "metadata": {"inputs": ["h", "x"], "outputs": ["h2"]},
    "nodes": {"n": {"input_ports": {"h": {}, "x": {}}, "output_ports": {"h2": {"value": "numpy.tanh(numpy.dot(w, h) + x)"}}}},
}


def rnn():
    model = model_of(nodes=RNN)
    model["m"]["graphs"]["step"] = STEP
    return model


def last(w, x):
    h = x[0]
    for row in x:
        h = np.tanh(w @ h + row)
    return h


def differences(function, at, h=1e-6):
    """Central differences; errors of h^2 and 1e-16 / h."""
    result = np.zeros_like(at)
    for i in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[i] = h
        result[i] = (function(at + step).sum() - function(at - step).sum()) / (2 * h)
    return result


def test_a_scan_is_derived_by_what_it_captures_and_what_it_scans():
    value, by = mdf_c.value_and_grad(rnn(), "last", ["cell.w", "cell.x"])
    w, x = (np.array(RNN["cell"]["parameters"][name]["value"]) for name in ("w", "x"))
    np.testing.assert_allclose(value, last(w, x), rtol=1e-15)
    np.testing.assert_allclose(by["cell.w"], differences(lambda v: last(v, x), w), atol=1e-9)
    np.testing.assert_allclose(by["cell.x"], differences(lambda v: last(w, v), x), atol=1e-9)


def test_a_gradient_is_called_with_other_values_by_threads_and_from_a_pickle(examples):
    neuron = mdf_c.gradient(examples / "fitzhugh_nagumo.yaml", "V", ["membrane.current", "membrane.a"], steps=200, dt=0.05)
    currents = [0.5, 0.7, 0.9, 1.1]
    alone = [neuron({"membrane.current": current}) for current in currents]
    again = pickle.loads(pickle.dumps(neuron))
    with ThreadPoolExecutor(4) as pool:
        for expected, got in zip(alone, pool.map(lambda current: again({"membrane.current": current}), currents)):
            assert expected[0] == got[0] and expected[1] == got[1]
    for current, (value, by) in zip(currents, alone):
        run = mdf_c.run(examples / "fitzhugh_nagumo.yaml", steps=200, dt=0.05, parameters={"membrane.current": current})
        assert value == run["V"]
        above, below = (neuron({"membrane.current": current + h})[0] for h in (1e-6, -1e-6))
        assert by["membrane.current"] == pytest.approx((above - below) / 2e-6, rel=1e-6, abs=1e-8)


def test_newton_steps_down_the_gradient_find_a_parameter(examples):
    """What the derivative is for: the cup's first temperature from its last."""
    cooling = mdf_c.gradient(examples / "cooling.yaml", "temperature", ["cup.temperature"], steps=61, dt=10)
    guess = 20.0
    for _ in range(3):
        value, by = cooling({"cup.temperature": guess})
        guess -= (value - 29.15593352235398) / by["cup.temperature"]
    assert guess == pytest.approx(90, abs=1e-9)


def test_inputs_hold_for_all_steps():
    model = model_of(
        {
            "input_ports": {"x": {}},
            "parameters": {"w": {"value": 3.0}, "s": {"default_initial_value": 0.0, "value": "s + w * x"}},
            "output_ports": {"y": {"value": "s"}},
        }
    )
    value, by = mdf_c.value_and_grad(model, "y", ["n.w"], inputs={"x": 2.0}, steps=5)
    assert value == 30 and by["n.w"] == 10


def test_what_can_not_be_derived_is_refused():
    with pytest.raises(mdf_c.MdfNameError, match="no result or output port 'lst'.*did you mean 'last'"):
        mdf_c.value_and_grad(rnn(), "lst", ["cell.w"])
    with pytest.raises(mdf_c.MdfNameError, match="no parameter is called 'cell.v'"):
        mdf_c.gradient(rnn(), "last", ["cell.v"])
    with pytest.raises(TypeError, match="not the text"):
        mdf_c.gradient(rnn(), "last", "cell.w")
    with pytest.raises(ValueError, match="at least 1"):
        mdf_c.gradient(rnn(), "last", ["cell.w"], steps=0)
    model = rnn()
    model["m"]["graphs"]["g"]["conditions"] = {"node_specific": {"cell": {"type": "AtPass", "kwargs": {"n": 0}}}}
    with pytest.raises(mdf_c.MdfUnsupportedError, match="graph with conditions"):
        mdf_c.gradient(model, "last", ["cell.w"])
