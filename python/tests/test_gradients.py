"""gradient, value_and_grad: derivatives by parameters, of one step and of many."""

import pickle
import weakref
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


def test_calls_take_turns_in_one_state_which_forgets(examples):
    neuron = mdf_c.gradient(examples / "fitzhugh_nagumo.yaml", "V", ["membrane.current", "membrane.a"], steps=50, dt=0.05)
    value, by = neuron()
    state = neuron._idle[0]
    assert neuron({"membrane.a": 0.9})[0] != value
    with pytest.raises(mdf_c.MdfError):
        neuron({"membrane.a": [1.0, 2.0]})
    for _ in range(4):  # lowered from the third on; parameters of earlier calls are forgotten
        again, derived = neuron()
        assert again == value
        assert derived == by
    assert len(neuron._idle) == 1
    assert neuron._idle[0] is not state  # a state in which a call failed is not used again


def test_a_gradient_with_an_idle_state_ends_when_nobody_refers_to_it():
    gradient = mdf_c.gradient(rnn(), "last", ["cell.w"])
    gradient()
    ended = weakref.ref(gradient)
    del gradient
    assert ended() is None


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


def test_parameters_of_a_graph_within_a_node_are_derived_by():
    inner = {"c": {"input_ports": {"x": {}}, "parameters": {"w": {"value": 0.7}, "s": {"value": "s * w + x", "default_initial_value": 0.1}}, "output_ports": {"o": {"value": "s * s"}}}}
    node = {"input_ports": {"x": {}}, "nodes": inner, "output_ports": {"y": {"value": "c.o"}}}
    model = model_of(node)
    gradient = mdf_c.gradient(model, "y", ["c.w", "c.s"], steps=6)
    value, by = gradient(inputs={"x": 0.4})
    assert value == mdf_c.run(model, inputs={"x": 0.4}, steps=6).outputs["n"]["y"]
    for name, at in (("c.w", 0.7), ("c.s", 0.1)):
        above, below = (gradient({name: at + h}, inputs={"x": 0.4})[0] for h in (1e-5, -1e-5))
        assert by[name] == pytest.approx((above - below) / 2e-5, rel=1e-8)


def test_what_can_not_be_derived_is_refused():
    with pytest.raises(mdf_c.MdfNameError, match="no result or output port 'lst'.*did you mean 'last'"):
        mdf_c.value_and_grad(rnn(), "lst", ["cell.w"])
    with pytest.raises(mdf_c.MdfNameError, match="no parameter is called 'cell.v'"):
        mdf_c.gradient(rnn(), "last", ["cell.v"])
    with pytest.raises(TypeError, match="not the text"):
        mdf_c.gradient(rnn(), "last", "cell.w")
    with pytest.raises(ValueError, match="at least 1"):
        mdf_c.gradient(rnn(), "last", ["cell.w"], steps=0)


def accumulator(threshold):
    """Gains until it has passed a threshold; then a node reads it. How many passes that takes hangs on the parameters."""
    nodes = {"A": {"parameters": {"k": {"value": 0.7}, "u": {"value": "u + k", "default_initial_value": 0.5}}, "output_ports": {"o": {"value": "u"}}},
             "n": {"input_ports": {"x": {}}, "output_ports": {"y": {"value": "x * x"}}}}
    passed = {"type": "Threshold", "kwargs": {"dependency": "A", "parameter": "u", "threshold": threshold, "comparator": ">"}}
    edges = {"e": {"sender": "A", "sender_port": "o", "receiver": "n", "receiver_port": "x"}}
    return {"m": {"graphs": {"g": {"nodes": nodes, "edges": edges, "conditions": {"node_specific": {"n": passed}}}}}}


def test_conditions_that_look_at_values_are_asked_again_for_other_parameters():
    gradient = mdf_c.gradient(accumulator(2.0), "y", ["A.k", "A.u"])
    for k, n in ((0.7, 3), (0.1, 15), (5.0, 1)):
        value, by = gradient({"A.k": k})
        assert value == pytest.approx((0.5 + n * k) ** 2)
        assert by["A.k"] == pytest.approx(2 * n * (0.5 + n * k))
        assert by["A.u"] == pytest.approx(2 * (0.5 + n * k))
    with pytest.raises(mdf_c.MdfError, match="zero"):  # it never ends
        mdf_c.gradient(accumulator(2.0), "y", ["A.k"], max_passes=50)({"A.k": -1.0})


def test_products_by_vectors_are_those_of_the_jacobian_and_the_hessian():
    names = ["cell.w", "cell.x"]
    w, x = (np.array(RNN["cell"]["parameters"][name]["value"]) for name in ("w", "x"))
    rng = np.random.default_rng(0)
    directions = {"cell.w": rng.standard_normal(w.shape), "cell.x": rng.standard_normal(x.shape)}

    def along(h):
        return last(w + h * directions["cell.w"], x + h * directions["cell.x"])

    value, tangent = mdf_c.jvp(rnn(), "last", names)(directions)
    np.testing.assert_allclose(tangent, (along(1e-6) - along(-1e-6)) / 2e-6, atol=1e-9)
    product = mdf_c.vjp(rnn(), "last", names)
    cotangent = np.array([0.3, -1.1])
    _, by = product(cotangent=cotangent)
    assert np.dot(cotangent, tangent) == pytest.approx(sum(np.sum(by[name] * directions[name]) for name in names), rel=1e-12)
    np.testing.assert_array_equal(product()[1]["cell.w"], mdf_c.value_and_grad(rnn(), "last", names)[1]["cell.w"])
    with pytest.raises(mdf_c.MdfError, match="has to have its shape"):
        product(cotangent=[1.0, 2.0, 3.0])
    _, second = mdf_c.hvp(rnn(), "last", names)(directions)
    gradient = mdf_c.gradient(rnn(), "last", names)
    moved = [gradient({"cell.w": w + h * directions["cell.w"], "cell.x": x + h * directions["cell.x"]})[1] for h in (1e-6, -1e-6)]
    for name in names:
        np.testing.assert_allclose(second[name], (moved[0][name] - moved[1][name]) / 2e-6, atol=1e-7)


