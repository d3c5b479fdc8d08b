"""Python's values as the engine's, and back.

Into the engine: anything with ``__array__``, the buffer protocol or DLPack is an array of its own type, read where it lies.
A Python number, or a list of numbers, is as if it stood in the model: it takes the type of what it meets. A list of arrays
is a sequence; ``None`` is nothing.

Out of the engine: arrays are copied once, or are read-only views of what the state then leaves as it is.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
import numbers
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ._library import KIND_LIST, KIND_NONE, KIND_TENSOR, Error, Handle, Tensor, Uncopied, checked, lib

STRING = "string"
_addressof, _view_first = ctypes.addressof, ctypes.c_char.from_buffer


def _numpy_dtype(name: str) -> np.dtype | None:
    try:
        return np.dtype(name)
    except TypeError:  # a type of ml_dtypes
        return None


def _table() -> list[np.dtype | str | None]:
    table: list[np.dtype | str | None] = []
    while (name := lib.mdf_dtype_name(len(table)).decode()) != "none":
        table.append(STRING if name == STRING else _numpy_dtype(name))
    return table


_DTYPES = _table()  # without those of ml_dtypes, which is imported for the first of them that is met
_NUMBERS = {dtype: number for number, dtype in enumerate(_DTYPES) if dtype is not None}


def _add_narrow_dtypes() -> None:
    """Adds the element types that NumPy has from ml_dtypes, where that is installed."""
    try:
        import ml_dtypes
    except ImportError:
        return
    for number, dtype in enumerate(_DTYPES):
        name = lib.mdf_dtype_name(number).decode()
        if dtype is None and hasattr(ml_dtypes, name):
            narrow = np.dtype(getattr(ml_dtypes, name))
            _DTYPES[number], _NUMBERS[narrow] = narrow, number


def dtype_number(dtype: np.dtype) -> int:
    """The engine's number of an element type.

    Raises
    ------
    TypeError
        There is none.
    """
    number = _NUMBERS.get(dtype) if dtype.isnative else None
    if number is None and dtype.isnative:
        _add_narrow_dtypes()
        number = _NUMBERS.get(dtype)
    if number is None:
        raise TypeError(f"arrays of {dtype} have no counterpart in MDF")
    return number


def dtype_of(number: int) -> np.dtype | str | None:
    """The element type that the engine numbers so; None: none (or one of ml_dtypes, which is not there)."""
    if not 0 <= number < len(_DTYPES):
        return None
    if _DTYPES[number] is None:
        _add_narrow_dtypes()
    return _DTYPES[number]


# ---------------------------------------------------------------- in


def unmasked(value: Any) -> Any:
    """`value` itself, where it is no array with masked elements.

    `numpy.ma`, without which there are none, is not imported for it: an import that another thread is at when the process forks never ends in the child.

    Raises
    ------
    TypeError
        It is.
    """
    is_masked = getattr(sys.modules.get("numpy.ma"), "is_masked", None)
    if is_masked is not None and is_masked(value):
        raise TypeError("a masked array has elements without a value: give them one (array.filled(...))")
    return value


def _narrow_of_pytorch(value: Any) -> np.ndarray | None:
    """A tensor of PyTorch's whose element type NumPy has from ml_dtypes alone, as an array; None: it is no such tensor.

    Raises
    ------
    TypeError
        ml_dtypes, or the engine, does not have that type.
    RuntimeError
        It has a gradient, which would be lost.
    """
    name = str(getattr(value, "dtype", ""))
    if not name.startswith(("torch.bfloat", "torch.float8")):
        return None
    if value.requires_grad:
        raise RuntimeError("a tensor that requires grad would lose it: use tensor.detach()")
    _add_narrow_dtypes()
    name = name[len("torch.") :]
    found = [dtype for dtype in _DTYPES if isinstance(dtype, np.dtype) and dtype.name == name]
    if not found:
        raise TypeError(f"tensors of {name} need the package ml_dtypes, or have no counterpart in MDF")
    words = getattr(sys.modules["torch"], f"uint{8 * found[0].itemsize}")
    return value.cpu().contiguous().view(words).numpy().view(found[0])


def as_array(value: Any) -> np.ndarray:
    """`value` as a dense array in native byte order; a view where that is possible.

    Raises
    ------
    TypeError
        It is not an array.
    """
    narrow = None if isinstance(value, (np.ndarray, np.generic)) else _narrow_of_pytorch(value)
    if narrow is not None:
        array = narrow
    elif isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array__"):
        array = np.asarray(unmasked(value))
    elif hasattr(value, "__dlpack__"):
        array = np.from_dlpack(value)
    else:
        array = np.asarray(memoryview(value))
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def address_of(array: np.ndarray) -> int:
    """Where the elements of a dense array lie. `array.ctypes` takes three times as long, but finds those that are not to be written."""
    try:
        return _addressof(_view_first(array))  # type: ignore[arg-type] # an array is a buffer
    except (TypeError, ValueError, BufferError):
        return array.ctypes.data


@functools.lru_cache(maxsize=64)
def _shape_type(rank: int) -> type:
    return ctypes.c_int64 * rank


def tensor_of(array: np.ndarray) -> Tensor:
    """A view of a dense array; keep the array alive while it is used."""
    shape = _shape_type(array.ndim)(*array.shape)
    if array.dtype.kind in "OUST":
        data = (ctypes.c_char_p * array.size)(*_encoded(array))
        tensor = Tensor(_NUMBERS[STRING], array.ndim, shape, ctypes.cast(data, ctypes.c_void_p))
        tensor.keeps = data
        return tensor
    return Tensor(dtype_number(array.dtype), array.ndim, shape, address_of(array))


class InputArrays:
    """Arrays of numbers or texts by name, as C's: others of the same types and shapes differ from them in nothing but where they lie.

    Parameters
    ----------
    inputs : dict
        The first ones: dense NumPy arrays.
    """

    __slots__ = ("_forms", "_shapes", "names", "size_bytes", "tensors")

    def __init__(self, inputs: Mapping[str, np.ndarray]) -> None:
        tensors = [tensor_of(array) for array in inputs.values()]
        self._shapes = [tensor.shape for tensor in tensors]  # memory that those in the array point to
        self.names = (ctypes.c_char_p * len(inputs))(*(name.encode() for name in inputs))
        self.tensors = (Tensor * len(inputs))(*tensors)
        self._forms = [
            (array.dtype, array.shape, tensor, getattr(own, "keeps", None)) for array, tensor, own in zip(inputs.values(), self.tensors, tensors)
        ]
        self.size_bytes = sum(array.nbytes for array in inputs.values())

    @classmethod
    def of(cls, inputs: Mapping[str, Any]) -> InputArrays | None:
        """None where they are not what the class is for."""
        are_plain = all(
            type(value) is np.ndarray and value.dtype.kind in "biufU" and value.dtype.isnative and value.flags.c_contiguous
            for value in inputs.values()
        )
        return cls(inputs) if are_plain else None

    def point_at(self, inputs: Mapping[str, Any]) -> bool:
        """Whether these inputs, of the same names in the same order, have the same types and shapes, to which `tensors` then points."""
        for value, (dtype, shape, tensor, texts) in zip(inputs.values(), self._forms):
            if type(value) is not np.ndarray or value.shape != shape or value.dtype != dtype:
                return False
            if texts is not None:
                texts[:] = _encoded(value)
                continue
            try:
                tensor.data = _addressof(_view_first(value))  # type: ignore[arg-type]
            except (TypeError, ValueError, BufferError):  # not dense, not to be written, or without elements
                if not value.flags.c_contiguous:
                    return False
                tensor.data = value.ctypes.data
        return True


def _encoded(texts: np.ndarray) -> list[bytes]:
    """Its elements in UTF-8."""
    items = texts.ravel().tolist()
    if texts.dtype.kind != "U" or "\0" in "".join(items):
        return [_utf8(item) for item in items]
    return [item.encode() for item in items]


def _utf8(item: Any) -> bytes:
    if isinstance(item, str):
        item = item.encode()
    if not isinstance(item, bytes):
        raise TypeError(f"an array of objects must hold texts, not {type(item).__name__}")
    if b"\0" in item:
        raise ValueError("a text can not hold the character NUL")
    return item


def is_array(value: Any) -> bool:
    """Whether `value` has a type of element of its own, and so is no literal."""
    if isinstance(value, (str, bytes, list, tuple, Mapping, bool, int, float)) or value is None:
        return False
    return hasattr(value, "__array__") or hasattr(value, "__dlpack__") or _has_buffer(value)


def _has_buffer(value: Any) -> bool:
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


class Value(Uncopied):
    """A value that this side made and releases.

    Parameters
    ----------
    source
        A number, text, array, None, or nested lists or dicts of these.

    Raises
    ------
    TypeError
        It is none of these.
    """

    __slots__ = ("pointer",)

    def __init__(self, source: Any) -> None:
        self.pointer = None
        error = Error()
        self.pointer = checked(_make(source, error), error)

    def __del__(self) -> None:
        pointer, self.pointer = self.pointer, None
        if pointer is not None:
            lib.mdf_value_free(pointer)


def _make(source: Any, error: Error) -> int | None:
    if source is None:
        return lib.mdf_value_new_none(error)
    if isinstance(source, str) or isinstance(source, (bool, int, float)) and not isinstance(source, np.generic):
        return _make_scalar(source, error)
    if isinstance(source, Mapping):
        return _make_dict(source, error)
    if isinstance(source, (list, tuple)):
        return _make_list(source, error)
    if is_array(source):
        array = as_array(source)
        return lib.mdf_value_new_tensor(tensor_of(array), error)
    if isinstance(source, numbers.Real):
        return lib.mdf_value_new_real(float(source), error)
    raise TypeError(f"a value of type {type(source).__name__} has no counterpart in MDF")


def _make_scalar(source: bool | int | float | str, error: Error) -> int | None:
    if isinstance(source, bool):
        return lib.mdf_value_new_truth(source, error)
    if isinstance(source, int):
        if not -(2**63) <= source < 2**63:
            raise OverflowError(f"{source} does not fit 64 bits")
        return lib.mdf_value_new_integer(source, error)
    if isinstance(source, float):
        return lib.mdf_value_new_real(source, error)
    return lib.mdf_value_new_text(_utf8(source), error)


def _make_dict(source: Mapping, error: Error) -> int | None:
    items = [Value(item) for item in source.values()]
    keys = (ctypes.c_char_p * len(items))(*(_utf8(str(key)) for key in source))
    return lib.mdf_value_new_dict(keys, _pointers(items), len(items), error)


def _make_list(source: list | tuple, error: Error) -> int | None:
    literal = _literal(source)
    if literal is not None:
        return lib.mdf_value_new_literal(tensor_of(literal), error)
    items = [Value(item) for item in source]
    return lib.mdf_value_new_list(_pointers(items), len(items), error)


def _pointers(items: list[Value]) -> ctypes.Array:
    return (ctypes.c_void_p * len(items))(*(item.pointer for item in items))


def _literal(source: list | tuple) -> np.ndarray | None:
    """Rectangular nested lists of Python's numbers, as an array; None for anything else."""
    if not _only_numbers(source):
        return None
    try:
        array = np.array(source)
    except (ValueError, OverflowError):
        return None
    return array if array.dtype.kind in "bif" and array.dtype in _NUMBERS else None


