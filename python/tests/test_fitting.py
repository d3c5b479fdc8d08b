"""fit and mdf-fit: parameters from data."""

import json
import math
import shutil
import subprocess
import sys

import numpy as np
import pytest
from conftest import PACKAGE, ROOT, model_of

import mdf_c
from mdf_c._library import native_file
from mdf_c._placed import Placed
from mdf_c.fitting.alignment import align
from mdf_c.fitting.distributions import DISTRIBUTIONS, log_density
from mdf_c.fitting.objective import Compared
from mdf_c.fitting.specification import read_specification
from mdf_c.sweeping import _origin

pytest.importorskip("scipy", reason="scipy is not installed")

# y = slope x + offset, and its exponential.
LINE = {
    "input_ports": {"x": {"default_value": 0.0}},
    "parameters": {"slope": {"value": 1.0}, "offset": {"value": 0.0}},
    "output_ports": {"y": {"value": "slope * x + offset"}, "rate": {"value": "numpy.exp(slope * x + offset)"}},
}
DECAY = {
    "parameters": {"rate": {"value": 1.0}, "v": {"default_initial_value": 1.0, "time_derivative": "-rate * v"}},
    "output_ports": {"v": {"value": "v"}},
}
LINE_DATA = {"x": [0.0, 1.0, 2.0, 3.0, 4.0], "y": [1.1, 2.9, 5.2, 6.8, 9.1]}
LINE_KEYS = {
    "data": LINE_DATA,
    "inputs": {"n.x": "x"},
    "parameters": {"n.slope": None, "n.offset": {"start": 0.5}},
    "observe": {"n.y": "y"},
}


def decay_data(rate=0.7, n=40, dt=0.1, sd=0.0, seed=0):
    v = (1 - rate * dt) ** np.arange(n)
    return {"t": dt * np.arange(n), "v": v + np.random.default_rng(seed).normal(0, sd, n) if sd else v}


DECAY_KEYS = {"time": "t", "dt": 0.1, "parameters": {"n.rate": 0.3}, "observe": {"n.v": "v"}}


# ---------------------------------------------------------------- least squares


@pytest.mark.parametrize("method", ["trust_region", "levenberg_marquardt", "l_bfgs_b", "nelder_mead"])
def test_least_squares_of_a_line_are_those_of_the_normal_equations(method):
    found = mdf_c.fit(model_of(LINE), LINE_KEYS, method=method)
    x, y = (np.array(LINE_DATA[name]) for name in "xy")
    design = np.column_stack([x, np.ones(5)])
    expected, squares = np.linalg.lstsq(design, y, rcond=None)[:2]
    covariance = squares[0] / 3 * np.linalg.inv(design.T @ design)
    np.testing.assert_allclose([found["slope"], found["offset"]], expected, rtol=1e-4 if method == "nelder_mead" else 1e-6)
    np.testing.assert_allclose([each.error for each in found.estimates.values()], np.sqrt(np.diag(covariance)), rtol=1e-4)
    assert found.sum_of_squares == pytest.approx(squares[0], rel=1e-6) and found.is_converged
    assert found.correlation[0, 1] == pytest.approx(covariance[0, 1] / np.sqrt(np.prod(np.diag(covariance))), rel=1e-3)


def test_intervals_of_a_line_are_student_s_and_profiles_agree():
    from scipy.stats import t

    found = mdf_c.fit(model_of(LINE), LINE_KEYS, intervals=["hessian", "profile"], confidence=0.9)
    for each in found.estimates.values():
        reach = t.ppf(0.95, 3) * each.error
        np.testing.assert_allclose(each.interval, [each.value - reach, each.value + reach], rtol=1e-9)
        np.testing.assert_allclose(each.profile, each.interval, rtol=5e-3)


def test_errors_of_the_data_weight_it_and_a_normal_prior_pulls():
    weights = {"y": LINE_DATA["y"], "x": LINE_DATA["x"], "sd": [0.1, 0.1, 0.1, 0.1, 10.0]}
    observe = {"n.y": {"data": "y", "error": "sd"}}
    found = mdf_c.fit(model_of(LINE), {**LINE_KEYS, "data": weights, "observe": observe})
    design = np.column_stack([weights["x"], np.ones(5)]) / np.array(weights["sd"])[:, None]
    expected = np.linalg.lstsq(design, np.array(weights["y"]) / weights["sd"], rcond=None)[0]
    np.testing.assert_allclose([found["slope"], found["offset"]], expected, rtol=1e-6)
    np.testing.assert_allclose(found.estimates["n.slope"].error, np.sqrt(np.linalg.inv(design.T @ design)[0, 0]), rtol=1e-5)
    prior = {"n.slope": {"prior": {"normal": [0.0, 1e-6]}}, "n.offset": None}
    pulled = mdf_c.fit(model_of(LINE), {**LINE_KEYS, "data": weights, "observe": observe, "parameters": prior})
    assert abs(pulled["slope"]) < 1e-6


def test_data_and_parameters_may_stand_by_themselves():
    rest = {name: value for name, value in DECAY_KEYS.items() if name != "parameters"}
    assert mdf_c.fit(model_of(DECAY), decay_data(), {"n.rate": 0.3}, **rest)["rate"] == pytest.approx(0.7, rel=1e-7)
    with pytest.raises(mdf_c.MdfError, match="observe {NODE.PORT: COLUMN} says which output port"):
        mdf_c.fit(model_of(DECAY), decay_data(), {"n.rate": 0.3}, time="t", dt=0.1)
    with pytest.raises(TypeError, match="a model, and then a specification, or data and parameters"):
        mdf_c.fit(model_of(DECAY), decay_data(), {"n.rate": 0.3}, DECAY_KEYS)


def test_rows_are_steps_of_a_run_by_their_times_and_missing_ones_are_left_out():
    data = decay_data()
    data["v"][3] = np.nan
    rows = np.random.default_rng(1).permutation(40)[:25]
    found = mdf_c.fit(model_of(DECAY), DECAY_KEYS, data={name: column[rows] for name, column in data.items()})
    assert found["rate"] == pytest.approx(0.7, rel=1e-7)
    assert found.n_data == 25 - (3 in rows)


