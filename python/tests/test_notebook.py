"""What a notebook shows of models, results and sweeps; and the notebook of the repository runs."""

import sys
from pathlib import Path

import numpy as np
import pytest

import mdf_c
from mdf_c import drawing

NOTEBOOK = Path(__file__).parent.parent / "notebooks" / "first_steps.ipynb"


def _no_graphviz(monkeypatch):
    monkeypatch.setattr(drawing.shutil, "which", lambda name: None)


def test_a_graph_is_drawn(examples, tmp_path):
    model = mdf_c.load(examples / "newton_sqrt.json")
    names, contents = model.graph(detail=1), model.graph(detail=2)
    assert names.dot.startswith("digraph") and "improve" in names.dot and "abs" not in names.dot
    assert "abs" in contents.dot
    assert model.compile().graph(detail=2).dot == contents.dot
    contents.save(tmp_path / "a.dot")
    assert (tmp_path / "a.dot").read_text() == contents.dot
    with pytest.raises(mdf_c.MdfNameError, match="improve"):
        model.graph("improv")
    with pytest.raises(ValueError, match="detail"):
        model.graph(detail=4)
    with pytest.raises(ValueError, match="suffix|picture"):
        contents.save(tmp_path / "a.gif")


def test_a_page_has_the_picture_or_its_text(examples, monkeypatch):
    model = mdf_c.load(examples / "newton_sqrt.json")
    if drawing.shutil.which("dot"):
        assert "<svg" in model._repr_html_() and "<?xml" not in model._repr_html_()
        assert "<svg" in model.compile()._repr_html_()
    _no_graphviz(monkeypatch)
    assert "digraph" in model._repr_html_() and "&quot;" in model._repr_html_()
    with pytest.raises(FileNotFoundError, match="Graphviz"):
        model.graph().svg()


def test_a_result_is_a_table():
    values = {"p": {"value": [1.5, 2.5]}, "text": {"value": "'<b>'"}}
    graph = {"nodes": {"n": {"parameters": values, "output_ports": {"o": {"value": "p"}, "t": {"value": "text"}}}}}
    result = mdf_c.run({"m": {"graphs": {"g": graph}}}, steps=2, record="o")
    page = result._repr_html_()
    assert "n.o" in page and "1.5" in page and "float64[2]" in page and "2 steps" in page
    assert "<b>" not in page  # texts of a model are no HTML
    assert repr(result).startswith("<mdf_c.Result of 2 steps") and "0x" not in repr(result)


def test_plots(examples):
    pytest.importorskip("matplotlib")
    model = mdf_c.load(examples / "fitzhugh_nagumo.yaml")
    result = mdf_c.run(model, steps=50, dt=0.05, record=True)
    figure = result.plot()
    assert len(figure.axes) == len(result.trace)
    name, values = next(iter(result.trace.items()))
    (line,) = figure.axes[0].lines
    assert figure.axes[0].get_ylabel() == name and figure.axes[-1].get_xlabel() == "time"
    np.testing.assert_array_equal(line.get_ydata(), values)
    np.testing.assert_array_equal(line.get_xdata(), result.times)
    assert len(result.plot(name).axes) == 1
    with pytest.raises(ValueError, match="record"):
        mdf_c.run(model).plot()
    assert repr(mdf_c.compile(model).state()).startswith("<mdf_c.State of graph ")


def test_plots_of_sweeps(examples):
    pytest.importorskip("matplotlib")
    over_one = mdf_c.sweep(examples / "newton_sqrt.json", {"a": [9.0, 4.0]}, record="x", progress=False)
    (line,) = over_one.plot().axes[0].lines
    np.testing.assert_array_equal(line.get_xdata(), [4, 9])  # in order
    np.testing.assert_allclose(line.get_ydata(), [2, 3])
    assert "solver.x" in over_one._repr_html_() and "2 instances" in repr(over_one)
    settings = {"steps": 6, "dt": 10, "every": 2, "record": "temperature", "progress": False}
    over_time = mdf_c.sweep(examples / "cooling.yaml", {"time_constant": [100.0, 200.0]}, **settings)
    assert over_time.dims == ("time_constant", "step") and over_time.plot().axes[0].collections
    three = mdf_c.sweep(examples / "cooling.yaml", {"time_constant": [100.0, 200.0], "room": [10.0, 20.0]}, **settings)
    with pytest.raises(ValueError, match="to_xarray"):
        three.plot()


@pytest.mark.skipif(not NOTEBOOK.exists(), reason="the notebook is in the repository")
def test_the_notebook_runs(monkeypatch):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("PYTHONPATH", str(Path(mdf_c.__file__).parent.parent))
    notebook = nbformat.read(NOTEBOOK, 4)
    client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(NOTEBOOK.parent)}})
    client.create_kernel_manager()
    client.km.kernel_spec.argv[0] = sys.executable
    client.execute()
    shown = [output["data"] for cell in notebook.cells for output in cell.get("outputs", ()) if "data" in output]
    assert len(shown) == sum(cell.cell_type == "code" for cell in notebook.cells)
    assert sum("<table" in data.get("text/html", "") for data in shown) == 2
    assert sum("image/png" in data for data in shown) == 2
