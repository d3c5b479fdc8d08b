#!/usr/bin/env python3
"""How long files take to be read, and programs to start.

    python3 bench/loading.py FILE       prints the peak of resident memory and the seconds of loading a file, as JSON
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import time

import engines
import libmdf
import mdf_workloads

FOLDER = engines.FOLDER / "loading"
N_RUNS = 15


# ---------------------------------------------------------------- files of numbers


def numbers_model(n):
    """An MDF model with n numbers, most of them in matrices."""
    generator = random.Random(1)
    columns = 50
    rows = [[generator.uniform(-1, 1) for _ in range(columns)] for _ in range(n // columns)]
    parameters = {"weights": {"value": rows}, "bias": {"value": [generator.uniform(-1, 1) for _ in range(columns)]}}
    nodes = {"net": {"parameters": parameters, "output_ports": {"out": {"value": "bias"}}}}
    return {"numbers": {"format": "ModECI MDF v0.4", "graphs": {"g": {"nodes": nodes}}}}


def write_block(value, file, indent=0):
    """Block style as PyYAML writes it: an item a line."""
    pad = "  " * indent
    for key, item in value.items():
        if isinstance(item, dict):
            file.write(f"{pad}{key}:\n")
            write_block(item, file, indent + 1)
        elif isinstance(item, list):
            file.write(f"{pad}{key}:\n")
            for row in item:
                lines = [f"- {x!r}" for x in row] if isinstance(row, list) else [repr(row)]
                file.write(f"{pad}- " + f"\n{pad}  ".join(lines) + "\n")
        else:
            file.write(f"{pad}{key}: {item}\n")


def write_flow(value, file, indent=0):
    """Block style down to the numbers, which stand in brackets, rows on lines of their own."""
    pad = "  " * indent
    for key, item in value.items():
        if isinstance(item, dict):
            file.write(f"{pad}{key}:\n")
            write_flow(item, file, indent + 1)
        elif isinstance(item, list):
            file.write(f"{pad}{key}: [" + f",\n{pad}  ".join(json.dumps(row) for row in item) + "]\n")
        else:
            file.write(f"{pad}{key}: {item}\n")


def write_numbers():
    FOLDER.mkdir(parents=True, exist_ok=True)
    model = numbers_model(100_000)
    (FOLDER / "numbers.json").write_text(json.dumps(model))
    (FOLDER / "numbers_indented.json").write_text(json.dumps(model, indent=4))
    with open(FOLDER / "numbers_flow.yaml", "w") as file:
        write_flow(model, file)
    with open(FOLDER / "numbers_block.yaml", "w") as file:
        write_block(model, file)


def python_json(path):
    with open(path) as file:
        json.load(file)


def library(path):
    """Loads a model by the C library, without compiling it."""
    error = libmdf.Error()
    model = libmdf.LIBRARY.mdf_model_load_file(str(path).encode(), error)
    if not model:
        raise libmdf.Failure(error.message.decode())
    libmdf.LIBRARY.mdf_model_free(model)


def in_turn(things):
    """The least seconds of each function, which are called in turn."""
    best = dict.fromkeys(things, float("inf"))
    for _ in range(N_RUNS):
        for name, (function, argument) in things.items():
            best[name] = min(best[name], engines.clock(function, argument))
    return best


def measure_numbers():
    write_numbers()
    things = {"numbers.json, Python's json.load": (python_json, FOLDER / "numbers.json")}
    for name in "numbers.json", "numbers_indented.json", "numbers_flow.yaml", "numbers_block.yaml":
        things[f"{name}, mdf_c"] = (library, FOLDER / name)
    try:
        yaml = engines.package("yaml")
        with open(FOLDER / "numbers_flow.yaml") as file:
            start = time.perf_counter()
            yaml.load(file, Loader=yaml.CSafeLoader)
            pyyaml = time.perf_counter() - start
    except (engines.Absent, AttributeError):
        pyyaml = None
    best = in_turn(things)
    best["numbers_flow.yaml, PyYAML with libyaml"] = pyyaml
    return best


# ---------------------------------------------------------------- weights


def write_weights(path, megabytes):
    """An .onnx of that size: ten float32 matrices as raw data, a row of each gathered and summed."""
    import numpy as np
    from onnx import TensorProto, helper
    columns = megabytes * 100_000 // 4 // 1000
    values = [np.random.default_rng(i).standard_normal(1000 * columns, "float32") for i in range(10)]
    tensors = [helper.make_tensor(f"w{i}", TensorProto.FLOAT, [1000, columns], values[i].tobytes(), raw=True) for i in range(10)]
    gathers = [helper.make_node("Gather", [f"w{i}", "row"], [f"r{i}"]) for i in range(10)]
    graph = helper.make_graph([*gathers, helper.make_node("Sum", [f"r{i}" for i in range(10)], ["y"])], "weights",
                              [helper.make_tensor_value_info("row", TensorProto.INT64, [1])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, columns])], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    path.write_bytes(model.SerializeToString())


def read_anew(path):
    """Into memory that the process did not have before, as weights that are kept must be."""
    with open(path, "rb", buffering=0) as file:
        file.readall()


def read_over(path):
    """Through one small buffer, as cat does: the bytes are not kept."""
    buffer = bytearray(1 << 20)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def measure_weights(megabytes):
    path = FOLDER / f"weights_{megabytes}.onnx"
    write_weights(path, megabytes)
    best = in_turn({"mdf_c": (library, path), "read into fresh memory": (read_anew, path),
                    "read through a buffer": (read_over, path)})
    done = subprocess.run([sys.executable, __file__, str(path)], capture_output=True, text=True, check=True)
    best["peak"] = json.loads(done.stdout)["peak"] / path.stat().st_size
    path.unlink()
    return best


def measure():
    return {"numbers": measure_numbers(), "weights": {size: measure_weights(size) for size in (100, 400)}}


# ---------------------------------------------------------------- start


def launch(command):
    """Seconds from the start of a program to its end; None where it fails."""
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
    start = time.perf_counter()
    process = os.posix_spawnp(command[0], [str(word) for word in command], os.environ, file_actions=quiet)
    _, status = os.waitpid(process, 0)
    return time.perf_counter() - start if status == 0 else None


def measure_start():
    """The least seconds of whole processes, in turn; None where one fails."""
    simple = mdf_workloads.UPSTREAM / "MDF" / "Simple.json"
    simple = simple if simple.exists() else mdf_workloads.EXAMPLES / "weighted_edges.json"
    python = sys.executable
    commands = {
        "/bin/true": (["/bin/true"], 100),
        f"mdf-run {simple.name}": ([engines.MDF_RUN, simple], 100),
        "python -c pass": ([python, "-c", "pass"], 20),
        "python, import numpy": ([python, "-c", "import numpy"], 5),
        "python, import onnxruntime": ([python, "-c", "import onnxruntime"], 5),
        f"python -m modeci_mdf.execution_engine {simple.name}": ([python, "-m", "modeci_mdf.execution_engine", simple], 3),
    }
    times = {name: [] for name in commands}
    for i in range(100):
        for name, (command, n) in commands.items():
            if i < n and None not in times[name]:
                times[name].append(launch(command))
    return {name: None if None in found else min(found) for name, found in times.items()}


if __name__ == "__main__":
    import memory
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    before = memory.resident("VmRSS")
    library(sys.argv[1])
    print(json.dumps({"peak": memory.resident("VmHWM") - before}))