JACOBIANS = {
    "a line, runs with inputs": (LINE, LINE_KEYS),
    "errors, a prior": (LINE, {**LINE_KEYS, "data": {**LINE_DATA, "sd": [0.1, 0.2, 0.1, 0.1, 9.0]}, "observe": {"n.y": {"data": "y", "error": "sd"}}, "parameters": {"n.slope": {"prior": {"normal": {"mean": 1.5, "sd": 0.2}}}, "n.offset": {"start": 0.5}}}),
    "over time, a logarithm, missing data": (DECAY, {**DECAY_KEYS, "data": {"t": decay_data()["t"], "v": np.where(np.arange(40) % 7 == 3, np.nan, decay_data(sd=0.02)["v"])}, "parameters": {"n.rate": {"start": 0.3, "bounds": [0.01, 10], "scale": "log"}}}),
}  # fmt: skip


@pytest.mark.parametrize("what", JACOBIANS)
def test_tangents_one_by_one_and_side_by_side_have_the_same_bits(what, monkeypatch):
    from mdf_c.fitting.gradient import ExactTangents

    node, keys = JACOBIANS[what]
    seen = []

    def both(self, by_name):
        found = [way(by_name) for way in (self._one_by_one, self._side_by_side)]
        for one, other in zip(*found):
            np.testing.assert_array_equal(one, other)
        seen.append(found[0])
        return found[0]

    monkeypatch.setattr(ExactTangents, "__call__", both)
    assert mdf_c.fit(model_of(node), keys, method="trust_region").is_converged and seen


def test_tangents_that_there_are_not_are_told():
    """Where exact ones are asked for it is an error, else the report has the reason."""
    cast = {"function": "onnx::BitCast", "args": {"input": "rate", "to": 11}}
    own = {"rate": {"value": 1.0}, "cast": cast, "v": {"default_initial_value": 1.0, "time_derivative": "-cast * v"}}
    node = {**DECAY, "parameters": own}
    with pytest.raises(mdf_c.MdfUnsupportedError, match="BitCast"):
        mdf_c.fit(model_of(node), {**DECAY_KEYS, "gradient": "exact"}, data=decay_data(), method="trust_region")
    found = mdf_c.fit(model_of(node), DECAY_KEYS, data=decay_data(), method="trust_region")
    assert "BitCast" in found.why_differences and found.n_gradients == 0


@pytest.mark.parametrize("what", JACOBIANS)
def test_jacobians_of_least_squares_go_forward(what, monkeypatch):
    from mdf_c.fitting.objective import Compared

    node, keys = JACOBIANS[what]
    seen = []

    def compared(self, position, exact=Compared.jacobian):
        found, expected = exact(self, position), self._jacobian_by_differences(position)
        assert self._tangents() is not None and found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())
        seen.append(found)
        return found

    monkeypatch.setattr(Compared, "jacobian", compared)
    found = mdf_c.fit(model_of(node), keys, method="trust_region")
    assert seen and found.is_converged and found.n_gradients == len(seen)
    monkeypatch.undo()
    other = mdf_c.fit(model_of(node), {**keys, "gradient": "differences"}, method="trust_region")
    assert other.n_gradients == 0
    for name, estimate in found.estimates.items():
        assert other[name] == pytest.approx(estimate.value, rel=1e-5)


def test_runs_have_inputs_of_their_own():
    node = {**DECAY, "input_ports": {"drive": {"default_value": 0.0}}}
    node["parameters"] = {**DECAY["parameters"], "v": {"default_initial_value": 1.0, "time_derivative": "drive - rate * v"}}
    data = {"who": [], "t": [], "v": [], "drive": []}
    for who, drive in (("a", 0.0), ("b", 0.5)):
        v = 1.0
        for step in range(20):
            for name, value in (("who", who), ("t", 0.1 * step), ("v", v), ("drive", drive)):
                data[name].append(value)
            v += 0.1 * (drive - 0.7 * v)
    keys = {**DECAY_KEYS, "data": data, "run": "who", "inputs": {"n.drive": "drive"}}
    assert mdf_c.fit(model_of(node), keys)["rate"] == pytest.approx(0.7, rel=1e-7)
    swept = {**keys, "data": {**data, "drive": data["drive"][::-1]}}
    assert mdf_c.fit(model_of(node), swept).sum_of_squares > 0.1


def test_an_input_that_changes_from_step_to_step_is_given_by_step():
    node = {
        "input_ports": {"x": {"default_value": 0.0}},
        "parameters": {"gain": {"value": 1.0}, "total": {"value": "total + gain * x", "default_initial_value": 0.0}},
        "output_ports": {"total": {"value": "total"}},
    }
    x = np.array([1.0, -2.0, 0.5, 3.0])
    data = {"k": [1, 2, 3, 4], "x": x, "y": 2.5 * np.cumsum(x)}
    keys = {"data": data, "step": "k", "inputs": {"n.x": "x"}, "parameters": {"n.gain": 1.0}, "observe": {"n.total": "y"}}
    assert mdf_c.fit(model_of(node), keys)["gain"] == pytest.approx(2.5, rel=1e-8)
    assert "changes from step to step" in mdf_c.fit(model_of(node), keys, method="l_bfgs_b").why_differences


def test_arrays_are_parameters_and_elements_of_ports_are_observed():
    node = {
        "input_ports": {"x": {"shape": "(2,)"}},
        "parameters": {"w": {"value": [[0.0, 0.0], [0.0, 0.0]]}},
        "output_ports": {"y": {"value": "numpy.dot(w, x)"}},
    }
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=(2, 2)), rng.normal(size=(9, 2))
    keys = {"inputs": {"n.x": "x"}, "parameters": {"n.w": None}}
    whole = mdf_c.fit(model_of(node), keys, data={"x": x, "y": x @ w.T}, observe={"n.y": "y"})
    parts = mdf_c.fit(
        model_of(node),
        keys,
        data={"x": x, "a": x @ w[0], "b": x @ w[1]},
        observe={"n.y[0]": "a", "n.y[1]": "b"},
        method="l_bfgs_b",
    )
    np.testing.assert_allclose(whole["w"], w, atol=1e-7)
    np.testing.assert_allclose(parts["w"], w, atol=1e-4)
    assert list(whole.estimates) == ["n.w[0][0]", "n.w[0][1]", "n.w[1][0]", "n.w[1][1]"] and parts.n_gradients > 0


# ---------------------------------------------------------------- likelihoods


