"""Exceptions, warnings, interruption, threads."""

import ast
import functools
import inspect
import json
import os
import pickle
import re
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from conftest import DECAY, DOUBLE, ENDLESS, ROOT, model_of

import mdf_c
from mdf_c import _findings, _interrupt
from mdf_c._findings import Findings
from mdf_c._settings import options_of, settings_of

WRONG = '{"m": {"graphs": {"g": {"nodes": {"B": {\n  "output_ports": {"o": {"value": "sinn(1)"}}}}}}}}'


def test_an_error_knows_its_place(tmp_path):
    path = tmp_path / "wrong.json"
    path.write_text(WRONG)
    with pytest.raises(mdf_c.MdfNameError) as caught:
        mdf_c.run(path)
    error = caught.value
    assert (error.file, error.line, error.path) == (str(path), 2, "node 'B', output port 'o'") and error.column > 1
    assert "sinn" in error.message and str(error) == f"{path}:2:{error.column}: {error.path}: {error.message}"
    assert isinstance(error, ValueError)


def test_all_errors_of_a_model_are_there(tmp_path):
    path = tmp_path / "wrong.yaml"
    path.write_text("m: {graphs: {g: {nodes: {n: {parameters: {\n a: {value: 1 + wrong},\n b: {value: a + slpe},\n slope: 1}}}}}}")
    with pytest.raises(mdf_c.MdfNameError) as caught:
        mdf_c.compile(path)
    errors = caught.value.errors
    assert errors[0] is caught.value and [(error.line, error.column, error.end_column) for error in errors] == [(2, 17, 22), (3, 17, 21)]
    assert errors[1].suggestion == "slope" and errors[1].code == "name" and isinstance(errors[1], mdf_c.MdfNameError)
    assert errors[1].source == "    3 |  b: {value: a + slpe},\n      |                 ^~~~"
    copies = pickle.loads(pickle.dumps(caught.value)).errors
    assert [str(copy) for copy in copies] == [str(error) for error in errors]
    assert [str(error) for error in mdf_c.check(path)] == [str(error) for error in errors]


def test_models_of_objects_cite_the_line_of_python():
    expression = "gain * gain + gian"
    model = model_of({"parameters": {"gain": 2, "squared": {"value": expression}}, "output_ports": {"y": {"value": "squared"}}})
    with pytest.raises(mdf_c.MdfNameError) as caught:
        mdf_c.compile(model)
    error = caught.value
    lines = open(__file__).read().splitlines()
    assert error.file == __file__ and lines[error.line - 1].strip() == 'expression = "gain * gain + gian"'
    assert lines[error.line - 1][error.column - 1 : error.end_column - 1] == "gian" and error.path == "node 'n', parameter 'squared'"
    assert "model.json" not in str(error) and "graph 'g', node 'n', parameter 'squared'" in str(error)


def test_models_of_objects_without_a_line():
    model = model_of({"output_ports": {"y": {"value": "".join(["no", "such"])}}})
    with pytest.raises(mdf_c.MdfNameError) as caught:
        mdf_c.compile(model)
    error = caught.value
    assert error.file is None and error.line is None and "json" not in str(error)
    state = mdf_c.compile(model_of({"input_ports": {"x": {}}, "output_ports": {"y": {"value": "".join(["x[", "77]"])}}})).state()
    state.set_input("x", [1.0])
    with pytest.raises(mdf_c.MdfError) as caught:
        state.evaluate()
    assert caught.value.file is None and "json" not in str(caught.value)


def test_a_text_that_stands_twice_in_the_callers_file_is_not_looked_for_in_others():
    models = [model_of({"output_ports": {"y": {"value": "off"}}}), model_of({"output_ports": {"y": {"value": "off"}}})]
    for model in models:  # pytest has "off" once, in what reads its options
        with pytest.raises(mdf_c.MdfNameError) as caught:
            mdf_c.compile(model)
        assert caught.value.file is None


