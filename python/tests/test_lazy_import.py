"""What a program pays for `import mdf_c`: the modules that loading and running models needs, and the others when they are asked for."""

import inspect
import pickle
import subprocess
import sys

import mdf_c

import pytest


def _in_a_new_process(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_what_is_rarely_used_is_not_imported():
    code = (
        "import sys, numpy\n"
        "before = set(sys.modules)\n"
        "import mdf_c\n"
        "print(*(name for name in ('json', 'heapq', 'dataclasses', 'mdf_c.drawing', 'mdf_c._python_source') if name in set(sys.modules) - before))\n"
        "mdf_c.run({'m': {'graphs': {'g': {'nodes': {'n': {'parameters': {'p': {'value': '1 + 1'}}, 'output_ports': {'o': {'value': 'p'}}}}}}}})\n"
        "print(*(name for name in ('ml_dtypes', 'subprocess', 'html', 'difflib', 'mdf_c.fitting', 'mdf_c.psyneulink', 'mdf_c.sweeping', 'mdf_c.functions') if name in sys.modules))"
    )
    assert _in_a_new_process(code).split() == []


@pytest.mark.parametrize("name", sorted({*mdf_c.__all__, "fitting", "functions", "sweeping"}))
def test_every_name_is_there_when_asked_for(name):
    assert name in dir(mdf_c)
    assert getattr(mdf_c, name) is getattr(mdf_c, name)


def test_a_name_that_is_none_is_told():
    with pytest.raises(AttributeError, match="has no attribute 'sweeep'"):
        mdf_c.sweeep  # noqa: B018


def test_modules_are_those_of_import():
    code = "import mdf_c\nfrom mdf_c import *\nprint(sweep is mdf_c.sweep, psyneulink is mdf_c.psyneulink, fit is mdf_c.fitting.fit)"
    assert _in_a_new_process(code).split() == ["True"] * 3


def test_types_of_ml_dtypes_are_known_when_they_are_met():
    pytest.importorskip("ml_dtypes")
    code = (
        "import sys, mdf_c\n"
        "model = {'m': {'graphs': {'g': {'nodes': {'n': {'parameters': {'p': {'function': 'onnx::Cast', 'args': {'input': [1.5], 'to': 16}}}, 'output_ports': {'o': {'value': 'p'}}}}}}}}\n"
        "print('ml_dtypes' in sys.modules, mdf_c.run(model)['o'].dtype, 'ml_dtypes' in sys.modules)"
    )
    assert _in_a_new_process(code).split() == ["False", "bfloat16", "True"]


def test_functions_of_the_library_have_prototypes_when_they_are_asked_for():
    code = (
        "import mdf_c, mdf_c.sampling\n"
        "from mdf_c._library import lib\n"
        "print(*(name in vars(lib) for name in ('mdf_compile_gradient', 'mdf_check', 'mdf_sample')))\n"
        "print(*(len(function.argtypes) for function in (lib.mdf_compile_gradient, lib.mdf_check, lib.mdf_sample)), lib.mdf_check is lib.mdf_check)\n"
        "print(hasattr(lib, 'mdf_no_function'))"
    )
    assert _in_a_new_process(code).split() == ["False"] * 3 + ["8", "7", "7", "True", "False"]


def test_settings_are_a_record():
    one = mdf_c.Settings("g", seed=7)
    assert one == mdf_c.Settings(graph="g", seed=7) != mdf_c.Settings(graph="g") and hash(one) == hash(mdf_c.Settings("g", seed=7))
    assert one != "g" and repr(one).startswith("Settings(graph='g', float32=False, ") and "seed=7" in repr(one)
    assert inspect.signature(mdf_c.Settings).parameters["method"].default == "euler"
    assert pickle.loads(pickle.dumps(one)) == one


@pytest.mark.parametrize("given, named", [((), {"sed": 1}), (("g",), {"graph": "h"}), (range(30), {})])
def test_settings_that_there_are_not(given, named):
    with pytest.raises(TypeError, match=r"Settings\(\) got"):
        mdf_c.Settings(*given, **named)


def test_settings_stay():
    one = mdf_c.Settings()
    with pytest.raises(AttributeError, match="can not set 'seed'"):
        one.seed = 3
    with pytest.raises(AttributeError, match="can not delete 'seed'"):
        del one.seed