def scipy_log_density(name, y, m, arguments):
    from scipy import stats

    a = arguments
    return {
        "normal": lambda: stats.norm.logpdf(y, m, a["sd"]),
        "lognormal": lambda: stats.lognorm.logpdf(y, a["sd"], scale=m),
        "laplace": lambda: stats.laplace.logpdf(y, m, a["scale"]),
        "cauchy": lambda: stats.cauchy.logpdf(y, m, a["scale"]),
        "logistic": lambda: stats.logistic.logpdf(y, m, a["scale"]),
        "student_t": lambda: stats.t.logpdf(y, a["df"], m, a["scale"]),
        "exponential": lambda: stats.expon.logpdf(y, scale=m),
        "gamma": lambda: stats.gamma.logpdf(y, a["shape"], scale=m / a["shape"]),
        "weibull": lambda: stats.weibull_min.logpdf(y, a["shape"], scale=m),
        "beta": lambda: stats.beta.logpdf(y, m * a["concentration"], (1 - m) * a["concentration"]),
        "poisson": lambda: stats.poisson.logpmf(y, m),
        "negative_binomial": lambda: stats.nbinom.logpmf(y, a["size"], a["size"] / (a["size"] + m)),
        "binomial": lambda: stats.binom.logpmf(y, a["n"], m),
        "bernoulli": lambda: stats.bernoulli.logpmf(y, m),
        "categorical": lambda: np.log(np.take_along_axis(m, y[..., None].astype(int), -1)[..., 0]),
    }[name]()


ARGUMENTS = {"sd": 0.8, "scale": 1.3, "df": 4.5, "shape": 2.5, "concentration": 6.0, "size": 3.5, "n": 9}


def sample_of(name):
    """Values, and centers for them, in the support of a distribution."""
    row, rng = DISTRIBUTIONS[name], np.random.default_rng(3)
    y = {
        "real": rng.normal(size=7), "positive": rng.uniform(0.1, 4, 7), "unit": rng.uniform(0.05, 0.95, 7),
        "truth": np.array([0.0, 1, 1, 0, 1, 0, 0]), "count": np.array([0.0, 2, 1, 2, 2, 0, 1]),
    }[row.support]  # fmt: skip
    if row.is_categorical:
        return y, rng.dirichlet(np.ones(3), 7)
    is_share = row.center == "probability" or row.support == "unit"
    return y, rng.uniform(0.2, 0.8, 7) if is_share else rng.uniform(0.5, 3, 7)