@pytest.mark.parametrize("written, longest", [("'zz + nothing'", 300), ("'zz + '  'nothing'", None), ("'zz \\x2b nothing'", None)])
def test_only_the_statement_that_has_a_text_is_read(tmp_path, monkeypatch, written, longest):
    """To read a long file takes a hundred times as long as to find the text in it; one in pieces is found in all of it."""
    others = "".join(f"def f{i}():\n    'A text.'\n    return [{i}, 'zz + {i}']\n" for i in range(300))
    node = f"{{'output_ports': {{'y': {{'value': {written}}}}}}}"
    text = f"import mdf_c\n{others}def run():\n    return mdf_c.run({{'m': {{'graphs': {{'g': {{'nodes': {{'n': {node}}}}}}}}}}})\n{others}"
    file, space, read, parse = tmp_path / "model.py", {}, [], ast.parse
    file.write_text(text)
    exec(compile(text, str(file), "exec"), space)
    monkeypatch.setattr(ast, "parse", lambda source, *more: read.append(len(source)) or parse(source, *more))
    with pytest.raises(mdf_c.MdfError) as caught:
        space["run"]()
    assert caught.value.file == str(file) and caught.value.line == 903
    assert longest is None or max(read) < longest


def test_an_array_over_time_is_told_how_to_be_given():
    model = model_of({"input_ports": {"x": {}}, "output_ports": {"y": {"value": "math.exp(x)"}}})
    with pytest.raises(mdf_c.MdfError, match=r"pass a list of dicts, inputs=\[{'x': value} for value in ...\]"):
        mdf_c.run(model, {"x": [1.0, 2.0, 3.0]}, steps=3)


def test_check_looks_a_model_over():
    model = model_of({"parameters": {"idle": 1}, "input_ports": {"x": {}}, "output_ports": {"y": {"value": "x"}}})
    assert [finding.code for finding in mdf_c.check(model)] == ["unused-parameter", "unfed-input"]
    assert [finding.code for finding in mdf_c.check(model, inputs=["x"])] == ["unused-parameter"]
    assert mdf_c.check(model_of(DOUBLE), inputs=["x"]) == []


def test_settings_keep_the_list_that_they_are_told_of():
    """The library writes into it when it is called with them."""
    model = mdf_c.load(model_of(DOUBLE))
    options = options_of(settings_of({}, mdf_c.load), Findings(model._origin))
    assert options.diagnostics == options.findings.pointer


def test_errors_survive_pickling():
    with pytest.raises(mdf_c.MdfError) as caught:
        mdf_c.compile(WRONG)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is type(caught.value) and str(copy) == str(caught.value) and copy.line == 2


@pytest.mark.parametrize(
    ("source", "kind", "also"),
    [
        ('{"m": ', mdf_c.MdfSyntaxError, ValueError),
        ("no/such/file.json", mdf_c.MdfFileError, OSError),
        (model_of({"functions": {"f": {"function": "onnx::Ad", "args": {}}}}), mdf_c.MdfNameError, ValueError),
    ],
)
def test_kinds_of_errors(source, kind, also):
    with pytest.raises(kind) as caught:
        mdf_c.compile(source)
    assert isinstance(caught.value, also)


def test_a_state_can_be_used_after_an_error():
    model = model_of({"input_ports": {"x": {}}, "output_ports": {"y": {"value": "x[3]"}}})
    state = mdf_c.compile(model).state()
    state.set_input("x", [1.0, 2.0])
    with pytest.raises(mdf_c.MdfError) as caught:
        state.evaluate()
    assert caught.value.path == "node 'n', output port 'y'"
    state.set_input("x", [1.0, 2.0, 3.0, 4.0])
    state.evaluate()
    assert state.output("n", "y") == 4


def test_warnings_go_through_the_warnings_module():
    model = model_of({**DOUBLE, "output_prots": {}})
    with pytest.warns(mdf_c.MdfWarning, match="output_prots") as caught:
        mdf_c.load(model)
    assert caught[0].message.file is None and caught[0].message.line is None  # of a dict that stands in more than one place
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", mdf_c.MdfWarning)
        with pytest.raises(mdf_c.MdfWarning):
            mdf_c.load(model)


def interrupt_soon():
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()


@pytest.mark.parametrize("steps", [1, 10**12])
def test_ctrl_c_stops_an_evaluation(steps):
    start = time.perf_counter()
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        mdf_c.run(model_of(ENDLESS if steps == 1 else DOUBLE), steps=steps)
    assert time.perf_counter() - start < 30


def test_a_state_can_be_used_after_ctrl_c():
    model = model_of(ENDLESS)
    model["m"]["graphs"]["g"]["nodes"]["n"]["input_ports"]["trips"] = {"default_value": 10**12}
    model["m"]["graphs"]["g"]["nodes"]["n"]["functions"]["f"]["args"]["M"] = "trips"
    state = mdf_c.compile(model).state()
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        state.evaluate()
    state.set_input("trips", 2)
    state.evaluate()
    assert state.output("n", "y") is not None