def _only_numbers(source: list | tuple) -> bool:
    return all(_only_numbers(item) if isinstance(item, (list, tuple)) else type(item) in (bool, int, float) for item in source)


# ---------------------------------------------------------------- out


def _keep(pointer: int, owner: Handle) -> Handle:
    """A value of a state, unchanged by later evaluations."""
    error = Error()
    return Handle(checked(lib.mdf_value_keep(pointer, error), error), lib.mdf_value_free, owner)


_TEXTS = ctypes.POINTER(ctypes.c_char_p)
_FEW_ELEMENTS = 4096  # what is remembered of so many takes little room
_MANY_PLACES = 8  # where a result was; a few buffers take turns


def _array_of_texts(texts: list[bytes | None], shape: tuple[int, ...]) -> np.ndarray:
    array = np.empty(len(texts), dtype=object)
    if texts:
        joined = b"\0".join([text or b"" for text in texts])  # C's texts have no NUL
        array[:] = joined.decode(errors="replace").split("\0")
    return array.reshape(shape)


def _texts_of(tensor: Tensor, shape: tuple[int, ...], size: int) -> np.ndarray:
    return _array_of_texts(ctypes.cast(tensor.data, _TEXTS)[:size] if size else [], shape)


@functools.lru_cache(maxsize=256)
def _bytes_type(size: int) -> Any:
    """So many bytes, as ctypes has them, which makes such a type again each time that nobody has it."""
    return ctypes.c_char * size


