"""Models in several processes: by fork and by spawn, in pools, and on workers of dask; each with a limit of time."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from conftest import DOUBLE, PACKAGE, model_of

import mdf_c

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

# A product of matrices, on four threads.
COMMON = """
import concurrent.futures, gc, multiprocessing, os, pickle, sys, threading
import numpy as np
import mdf_c

PRODUCT = {"m": {"graphs": {"g": {"nodes": {"n": {
    "input_ports": {"x": {}},
    "parameters": {"p": {"function": "onnx::MatMul", "args": {"A": "x", "B": "x"}}},
    "output_ports": {"y": {"value": "p"}},
}}}}}}
SIDE = 256
program = mdf_c.compile(PRODUCT, threads=4)


def evaluate(state):
    state.set_input("x", np.ones((SIDE, SIDE)))
    state.evaluate()
    return float(state.output("n", "y").sum())


def new(_number=0):
    return evaluate(program.state())


def of(program):
    return evaluate(program.state())


RIGHT = float(SIDE) ** 3
"""


def run(tmp_path, body, seconds=60):
    """Runs a program of Python in a process of its own; what it prints."""
    path = tmp_path / "main.py"
    path.write_text(COMMON + "\nif __name__ == '__main__':\n" + textwrap.indent(textwrap.dedent(body), "    "))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", path], env=environment, capture_output=True, text=True, timeout=seconds
    )
    assert done.returncode == 0, f"exit status {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


FORK = """
state = program.state()
assert evaluate(state) == RIGHT
child = os.fork()
if child == 0:
    {child}
assert os.waitpid(child, 0)[1] == 0
assert evaluate(state) == RIGHT
"""


@pytest.mark.parametrize(
    "child",
    [
        "del state; gc.collect(); os._exit(0)",
        "sys.exit(0)",
        "os._exit(0 if evaluate(state) == RIGHT and new() == RIGHT else 1)",
        "mdf_c.run(program, {'x': np.ones((SIDE, SIDE))}); del state, program; gc.collect(); sys.exit(0)",
    ],
)
def test_fork_after_an_evaluation_on_several_threads(tmp_path, child):
    run(tmp_path, FORK.format(child=child))


def test_evaluations_import_nothing(tmp_path):
    """What a thread is importing when the process forks can never be imported in the child."""
    run(
        tmp_path,
        """
        before = set(sys.modules)
        assert new() == RIGHT
        mdf_c.run(program, {"x": np.ones((SIDE, SIDE))})
        assert set(sys.modules) == before, set(sys.modules) - before
        """,
    )


def test_fork_while_another_thread_evaluates(tmp_path):
    """What the child has of that state it leaves alone."""
    run(
        tmp_path,
        """
        states, stop = [program.state()], []
        def work():
            while not stop:
                evaluate(states[0])
        thread = threading.Thread(target=work)
        thread.start()
        for _ in range(8):
            child = os.fork()
            if child == 0:
                states.clear()
                gc.collect()
                os._exit(0 if new() == RIGHT else 1)
            assert os.waitpid(child, 0)[1] == 0
        stop.append(True)
        thread.join()
        """,
    )


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("is_used", [True, False])
def test_pools(tmp_path, method, is_used):
    run(
        tmp_path,
        f"""
        if {is_used}:
            assert new() == RIGHT  # the parent has threads then
        with multiprocessing.get_context({method!r}).Pool(2) as pool:
            assert pool.map_async(new, range(4)).get(timeout=50) == [RIGHT] * 4
            assert pool.apply_async(of, (program,)).get(timeout=50) == RIGHT
            result = pool.apply_async(mdf_c.run, (PRODUCT, {{"x": np.ones((2, 2))}})).get(timeout=50)
            assert result["y"].tolist() == [[2, 2], [2, 2]]
        """,
    )


def test_executors_of_processes(tmp_path):
    run(
        tmp_path,
        """
        new()
        for method in ("fork", "spawn"):
            context = multiprocessing.get_context(method)
            with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
                assert list(executor.map(of, [program] * 4, timeout=50)) == [RIGHT] * 4
                try:
                    executor.submit(of, program.state()).result(timeout=50)
                except TypeError as error:
                    assert "can not be copied or pickled" in str(error)
                else:
                    raise AssertionError("a state was pickled")
        """,
    )


def test_sweeps_in_forked_processes(tmp_path):
    run(
        tmp_path,
        """
        model = {"m": {"graphs": {"g": {"nodes": {"n": {"parameters": {"a": {"value": 1.0}},
                                                        "output_ports": {"y": {"value": "a * 2"}}}}}}}}
        def sweep(_number=0):
            return mdf_c.sweep(model, {"a": [1.0, 2.0, 3.0]}, threads=3, progress=False)["y"].tolist()
        assert sweep() == [2, 4, 6]
        child = os.fork()
        if child == 0:
            os._exit(0 if sweep() == [2, 4, 6] else 1)
        assert os.waitpid(child, 0)[1] == 0
        """,
    )


# ---------------------------------------------------------------- dask


def check_client(client, examples):
    inputs = {"x": np.array([1.0, 2.0])}
    model = mdf_c.load(model_of(DOUBLE))
    for source in (model_of(DOUBLE), model, model.compile(seed=3), str(examples / "newton_sqrt.json")):
        given = {"a": 10} if isinstance(source, str) else inputs
        result = client.submit(mdf_c.run, source, given, steps=2, record=True, pure=False).result(timeout=60)
        here = mdf_c.run(source, given, steps=2, record=True)
        assert {name: values.tobytes() for name, values in result.trace.items()} == {
            name: values.tobytes() for name, values in here.trace.items()
        }
    with pytest.raises(mdf_c.MdfNameError, match="nowhere"):
        client.submit(mdf_c.run, model, {"nowhere": 1}).result(timeout=60)


def test_workers_in_this_process(examples):
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
        check_client(client, examples)


def test_workers_in_other_processes(cluster, examples):
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    with distributed.Client(cluster) as client:
        check_client(client, examples)