def test_the_hessian_times_a_vector_is_how_the_gradient_changes():
    nodes = {"n": {"parameters": {"a": {"value": [0.3, -0.4]}, "b": {"value": 0.7}}, "output_ports": {"y": {"value": "numpy.sum(numpy.sin(a * b) * a) * b"}}}}
    directions = {"n.a": np.array([1.0, -0.5]), "n.b": 0.25}
    gradient = mdf_c.gradient(model_of(nodes=nodes), "y", ["n.a", "n.b"])
    _, second = mdf_c.hvp(model_of(nodes=nodes), "y", ["n.a", "n.b"])(directions)
    moved = [gradient({"n.a": np.array([0.3, -0.4]) + h * directions["n.a"], "n.b": 0.7 + h * 0.25})[1] for h in (1e-6, -1e-6)]
    for name in ("n.a", "n.b"):
        np.testing.assert_allclose(second[name], (moved[0][name] - moved[1][name]) / 2e-6, atol=1e-8)


def test_a_direction_of_another_parameter_is_refused_and_products_are_pickled():
    along = pickle.loads(pickle.dumps(mdf_c.jvp(rnn(), "last", ["cell.w"])))
    assert isinstance(along, mdf_c.JacobianVector) and "JacobianVector" in repr(along)
    with pytest.raises(KeyError, match="cell.x"):
        along({"cell.x": 1.0})
    _, tangent = along({})
    np.testing.assert_array_equal(tangent, [0, 0])


def test_many_tangents_are_those_of_single_calls(examples):
    rng = np.random.default_rng(1)
    along = mdf_c.jvp(rnn(), "last", ["cell.w", "cell.x"])
    shapes = {name: np.shape(RNN["cell"]["parameters"][name[5:]]["value"]) for name in along.wrt}
    directions = {name: rng.standard_normal((40, *shape)) for name, shape in shapes.items()}
    moved = {"cell.w": 0.5 * np.array(RNN["cell"]["parameters"]["w"]["value"])}
    value, tangents = along.many(directions, moved)
    assert tangents.shape == (40, 2)
    for i in (0, 17, 39):
        one = along({name: array[i] for name, array in directions.items()}, moved)
        np.testing.assert_array_equal(value, one[0])
        np.testing.assert_array_equal(tangents[i], one[1])
    np.testing.assert_array_equal(along.many({"cell.w": directions["cell.w"]})[1][5], along({"cell.w": directions["cell.w"][5]})[1])
    names = ["membrane.current", "membrane.a", "membrane.b"]
    neuron = mdf_c.jvp(examples / "fitzhugh_nagumo.yaml", "V", names, steps=200, dt=0.05)
    value, jacobian = neuron.many({name: row for name, row in zip(names, np.eye(3))})
    expected, by = mdf_c.value_and_grad(examples / "fitzhugh_nagumo.yaml", "V", names, steps=200, dt=0.05)
    assert value == expected
    np.testing.assert_allclose(jacobian, [by[name] for name in names], rtol=1e-12)
    for wrong in ({}, {"cell.w": 1.0}, {"cell.w": np.zeros((0, 2, 2))}, {"cell.w": np.zeros((3, 2, 2)), "cell.x": np.zeros((2, *shapes["cell.x"]))}):
        with pytest.raises(ValueError, match="one first axis"):
            along.many(wrong)
    with pytest.raises(KeyError, match="cell.v"):
        along.many({"cell.v": [1.0]})


def peak(model, wrt, steps, max_memory):
    state = mdf_c.gradient(model, "y", wrt, steps=steps, graph="g", max_memory=max_memory).state()
    state.evaluate()
    return state.output("gradient", "value"), [state.output("gradient", name) for name in wrt], state.peak_bytes


def test_the_less_memory_the_more_levels_of_loops():
    """Of steps, and of the iterations of a Loop: the same bits, by less memory than two levels take."""
    start = np.linspace(0, 1, 500).tolist()
    state = {"k": {"value": 0.3}, "s": {"default_initial_value": start, "value": "numpy.sin(s + k * 0.01)"}}
    steps = {"m": {"graphs": {"g": {"nodes": {"n": {"parameters": state, "output_ports": {"y": {"value": "numpy.sum(s)"}}}}}}}}
    ports = {"c2": {"value": "c"}, "s2": {"value": "numpy.sin(s + k * 0.001 * i)"}}
    body = {"metadata": {"inputs": ["i", "c", "s"], "outputs": list(ports)}, "nodes": {"m": {"input_ports": {"i": {}, "c": {}, "s": {}}, "output_ports": ports}}}
    repeated = {"function": "onnx::Loop", "args": {"M": 40000, "cond": True, "v_initial": "[s]", "body": "b"}}
    node = {"parameters": {"k": {"value": 0.3}, "s": {"value": start}, "p": repeated}, "output_ports": {"y": {"value": "numpy.sum(p)"}}}
    loop = {"m": {"graphs": {"g": {"nodes": {"n": node}}, "b": body}}}
    for model, n in ((steps, 40000), (loop, 1)):
        two, three = (peak(model, ["n.k", "n.s"], n, bound) for bound in (1 << 30, 5_000_000))
        assert two[0] == three[0]
        for a, b in zip(two[1], three[1]):
            np.testing.assert_array_equal(a, b)
        assert three[2] < (0.8 if model is steps else 1.0) * two[2]


