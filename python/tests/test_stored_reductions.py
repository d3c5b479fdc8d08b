"""mdf-run --sweep with stop_when, trials, reduce and values that are drawn: all formats, parts, and calls that are killed."""

import json
import os
import random
import subprocess
import time

import numpy as np
import pytest

from conftest import ROOT
from test_reductions import WALK, same

import mdf_c

BUILD = os.environ.get("MDF_C_BUILD", str(ROOT / "build"))
SWEEP = {
    "parameters": {"d.drift": [0.0, 1.0, 3.0], "d.noise": {"uniform": [0.5, 1.5]}},
    "samples": 5,
    "sampling": "latin_hypercube",
    "sample_seed": 2,
    "trials": 40,
    "steps": 200,
    "dt": 0.01,
    "stop_when": "abs(d.X) >= 0.5",
    "record": ["d.X", "d.pair"],
    "seeds": 7,
}
REDUCE = {
    "over": ["trial"],
    "count": True,
    "mean": True,
    "var": ["X", "stopped_time"],
    "quantiles": [0.1, 0.5],
    "histogram": {"d.X": {"linspace": [-1, 1, 9]}, "stopped_step": [1, 10, 100]},
}
HERE = {
    "parameters": {"d.drift": [0.0, 1.0, 3.0], "d.noise": mdf_c.uniform(0.5, 1.5)},
    **{key: SWEEP[key] for key in ("samples", "sampling", "sample_seed", "trials", "steps", "dt", "stop_when", "record", "seeds")},
    "progress": False,
}
REDUCE_HERE = {**REDUCE, "histogram": {"d.X": np.linspace(-1, 1, 9), "stopped_step": [1, 10, 100]}}


@pytest.fixture
def run(tmp_path):
    """Starts mdf-run --sweep, or mdf-merge, in a folder; returns its exit status and what it says."""
    if not os.path.exists(os.path.join(BUILD, "mdf-run")):
        pytest.skip("mdf-run is not here")
    (tmp_path / "walk.json").write_text(json.dumps(WALK))
    (tmp_path / "every.yaml").write_text(json.dumps(SWEEP))
    (tmp_path / "reduced.yaml").write_text(json.dumps({**SWEEP, "reduce": REDUCE}))

    def call(file, *arguments):
        command = [os.path.join(BUILD, "mdf-run"), "--sweep", file, "walk.json", *arguments]
        if file == "mdf-merge":
            command = [os.path.join(BUILD, file), *arguments]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return ended.returncode, ended.stderr

    return call


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_each_instance_gives_is_the_same_by_all_ways(run, tmp_path):
    here = mdf_c.sweep(WALK, **HERE)
    assert here.dims == ("d.drift", "sample", "trial")
    assert run("every.yaml", "-o", "all.npz") == (0, "")
    assert run("every.yaml", "-o", "all.json") == (0, "")
    assert run("every.yaml", "-o", "all.csv") == (0, "")
    assert run("every.yaml", "-o", "all.zarr", "--chunk", "64") == (0, "")
    whole, told = np.load(tmp_path / "all.npz"), json.loads((tmp_path / "all.json").read_text())
    for name, values in here.outputs.items():
        assert whole[name].tobytes() == values.tobytes(), name
        np.testing.assert_array_equal(np.array(told["outputs"][name]), values)
    assert whole["d.noise"].tolist() == here.axes["d.noise"].tolist()
    same(mdf_c.open_sweep(tmp_path / "all.zarr").result(), here)
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    table = pandas.read_csv(tmp_path / "all.csv")
    assert table["stopped_step"].tolist() == here["stopped_step"].ravel().tolist()
    assert table["d.noise"].tolist() == np.tile(np.repeat(here.axes["d.noise"], 40), 3).tolist()
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    mdf_c.open_sweep(tmp_path / "all.zarr").to_parquet(tmp_path / "all.parquet")
    assert pandas.read_parquet(tmp_path / "all.parquet")["stopped_time"].equals(table["stopped_time"])