@pytest.mark.parametrize("name", list(DISTRIBUTIONS))
def test_a_distribution_is_that_of_scipy(name):
    (y, m), arguments = sample_of(name), {key: ARGUMENTS[key] for key in DISTRIBUTIONS[name].arguments}
    np.testing.assert_allclose(
        log_density(name, y, m, arguments), scipy_log_density(name, y, m, arguments), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("name", list(DISTRIBUTIONS))
def test_the_gradient_of_each_likelihood_is_exact_or_says_why_not(name):
    """The same text, compiled into the model and derived, against differences of what NumPy makes of it."""
    from mdf_c.fitting.alignment import align
    from mdf_c.fitting.objective import Compared
    from mdf_c.fitting.specification import read_specification
    from mdf_c.sweeping import _origin

    row, (y, m) = DISTRIBUTIONS[name], sample_of(name)
    value = "m * gain / numpy.sum(m * gain)" if row.is_categorical else "m * gain"
    gain = [1.0, 1.1, 0.9] if row.is_categorical else 1.05
    node = {
        "input_ports": {"m": {"shape": str(m.shape[1:])} if row.is_categorical else {"default_value": 1.0}},
        "parameters": {"gain": {"value": gain}},
        "output_ports": {"p": {"value": value}},
    }
    fixed = {"df": 4.5, "n": 9}
    own = {key: ARGUMENTS[key] for key in row.arguments if key not in fixed}
    arguments = {key: fixed.get(key, key) for key in row.arguments}
    spec = read_specification(
        {"data": {"y": y, "m": m}, "inputs": {"n.m": "m"}, "parameters": {"n.gain": None, **own},
         "observe": {"n.p": {"data": "y", "distribution": {name: arguments}}}}, {},
    )  # fmt: skip
    objective = Compared(spec, _origin(mdf_c.load(model_of(node))), align(spec), {})
    start = objective.space.start
    assert objective.cost(start) == pytest.approx(
        -scipy_log_density(
            name, y, np.multiply(m, gain) / (np.sum(m * gain, -1, keepdims=True) if row.is_categorical else 1), ARGUMENTS
        ).sum()
    )
    assert objective.exact() is not None, objective.why_differences
    np.testing.assert_allclose(objective.gradient(start), objective.differences(start), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("gradient", ["exact", "differences"])
def test_a_likelihood_over_time_finds_the_parameter_and_the_noise(gradient):
    data = decay_data(n=200, dt=0.02, sd=0.05)
    keys = {
        "data": data, "time": "t", "dt": 0.02, "gradient": gradient,
        "parameters": {"n.rate": {"start": 0.3, "bounds": [0.01, 10], "scale": "log"}, "noise": {"start": 0.2, "bounds": [1e-3, 10], "scale": "log"}},
        "observe": {"n.v": {"data": "v", "distribution": {"normal": {"sd": "noise"}}}},
    }  # fmt: skip
    found = mdf_c.fit(model_of(DECAY), keys, intervals=["hessian", "profile"])
    squares = mdf_c.fit(model_of(DECAY), DECAY_KEYS, data=data, dt=0.02)
    assert found["rate"] == pytest.approx(squares["rate"], rel=1e-4)
    assert found["noise"] ** 2 == pytest.approx(squares.sum_of_squares / 200, rel=1e-4)
    assert found.log_likelihood == pytest.approx(-100 * (np.log(2 * np.pi * found["noise"] ** 2) + 1), rel=1e-9)
    noise = found.estimates["noise"]
    assert noise.error == pytest.approx(found["noise"] / np.sqrt(400), rel=1e-3)
    np.testing.assert_allclose(noise.profile, noise.interval, rtol=0.02)
    assert (found.n_gradients > 0) == (gradient == "exact")


def test_a_prior_counts_as_its_log_density():
    counts = {"y": [3, 5, 4, 6, 2]}
    node = {"parameters": {"rate": {"value": 1.0}}, "output_ports": {"rate": {"value": "rate"}}}
    keys = {
        "data": counts, "parameters": {"n.rate": {"prior": {"gamma": {"mean": 2.0, "shape": 4.0}}}},
        "observe": {"n.rate": {"data": "y", "distribution": "poisson"}},
    }  # fmt: skip
    found = mdf_c.fit(model_of(node), keys)
    assert found["rate"] == pytest.approx(
        (4 - 1 + 20) / (4 / 2 + 5), rel=1e-6
    )  # of gamma and Poisson, where the posterior is greatest


def test_what_is_fitted_may_be_the_noise_alone():
    node = {"parameters": {"level": {"value": 2.0}}, "output_ports": {"y": {"value": "level"}}}
    y = np.array([1.0, 2.5, 3.0, 1.5])
    keys = {"data": {"y": y}, "observe": {"n.y": {"data": "y", "distribution": {"normal": {"sd": "noise"}}}}}
    found = mdf_c.fit(model_of(node), keys, parameters={"noise": {"start": 1.0, "bounds": [0.01, 9]}})
    assert found["noise"] == pytest.approx(np.sqrt(np.mean((y - 2) ** 2)), rel=1e-6) and found.n_gradients > 0


def test_a_model_that_draws_has_the_same_numbers_for_all_candidates():
    node = {"parameters": {"level": {"value": 0.0}}, "output_ports": {"y": {"value": "level + numpy.random.normal()"}}}
    keys = {"data": {"y": [1.0, 2.0, 3.0]}, "parameters": {"n.level": 0.0}, "observe": {"n.y": "y"}}
    found = mdf_c.fit(model_of(node), keys, seed=3)
    noise = mdf_c.sweep(model_of(node), {"n.level": np.zeros(3)}, seeds=3, combine="zip", progress=False)["y"]
    assert found["level"] == pytest.approx(np.mean([1, 2, 3] - noise), rel=1e-8)


def test_candidates_that_fail_are_passed_over_and_told():
    node = {
        "parameters": {"p": {"value": 1.0}},
        "output_ports": {"y": {"value": "(numpy.zeros(3) if p > 4 else numpy.zeros(2))[0] + (p - 2) ** 2"}},
    }
    keys = {"data": {"y": [0.0]}, "parameters": {"n.p": {"start": 1.0, "bounds": [0, 9]}}, "observe": {"n.y": "y"}}
    assert mdf_c.fit(model_of(node), keys, method="differential_evolution")["p"] == pytest.approx(2, abs=1e-3)
    failing = {
        **node,
        "output_ports": {"y": {"value": "numpy.reshape(numpy.zeros(2), [int(p) // 4 + 1, -1])[0, 0] + (p - 2) ** 2"}},
    }
    found = mdf_c.fit(model_of(failing), keys, method="differential_evolution")
    assert found["p"] == pytest.approx(2, abs=1e-3)
    assert any("could not be evaluated" in note for note in found.notes)
    with pytest.raises(mdf_c.MdfError, match="[Rr]eshape"):
        mdf_c.fit(model_of(failing), {**keys, "parameters": {"n.p": 8.5}})


# ---------------------------------------------------------------- searches

TWO_WELLS = {
    "parameters": {"p": {"value": 0.0}, "q": {"value": 0.0}},
    "output_ports": {"y": {"value": "numpy.array([p * p - 4 + 0.3 * (p - 2), q + p - 5])"}},
}
WELLS_KEYS = {
    "data": {"y": np.zeros((1, 2))}, "observe": {"n.y": "y"},
    "parameters": {"n.p": {"start": -3.0, "bounds": [-5, 5]}, "n.q": {"start": 0.0, "bounds": [-1, 5]}},
}  # fmt: skip


@pytest.mark.parametrize(
    "keys", [{"method": "differential_evolution"}, {"method": {"cma_es": {"population": 12}}}, {"starts": 4}], ids=str
)
def test_a_global_search_leaves_a_local_least(keys):
    if "cma_es" in keys.get("method", ""):
        pytest.importorskip("cma", reason="cma is not installed")
    stuck = mdf_c.fit(model_of(TWO_WELLS), WELLS_KEYS)
    assert stuck["p"] < 0 and stuck.sum_of_squares > 1
    found = mdf_c.fit(model_of(TWO_WELLS), WELLS_KEYS, **keys)
    np.testing.assert_allclose([found["p"], found["q"]], [2, 3], atol=1e-5)
    again = mdf_c.fit(model_of(TWO_WELLS), WELLS_KEYS, **keys)
    assert again.parameters == found.parameters  # by the same seed


def test_bounds_hold_in_every_method():
    for method in ("trust_region", "levenberg_marquardt", "l_bfgs_b", "nelder_mead"):
        found = mdf_c.fit(
            model_of(LINE), LINE_KEYS, parameters={"n.slope": {"start": 1.0, "bounds": [0, 1.5]}, "n.offset": 0.0}, method=method
        )
        assert 1.499 < found["slope"] <= 1.5, method
        assert found.estimates["n.slope"].at_bound and "n.slope is at its bound" in found.notes


def test_a_parameter_that_the_data_does_not_tell_has_no_error_and_an_open_profile():
    node = {"parameters": {"a": {"value": 1.0}, "b": {"value": 1.0}}, "output_ports": {"y": {"value": "a + b"}}}
    keys = {
        "data": {"y": [1.0, 2.0, 3.0]},
        "parameters": {"n.a": {"start": 1.0, "bounds": [-9, 9]}, "n.b": {"start": 1.0, "bounds": [-9, 9]}},
    }
    found = mdf_c.fit(model_of(node), keys, observe={"n.y": "y"}, intervals=["hessian", "profile"])
    assert np.isnan(found.estimates["n.a"].error) and any("identifiable" in note for note in found.notes)
    assert found.estimates["n.a"].profile == (-np.inf, np.inf)


def test_a_search_ends_after_its_evaluations_and_goes_on_from_its_journal(tmp_path):
    keys = {**WELLS_KEYS, "method": "differential_evolution"}
    whole = mdf_c.fit(model_of(TWO_WELLS), keys)
    journal = tmp_path / "journal"

    class Stop(Exception):
        pass

    def stop(n_evaluations, _cost):
        if n_evaluations > 500:
            raise Stop

    with pytest.raises(Stop):
        mdf_c.fit(model_of(TWO_WELLS), keys, resume=journal, progress=stop)
    size = journal.stat().st_size
    with open(journal, "ab") as file:
        file.write(b"cut off")
    resumed = mdf_c.fit(model_of(TWO_WELLS), keys, resume=journal)
    assert resumed.parameters == whole.parameters and resumed.n_evaluations == whole.n_evaluations
    assert journal.stat().st_size > size
    with pytest.raises(mdf_c.MdfError, match="another model, other data or another fit"):
        mdf_c.fit(model_of(LINE), LINE_KEYS, resume=journal)
    bounded = mdf_c.fit(model_of(TWO_WELLS), keys, max_evaluations=300)
    assert not bounded.is_converged and bounded.n_evaluations < 500


# ---------------------------------------------------------------- data and files


def test_data_is_read_from_csv_npz_frames_and_datasets(tmp_path):
    expected = mdf_c.fit(model_of(LINE), LINE_KEYS).parameters
    np.savez(tmp_path / "line.npz", **LINE_DATA)
    (tmp_path / "line.csv").write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in zip(*LINE_DATA.values())))
    (tmp_path / "line.tsv").write_text("x\ty\n" + "".join(f"{x}\t{y}\n" for x, y in zip(*LINE_DATA.values())))
    sources = [str(tmp_path / name) for name in ("line.npz", "line.csv", "line.tsv")]
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    sources += [pandas.DataFrame(LINE_DATA), xarray.Dataset({"y": ("x", LINE_DATA["y"])}, coords={"x": LINE_DATA["x"]})]
    for source in sources:
        assert mdf_c.fit(model_of(LINE), LINE_KEYS, data=source).parameters == expected


