"""Values that are drawn, beside scipy's; simulators, with scipy and torch; sensitivity indices, by SALib."""

import math

import numpy as np
import pytest

import mdf_c

stats = pytest.importorskip("scipy.stats")
qmc = pytest.importorskip("scipy.stats.qmc")

# y is Ishigami's function, whose indices are known.
ISHIGAMI = {
    "m": {
        "graphs": {
            "g": {
                "nodes": {
                    "f": {
                        "parameters": {name: {"value": 0.5} for name in ("x1", "x2", "x3")},
                        "output_ports": {
                            "y": {"value": "numpy.sin(x1) + 7 * numpy.sin(x2) ** 2 + 0.1 * x3 ** 4 * numpy.sin(x1)"},
                            "pair": {"value": "[x1, x2 + x3]"},
                            "draw": {"value": "x1 + numpy.random.normal()"},
                        },
                    }
                }
            }
        }
    }
}
NAMES = ["f.x1", "f.x2", "f.x3"]


def cube(d: int, n: int, sampling: str, seed: int = 0) -> np.ndarray:
    drawn = mdf_c.sample({str(i): mdf_c.uniform(0, 1) for i in range(d)}, n, sampling, seed)
    return np.stack(list(drawn.values()), axis=1)


def test_points_of_sobol_are_scipys():
    assert cube(128, 1024, "sobol").tolist() == qmc.Sobol(128, scramble=False).random(1024).tolist()


def test_shifted_points_of_sobol_are_as_even():
    for seed in (1, 2):
        points = cube(5, 1024, "sobol", seed)
        assert qmc.discrepancy(points) < 1.5 * qmc.discrepancy(qmc.Sobol(5, scramble=True, seed=seed).random(1024))
        assert ((points > 0) & (points < 1)).all()
        for k in range(5):  # of each axis one point in each part
            assert sorted((points[:, k] * 1024).astype(int)) == list(range(1024))


def test_a_latin_hypercube_has_a_point_in_each_layer():
    points = cube(6, 1000, "latin_hypercube", 3)
    for k in range(6):
        assert sorted((points[:, k] * 1000).astype(int)) == list(range(1000))
    correlation = np.corrcoef(points.T) - np.eye(6)
    assert np.abs(correlation).max() < 5 / math.sqrt(1000)
    inside = points * 1000 % 1
    assert stats.kstest(inside.ravel(), "uniform").pvalue > 1e-4


@pytest.mark.parametrize("sampling", ["random", "sobol", "latin_hypercube"])
def test_distributions_are_what_they_say(sampling):
    """Kolmogorov-Smirnov: a right sampler fails one in 10,000 seeds, and these are fixed."""
    drawn = mdf_c.sample(
        {"u": mdf_c.uniform(-2, 5), "n": mdf_c.normal(1, 3), "l": mdf_c.lognormal(0.5, 0.25)}, 4096, sampling, 11
    )
    for values, law in zip(drawn.values(), (stats.uniform(-2, 7), stats.norm(1, 3), stats.lognorm(0.25, scale=math.exp(0.5)))):
        assert stats.kstest(values, law.cdf).pvalue > 1e-4
    correlation = np.corrcoef(np.stack(list(drawn.values()))) - np.eye(3)
    assert np.abs(correlation).max() < 4 / math.sqrt(4096)


def test_normal_values_are_the_quantiles_of_the_same_points():
    units = mdf_c.sample({"x": mdf_c.uniform(0, 1)}, 5000, "random", 5)["x"]
    values = mdf_c.sample({"x": mdf_c.normal(0, 1)}, 5000, "random", 5)["x"]
    np.testing.assert_allclose(values, stats.norm.ppf(units), rtol=2e-14, atol=1e-15)
    far = mdf_c.sample({"x": mdf_c.normal(0, 1)}, 2**20, "latin_hypercube", 1)["x"]
    np.testing.assert_allclose(np.sort(far)[[0, -1]], stats.norm.ppf([2**-21, 1 - 2**-21]), atol=1.5)


def test_a_parameter_keeps_its_values_when_others_come():
    one = mdf_c.sample({"a": mdf_c.uniform(0, 1)}, 10, "random", 3)
    two = mdf_c.sample({"a": mdf_c.uniform(0, 1), "b": mdf_c.normal(0, 1)}, 10, "random", 3)
    assert one["a"].tolist() == two["a"].tolist()
    assert mdf_c.sample({"a": mdf_c.uniform(0, 1)}, 10, "random", 4)["a"].tolist() != one["a"].tolist()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (({"a": mdf_c.uniform(1, 0)}, 3), mdf_c.MdfError, "ascend"),
        (({"a": mdf_c.normal(0, -1)}, 3), mdf_c.MdfError, "not negative"),
        (({"a": mdf_c.normal(0, math.inf)}, 3), mdf_c.MdfError, "finite"),
        (({"a": mdf_c.normal(0, 1)}, 3, "sobol"), mdf_c.MdfError, "give a seed"),
        (({str(i): mdf_c.uniform(0, 1) for i in range(129)}, 3, "sobol"), mdf_c.MdfLimitError, "128 parameters"),
        (({"a": mdf_c.uniform(0, 1)}, 3, "grid"), ValueError, "sampling must be"),
        (({"a": mdf_c.uniform(0, 1)}, -1), ValueError, "-1"),
    ],
)
def test_mistakes_are_told(arguments, error, message):
    with pytest.raises(error, match=message):
        mdf_c.sample(*arguments)


