"""Wrong arguments, wrong times, wrong threads: an exception that says so, never a crash and never a wait for ever."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from importlib.util import find_spec

import numpy as np
import pytest
from conftest import DOUBLE, ENDLESS, PACKAGE, model_of

import mdf_c
from mdf_c import _interrupt, _library, _sweep_library
from mdf_c._interrupt import interruptible

WRONG = [
    None, True, -1, 1.5, 2**70, float("nan"), "", "nowhere", "a\0b", b"x", [], [[1], [1, 2]], (), {}, {1: 2}, {"nowhere": 1}, object(),
    np.array([]), np.array("x"), np.array([object()], dtype=object), np.datetime64("2020"), np.zeros((1,) * 32), print, mdf_c, int,
    type("Nothing", (), {"__array__": None})(), type("Strange", (), {"__array__": lambda self, *_: 3})(),
]  # fmt: skip
REFUSED = (TypeError, ValueError, OverflowError, LookupError, OSError, ctypes.ArgumentError)


def endless():
    return mdf_c.compile(model_of(ENDLESS)).state()


# ---------------------------------------------------------------- arguments


def calls():
    """Every public function and method, with the places of its arguments."""
    model, program, state = mdf_c.load(model_of(DOUBLE)), mdf_c.compile(model_of(DOUBLE)), mdf_c.compile(model_of(DOUBLE)).state()
    result, graph = mdf_c.run(model_of(DOUBLE)), mdf_c.EvaluableGraph(model_of(DOUBLE))
    good = model_of(DOUBLE)
    return {
        "load": lambda x: mdf_c.load(x),
        "load, format": lambda x: mdf_c.load(good, x),
        "compile": lambda x: mdf_c.compile(x),
        "check": lambda x: mdf_c.check(x),
        "run": lambda x: mdf_c.run(x),
        "run, inputs": lambda x: mdf_c.run(good, x),
        "run, steps": lambda x: mdf_c.run(good, steps=x if not isinstance(x, int) or x < 1000 else 0),
        "run, dt": lambda x: mdf_c.run(good, steps=2, dt=x),
        "run, record": lambda x: mdf_c.run(good, record=x),
        "sweep": lambda x: mdf_c.sweep(x, {}, progress=False),
        "sweep, parameters": lambda x: mdf_c.sweep(good, x, progress=False),
        "sweep, values": lambda x: mdf_c.sweep(good, {"x": x}, progress=False),
        "sweep, inputs": lambda x: mdf_c.sweep(good, {}, x, progress=False),
        "sweep, seeds": lambda x: mdf_c.sweep(good, {}, seeds=x, progress=False),
        "EvaluableGraph": lambda x: mdf_c.EvaluableGraph(x),
        "EvaluableGraph.evaluate, dt": lambda x: graph.evaluate(x),
        "EvaluableGraph.evaluate, initializer": lambda x: graph.evaluate(initializer=x),
        "Model.save": lambda x: model.save(x),
        "Model.compile, graph": lambda x: model.compile(graph=x),
        **({"from_onnx": lambda x: mdf_c.from_onnx(x)} if find_spec("modeci_mdf") else {}),
        **{
            f"Settings.{name}": lambda x, name=name: mdf_c.run(good, **{name: x})
            for name in ("float32", "max_iterations", "max_passes", "max_memory", "seed", "threads", "loop_condition")
        },
        "Program": lambda x: mdf_c.Program(x, mdf_c.Settings()),
        "Program, settings": lambda x: mdf_c.Program(model, x),
        "Program.part_ids": lambda x: program.part_ids(x, x),
        "Program.find_outputs": lambda x: program.find_outputs(x),
        "State": lambda x: mdf_c.State(x),
        "State.set_input, name": lambda x: state.set_input(x, 1),
        "State.set_input": lambda x: state.set_input("x", x),
        "State.set_inputs": lambda x: state.set_inputs(x),
        "State.set_inputs, lent": lambda x: state.set_inputs({"x": x}, lend=True),
        "State.evaluate": lambda x: state.evaluate(x),
        "State.output": lambda x: state.output(x, x),
        "State.part": lambda x: state.part(x, x, x, 1),
        "State.function_values": lambda x: state.function_values(x, x),
        "Result": lambda x: result[x],
        "Result.recorded": lambda x: result.recorded(x),
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", calls())
def test_wrong_arguments(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, n_refused = calls()[name], 0
    for wrong in WRONG:
        try:
            call(wrong)
        except REFUSED:
            n_refused += 1
    assert n_refused > 0


@pytest.mark.parametrize("name", ["graph.json\0", "x\0y"])
def test_what_c_would_cut_is_refused(name, tmp_path):
    state = mdf_c.compile(model_of(DOUBLE)).state()
    mdf_c.load(model_of(DOUBLE)).save(tmp_path / "graph.json")
    for call in (
        lambda: mdf_c.load(f"{tmp_path}/{name}.json"),
        lambda: mdf_c.load(model_of(DOUBLE)).save(f"{tmp_path}/{name}.json"),
        lambda: mdf_c.compile(model_of(DOUBLE), graph=name),
        lambda: mdf_c.load(model_of(DOUBLE), name),
        lambda: state.set_input(name, 1),
        lambda: state.set_input("x", {name: 1}),
        lambda: mdf_c.sweep(model_of(DOUBLE), {name: [1]}, progress=False),
    ):
        with pytest.raises(ValueError):
            call()


@pytest.mark.parametrize("name", ["max_iterations", "max_passes", "max_memory", "seed", "threads"])
def test_settings_that_do_not_fit_are_refused(name):
    for value in (-1, 2**64):
        with pytest.raises(ValueError, match=name):
            mdf_c.compile(model_of(DOUBLE), **{name: value})
    with pytest.raises(TypeError):
        mdf_c.compile(model_of(DOUBLE), **{name: 1.5})


def test_things_that_were_never_made():
    for kind in (mdf_c.Model, mdf_c.Program, mdf_c.State, mdf_c.Result):
        nothing = kind.__new__(kind)
        for name in (name for name in dir(kind) if not name.startswith(("__", "to_"))):
            try:
                getattr(nothing, name)()
            except (AttributeError, TypeError):
                pass
        del nothing


def test_making_things_again():
    state = mdf_c.compile(model_of(DOUBLE)).state()
    program = state.program
    program.__init__(mdf_c.load(model_of(DOUBLE)), mdf_c.Settings())
    state.evaluate()
    state.__init__(program)
    state.evaluate()
    assert state.output("n", "count") == 1


def test_the_library_with_nothing():
    """All functions with NULL for every pointer, and with numbers that are no size and no position."""
    prototypes = [(name, getattr(_library.lib, name)) for name in _library._PROTOTYPES]
    for number in (0, -1, 2**31 - 1):
        for name, function in prototypes:
            if name in ("mdf_dtype_name", "mdf_onnx_operator_name"):
                continue  # without pointers
            found = function(*(nothing(kind, number) for kind in function.argtypes))
            if name.startswith(("mdf_set", "mdf_lend", "mdf_evaluate", "mdf_model_save", "mdf_state_", "mdf_check", "mdf_register", "mdf_load", "mdf_diagnostics_add")) and (
                function.restype is ctypes.c_int
            ):
                assert _library.STATUSES[found] == "USAGE", name
            elif name == "mdf_program_layer_node":
                assert found == ctypes.c_size_t(-1).value, "a position that is none"
            elif name not in ("mdf_version", "mdf_version_number") and "_new" not in name:
                assert not found, name


def nothing(kind, number):
    """`number`, NULL, or a function that is NULL."""
    if kind in (ctypes.c_int, ctypes.c_uint, ctypes.c_int64, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_bool):
        return number
    return 0.0 if kind is ctypes.c_double else kind() if kind is _library.WARNING_HANDLER else None


@pytest.mark.parametrize("kind", [_library.Options, _sweep_library.SweepOptions])
def test_options_have_the_fields_of_the_header(kind):
    """A field behind those that Python knows is refused as one that the library does not know either."""

    class More(kind):
        _fields_ = [("more", ctypes.c_uint64)]

    model = mdf_c.load(model_of(DOUBLE))
    program = model.compile()
    for more, is_refused in ((0, False), (1, True)):
        options, error = More(size=ctypes.sizeof(More), more=more), _library.Error()
        if kind is _library.Options:
            _library.lib.mdf_compile(model._pointer, options, error)
        else:
            options.n_steps = 1
            _library.lib.mdf_sweep_new(program._pointer, options, error)
        assert (_library.STATUSES[error.code] == "USAGE") == is_refused, error.message


def test_the_versions_agree():
    assert _library.lib.mdf_version().decode() == mdf_c.__version__


# ---------------------------------------------------------------- times


def uses(state):
    return [
        lambda: state.set_input("n", 1),
        lambda: state.set_inputs({"n": 1}),
        lambda: state.evaluate(),
        lambda: state.output("n", "y"),
        lambda: state.outputs(),
        lambda: state.results(),
        lambda: state.schedule(),
        lambda: state.function_values(0, 0),
    ]


@pytest.mark.parametrize("number", range(8))
def test_a_handler_of_a_signal_does_not_wait_for_what_it_interrupts(number):
    state = endless()
    before = signal.signal(signal.SIGALRM, lambda *_: uses(state)[number]())
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(RuntimeError, match="is being evaluated"):
            state.evaluate()
    finally:
        signal.signal(signal.SIGALRM, before)
    threading.Timer(0.1, state.interrupt).start()
    with pytest.raises(mdf_c.MdfInterrupted):
        state.evaluate()


def test_a_handler_amid_many_small_uses():
    """It comes between any two of Python's instructions."""
    state = mdf_c.compile(model_of(DOUBLE)).state()
    happened = []

    def handle(*_):
        for use in (state.evaluate, lambda: state.output("n", "y"), lambda: state.set_input("x", 1.0), state.schedule):
            try:
                use()
                happened.append(None)
            except RuntimeError as error:
                happened.append(error)

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            state.set_inputs({"x": np.ones(3)})
            state.evaluate()
            assert state.outputs()["n"]["y"] is not None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert happened