def test_no_thread_is_made_where_ctrl_c_is_all_that_is_heard(monkeypatch):
    def refuse(*_arguments):
        raise AssertionError("a thread")

    monkeypatch.setattr(_interrupt, "_idle", [])
    monkeypatch.setattr(_interrupt, "start_new_thread", refuse)
    state = mdf_c.compile(model_of(ENDLESS)).state()
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        state.evaluate()
    with pytest.raises(KeyboardInterrupt):  # heard by Python alone again
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        with pytest.raises(AssertionError, match="a thread"):  # its handler runs while the engine does
            state.evaluate()
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_ctrl_c_stops_an_evaluation_within_another_one():
    inner = mdf_c.compile(model_of(ENDLESS)).state()
    heard = []

    def call(x):
        try:
            inner.evaluate()
        except KeyboardInterrupt:
            heard.append(True)
        return x

    functions = mdf_c.Functions()
    functions.register("lab::inner", call)
    node = {"input_ports": {"x": {"default_value": 1.0}}, "functions": {"f": {"function": "lab::inner", "args": {"x": "x"}}}}
    state = mdf_c.compile(model_of({**node, "output_ports": {"y": {"value": "f"}}}), functions=functions).state()
    interrupt_soon()
    state.evaluate()
    assert heard == [True]
    assert state.output("n", "y") == 1


def test_another_thread_can_stop_an_evaluation():
    state = mdf_c.compile(model_of(ENDLESS)).state()
    threading.Timer(0.2, state.interrupt).start()
    with pytest.raises(mdf_c.MdfInterrupted):
        state.evaluate()


def test_the_interpreter_goes_on_while_a_model_is_evaluated():
    state = mdf_c.compile(model_of(ENDLESS)).state()
    caught = []

    def work():
        try:
            state.evaluate()
        except mdf_c.MdfInterrupted as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    turns, end = 0, time.perf_counter() + 0.2
    while time.perf_counter() < end:
        turns += 1
    state.interrupt()
    thread.join(30)
    assert caught and turns > 100  # a lock held all the time would leave one


def test_threads_share_a_program():
    program = mdf_c.compile(model_of(DOUBLE))
    found = {}

    def work(number):
        state = program.state()
        for i in range(200):
            state.set_input("x", float(number * 1000 + i))
            state.evaluate()
        found[number] = (float(state.output("n", "y")), int(state.output("n", "count")))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {i: (2 * (i * 1000 + 199), 200) for i in range(4)}


OPEN = {"input_ports": {"x": {}}, "output_ports": {"y": {"value": "x + 1"}}}


def test_what_a_run_would_quietly_take_is_warned_of():
    def warned(node, *args, **kwargs):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            mdf_c.run(model_of(node), *args, **kwargs)
        assert all(warning.filename == __file__ for warning in caught)
        return [str(warning.message) for warning in caught]

    assert [text for text in warned(OPEN) if "nothing feeds it" in text and "input port 'x'" in text]
    assert warned(OPEN, {"x": 1.0}) == warned(OPEN, {"n.x": 1.0}) == []
    assert warned(OPEN, [{}, {"x": 1.0}], steps=2) == []
    assert [text for text in warned(DECAY, steps=3) if "stands still" in text]
    assert warned(DECAY) == warned(DECAY, steps=3, dt=0.1) == []


def test_a_state_warns_once_of_what_its_evaluations_quietly_take():
    def warned(node, increments, **inputs):
        state = mdf_c.compile(model_of(node)).state()
        state.set_inputs(inputs)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for dt in increments:
                state.evaluate(dt)
        assert all(warning.filename == __file__ for warning in caught)
        return [str(warning.message) for warning in caught]

    (text,) = warned(OPEN, [None] * 4)
    assert "nothing feeds it" in text and "input port 'x'" in text
    assert warned(OPEN, [None] * 4, x=1.0) == []
    (text,) = warned(DECAY, [None] * 4)
    assert "stands still" in text
    assert warned(DECAY, [None]) == warned(DECAY, [None, 0.1, 0.1]) == []
    first, second = warned({**DECAY, "input_ports": {"x": {}}}, [None] * 4)
    assert "nothing feeds it" in first and "stands still" in second


def test_a_function_for_warnings_is_made_where_there_are_some(monkeypatch):
    """Making the first one of a process takes longer than the first evaluation of a small model."""
    monkeypatch.setattr(_findings.Warnings, "handler", property(lambda self: pytest.fail("nobody warns")))
    state = mdf_c.compile(model_of(OPEN)).state()
    state.set_input("x", 1.0)
    state.evaluate()


