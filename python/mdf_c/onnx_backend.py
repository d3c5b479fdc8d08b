"""The ONNX Backend API: ``onnx.backend.test.BackendTest(mdf_c.onnx_backend, __name__)`` runs on it unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from .engine import Program, load


class Prepared(BackendRep):
    """A compiled model.

    Parameters
    ----------
    program : Program
    inputs : list of str
        What :meth:`run` takes, in order.
    """

    def __init__(self, program: Program, inputs: list[str]) -> None:
        self.program, self.inputs = program, inputs

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Evaluates the model from a fresh state.

        Parameters
        ----------
        inputs : sequence or dict
            Arrays (lists of them for sequences, None for an empty optional), in the order of the model or by name.
        **kwargs
            Passed over.

        Returns
        -------
        namedtuple
            Arrays, in the order of the model's outputs.

        Raises
        ------
        MdfError
            The evaluation failed.
        """
        given = dict(inputs) if isinstance(inputs, Mapping) else dict(zip(self.inputs, inputs))
        state = self.program.state()
        state.set_inputs(given, lend=True)
        state.evaluate()
        results = state.results()
        return namedtupledict("Outputs", list(results))(*results.values())


class MdfBackend(Backend):
    """The backend; its class methods are also functions of this module."""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether the model compiles."""
        try:
            cls.prepare(model, device, **kwargs)
        except ValueError:
            return False
        return True

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> Prepared:
        """Compiles a model.

        Parameters
        ----------
        **kwargs
            ``loop_condition`` as in :class:`mdf_c.Settings`; others are passed over.

        Raises
        ------
        MdfError
            It is invalid, or holds what is not supported.
        ValueError
            The device is not the CPU.
        """
        if not cls.supports_device(device):
            raise ValueError(f"there is no device {device!r}: only the CPU")
        initialized = {tensor.name for tensor in model.graph.initializer}
        initialized |= {tensor.values.name for tensor in model.graph.sparse_initializer}
        names = [value.name for value in model.graph.input if value.name not in initialized]
        return Prepared(load(model).compile(loop_condition=kwargs.get("loop_condition")), names)

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """:meth:`prepare` and :meth:`Prepared.run`."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls, node: onnx.NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> tuple[Any, ...]:
        """Evaluates one node.

        Parameters
        ----------
        node : onnx.NodeProto
            The node.
        inputs : sequence or dict
            Arrays, in the order of the node's inputs that are not left out.
        device : str
            The CPU.
        outputs_info
            Passed over.
        **kwargs
            ``opset_version``, by default the newest that onnx knows.
        """
        names = [name for name in node.input if name]
        graph = helper.make_graph(
            [node],
            "node",
            [helper.make_empty_tensor_value_info(name) for name in names],
            [helper.make_empty_tensor_value_info(name) for name in node.output if name],
        )
        opset = kwargs.pop("opset_version", onnx.defs.onnx_opset_version())
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(node.domain, opset)])
        return cls.run_model(model, inputs, device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Only the CPU."""
        return device.split(":")[0].upper() == "CPU"


is_compatible = MdfBackend.is_compatible
prepare = MdfBackend.prepare
run_model = MdfBackend.run_model
run_node = MdfBackend.run_node
supports_device = MdfBackend.supports_device
