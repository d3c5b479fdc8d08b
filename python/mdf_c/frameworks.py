"""What a model computes as a function that PyTorch, JAX and PyTensor differentiate: a step of their programs, whose derivative is the engine's.

Each takes a :class:`mdf_c.Gradient`, whose value must be one number, and is imported with its framework when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .gradients import Gradient


def _named(function: Gradient, parameters: Any) -> list[Any]:
    """Values of all parameters of the gradient, in its order: of a dict by name, or of as many values."""
    if isinstance(parameters, Mapping):
        unknown = [name for name in parameters if name not in function.wrt]
        missing = [name for name in function.wrt if name not in parameters]
        if unknown or missing:
            raise ValueError(f"parameters must be those of the gradient, {list(function.wrt)}, not {list(parameters)}")
        return [parameters[name] for name in function.wrt]
    if not isinstance(parameters, Sequence) or len(parameters) != len(function.wrt):
        raise ValueError(f"parameters must be a dict or a sequence of {len(function.wrt)} values: {', '.join(function.wrt)}")
    return list(parameters)


def _evaluate(
    function: Gradient, values: Sequence[np.ndarray], inputs: Mapping[str, Any] | None
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The value, and its derivatives in the order of the parameters, all float64."""
    parameters = {name: np.asarray(value, np.float64) for name, value in zip(function.wrt, values)}
    value, by = function(parameters, inputs)
    value = np.asarray(value, np.float64)
    if value.size != 1:
        raise ValueError(
            f"'{function.of}' has the shape {value.shape}: what is differentiated must be one number, say a sum or a loss in the model"
        )
    return value.reshape(()), [np.asarray(by[name], np.float64).reshape(parameters[name].shape) for name in function.wrt]


def to_torch(function: Gradient) -> Callable[..., Any]:
    """A function of tensors, by torch.autograd.Function.

    Parameters
    ----------
    function : Gradient

    Returns
    -------
    callable
        Of ``parameters`` and ``inputs=None``: parameters are a dict of tensors by name, or a sequence in the order of ``wrt``; inputs, of the
        graph, are not differentiated. Gives a tensor without axes, of the type and device of the first parameter.

    Examples
    --------
    >>> loss = mdf_c.to_torch(mdf_c.gradient("model.yaml", "loss", ["net.W"]))  # doctest: +SKIP
    >>> loss({"net.W": weights}).backward()  # doctest: +SKIP
    """
    import torch
    from torch.autograd.function import once_differentiable

    class Evaluate(torch.autograd.Function):
        @staticmethod
        def forward(ctx, inputs, *tensors):
            arrays = [tensor.detach().cpu().numpy() for tensor in tensors]
            value, slopes = _evaluate(function, arrays, inputs)
            ctx.save_for_backward(*(torch.as_tensor(slope).to(tensor) for slope, tensor in zip(slopes, tensors)))
            return torch.as_tensor(value).to(tensors[0])

        @staticmethod
        @once_differentiable
        def backward(ctx, upstream):
            return (None, *(upstream * slope for slope in ctx.saved_tensors))

    def call(parameters, inputs=None):
        values = _named(function, parameters)
        given = {
            name: value.detach().cpu().numpy() if hasattr(value, "detach") else value for name, value in (inputs or {}).items()
        }
        return Evaluate.apply(
            given, *(value if hasattr(value, "detach") else torch.as_tensor(value, dtype=torch.float64) for value in values)
        )

    return call


def to_jax(function: Gradient) -> Callable[..., Any]:
    """A function of arrays of JAX, by custom_vjp over pure_callback: under jit, grad, value_and_grad and vmap.

    Parameters
    ----------
    function : Gradient

    Returns
    -------
    callable
        As of :func:`to_torch`. Gives an array without axes, of the type of the first parameter: the engine computes
        with float64 whatever that is.
    """
    import jax
    import jax.numpy as jnp

    def host(values, inputs):
        value, slopes = _evaluate(
            function, [np.asarray(each) for each in values], {name: np.asarray(each) for name, each in inputs.items()}
        )
        return value.astype(values[0].dtype), tuple(slope.astype(each.dtype) for slope, each in zip(slopes, values))

    def both(values, inputs):
        forms = jax.ShapeDtypeStruct((), values[0].dtype), tuple(jax.ShapeDtypeStruct(each.shape, each.dtype) for each in values)
        return jax.pure_callback(host, forms, values, inputs, vmap_method="sequential")

    @jax.custom_vjp
    def evaluate(values, inputs):
        return both(values, inputs)[0]

    def forward(values, inputs):
        value, slopes = both(values, inputs)
        return value, (slopes, inputs)

    def backward(kept, upstream):
        slopes, inputs = kept
        return tuple(upstream * slope for slope in slopes), {name: _nothing(jax, each) for name, each in inputs.items()}

    evaluate.defvjp(forward, backward)

    def call(parameters, inputs=None):
        values = tuple(jnp.asarray(value, jnp.result_type(float, value)) for value in _named(function, parameters))
        return evaluate(values, {name: jnp.asarray(value) for name, value in (inputs or {}).items()})

    return call


def _nothing(jax: Any, array: Any) -> Any:
    """The derivative by an input, which is none."""
    if jax.numpy.issubdtype(array.dtype, jax.numpy.inexact):
        return jax.numpy.zeros_like(array)
    return np.zeros(array.shape, jax.dtypes.float0)


def to_pytensor(function: Gradient, inputs: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """A function of variables of PyTensor, by an Op with a gradient: for PyMC, say, as a likelihood that NUTS can use.

    Parameters
    ----------
    function : Gradient
    inputs : dict, optional
        Inputs of the graph: the same in all evaluations.

    Returns
    -------
    callable
        Of ``parameters``: a dict of variables by name, or a sequence in the order of ``wrt``. Gives a variable without axes.
    """
    import pytensor.tensor as pt
    from pytensor.gradient import DisconnectedType, grad_undefined
    from pytensor.graph.basic import Apply
    from pytensor.graph.op import Op

    class Evaluate(Op):
        """The value, and behind it its derivatives by each input."""

        __props__ = ()

        def make_node(self, *variables):
            variables = [pt.cast(pt.as_tensor_variable(each), "float64") for each in variables]
            return Apply(self, variables, [pt.dscalar(), *(each.type() for each in variables)])

        def perform(self, _node, values, storage):
            value, slopes = _evaluate(function, values, inputs)
            for place, result in zip(storage, (value, *slopes)):
                place[0] = np.array(result)

        def grad(self, variables, upstream):
            if any(not isinstance(each.type, DisconnectedType) for each in upstream[1:]):
                return [grad_undefined(self, i, each, "there are no second derivatives") for i, each in enumerate(variables)]
            slopes: Any = self(*variables, return_list=True)
            slopes = slopes[1:]
            return [upstream[0] * slope for slope in slopes]

        def pullback(self, variables, _outputs, cotangents):
            return self.grad(variables, cotangents)

    evaluate: Any = Evaluate()
    return lambda parameters: evaluate(*_named(function, parameters), return_list=True)[0]
