"""open_sweep, and mdf-run's folders read by zarr, in parts too."""

import os
import random
import subprocess
import time

import numpy as np
import pytest
from conftest import ROOT

import mdf_c

BUILD = os.environ.get("MDF_C_BUILD", str(ROOT / "build"))
SWEEP = """
parameters:
  membrane.a: {linspace: [0.5, 0.9, 101]}
  membrane.current: [0.0, 0.4, 0.8]
steps: 40
dt: 0.05
record: [membrane.V, membrane.W]
every: 10
seeds: 7
"""


@pytest.fixture
def run(examples, tmp_path):
    """Starts mdf-run --sweep in a folder; returns its exit status and what it says."""
    program = os.path.join(BUILD, "mdf-run")
    if not os.path.exists(program):
        pytest.skip("mdf-run is not here")
    (tmp_path / "sweep.yaml").write_text(SWEEP)

    def call(*arguments, program=program):
        command = [program, *arguments]
        if program.endswith("mdf-run"):
            command += ["--sweep", "sweep.yaml", str(examples / "fitzhugh_nagumo.yaml")]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return ended.returncode, ended.stderr

    return call


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_stored_sweep_is_that_of_an_archive(run, tmp_path):
    assert run("-o", "all.npz") == (0, "")
    assert run("-o", "all.zarr") == (0, "")
    stored, whole = mdf_c.open_sweep(tmp_path / "all.zarr"), np.load(tmp_path / "all.npz")
    result = stored.result()
    assert "303 instances (complete)" in repr(stored)
    assert result.dims == ("membrane.a", "membrane.current", "step")
    assert result.seeds.tobytes() == whole["seed"].tobytes()
    for name in ("membrane.V", "membrane.W"):
        assert result[name].shape == whole[name].shape == (101, 3, 4)
        assert result[name].tobytes() == whole[name].tobytes()
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    group = zarr.open_group(str(tmp_path / "all.zarr"), mode="r")
    for name in whole:
        assert group[name][:].tobytes() == whole[name].tobytes()
    assert group["membrane.V"].chunks == (64, 4)


FORMATS = [("--zarr-format", "3"), ("--compress", "gzip"), ("--compress", "zstd"), ("--zarr-format", "3", "--compress", "zstd"),
           ("--zarr-format", "3", "--compress", "gzip")]


@pytest.mark.parametrize("options", FORMATS)
def test_versions_of_zarr_and_compressed_chunks_hold_the_same(run, tmp_path, options):
    if "zstd" in options:
        pytest.importorskip("zstandard", reason="zstandard is not installed")
    assert run("-o", "plain.zarr") == (0, "")
    status, message = run("-o", "all.zarr", *options)
    if "can not be loaded" in message:
        pytest.skip(message)
    assert (status, message) == (0, "")
    plain, result = (mdf_c.open_sweep(tmp_path / name).result() for name in ("plain.zarr", "all.zarr"))
    assert result.dims == plain.dims
    for name, values in plain.outputs.items():
        assert result[name].tobytes() == values.tobytes()
    if "--compress" in options:
        sizes = [sum(path.stat().st_size for path in (tmp_path / name).rglob("[0-9]*")) for name in ("plain.zarr", "all.zarr")]
        assert sizes[1] < sizes[0]
    for part in "12":
        assert run("-o", f"{part}.zarr", "--part", f"{part}/2", *options) == (0, "")
    assert run("m.zarr", "1.zarr", "2.zarr", program=os.path.join(BUILD, "mdf-merge")) == (0, "")
    assert files(tmp_path / "m.zarr") == files(tmp_path / "all.zarr")
    (next((tmp_path / "all.zarr/membrane.V").glob("1*"))).unlink()
    assert run("-o", "all.zarr", "--resume", *options) == (0, "")
    assert files(tmp_path / "m.zarr") == files(tmp_path / "all.zarr")
    assert run("-o", "all.zarr", "--resume", "--chunk", "9", *options)[0] == 1
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    group = zarr.open_group(str(tmp_path / "all.zarr"), mode="r")
    assert group.metadata.zarr_format == (3 if "3" in options else 2)
    for name in ("membrane.a", "seed", "membrane.V", "time"):
        expected = mdf_c.open_sweep(tmp_path / "plain.zarr")
        assert group[name][...].tobytes() == zarr.open_group(str(expected.path), mode="r")[name][...].tobytes()
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    data = xarray.open_zarr(str(tmp_path / "all.zarr"), consolidated=False)
    assert data["membrane.V"].dims == ("instance", "step")


