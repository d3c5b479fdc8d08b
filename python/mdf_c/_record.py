"""Frozen records, as `dataclasses` makes them: that writes their methods as text and compiles it, which takes longer than to load and run a
small model; here they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import inspect


def record(*, frozen: bool) -> Callable[[type], type]:
    """What makes a class of records (all are frozen): its annotations are its fields, each has a default, and ``__post_init__`` looks at a new
    one. It is called as ``dataclasses.dataclass``, which it is to those who check types."""

    def make(kind: Any) -> type:
        names = tuple(kind.__annotations__)
        members = {"__match_args__": names, "_defaults": {name: getattr(kind, name) for name in names}, "__signature__": _Signature()}
        for name, member in members.items():
            setattr(kind, name, member)
        for method in (__init__, __repr__, __eq__, __hash__, __setattr__, __delattr__):
            setattr(kind, method.__name__, method)
        return kind

    return make


def fields(one: Any) -> dict[str, Any]:
    """The values of a record by the names of its fields."""
    return {name: getattr(one, name) for name in one.__match_args__}


def replace(one: Any, **values: Any) -> Any:
    """The record with other values of some fields."""
    return type(one)(**{**fields(one), **values})


class _Signature:
    """That of the class, made for those who ask."""

    def __get__(self, instance: object, kind: Any) -> inspect.Signature:
        import inspect

        place, types = inspect.Parameter.POSITIONAL_OR_KEYWORD, kind.__annotations__
        return inspect.Signature([inspect.Parameter(n, place, default=d, annotation=types[n]) for n, d in kind._defaults.items()])


def __init__(self: Any, *values: Any, **named: Any) -> None:
    names = self.__match_args__
    given = dict(zip(names, values))
    unknown = next((name for name in named if name not in self._defaults or name in given), None)
    if len(values) > len(names) or unknown is not None:
        what = f"an unexpected or second argument '{unknown}'" if unknown is not None else f"{len(values)} arguments, {len(names)} at most"
        raise TypeError(f"{type(self).__name__}() got {what}")
    self.__dict__.update(self._defaults, **given, **named)
    self.__post_init__()


def __repr__(self: Any) -> str:
    return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in fields(self).items())})"


def __eq__(self: Any, other: object) -> Any:
    return fields(self) == fields(other) if type(other) is type(self) else NotImplemented


def __hash__(self: Any) -> int:
    return hash(tuple(fields(self).values()))


def __setattr__(self: Any, name: str, value: Any) -> None:
    raise AttributeError(f"can not set '{name}': a {type(self).__name__} does not change")


def __delattr__(self: Any, name: str) -> None:
    raise AttributeError(f"can not delete '{name}': a {type(self).__name__} does not change")