@pytest.mark.parametrize("n", [0, 1, 2, 17, 100])
def test_a_scan_whose_length_is_known_when_it_runs_goes_in_segments(n):
    ports = {"h2": {"value": "numpy.tanh(w * h + x)"}, "o": {"value": "h * x"}}
    body = {"metadata": {"inputs": ["h", "x"], "outputs": list(ports)}, "nodes": {"m": {"input_ports": {"h": {}, "x": {}}, "output_ports": ports}}}
    scan = {"function": "onnx::Scan", "args": {"initial_state_and_scan_inputs": "[w, xs]", "num_scan_inputs": 1, "body": "b"}}
    node = {"input_ports": {"xs": {}}, "parameters": {"w": {"value": [0.3, -0.2]}, "p": scan}, "output_ports": {"y": {"value": "numpy.sum(p[1]) + numpy.sum(p[0])"}}}
    model, xs = {"m": {"graphs": {"g": {"nodes": {"n": node}}, "b": body}}}, np.random.default_rng(n).standard_normal((n, 2))
    free, bounded = (mdf_c.value_and_grad(model, "y", ["n.w"], graph="g", inputs={"xs": xs}, **more) for more in ({}, {"max_memory": 1 << 26}))
    assert free[0] == bounded[0]
    np.testing.assert_array_equal(free[1]["n.w"], bounded[1]["n.w"])


def test_bounded_memory_gives_the_same(examples):
    arguments = examples / "fitzhugh_nagumo.yaml", "V", ["membrane.current", "membrane.a"]
    free, bounded = (mdf_c.value_and_grad(*arguments, steps=500, dt=0.05, **more) for more in ({}, {"max_memory": 1 << 27}))
    assert free[0] == bounded[0]
    assert {name: float(array) for name, array in free[1].items()} == {name: float(array) for name, array in bounded[1].items()}


def test_a_program_has_products_of_its_own():
    program = mdf_c.compile(rnn())
    direction = {"cell.w": np.array([[1.0, 0.5], [-0.5, 0.25]])}
    value, tangent = program.jvp("last", direction)
    np.testing.assert_array_equal(value, mdf_c.run(program).results["last"] if "last" in program.results else value)
    _, by = program.vjp("last", ["cell.w"], [1.0, 0.0])
    assert np.sum(by["cell.w"] * direction["cell.w"]) == pytest.approx(tangent[0], rel=1e-12)
    again = program.jvp("last", direction, parameters={"cell.w": np.zeros((2, 2))})
    assert not np.array_equal(again[1], tangent)


def by_differences(program, at, name, step=1e-5):
    return (program({**at, name: at[name] + step})[0] - program({**at, name: at[name] - step})[0]) / (2 * step)


NOISE = {"n": {"parameters": {"a": {"value": 0.7}, "s": {"value": 0.3}, "x": {"default_initial_value": 0.4, "value": "numpy.tanh(a * x) + numpy.random.normal(a, s)"}},
               "output_ports": {"y": {"value": "x * x"}}}}  # fmt: skip


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 7])
def test_what_is_drawn_is_a_constant_times_its_scale_from_its_place(steps):
    model, at = model_of(nodes=NOISE), {"n.a": 0.7, "n.s": 0.3, "n.x": 0.4}
    program = mdf_c.gradient(model, "y", list(at), steps=steps, seed=5)
    value, by = program(at)
    assert value == mdf_c.run(model, steps=steps, seed=5)["y"]
    for name in at:
        assert by[name] == pytest.approx(by_differences(program, at, name), abs=1e-7)
    assert mdf_c.gradient(model, "y", list(at), steps=steps, seed=5, plain=True)(at)[1] == by


def test_a_loop_keeps_what_it_has_drawn():
    model = model_of(nodes={"n": {"parameters": {"w": {"value": 0.6}, "s": {"value": 0.2}, "x": {"value": [0.1, -0.4, 0.8, 0.3]},
                                                 "p": {"function": "onnx::Scan", "args": {"initial_state_and_scan_inputs": "[w, x]", "num_scan_inputs": 1, "body": "b"}}},
                                  "output_ports": {"y": {"value": "numpy.sum(p[1]) * p[0]"}}}})  # fmt: skip
    model["m"]["graphs"]["b"] = {
        "metadata": {"inputs": ["h", "t"], "outputs": ["h2", "q"]},
        "nodes": {"m": {"input_ports": {"h": {}, "t": {}}, "parameters": {"z": {"value": "numpy.random.uniform(t, 2.0)"}},
                        "output_ports": {"h2": {"value": "numpy.sin(w * h + s * z * h)"}, "q": {"value": "h * z"}}}},
    }  # fmt: skip
    at = {"n.w": 0.6, "n.s": 0.2}
    program = mdf_c.gradient(model, "y", list(at), seed=3)
    value, by = program(at)
    assert value == mdf_c.run(model, seed=3)["y"]
    for name in at:
        assert by[name] == pytest.approx(by_differences(program, at, name), abs=1e-7)
    assert mdf_c.hvp(model, "y", list(at), seed=3)({"n.w": 1.0, "n.s": 0.5}, at)[0] == value