def test_reductions_are_the_same_by_all_ways(run, tmp_path):
    here = mdf_c.sweep(WALK, reduce=REDUCE_HERE, **HERE)
    for name in ("r.npz", "r.json", "r.csv", "r.zarr"):
        assert run("reduced.yaml", "-o", name, "--threads", "2") == (0, "")
    whole, told = np.load(tmp_path / "r.npz"), json.loads((tmp_path / "r.json").read_text())
    for name, values in here.outputs.items():
        assert whole[name].tobytes() == values.tobytes(), name
        np.testing.assert_array_equal(np.array(told["outputs"][name]), values)
    assert whole["d.X.histogram.edges"].tolist() == here.points["d.X.histogram"].tolist()
    stored = mdf_c.open_sweep(tmp_path / "r.zarr").result()
    same(stored, here)
    assert stored.dims == ("d.drift", "sample")
    assert {name: values.tolist() for name, values in stored.points.items()} == {
        name: values.tolist() for name, values in here.points.items()
    }
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    pytest.importorskip("zarr", reason="zarr is not installed")
    data = xarray.open_zarr(str(tmp_path / "r.zarr"), consolidated=False)
    assert data["d.X.mean"].dims == ("d.drift", "sample")
    assert data["d.X.mean"].values.tobytes() == here["d.X.mean"].tobytes()
    lines = (tmp_path / "r.csv").read_text().splitlines()
    assert lines[0].startswith("cell,d.drift,d.noise,step,time,d.X.count,d.pair.count[0]")
    assert len(lines) == 1 + 15
    netcdf = pytest.importorskip("netCDF4", reason="netCDF4 is not installed")
    mdf_c.open_sweep(tmp_path / "r.zarr").to_netcdf(tmp_path / "r.nc")
    with netcdf.Dataset(tmp_path / "r.nc") as kept:
        assert kept["d.X.mean"][...].tobytes() == here["d.X.mean"].tobytes()


@pytest.mark.parametrize("options", [("--zarr-format", "3"), ("--zarr-format", "3", "--compress", "gzip"), ("--compress", "gzip")])
def test_reductions_in_other_versions_and_compressed(run, tmp_path, options):
    here = mdf_c.sweep(WALK, reduce=REDUCE_HERE, **HERE)
    assert run("reduced.yaml", "-o", "all.zarr", *options) == (0, "")
    same(mdf_c.open_sweep(tmp_path / "all.zarr").result(), here)
    for part in "12":
        assert run("reduced.yaml", "-o", f"{part}.zarr", "--part", f"{part}/2", *options) == (0, "")
    assert run("mdf-merge", "m.zarr", "1.zarr", "2.zarr") == (0, "")
    assert files(tmp_path / "m.zarr") == files(tmp_path / "all.zarr")


@pytest.mark.parametrize("chunk", ["7", "64", "1000"])
def test_the_size_of_chunks_and_the_number_of_parts_change_no_bit(run, tmp_path, chunk):
    here = mdf_c.sweep(WALK, reduce=REDUCE_HERE, **HERE)
    for part in "123":
        assert run("reduced.yaml", "-o", f"{part}.zarr", "--part", f"{part}/3", "--chunk", chunk) == (0, "")
    if chunk != "1000":
        status, message = run("mdf-merge", "m.zarr", "1.zarr", "3.zarr")
        assert status == 1 and "no part has chunk" in message
    assert run("mdf-merge", "all.zarr", "1.zarr", "2.zarr", "3.zarr") == (0, "")
    same(mdf_c.open_sweep(tmp_path / "all.zarr").result(), here)
    assert run("reduced.yaml", "-o", "whole.zarr", "--chunk", chunk) == (0, "")
    assert files(tmp_path / "all.zarr") == files(tmp_path / "whole.zarr")
    if chunk == "7":
        (tmp_path / "2.zarr/.reduced/31").write_bytes(b"MDFr")
        status, message = run("mdf-merge", "n.zarr", "1.zarr", "2.zarr", "3.zarr")
        assert status == 1 and "broken" in message


