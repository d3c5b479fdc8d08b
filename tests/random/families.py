"""Which grammar a seed belongs to."""
import chains
import grammar
import modeci_grammar
import nests
import onnx_grammar
import outer_loops
import sequences
import solving
import successions

FAMILIES = [grammar, onnx_grammar, nests, chains, sequences, solving, outer_loops, successions]


def make(seed):
    return FAMILIES[seed % len(FAMILIES)].make(seed)


def make_comparable(seed):
    """The same with MDF models that modeci_mdf has."""
    return make(seed) if seed % len(FAMILIES) else modeci_grammar.make(seed)
