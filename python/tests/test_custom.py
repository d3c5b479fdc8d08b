"""Functions of Python that models call: arguments, outputs, errors, derivatives, threads, processes."""

import concurrent.futures
import copy
import pickle
import shutil
import subprocess
import threading
from pathlib import Path

import mdf_c
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def model(parts, outputs, **default):
    ports = {name: {"default_value": value} for name, value in default.items()}
    node = {"input_ports": ports, **parts, "output_ports": {name: {"value": value} for name, value in outputs.items()}}
    return {"m": {"graphs": {"g": {"nodes": {"n": node}}}}}


def saturate(x, limit=1.0):
    return x / (1 + abs(x) / limit)


def derive_saturate(dy, x, limit):
    below = 1 + abs(x) / limit
    return dy / below**2, np.sum(dy * x * abs(x) / (limit**2 * below**2))


@pytest.fixture
def functions():
    made = mdf_c.Functions()
    made.register("lab::saturate", saturate, derivative=derive_saturate)
    made.register("lab::polar", lambda x, y: (np.hypot(x, y), np.arctan2(y, x)), outputs=["radius", "angle"])
    return made


@pytest.mark.parametrize(
    ("parts", "value", "expected"),
    [
        ({"functions": {"f": {"function": "lab::saturate", "args": {"x": "x", "limit": 2}}}}, "f", [0.5, -1.0]),
        ({"functions": {"f": {"function": "lab::saturate"}}}, "f", [0.4, -2 / 3]),
        ({}, "lab.saturate(x) + 1", [1.4, 1 / 3]),
        ({}, "lab.saturate(x, limit=2)", [0.5, -1.0]),
        ({"functions": {"f": {"function": "lab::polar", "args": {"x": "3.0", "y": "4.0"}}}}, "f[0]", 5.0),
        ({}, "lab.polar(3.0, 4.0)[0]", 5.0),
    ],
)
@pytest.mark.parametrize("steps", [1, 5])
def test_a_model_calls_it(functions, parts, value, expected, steps):
    result = mdf_c.run(model(parts, {"y": value}, x=[2 / 3, -2.0]), functions=functions, steps=steps)
    np.testing.assert_allclose(result["y"], expected, rtol=1e-15)


def test_default_set():
    mdf_c.register_function("labs_default::twice", lambda x: 2 * x)
    assert mdf_c.run(model({}, {"y": "labs_default.twice(3.0)"}))["y"] == 6
    mdf_c.register_function("labs_default::twice", lambda x: 20 * x)
    assert mdf_c.run(model({}, {"y": "labs_default.twice(3.0)"}))["y"] == 60
    assert pickle.loads(pickle.dumps(mdf_c.compile(model({}, {"y": "1"})))).results == ["y"]  # though a lambda is not
    with pytest.raises(mdf_c.MdfNameError, match=r"'labs_default.twice' is not known"):
        mdf_c.run(model({}, {"y": "labs_default.twice(3.0)"}), functions=mdf_c.Functions())


def test_an_exception_is_the_cause_of_the_error(functions):
    def fail(x):
        raise KeyError("no such thing")

    functions.register("lab::fail", fail)
    program = mdf_c.compile(model({"functions": {"f": {"function": "lab::fail", "args": {"x": 1}}}}, {"y": "f"}), functions=functions)
    with pytest.raises(mdf_c.MdfError, match=r"node 'n', function 'f': lab::fail: KeyError: 'no such thing'") as caught:
        program.state().evaluate()
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.__cause__.__traceback__.tb_next.tb_frame is not None


@pytest.mark.parametrize(
    ("function", "outputs", "message"),
    [
        (lambda x: "text", ["output"], "is no array of numbers"),
        (lambda x: 1, ["a", "b"], "it returned int, not a tuple of its 2 outputs"),
        (lambda x: (1, 2, 3), ["a", "b"], "not a tuple of its 2 outputs"),
        (lambda x: 1.5, ["a: int64"], "another type than it was registered with"),
    ],
)
def test_results_that_are_none(functions, function, outputs, message):
    functions.register("lab::f", function, arguments=["x"], outputs=outputs)
    with pytest.raises(mdf_c.MdfError, match=message):
        mdf_c.run(model({}, {"y": "lab.f(1.0)"}), functions=functions)


