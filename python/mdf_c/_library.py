"""The shared library, found, loaded, and with the prototypes of mdf_c/mdf.h."""

from __future__ import annotations

import collections
import ctypes
import os
from collections.abc import Callable
from ctypes import POINTER, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path
from typing import Any

from .errors import BY_STATUS, MdfError

# In the order of MDF_STATUS_LIST.
STATUSES = (
    "OK",
    "OUT_OF_MEMORY",
    "LIMIT",
    "FILE",
    "SYNTAX",
    "MODEL",
    "EXPRESSION",
    "TYPE",
    "SHAPE",
    "VALUE",
    "NAME",
    "UNSUPPORTED",
    "USAGE",
    "INTERRUPTED",
)
KIND_NONE, KIND_TENSOR, KIND_LIST, KIND_DICT = range(4)
PART_INPUT, PART_FUNCTION, PART_PARAMETER, PART_OUTPUT = range(4)


class Error(ctypes.Structure):
    """mdf_error."""

    _fields_ = [
        ("code", c_int),
        ("line", c_int),
        ("column", c_int),
        ("file", ctypes.c_char * 256),
        ("path", ctypes.c_char * 512),
        ("message", ctypes.c_char * 1024),
    ]

    def parts(self) -> dict:
        """The message and position, as the exceptions and warnings take them."""
        return {
            "message": self.message.decode(errors="replace"),
            "file": self.file.decode(errors="replace") or None,
            "line": self.line or None,
            "column": self.column or None,
            "path": self.path.decode(errors="replace") or None,
        }

    def exception(self, located: Callable[[dict], dict] = dict) -> MdfError:
        """The exception that stands for this error, with what `located` makes of its :meth:`parts`; its cause is that of a function of
        Python, where one failed."""
        exception = BY_STATUS.get(STATUSES[self.code], MdfError)(**located(self.parts()))
        exception.__cause__ = _take_exception(exception.message)
        return exception


# Exceptions of functions that the engine called, until its error brings them back; of those that were lost, the last few stay.
_raised: collections.deque[tuple[str, BaseException]] = collections.deque(maxlen=8)


def note_exception(error: BaseException) -> bytes:
    """The message that the engine is given for an exception, which an :class:`Error` with that message then has as its cause."""
    message = f"{type(error).__name__}: {error}".replace("\0", " ")[:200]
    _raised.append((message, error))
    return message.encode(errors="replace")


def _take_exception(message: str) -> BaseException | None:
    for entry in reversed(_raised):
        if entry[0] in message:
            try:
                _raised.remove(entry)
            except ValueError:  # another thread was faster
                continue
            return entry[1]
    return None


class Tensor(ctypes.Structure):
    """mdf_tensor."""

    _fields_ = [("dtype", c_int), ("rank", c_size_t), ("shape", POINTER(c_int64)), ("data", c_void_p)]


class Record(ctypes.Structure):
    """mdf_record."""

    _fields_ = [
        ("node", c_size_t),
        ("output", c_size_t),
        ("dtype", c_int),
        ("rank", c_size_t),
        ("shape", POINTER(c_int64)),
        ("size_bytes", c_size_t),
        ("data", c_void_p),
    ]


class Series(ctypes.Structure):
    """mdf_series."""

    _fields_ = [("name", c_char_p), ("value", Tensor), ("step_bytes", c_size_t)]


WARNING_HANDLER = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Error))


class Options(ctypes.Structure):
    """mdf_options."""

    _fields_ = [
        ("size", c_size_t),
        ("graph", c_char_p),
        ("float32", c_bool),
        ("max_iterations", c_uint64),
        ("max_passes", c_uint64),
        ("max_memory_bytes", c_size_t),
        ("seed", c_uint64),
        ("n_threads", c_int),
        ("allocator", c_void_p),
        ("warning", WARNING_HANDLER),
        ("warning_context", c_void_p),
        ("plain", c_bool),
        ("loop_condition", c_int),
        ("time_limit_s", c_double),
        ("dialect", c_int),
        ("parameters", c_char_p),
        ("scheduling_mode", c_int),
        ("functions", c_void_p),
        ("diagnostics", c_void_p),
        ("stop_when", c_char_p),
        ("method", c_int),
        ("rtol", c_double),
        ("atol", c_double),
        ("max_step", c_double),
        ("step_limit", c_uint64),
    ]
    findings: object  # has the list of diagnostics that the field points to