FIT_FILE = """data: line.csv
inputs: {n.x: x}
parameters:
  n.slope: {start: 1.0, bounds: [0, 10]}
  n.offset: 0.0
observe:
  n.y: {data: y}
confidence: 0.95
"""
# What is written in the place of what, and what comes of it.
MISTAKES = [
    ("data: line.csv", "data: lime.csv", "1:7: error: data: the data can not be read: '{folder}/lime.csv': No such file or directory"),
    ("data: line.csv", "data: line.txt", "1:7: error: data: data is read from .csv, .tsv, .npz and .nc, not from 'line.txt'"),
    ("n.x: x", "n.x: z", "2:15: error: inputs, 'n.x': unknown column 'z'; there are x, y"),
    ("n.x: x", "n.z: x", "2:15: error: inputs, 'n.z': unknown input 'n.z'; did you mean 'n.x'?"),
    ("n.slope", "n.slop", "4:3: error: parameters, 'n.slop': unknown parameter 'n.slop'; did you mean 'n.slope'?"),
    ("start: 1.0", "begin: 1.0", "4:13: error: parameters, 'n.slope', begin: unknown key 'begin'; there are start, bounds, scale, prior"),
    ("[0, 10]", "[0, 0]", "4:33: error: parameters, 'n.slope', bounds: the least value must be below the greatest, not 0.0 and 0.0"),
    ("[0, 10]", "[0]", "4:33: error: parameters, 'n.slope', bounds: must be a list of the least and the greatest value, not of 1 values"),
    ("start: 1.0", "start: 11", "4:12: error: parameters, 'n.slope': the value to begin with must lie within the bounds 0.0 and 10.0"),
    ("n.offset: 0.0", "n.offset: {scale: lag}", "5:21: error: parameters, 'n.offset', scale: unknown scale 'lag'; did you mean 'log'?"),
    ("n.offset: 0.0", "n.offset: {prior: {normal: [1, -1]}}", "5:30: error: parameters, 'n.offset', prior, normal: sd must be above 0, not -1.0"),
    ("n.offset: 0.0", "n.offset: {prior: {gamma: [1, 1]}}", "5:13: error: parameters, 'n.offset': with least squares a prior must be normal"),
    ("n.y: {data: y}", "n.z: {data: y}", "7:8: error: observe, 'n.z': unknown output port 'n.z'; did you mean 'n.y'?"),
    ("{data: y}", "{distribution: poisson}", "7:8: error: observe, 'n.y': the key 'data' is missing"),
    ("{data: y}", "{data: y, distribution: poisson}", "7:8: error: observe, 'n.y': 'poisson' is of whole numbers from 0 on: row 1 of column 'y' has 1.1"),
    ("{data: y}", "{data: y, distribution: {normal: {}}}", "7:41: error: observe, 'n.y', distribution, normal: 'normal' needs sd"),
    ("{data: y}", "{data: y, distribution: {normal: {sd: s}}}", "7:46: error: observe, 'n.y', distribution, normal, sd: unknown parameter, column or output port 's'"),
    ("{data: y}", "{data: y, error: 0}", "7:25: error: observe, 'n.y', error: must be above 0, not 0.0"),
    ("confidence: 0.95", "method: levenberg", "8:9: error: method: unknown method 'levenberg'; did you mean 'levenberg_marquardt'?"),
    ("confidence", "confidense", "8:1: error: confidense: unknown key 'confidense'; did you mean 'confidence'?"),
    ("confidence: 0.95", "starts: 3", "5:13: error: parameters, 'n.offset': a global search, and more than one start, need finite bounds"),
    ("confidence: 0.95", "time: x", "8:7: error: time: 'time' needs the key 'dt'"),
    ("confidence: 0.95", "a", "8:1: error: ':' is missing behind this key"),
]  # fmt: skip


def run_mdf_fit(*arguments):
    environment = {
        "PYTHONPATH": str(PACKAGE),
        "MDF_C_BUILD": str(mdf_c._library.native_file("libmdf.so").parent),
        "PATH": "/usr/bin:/bin",
    }
    return subprocess.run(
        [sys.executable, "-m", "mdf_c.fitting", *map(str, arguments)], capture_output=True, text=True, env=environment
    )


@pytest.fixture
def files(tmp_path):
    (tmp_path / "line.csv").write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in zip(*LINE_DATA.values())))
    (tmp_path / "fit.yaml").write_text(FIT_FILE)
    (tmp_path / "line.json").write_text(json.dumps(model_of(LINE)))
    return tmp_path


@pytest.mark.parametrize(("right", "wrong", "message"), MISTAKES, ids=[wrong for _, wrong, _ in MISTAKES])
def test_a_mistake_is_told_with_its_place_and_its_cure(files, right, wrong, message):
    assert FIT_FILE.count(right) >= 1
    (files / "fit.yaml").write_text(FIT_FILE.replace(right, wrong, 1))
    with pytest.raises(mdf_c.MdfError) as raised:
        mdf_c.fit(files / "line.json", files / "fit.yaml")
    error = raised.value
    assert error.file == str(files / "fit.yaml") and error.line
    told = f"{error.line}:{error.column}: error: " + (f"{error.path}: " if error.path else "") + error.message
    assert message.format(folder=files) in told


