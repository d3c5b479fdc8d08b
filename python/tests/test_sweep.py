"""sweep: shapes and names, equality with runs of one's own, and with a cluster that loses a worker."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent import futures

import numpy as np
import pytest

import mdf_c
from mdf_c import _cores, sweeping
from mdf_c._library import lib
from mdf_c._sweep_library import NativeSweep, Plan
from mdf_c.sweeping import _Parts

# Two parameters, a whole number as initial value, noise and an input.
CELL = {
    "cell": {
        "graphs": {
            "g": {
                "nodes": {
                    "n": {
                        "input_ports": {"I": {}},
                        "parameters": {
                            "a": {"value": 0.7},
                            "noise": {"value": 0.5},
                            "V": {
                                "default_initial_value": 1,
                                "time_derivative": "I - a * V + noise * numpy.random.normal()",
                            },
                        },
                        "output_ports": {"V": {"value": "V"}, "pair": {"value": "[V, a]"}},
                    }
                }
            }
        }
    }
}


def cell(a: float, noise: float) -> dict:
    """The model with these values in it."""
    node = {**CELL["cell"]["graphs"]["g"]["nodes"]["n"]}
    node["parameters"] = {**node["parameters"], "a": {"value": a}, "noise": {"value": noise}}
    return {"cell": {"graphs": {"g": {"nodes": {"n": node}}}}}


A, NOISE = np.linspace(0.1, 0.9, 5), [0.0, 0.25]


def sweep(**keywords):
    given = {"parameters": {"n.a": A, "noise": NOISE}, "inputs": {"I": 0.3}, "steps": 30, "dt": 0.1, "progress": False}
    return mdf_c.sweep(CELL, **{**given, **keywords})


def test_a_grid_has_an_axis_for_each_name_and_equals_runs_of_ones_own():
    result = sweep(record="V", every=1, seeds=11)
    assert result.dims == ("n.a", "noise", "step")
    assert result["V"].shape == (5, 2, 30)
    assert result["n.V"].dtype == np.float64
    seeds = mdf_c.instance_seeds(11, 10).reshape(5, 2)
    assert (result.seeds == seeds).all()
    for i, a in enumerate(A):
        for j, noise in enumerate(NOISE):
            alone = mdf_c.run(cell(a, noise), {"I": 0.3}, 30, 0.1, record="V", seed=int(seeds[i, j]))
            assert result["V"][i, j].tobytes() == alone.recorded("V").astype(float).tobytes()


@pytest.mark.parametrize("threads", [1, 2, 5, 0])
def test_the_number_of_threads_changes_nothing(threads):
    assert sweep(record=["V", "pair"], threads=threads)["pair"].tobytes() == sweep(record="pair", threads=3)["pair"].tobytes()


def test_sweeps_at_the_same_time_share_the_cores(monkeypatch):
    asked: list[int] = []

    def native(program, plan, threads, *more):
        asked.append(threads)
        return NativeSweep(program, plan, threads, *more)

    def inside(_done: int) -> None:
        if len(asked) == 1:
            inner.append(sweep(record="pair"))
            inner.append(sweep(record="pair", threads=3))

    inner: list[mdf_c.SweepResult] = []
    monkeypatch.setattr(_cores, "count_cores", lambda: 2)
    monkeypatch.setattr(sweeping, "NativeSweep", native)
    outer = sweep(record="pair", progress=inside)
    assert asked == [2, 1, 3]
    assert all(each["pair"].tobytes() == outer["pair"].tobytes() for each in inner)
    with _cores.CORES.taken(0) as n:
        assert n == 2


def test_values_one_by_one_and_the_last_step_only():
    result = sweep(parameters={"n.a": A, "n.I": A[::-1]}, inputs=None, combine="zip", record="pair")
    assert result.dims == ("instance",)
    assert result["pair"].shape == (5, 2)
    assert (result["pair"][:, 1] == A).all()
    assert result.steps.tolist() == [30]


def test_inputs_may_differ_from_step_to_step_and_seeds_be_given():
    inputs = [{"I": np.sin(step)} for step in range(30)]
    seeds = np.arange(10)
    result = sweep(inputs=inputs, every=10, seeds=seeds, record="V")
    alone = mdf_c.run(cell(A[2], NOISE[1]), inputs, 30, 0.1, record="V", seed=5)
    assert result["V"].shape == (5, 2, 3)
    assert result["V"][2, 1].tolist() == alone.recorded("V")[[0, 10, 20]].tolist()
    assert result.times.tolist() == pytest.approx([0.0, 1.0, 2.0])


def test_a_model_that_is_loaded_will_do_and_a_program_will_not():
    loaded = mdf_c.sweep(mdf_c.load(CELL), {"n.a": A}, {"I": 0.3}, 5, 0.1, progress=False)
    assert loaded["V"].tobytes() == mdf_c.sweep(CELL, {"n.a": A}, {"I": 0.3}, 5, 0.1, progress=False)["V"].tobytes()
    with pytest.raises(TypeError, match="give it the model"):
        mdf_c.sweep(mdf_c.compile(CELL), {"n.a": A})


def test_seeds_are_numbers_of_splitmix64():
    assert mdf_c.instance_seeds(1234567, 2).tolist() == [6457827717110365317, 3203168211198807973]
    assert mdf_c.instance_seeds(-1, 1)[0] == lib.mdf_sweep_seed(2**64 - 1, 0)


def test_results_by_default_are_what_the_graph_yields():
    assert set(sweep().outputs) == {"n.V", "n.pair"}


def test_names_of_axes_reach_xarray_and_pandas():
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    data = sweep(record="V", every=1).to_xarray()
    assert isinstance(data, xarray.Dataset)
    assert data["n.V"].dims == ("n.a", "noise", "step")
    assert data["n.V"].sel({"n.a": A[1], "noise": 0.25, "step": 1}).item() == 1
    assert len(sweep(record="V").to_pandas()) == 10
    initial = sweep(parameters={"n.V": [1.0, 2.0]}, record="V", every=1)
    assert initial["V"][:, 0].tolist() == [1, 2]
    assert initial.to_xarray()["n.V"].sel({"swept.n.V": 2.0, "step": 1}).item() == 2
    zipped = sweep(parameters={"n.a": A, "noise": A}, combine="zip").to_xarray()
    assert zipped["n.V"].dims == ("instance",)
    assert zipped["n.a"].values.tolist() == A.tolist()


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"parameters": {"n.aa": A}}, mdf_c.MdfNameError, "no parameter is called 'n.aa'; did you mean 'n.a'"),
        ({"parameters": {"n.a": 3}}, ValueError, "must be a list or an array"),
        ({"combine": "zip"}, ValueError, "equally many values"),
        ({"combine": "product"}, ValueError, "'grid' or 'zip'"),
        ({"seeds": [1, 2]}, ValueError, "2 seeds were given for 10 instances"),
        ({"inputs": {"J": 1.0}}, mdf_c.MdfNameError, "no input port is called 'J'"),
        ({"inputs": {"I": "x"}}, ValueError, "must be a number"),
        ({"inputs": [{"I": 1.0}]}, ValueError, "must be 30 dicts"),
        ({"record": "W"}, mdf_c.MdfNameError, "no output port is named 'W'"),
        ({"steps": 0}, ValueError, "at least 1"),
        ({"seed": 3}, TypeError, "see seeds"),
    ],
)
def test_mistakes_are_told(keywords, error, message):
    with pytest.raises(error, match=message):
        sweep(**keywords)


def test_progress_is_told_and_ctrl_c_stops():
    counts = []
    sweep(progress=counts.append)
    assert counts[-1] == 10
    stop = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    start = time.perf_counter()
    stop.start()
    with pytest.raises(KeyboardInterrupt):
        sweep(parameters={"n.a": np.linspace(0, 1, 10_000)}, steps=100_000)
    assert time.perf_counter() - start < 20


def test_ctrl_c_stops_the_first_instance_too():
    stop = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    stop.start()
    with pytest.raises(KeyboardInterrupt):
        sweep(parameters={"n.a": [0.5]}, steps=10**9)


def test_an_exception_of_the_progress_function_comes_out():
    def fail(_done):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        sweep(parameters={"n.a": np.linspace(0, 1, 1000)}, steps=10_000, progress=fail)


# ---------------------------------------------------------------- a cluster


def test_a_cluster_that_loses_a_worker_gives_the_same_bits(cluster):
    distributed = pytest.importorskip("distributed")
    many = {"parameters": {"n.a": np.linspace(0, 1, 400), "noise": NOISE}, "steps": 20_000, "record": ["V", "pair"], "seeds": 3}
    here = sweep(**many)
    killed = []

    def kill_one(_done):
        if not killed:
            killed.append(client.submit(os.getpid, pure=False).result())
            os.kill(killed[0], signal.SIGKILL)

    with distributed.Client(cluster) as client:
        there = sweep(client=client, progress=kill_one, **many)
    assert killed, "no worker was lost"
    assert there["V"].tobytes() == here["V"].tobytes()
    assert there["pair"].tobytes() == here["pair"].tobytes()


def test_an_error_on_a_cluster_is_the_engines(cluster):
    distributed = pytest.importorskip("distributed")
    model = {"m": {"graphs": {"g": {"nodes": {"n": {"input_ports": {"x": {}}, "output_ports": {"y": {"value": "[1.0][x]"}}}}}}}}
    with distributed.Client(cluster) as client, pytest.raises(mdf_c.MdfError, match="instance 50, step 1"):
        mdf_c.sweep(model, {"x": [0] * 50 + [7]}, client=client, progress=False)


# ------------------------------------------------------------------ side by side, and threads

NEURON = {
    "m": {
        "graphs": {
            "g": {
                "nodes": {
                    "n": {
                        "parameters": {
                            "p": {"value": 0.5},
                            "v": {"default_initial_value": 0.0, "time_derivative": "p - v * v * v / 3 + numpy.exp(-v)"},
                        },
                        "output_ports": {"V": {"value": "v if v < p else p"}},
                    }
                }
            }
        }
    }
}


@pytest.mark.parametrize("settings", [{}, {"float32": True}])
def test_many_instances_side_by_side_have_the_bits_of_few(settings):
    def results(p, every):
        return mdf_c.sweep(NEURON, {"p": p}, steps=50, dt=0.05, every=every, progress=False, **settings)["V"]

    p = np.linspace(0, 2, 77)
    for every in (0, 7):
        assert results(p, every).tobytes() == b"".join(results(p[i : i + 2], every).tobytes() for i in range(0, 77, 2))


def test_a_grid_side_by_side_has_the_bits_of_its_instances():
    axes = {"p": np.linspace(0, 2, 13), "v": np.linspace(-1, 1, 11)}
    grid = mdf_c.sweep(NEURON, axes, steps=50, dt=0.05, every=7, progress=False)["V"]
    for i, p in enumerate(axes["p"]):
        for j in (0, 5, 10):
            single = mdf_c.sweep(NEURON, {"p": [p], "v": axes["v"][[j]]}, steps=50, dt=0.05, every=7, progress=False)["V"]
            assert grid[i, j].tobytes() == single.tobytes()


def test_how_many_go_side_by_side_can_be_said_and_is_told():
    text = {"default_initial_value": 0.0, "time_derivative": "p - v * v * v / 3 + numpy.exp(-v)"}
    node = {"parameters": {"p": {"value": 0.5}, "v": text}, "output_ports": {"V": {"value": "v"}}}
    model = {"m": {"graphs": {"g": {"nodes": {"n": node}}}}}
    how = {"parameters": {"p": np.linspace(0, 2, 40)}, "steps": 50, "dt": 0.05, "progress": False, "threads": 1}
    results = {lanes: mdf_c.sweep(model, **how, lanes=lanes) for lanes in (0, 1, 4)}
    assert results[0].explanation == "sweep: 16 instances side by side\n"
    assert results[1].explanation == "sweep: instances one by one\n"
    assert results[4].explanation == "sweep: 4 instances side by side\n"
    assert results[0]["V"].tobytes() == results[1]["V"].tobytes() == results[4]["V"].tobytes()
    with pytest.raises(ValueError, match="lanes must be a number from 0 to 64"):
        mdf_c.sweep(model, **how, lanes=65)


def test_lists_of_ports_go_side_by_side():
    first = {
        "parameters": {
            "p": {"value": 0.5},
            "x": {"default_initial_value": 0.0, "value": "x + 0.1 * p"},
            "k": {"default_initial_value": 1, "value": "k + 2"},
            "a": {"default_initial_value": [1.0, 2.0], "value": "0.9 * a + x"},
        },
        "output_ports": {"pair": {"value": "[x, p * x]"}, "mixed": {"value": "[k, x, 1.5]"}, "rows": {"value": "[a, 2 * a]"}},
    }
    second = {"input_ports": {"l": {}}, "output_ports": {"sum": {"value": "l[0] + 2 * l[1]"}, "again": {"value": "[l[1], l[0]]"}}}
    edge = {"sender": "first", "sender_port": "pair", "receiver": "second", "receiver_port": "l"}
    model = {"m": {"graphs": {"g": {"nodes": {"first": first, "second": second}, "edges": {"e": edge}}}}}
    for more in ({}, {"every": 1}, {"every": 7}):
        how = {"parameters": {"first.p": np.linspace(0, 2, 60)}, "steps": 30, "progress": False, "threads": 1, **more}
        ports = ["pair", "mixed", "rows", "sum", "again"]
        alone, beside = (mdf_c.sweep(model, **how, record=ports, lanes=lanes) for lanes in (1, 16))
        assert beside.explanation == "sweep: 16 instances side by side\n"
        assert all(alone[port].tobytes() == beside[port].tobytes() for port in ports)
        assert beside["rows"].shape[-2:] == (2, 2) and beside["mixed"].dtype == np.float64


def test_a_clusters_parts_grow_to_a_second_and_leave_the_end_for_all():
    class Four:
        _max_workers = 4

    plan = Plan([], [], [(0, 0)], 0, 1_000_000, [1_000_000], 1, 0.1, 0, [(np.dtype("f8"), ())])
    parts, sizes = _Parts(plan, Four()), []
    while parts.is_due(7):
        first, end = parts.take()
        assert first == sum(sizes)
        sizes.append(end - first)
        parts.learn(sizes[-1], sizes[-1] * 1e-5)
    assert sum(sizes) == 1_000_000 and sizes[0] == 3907
    assert sizes[:5] == [3907, 15628, 62512, 100_000, 100_000] and sizes[-1] <= 12_500 == min(sizes[3:-1]) and len(sizes) < 40
    assert not _Parts(plan, Four()).is_due(8)


def test_the_interpreter_goes_on_while_a_sweep_runs():
    done = threading.Event()

    def work():
        mdf_c.sweep(NEURON, {"p": np.linspace(0, 2, 200)}, steps=20000, dt=0.01, threads=1, progress=False)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    turns = 0
    while not done.is_set():
        time.sleep(0.001)
        turns += 1
    thread.join()
    assert turns > 20  # a lock held all the time would leave one


# In a process of its own: nobody else begins and ends threads in it. Prints how many threads there are while a sweep runs, and not
# before: without the watcher, and the one from which a call is made that Ctrl-C may end.
THREADS_OF_A_SWEEP = """
import os, threading, time
import numpy as np
import mdf_c
product = "numpy.matmul(w, w) * p"  # large enough for several threads, were it alone
node = {"parameters": {"p": {"value": 1.0}, "w": {"value": np.eye(400).tolist()}, "x": {"value": product}},
        "output_ports": {"y": {"value": "numpy.sum(x)"}}}