_ERROR, _POINTERS, _COUNT = POINTER(Error), POINTER(c_void_p), POINTER(c_uint64)

# Name: result, arguments.
_PROTOTYPES: dict[str, tuple] = {
    "mdf_version": (c_char_p,),
    "mdf_version_number": (c_int,),
    "mdf_dtype_name": (c_char_p, c_int),
    "mdf_value_kind": (c_int, c_void_p),
    "mdf_value_tensor": (c_bool, c_void_p, POINTER(Tensor)),
    "mdf_value_length": (c_size_t, c_void_p),
    "mdf_value_item": (c_void_p, c_void_p, c_size_t),
    "mdf_value_key": (c_char_p, c_void_p, c_size_t),
    "mdf_value_has_keys": (c_bool, c_void_p, POINTER(c_char_p), c_size_t),
    "mdf_value_table": (c_bool, c_void_p, POINTER(c_int), c_void_p, c_size_t),
    "mdf_value_new_none": (c_void_p, _ERROR),
    "mdf_value_new_tensor": (c_void_p, POINTER(Tensor), _ERROR),
    "mdf_value_new_literal": (c_void_p, POINTER(Tensor), _ERROR),
    "mdf_value_new_real": (c_void_p, c_double, _ERROR),
    "mdf_value_new_integer": (c_void_p, c_int64, _ERROR),
    "mdf_value_new_truth": (c_void_p, c_bool, _ERROR),
    "mdf_value_new_text": (c_void_p, c_char_p, _ERROR),
    "mdf_value_new_list": (c_void_p, _POINTERS, c_size_t, _ERROR),
    "mdf_value_new_dict": (c_void_p, POINTER(c_char_p), _POINTERS, c_size_t, _ERROR),
    "mdf_value_keep": (c_void_p, c_void_p, _ERROR),
    "mdf_value_free": (None, c_void_p),
    "mdf_onnx_operator_name": (c_char_p, c_size_t),
    "mdf_onnx_operator_form": (c_size_t, c_char_p, c_int, c_char_p, c_size_t),
    "mdf_functions_new": (c_void_p, c_void_p, _ERROR),
    "mdf_functions_free": (None, c_void_p),
    "mdf_register_function": (c_int, c_void_p, c_void_p, _ERROR),
    "mdf_load_plugin": (c_int, c_void_p, c_char_p, _ERROR),
    "mdf_model_load_file_as": (c_void_p, c_char_p, c_char_p, POINTER(Options), _ERROR),
    "mdf_model_load_bytes": (c_void_p, c_char_p, c_size_t, c_char_p, c_char_p, POINTER(Options), _ERROR),
    "mdf_model_save_file": (c_int, c_void_p, c_char_p, _ERROR),
    "mdf_model_save_onnx": (c_int, c_void_p, c_char_p, POINTER(Options), _ERROR),
    "mdf_compile_vector_product": (c_void_p, c_void_p, c_int, c_char_p, POINTER(c_char_p), c_size_t, c_uint64, c_double, POINTER(Options), _ERROR),
    "mdf_compile_gradient": (c_void_p, c_void_p, c_char_p, POINTER(c_char_p), c_size_t, c_uint64, c_double, POINTER(Options), _ERROR),
    "mdf_compile_changeable": (c_void_p, c_void_p, POINTER(c_char_p), c_size_t, POINTER(Options), _ERROR),
    "mdf_set_parameter": (c_int, c_void_p, c_char_p, POINTER(Tensor), _ERROR),
    "mdf_model_id": (c_char_p, c_void_p),
    "mdf_model_n_graphs": (c_size_t, c_void_p),
    "mdf_model_graph_id": (c_char_p, c_void_p, c_size_t),
    "mdf_model_free": (None, c_void_p),
    "mdf_compile": (c_void_p, c_void_p, POINTER(Options), _ERROR),
    "mdf_program_free": (None, c_void_p),
    "mdf_program_model_id": (c_char_p, c_void_p),
    "mdf_program_graph_id": (c_char_p, c_void_p),
    "mdf_program_is_scheduled": (c_bool, c_void_p),
    "mdf_program_n_layers": (c_size_t, c_void_p),
    "mdf_program_layer_size": (c_size_t, c_void_p, c_size_t),
    "mdf_program_layer_node": (c_size_t, c_void_p, c_size_t, c_size_t),
    "mdf_program_n_nodes": (c_size_t, c_void_p),
    "mdf_program_node_id": (c_char_p, c_void_p, c_size_t),
    "mdf_program_n_parts": (c_size_t, c_void_p, c_size_t, c_int),
    "mdf_program_part_id": (c_char_p, c_void_p, c_size_t, c_int, c_size_t),
    "mdf_program_part_n_values": (c_size_t, c_void_p, c_size_t, c_int, c_size_t),
    "mdf_program_n_graph_inputs": (c_size_t, c_void_p),
    "mdf_program_graph_input_name": (c_char_p, c_void_p, c_size_t),
    "mdf_program_n_results": (c_size_t, c_void_p),
    "mdf_program_result_name": (c_char_p, c_void_p, c_size_t),
    "mdf_check_run": (c_size_t, c_void_p, POINTER(c_char_p), c_size_t, c_uint64, c_double, WARNING_HANDLER, c_void_p),
    "mdf_state_new": (c_void_p, c_void_p, _ERROR),
    "mdf_state_reset": (c_int, c_void_p, c_uint64, _ERROR),
    "mdf_state_copy": (c_int, c_void_p, c_void_p, _ERROR),
    "mdf_state_free": (None, c_void_p),
    "mdf_set_input": (c_int, c_void_p, c_char_p, POINTER(Tensor), _ERROR),
    "mdf_set_inputs": (c_int, c_void_p, POINTER(c_char_p), POINTER(Tensor), c_size_t, _ERROR),
    "mdf_lend_input": (c_int, c_void_p, c_char_p, POINTER(Tensor), _ERROR),
    "mdf_set_input_value": (c_int, c_void_p, c_char_p, c_void_p, _ERROR),
    "mdf_evaluate": (c_int, c_void_p, c_double, _ERROR),
    "mdf_evaluate_anew": (c_int, c_void_p, c_uint64, POINTER(c_char_p), POINTER(Tensor), c_size_t, _ERROR),
    "mdf_evaluate_steps": (
        c_int, c_void_p, c_uint64, c_double, c_double, c_double, POINTER(Record), c_size_t, _COUNT, _COUNT, _ERROR,
    ),
    "mdf_evaluate_series": (
        c_int, c_void_p, POINTER(Series), c_size_t, c_uint64, c_double, c_double, c_double, POINTER(Record), c_size_t, _COUNT, _COUNT, _ERROR,
    ),
    "mdf_output_at": (c_void_p, c_void_p, c_size_t, c_size_t),
    "mdf_part_at": (c_void_p, c_void_p, c_size_t, c_int, c_size_t, c_size_t),
    "mdf_result_at": (c_void_p, c_void_p, c_size_t),
    "mdf_results_locate": (c_bool, c_void_p, POINTER(Tensor), c_size_t),
    "mdf_schedule_read": (c_size_t, c_void_p, POINTER(c_size_t), c_size_t),
    "mdf_model_dot": (c_size_t, c_void_p, c_char_p, c_int, c_char_p, c_size_t),
    "mdf_explain": (c_size_t, c_void_p, c_char_p, c_size_t),
    "mdf_state_inspect": (c_int, c_void_p, c_uint, _ERROR),
    "mdf_state_bodies": (c_void_p, c_void_p),
    "mdf_state_profile": (c_void_p, c_void_p),
    "mdf_state_profile_stacks": (c_size_t, c_void_p, c_char_p, c_size_t),
    "mdf_state_peak_bytes": (c_size_t, c_void_p),
    "mdf_state_interrupt": (None, c_void_p),
    "mdf_state_forget_interrupt": (None, c_void_p),
    "mdf_ctrl_c_asks": (c_void_p, c_void_p),
    "mdf_state_limit_time": (None, c_void_p, c_double),
}  # fmt: skip