def test_types_shapes_and_missing_values(functions):
    seen = []

    def look(x, y=None, z=(1, 2)):
        seen.append((x.dtype, x.shape, y, z))
        x += 1  # a copy of its own
        return x

    functions.register("lab::look", look, arguments=["x: float32", "y = None", "z = [1, 2]"])
    result = mdf_c.run(model({}, {"y": "lab.look([[1, 2, 3]])", "x": "x"}, x=1.0), functions=functions)
    assert result["y"].tolist() == [[2, 3, 4]]
    assert seen[0][0] == np.float32 and seen[0][1] == (1, 3) and seen[0][2] is None and seen[0][3].tolist() == [1, 2]


LATE = {  # A runs once B has run twice: in the first step its port holds nothing
    "nodes": {"A": {"output_ports": {"y": {"value": "2.0"}}}, "B": {"output_ports": {"z": {"value": "3.0"}}}},
    "conditions": {
        "node_specific": {"A": {"type": "AfterNCalls", "kwargs": {"dependency": "B", "n": 2, "time_scale": "TimeScale.LIFE"}}},
        "termination": {"environment_state_update": {"type": "AfterNPasses", "kwargs": {"n": 1}}},
    },
}


def test_a_port_that_holds_nothing_is_for_arguments_that_may_be_none(functions):
    functions.register("lab::needs", lambda x: x, arguments=["x: float64"])
    functions.register("lab::may", lambda x=None: 7.0 if x is None else x)
    for call, expected in (("may", [7, 2]), ("needs", None)):
        node = {"graph": LATE, "output_ports": {"o": {"value": f"lab.{call}(A.y)"}}}
        program = mdf_c.compile({"m": {"graphs": {"g": {"nodes": {"N": node}}}}}, functions=functions)
        state = program.state()
        if expected is None:
            with pytest.raises(mdf_c.MdfError, match=r"node 'N', output port 'o': lab::needs: argument 'x' has no value \(None\)"):
                state.evaluate()
            continue
        for value in expected:
            state.evaluate()
            assert state.results()["o"] == value


def test_shapes_beforehand(functions):
    functions.register("lab::like", lambda x: x + 1, shapes="first")
    functions.register("lab::pair", lambda x: np.stack([x, x]), shapes=lambda x: [(x[0], (2, *x[1]))])
    functions.register("lab::lies", lambda x: np.zeros(7), shapes="first")
    assert mdf_c.run(model({}, {"y": "lab.like([1.0, 2.0])"}), functions=functions)["y"].tolist() == [2, 3]
    assert mdf_c.run(model({}, {"y": "lab.pair([1.0, 2.0])"}), functions=functions)["y"].tolist() == [[1, 2], [1, 2]]
    with pytest.raises(mdf_c.MdfError, match=r"output 1 has the shape \(7,\), where \(2,\) was said beforehand"):
        mdf_c.run(model({}, {"y": "lab.lies([1.0, 2.0])"}), functions=functions)


def test_gradient(functions):
    source = {
        "m": {"graphs": {"g": {
            "nodes": {
                "f": {"parameters": {"x": {"value": [1.0, -2.0]}}, "output_ports": {"o": {"value": "x"}}},
                "s": {"input_ports": {"i": {}}, "output_ports": {"q": {"value": "lab.saturate(i, 2.0) * [1.0, 10.0]"}}},
                "g": {"input_ports": {"i": {}}, "parameters": {"d": {"function": "ai.onnx.preview.training::Gradient",
                      "args": {"Inputs": ["i"], "xs": ["o"], "y": "q"}}}, "output_ports": {"d": {"value": "d"}}},
            },
            "edges": {
                "a": {"sender": "f", "sender_port": "o", "receiver": "s", "receiver_port": "i"},
                "b": {"sender": "f", "sender_port": "o", "receiver": "g", "receiver_port": "i"},
            },
        }}}
    }  # fmt: skip
    assert mdf_c.run(source, functions=functions)["d"] == pytest.approx([1 / 1.5**2, 10 / 2**2])


