"""Values into the engine and out of it: types, views, buffers, DLPack."""

import array
import gc

import numpy as np
import pytest
from conftest import DOUBLE, model_of

import mdf_c

TYPES = ["bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))]
TYPES += ["float16", "float32", "float64", "complex64", "complex128"]
PASS = {"input_ports": {"x": {}}, "output_ports": {"y": {"value": "x"}}}


def through(value):
    """`value` as the engine gives it back."""
    state = mdf_c.compile(model_of(PASS)).state()
    state.set_input("x", value)
    state.evaluate()
    return state.output("n", "y")


@pytest.mark.parametrize("dtype", TYPES)
def test_arrays_keep_type_and_shape(dtype):
    for shape in [(), (3,), (2, 0), (2, 3, 1, 4)]:
        given = (np.arange(np.prod(shape)) % 2).reshape(shape).astype(dtype)
        got = through(given)
        assert got.dtype == given.dtype and got.shape == shape
        np.testing.assert_array_equal(got, given)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e8m0fnu"])
def test_tensors_of_pytorch_have_types_that_numpy_has_not(name):
    torch, ml_dtypes = pytest.importorskip("torch"), pytest.importorskip("ml_dtypes")
    tensor = torch.tensor([[1.0, 2.0, 0.5], [4.0, 8.0, 16.0]]).to(getattr(torch, name)).T  # not dense
    model = model_of({"input_ports": {"x": {}}, "output_ports": {"y": {"value": "x"}}})
    result = mdf_c.run(model, inputs={"x": tensor})["y"]
    assert result.dtype == getattr(ml_dtypes, name) and result.astype(float).tolist() == [[1, 4], [2, 8], [0.5, 16]]
    single = mdf_c.run(model_of({"parameters": {"p": {"value": tensor}}, "output_ports": {"y": {"value": "p"}}}))["y"]
    assert single.astype(float).tolist() == result.astype(float).tolist()
    with pytest.raises(RuntimeError, match="requires grad"):
        mdf_c.run(model, inputs={"x": torch.ones(2, dtype=torch.bfloat16, requires_grad=True)})


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4", "float4_e2m1fn"])
def test_narrow_types(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    if not hasattr(ml_dtypes, name):
        pytest.skip(f"this ml_dtypes has no {name}")
    given = np.array([0, 1, 2, 3], dtype=getattr(ml_dtypes, name))
    got = through(given)
    assert got.dtype == given.dtype
    np.testing.assert_array_equal(got.astype(float), given.astype(float))


def test_texts():
    assert through("grün") == np.array("grün", dtype=object)
    np.testing.assert_array_equal(through(np.array([["a", "b"], ["", "d"]])), np.array([["a", "b"], ["", "d"]], dtype=object))
    with pytest.raises(ValueError, match="NUL"):
        through("a\0b")
    with pytest.raises(TypeError, match="texts"):
        through(np.array([object()]))


def test_texts_that_are_set_again():
    state = mdf_c.compile(model_of(PASS)).state()
    for words in (["abc", "d"], ["e", "fgh"]):
        state.set_inputs({"x": np.array(words)})
        state.evaluate()
        assert list(state.output("n", "y")) == words
    with pytest.raises(ValueError, match="NUL"):
        state.set_inputs({"x": np.array(["a\0b", "d"])})


def test_arrays_that_are_not_dense_or_native():
    matrix = np.arange(12.0).reshape(3, 4)
    for given in (matrix.T, matrix[::2, ::-1], matrix.astype(">f8"), np.broadcast_to(matrix[0], (5, 4))):
        np.testing.assert_array_equal(through(given), given)


@pytest.mark.parametrize("given", [array.array("d", [1, 2, 3]), memoryview(np.array([1.0, 2, 3])), bytearray(b"\1\2\3")])
def test_buffers(given):
    got = through(given)
    np.testing.assert_array_equal(got, [1, 2, 3])
    assert got.dtype == np.asarray(memoryview(given)).dtype


class OnlyDLPack:
    """An array of another package: all it has is DLPack."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **keywords):
        return self.values.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def _assert_same(a, b):
    assert (a.dtype, a.shape, a.tolist()) == (b.dtype, b.shape, b.tolist())


def _doubled(given, **settings):
    node = {"parameters": {"k": {"value": given}}, "output_ports": {"y": {"value": "k * 2"}}}
    return mdf_c.run({"m": {"graphs": {"g": {"nodes": {"A": node}}}}}, **settings)["y"]


def test_parameters_are_arrays_of_any_library():
    pandas = pytest.importorskip("pandas")
    for given in (pandas.Series([1.0, 2.0]), pandas.DataFrame({"a": [1.0, 2.0]}), np.array([1.0, 2.0], ">f8")):
        _assert_same(_doubled(given), 2 * np.asarray(given, float))
        _assert_same(_doubled(0.0, parameters={"A.k": given}), 2 * np.asarray(given, float))
    _assert_same(_doubled(0.0, parameters={"A.k": np.array([1.0, 2.0], ">f4")}), np.array([2.0, 4.0], np.float32))
    _assert_same(_doubled(np.zeros((0, 2), ">f4")), np.zeros((0, 2), np.float32))


def test_dlpack():
    got = through(OnlyDLPack(np.array([[1, 2], [3, 4]], dtype=np.int32)))
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got, [[1, 2], [3, 4]])


def test_numbers_lists_objects_and_nothing():
    assert through(3) == 3 and through(2.5) == 2.5 and through(np.float32(2.5)).dtype == np.float32
    assert through(True).dtype == bool and through(np.True_).dtype == bool
    np.testing.assert_array_equal(through([[1, 2], [3, 4]]), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(through([1.5, 2]), [1.5, 2.0])
    sequence = through([np.zeros(2), np.ones(3)])
    assert isinstance(sequence, list) and [len(item) for item in sequence] == [2, 3]
    found = through({"a": 1.5, "b": {"c": "text"}})
    assert found["a"] == 1.5 and found["b"]["c"] == "text"
    with pytest.raises(OverflowError):
        through(2**63)
    with pytest.raises(TypeError, match="no counterpart"):
        through(object())
    with pytest.raises(TypeError, match="no counterpart"):
        through(np.zeros(2, dtype="datetime64[s]"))


def test_a_list_of_nothing_is_an_array_as_in_a_file():
    node = {"input_ports": {"x": {}}, "output_ports": {"y": {"value": "x + [1.5]"}}}
    assert mdf_c.run(model_of(node), {"n.x": []}).outputs["n"]["y"].shape == (0,)


def test_a_view_is_no_copy_stays_as_it_is_and_lives_longer_than_the_state():
    state = mdf_c.compile(model_of(DOUBLE)).state()
    state.set_input("x", np.arange(4.0))
    state.evaluate()
    first, again = state.output("n", "y", copy=False), state.output("n", "y", copy=False)
    assert first.ctypes.data == again.ctypes.data != state.output("n", "y").ctypes.data
    assert not first.flags.writeable
    with pytest.raises(ValueError):
        first.flags.writeable = True
    state.set_input("x", np.arange(4.0) + 10)
    state.evaluate()
    np.testing.assert_array_equal(first, [0, 2, 4, 6])
    np.testing.assert_array_equal(state.output("n", "y", copy=False), [20, 22, 24, 26])
    del state, again
    gc.collect()
    np.testing.assert_array_equal(first, [0, 2, 4, 6])


def test_copies_are_the_callers_own():
    state = mdf_c.compile(model_of(DOUBLE)).state()
    state.evaluate()
    copy = state.output("n", "y")
    copy[...] = 99
    assert state.output("n", "y") == 2


def test_an_input_is_taken_as_it_is_when_it_is_set():
    state = mdf_c.compile(model_of(PASS)).state()
    given = np.ones(3)
    state.set_input("x", given)
    given[:] = 5
    state.evaluate()
    np.testing.assert_array_equal(state.output("n", "y"), [1, 1, 1])


def test_an_input_that_is_set_again_is_what_was_given_last():
    state = mdf_c.compile(model_of(PASS)).state()
    numbers = np.arange(6, dtype="float32")
    fixed = np.arange(6, 12, dtype="float32")
    fixed.flags.writeable = False
    given = [numbers, numbers + 1, fixed, fixed, np.arange(12, dtype="float32")[::2], np.arange(6, dtype=">f4"), numbers.astype("int32")]
    given += [numbers.reshape(2, 3), np.asfortranarray(numbers.reshape(2, 3)), np.ones((2, 3), "float32"), np.zeros((0, 3), "float32")]
    given += [np.zeros((0, 3), "float32"), np.float32(3), np.array(4, "float32"), np.array(["a", "b"]), np.array(["c", "d"]), [1.5, 2.5]]
    given += [np.array([["grün", ""]]), np.array([["", "äöüß"]]), np.array([[1, 2]])]
    given += [numbers, memoryview(numbers), numbers.astype(bool), np.zeros(6, bool), True, numbers]
    for value in given:
        state.set_inputs({"x": value})
        state.evaluate()
        wanted = np.asarray(value)
        got = state.output("n", "y")
        assert np.shape(got) == wanted.shape
        assert isinstance(value, (list, bool)) or got.dtype.kind in "OU" or got.dtype == wanted.dtype.newbyteorder("=")
        np.testing.assert_array_equal(got, wanted)
    with pytest.raises(TypeError):
        state.set_input(["x"], numbers)
    with pytest.raises(TypeError):
        state.set_input("x", np.ma.masked_array(numbers, numbers > 2))


def test_results_of_all_evaluations_are_the_callers_own():
    """Their buffers take turns, and their types and shapes change."""
    program = mdf_c.compile(model_of({"input_ports": {"x": {}}, "output_ports": {"y": {"value": "x + 1"}}}))
    state, found = program.state(), []
    given = [np.full(3, i, "float32") for i in range(6)] + [np.full((i, 2), i) for i in (1, 2, 2, 1, 1, 0, 2)]
    given += [np.arange(3), [0.5, 1.5], *(np.full((i + 1) * 500, i, "int64") for i in range(12)), *(np.float64(i) for i in range(3))]
    for value in given:
        state.set_input("x", value)
        state.evaluate()
        found.append(state.results()["y"])
    for value, result in zip(given, found):
        np.testing.assert_array_equal(result, np.asarray(value) + 1)
        assert result.dtype == np.asarray(value).dtype and result.flags.owndata and result.flags.writeable


def test_lists_of_objects():
    """Alike, which are taken at once, and not: the same either way."""
    alike = [{"a": np.float32(i), "b": np.float32(-i)} for i in range(3)]
    others = [
        [],
        [{}],
        [{}, {}],
        [{"a": np.float32(1)}],
        [*alike, {"a": np.float32(1)}],
        [*alike, {"b": np.float32(1), "a": np.float32(2)}],
        [*alike, {"a": np.float32(1), "b": np.int64(2)}],
        [*alike, {"a": np.float32(1), "b": np.ones(2, np.float32)}],
        [*alike, np.float32(1)],
        [{"a": "x"}, {"a": "y"}],
        [{"a": np.bool_(True)}, {"a": np.bool_(False)}],
        [{"a": {"b": np.float64(1)}}, {"a": {"b": np.float64(2)}}],
    ]
    for given in [alike, *others]:
        np.testing.assert_equal(through(given), given)
    got = through(alike)
    assert all(item.dtype == np.float32 and item.shape == () for row in got for item in row.values())
    got[0]["a"][...] = 7
    assert (got[0]["a"], got[0]["b"], got[1]["a"]) == (7, 0, 1)


def test_lent_arrays_are_not_copied():
    node = {"input_ports": {"x": {}}, "parameters": {"y": {"value": "numpy.sum(x)"}}, "output_ports": {"y": {"value": "y"}}}
    program = mdf_c.compile(model_of(node))
    peaks = []
    for lend in (False, True):
        state = program.state()
        state.set_inputs({"x": np.ones(100_000)}, lend=lend)
        gc.collect()
        state.evaluate()
        assert state.output("n", "y") == 100_000
        peaks.append(state.peak_bytes)
    assert peaks[0] > 800_000 > 100_000 > peaks[1]


@pytest.mark.parametrize("text", ["numpy.float64(None)", "numpy.float32(None)", "numpy.bool_(None)", "numpy.float64()"])
def test_types_of_nothing(text):
    got = mdf_c.compile(model_of({"output_ports": {"y": {"value": text}}})).state()
    got.evaluate()
    wanted = eval(text, {"numpy": np})
    assert got.output("n", "y").dtype == wanted.dtype
    np.testing.assert_array_equal(got.output("n", "y"), wanted)


@pytest.mark.parametrize("text, message", [
    ("numpy.int64(None)", "does not apply to None"),
    ("numpy.linspace(numpy.ones(1), 3, 3)", "is an array"),
    ("numpy.logspace(1, numpy.ones((1, 1)), 3)", "is an array"),
])
def test_what_is_refused(text, message):
    state = mdf_c.compile(model_of({"output_ports": {"y": {"value": text}}})).state()
    with pytest.raises(mdf_c.MdfError, match=message):
        state.evaluate()


def test_a_text_of_numpy_is_a_text():
    assert through(np.str_("a")).tolist() == through("a").tolist() == "a"
