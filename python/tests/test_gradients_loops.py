"""gradient, vjp, jvp: through loops whose bodies have places, loops and branches of their own."""

import numpy as np
import pytest
from conftest import model_of

import mdf_c


def derived(model, of, parameter, x, **settings):
    """The gradient of the sum of a result by a parameter, held against differences and against what goes forward."""

    def value(x):
        return np.sum(mdf_c.run(model, parameters={parameter: x})[of])

    wanted, direction = np.zeros_like(x), np.linspace(0.5, 1.5, x.size).reshape(x.shape)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = 1e-6
        wanted[i] = (value(x + step) - value(x - step)) / 2e-6
    got, by = mdf_c.value_and_grad(model, of, [parameter], **settings)
    np.testing.assert_allclose(np.sum(got), value(x), rtol=1e-15)
    np.testing.assert_allclose(by[parameter], wanted, rtol=1e-7, atol=1e-9)
    _, along = mdf_c.jvp(model, of, [parameter], **settings)({parameter: direction})
    np.testing.assert_allclose(np.sum(along), np.sum(wanted * direction), rtol=1e-7, atol=1e-9)


def test_places_of_the_largest_are_whole_numbers_on_the_way_back():
    """A loop keeps what TopK gives for a branch that is run again; the places were kept as real numbers, and took part in the derivatives as if they changed smoothly."""
    largest = {"function": "onnx::TopK", "args": {"X": "s", "K": "numpy.array([2])"}}
    sum_of = {"function": "onnx::ReduceSum", "args": {"data": "k", "keepdims": 0}}
    less = {"function": "onnx::Less", "args": {"A": "a", "B": "numpy.array(2)"}}
    branches = {name: {"nodes": {"n": {"output_ports": {"t": {"value": text}}}}} for name, text in (("then_branch", "s * s[k[0]]"), ("else_branch", "s * 1.5 + s[k[1]]"))}
    chosen = {"function": "onnx::If", "args": {"cond": "l", **branches}}
    parameters = {"top": largest, "k": {"value": "top[1]"}, "a": sum_of, "l": less, "t": chosen}
    body = {"metadata": {"inputs": ["i", "c", "s"], "outputs": ["b.c", "b.t"]}, "nodes": {"b": {"input_ports": {"i": {}, "c": {}, "s": {}}, "parameters": parameters, "output_ports": {"c": {"value": "c"}, "t": {"value": "t"}}}}}
    x = np.array([0.5, 1.25, -0.75])
    f = {"function": "onnx::Loop", "args": {"M": 3, "v_initial": ["x"], "body": body}}
    derived(model_of({"parameters": {"x": {"value": x.tolist()}, "f": f}, "output_ports": {"y": {"value": "f"}}}), "y", "n.x", x)


@pytest.mark.parametrize("runs", [3, "while"])
def test_a_loop_within_begins_with_what_changes_with_nothing(runs):
    """What a state within begins with is a constant of the graph around, and what it becomes is not: nothing is handed back to the constant. A loop of which only a run tells how long it is was refused as if memory had run out."""
    inner = {"metadata": {"inputs": ["j", "d", "p", "q"], "outputs": ["d", "b.q", "b.p"]}, "nodes": {"b": {"output_ports": {"q": {"value": "q * 1.5"}, "p": {"value": "p + q"}}}}}
    again = {"function": "onnx::Loop", "args": {"M": "i + 1", "v_initial": "[s, w]", "body": inner}}
    ports = {"c": {"value": "c" if runs == 3 else "i < 2"}, "s": {"value": "f[0] + 0.25 * f[1]"}}
    body = {"metadata": {"inputs": ["i", "c", "s"], "outputs": ["b.c", "b.s"]}, "nodes": {"b": {"parameters": {"f": again}, "output_ports": ports}}}
    x = np.array([0.5, 1.25])
    f = {"function": "onnx::Loop", "args": {"M": runs if runs == 3 else None, "cond": True, "v_initial": ["x"], "body": body}}
    model = model_of(nodes={"n": {"parameters": {"x": {"value": x.tolist()}, "f": f}, "output_ports": {"y": {"value": "f"}}}})
    model["m"]["graphs"]["g"]["parameters"] = {"w": {"value": [0.75, 2.0]}}
    derived(model, "y", "n.x", x)
