"""sweep: stop_when and reduce: first passages, and what is told of many instances together, the same by all ways."""

import numpy as np
import pytest

import mdf_c

WALK = {
    "walk": {
        "graphs": {
            "g": {
                "nodes": {
                    "d": {
                        "parameters": {
                            "drift": {"value": 1.0},
                            "noise": {"value": 1.0},
                            "x": {
                                "default_initial_value": 0.0,
                                "value": "x + drift * 0.01 + noise * 0.1 * numpy.random.normal()",
                            },
                            "n": {"default_initial_value": 0, "value": "n + 1"},
                        },
                        "output_ports": {"X": {"value": "x"}, "N": {"value": "n"}, "pair": {"value": "[x, 2 * x]"}},
                    }
                }
            }
        }
    }
}
STOP = "abs(d.X) >= 0.5"
DRIFTS, STEPS, TRIALS = [0.0, 1.0, 3.0], 60, 40


def sweep(**keywords):
    given = {"parameters": {"d.drift": DRIFTS}, "steps": STEPS, "dt": 0.01, "trials": TRIALS, "seeds": 7, "progress": False}
    return mdf_c.sweep(WALK, **{**given, **keywords})


@pytest.fixture(scope="module")
def paths():
    """Every step of every instance, without a stop."""
    return sweep(every=1, record=["X", "N", "pair"])


@pytest.fixture(scope="module")
def passages(paths):
    """The step after which each is past the threshold first; -1: none."""
    is_past = np.abs(paths["X"]) >= 0.5
    return np.where(is_past.any(axis=-1), is_past.argmax(axis=-1) + 1, -1)


def test_an_instance_ends_with_the_step_after_which_it_is_past(paths, passages):
    assert (passages == -1).any()
    assert (passages > 3).any()
    result = sweep(stop_when=STOP, record=["X", "N", "pair"])
    assert result.dims == ("d.drift", "trial")
    assert result["stopped_step"].tolist() == passages.tolist()
    times = np.where(passages < 0, np.nan, 0.01 * (passages - 1))
    np.testing.assert_array_equal(result["stopped_time"], times)
    last = np.where(passages < 0, STEPS, passages) - 1
    for name in ("X", "N", "pair"):
        values = np.take_along_axis(paths[name], last.reshape(*last.shape, *[1] * (paths[name].ndim - 2)), axis=2)[:, :, 0]
        assert result[name].tobytes() == values.tobytes()


def test_rows_of_later_steps_have_the_last_values(paths, passages):
    result = sweep(stop_when=STOP, record="X", every=10)
    ends = np.where(passages < 0, STEPS, passages)[:, :, None]
    steps = np.minimum(result.steps, ends) - 1
    assert result["X"].tobytes() == np.take_along_axis(paths["X"], steps, axis=2).tobytes()
    data = pytest.importorskip("xarray") and result.to_xarray()
    assert data["stopped_step"].dims == ("d.drift", "trial")


@pytest.mark.parametrize("settings", [{}, {"threads": 3}, {"float32": True}])
@pytest.mark.parametrize("stop", [STOP, "d.X > 0.3 and N > 5", "1 if abs(X) > 0.5 else 0", "numpy.max(d.pair) >= 1", "N == 1"])
def test_ways_of_looking_agree_with_steps_that_are_all_recorded(stop, settings):
    """Steps that nobody looks at are many at once; those that are recorded one by one."""
    many, single = sweep(stop_when=stop, record="pair", **settings), sweep(stop_when=stop, record="pair", every=1, **settings)
    assert many["stopped_step"].tolist() == single["stopped_step"].tolist()
    assert many["pair"].tobytes() == single["pair"][:, :, -1].tobytes()


@pytest.mark.parametrize(
    ("stop", "message"),
    [
        ("x > 1", "is no output port"),
        ("d.X >", "stop_when"),
        ("d.X > y", "'y'"),
        ("numpy.array(d.pair) > 1", "not one number"),
        ("d.Y > 1", "is no output port"),
    ],
)
def test_what_is_wrong_with_a_stop_is_told(stop, message):
    with pytest.raises(mdf_c.MdfError, match=message):
        sweep(stop_when=stop)


def test_nothing_stops_before_its_nodes_have_run():
    model = {
        "m": {
            "graphs": {
                "g": {
                    "nodes": {
                        "a": {"parameters": {"n": {"value": "n + 1"}}, "output_ports": {"out": {"value": "n"}}},
                        "b": {"parameters": {"k": {"value": 2.0}}, "output_ports": {"late": {"value": "k"}}},
                    },
                    "conditions": {
                        "node_specific": {"b": {"type": "AfterNCalls", "kwargs": {"dependency": "a", "n": 4, "time_scale": "TimeScale.LIFE"}}},
                        "termination": {"environment_state_update": {"type": "AfterPass", "kwargs": {"n": 0}}},
                    },
                }
            }
        }
    }
    alone = mdf_c.run(model, steps=9, record=["late"])
    first = next(i for i, value in enumerate(alone.recorded("late")) if value == 2)
    for every in (0, 1):
        result = mdf_c.sweep(model, {"b.k": [2.0, 3.0]}, steps=9, stop_when="late < 2.5", record="out", every=every)
        assert result["stopped_step"].tolist() == [first + 1, -1]