def test_a_value_that_uses_the_state_it_is_set_in():
    state = mdf_c.compile(model_of(DOUBLE)).state()

    class Busy:
        def __array__(self, *_args, **_keywords):
            state.evaluate()
            return np.ones(2)

    with pytest.raises(RuntimeError, match="in use"):
        state.set_input("x", Busy())
    state.evaluate()


@pytest.fixture
def interrupts():
    """Sends Ctrl-C after each of some delays; those that come when the test has what it waited for do nothing."""
    timers, armed = [], [True]

    def handle(*_):
        if armed:
            raise KeyboardInterrupt

    def send(*delays):
        timers.extend(threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT)) for delay in delays)
        for timer in timers:
            timer.start()
        return armed

    before = signal.signal(signal.SIGINT, handle)
    yield send
    armed.clear()
    for timer in timers:
        timer.join()
    signal.signal(signal.SIGINT, before)


def test_a_second_ctrl_c_waits_for_the_end(interrupts):
    """Of something that does not hear the first one soon: what it works on would else be used by two."""
    is_working = []

    def call():
        is_working.append(True)
        time.sleep(1)
        is_working.clear()

    armed = interrupts(0.2, 0.3, 0.4)
    with pytest.raises(KeyboardInterrupt):
        interruptible(call, lambda: None)
    armed.clear()
    assert not is_working


