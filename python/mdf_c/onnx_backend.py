"""The ONNX Backend API: ``onnx.backend.test.BackendTest(mdf_c.onnx_backend, __name__)`` runs on it unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from .engine import Program, State, load


_FEW_BYTES = 1 << 16  # to copy so many takes less time than to lend them


class Prepared(BackendRep):
    """A compiled model.

    Parameters
    ----------
    program : Program
    inputs : list of str
        What :meth:`run` takes, in order.
    whole_keys : frozenset of str
        Results that are maps of whole numbers, or sequences of such.
    """

    def __init__(self, program: Program, inputs: list[str], whole_keys: frozenset[str] = frozenset()) -> None:
        self.program, self.inputs, self._whole_keys = program, inputs, whole_keys
        self._idle: list[State] = []  # that later runs take: as many as there were runs at a time
        self._outputs = namedtupledict("Outputs", list(dict.fromkeys(program.results)))
        self._told: set[frozenset[str]] = set()  # names of inputs that a run has had, and so has warned of the others

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return type(self), (self.program, self.inputs, self._whole_keys)

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Evaluates the model, as if from a fresh state.

        Ctrl-C is heard as in :meth:`mdf_c.State.evaluate`: within the first run, and within those that follow one of more than 5 ms.

        Parameters
        ----------
        inputs : sequence or dict
            Arrays (lists of them for sequences, None for an empty optional), in the order of the model or by name.
        **kwargs
            Passed over.

        Returns
        -------
        namedtuple
            Arrays, in the order of the model's outputs; maps are dicts, whose keys are int or str as the model declares, or infers.

        Raises
        ------
        MdfError
            The evaluation failed.
        """
        given = dict(inputs) if isinstance(inputs, Mapping) else dict(zip(self.inputs, inputs))
        try:
            state = self._idle.pop()
        except IndexError:
            state = self.program.state()
            state._whole_keys = self._whole_keys
        if not state._evaluate_anew(given):
            self._evaluate(state, given)
        results = self._outputs(*state.results().values())
        if state._lent:
            state._renew()
        self._idle.append(state)  # one that failed is let go
        return results

    def _evaluate(self, state: State, given: dict[str, Any]) -> None:
        """One call for each input, and one to evaluate: the first time, and where arrays are lent."""
        state._renew()
        names = frozenset(given)
        if names in self._told:
            state._take_as_checked()
        state.set_inputs(given, lend=any(getattr(value, "nbytes", 0) > _FEW_BYTES for value in given.values()))
        state.evaluate()
        self._told.add(names)


def _find_whole_keys(model: onnx.ModelProto) -> frozenset[str]:
    """Outputs that are maps of whole numbers, or sequences of such."""
    if any(output.type.WhichOneof("value") is None for output in model.graph.output) and any(node.op_type == "ZipMap" for node in model.graph.node):
        model = onnx.shape_inference.infer_shapes(model)
    types = {output.name: output.type for output in model.graph.output}
    maps = {name: of.sequence_type.elem_type if of.HasField("sequence_type") else of for name, of in types.items()}
    return frozenset(name for name, of in maps.items() if of.map_type.key_type not in (onnx.TensorProto.UNDEFINED, onnx.TensorProto.STRING))


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
        return Prepared(load(model).compile(loop_condition=kwargs.get("loop_condition")), names, _find_whole_keys(model))

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
