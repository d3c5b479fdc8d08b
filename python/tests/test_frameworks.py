"""What a model computes, differentiated by PyTorch, JAX and PyTensor."""

from importlib.util import find_spec

import numpy as np
import pytest
from conftest import model_of

import mdf_c

# (a x) ** 2 summed, and a vector.
SQUARES = {
    "input_ports": {"x": {"shape": "(2,)"}},
    "parameters": {"a": {"value": 2.0}, "w": {"value": [1.0, -1.0]}},
    "output_ports": {"loss": {"value": "numpy.sum((a * w * x) ** 2)"}, "y": {"value": "a * w * x"}},
}
X = np.array([3.0, 0.5])
A, W = 1.5, np.array([0.25, -2.0])
VALUE = np.sum((A * W * X) ** 2)
BY_A, BY_W = 2 * A * np.sum((W * X) ** 2), 2 * A**2 * W * X**2


def loss(of="n.loss"):
    return mdf_c.gradient(model_of(SQUARES), of, ["n.a", "n.w"])


def test_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    f = mdf_c.to_torch(loss())
    a, w = torch.tensor(A, dtype=torch.float64, requires_grad=True), torch.tensor(W, requires_grad=True)
    value = f({"n.a": a, "n.w": w}, {"x": torch.tensor(X)})
    (3 * torch.exp(value / 10)).backward()  # what is done with it has its own derivative
    factor = 0.3 * np.exp(VALUE / 10)
    assert value.dtype == torch.float64 and value.item() == pytest.approx(VALUE)
    np.testing.assert_allclose(a.grad, factor * BY_A)
    np.testing.assert_allclose(w.grad, factor * BY_W)
    assert torch.autograd.gradcheck(lambda a, w: f([a, w], {"x": X}), (a.detach().requires_grad_(), w.detach().requires_grad_()))
    single = f([a.detach().float(), torch.tensor(W, dtype=torch.float32, requires_grad=True)], {"x": X})
    assert single.dtype == torch.float32
    with pytest.raises(ValueError, match="must be those of the gradient"):
        f({"n.a": a}, {"x": X})


def test_jax():
    jax = pytest.importorskip("jax", reason="jax is not installed")
    f = mdf_c.to_jax(loss())
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        parameters = {"n.a": jax.numpy.asarray(A), "n.w": jax.numpy.asarray(W)}
        value, by = jax.jit(jax.value_and_grad(lambda p, x: 3 * jax.numpy.exp(f(p, {"x": x}) / 10)))(parameters, X)
        factor = 0.3 * np.exp(VALUE / 10)
        assert float(value) == pytest.approx(3 * np.exp(VALUE / 10))
        np.testing.assert_allclose(by["n.a"], factor * BY_A)
        np.testing.assert_allclose(by["n.w"], factor * BY_W)
        many = jax.vmap(jax.grad(lambda a: f([a, W], {"x": X})))(jax.numpy.array([1.0, 1.5]))
        np.testing.assert_allclose(many, [BY_A / A, BY_A])
    single = jax.grad(lambda a: f([a, W.astype(np.float32)], {"x": X}))(np.float32(A))
    assert single.dtype == np.float32 and float(single) == pytest.approx(BY_A, rel=1e-6)


def test_pytensor():
    pytensor = pytest.importorskip("pytensor", reason="pytensor is not installed")
    import pytensor.tensor as pt

    f = mdf_c.to_pytensor(loss(), {"x": X})
    a, w = pt.dscalar(), pt.dvector()
    cost = 3 * pt.exp(f({"n.a": a, "n.w": w}) / 10)
    compute = pytensor.function([a, w], [cost, *pytensor.grad(cost, [a, w])], mode="FAST_COMPILE")
    value, by_a, by_w = compute(A, W)
    factor = 0.3 * np.exp(VALUE / 10)
    assert value == pytest.approx(3 * np.exp(VALUE / 10))
    np.testing.assert_allclose(by_a, factor * BY_A)
    np.testing.assert_allclose(by_w, factor * BY_W)


def test_arrays_are_brought_back_by_each():
    """Of y = a w x: what comes from behind, v, by a is the sum of v w x, by w it is v a x."""
    v = np.array([0.5, -3.0])
    by_a, by_w = np.sum(v * W * X), v * A * X
    tried = 0
    if find_spec("torch"):
        import torch

        a, w = torch.tensor(A, dtype=torch.float64, requires_grad=True), torch.tensor(W, requires_grad=True)
        y = mdf_c.to_torch(loss("y"))([a, w], {"x": X})
        np.testing.assert_allclose(y.detach(), A * W * X)
        (y * torch.tensor(v)).sum().backward()
        np.testing.assert_allclose([a.grad, *w.grad], [by_a, *by_w])
        tried += 1
    if find_spec("jax"):
        import jax

        f = mdf_c.to_jax(loss("n.y"))
        y, pullback = jax.vjp(lambda a, w: f([a, w], {"x": X}), np.float32(A), W.astype(np.float32))
        np.testing.assert_allclose(y, A * W * X, rtol=1e-6)
        back = pullback(v.astype(np.float32))
        np.testing.assert_allclose([back[0], *back[1]], [by_a, *by_w], rtol=1e-6)
        jacobian = jax.jit(jax.jacrev(lambda w: f([np.float32(A), w], {"x": X})))(W.astype(np.float32))
        np.testing.assert_allclose(jacobian, np.diag(A * X), rtol=1e-6)
        tried += 1
    if find_spec("pytensor"):
        import pytensor
        import pytensor.tensor as pt

        a, w = pt.dscalar(), pt.dvector()
        cost = (mdf_c.to_pytensor(loss("n.y"), {"x": X})([a, w]) * v).sum()
        found = pytensor.function([a, w], pytensor.grad(cost, [a, w]), mode="FAST_COMPILE")(A, W)
        np.testing.assert_allclose([found[0], *found[1]], [by_a, *by_w])
        tried += 1
    if not tried:
        pytest.skip("neither torch nor jax nor pytensor is installed")
