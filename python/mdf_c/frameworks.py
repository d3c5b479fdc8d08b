"""What a model computes as a function that PyTorch, JAX and PyTensor differentiate: a step of their programs, whose derivative is the engine's.

Each takes a :class:`mdf_c.Gradient`; its framework is imported when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ._added_node import AddedNode
from .engine import Model, Program
from .errors import MdfNameError
from .gradients import Gradient
from .sweeping import _origin

Inputs = Mapping[str, Any]


class _Evaluation:
    """A gradient as functions of arrays: the value, and the vector-Jacobian product that frameworks ask for.

    Of one number that is a multiple of its gradient, which comes with the value. Of an array it is the gradient of the sum of its elements, each
    times what comes from behind: of a model with one more node, which is made when it is first asked for.
    """

    def __init__(self, function: Gradient) -> None:
        self.function, self.names = function, function.wrt
        self._weighted: Gradient | None = None

    def named(self, parameters: Any) -> list[Any]:
        """Values of all parameters of the gradient, in its order: of a dict by name, or of as many values."""
        if isinstance(parameters, Mapping):
            if set(parameters) != set(self.names):
                raise ValueError(f"parameters must be those of the gradient, {list(self.names)}, not {list(parameters)}")
            return [parameters[name] for name in self.names]
        if not isinstance(parameters, Sequence) or len(parameters) != len(self.names):
            raise ValueError(f"parameters must be a dict or a sequence of {len(self.names)} values: {', '.join(self.names)}")
        return list(parameters)

    def form(self, inputs: Inputs) -> tuple[int, ...]:
        """The shape of the value."""
        return np.shape(self.function({}, inputs)[0])

    def value(self, values: Sequence[Any], inputs: Inputs) -> tuple[np.ndarray, list[np.ndarray]]:
        """The value, and the derivatives of the sum of its elements, all float64."""
        return self._call(self.function, values, inputs)

    def pullback(self, values: Sequence[Any], inputs: Inputs, upstream: Any) -> list[np.ndarray]:
        """Derivatives of the sum of the elements of the value, each times that of `upstream`."""
        upstream = np.asarray(upstream, np.float64)
        if upstream.ndim == 0:
            return [upstream * slope for slope in self.value(values, inputs)[1]]
        weighted = self._weighted = self._weighted or self._with_weights(upstream.shape)
        return self._call(weighted, values, {**inputs, "mdf_c_weights": upstream})[1]

    def _call(self, function: Gradient, values: Sequence[Any], inputs: Inputs) -> tuple[np.ndarray, list[np.ndarray]]:
        parameters = {name: np.asarray(value, np.float64) for name, value in zip(self.names, values)}
        value, by = function(parameters, inputs)
        return np.asarray(value, np.float64), [
            np.asarray(by[name], np.float64).reshape(np.shape(parameters[name])) for name in self.names
        ]

    def _with_weights(self, shape: tuple[int, ...]) -> Gradient:
        function = self.function
        program = Program(Model._read(function._origin), function.settings)
        try:
            node, port = program.find_outputs(function.of)[0]
        except MdfNameError:
            raise MdfNameError(f"'{function.of}' is an array: to derive one, name its output port, NODE.PORT") from None
        added = AddedNode(_origin(Model._read(function._origin)), program.graph_id, "mdf_c_pullback")
        total = f"numpy.sum(mdf_c_weights * {added.port(f'{node}.{port}')})"
        model = added.model({"mdf_c_weights": shape}, {}, {"mdf_c_total": total})
        return Gradient(model, f"{added.id}.mdf_c_total", self.names, function.steps, function.dt, function.settings)


def to_torch(function: Gradient) -> Callable[..., Any]:
    """A function of tensors, by torch.autograd.Function.

    Parameters
    ----------
    function
        What :func:`gradient` gives.

    Returns
    -------
    callable
        Of ``parameters`` and ``inputs=None``: parameters are a dict of tensors by name, or a sequence in the order of ``wrt``; inputs, of
        the graph, are not differentiated. Gives a tensor of the type and device of the first parameter.

    Examples
    --------
    >>> loss = mdf_c.to_torch(mdf_c.gradient("model.yaml", "loss", ["net.W"]))  # doctest: +SKIP
    >>> loss({"net.W": weights}).backward()  # doctest: +SKIP
    """
    import torch
    from torch.autograd.function import once_differentiable

    evaluation = _Evaluation(function)

    def array(value):
        return value.detach().cpu().numpy() if hasattr(value, "detach") else value

    class Evaluate(torch.autograd.Function):
        @staticmethod
        def forward(ctx, inputs, *tensors):
            value, slopes = evaluation.value([array(tensor) for tensor in tensors], inputs)
            ctx.inputs, ctx.is_single = inputs, value.ndim == 0
            kept = [torch.as_tensor(slope).to(tensor) for slope, tensor in zip(slopes, tensors)] if ctx.is_single else tensors
            ctx.save_for_backward(*kept)
            return torch.as_tensor(value).to(tensors[0])

        @staticmethod
        @once_differentiable
        def backward(ctx, upstream):
            if ctx.is_single:
                return (None, *(upstream * slope for slope in ctx.saved_tensors))
            slopes = evaluation.pullback([array(tensor) for tensor in ctx.saved_tensors], ctx.inputs, array(upstream))
            return (None, *(torch.as_tensor(slope).to(tensor) for slope, tensor in zip(slopes, ctx.saved_tensors)))

    def call(parameters, inputs=None):
        given = {name: array(value) for name, value in (inputs or {}).items()}
        values = evaluation.named(parameters)
        return Evaluate.apply(
            given, *(value if hasattr(value, "detach") else torch.as_tensor(value, dtype=torch.float64) for value in values)
        )

    return call


def to_jax(function: Gradient) -> Callable[..., Any]:
    """A function of arrays of JAX, by custom_vjp over pure_callback: under jit, grad, value_and_grad and vmap.

    Parameters
    ----------
    function
        What :func:`gradient` gives.

    Returns
    -------
    callable
        As of :func:`to_torch`. Gives an array of the type of the first parameter: the engine computes with float64 whatever that is.
    """
    import jax
    import jax.numpy as jnp

    evaluation = _Evaluation(function)

    def plain(inputs):
        return {name: np.asarray(each) for name, each in inputs.items()}

    def host_value(values, inputs):
        return evaluation.value(values, plain(inputs))[0].astype(values[0].dtype)

    def host_pullback(values, inputs, upstream):
        return tuple(
            slope.astype(each.dtype) for slope, each in zip(evaluation.pullback(values, plain(inputs), upstream), values)
        )

    @jax.custom_vjp
    def evaluate(values, inputs):
        shape = evaluation.form(
            {name: np.ones(each.shape, each.dtype) for name, each in inputs.items()}
        )  # of arrays like those that come
        return jax.pure_callback(
            host_value, jax.ShapeDtypeStruct(shape, values[0].dtype), values, inputs, vmap_method="sequential"
        )

    def forward(values, inputs):
        return evaluate(values, inputs), (values, inputs)

    def backward(kept, upstream):
        values, inputs = kept
        forms = tuple(jax.ShapeDtypeStruct(each.shape, each.dtype) for each in values)
        slopes = jax.pure_callback(host_pullback, forms, values, inputs, upstream, vmap_method="sequential")
        return slopes, {name: _nothing(jax, each) for name, each in inputs.items()}

    evaluate.defvjp(forward, backward)

    def call(parameters, inputs=None):
        values = tuple(jnp.asarray(value, jnp.result_type(float, value)) for value in evaluation.named(parameters))
        return evaluate(values, {name: jnp.asarray(value) for name, value in (inputs or {}).items()})

    return call


def _nothing(jax: Any, array: Any) -> Any:
    """The derivative by an input, which is none."""
    if jax.numpy.issubdtype(array.dtype, jax.numpy.inexact):
        return jax.numpy.zeros_like(array)
    return np.zeros(array.shape, jax.dtypes.float0)


def to_pytensor(function: Gradient, inputs: Inputs | None = None) -> Callable[..., Any]:
    """A function of variables of PyTensor, by an Op with a gradient: for PyMC, say, as a likelihood that NUTS can use.

    Parameters
    ----------
    function
        What :func:`gradient` gives.
    inputs : dict, optional
        Inputs of the graph: the same in all evaluations.

    Returns
    -------
    callable
        Of ``parameters``: a dict of variables by name, or a sequence in the order of ``wrt``. Gives a float64 variable.
    """
    import pytensor.tensor as pt
    from pytensor.graph.basic import Apply
    from pytensor.graph.op import Op

    evaluation, given = _Evaluation(function), dict(inputs or {})
    n_axes = len(evaluation.form(given))

    def variables_of(values):
        return [pt.cast(pt.as_tensor_variable(each), "float64") for each in values]

    class Pullback(Op):
        """Of the parameters and of what comes from behind."""

        __props__ = ()

        def make_node(self, *values):
            values = variables_of(values)
            return Apply(self, values, [each.type() for each in values[:-1]])

        def perform(self, _node, values, storage):
            for place, slope in zip(storage, evaluation.pullback(values[:-1], given, values[-1])):
                place[0] = np.array(slope)

    class Evaluate(Op):
        """The value."""

        __props__ = ()

        def make_node(self, *values):
            return Apply(self, variables_of(values), [pt.tensor(dtype="float64", shape=(None,) * n_axes)])

        def perform(self, _node, values, storage):
            storage[0][0] = np.array(evaluation.value(values, given)[0])

        def grad(self, values, upstream):
            return pullback(*values, upstream[0], return_list=True)

        def pullback(self, values, _outputs, cotangents):
            return self.grad(values, cotangents)

    evaluate: Any = Evaluate()
    pullback: Any = Pullback()
    return lambda parameters: evaluate(*evaluation.named(parameters))
