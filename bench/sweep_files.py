"""A sweep of 1,000,000 instances end to end, by file format: seconds, processor time, memory, size; and one killed and resumed.

usage: sweep_files.py [--mdf-run build/mdf-run] [--instances 1000000] [--steps 10] [--threads 2] [--rounds 3] [--kills 5]

Of examples/fitzhugh_nagumo.yaml, two ports, the last step. What reads a folder and writes another format is the Python package's
(`mdf_c.open_sweep`), in a process of its own; its row has both. Each figure is the least of all rounds, in which all formats take
turns; memory is the most that one process held at once. Then the .zarr is written again by a call that is killed at random
moments, each time resumed: the files must be those of a call that nobody stopped. Needs the package (PYTHONPATH=python), pyarrow
and netCDF4; formats whose package is missing are left out."""

import argparse
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MODEL = Path(__file__).resolve().parent.parent / "examples" / "fitzhugh_nagumo.yaml"
PARQUET = "import mdf_c, sys; mdf_c.open_sweep(sys.argv[1]).to_parquet(sys.argv[2])"
NETCDF = "import mdf_c, sys; mdf_c.open_sweep(sys.argv[1]).to_netcdf(sys.argv[2])"
#: name: (suffix of mdf-run's file, its options, what makes another file of it, the suffix of that, the package it needs)
FORMATS = {
    ".npz": (".npz", [], None, None, None),
    ".csv": (".csv", [], None, None, None),
    ".zarr": (".zarr", [], None, None, None),
    ".zarr, version 3": (".zarr", ["--zarr-format", "3"], None, None, None),
    ".zarr, zstd": (".zarr", ["--compress", "zstd"], None, None, None),
    ".zarr, gzip": (".zarr", ["--compress", "gzip"], None, None, None),
    ".zarr, then .parquet": (".zarr", [], PARQUET, ".parquet", "pyarrow"),
    ".zarr, then .nc (NetCDF-4)": (".zarr", [], NETCDF, ".nc", "netCDF4"),
}


def run(command):
    """Seconds, processor seconds, the most memory in bytes."""
    begin = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command[0]} ended with status {process.returncode}")
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def size_of(path):
    return sum(f.stat().st_size for f in path.rglob("*") if f.is_file()) if path.is_dir() else path.stat().st_size


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    elif path.exists():
        path.unlink()


def command_of(settings, folder, out, options):
    return [settings.mdf_run, "--sweep", str(folder / "sweep.json"), str(MODEL), "-o", str(out), "--quiet", "--threads",
            str(settings.threads), *options]  # fmt: skip


def measure(settings, folder, name):
    suffix, options, makes, made, _ = FORMATS[name]
    out, other = folder / f"out{suffix}", folder / f"made{made}"
    remove(out)
    remove(other)
    found = run(command_of(settings, folder, out, options))
    if makes is not None:
        second = run([sys.executable, "-c", makes, str(out), str(other)])
        found = found[0] + second[0], found[1] + second[1], max(found[2], second[2])
        out = other
    return (*found, size_of(out))


def files(folder):
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file() and f.suffix != ".new"}


def kill_and_resume(settings, folder, seconds):
    """The same, by a call that is killed while it works; how often it was."""
    whole, killed = folder / "whole.zarr", folder / "killed.zarr"
    remove(whole)
    remove(killed)
    run(command_of(settings, folder, whole, []))
    numbers, n_killed = random.Random(1), 0
    while True:
        process = subprocess.Popen(command_of(settings, folder, killed, ["--resume"]))
        try:
            process.wait(numbers.uniform(0.1, 0.7) * seconds / (settings.kills + 1) if n_killed < settings.kills else None)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            n_killed += 1
            continue
        if process.returncode != 0:
            raise SystemExit(f"mdf-run --resume ended with status {process.returncode}")
        return n_killed, files(whole) == files(killed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mdf-run", default="build/mdf-run")
    parser.add_argument("--instances", type=int, default=1_000_000)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kills", type=int, default=5)
    settings = parser.parse_args()
    names = [name for name, row in FORMATS.items() if row[4] is None or importlib.util.find_spec(row[4])]
    swept = {"membrane.a": {"linspace": [0.5, 0.9, settings.instances // 1000]}, "membrane.current": {"linspace": [0, 0.8, 1000]}}
    sweep = {"parameters": swept, "steps": settings.steps, "dt": 0.05, "record": ["membrane.V", "membrane.W"]}
    best = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "sweep.json").write_text(json.dumps(sweep))
        for _ in range(settings.rounds):
            for name in names:
                found = measure(settings, folder, name)
                best[name] = tuple(map(min, best.get(name, found), found))
        print("| file | seconds | of processors | memory, MB | size, MB |\n|---|---:|---:|---:|---:|")
        for name in names:
            seconds, cpu, memory, size = best[name]
            print(f"| {name} | {seconds:.2f} | {cpu:.2f} | {memory / 1e6:.0f} | {size / 1e6:.1f} |")
        n_killed, is_same = kill_and_resume(settings, folder, best[".zarr"][0])
    print(f"killed {n_killed} times and resumed: {'the same bytes' if is_same else 'OTHER BYTES'}")
    if not is_same:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