def native_file(name: str) -> Path:
    """A file of the native engine: beside this module in a wheel, in ``build/`` in a checkout of the source.

    Raises
    ------
    ImportError
        It is in neither place.
    """
    here = Path(__file__).resolve().parent
    places = [here / "native" / name, here.parent.parent / "build" / name]
    if "MDF_C_BUILD" in os.environ:
        places.insert(0, Path(os.environ["MDF_C_BUILD"]) / name)
    for place in places:
        if place.exists():
            return place
    raise ImportError(f"{name} is not there: install the package with pip, or run make in the source (looked at {places})")


class _Library(ctypes.CDLL):
    """The functions, each with its prototype from when it is asked for: a process needs few of them."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.prototypes: dict[str, tuple] = {}

    def declare(self, prototypes: dict[str, tuple]) -> None:
        """Adds functions: the type of what each returns, and those of its arguments, by name."""
        self.prototypes.update(prototypes)

    def __getattr__(self, name: str) -> Any:
        try:
            result, *arguments = self.prototypes[name]
        except KeyError:
            raise AttributeError(f"{name} has not been declared") from None
        function = self[name]
        function.restype, function.argtypes = result, arguments
        setattr(self, name, function)
        return function


lib = _Library(str(native_file("libmdf.so")))
lib.declare(_PROTOTYPES)


def checked(result, error: Error):
    """`result`, unless `error` is set.

    Raises
    ------
    MdfError
        The error.
    """
    if error.code:
        raise error.exception()
    return result


def text(value: bytes) -> str:
    """A C string."""
    return value.decode(errors="replace")


def c_text(value: str, what: str) -> bytes:
    """A text for the engine, where it ends at the first NUL.

    Parameters
    ----------
    value
        The text.
    what : str
        What it is, for the message.

    Raises
    ------
    TypeError
        It is no text.
    ValueError
        The character NUL is in it.
    """
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a text, not {type(value).__name__}")
    if "\0" in value:
        raise ValueError(f"{what} can not hold the character NUL")
    return value.encode()


def c_path(path: str | bytes | os.PathLike) -> bytes:
    """A path for the engine.

    Raises
    ------
    TypeError
        It is none.
    ValueError
        The character NUL is in it.
    """
    name = os.fsencode(path)
    if b"\0" in name:
        raise ValueError("a path can not hold the character NUL")
    return name


class Uncopied:
    """What stands for a thing of the engine that there is once: no copy, no pickle."""

    __slots__ = ()

    def __reduce_ex__(self, protocol):
        raise TypeError(f"a {type(self).__name__} can not be copied or pickled")


class Handle(Uncopied):
    """A thing of the engine, released when neither this nor a handle that needs it is there any more.

    Python finalises things that refer to each other in any order, and in any thread: so handles are counted here.

    Parameters
    ----------
    pointer : int
    release : callable
        The engine's function that takes the pointer.
    needs : Handle, optional
        Lives longer.
    """

    __slots__ = ("_needs", "_others", "_release", "pointer")

    def __init__(self, pointer: int, release: Callable[[int], None], needs: Handle | None = None) -> None:
        self._others: list[None] = []  # one for each handle that needs this one
        self.pointer: int | None = pointer
        self._release, self._needs = release, needs
        if needs is not None:
            needs._others.append(None)

    def __del__(self) -> None:
        self._leave()

    def _leave(self) -> None:
        try:
            self._others.pop()  # one step for threads, as a count would not be
        except IndexError:
            pointer, self.pointer = self.pointer, None
            if pointer is not None:
                self._release(pointer)
                if self._needs is not None:
                    self._needs._leave()