def test_draws_within_a_branch_are_drawn_again():
    model = model_of(nodes={"n": {"parameters": {"w": {"value": 0.6}, "p": {"function": "onnx::If", "args": {"cond": "w > 0", "then_branch": "b", "else_branch": "b"}}},
                                  "output_ports": {"y": {"value": "p * w"}}}})  # fmt: skip
    model["m"]["graphs"]["b"] = {"metadata": {"inputs": [], "outputs": ["q"]}, "nodes": {"m": {"output_ports": {"q": {"value": "w * numpy.random.normal(0.0, 1.0)"}}}}}
    value, by = mdf_c.value_and_grad(model, "y", ["n.w"], graph="g", seed=5)
    assert by["n.w"] == pytest.approx(2 * value / 0.6, rel=1e-14)


def waiting_walk(step, **conditions):
    """Passes until the walk is far enough."""
    node = {"parameters": {"k": {"value": 0.4}, "u": {"value": f"u + {step}", "default_initial_value": 0.0}}, "output_ports": {"y": {"value": "u * k"}}}
    model = model_of(nodes={"n": node})
    ends = {"type": "Threshold", "kwargs": {"dependency": "n", "parameter": "u", "threshold": 1.1, "comparator": ">"}}
    model["m"]["graphs"]["g"]["conditions"] = {"node_specific": conditions, "termination": {"environment_state_update": ends}}
    return model


def test_what_is_drawn_beside_conditions_that_look_at_values_is_drawn_again_in_sweeps_too():
    model = waiting_walk("k + 0.2 * numpy.random.normal(0.0, 1.0)")
    program, along = (make(model, "y", ["n.k"], steps=2, seed=5) for make in (mdf_c.gradient, mdf_c.jvp))
    value, by = program()
    ends = [program({"n.k": 0.4 + step})[0] for step in (1e-6, -1e-6)]
    assert by["n.k"] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-8)
    tangents = along.many({"n.k": [1.0, 2.0, -1.0]})[1]
    np.testing.assert_allclose(tangents, by["n.k"] * [1, 2, -1], rtol=1e-14)


def test_registered_functions_are_derived_beside_conditions_that_look_at_values():
    functions = mdf_c.Functions()
    functions.register("lab::gain", lambda u, k: np.tanh(u) + k, derivative=lambda dy, u, k: [dy * (1 - np.tanh(u) ** 2), dy])
    program = mdf_c.gradient(waiting_walk("lab.gain(u, k)"), "y", ["n.k"], functions=functions)
    value, by = program()
    ends = [program({"n.k": 0.4 + step})[0] for step in (1e-6, -1e-6)]
    assert by["n.k"] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-8)


def test_passes_and_steps_of_such_models_take_bounded_memory():
    start = {"node_specific": {}, "termination": {"environment_state_update": {"type": "All", "kwargs": {"dependencies": [
        {"type": "Threshold", "kwargs": {"dependency": "n", "parameter": "q", "threshold": -1.0, "comparator": ">"}}, {"type": "AfterNPasses", "kwargs": {"n": 2}}]}}}}  # fmt: skip
    state = {"default_initial_value": np.linspace(1, 10, 40).tolist(), "value": "numpy.sin(s) * k + numpy.cos(s * k)"}
    parameters = {"k": {"value": 0.3}, "s": state, "q": {"default_initial_value": 0.0, "value": "q + s[3] * s[3]"}}
    model = model_of(nodes={"n": {"parameters": parameters, "output_ports": {"y": {"value": "s * q"}}}})
    model["m"]["graphs"]["g"]["conditions"] = start
    free, bound, short = (peak(model, ["n.k", "n.s"], steps, memory) for steps, memory in ((4000, 0), (4000, 64 << 20), (1000, 64 << 20)))
    np.testing.assert_array_equal(free[0], bound[0])
    for a, b in zip(free[1], bound[1]):
        np.testing.assert_array_equal(a, b)
    assert bound[2] - short[2] < 300_000


def test_numbers_that_a_loop_within_a_loop_leaves_outlive_its_lowered_form():
    """The first run of the inner loop begins with whole numbers, later ones do not: what it has left is the outer one's by then."""
    inner = {"ww": {"value": "numpy.sin(vv) * k + numpy.cos(vv * k)"}, "uu": {"value": "tt + numpy.cos(vv[0]) * 0.1"}, "dd": {"value": "tt < 0.25"}}
    bodies = {
        "o": {"metadata": {"inputs": ["i", "c", "v", "t"], "outputs": ["d", "w", "u"]}, "nodes": {"m": {"input_ports": {name: {} for name in "icvt"}, "parameters": {
            "p": {"function": "onnx::Loop", "args": {"M": 4, "cond": True, "v_initial": "[v, t]", "body": "b"}}},
            "output_ports": {"w": {"value": "p[0]"}, "u": {"value": "p[1]"}, "d": {"value": "p[1] < 0.25"}}}}},
        "b": {"metadata": {"inputs": ["i", "c", "vv", "tt"], "outputs": ["dd", "ww", "uu"]}, "nodes": {"m": {"input_ports": {name: {} for name in ("i", "c", "vv", "tt")}, "output_ports": inner}}},
    }  # fmt: skip
    parameters = {"k": {"value": 0.3}, "s": {"value": [1, 2, 3]}, "p": {"function": "onnx::Loop", "args": {"cond": True, "v_initial": "[s, 0.0]", "body": "o"}}}
    model = model_of(nodes={"n": {"parameters": parameters, "output_ports": {"y": {"value": "p[1]"}}}})
    model["m"]["graphs"].update(bodies)
    value, by = mdf_c.value_and_grad(model, "y", ["n.k"], graph="g")
    plain, plain_by = mdf_c.value_and_grad(model, "y", ["n.k"], graph="g", plain=True)
    assert value == plain == pytest.approx(0.298253488, rel=1e-8)
    assert by["n.k"] == plain_by["n.k"]