def test_a_sweep_is_warned_of_as_a_run_is():
    node = {**DECAY, "input_ports": {"x": {}}}
    with pytest.warns(mdf_c.MdfWarning, match="nothing feeds it"):
        mdf_c.sweep(model_of(node), {"v": [1.0]}, progress=False)
    with pytest.warns(mdf_c.MdfWarning, match="stands still"):
        mdf_c.sweep(model_of(node), {"x": [1.0]}, steps=2, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mdf_c.sweep(model_of(node), {"x": [1.0, 2.0]}, steps=2, dt=0.1, progress=False)


def test_a_masked_array_does_not_lose_its_mask():
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    for given in (masked, [masked], {"a": masked}):
        with pytest.raises(TypeError, match="masked"):
            mdf_c.run(model_of(OPEN), {"x": given})
    with pytest.raises(TypeError, match="masked"):
        mdf_c.run(model_of({"parameters": {"p": {"value": masked}}, "output_ports": {"y": {"value": "p"}}}))
    for values in (masked, [masked, masked]):
        with pytest.raises(TypeError, match="masked"):
            mdf_c.sweep(model_of(OPEN), {"x": values}, progress=False)
    assert mdf_c.run(model_of(OPEN), {"x": np.ma.array([1.0, 2.0])})["y"].tolist() == [2.0, 3.0]


def model_with(**node):
    return {"m": {"graphs": {"g": {"nodes": {"A": {"input_ports": {"x": {}}, "output_ports": {"y": {"value": "x"}}, **node}}}}}}


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: mdf_c.run(model_with(), inputs=[1, 2]), TypeError, r"a dict {name: value}, or a list of such dicts, one a step, not \[1, 2\]"),
        (lambda: mdf_c.run(model_with(), inputs=3), TypeError, "a list of such dicts, one a step, not 3"),
        (lambda: mdf_c.run(model_with(), inputs={"z": 1}), mdf_c.MdfNameError, "no input port is called 'z'; inputs are: x"),
        (lambda: mdf_c.run(model_with(), {"x": 1}, steps="ten"), TypeError, "steps must be a whole number, not 'ten'"),
        (lambda: mdf_c.run(model_with(), {"x": 1}, steps=2**64 + 2), ValueError, r"steps must be less than 2\*\*63"),
        (lambda: mdf_c.sweep(model_with(parameters={"k": {"value": 1}}), {"A.k": [1]}, steps=2**64 + 2), ValueError, r"steps must be less than 2\*\*63"),
        (lambda: mdf_c.sweep(model_with(parameters={"k": {"value": 1}}), {"A.k": [1]}, steps=2.0), TypeError, "steps must be a whole number, not 2.0"),
        (lambda: mdf_c.gradient(model_with(), "y", ["A.x"], steps=2**64 + 1), ValueError, r"steps must be less than 2\*\*63"),
        (lambda: mdf_c.run(model_with(parameters={"k": {"value": 1}}), parameters={"A.k": np.longdouble(1)}), TypeError, "parameter 'A.k': a float128 can not"),
        (lambda: mdf_c.run(model_with(parameters={"k": {"value": 1}}), parameters={"A.k": np.zeros(1, np.clongdouble)}), TypeError, "'A.k': a complex256 can not"),
        (lambda: mdf_c.run(model_with(parameters={"k": {"value": 1}}), parameters={"A.k": np.zeros(1, "f4,i4")}), TypeError, "'A.k': a .* can not stand in"),
        (lambda: mdf_c.run(model_with(), {"x": 1}, record="yy"), mdf_c.MdfNameError, "no output port is named 'yy'; did you mean 'y'"),
        (lambda: mdf_c.run(model_with(), {"x": 1})["q"], mdf_c.MdfNameError, "no output port is named 'q'; there are A.y"),
        (
            lambda: mdf_c.run(model_with(parameters={"k": {"value": {1, 2}}})),
            TypeError,
            "^m.graphs.g.nodes.A.parameters.k.value: a set can not stand in a model$",
        ),
        (lambda: mdf_c.run(model_with(parameters={"k": {"value": abs}})), TypeError, "value: .* can not stand in a model: mdf_c.register_function"),
        (lambda: mdf_c.EvaluableGraph(model_with(), verbos=True), TypeError, r"EvaluableGraph\(\) .*'verbos'; did you mean 'verbose'"),
        (lambda: mdf_c.run(model_with(), {"x": 1}, dt="fast"), ValueError, "dt must be a number, not 'fast'"),
        (lambda: mdf_c.compile(model_with()).state().evaluate(dt=[1]), TypeError, r"dt must be a number, not \[1\]"),
        (lambda: mdf_c.run(model_with(), {"x": 1}).y, AttributeError, r"no attribute 'y': values are looked up as result\['y'\]"),
        (lambda: mdf_c.run(model_with(), {"x": 1}).recrod, AttributeError, "a Result has no attribute 'recrod'$"),
        (lambda: mdf_c.functions.onnx.gemm([[1.0]], [[1.0]], alhpa=2.0), TypeError, "alpha, beta, transA, transB, not alhpa; did you mean 'alpha'"),
        (lambda: mdf_c.functions.onnx.relu(x=1.0), TypeError, "takes the inputs X and no attributes, not x; did you mean 'X'"),
        (lambda: mdf_c.run(3), TypeError, "^3 does not stand for a model: give a path, a dict"),
        (lambda: mdf_c.run(model_with(parameters={"k": {"value": 1}}), {"x": 1}, parameters={"A.k": {1}}), TypeError, "^parameter 'A.k': a set can not stand in"),
        (
            lambda: mdf_c.run(model_with(parameters={"k": {"value": 1}}), {"x": 1}, parameters={"A.k": "1 + q"}),
            mdf_c.MdfNameError,
            "node 'A', parameter 'k': name 'q' is not known here",
        ),
        (
            lambda: mdf_c.sweep(model_with(), {"x": [1.0]}, progress=False)["yy"],
            KeyError,
            "'yy' is not one of the recorded ports .*; did you mean 'y'",
        ),
        (lambda: mdf_c.functions.onnx.relu(), mdf_c.MdfError, "^onnx::Relu needs the input 'X'$"),
        (lambda: mdf_c.functions.onnx.reluu(1.0), AttributeError, "there is no operator 'reluu' in .*; did you mean 'relu'"),
    ],
)
def test_a_mistake_is_told_with_its_cure(call, kind, words):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdf_c.MdfWarning)
        with pytest.raises(kind, match=words):
            call()