def test_ctrl_c_twice_in_an_evaluation(interrupts):
    state = endless()
    armed = interrupts(0.2, 0.2001, 0.2002)
    with pytest.raises(KeyboardInterrupt):
        try:
            state.evaluate()
        finally:
            armed.clear()
    assert not state._is_evaluated
    state.set_input("n", 1)
    threading.Timer(0.1, state.interrupt).start()
    with pytest.raises(mdf_c.MdfInterrupted):
        state.evaluate()


def test_what_is_called_off_before_it_begins(monkeypatch):
    began = []

    def start(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(_interrupt, "_idle", [])
    monkeypatch.setattr(_interrupt, "start_new_thread", start)
    with pytest.raises(KeyboardInterrupt):
        interruptible(lambda: began.append(True), lambda: None)
    assert not began


def test_the_thread_of_an_evaluation_stays_for_the_next_one():
    threads = []

    def call():
        threads.append(threading.get_ident())

    for _ in range(3):
        interruptible(call, lambda: None)
    interruptible(lambda: interruptible(call, lambda: None), lambda: None)  # in another thread it is called as it is
    assert len(set(threads)) == 1
    assert threads[0] != threading.get_ident()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_child_has_a_thread_of_its_own():
    interruptible(lambda: None, lambda: None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads that a child does not have
        child = os.fork()
    if child == 0:
        signal.alarm(20)  # it does not wait for what is not there
        made = interruptible(lambda: 3, lambda: None)
        os._exit(0 if made == 3 else 1)
    assert os.waitpid(child, 0)[1] == 0


# ---------------------------------------------------------------- threads


def test_a_state_in_two_threads():
    state, errors = endless(), []

    def work():
        try:
            state.evaluate()
        except mdf_c.MdfInterrupted as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while not state._is_evaluated:
        time.sleep(0.001)
    for use in uses(state):
        with pytest.raises(RuntimeError, match="is being evaluated"):
            use()
    state.interrupt()
    thread.join(30)
    assert len(errors) == 1
    assert state.output("n", "y") is None
    state.set_input("n", 1)


def test_looks_from_many_threads():
    """Who only looks waits for who only looks."""
    state = mdf_c.compile(model_of(DOUBLE)).state()
    state.set_input("x", np.arange(100.0))
    state.evaluate()
    wrong = []

    def work():
        for _ in range(300):
            if state.output("n", "y")[99] != 198 or state.output("n", "y", copy=False)[99] != 198:
                wrong.append(True)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_states_that_other_threads_release():
    program = mdf_c.compile(model_of(DOUBLE), threads=2)

    def work(states):
        while states:
            states.pop().output("n", "y", copy=False)

    for _ in range(20):
        states = [program.state() for _ in range(10)]
        for state in states:
            state.set_input("x", np.ones(5000))
            state.evaluate()
        del state
        threads = [threading.Thread(target=work, args=(states[i::3],)) for i in range(3)]
        states.clear()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("is_daemon", [True, False])
def test_the_interpreter_ends_while_a_thread_evaluates(is_daemon):
    program = f"""
import threading, mdf_c
state = mdf_c.compile({model_of(ENDLESS)!r}, threads=2).state()
thread = threading.Thread(target=state.evaluate, daemon={is_daemon})
thread.start()
while not state._is_evaluated:
    pass
if not {is_daemon}:
    threading.Timer(0.2, state.interrupt).start()
view = state.program.state()
view.set_input("n", 2)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and ("MdfInterrupted" in done.stderr) != is_daemon, (done.returncode, done.stderr)