def test_many_conditional_expressions_take_room_by_their_number():
    """Sides of a condition read what is around them; they do not copy it."""

    def conditional(n):
        names = [f"s{i}" for i in range(n)]
        states = {s: {"default_initial_value": 0.1 * (i % 7 - 3), "value": f"{s} * 0.9 + 0.01 * k if {s} > 0 else {s} * 0.8 - 0.02 * k"} for i, s in enumerate(names)}
        node = {"parameters": {"k": {"value": 0.5}, **states}, "output_ports": {"y": {"value": f"numpy.sum([{', '.join(names)}])"}}}
        return {"m": {"graphs": {"g": {"nodes": {"n": node}}}}}

    few, many = (peak(conditional(n), ["n.k"], 10, 1 << 31)[2] for n in (100, 800))
    assert many < 10 * few


COMPREHENSIONS = [
    "sum([x[i] * (i + 1.0) for i in range(3)])",
    "numpy.sum([x[i] * w[j, i] for j in range(2) for i in range(n) if i != j])",
    "sum(v * v for v in [x[0], k, x[1] * k])",
    "numpy.sum([w[i] * numpy.sin(x) for i in range(len(w))])",
    "sum([v * k for v in x])",
    "numpy.sum([[x[i] * x[j] * k for i in range(x.shape[0])] for j in range(n)])",
    "max([x[i] * k for i in range(3)]) + min([abs(a * b) for a, b in [(k, x[1]), (x[0], x[2])]])",
]


@pytest.mark.parametrize("text", COMPREHENSIONS)
def test_comprehensions_of_a_known_number_of_items_are_derived(text):
    at = {"n.k": np.array(1.3), "n.x": np.array([0.5, -0.4, 0.8]), "n.w": np.array([[0.1, 0.2, 0.3], [0.5, -0.4, 0.2]])}
    parameters = {name.removeprefix("n."): {"value": array.tolist()} for name, array in at.items()}
    model = model_of(nodes={"n": {"parameters": {"n": {"value": 3}, **parameters, "h": {"value": text}}, "output_ports": {"y": {"value": "h"}}}})
    program = mdf_c.gradient(model, "y", list(at))
    value, by = program(at)
    np.testing.assert_array_equal(value, mdf_c.run(model)["y"])
    for name, array in at.items():
        for place in np.ndindex(array.shape):
            ends = [program({**at, name: array + sign * 1e-6 * (np.indices(array.shape).T == place).all(-1).T})[0] for sign in (1, -1)]
            assert np.asarray(by[name])[place] == pytest.approx(np.sum(ends[0] - ends[1]) / 2e-6, abs=1e-8)


def test_a_parameter_that_a_comprehension_goes_through_keeps_its_shape():
    model = model_of(nodes={"n": {"parameters": {"x": {"value": [1.0, 2.0]}}, "output_ports": {"y": {"value": "sum([v * v for v in x])"}}}})
    program = mdf_c.gradient(model, "y", ["n.x"])
    np.testing.assert_array_equal(program({"n.x": [3.0, 4.0]})[1]["n.x"], [6.0, 8.0])
    with pytest.raises(mdf_c.MdfError, match="does not have the shape of the model's own"):
        program({"n.x": [3.0, 4.0, 5.0]})


def test_a_comprehension_of_an_unknown_number_of_items_is_refused():
    model = model_of(nodes={"n": {"parameters": {"x": {"value": [1.0, 2.0]}}, "output_ports": {"y": {"value": "sum([v * v for v in x if v > 1])"}}}})
    with pytest.raises(mdf_c.MdfUnsupportedError, match="item by item"):
        mdf_c.gradient(model, "y", ["n.x"])


@pytest.mark.parametrize("text", ["numpy.prod(x)", "numpy.prod(w, axis=0, keepdims=True) * w", "math.prod([x[0], x[1], k])", "numpy.nanprod(w, axis=1)"])
def test_the_hessian_of_a_product_is_right_where_factors_are_zero(text):
    at = {"n.k": np.array(0.7), "n.x": np.array([0.5, -0.4, 0.0, 0.8]), "n.w": np.array([[0.5, -0.4], [0.3, 0.0], [0.2, 0.0]])}
    parameters = {name.removeprefix("n."): {"value": array.tolist()} for name, array in at.items()}
    model = model_of(nodes={"n": {"parameters": parameters, "output_ports": {"y": {"value": f"numpy.sum({text} * k)"}}}})
    _, changes = mdf_c.hvp(model, "y", list(at))({name: np.ones_like(array) for name, array in at.items()}, at)
    program = mdf_c.gradient(model, "y", list(at))
    ends = [program({name: array + sign * 1e-5 for name, array in at.items()})[1] for sign in (1, -1)]
    for name, change in changes.items():
        np.testing.assert_allclose(change, (ends[0][name] - ends[1][name]) / 2e-5, atol=1e-8)