def test_the_command_writes_a_report_a_table_and_pictures(files):
    run = run_mdf_fit(files / "fit.yaml", files / "line.json")
    assert (run.returncode, run.stderr) == (0, "")
    report = json.loads(run.stdout)
    assert report["parameters"]["n.slope"]["value"] == pytest.approx(1.99, rel=1e-6) and report["converged"]
    assert report["kind"] == "least squares" and report["n_data"] == 5
    table = run_mdf_fit(files / "fit.yaml", files / "line.json", "--table", "--profile", "-o", files / "report.json")
    assert "n.slope" in table.stdout and "95 % (profile)" in table.stdout
    assert json.loads((files / "report.json").read_text())["parameters"]["n.offset"]["profile"]
    pytest.importorskip("matplotlib")
    assert (
        run_mdf_fit(files / "fit.yaml", files / "line.json", "--plot", files / "fit.svg", "-o", files / "r.json").returncode == 0
    )
    assert "<svg" in (files / "fit.svg").read_text()


def test_the_command_tells_what_is_wrong(files):
    (files / "fit.yaml").write_text(FIT_FILE.replace("bounds: [0, 10]", "bound: [0, 10]"))
    run = run_mdf_fit(files / "fit.yaml", files / "line.json")
    assert run.returncode == 1 and run.stdout == ""
    assert run.stderr.startswith(
        f"{files}/fit.yaml:4:25: error: parameters, 'n.slope', bound: unknown key 'bound'; did you mean 'bounds'?"
    )
    assert "    4 |   n.slope: {start: 1.0, bound: [0, 10]}\n      |                         ^\n" in run.stderr
    assert run_mdf_fit(files / "fit.yaml").returncode == 2
    assert run_mdf_fit(files / "fit.yaml", files / "nosuch.json").returncode == 1


def test_messages_for_programs_and_completion(files):
    (files / "fit.yaml").write_text("data: line.csv\nparametrs: {n.slope: 1.0}\n")
    (told,) = (json.loads(line) for line in run_mdf_fit("--json-errors", files / "fit.yaml", files / "line.json").stderr.splitlines())
    assert (told["severity"], told["line"], told["column"]) == ("error", 2, 1) and "parametrs" in told["message"]
    (told,) = (json.loads(line) for line in run_mdf_fit("--json-errors", files / "nosuch.yaml", files / "line.json").stderr.splitlines())
    assert told["severity"] == "error" and "nosuch.yaml" in f"{told['file']} {told['message']}"
    colored = run_mdf_fit("--color", "always", files / "fit.yaml", files / "line.json").stderr
    assert "\x1b[1;31merror:\x1b[0m " in colored
    for shell, words in (("bash", "complete -o filenames -F _mdf_fit mdf-fit"), ("zsh", "#compdef mdf-fit\n"), ("fish", "complete -c mdf-fit -l plot -r -F")):
        text = run_mdf_fit("--completion", shell).stdout
        assert words in text and "method" in text
        if shutil.which(shell):
            subprocess.run([shell, "-n"], input=text, text=True, check=True)
    ask = "COMP_WORDS=(mdf-fit --color al); COMP_CWORD=2; _mdf_fit; echo ${COMPREPLY[0]}"
    asked = subprocess.run(["bash", "-c", run_mdf_fit("--completion", "bash").stdout + ask], capture_output=True, text=True, check=True)
    assert asked.stdout == "always\n"


def test_the_built_program_is_the_same(files):
    program = ROOT / "build" / "mdf-fit"
    if not program.exists():
        pytest.skip("mdf-fit is not built")
    run = subprocess.run([program, files / "fit.yaml", files / "line.json", "--table"], capture_output=True, text=True)
    assert run.returncode == 0 and "n.slope" in run.stdout, run.stderr


def test_a_placed_file_says_where_everything_stands(tmp_path):
    (tmp_path / "a.yaml").write_text("a: 1\nb:\n  - [1, 2]\n  - {c: text}\n")
    placed = Placed.read(tmp_path / "a.yaml")
    assert placed.value["a"].integer(0) == 1 and (placed.value["a"].line, placed.value["a"].column) == (1, 4)
    assert (placed.keys["b"].line, placed.keys["b"].column) == (2, 1)
    inner = placed.value["b"].items()[1]
    assert inner.value["c"].text() == "text" and inner.value["c"].path == "b[1], c" and inner.value["c"].line == 4
    np.testing.assert_array_equal(placed.value["b"].items()[0].numbers(), [1, 2])


def test_where_nothing_finite_begins_is_an_error():
    keys = {
        **LINE_KEYS,
        "parameters": {"n.slope": 1.0, "n.offset": {"start": -1e308}},
        "observe": {"n.rate": {"data": "y", "distribution": "exponential"}},
    }
    with pytest.raises(mdf_c.MdfError, match="no finite number: begin with other values"):
        mdf_c.fit(model_of(LINE), keys)


# ---------------------------------------------------------------- walks

WALK = {
    "input_ports": {"drift": {"default_value": 0.0}},
    "parameters": {
        "gain": {"value": 1.0},
        "x": {"default_initial_value": 0.0, "value": "x + 0.005 * gain * drift + 0.07071067811865475 * numpy.random.normal()"},
    },
    "output_ports": {"x": {"value": "x"}, "up": {"value": "1 if x > 0 else 0"}},
}


def wiener_density(t, drift, a=1.0, terms=200):
    """Of first passages of a Wiener process from 0 through `a`, not through -a before (Feller's series)."""
    k = np.arange(1, terms)[:, None]
    series = k * np.exp(-(k**2) * np.pi**2 * t / (8 * a**2)) * np.sin(k * np.pi / 2)
    return np.exp(drift * a - drift**2 * t / 2) * np.pi / (4 * a**2) * series.sum(axis=0)