def view_of(pointer: int | None, tensor: Tensor) -> np.ndarray | None:
    """A value of numbers where it lies, which is not to be looked at after the state has changed, and `tensor` as it is then; None
    for any other value."""
    if not pointer or not lib.mdf_value_tensor(pointer, tensor):
        return None
    shape = _shape_of(tensor)
    dtype, size = dtype_of(tensor.dtype), math.prod(shape)
    if not size or not isinstance(dtype, np.dtype):
        return None
    tensor.shape = _shape_type(tensor.rank)(*shape)
    return np.ndarray(shape, dtype, _bytes_type(size * dtype.itemsize).from_address(tensor.data))


def _shape_of(tensor: Tensor) -> tuple[int, ...]:
    return tuple(tensor.shape[: tensor.rank]) if tensor.rank else ()


_ANY_RANK = ctypes.c_size_t(-1).value


def taker_of(pointer: int | None, tensor: Tensor, key: Callable[[str], Any] = str) -> Callable[[int], Any]:
    """How a result is taken from now on: a function of the address that mdf_results_locate writes into `tensor`, which already has that
    of this one. `key`: of to_python."""
    view = view_of(pointer, tensor)
    if view is not None:
        return _Places(view, tensor.data)
    kind = lib.mdf_value_kind(pointer) if pointer else KIND_NONE
    shape = _shape_of(tensor) if kind == KIND_TENSOR else ()
    if kind == KIND_TENSOR and isinstance(dtype_of(tensor.dtype), str) and math.prod(shape):
        tensor.shape = _shape_type(tensor.rank)(*shape)
        return _Texts(shape, math.prod(shape))
    tensor.rank, tensor.data = _ANY_RANK, pointer
    table = _Table.of(pointer, lib.mdf_value_length(pointer), key) if pointer and kind == KIND_LIST else None
    return functools.partial(to_python, key=key) if table is None else table