def test_check_returns_errors_and_warnings():
    node = {"input_ports": {"x": {}, "z": {}}, "output_ports": {"y": {"value": "x"}}}
    model = {"m": {"graphs": {"g": {"nodes": {"A": node}, "conditions": {"node_specific": {"A": {"type": "Never"}}}}}}}
    found = mdf_c.check(model)
    assert isinstance(found[0], mdf_c.MdfError) and "never run" in found[0].message
    assert [one.code for one in found if isinstance(one, mdf_c.MdfWarning)] == ["never-runs"]


def refusal(text, path):
    path.write_text(json.dumps(model_with(parameters={"k": {"value": text}})))
    try:
        mdf_c.compile(path)
    except mdf_c.MdfError as error:
        return error.message
    return ""


def test_arguments_by_place_are_those_of_numpy(tmp_path):
    """What numpy has elsewhere or nowhere is given by its name only, or numpy.max(x, 0, True) would keep an axis that numpy does not."""
    page = ROOT / "docs" / "operators.md"
    if not page.exists() or tuple(map(int, np.__version__.split(".")[:2])) < (2, 4):
        pytest.skip("the page of functions is not here, or numpy is older than the one whose meaning expressions have")
    changes_nothing, wrong, n = {"copy", "optimize", "order", "stable", "subok"}, [], 0
    for name in re.findall(r"^\| (numpy\.[\w.]+) \|", page.read_text(), re.MULTILINE):
        theirs = functools.reduce(getattr, name.split(".")[1:], np)
        formals = refusal(f"{name}(no_such_name=1)", tmp_path / "m.json").partition("its arguments are: ")[2].split()
        if isinstance(theirs, type) or not formals:
            continue
        try:
            theirs = [p for p in inspect.signature(theirs).parameters.values() if p.kind is not p.KEYWORD_ONLY]
        except ValueError:  # written in C, with no signature that can be told
            continue
        n += 1
        for at, formal in enumerate(formals):
            like = theirs[min(at, len(theirs) - 1)] if theirs else None
            if like is not None and (like.name == formal.strip("*=") or like.kind in (like.POSITIONAL_ONLY, like.VAR_POSITIONAL)):
                continue
            if formal.startswith("*") or formal.strip("=") in changes_nothing:
                continue
            if "by its name only" not in refusal(f"{name}({'None, ' * at}1)", tmp_path / "m.json"):
                wrong.append((name, formal))
    assert n > 150 and wrong == [("numpy.arange", "dtype=")]  # numpy takes that by place too, whatever its signature says