def test_parts_are_merged_and_those_of_others_refused(run, tmp_path):
    merge = os.path.join(BUILD, "mdf-merge")
    run("-o", "all.zarr")
    for part in "123":
        assert run("-o", f"{part}.zarr", "--part", f"{part}/3") == (0, "")
    status, message = run("m.zarr", "1.zarr", "3.zarr", program=merge)
    assert status == 1 and "no part has chunk 1 of 'seed', the instances from 64 on" in message
    assert not (tmp_path / "m.zarr").exists()
    assert run("m.zarr", "1.zarr", "2.zarr", "3.zarr", program=merge) == (0, "")
    assert files(tmp_path / "m.zarr") == files(tmp_path / "all.zarr")
    assert run("-o", "other.zarr", "--part", "2/3", "--seed", "9")[0] == 0
    status, message = run("n.zarr", "1.zarr", "other.zarr", "3.zarr", program=merge)
    assert status == 1 and "other.zarr: error: this is no part of the sweep that 1.zarr is one of" in message
    (tmp_path / "2.zarr/seed/0").write_bytes(b"x")
    status, message = run("n.zarr", "1.zarr", "2.zarr", "3.zarr", program=merge)
    assert status == 1 and "the parts do not agree" in message
    assert len(mdf_c.open_sweep(tmp_path / "3.zarr").missing()) == 3


def test_a_sweep_goes_on_at_the_first_missing_chunk_only_where_it_is_the_same(run, tmp_path):
    run("-o", "all.zarr")
    before = files(tmp_path / "all.zarr")
    status, message = run("-o", "all.zarr")
    assert status == 1 and "--resume goes on" in message
    for name in ("membrane.V/1.0", "seed/3", ".zattrs"):
        (tmp_path / "all.zarr" / name).unlink()
    (tmp_path / "all.zarr/seed/3.99-0.new").write_bytes(b"half")
    stays = (tmp_path / "all.zarr/seed/0").stat().st_mtime_ns
    assert run("-o", "all.zarr", "--resume") == (0, "")
    assert files(tmp_path / "all.zarr") == before
    assert (tmp_path / "all.zarr/seed/0").stat().st_mtime_ns == stays
    for other in (["--seed", "8"], ["--steps", "50"], ["--chunk", "7"], ["--set", "membrane.b=0.9"], ["--float32"]):
        status, message = run("-o", "all.zarr", "--resume", *other)
        assert status == 1 and "results of another sweep" in message
    assert files(tmp_path / "all.zarr") == before


def test_a_sweep_that_is_killed_again_and_again_has_the_same_bits(run, examples, tmp_path):
    run("-o", "all.zarr", "--steps", "4000", "--chunk", "10")
    command = [os.path.join(BUILD, "mdf-run"), "--sweep", "sweep.yaml", str(examples / "fitzhugh_nagumo.yaml")]
    command += ["-o", "killed.zarr", "--steps", "4000", "--chunk", "10", "--resume"]
    for _ in range(5):
        with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) as process:
            time.sleep(random.uniform(0.005, 0.06))
            process.kill()
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == 0
    # Names with .new of what is no chunk stay: another part may be writing them.
    there = {name: held for name, held in files(tmp_path / "killed.zarr").items() if name.suffix != ".new"}
    assert there == files(tmp_path / "all.zarr")


def test_a_stored_sweep_as_parquet(run, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    run("-o", "all.zarr")
    run("-o", "all.csv")
    mdf_c.open_sweep(tmp_path / "all.zarr").to_parquet(tmp_path / "all.parquet")
    table = parquet.read_table(tmp_path / "all.parquet")
    assert parquet.ParquetFile(tmp_path / "all.parquet").num_row_groups == 5
    rows = np.genfromtxt(tmp_path / "all.csv", delimiter=",", names=True, deletechars="")
    assert table.column_names == (tmp_path / "all.csv").read_text().split("\n", 1)[0].split(",")
    for name in ("membrane.a", "membrane.V", "membrane.W", "time"):
        assert table[name].to_numpy().tobytes() == rows[name].tobytes()
    assert not list(tmp_path.glob("*.new"))


def test_a_stored_sweep_as_netcdf(run, tmp_path):
    netcdf = pytest.importorskip("netCDF4", reason="netCDF4 is not installed")
    run("-o", "all.zarr")
    stored = mdf_c.open_sweep(tmp_path / "all.zarr")
    stored.to_netcdf(tmp_path / "all.nc")
    with netcdf.Dataset(tmp_path / "all.nc") as data:
        assert data["membrane.V"].dimensions == ("instance", "step")
        assert data["membrane.V"][:].tobytes() == stored.result()["membrane.V"].tobytes()
        assert data["seed"][:].tobytes() == stored.result().seeds.tobytes()
    (tmp_path / "all.zarr/seed/2").unlink()
    with pytest.raises(FileNotFoundError):
        stored.to_netcdf(tmp_path / "half.nc")
    assert not list(tmp_path.glob("half*"))


def test_the_script_for_slurm_does_what_its_page_says(run):
    script = ROOT / "tests/cluster/slurm_array.sh"
    ended = subprocess.run(
        ["bash", str(script)], cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "BUILD": BUILD}
    )
    assert ended.returncode == 0, ended.stderr
    assert "gave the bytes of one call" in ended.stdout
