"""Functions of the caller's own that models call by name: ``mylab::saturate`` as a function, ``mylab.saturate(x)`` in an expression."""

from __future__ import annotations

import ctypes
import inspect
import os
import pickle
import threading
from collections.abc import Callable, Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_void_p
from typing import Any

import numpy as np

from ._library import STATUSES, Error, Handle, Tensor, c_path, c_text, checked, lib, note_exception
from ._values import address_of, as_array, dtype_number, dtype_of

_MAKES_OUTPUTS, _REPLACES = 1, 4
_OK, _VALUE, _INTERRUPTED = (STATUSES.index(name) for name in ("OK", "VALUE", "INTERRUPTED"))


class _Call(ctypes.Structure):
    """mdf_function_call."""

    _fields_ = [
        ("size", c_size_t),
        ("context", c_void_p),
        ("n_inputs", c_size_t),
        ("n_outputs", c_size_t),
        ("inputs", POINTER(Tensor)),
        ("outputs", POINTER(c_void_p)),
        ("forms", POINTER(Tensor)),
        ("make", ctypes.CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_int, c_size_t, POINTER(ctypes.c_int64))),
        ("fail", ctypes.CFUNCTYPE(c_int, c_void_p, c_int, c_char_p)),
        ("engine", c_void_p),
    ]


_KERNEL = ctypes.CFUNCTYPE(c_int, POINTER(_Call))


class _Function(ctypes.Structure):
    """mdf_function."""

    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("arguments", POINTER(c_char_p)),
        ("outputs", POINTER(c_char_p)),
        ("kernel", _KERNEL),
        ("shapes", _KERNEL),
        ("derivative", _KERNEL),
        ("flags", c_uint),
        ("context", c_void_p),
        ("release", c_void_p),
    ]


# ---------------------------------------------------------------- one call


def _form(tensor: Tensor) -> tuple[np.dtype, tuple[int, ...]] | None:
    """Type and shape of an array; None: there is none."""
    dtype = dtype_of(tensor.dtype)
    if dtype is not None and not isinstance(dtype, np.dtype):
        raise TypeError(f"an array of type {dtype} can not be given to a function in Python")
    return None if dtype is None else (dtype, tuple(tensor.shape[i] for i in range(tensor.rank)))


def _array(tensor: Tensor) -> np.ndarray | None:
    """A copy, which the function may change and keep."""
    form = _form(tensor)
    if form is None:
        return None
    array = np.empty(form[1], form[0])
    if array.nbytes:
        ctypes.memmove(array.ctypes.data, tensor.data, array.nbytes)
    return array


def _make(call: _Call, index: int, dtype: Any, shape: Sequence[int]) -> int | None:
    """Where the elements of an output go; None: the engine refuses it, and says why itself."""
    return call.make(ctypes.addressof(call), index, dtype_number(np.dtype(dtype)), len(shape), (ctypes.c_int64 * len(shape))(*shape))


def _write(call: _Call, index: int, value: Any, is_made: bool) -> bool:
    """Hands a result over. False: the engine refused it."""
    array = as_array(np.asarray(value))
    if array.dtype.kind in "OUSTmM":
        raise TypeError(f"output {index + 1} is no array of numbers: {value!r}")
    if is_made:
        dtype, shape = _form(call.forms[index])  # type: ignore[misc] # it is made
        if array.shape != shape:
            raise ValueError(f"output {index + 1} has the shape {array.shape}, where {shape} was said beforehand")
        array = np.ascontiguousarray(array.astype(dtype, casting="same_kind", copy=False))
        target = call.outputs[index]
    else:
        target = _make(call, index, array.dtype, array.shape)
    if target is not None and array.nbytes:
        ctypes.memmove(target, address_of(array), array.nbytes)
    return target is not None


def _guarded(work: Callable[[_Call], Any]) -> Any:
    """A kernel that hands exceptions to the engine, which knows the place in the model."""

    def kernel(pointer):
        call = pointer.contents
        try:
            work(call)
            return _OK
        except BaseException as error:  # noqa: BLE001 - none may leave a callback; the engine's error brings it back
            status = _INTERRUPTED if isinstance(error, KeyboardInterrupt) else _VALUE
            message = note_exception(error)
            return call.fail(ctypes.addressof(call), status, message)

    return _KERNEL(kernel)


