"""What is timed. An engine is a row of ENGINES: a name, what it is, and for each kind of workload the class that runs it.

A runner is made of a problem, raises Absent where it can not run it (its package is not there, or it does not do such models),
and has
    run()      does the whole of the problem once, and gives the seconds that this took
    results()  what came out, as a list of arrays
    units      how many iterations or steps one run() is
Runners that are `slow` get the small size of a problem."""

import collections
import contextlib
import ctypes
import importlib.util
import io
import json
import math
import os
import pathlib
import subprocess
import tempfile
import time
import warnings

import numpy as np

import libmdf

FOLDER = pathlib.Path(os.environ.get("BENCH", libmdf.BUILD / "bench"))
MDF_RUN = libmdf.BUILD / "mdf-run"

Engine = collections.namedtuple("Engine", "name about onnx mdf")


NOT_WRITTEN = "nobody wrote it by hand"


class Absent(Exception):
    """This engine can not run this problem here."""


def package(name):
    """A package, or Absent."""
    if importlib.util.find_spec(name.partition(".")[0]) is None:
        raise Absent(f"the package {name} is not installed")
    return importlib.import_module(name)


def clock(function, *arguments, timer=time.perf_counter):
    start = timer()
    function(*arguments)
    return timer() - start


def model_file(problem):
    """The file of an ONNX problem."""
    path = FOLDER / "models" / f"{problem.name.replace(' ', '_')}_{problem.units}.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(problem.model.SerializeToString())
    return path


# ---------------------------------------------------------------- this engine, as a library


class Library:
    """An ONNX model through mdf_evaluate. Inputs are lent before the clock starts: as the others, it reads them where they lie."""

    slow = False
    timer = staticmethod(time.perf_counter)

    def __init__(self, problem):
        self.problem, self.units = problem, problem.units
        self.model = libmdf.Model(model_file(problem))

    def run(self):
        self.model.lend_inputs(self.problem.inputs)
        return clock(self.model.evaluate, timer=self.timer)

    def results(self):
        return self.model.results()


class LibrarySteps:
    """Steps of an MDF model that nobody looks at, as the hand-written C does them: one call of mdf_evaluate_steps."""

    slow = False
    timer = staticmethod(time.perf_counter)

    def __init__(self, problem):
        self.problem, self.units = problem, problem.steps
        self.model = libmdf.Model(problem.path)
        self.model.evaluate()

    def steps(self, n):
        self.model.evaluate_steps(n, math.nan if self.problem.dt is None else self.problem.dt)

    def run(self):
        self.model.restart()
        self.model.evaluate()
        return clock(self.steps, self.units, timer=self.timer)

    def results(self):
        self.model.restart()
        self.model.evaluate()
        self.steps(self.problem.small)
        return [self.model.output(*name.split(".", 1)) for name in self.problem.outputs]


class LibraryStepByStep(LibrarySteps):
    """Steps whose outputs the caller could look at each time: mdf_evaluate by a loop in C."""

    def __init__(self, problem):
        super().__init__(problem)
        self.loop = ctypes.CDLL(str(FOLDER / "libhandwritten.so")).bench_steps
        self.loop.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double, ctypes.c_int64, ctypes.POINTER(libmdf.Error)]
        self.evaluate = ctypes.cast(libmdf.LIBRARY.mdf_evaluate, ctypes.c_void_p)

    def steps(self, n):
        dt = math.nan if self.problem.dt is None else self.problem.dt
        self.model.check(self.loop(self.evaluate, self.model.state, dt, n, self.model.error))


# ---------------------------------------------------------------- this engine, as a program