def test_a_sweep_draws_what_sample_draws():
    parameters = {"f.x1": mdf_c.uniform(0, 1), "f.x2": [1.0, 2.0], "f.x3": mdf_c.uniform(2, 3)}
    result = mdf_c.sweep(ISHIGAMI, parameters, record="pair", samples=5, sampling="sobol", trials=2, progress=False)
    drawn = mdf_c.sample({"f.x1": mdf_c.uniform(0, 1), "f.x3": mdf_c.uniform(2, 3)}, 5, "sobol")
    assert result.dims == ("f.x2", "sample", "trial")
    assert result["pair"].shape == (2, 5, 2, 2)
    assert (result["pair"][..., 0] == drawn["f.x1"][None, :, None]).all()
    assert (result["pair"][..., 1] == np.array([1.0, 2.0])[:, None, None] + drawn["f.x3"][None, :, None]).all()
    with pytest.raises(ValueError, match="samples"):
        mdf_c.sweep(ISHIGAMI, parameters, record="pair", progress=False)


# ---------------------------------------------------------------- simulators


def test_a_simulator_maps_batches_and_single_points():
    simulate = mdf_c.simulator(ISHIGAMI, NAMES, "y")
    batch = np.random.default_rng(1).uniform(-1, 1, (7, 3))
    expected = np.sin(batch[:, 0]) + 7 * np.sin(batch[:, 1]) ** 2 + 0.1 * batch[:, 2] ** 4 * np.sin(batch[:, 0])
    np.testing.assert_allclose(simulate(batch), expected, rtol=1e-14)
    assert simulate(batch[2]) == simulate(batch)[2]
    several = mdf_c.simulator(ISHIGAMI, NAMES, ["pair", "y"])(batch)
    assert several.shape == (7, 3)
    assert (several[:, 0] == batch[:, 0]).all()
    assert simulate(np.empty((0, 3))).shape == (0,)
    with pytest.raises(ValueError, match=r"\(batch, 3\)"):
        simulate([[1.0, 2.0]])


def test_calls_have_seeds_of_their_own_or_the_same():
    points = np.zeros((50, 3))
    fresh, again = (mdf_c.simulator(ISHIGAMI, NAMES, "draw", seed=4) for _ in range(2))
    first, second = fresh(points), fresh(points)
    assert len({*first, *second}) == 100
    assert again(points).tolist() == first.tolist()
    common = mdf_c.simulator(ISHIGAMI, NAMES, "draw", seed=4, new_seeds=False)
    assert common(points).tolist() == common(points).tolist()


def test_scipy_finds_an_optimum():
    optimize = pytest.importorskip("scipy.optimize")
    simulate = mdf_c.simulator(ISHIGAMI, ["f.x1", "f.x2"], "pair")
    found = optimize.minimize(lambda theta: float(((simulate(theta) - [0.3, 1.9]) ** 2).sum()), [0.0, 0.0])
    np.testing.assert_allclose(found.x, [0.3, 1.4], atol=1e-4)
    many = optimize.differential_evolution(
        lambda theta: ((simulate(theta.T) - [0.3, 1.9]) ** 2).sum(axis=1), [(-1, 1), (0, 3)], vectorized=True,
        updating="deferred", rng=1,
    )  # fmt: skip
    np.testing.assert_allclose(many.x, [0.3, 1.4], atol=1e-3)


def test_tensors_give_tensors():
    torch = pytest.importorskip("torch", exc_type=ImportError)
    simulate = mdf_c.simulator(ISHIGAMI, NAMES, "y")
    result = simulate(torch.zeros((4, 3), dtype=torch.float32))
    assert isinstance(result, torch.Tensor)
    assert result.dtype == torch.float32
    assert result.tolist() == [0.0] * 4


def test_emcee_walks():
    emcee = pytest.importorskip("emcee")
    simulate = mdf_c.simulator(ISHIGAMI, ["f.x1"], "pair")
    sampler = emcee.EnsembleSampler(
        8, 1, lambda theta: -0.5 * ((simulate(theta)[:, 0] - 0.4) / 0.1) ** 2, vectorize=True
    )
    sampler.run_mcmc(np.random.default_rng(1).normal(0.4, 0.1, (8, 1)), 300)
    assert abs(sampler.get_chain(discard=50, flat=True).mean() - 0.4) < 0.05


# ---------------------------------------------------------------- sensitivity


def test_indices_of_ishigamis_function():
    """First order 0.3139, 0.4424, 0, total 0.5576, 0.4424, 0.2437."""
    pytest.importorskip("SALib")
    ranges = dict.fromkeys(NAMES, (-math.pi, math.pi))
    indices = mdf_c.sensitivity(ISHIGAMI, ranges, "y", n=2048, seed=3, progress=False)
    np.testing.assert_allclose(indices["S1"], [0.3139, 0.4424, 0.0], atol=0.03)
    np.testing.assert_allclose(indices["ST"], [0.5576, 0.4424, 0.2437], atol=0.03)
    morris = mdf_c.sensitivity(ISHIGAMI, ranges, "f.y", "morris", n=200, seed=3, progress=False)
    assert list(morris["names"]) == NAMES
    assert (morris["mu_star"] > 1).all()
    one = mdf_c.sensitivity(ISHIGAMI, ranges, "pair", n=256, seed=3, value=lambda pair: pair[:, 0], progress=False)
    np.testing.assert_allclose(one["S1"], [1, 0, 0], atol=0.05)
    noisy = mdf_c.sensitivity(
        ISHIGAMI, {"f.x1": mdf_c.normal(0, 3), "f.x2": (0, 1)}, "f.draw", n=256, seed=3, trials=100, progress=False
    )
    np.testing.assert_allclose(noisy["S1"], [1, 0], atol=0.05)
    with pytest.raises(ValueError, match="must make one number"):
        mdf_c.sensitivity(ISHIGAMI, ranges, "pair", n=64, progress=False)