def test_reductions_of_a_sweep_that_is_killed_five_times_have_the_same_bits(run, tmp_path):
    (tmp_path / "reduced.yaml").write_text(json.dumps({**SWEEP, "reduce": REDUCE, "trials": 4000}))
    assert run("reduced.yaml", "-o", "whole.zarr", "--chunk", "100") == (0, "")
    command = [os.path.join(BUILD, "mdf-run"), "--sweep", "reduced.yaml", "walk.json", "-o", "r.zarr", "--resume", "--chunk", "100"]
    numbers, n_killed = random.Random(3), 0
    while n_killed < 5:
        with subprocess.Popen([*command, "--quiet"], cwd=tmp_path) as process:
            n_before = len(list((tmp_path / "r.zarr/.reduced").glob("*"))) if (tmp_path / "r.zarr/.reduced").exists() else 0
            end = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < end:
                n = len(list((tmp_path / "r.zarr/.reduced").glob("*"))) if (tmp_path / "r.zarr/.reduced").exists() else 0
                if n > n_before + numbers.randrange(1, 20):
                    break
                time.sleep(0.001)
            assert process.poll() is None, "it ended before it was killed"
            process.kill()
        n_killed += 1
    assert mdf_c.open_sweep(tmp_path / "r.zarr").missing()
    assert run("reduced.yaml", "-o", "r.zarr", "--resume", "--chunk", "100") == (0, "")
    assert files(tmp_path / "r.zarr") == files(tmp_path / "whole.zarr")


def test_another_stop_or_reduction_is_another_sweep(run, tmp_path):
    assert run("reduced.yaml", "-o", "r.zarr") == (0, "")
    for other in ({"stop_when": "abs(d.X) >= 0.6"}, {"reduce": {**REDUCE, "over": ["sample"]}}, {"sample_seed": 3}, {"trials": 41}):
        (tmp_path / "other.yaml").write_text(json.dumps({**SWEEP, "reduce": REDUCE, **other}))
        status, message = run("other.yaml", "-o", "r.zarr", "--resume")
        assert status == 1 and "results of another sweep" in message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reduce": {}}, "'reduce' asks for nothing"),
        ({"reduce": {"median": True}}, "'reduce' has no key 'median'"),
        ({"reduce": {"mean": ["Y"]}}, "'Y' is no port that is recorded"),
        ({"reduce": {"over": ["noise"], "mean": True}}, "'noise', which is no axis"),
        ({"reduce": {"quantiles": [1.5]}}, "numbers from 0 to 1"),
        ({"reduce": {"histogram": {"X": [1]}}}, "at least two edges"),
        ({"stop_when": None, "reduce": {"mean": "stopped_step"}}, "only where 'stop_when'"),
        ({"stop_when": "Y > 1"}, "is no output port"),
        ({"stop_when": 3}, "'stop_when' must be an expression"),
        ({"trials": 0}, "'trials' must be a whole number"),
        ({"samples": None}, "'samples' must say how many"),
        ({"sampling": "halton"}, "'sampling' must be random, sobol or latin_hypercube"),
        ({"parameters": {"d.drift": {"uniform": [1, 0]}}}, "ascend"),
        ({"parameters": {"d.drift": {"normal": [1]}}}, "a list of two numbers"),
        ({"parameters": {}, "trials": None}, "'parameters' must be an object"),
    ],
)
def test_mistakes_in_the_file_are_told(run, tmp_path, change, message):
    changed = {key: value for key, value in {**SWEEP, **change}.items() if value is not None}
    (tmp_path / "wrong.yaml").write_text(json.dumps(changed))
    status, told = run("wrong.yaml", "-o", "x.npz")
    assert status == 1
    assert message in told
    assert not (tmp_path / "x.npz").exists()