def _kernel(function: Callable, n_outputs: int, is_made: bool) -> Any:
    def work(call: _Call) -> None:
        results = function(*(_array(call.inputs[i]) for i in range(call.n_inputs)))
        if n_outputs == 1:
            results = (results,)
        elif not isinstance(results, (tuple, list)) or len(results) != n_outputs:
            raise TypeError(f"it returned {type(results).__name__}, not a tuple of its {n_outputs} outputs")
        all(_write(call, i, result, is_made) for i, result in enumerate(results))

    return _guarded(work)


def _shapes(function: Callable) -> Any:
    def work(call: _Call) -> None:
        forms = function(*(_form(call.inputs[i]) for i in range(call.n_inputs)))
        all(_make(call, i, dtype, shape) for i, (dtype, shape) in enumerate(forms))

    return _guarded(work)


def _derivative(function: Callable, n_outputs: int, is_made: bool) -> Any:
    def work(call: _Call) -> None:
        n = call.n_inputs - n_outputs
        inputs = [_array(call.inputs[i]) for i in range(call.n_inputs)]
        given = inputs[n] if n_outputs == 1 else tuple(inputs[n:])
        gradients = function(given, *inputs[:n])
        gradients = (gradients,) if n == 1 and not isinstance(gradients, (tuple, list)) else gradients
        if not isinstance(gradients, (tuple, list)) or len(gradients) != n:
            raise TypeError(f"the derivative returned {type(gradients).__name__}, not a tuple of the gradients of its {n} arguments")
        for i, (gradient, value) in enumerate(zip(gradients, inputs)):
            shape = () if value is None else value.shape
            dtype = value.dtype if value is not None and value.dtype.kind == "f" else np.dtype(float)
            gradient = np.zeros(shape, dtype) if gradient is None else np.broadcast_to(np.asarray(gradient, dtype), shape)
            if not _write(call, i, gradient, is_made):
                return

    return _guarded(work)


# ---------------------------------------------------------------- sets of functions


def _texts(values: Sequence[str], what: str) -> Any:
    return (c_char_p * (len(values) + 1))(*(c_text(value, what) for value in values), None)


