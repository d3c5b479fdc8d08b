"""Functions of MDF as plain functions of arrays."""

from . import onnx

__all__ = ["onnx"]