def walk_keys(n=400, density="kernel", **more):
    """Data from a walk of NumPy with the drift 1.5."""
    rng, rows = np.random.default_rng(5), []
    while len(rows) < n:
        x, step = 0.0, 0
        while abs(x) < 1:
            x, step = x + 0.005 * 1.5 + 0.07071067811865475 * rng.normal(), step + 1
        rows.append((1.0, float(x > 0), 0.005 * (step - 1)))
    drift, up, time = np.array(rows).T
    passage = {
        "time": "time",
        "choice": "up",
        "port": "n.up",
        "stop_when": "abs(n.x) >= 1",
        "density": density,
        "trials": 400,
        **more,
    }
    return {
        "data": {"drift": drift, "up": up, "time": time}, "inputs": {"n.drift": "drift"}, "dt": 0.005, "steps": 2000,
        "parameters": {"n.gain": {"start": 1.0, "bounds": [0.2, 4]}}, "first_passage": passage,
    }  # fmt: skip


@pytest.mark.parametrize("density", ["kernel", "histogram"])
def test_the_likelihood_of_walks_is_that_of_their_first_passages(density):
    from mdf_c.fitting.alignment import align
    from mdf_c.fitting.specification import read_specification
    from mdf_c.fitting.walks import Walks
    from mdf_c.sweeping import _origin

    spec = read_specification(walk_keys(density=density, trials=3000, bins=100, lapse=0.0 if density == "kernel" else 1e-3), {})
    walks = Walks(spec, _origin(mdf_c.load(model_of(WALK))), align(spec), {})
    times, up = spec.data["time"] + 0.005, spec.data["up"] > 0
    gains = np.array([1.0, 1.5, 2.0])
    exact = [np.log(np.where(up, wiener_density(times, gain, 1.04), wiener_density(times, -gain, 1.04))).sum() for gain in gains]
    simulated = -walks.costs(gains[:, None])
    # Of 400 rows; 1.04: steps pass the threshold by 0.58 of their size. Bins, of 0.1, are as coarse as the first times are steep.
    np.testing.assert_allclose(simulated, exact, atol=12 if density == "kernel" else 25)
    assert simulated[1] > simulated[0] and simulated[1] > simulated[2]
    assert (walks.costs(gains[:, None]) == -simulated).all()  # a function


def test_walks_are_fitted_and_rows_without_a_time_are_walks_that_do_not_end():
    found = mdf_c.fit(model_of(WALK), walk_keys())
    (estimate,) = found.estimates.values()
    assert found["gain"] == pytest.approx(1.5, abs=4 * estimate.error) and 0.02 < estimate.error < 0.2
    assert "simulated walks" not in str(found.notes) and found.kind == "likelihood"
    keys = walk_keys(200)
    keys["steps"] = 60
    keys["data"]["time"][keys["data"]["time"] > 0.005 * 59] = np.nan
    assert np.isnan(keys["data"]["time"]).any()
    ended = mdf_c.fit(model_of(WALK), keys)
    assert ended["gain"] == pytest.approx(1.5, abs=0.6)


def test_whole_walks_of_one_evaluation_are_fitted():
    """drift_diffusion_integrator: an array of trials, whose signs are the choices."""
    pytest.importorskip("cma", reason="cma is not installed")
    node = {
        "input_ports": {"drift": {"default_value": 0.0}},
        "parameters": {"gain": {"value": 1.0}, "threshold": {"value": 0.8}, "start": {"value": [0.0] * 500}},
        "functions": {
            "walks": {
                "function": "drift_diffusion_integrator",
                "args": {
                    "starting_point": "start", "non_decision_time": 0.0, "drift_rate": "gain * drift", "threshold": "threshold", "dt": 0.01,
                },
            }
        },
        "output_ports": {"times": {"value": "walks"}},
    }  # fmt: skip
    data = mdf_c.run(model_of(node), {"drift": 1.0}, parameters={"n.gain": 1.5, "n.threshold": 1.0}, seed=9)["times"]
    found = mdf_c.fit(
        model_of(node),
        data={"drift": np.ones(500), "time": 0.25 + np.abs(data), "side": np.sign(data)},
        inputs={"n.drift": "drift"},
        parameters={
            "n.gain": {"bounds": [0.1, 5]},
            "n.threshold": {"bounds": [0.3, 3]},
            "rest": {"start": 0.1, "bounds": [0, 1]},
        },
        first_passage={"time": "time", "choice": "side", "walks": "n.times", "trials": 2, "offset": "rest"},
        max_evaluations=400,
    )
    for name, value in (("gain", 1.5), ("threshold", 1.0), ("rest", 0.25)):
        assert found[name] == pytest.approx(
            value, abs=max(4 * found.estimates[f"n.{name}" if name != "rest" else name].error, 0.05)
        ), name


def test_mistakes_about_walks_have_their_places():
    keys = walk_keys(10)
    for change, message in (
        ({"stop_when": "n.z > 1"}, "n.z"),
        ({"port": "n.z"}, "unknown output port 'n.z'"),
        ({"offset": "rest"}, "unknown fitted parameter 'rest'"),
        ({"walks": "n.x"}, "and only one"),
        ({"lapse": 1}, "a share from 0 to below 1"),
        ({"density": "kernal"}, "did you mean 'kernel'"),
    ):
        with pytest.raises(mdf_c.MdfError, match=message):
            mdf_c.fit(model_of(WALK), keys, first_passage={**keys["first_passage"], **change})
    with pytest.raises(mdf_c.MdfError, match="'dt' and 'steps'"):
        mdf_c.fit(model_of(WALK), {key: value for key, value in keys.items() if key != "dt"})
    with pytest.raises(mdf_c.MdfError, match="is for least squares"):
        mdf_c.fit(model_of(WALK), keys, method="trust_region")


def test_accumulators_that_race_are_fitted():
    """Leaky, competing accumulators (Usher and McClelland): which of three is first, and when."""
    node = {
        "input_ports": {"evidence": {"shape": "(3,)"}},
        "parameters": {
            "gain": {"value": 1.0},
            "leak": {"value": 0.5},
            "a": {
                "default_initial_value": [0.0, 0.0, 0.0],
                "value": "numpy.maximum(0, a + 0.02 * (gain * evidence - leak * a - 0.3 * (numpy.sum(a) - a))"
                " + 0.08 * numpy.random.normal(size=3))",
            },
        },
        "output_ports": {"over": {"value": "numpy.max(a) >= 1"}, "winner": {"value": "numpy.argmax(a)"}},
    }
    evidence = [[1.2, 1.0, 0.8]] * 150 + [[1.0, 1.0, 1.6]] * 150
    true = mdf_c.sweep(
        model_of(node), {"n.gain": np.full(300, 1.5), "n.evidence": evidence}, steps=500, dt=0.02, stop_when="n.over", record="n.winner",
        combine="zip", seeds=11, progress=False,
    )  # fmt: skip
    found = mdf_c.fit(
        model_of(node),
        data={"evidence": evidence, "winner": true["winner"], "time": true["stopped_time"]},
        inputs={"n.evidence": "evidence"},
        dt=0.02,
        steps=500,
        parameters={"n.gain": {"start": 1.0, "bounds": [0.3, 4]}},
        first_passage={"time": "time", "choice": "winner", "port": "n.winner", "stop_when": "n.over", "trials": 300},
        max_evaluations=60,
        intervals=[],
    )
    assert found["gain"] == pytest.approx(1.5, rel=0.15)