def test_sweeps_in_threads_and_processes(functions):
    source = model({"parameters": {"k": {"value": 1.0}, "y": {"value": "lab.saturate(k, 2.0)"}}}, {"y": "y"})
    functions = mdf_c.Functions()
    functions.register("lab::saturate", saturate)
    values = np.linspace(-3, 3, 40)
    expected = saturate(values, 2.0)
    assert mdf_c.sweep(source, {"k": values}, functions=functions)["y"].ravel() == pytest.approx(expected, rel=1e-15)
    with concurrent.futures.ProcessPoolExecutor(2) as client:
        swept = mdf_c.sweep(source, {"k": values}, functions=functions, client=client)
    assert swept["y"].ravel() == pytest.approx(expected, rel=1e-15)


def test_pickles_and_copies(functions):
    only = mdf_c.Functions()
    only.register("lab::saturate", saturate)
    program = mdf_c.compile(model({}, {"y": "lab.saturate(2.0)"}), functions=only)
    assert copy.copy(only).names == pickle.loads(pickle.dumps(only)).names == ["lab::saturate"]
    again = pickle.loads(pickle.dumps(program)).state()
    again.evaluate()
    assert again.results()["y"] == pytest.approx(2 / 3)


def test_a_program_keeps_its_functions():
    functions = mdf_c.Functions()
    functions.register("lab::f", lambda x: x + 1)
    state = mdf_c.compile(model({}, {"y": "lab.f(1.0)"}), functions=functions).state()
    del functions
    state.evaluate()
    assert state.results()["y"] == 2


def test_many_threads_register_and_run():
    functions = mdf_c.Functions()
    wrong = []

    def work(i):
        functions.register(f"lab::f{i}", lambda x: x + i)
        for _ in range(20):
            if mdf_c.run(model({}, {"y": f"lab.f{i}(1.0)"}), functions=functions)["y"] != 1 + i:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize(
    ("name", "keywords", "error", "message"),
    [
        ("saturate", {}, mdf_c.MdfError, "is no name for a function"),
        ("onnx::Mine", {}, mdf_c.MdfError, "the engine has functions of that domain"),
        ("lab::f", {"arguments": "x"}, TypeError, "sequences of texts"),
        ("lab::f", {"arguments": ["x: nothing"]}, mdf_c.MdfError, "is no argument"),
        ("lab::f", {"shapes": "last"}, ValueError, "shapes must be None, 'first' or a function"),
        (3, {}, TypeError, "must be a text"),
    ],
)
def test_wrong_registrations(name, keywords, error, message):
    with pytest.raises(error, match=message):
        mdf_c.Functions().register(name, saturate, **keywords)


def test_functions_that_are_none():
    functions = mdf_c.Functions()
    with pytest.raises(TypeError, match="a function is needed, not int"):
        functions.register("lab::f", 3)
    with pytest.raises(TypeError, match="is no argument that a model can give"):
        functions.register("lab::f", lambda *x: x)
    with pytest.raises(TypeError, match="functions must be a set mdf_c.Functions"):
        mdf_c.run(model({}, {"y": "1"}), functions={})


@pytest.mark.skipif(
    shutil.which("cc") is None or not (ROOT / "mdf_c" / "mdf.h").exists(), reason="needs a C compiler and the header"
)
def test_plugin(tmp_path):
    library = tmp_path / "mylab.so"
    subprocess.run(
        ["cc", "-std=c11", "-shared", "-fPIC", f"-I{ROOT / 'mdf_c'}", "-o", library, ROOT / "examples/plugin/mylab.c", "-lm"], check=True
    )
    functions = mdf_c.Functions()
    mdf_c.load_plugin(library, functions=functions)
    result = mdf_c.run(ROOT / "examples/plugin/saturate.json", inputs={"drive": [1.0, -4.0, 2.0]}, functions=functions)
    assert result["above"].tolist() == pytest.approx([1 / 6, 0.5])
    with pytest.raises(mdf_c.MdfFileError, match="can not be loaded"):
        functions.load_plugin(tmp_path / "none.so")
