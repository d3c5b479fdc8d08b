"""The C library by ctypes: as much of mdf_c/mdf.h as the measurements need."""

import ctypes
import math
import os
import pathlib
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).absolute()

NONE, TENSOR = 0, 1


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("line", ctypes.c_int), ("column", ctypes.c_int), ("file", ctypes.c_char * 256),
                ("path", ctypes.c_char * 512), ("message", ctypes.c_char * 1024)]


class Tensor(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_int), ("rank", ctypes.c_size_t), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("data", ctypes.c_void_p)]


class Failure(Exception):
    pass


def _library():
    library = ctypes.CDLL(str(BUILD / "libmdf.so"))
    pointer, text, size, error = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(Error)
    for name, result, *arguments in [
            ("mdf_dtype_name", text, ctypes.c_int),
            ("mdf_value_kind", ctypes.c_int, pointer),
            ("mdf_value_tensor", ctypes.c_bool, pointer, ctypes.POINTER(Tensor)),
            ("mdf_model_load_file", pointer, text, error),
            ("mdf_model_free", None, pointer),
            ("mdf_compile", pointer, pointer, pointer, error),
            ("mdf_program_free", None, pointer),
            ("mdf_program_n_results", size, pointer),
            ("mdf_state_new", pointer, pointer, error),
            ("mdf_state_free", None, pointer),
            ("mdf_set_input", ctypes.c_int, pointer, text, ctypes.POINTER(Tensor), error),
            ("mdf_lend_input", ctypes.c_int, pointer, text, ctypes.POINTER(Tensor), error),
            ("mdf_evaluate", ctypes.c_int, pointer, ctypes.c_double, error),
            ("mdf_evaluate_steps", ctypes.c_int, pointer, ctypes.c_uint64, ctypes.c_double, ctypes.c_double, ctypes.c_double, pointer,
             size, ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_uint64), error),
            ("mdf_output", pointer, pointer, text, text),
            ("mdf_result_at", pointer, pointer, size),
            ("mdf_state_peak_bytes", size, pointer)]:
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


LIBRARY = _library()
DTYPES = {LIBRARY.mdf_dtype_name(i).decode(): i for i in range(26)}


class Model:
    """A model that was loaded and compiled, and one state of it."""

    def __init__(self, path):
        self.error = Error()
        self.model = self.program = self.state = None
        times = [time.process_time()]
        self.model = self.made(LIBRARY.mdf_model_load_file(str(path).encode(), self.error))
        times.append(time.process_time())
        self.program = self.made(LIBRARY.mdf_compile(self.model, None, self.error))
        times.append(time.process_time())
        # Of this process: what others do meanwhile does not count.
        self.load_s, self.compile_s = times[1] - times[0], times[2] - times[1]
        self.restart()

    def made(self, thing):
        if not thing:
            raise Failure(f"{self.error.path.decode()}: {self.error.message.decode()}")
        return thing

    def check(self, status):
        if status != 0:
            raise Failure(f"{self.error.path.decode()}: {self.error.message.decode()}")

    def restart(self):
        """A fresh state."""
        LIBRARY.mdf_state_free(self.state)
        self.state = self.made(LIBRARY.mdf_state_new(self.program, self.error))

    def set_inputs(self, arrays, function=LIBRARY.mdf_set_input):
        for name, array in arrays.items():
            array = np.asarray(array, order="C")
            shape = (ctypes.c_int64 * array.ndim)(*array.shape)
            tensor = Tensor(DTYPES[array.dtype.name], array.ndim, shape, array.ctypes.data)
            self.check(function(self.state, name.encode(), tensor, self.error))

    def lend_inputs(self, arrays):
        """The same without copies: the arrays, which are dense, have to stay where they are."""
        self.lent = {name: np.asarray(array, order="C") for name, array in arrays.items()}
        self.set_inputs(self.lent, LIBRARY.mdf_lend_input)

    def evaluate(self, dt=math.nan):
        self.check(LIBRARY.mdf_evaluate(self.state, dt, self.error))

    def evaluate_steps(self, n, dt):
        """Evaluations in a row, with the time increment `dt` (NaN: none)."""
        done, recorded = ctypes.c_uint64(), ctypes.c_uint64()
        self.check(LIBRARY.mdf_evaluate_steps(self.state, n, dt, dt, 0, None, 0, done, recorded, self.error))

    def array(self, value):
        """A copy of a value's array; None where it is none."""
        tensor = Tensor()
        if not value or not LIBRARY.mdf_value_tensor(value, tensor):
            return None
        shape = tensor.shape[:tensor.rank]
        dtype = np.dtype(LIBRARY.mdf_dtype_name(tensor.dtype).decode())
        n_bytes = math.prod(shape) * dtype.itemsize
        return np.frombuffer(ctypes.string_at(tensor.data, n_bytes), dtype).reshape(shape)

    def results(self):
        return [self.array(LIBRARY.mdf_result_at(self.state, i)) for i in range(LIBRARY.mdf_program_n_results(self.program))]

    def output(self, node, port):
        return self.array(LIBRARY.mdf_output(self.state, node.encode(), port.encode()))

    def peak_bytes(self):
        return LIBRARY.mdf_state_peak_bytes(self.state)

    def close(self):
        LIBRARY.mdf_state_free(self.state)
        LIBRARY.mdf_program_free(self.program)
        LIBRARY.mdf_model_free(self.model)
        self.model = self.program = self.state = None

    __del__ = close