# ------------------------------------------------------------------ forward sensitivities (CVODES)


NEURON = str(ROOT / "examples/fitzhugh_nagumo.yaml")
TIGHT = {"rtol": 1e-10, "atol": 1e-12}


@pytest.mark.parametrize("solver", ["cvode_adams", "cvode_bdf"])
def test_sensitivities_after_each_evaluation_are_those_of_differences(solver):
    start = {"membrane.a": 0.7, "membrane.b": 0.8, "membrane.v": -1.0}
    sensitive = mdf_c.forward_sensitivities(NEURON, ["membrane.V", "membrane.W"], list(start), steps=21, dt=1.0, method=solver, **TIGHT)
    values, by = sensitive(start)

    def solution(given):
        return mdf_c.run(NEURON, steps=21, dt=1.0, parameters=given, method=solver, record=True, **TIGHT)

    plain = solution(start)
    for port in ("membrane.V", "membrane.W"):
        assert values[port].shape == (21,)
        np.testing.assert_allclose(values[port], np.ravel(plain.trace[port]), rtol=0, atol=1e-7)
        for name in start:
            h = 1e-4
            ends = [np.ravel(solution({**start, name: start[name] + sign * h}).trace[port]) for sign in (1, -1)]
            expected = (ends[0] - ends[1]) / (2 * h)
            np.testing.assert_allclose(by[port][name], expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())
            assert np.abs(by[port][name]).max() > 1e-3


def test_sensitivities_are_by_cvode_alone():
    with pytest.raises(mdf_c.MdfUnsupportedError, match="cvode_adams and cvode_bdf alone"):
        mdf_c.forward_sensitivities(NEURON, ["membrane.V"], ["membrane.a"], steps=3, dt=1.0, method="rk4")


def neuron_data(solver):
    times = np.arange(0, 40, 1.0)
    run = mdf_c.run(NEURON, steps=len(times), dt=1.0, method=solver, record=True, **TIGHT)
    noise = np.random.default_rng(1).normal(0, 0.02, (2, len(times)))
    return {"t": times, "v": np.ravel(run.trace["membrane.V"]) + noise[0], "w": np.ravel(run.trace["membrane.W"]) + noise[1]}


@pytest.mark.parametrize("solver", ["cvode_adams", "cvode_bdf"])
def test_least_squares_by_sensitivities(solver):
    """The Jacobian is exact: no model is evaluated for differences, and what is found is the same."""
    keys = {
        "data": neuron_data(solver), "time": "t", "dt": 1.0,
        "parameters": {"membrane.a": {"start": 0.6, "bounds": [0.1, 2], "scale": "log", "prior": {"normal": [0.7, 0.5]}}, "membrane.b": 0.7},
        "observe": {"membrane.V": {"data": "v", "error": 0.02}, "membrane.W": {"data": "w", "error": 0.02}},
        "solver": {"method": solver, **TIGHT},
    }  # fmt: skip
    exact = mdf_c.fit(NEURON, specification={**keys, "gradient": "exact"})
    plain = mdf_c.fit(NEURON, specification={**keys, "gradient": "differences"})
    assert exact.why_differences is None and exact.n_gradients > 2
    assert exact.n_evaluations < plain.n_evaluations
    for name, value in plain.parameters.items():
        assert exact.parameters[name] == pytest.approx(value, rel=1e-5)
        assert exact.estimates[name].error == pytest.approx(plain.estimates[name].error, rel=1e-3)
    assert exact.parameters["membrane.a"] == pytest.approx(0.7, abs=0.02)


def test_a_likelihood_by_sensitivities():
    """Of distributions too, with an argument that is fitted, one that is an output port, and rows that are not there."""
    data = neuron_data("cvode_bdf")
    data["w"][3] = math.nan
    keys = {
        "data": data, "time": "t", "dt": 1.0,
        "parameters": {"membrane.a": 0.68, "membrane.b": 0.78, "noise": {"start": 0.05, "bounds": [1e-3, 1], "scale": "log"}},
        "observe": {
            "membrane.V": {"data": "v", "distribution": {"normal": {"sd": "noise"}}},
            "membrane.W": {"data": "w", "distribution": {"student_t": {"scale": "noise", "df": 9}}},
        },
        "solver": {"method": "cvode_bdf", **TIGHT},
    }  # fmt: skip
    spec = read_specification(keys, {})
    objective = Compared(spec, _origin(mdf_c.Model(NEURON)), align(spec), spec.solver)
    position = objective.space.start
    exact = objective.gradient(position)
    assert objective.why_differences is None and objective.exact() is not None
    np.testing.assert_allclose(exact, objective.differences(position), rtol=2e-4)
    found = mdf_c.fit(NEURON, specification={**keys, "gradient": "exact"})
    assert found.parameters["membrane.a"] == pytest.approx(0.7, abs=0.02)
    assert found.parameters["noise"] == pytest.approx(0.02, rel=0.4)


@pytest.mark.parametrize("solver", ["cvode_adams", "cvode_bdf"])
def test_a_gradient_behind_many_steps_of_cvode(solver):
    """Steps beside sensitivities are others, so that values are equal to the tolerance alone."""
    options = ["--steps", "101", "--dt", "0.5", "--method", solver, "--rtol", "1e-8", "--atol", "1e-10"]
    command = [native_file("mdf-run"), NEURON, *options, "--gradient", "V", "--of", "membrane.a"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    ends = [
        float(mdf_c.run(NEURON, steps=101, dt=0.5, method=solver, parameters={"membrane.a": a}, **TIGHT)["V"]) for a in (0.7001, 0.6999)
    ]
    assert found["gradients"]["V"]["membrane.a"] == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-2)