def _array_of(pointer: int, tensor: Tensor, owner: Handle | None) -> np.ndarray:
    kept = None if owner is None else _keep(pointer, owner)
    if kept is not None:
        lib.mdf_value_tensor(kept.pointer, tensor)
    shape = _shape_of(tensor)
    size = math.prod(shape)
    dtype = dtype_of(tensor.dtype)
    if dtype is None:
        raise TypeError(f"arrays of {lib.mdf_dtype_name(tensor.dtype).decode()} need the package ml_dtypes")
    if isinstance(dtype, str):
        return _texts_of(tensor, shape, size)
    if not size:
        return np.empty(shape, dtype)
    memory = _bytes_type(size * dtype.itemsize).from_address(tensor.data)
    if kept is None:
        return np.ndarray(shape, dtype, memory).copy()
    memory.kept = kept
    return np.frombuffer(memoryview(memory).toreadonly(), dtype).reshape(shape)


def _key(pointer: int, index: int) -> str:
    return lib.mdf_value_key(pointer, index).decode(errors="replace")


# Without types of arguments, which cost more than the calls: they are C's already.
_length_of, _has_keys, _read_table = lib["mdf_value_length"], lib["mdf_value_has_keys"], lib["mdf_value_table"]
_length_of.restype, _has_keys.restype, _read_table.restype = ctypes.c_size_t, ctypes.c_bool, ctypes.c_bool