model = mdf_c.load({"m": {"graphs": {"g": {"nodes": {"n": node}}}}})
before, most, done = len(os.listdir("/proc/self/task")), [0], threading.Event()

def watch():
    while not done.is_set():
        most[0] = max(most[0], len(os.listdir("/proc/self/task")))
        time.sleep(0.0005)

watcher = threading.Thread(target=watch)
watcher.start()
mdf_c.sweep(model, {"p": np.arange(40.0)}, threads=3, record="y", progress=False)
done.set()
watcher.join()
print(most[0] - before - 2)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="there is no list of threads here")
def test_kernels_within_a_sweep_have_no_threads_of_their_own():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    told = subprocess.run(
        [sys.executable, "-c", THREADS_OF_A_SWEEP], env=environment, capture_output=True, text=True, check=True
    )
    assert int(told.stdout) <= 3


def test_a_sweep_says_which_ports_it_has():
    swept = mdf_c.sweep(CELL, {"a": [0.5, 0.7]}, steps=2, dt=0.1, progress=False)
    assert "V" in swept and "n.V" in swept and "W" not in swept and 0 not in swept
    assert list(swept) == list(swept.outputs)


def model_whose_second_node_waits(value, start):
    """B runs once A's `c`, which counts from `start`, is 3."""
    counter = {"parameters": {"c": {"value": "c + 1", "default_initial_value": start}}, "output_ports": {"n": {"value": "c"}}}
    other = {"input_ports": {"i": {}}, "parameters": {"q": {"value": value}}, "output_ports": {"o": {"value": "q"}}}
    edges = {"e": {"sender": "A", "sender_port": "n", "receiver": "B", "receiver_port": "i"}}
    waits = {"type": "Threshold", "kwargs": {"dependency": "A", "parameter": "c", "threshold": 3, "comparator": ">="}}
    conditions = {"node_specific": {"B": waits}, "termination": {"environment_state_update": {"type": "AfterPass", "kwargs": {"n": 0}}}}
    return {"m": {"format": "ModECI MDF v0.4", "graphs": {"g": {"nodes": {"A": counter, "B": other}, "edges": edges, "conditions": conditions}}}}


