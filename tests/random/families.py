"""Which grammar a seed belongs to."""
import grammar
import onnx_grammar

FAMILIES = [grammar, onnx_grammar]


def make(seed):
    return FAMILIES[seed % len(FAMILIES)].make(seed)


def make_comparable(seed):
    """The same with MDF models that modeci_mdf knows."""
    return make(seed) if seed % len(FAMILIES) else grammar.make_plain(seed)