class _Table:
    """Lists of objects that have the same keys and hold numbers of one type, taken at once."""

    __slots__ = ("_cells", "_dtype", "_key", "_keys", "_length", "_number", "_read", "_size", "_size_bytes", "_texts")

    def __init__(self, pointer: int, length: int, number: ctypes.c_int, dtype: Any, key: Callable[[str], Any]) -> None:
        first = lib.mdf_value_item(pointer, 0)
        self._length, self._number, self._dtype = length, number.value, dtype
        texts = [lib.mdf_value_key(first, i) for i in range(lib.mdf_value_length(first))]
        self._texts = (ctypes.c_char_p * len(texts))(*texts), ctypes.c_size_t(len(texts))
        self._key, self._keys = key, [key(text.decode(errors="replace")) for text in texts]
        self._size = length * len(self._keys)
        self._size_bytes = ctypes.c_size_t(self._size * dtype.itemsize)
        self._read = number, ctypes.byref(number)
        self._cells = tuple(self._indices()) if self._size <= _FEW_ELEMENTS else None

    def _indices(self) -> Iterable[tuple]:
        return zip(range(self._size), itertools.repeat(...))  # of arrays without axes

    @classmethod
    def of(cls, pointer: int, length: int, key: Callable[[str], Any]) -> _Table | None:
        """None for any other list."""
        number = ctypes.c_int()
        dtype = dtype_of(number.value) if lib.mdf_value_table(pointer, number, None, 0) else None
        return None if dtype is None else cls(pointer, length, number, dtype, key)  # None: a type that needs a package that is not there

    def _reads(self, pointer: int, numbers: np.ndarray) -> bool:
        """Whether it is such a list; the numbers are those of it then."""
        number, to_number = self._read
        value = ctypes.c_void_p(pointer)
        return (
            _length_of(value) == self._length
            and _has_keys(value, *self._texts)
            and _read_table(value, to_number, ctypes.c_void_p(address_of(numbers)), self._size_bytes)
            and number.value == self._number
        )

    def rows(self, numbers: np.ndarray) -> list[dict[Any, np.ndarray]]:
        """The objects that hold these numbers."""
        cells, keys = list(map(numbers.__getitem__, self._cells or self._indices())), self._keys
        rows: list[dict[Any, np.ndarray]] = [{keys[0]: cell} for cell in cells[:: len(keys)]]  # columns: many small dicts at once are slow to make
        for column, key in enumerate(keys[1:], 1):
            for row, cell in zip(rows, cells[column :: len(keys)]):
                row[key] = cell
        return rows

    def __call__(self, pointer: int) -> Any:
        """What `pointer` holds: such a list as this is of, or any other value."""
        numbers = np.empty(self._size, self._dtype)
        return self.rows(numbers) if self._reads(pointer, numbers) else to_python(pointer, key=self._key)


class _Texts:
    """Arrays of texts of one shape, by where they lie; the last one is remembered, where it is small."""

    __slots__ = ("_array", "_shape", "_texts", "_type")

    def __init__(self, shape: tuple[int, ...], size: int) -> None:
        self._shape, self._type = shape, ctypes.c_char_p * size
        self._texts: list[bytes | None] | None = None
        self._array = np.empty(0, dtype=object)

    def __call__(self, address: int) -> np.ndarray:
        texts: list[bytes | None] = self._type.from_address(address)[:]
        if texts != self._texts:
            array = _array_of_texts(texts, self._shape)
            if len(texts) > _FEW_ELEMENTS:
                return array
            self._array, self._texts = array, texts
        return self._array.copy()


class _Places:
    """Arrays of numbers of one type and shape, by where they lie: views that are made once for each place."""

    __slots__ = ("_copies", "_dtype", "_shape")

    def __init__(self, view: np.ndarray, address: int) -> None:
        self._shape, self._dtype = view.shape, view.dtype
        self._copies = {address: view.copy}

    def __call__(self, address: int) -> np.ndarray:
        try:
            return self._copies[address]()
        except KeyError:
            if len(self._copies) == _MANY_PLACES:
                self._copies.clear()
        memory = _bytes_type(math.prod(self._shape) * self._dtype.itemsize).from_address(address)
        copy = self._copies[address] = np.ndarray(self._shape, self._dtype, memory).copy
        return copy()


def to_python(pointer: int | None, *, scalars: bool = False, owner: Handle | None = None, key: Callable[[str], Any] = str) -> Any:
    """What a value of the engine holds.

    Parameters
    ----------
    pointer
        The value, borrowed; None is nothing.
    scalars
        Arrays without axes become NumPy scalars, and texts.
    owner
        The state that the value is of: arrays are read-only views, which keep it alive, and not copies.
    key
        What the keys of objects become, which are texts.

    Returns
    -------
    numpy.ndarray, numpy.generic, str, list, dict or None
    """
    if not pointer:
        return None
    kind = lib.mdf_value_kind(pointer)
    if kind == KIND_TENSOR:
        tensor = Tensor()
        lib.mdf_value_tensor(pointer, tensor)
        array = _array_of(pointer, tensor, owner)
        return array[()] if scalars and array.ndim == 0 else array
    if kind == KIND_NONE:
        return None
    length = lib.mdf_value_length(pointer)
    if kind == KIND_LIST and not scalars and owner is None and (table := _Table.of(pointer, length, key)) is not None:
        return table(pointer)
    items = [to_python(lib.mdf_value_item(pointer, i), scalars=scalars, owner=owner, key=key) for i in range(length)]
    if kind == KIND_LIST:
        return items
    return {key(_key(pointer, i)): item for i, item in enumerate(items)}
