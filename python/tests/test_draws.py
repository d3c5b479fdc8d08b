"""What PsyNeuLink's functions draw follows their distributions: Kolmogorov's and Smirnov's test against SciPy's, and against a file."""

import numpy as np
import pytest

import mdf_c

N = 5000

# What is drawn, with the name and the parameters of SciPy's distribution.
DRAWN = {
    "draw_normal([0], seed, x)": ("norm", ()),
    "draw_inverted([0], seed, x)": ("norm", ()),
    "draw_uniform([0], seed, x)": ("uniform", ()),
    "draw_exponential([0], seed, x)": ("expon", ()),
    "draw_gamma([0], seed, x, 0.4)": ("gamma", (0.4,)),
    "draw_gamma([0], seed, x, 3)": ("gamma", (3,)),
    "draw_wald([0], seed, x, 2, 6)": ("invgauss", (2 / 6, 0, 6)),
}


def model(call, seed):
    node = {"input_ports": {"x": {}}, "parameters": {"seed": {"value": seed}}, "output_ports": {"y": {"value": f"psyneulink.{call}"}}}
    return {"m": {"graphs": {"g": {"nodes": {"n": node}}}}}


@pytest.mark.parametrize("call", DRAWN)
def test_follows_its_distribution(call):
    stats = pytest.importorskip("scipy.stats")
    name, parameters = DRAWN[call]
    for seed in (1, 2):
        drawn = mdf_c.run(model(call, seed), {"x": np.zeros(N)}).outputs["n"]["y"]
        assert stats.kstest(drawn, name, parameters).pvalue > 1e-4  # seeds are fixed: it holds or it does not


def test_a_seed_that_is_swept_gives_each_instance_its_numbers():
    found = mdf_c.sweep(model("draw_uniform([0], seed, x)", 0), {"n.seed": [5, 6, 5]}, {"x": np.zeros(3)}, record=["n.y"])["n.y"]
    rows = np.reshape(found, (3, 3))
    for row, seed in zip(rows, (5, 6, 5)):
        assert row.tolist() == np.random.RandomState([seed]).uniform(size=3).tolist()


def test_a_state_that_is_used_again_draws_again():
    program = mdf_c.compile(model("draw_normal([0], seed, x)", 9))
    state = program.state()
    numbers = np.random.RandomState([9]).normal(size=6)
    for expected in (numbers[:3], numbers[3:]):
        state.set_input("x", np.zeros(3))
        state.evaluate()
        np.testing.assert_allclose(state.output("n", "y"), expected, rtol=1e-14)
    np.testing.assert_allclose(mdf_c.run(program, {"x": np.zeros(3)}).outputs["n"]["y"], numbers[:3], rtol=1e-14)
