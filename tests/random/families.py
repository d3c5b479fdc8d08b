"""Which grammar a seed belongs to."""
import grammar
import onnx_grammar

FAMILIES = [grammar, onnx_grammar]


def make(seed):
    return FAMILIES[seed % len(FAMILIES)].make(seed)