def test_the_hessian_goes_through_max_of_several():
    model = model_of(nodes={"n": {"parameters": {"a": {"value": 0.7}, "b": {"value": 0.3}}, "output_ports": {"y": {"value": "max(a * a, b, 0.1) * a"}}}})
    changes = mdf_c.hvp(model, "y", ["n.a", "n.b"])({"n.a": 1.0})[1]
    assert changes["n.a"] == pytest.approx(6 * 0.7, rel=1e-12)
    assert changes["n.b"] == 0


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("text", ["numpy.tanh(numpy.matmul(s, w) + t)", "numpy.tanh(numpy.matmul(s, w[:, 0]) * s + t)"])
def test_products_by_a_matrix_in_a_loop_are_one_product_behind_it(text, dtype):
    ports = {"o": {"value": text}, "q": {"value": text}}
    body = {"metadata": {"inputs": ["s", "t"], "outputs": list(ports)}, "nodes": {"m": {"input_ports": {"s": {}, "t": {}}, "output_ports": ports}}}
    rng = np.random.default_rng(3)
    at = {"n.w": rng.standard_normal((3, 3)) / 2, "n.s": rng.standard_normal(3)}
    typed = {"metadata": {"type": dtype}} if dtype != "float64" else {}
    parameters = {name.removeprefix("n."): {"value": array.tolist(), **typed} for name, array in at.items()}
    parameters["x"] = {"value": rng.standard_normal((7, 3)).tolist(), **typed}
    parameters["p"] = {"function": "onnx::Scan", "args": {"initial_state_and_scan_inputs": "[s, x]", "num_scan_inputs": 1, "body": "b"}}
    model = {"m": {"graphs": {"g": {"nodes": {"n": {"parameters": parameters, "output_ports": {"y": {"value": "numpy.sum(p[1] * p[1])"}}}}}, "b": body}}}
    value, by = mdf_c.value_and_grad(model, "y", list(at), graph="g")
    w, s = (np.asarray(by[name], dtype=float) for name in at)
    step = {"float64": 1e-6, "float32": 1e-3, "float16": 0.0}[dtype]
    plain = mdf_c.gradient(model, "y", list(at), graph="g", plain=True)()[1]
    np.testing.assert_array_equal(plain["n.w"], by["n.w"])
    for place in np.ndindex(3, 3) if step > 0 else ():
        ends = [mdf_c.value_and_grad(model, "y", ["n.w"], graph="g", parameters={"n.w": at["n.w"] + sign * step * np.outer(np.eye(3)[place[0]], np.eye(3)[place[1]])})[0] for sign in (1, -1)]
        assert w[place] == pytest.approx((float(ends[0]) - float(ends[1])) / (2 * step), rel=2e-2 if dtype == "float32" else 1e-6, abs=1e-2 if dtype == "float32" else 1e-8)
    assert s.shape == (3,)


@pytest.mark.parametrize("text", ["numpy.split(w, 2)[1] * numpy.split(w, 2)[0]", "numpy.array_split(x, 3)[0] * x[1]", "numpy.meshgrid(x, k * x)[1] ** 2", "numpy.split(x, [1, 3])[-1] * k"])
def test_parts_go_back_to_where_they_were_taken_from(text):
    at = {"n.k": np.array(0.7), "n.x": np.array([0.5, -0.4, 0.3, 0.8]), "n.w": np.array([[0.5, -0.4], [0.3, 0.1], [0.2, 0.6], [0.7, 0.9]])}
    parameters = {name.removeprefix("n."): {"value": array.tolist()} for name, array in at.items()}
    model = model_of(nodes={"n": {"parameters": parameters, "output_ports": {"y": {"value": f"numpy.sum({text}) * k"}}}})
    program = mdf_c.gradient(model, "y", list(at))
    by = program()[1]
    for name, array in at.items():
        np.testing.assert_array_equal(mdf_c.gradient(model, "y", [name], plain=True)()[1][name], by[name])
        np.testing.assert_allclose(by[name], differences(lambda moved, name=name: program({name: moved})[0], array), atol=1e-8)


def attention(scores, weights):
    """Two heads of queries for each of keys, whose scores and weights go through bodies that look at parameters."""
    rng = np.random.default_rng(3)
    at = {"n.q": rng.standard_normal((2, 2, 3, 4)), "n.k": rng.standard_normal((2, 1, 5, 4)), "n.v": rng.standard_normal((2, 1, 5, 2)), "n.b": rng.standard_normal((3, 5)), "n.g": np.array(0.7)}
    arguments = {"Q": "q", "K": "k", "V": "v"} | ({"score_mod": "s"} if scores else {}) | ({"prob_mod": "w"} if weights else {})
    parameters = {name[2:]: {"value": value.tolist()} for name, value in at.items()} | {"p": {"function": "ai.onnx.preview::FlexAttention", "args": arguments}}
    model = model_of(nodes={"n": {"parameters": parameters, "output_ports": {"y": {"value": "numpy.sum(p * p)"}}}})
    for name, text in (("s", scores), ("w", weights)):
        if text:
            body = {"input_ports": {"t": {}}, "output_ports": {"u": {"value": text}}}
            model["m"]["graphs"][name] = {"metadata": {"inputs": ["t"], "outputs": ["u"]}, "nodes": {"m": body}}
    return model, at