def _default(value: Any) -> str:
    """A default as an expression."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_default(item) for item in value) + "]"
    if value is None or isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, float) and value != value:
            return "numpy.nan"
        return ("-" if value < 0 else "") + "numpy.inf" if isinstance(value, float) and value in (float("inf"), -float("inf")) else repr(value)
    raise TypeError(f"the default {value!r} is no number: say the arguments as texts, 'NAME: TYPE = DEFAULT'")


def _arguments(function: Callable) -> list[str]:
    """The arguments of a function, as mdf_register_function takes them."""
    texts = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"'{parameter}' is no argument that a model can give: say which there are (arguments=[...])")
        has_default = parameter.default is not parameter.empty
        texts.append(parameter.name + (f" = {_default(parameter.default)}" if has_default else ""))
    return texts


class _Set(Handle):
    """A set of functions, with the callbacks that a program may call as long as it needs the set."""

    __slots__ = ("callbacks",)

    def __init__(self, pointer: int) -> None:
        super().__init__(pointer, lib.mdf_functions_free)
        self.callbacks: list[Any] = []


class Functions:
    """A set of functions that models can call, besides the engine's own.

    ``Functions()`` is empty; :func:`register_function` and :func:`load_plugin` work on the set that models are compiled with
    unless they are given another: ``mdf_c.run(model, functions=my_functions)``. A program keeps the functions that were there when
    it was compiled. A pickle has the functions with it, which therefore have to be such as pickle takes.
    """

    def __init__(self) -> None:
        error = Error()
        self.handle = _Set(checked(lib.mdf_functions_new(None, error), error))
        self._calls: list[tuple[str, tuple, dict]] = []  # what a copy in another process does again
        self._lock = threading.Lock()

    @property
    def pointer(self) -> int | None:
        return self.handle.pointer

    @property
    def names(self) -> list[str]:
        """Of the functions that were registered here; those of plugins are not among them."""
        return sorted({arguments[0] for method, arguments, _ in self._calls if method == "register"})

    def __bool__(self) -> bool:
        return bool(self._calls)

    def __repr__(self) -> str:
        return f"<mdf_c.Functions {self.names}>"

    def __reduce__(self):
        return _again, (list(self._calls),)

    def register(
        self,
        name: str,
        function: Callable,
        *,
        arguments: Sequence[str] | None = None,
        outputs: Sequence[str] = ("output",),
        shapes: str | Callable | None = None,
        derivative: Callable | None = None,
    ) -> None:
        """See :func:`register_function`."""
        if not callable(function):
            raise TypeError(f"a function is needed, not {type(function).__name__}")
        if shapes not in (None, "first") and not callable(shapes):
            raise ValueError(f"shapes must be None, 'first' or a function, not {shapes!r}")
        if isinstance(outputs, str) or isinstance(arguments, str):
            raise TypeError("arguments and outputs are sequences of texts")
        is_made, n_outputs = shapes is not None, len(outputs)
        kernel = _kernel(function, n_outputs, is_made)
        forms = _shapes(shapes) if callable(shapes) else _KERNEL()
        gradient = _KERNEL() if derivative is None else _derivative(derivative, n_outputs, is_made)
        made = _Function(
            size=ctypes.sizeof(_Function),
            name=c_text(name, "the name of a function"),
            arguments=_texts(_arguments(function) if arguments is None else arguments, "an argument"),
            outputs=_texts(outputs, "an output"),
            kernel=kernel,
            shapes=forms,
            derivative=gradient,
            flags=_REPLACES | (0 if is_made else _MAKES_OUTPUTS),
        )
        error = Error()
        with self._lock:
            self.handle.callbacks += [kernel, forms, gradient]
            checked(lib.mdf_register_function(self.pointer, byref(made), error), error)
            self._calls.append(
                ("register", (name, function), {"arguments": arguments, "outputs": tuple(outputs), "shapes": shapes, "derivative": derivative})
            )

    def load_plugin(self, path: str | os.PathLike) -> None:
        """See :func:`load_plugin`."""
        error, absolute = Error(), os.path.abspath(os.fspath(path))
        checked(lib.mdf_load_plugin(self.pointer, c_path(absolute), error), error)
        with self._lock:
            self._calls.append(("load_plugin", (absolute,), {}))


def _again(calls: list[tuple[str, tuple, dict]]) -> Functions:
    functions = Functions()
    for method, arguments, keywords in calls:
        getattr(functions, method)(*arguments, **keywords)
    return functions


default_functions = Functions()


def known_elsewhere() -> Functions | None:
    """The default set for another process, which has registered nothing; None: it is empty, or holds what pickle does not take."""
    try:
        pickle.dumps(default_functions)
    except Exception:  # noqa: BLE001 - whatever stands in the way there; a model that calls one says so
        return None
    return default_functions if default_functions else None


def register_function(
    name: str,
    function: Callable,
    *,
    arguments: Sequence[str] | None = None,
    outputs: Sequence[str] = ("output",),
    shapes: str | Callable | None = None,
    derivative: Callable | None = None,
    functions: Functions | None = None,
) -> None:
    """Lets models call a function of Python: ``"function": "mylab::saturate"``, or ``mylab.saturate(x, limit=2)`` in an expression.

    Parameters
    ----------
    name : str
        ``"DOMAIN::NAME"``, two identifiers; the domains of the engine's own functions are refused. A function of that name that was
        registered before gives way, for models that are compiled from now on.
    function : callable
        Takes NumPy arrays, copies of its own, and returns an array or a number, of several outputs a tuple. An argument whose default is
        None gets None where the model has no value for it; for any other that is an error. An exception ends the evaluation with an
        :class:`MdfError`, which tells the place in the model; the exception is its ``__cause__``.
    arguments : sequence of str, optional
        Each ``"NAME"``, ``"NAME: TYPE"``, ``"NAME = DEFAULT"`` or ``"NAME: TYPE = DEFAULT"``. By default those of the function, without
        types.
    outputs : sequence of str
        Each ``"NAME"`` or ``"NAME: TYPE"``.
    shapes : {"first"} or callable, optional
        What outputs are like, where that is known beforehand: "first": like the first argument; a callable gets ``(dtype, shape)`` of
        each argument, and returns those of each output. By default it is known when the function has run.
    derivative : callable, optional
        For gradients. Takes the gradient of the output (of several a tuple, None where nothing depends on one), then the arguments;
        returns the gradients of the arguments, as a tuple; None is zero.
    functions : Functions, optional
        The set that it is added to; by default that which models are compiled with where no other is given.

    Raises
    ------
    MdfError
        The name or an argument is none that can be registered.
    """
    (default_functions if functions is None else functions).register(
        name, function, arguments=arguments, outputs=outputs, shapes=shapes, derivative=derivative
    )


def load_plugin(path: str | os.PathLike, *, functions: Functions | None = None) -> None:
    """Loads a shared library that brings functions in C (docs/plugins.md). It is code of this process: load only what you trust.

    Raises
    ------
    MdfError
        It can not be loaded, or is no plugin.
    """
    (default_functions if functions is None else functions).load_plugin(path)