@pytest.mark.parametrize("lanes", (1, 4))
@pytest.mark.parametrize("value, row", (("[[1.0, 2.0], [3.0, 4.0]]", [[1.0, 2.0], [3.0, 4.0]]), (7, 7.0), ("2 > 1", 1.0)))
def test_a_node_that_does_not_run_in_some_steps_or_instances_has_nan(value, row, lanes):
    nothing = np.full(np.shape(row), np.nan)
    model = model_whose_second_node_waits(value, 0)

    def run(**how):
        return mdf_c.sweep(model, {"A.c": how.pop("starts")}, steps=2, record="B.o", lanes=lanes, progress=False, **how)["o"]

    np.testing.assert_array_equal(run(starts=[0, 2, 1], every=1), [[nothing, nothing], [row, row], [nothing, row]])
    np.testing.assert_array_equal(run(starts=[0] * 50 + [2]), [nothing] * 50 + [row])  # whichever instance shows the form
    np.testing.assert_array_equal(run(starts=[0, 0], every=1), np.full((2, 2), np.nan))  # no form: one number
    with futures.ThreadPoolExecutor(2) as client:
        np.testing.assert_array_equal(run(starts=[0] * 5 + [2], client=client), [nothing] * 5 + [row])


def test_a_whole_number_of_an_instance_and_none_of_a_later_one_are_told_apart():
    with pytest.raises(mdf_c.MdfError, match=r"the value is nothing where the first instance ended with int64 scalar: .*leave it out"):
        mdf_c.sweep(model_whose_second_node_waits(7, 0), {"A.c": [2, 0]}, record="B.o", progress=False)