@pytest.mark.parametrize("scores, weights", [("t * 2 + b", ""), ("", "t * (1 + g * t)"), ("numpy.tanh(t * g) / g + b * g", "t * numpy.cos(b)"), ("numpy.where(b > 0, t, t - 3)", ""), ("b * g + numpy.zeros((2, 2, 1, 1))", "")])
def test_attention_is_derived_through_its_bodies_and_what_they_look_at(scores, weights):
    model, at = attention(scores, weights)
    program = mdf_c.gradient(model, "y", list(at), graph="g")
    value, by = program()
    assert value == mdf_c.run(model, graph="g").outputs["n"]["y"]
    for _ in range(4):
        program()
    again = program()[1]
    direction = {name: np.cos(np.arange(array.size)).reshape(array.shape) for name, array in at.items()}
    second = mdf_c.hvp(model, "y", list(at), graph="g")(direction)[1]
    above, below = (program({name: array + sign * 1e-6 * direction[name] for name, array in at.items()})[1] for sign in (1, -1))
    for name, array in at.items():
        np.testing.assert_array_equal(again[name], by[name])
        np.testing.assert_array_equal(mdf_c.gradient(model, "y", [name], graph="g", plain=True)()[1][name], by[name])
        np.testing.assert_allclose(by[name], differences(lambda moved, name=name: program({name: moved})[0], array), atol=1e-7)
        np.testing.assert_allclose(second[name], (above[name] - below[name]) / 2e-6, atol=1e-6)


def test_what_bodies_of_attention_draw_is_refused():
    model, _ = attention("t + numpy.random.normal(0.0, 1.0) * b", "")
    with pytest.raises(mdf_c.MdfUnsupportedError, match="random"):
        mdf_c.gradient(model, "y", ["n.q"], graph="g")


def test_a_state_that_grows_is_refused_and_said_to_be_why():
    ports = {"t": {"value": "s * w.sum()"}, "v": {"value": "numpy.append(w * 0.5, s[0])"}}
    body = {"metadata": {"inputs": ["i", "c", "s", "w"], "outputs": ["c", "t", "v"]}, "nodes": {"b": {"output_ports": ports}}}
    f = {"function": "onnx::Loop", "args": {"M": 2, "v_initial": ["x", "x"], "body": body}}
    model = model_of(nodes={"n": {"parameters": {"x": {"value": [1.0, 2.0]}, "f": f}, "output_ports": {"y": {"value": "f[1]"}}}})
    with pytest.raises(mdf_c.MdfError, match="a state whose shape changes from one iteration to the next has no derivative"):
        mdf_c.gradient(model, "y", ["n.x"])()


@pytest.mark.parametrize("mean", ["numpy.mean(a[:0])", "onnx::ReduceMean"])
def test_a_mean_of_nothing_changes_with_nothing(mean):
    parameters = {"a": {"value": [1.0, 2.0]}, "none": {"value": "a[:0]"}}
    parameters["m"] = {"value": mean} if mean[0] == "n" else {"function": mean, "args": {"data": "none", "keepdims": 0}}
    value, by = mdf_c.value_and_grad(model_of({"parameters": parameters, "output_ports": {"y": {"value": "m"}}}), "y", ["n.a"])
    assert np.isnan(value)
    np.testing.assert_array_equal(by["n.a"], [0.0, 0.0])


CORNERS = ["numpy.interp(x, [0.3], [2.0])", "numpy.interp(x, [0.3], y[:1], left=y[1])", "numpy.prod(x, ())", "numpy.sum(x, axis=())", "numpy.nanmean(x, axis=())", "numpy.max(x, axis=())"]
CORNERS += [f"numpy.{name}(y[1], axis={axis})" for name in ("max", "min", "sum", "prod") for axis in (0, -1)]


@pytest.mark.parametrize("text", CORNERS)
def test_interpolation_between_one_point_and_reductions_along_no_axes_are_derived(text):
    at = {"n.x": np.array([0.1, 0.5, 0.9]), "n.y": np.array([0.4, -0.7])}
    parameters = {name.removeprefix("n."): {"value": array.tolist()} for name, array in at.items()}
    program = mdf_c.gradient(model_of({"parameters": parameters, "output_ports": {"r": {"value": f"numpy.sum(numpy.sin(numpy.ravel({text})))"}}}), "r", list(at))
    _, by = program(at)
    for name, array in at.items():
        np.testing.assert_allclose(by[name], differences(lambda moved, name=name: program({**at, name: moved})[0], array), atol=1e-8)


@pytest.mark.parametrize("call", ["numpy.std(p)", "numpy.std([p, p], axis=1)", "p.std(ddof=0)", "numpy.nanstd(p)"])
def test_what_does_not_vary_has_a_deviation_with_the_derivative_0(call):
    value, by = mdf_c.value_and_grad(model_of({"parameters": {"p": {"value": [2.0]}}, "output_ports": {"y": {"value": call}}}), "y", ["n.p"])
    assert not value.any() and by["n.p"] == [0.0]


