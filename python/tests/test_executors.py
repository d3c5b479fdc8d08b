"""Executors as clients of a sweep, and models with files beside them."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from conftest import PACKAGE, ROOT

import mdf_c

BUILD = os.environ.get("MDF_C_BUILD", str(ROOT / "build"))
GIVEN = {"parameters": {"a": np.linspace(0, 1, 200)}, "steps": 20, "dt": 0.1, "progress": False, "seeds": 5}
MODEL = {
    "m": {
        "graphs": {
            "g": {
                "nodes": {
                    "n": {
                        "parameters": {
                            "a": {"value": 0.5},
                            "v": {"default_initial_value": 1.0, "time_derivative": "-a * v + numpy.random.normal()"},
                        },
                        "output_ports": {"v": {"value": "v"}},
                    }
                }
            }
        }
    }
}


def process_pool():
    path = os.pathsep.join([str(PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])])
    os.environ["PYTHONPATH"] = path
    return ProcessPoolExecutor(2)


def loky_pool():
    return pytest.importorskip("joblib.externals.loky", reason="joblib is not installed").get_reusable_executor(2)


@pytest.mark.parametrize("executor", [process_pool, loky_pool, lambda: ThreadPoolExecutor(3)])
def test_any_executor_gives_the_same_bits(executor):
    counts = []
    with executor() as client:
        there = mdf_c.sweep(MODEL, **{**GIVEN, "progress": counts.append}, client=client)
    assert there["v"].tobytes() == mdf_c.sweep(MODEL, **GIVEN)["v"].tobytes()
    assert counts[-1] == 200 and counts == sorted(counts)


MPI_SCRIPT = """
import sys

sys.path[:0] = {paths!r}
import test_executors
from mpi4py.futures import MPIPoolExecutor

import mdf_c

if __name__ == "__main__":
    here = mdf_c.sweep(test_executors.MODEL, **test_executors.GIVEN)
    with MPIPoolExecutor() as client:
        there = mdf_c.sweep(test_executors.MODEL, **test_executors.GIVEN, client=client)
        n_workers = len(set(client.map(test_executors.process_number, range(64))))
    assert there["v"].tobytes() == here["v"].tobytes()
    print(n_workers, "workers, the same bits")
"""


def process_number(_task):
    return os.getpid()


def test_mpi_gives_the_same_bits(tmp_path):
    pytest.importorskip("mpi4py.futures", reason="mpi4py is not installed")
    mpiexec = shutil.which("mpiexec")
    if mpiexec is None:
        pytest.skip("mpiexec is not here")
    script = tmp_path / "on_mpi.py"
    script.write_text(MPI_SCRIPT.format(paths=[str(PACKAGE), os.path.dirname(__file__)]))
    command = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", str(script)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if "libmpi" in ended.stderr:
        pytest.skip("there is no library of MPI")
    assert ended.returncode == 0, ended.stderr
    assert "workers, the same bits" in ended.stdout


def test_ray_gives_the_same_bits():
    ray = pytest.importorskip("ray", reason="ray is not installed")
    code = re.search(r"```python\n(class RayExecutor:.*?)\nresult =", (ROOT / "docs/cluster.md").read_text(), re.DOTALL)[1]
    names: dict = {"ray": ray}
    exec(code, names)  # noqa: S102 - the page's own class
    paths = [str(PACKAGE), os.path.dirname(__file__)]
    ray.init(
        num_cpus=2, include_dashboard=False, log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(paths), "MDF_C_BUILD": BUILD}},
    )  # fmt: skip
    try:
        there = mdf_c.sweep(MODEL, **GIVEN, client=names["RayExecutor"]())
    finally:
        ray.shutdown()
    assert there["v"].tobytes() == mdf_c.sweep(MODEL, **GIVEN)["v"].tobytes()


def test_an_executor_that_loses_a_worker_says_so():
    killed = []

    def kill(_done):
        if not killed:
            killed.extend(client._processes)
            os.kill(killed[0], signal.SIGKILL)

    with process_pool() as client, pytest.raises(BrokenExecutor):
        mdf_c.sweep(MODEL, **{**GIVEN, "steps": 200_000, "progress": kill}, client=client)


def test_what_a_progress_function_raises_cancels_the_rest():
    def stop(_done):
        raise KeyboardInterrupt

    begun = threading.active_count()
    with ThreadPoolExecutor(1) as client, pytest.raises(KeyboardInterrupt):
        mdf_c.sweep(MODEL, **{**GIVEN, "steps": 20_000, "progress": stop}, client=client)
    assert threading.active_count() <= begun + 1


def test_files_beside_a_model_travel_with_it(tmp_path, monkeypatch):
    weights = np.arange(400.0).reshape(20, 20)
    node = {
        "parameters": {"w": {"value": weights.tolist()}, "a": {"value": 1.0}},
        "output_ports": {"y": {"value": "a * w"}},
    }
    convert = os.path.join(BUILD, "mdf-convert")
    if not os.path.exists(convert):
        pytest.skip("mdf-convert is not here")
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "whole.json").write_text(json.dumps({"m": {"graphs": {"g": {"nodes": {"n": node}}}}}))
    subprocess.run([convert, "--weights-beside", "100", tmp_path / "whole.json", tmp_path / "here/model.json"], check=True)
    assert (tmp_path / "here/model.json.npz").exists()
    monkeypatch.chdir(tmp_path / "here")
    with process_pool() as client:
        client.submit(os.chdir, tmp_path / "there").result()
        client.submit(os.chdir, tmp_path / "there").result()
        result = mdf_c.sweep("model.json", {"a": [1.0, 3.0]}, client=client, progress=False)
    assert (result["y"][1] == 3 * weights).all()