class Program:
    """mdf-run with options, which times itself: for ways to run a model that the library's interface does not have. A short
    evaluation is repeated until the processor knows its branches, as it does those of who is called within one process."""

    slow = False
    options = []
    warm_s = 0.005

    def __init__(self, problem):
        help_text = subprocess.run([MDF_RUN, "--help"], capture_output=True, text=True, check=True).stdout
        for option in self.options:
            if option not in help_text:
                raise Absent(f"mdf-run has no {option}")
        self.problem = problem
        self.folder = tempfile.TemporaryDirectory(dir=FOLDER)
        self.output = pathlib.Path(self.folder.name) / "output.npz"
        self.prepare()
        self.n_repeats = max(3, min(200, int(self.warm_s / self.execute(self.arguments(1)))))

    def execute(self, arguments):
        command = [MDF_RUN, "--time", "--quiet", "-o", self.output, *self.options, *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise Absent(done.stderr.strip().splitlines()[-1].rpartition("error: ")[2])
        return min(json.loads(done.stderr.strip().splitlines()[-1])["evaluate_s"])

    def run(self):
        return self.execute(self.arguments(self.n_repeats))


class ProgramOnce(Program):
    def prepare(self):
        self.units = self.problem.units
        self.model = model_file(self.problem)
        self.inputs = pathlib.Path(self.folder.name) / "inputs.npz"
        np.savez(self.inputs, **self.problem.inputs)

    def arguments(self, repeats):
        return ["--repeat", str(repeats), "--inputs", self.inputs, self.model]

    def results(self):
        with np.load(self.output) as arrays:
            by_port = {name.rpartition(".")[2]: array for name, array in arrays.items()}
        return [by_port[output.name] for output in self.problem.model.graph.output]


class ProgramSteps(Program):
    def prepare(self):
        self.units = self.problem.steps

    def arguments(self, repeats, steps=None):
        dt = [] if self.problem.dt is None else ["--dt", repr(self.problem.dt)]
        return ["--repeat", str(repeats), "--steps", str((steps or self.units) + 1), *dt, self.problem.path]

    def results(self):
        self.execute(self.arguments(1, self.problem.small))
        with np.load(self.output) as arrays:
            return [arrays[name] for name in self.problem.outputs]


class CompiledOnce(ProgramOnce):
    options = ["--compile"]


class CompiledSteps(ProgramSteps):
    options = ["--compile"]


# ---------------------------------------------------------------- peers


class OnnxRuntime:
    slow = False
    threads = 0

    def __init__(self, problem):
        onnxruntime = package("onnxruntime")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        self.problem, self.units = problem, problem.units
        self.session = onnxruntime.InferenceSession(str(model_file(problem)), options, providers=["CPUExecutionProvider"])

    def evaluate(self):
        self.outputs = self.session.run(None, self.problem.inputs)

    def run(self):
        return clock(self.evaluate)

    def results(self):
        return self.outputs


class OnnxRuntimeOneThread(OnnxRuntime):
    threads = 1


class OnnxReference:
    slow = True

    def __init__(self, problem):
        self.problem, self.units = problem, problem.units
        self.evaluator = package("onnx.reference").ReferenceEvaluator(problem.model)

    def evaluate(self):
        self.outputs = self.evaluator.run(None, self.problem.inputs)

    def run(self):
        return clock(self.evaluate)

    def results(self):
        return self.outputs


class ModeciMdf:
    """Steps of the Python engine; each run begins with a fresh graph, as its lists of what ran grow."""

    slow = True

    def __init__(self, problem):
        warnings.filterwarnings("ignore")
        self.engine, utils = package("modeci_mdf.execution_engine"), package("modeci_mdf.utils")
        self.problem, self.units = problem, problem.small
        with contextlib.redirect_stdout(io.StringIO()):
            self.model = utils.load_mdf(str(problem.path)).graphs[0]
            self.begin()

    def begin(self):
        self.graph = self.engine.EvaluableGraph(self.model, verbose=False)
        self.graph.evaluate()

    def steps(self):
        increment = {} if self.problem.dt is None else {"time_increment": self.problem.dt}
        for _ in range(self.units):
            self.graph.evaluate(**increment)

    def run(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.begin()
            return clock(self.steps)

    def results(self):
        ports = [name.split(".", 1) for name in self.problem.outputs]
        return [np.asarray(self.graph.enodes[node].evaluable_outputs[port].curr_value) for node, port in ports]


def output_names(problem):
    """All output ports of an MDF model."""
    done = subprocess.run([MDF_RUN, "--quiet", problem.path], capture_output=True, text=True, check=True)
    return [f"{node}.{port}" for node, ports in json.loads(done.stdout)["outputs"].items() for port in ports]


class Numpy:
    """The workload as one writes it in Python: whole arrays by numpy, numbers by Python."""

    slow = False

    def __init__(self, problem):
        self.problem, self.units = problem, problem.units

    def evaluate(self):
        self.outputs = self.problem.numpy(*self.problem.inputs.values())

    def run(self):
        return clock(self.evaluate)

    def results(self):
        return self.outputs


# ---------------------------------------------------------------- C


def addresses(arrays):
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


def handwritten(name):
    function = getattr(ctypes.CDLL(str(FOLDER / "libhandwritten.so")), name)
    function.restype = None
    return function


class Handwritten:
    slow = False

    def __init__(self, problem):
        self.problem, self.units = problem, problem.units
        self.function = handwritten(problem.c)
        self.sizes = (ctypes.c_int64 * max(1, len(problem.c_sizes)))(*problem.c_sizes)
        self.inputs = [np.ascontiguousarray(array) for array in problem.inputs.values()]
        self.outputs = [np.empty_like(array) for array in self.shapes()]

    def shapes(self):
        from onnx.helper import tensor_dtype_to_np_dtype
        for output in self.problem.model.graph.output:
            tensor = output.type.tensor_type
            shape = [axis.dim_value or int(self.problem.inputs["n"]) for axis in tensor.shape.dim]
            yield np.empty(shape, tensor_dtype_to_np_dtype(tensor.elem_type))

    def run(self):
        return clock(self.function, self.sizes, addresses(self.inputs), addresses(self.outputs))

    def results(self):
        return self.outputs


class HandwrittenSteps:
    slow = False
    WIDTH = 10

    def __init__(self, problem):
        if problem.c is None:
            raise Absent(NOT_WRITTEN)
        self.problem, self.units = problem, problem.steps
        self.function = handwritten(problem.c)
        self.dt = np.array(math.nan if problem.dt is None else problem.dt)
        self.outputs = [np.empty(self.WIDTH) for _ in problem.outputs]

    def steps(self, n):
        self.function((ctypes.c_int64 * 1)(n), addresses([self.dt]), addresses(self.outputs))

    def run(self):
        return clock(self.steps, self.units)

    def results(self):
        self.steps(self.problem.small)
        return self.outputs


# Columns of the tables, in this order. Ratios are to the first.
ENGINES = [
    Engine("mdf_c", "this engine through its C library", Library, LibrarySteps),
    Engine("mdf_c each step", "this engine, one call of its C library a step", None, LibraryStepByStep),
    Engine("mdf_c compiled", "this engine by mdf-run --compile", CompiledOnce, CompiledSteps),
    Engine("C", "hand-written C, one thread", Handwritten, HandwrittenSteps),
    Engine("onnxruntime", "ONNX Runtime as it comes", OnnxRuntime, None),
    Engine("onnxruntime 1", "ONNX Runtime with one thread", OnnxRuntimeOneThread, None),
    Engine("numpy", "numpy and Python", Numpy, None),
    Engine("onnx.reference", "the evaluator of the package onnx; smaller sizes", OnnxReference, None),
    Engine("modeci_mdf", "the Python engine of MDF; fewer steps", None, ModeciMdf),
]