@pytest.mark.parametrize(
    "call, of_other",
    [
        ("numpy.linalg.norm(p, axis=1)", [0.6, 0.8]),
        ("numpy.linalg.norm(p, 3, 1)", [0.4448513517305353, 0.7908468475209517]),
        ("numpy.linalg.norm(p, math.inf, 1)", [0.0, 1.0]),
        ("numpy.hypot(p[:, 0], p[:, 1])", [0.6, 0.8]),
        ("numpy.std(p, axis=1)", [-0.5, 0.5]),
        (("onnx::ReduceL2", {"data": "p", "axes": "[1]"}), [0.6, 0.8]),
        (("onnx::LpNormalization", {"input": "p", "axis": 1, "p": 2}), [0.128, -0.096]),
        (("onnx::LpNormalization", {"input": "p", "axis": 1, "p": 1}), [4 / 49, -3 / 49]),
        (("onnx::LpPool", {"X": "numpy.expand_dims(p, 0)", "p": 2, "kernel_shape": [2]}), [0.6, 0.8]),
        (("onnx::GlobalLpPool", {"X": "numpy.expand_dims(p, 0)", "p": 2}), [0.6, 0.8]),
        (("ai.onnx.ml::Normalizer", {"X": "p", "norm": "L2"}), [0.128, -0.096]),
        (("ai.onnx.ml::Normalizer", {"X": "p", "norm": "MAX"}), [0.25, -0.1875]),
    ],
)
def test_norms_have_the_derivative_0_where_all_is_0(call, of_other):
    """Beside another row, whose derivative is as ever; of what stays a row that of the first item."""
    function, args = call if isinstance(call, tuple) else (None, {})
    parameters = {"p": {"value": [[0.0, 0.0], [3.0, 4.0]]}, "r": {"function": function, "args": args} if function else {"value": call}}
    node = {"parameters": parameters, "output_ports": {"y": {"value": "r[:, 0] if r.shape == p.shape else r"}}}
    _, by = mdf_c.value_and_grad(model_of(node), "y", ["n.p"])
    np.testing.assert_allclose(by["n.p"], [[0.0, 0.0], of_other], rtol=1e-6)


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_state_that_the_result_does_not_hang_on_hands_nothing_back(depth):
    """The root of a negative number, and its derivative, are NaN; 0 times that would be too. In steps, in a loop, in one within it."""
    states = {"s": ("numpy.sqrt(s - x)", 0.5), "t": ("0.9 * t + v", 1.0), "v": ("numpy.sin(v * x)", 2.0)}
    if depth == 0:
        parameters = {"x": {"value": 1.2}, **{name: {"value": text, "default_initial_value": begin} for name, (text, begin) in states.items()}}
        model, result, steps = model_of({"parameters": parameters, "output_ports": {"y": {"value": "t"}}}), "y", 5
    else:
        body = {"metadata": {"inputs": ["i", "c", *states], "outputs": ["c", *states]}, "nodes": {"b": {"output_ports": {name: {"value": text} for name, (text, _) in states.items()}}}}
        if depth == 2:
            again = {"function": "onnx::Loop", "args": {"M": 2, "v_initial": list(states), "body": body}}
            ports = {name: {"value": f"f[{k}]"} for k, name in enumerate(states)}
            body = {"metadata": body["metadata"], "nodes": {"b": {"parameters": {"f": again}, "output_ports": ports}}}
            body["metadata"]["inputs"] = ["i2", "c", *states]
        f = {"function": "onnx::Loop", "args": {"M": 3, "v_initial": [f"numpy.array({begin})" for _, begin in states.values()], "body": body}}
        model, result, steps = model_of({"parameters": {"x": {"value": 1.2}, "f": f}, "output_ports": {"y": {"value": "f[1]"}}}), "y", 1

    def value(x):
        return mdf_c.run(model, steps=steps, parameters={"n.x": x})[result]

    wanted = (value(1.2 + 1e-6) - value(1.2 - 1e-6)) / 2e-6
    got, by = mdf_c.value_and_grad(model, result, ["n.x"], steps=steps)
    assert got == value(1.2)
    np.testing.assert_allclose(by["n.x"], wanted, rtol=1e-7)
    _, along = mdf_c.jvp(model, result, ["n.x"], steps=steps)({"n.x": 1.0})
    np.testing.assert_allclose(along, wanted, rtol=1e-7)


@pytest.mark.parametrize("text", ["numpy.array(x, dtype=int)", "numpy.asarray(x, dtype=int)", "x.astype(int)", "numpy.full(2, x[0], dtype=int)", "numpy.cumsum(x, dtype=int)", "INT64", "BOOL"])
def test_what_is_made_whole_changes_with_nothing_forward_either(text):
    """Steps have the derivative 0, in both directions: forward, the tangent passed through what had been made whole."""
    cast = {"function": "onnx::Cast", "args": {"input": "x", "to": {"INT64": 7, "BOOL": 9}[text]}} if text.isupper() else {"value": text}
    node = {"parameters": {"x": {"value": [1.3, 2.2]}, "w": cast, "y": {"value": "w * 2.5"}}, "output_ports": {"y": {"value": "y"}}}
    model = model_of(node)
    _, by = mdf_c.value_and_grad(model, "y", ["n.x"])
    np.testing.assert_array_equal(by["n.x"], [0.0, 0.0])
    _, along = mdf_c.jvp(model, "y", ["n.x"])({"n.x": [1.0, 1.0]})
    np.testing.assert_array_equal(along, [0.0, 0.0])