# ---------------------------------------------------------------- reductions

EDGES = np.linspace(-1, 1, 9)
REDUCE = {
    "over": "trial",
    "count": True,
    "mean": True,
    "var": ["X", "N", "stopped_step", "stopped_time"],
    "quantiles": {"X": [0.0, 0.25, 0.5, 1.0], "stopped_step": [0.5]},
    "histogram": {"X": EDGES, "stopped_time": [0, 0.5, 1, 2]},
}


@pytest.fixture(scope="module")
def reduced():
    return sweep(stop_when=STOP, record=["X", "N", "pair"], reduce=REDUCE)


def test_reductions_are_those_of_the_values(reduced):
    every = sweep(stop_when=STOP, record=["X", "N", "pair"])
    assert reduced.dims == ("d.drift",)
    assert reduced["d.X.count"].tolist() == [TRIALS] * 3
    for name in ("X", "N", "pair"):
        np.testing.assert_allclose(reduced[f"{name}.mean"], every[name].mean(axis=1), rtol=1e-13, atol=1e-16)
    np.testing.assert_allclose(reduced["X.var"], every["X"].var(axis=1), rtol=1e-12)
    steps = every["stopped_step"]
    assert reduced["stopped_step.count"].tolist() == (steps > 0).sum(axis=1).tolist()
    for i, own in enumerate(steps):
        own = own[own > 0]
        assert reduced["stopped_step.mean"][i] == own.mean()
        assert reduced["stopped_step.var"][i] == pytest.approx(own.var(), rel=1e-12)
        assert reduced["stopped_step.quantiles"][i, 0] == np.quantile(own, 0.5)  # whole numbers below 2048 are exact
        assert reduced["stopped_time.histogram"][i].tolist() == np.histogram(0.01 * (own - 1), [0, 0.5, 1, 2])[0].tolist()
        assert reduced["X.histogram"][i].tolist() == np.histogram(every["X"][i], EDGES)[0].tolist()
        exact = np.quantile(every["X"][i], [0, 0.25, 0.5, 1])
        np.testing.assert_allclose(reduced["X.quantiles"][i], exact, rtol=2**-11, atol=2**-11 * 0.01)
        assert reduced["X.quantiles"][i, [0, 3]].tolist() == exact[[0, 3]].tolist()


def test_over_all_axes_and_over_the_first_and_with_steps():
    every = sweep(record="X", every=20)
    over_all = sweep(record="X", every=20, reduce={"mean": True})
    assert over_all["X.mean"].shape == (3,)
    np.testing.assert_allclose(over_all["X.mean"], every["X"].mean(axis=(0, 1)), rtol=1e-12)
    over_first = sweep(record="X", every=20, reduce={"over": ["d.drift"], "mean": "d.X"})
    assert over_first.dims == ("trial", "step")
    np.testing.assert_allclose(over_first["X.mean"], every["X"].mean(axis=0), rtol=1e-12)
    pytest.importorskip("xarray")
    assert set(over_first.to_xarray()["d.X.mean"].dims) == {"trial", "step"}


def same(a, b):
    assert list(a.outputs) == list(b.outputs)
    for name, values in a.outputs.items():
        assert values.tobytes() == b.outputs[name].tobytes(), name


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_number_of_threads_changes_no_bit(reduced, threads):
    same(reduced, sweep(stop_when=STOP, record=["X", "N", "pair"], reduce=REDUCE, threads=threads))


def test_an_executor_changes_no_bit(reduced):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(3) as pool:
        same(reduced, sweep(stop_when=STOP, record=["X", "N", "pair"], reduce=REDUCE, client=pool))
        every = sweep(stop_when=STOP, record=["X", "N", "pair"], client=pool)
    same(every, sweep(stop_when=STOP, record=["X", "N", "pair"]))


def test_dask_changes_no_bit(reduced, cluster):
    distributed = pytest.importorskip("distributed")
    with distributed.Client(cluster) as client:
        same(reduced, sweep(stop_when=STOP, record=["X", "N", "pair"], reduce=REDUCE, client=client))


@pytest.mark.parametrize(
    ("reduce", "message"),
    [
        ({}, "has the keys"),
        ({"median": True}, "median"),
        ({"over": "n", "mean": True}, "none of the axes"),
        ({"mean": "Y"}, "'Y' is not one of"),
        ({"quantiles": [2]}, "from 0 to 1"),
        ({"histogram": {"X": [1, 1]}}, "ascend"),
    ],
)
def test_mistakes_of_reductions_are_told(reduce, message):
    with pytest.raises(ValueError, match=message):
        sweep(record="X", reduce=reduce)


def test_without_a_stop_there_is_no_step_of_it():
    with pytest.raises(ValueError, match="stopped_step"):
        sweep(record="X", reduce={"mean": "stopped_step"})
    with pytest.raises(KeyError):
        sweep(record="X")["stopped_step"]
