"""The program of derivatives as C source: mdf-compile --gradient, a compiler, and what one call of the step function leaves."""
import ctypes
import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]


class Refused(Exception):
    """The program has no form in C; why."""


class Library:
    def __init__(self, path):
        self._library = ctypes.CDLL(str(path))
        self._head = (ctypes.c_size_t * 2).in_dll(self._library, "mdf_compiled")  # version, size of a state
        self._library.m_output.restype = ctypes.c_void_p
        self._library.m_output.argtypes = [ctypes.c_void_p, ctypes.c_int]
        self._library.m_step.argtypes = [ctypes.c_void_p, ctypes.c_double]
        self._library.m_init.argtypes = [ctypes.c_void_p]
        self._library.m_message.restype = ctypes.c_char_p
        self._library.m_message.argtypes = [ctypes.c_void_p]

    def evaluate(self, like, dt):
        """Arrays of the types and shapes of `like`, the outputs in order; or the message of the error."""
        state = ctypes.create_string_buffer(self._head[1] + 64)
        start = (ctypes.addressof(state) + 63) // 64 * 64
        self._library.m_init(start)
        if self._library.m_step(start, float("nan") if dt is None else dt) != 0:
            return self._library.m_message(start).decode()
        arrays = []
        for number, array in enumerate(like):
            array = np.asarray(array)
            pointer = self._library.m_output(start, number)
            arrays.append(np.frombuffer(ctypes.string_at(pointer, array.nbytes), array.dtype).reshape(array.shape))
        return arrays


def compile_gradient(model, of, wrt, steps, dt, graph, folder, options=()):
    """`model`: a file, or what stands in one. Refused: it has no form in C."""
    build = Path(os.environ.get("MDF_C_BUILD", ROOT / "build"))
    file, source, library = Path(folder) / "model.json", Path(folder) / "out.c", Path(folder) / "out.so"
    if isinstance(model, Path):
        file = model
    else:
        file.write_text(json.dumps(model))
    command = [build / "mdf-compile", file, "--gradient", of, "--of", ",".join(wrt), "--steps", steps, "--name", "m", "-o", source]
    command += ([] if graph is None else ["--graph", graph]) + ([] if dt is None else ["--dt", dt])
    command += options
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise Refused(ran.stderr)
    flags = ["-O0", "-w", "-ffp-contract=off", "-fno-math-errno", "-shared", "-fPIC", "-DMDF_COMPILED"]
    subprocess.run([os.environ.get("CC", "cc"), *flags, str(source), "-o", str(library), "-lm"], check=True)
    return Library(library)


def evaluate(model, of, wrt, steps, dt, graph, like, options=()):
    """What the C source computes."""
    with tempfile.TemporaryDirectory() as folder:
        return compile_gradient(model, of, wrt, steps, dt, graph, folder, options).evaluate(like, dt)
