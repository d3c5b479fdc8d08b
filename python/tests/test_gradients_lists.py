"""Derivatives of what is made of lists whose items are known: choices, pairs, parts of arrays that are joined again."""

import numpy as np
import pytest
from conftest import model_of

import mdf_c

ROWS = np.array([[0.3, -0.7, 1.4, 0.2], [1.1, 0.2, -0.6, 0.9]])
VECTORS = {"a": np.array([0.3, -0.7, 1.4]), "b": np.array([1.1, 0.2, -0.6])}

EXPRESSIONS = [
    ("numpy.select([a > 0, a < -0.5], [a * b, b * b], a * 3)", VECTORS),
    ("numpy.select([a > 0, b > 0], [a * b, 2])", VECTORS),
    ("numpy.select([a > 1], [a], default=b)", {"a": np.array(0.7), "b": np.array(0.2)}),
    ("numpy.select([a > t for t in [1, 0]], [a * t for t in [2, 3]], b)", VECTORS),
    ("numpy.select(choicelist=[a * b], condlist=[numpy.expand_dims(a, 1) > b])", VECTORS),
    ("[x * y for x, y in zip(a, b)]", VECTORS),
    ("numpy.array([x * y * n for x, y, n in zip(a, b, range(2))])", VECTORS),
    ("sum(x * y for x, y in zip(a, b))", VECTORS),
    ("numpy.array([x * i for i, x in enumerate(a, start=2) if i > 2])", VECTORS),
    ("sum([x * i for i, x in enumerate(reversed(a))])", VECTORS),
    ("sum([x * p[1] for p in zip(a, b) for x in p])", VECTORS),
    ("numpy.array([numpy.sum(r) * i for i, r in enumerate(a)])", {"a": ROWS}),
    ("numpy.stack(numpy.split(a, 2, 1)) * numpy.reshape(b, (1, 1, 2))", {"a": ROWS, "b": np.array([1.5, 2.5])}),
    ("numpy.concatenate(numpy.array_split(a, 3, 1), 1) * b", {"a": ROWS, "b": np.array(2.5)}),
    ("numpy.vstack(numpy.split(a, 2)) * b", {"a": ROWS, "b": np.array(2.5)}),
    ("numpy.stack(numpy.meshgrid(a, b)) * a[0]", VECTORS),
    ("numpy.stack([numpy.sin(p) * i for i, p in enumerate(numpy.split(a, 2, 1))])", {"a": ROWS}),
]


def of(expression, values, **others):
    parameters = {name: {"value": value.tolist()} for name, value in values.items()}
    return model_of(nodes={"n": {"parameters": parameters | {name: {"value": text} for name, text in others.items()}, "output_ports": {"y": {"value": expression}}}})


def is_derived(model, values):
    names = [f"n.{name}" for name in values]
    plain, fast = (mdf_c.gradient(model, "y", names, plain=plain) for plain in (True, False))
    value, by = plain()
    np.testing.assert_array_equal(value, mdf_c.run(model).outputs["n"]["y"])
    for _ in range(4):
        again, again_by = fast()
        np.testing.assert_array_equal(value, again)
        for name in names:
            np.testing.assert_array_equal(by[name], again_by[name])
    for name, at in values.items():
        for index in np.ndindex(at.shape):
            step = np.zeros_like(at)
            step[index] = 1e-6
            above, below = (np.sum(fast({f"n.{name}": at + sign * step})[0]) for sign in (1, -1))
            assert by[f"n.{name}"][index] == pytest.approx((above - below) / 2e-6, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("expression, values", EXPRESSIONS)
def test_what_is_made_of_known_items_is_derived(expression, values):
    is_derived(of(expression, values), values)


def test_lists_may_be_parameters():
    is_derived(of("numpy.select(c, d, b)", VECTORS, c="[a > 0, a < -0.5]", d="[a * b, a * a]"), VECTORS)
    is_derived(of("numpy.concatenate([p * i for i, p in enumerate(s)])", {"a": ROWS}, s="numpy.split(a, 2)"), {"a": ROWS})


def test_choices_are_the_same_bits_in_every_way_of_running():
    nodes = {"n": {"parameters": {"t": {"default_initial_value": 0.0, "value": "t + 0.37"}, "a": {"value": "numpy.sin(t * numpy.array([1.0, 2.0, 3.0]))"}},
                   "output_ports": {"y": {"value": "numpy.select([a > 0.5, a > t / 9, a < -0.9], [a * t, 2, a / 3], -t)"}, "z": {"value": "numpy.select([t > 2, t > 1], [1, 2])"}}}}  # fmt: skip
    model = model_of(nodes=nodes)
    for steps in range(1, 12):
        plain, fast = (mdf_c.run(model, steps=steps, plain=plain).outputs["n"] for plain in (True, False))
        for port in ("y", "z"):
            np.testing.assert_array_equal(plain[port], fast[port])
        a = np.sin(0.37 * steps * np.array([1.0, 2.0, 3.0]))
        t = 0.37 * steps
        np.testing.assert_allclose(plain["y"], np.select([a > 0.5, a > t / 9, a < -0.9], [a * t, 2, a / 3], -t), rtol=1e-12)
        assert plain["z"] == np.select([t > 2, t > 1], [1, 2])


def test_as_many_choices_as_conditions_are_needed():
    for expression in ("numpy.select([a > 0], [a, b])", "numpy.select([], [])"):
        with pytest.raises(mdf_c.MdfError, match="a list of as many choices"):
            mdf_c.run(of(expression, VECTORS))


@pytest.mark.parametrize("expression", ["numpy.sum([a, 1.0] + [a * a])", "numpy.sum([a] + [1.0])", "numpy.sum([a, a] * 3)", "numpy.sum(numpy.asarray([1.0, 2.0]) + [a])"])
def test_lists_that_are_joined_are_refused_with_the_cure(expression):
    with pytest.raises(mdf_c.MdfUnsupportedError, match=r"no derivative of a list that is joined .* \(numpy.concatenate, numpy.tile, numpy.asarray\)"):
        mdf_c.value_and_grad(of(expression, {"a": np.array(1.5)}), "y", ["n.a"])
