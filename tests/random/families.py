"""Which grammar a seed belongs to."""
import ahead
import bits
import changing
import changing_states
import chains
import deep_nests
import either
import grammar
import hard_numbers
import modeci_grammar
import nests
import onnx_grammar
import outer_loops
import places
import scheduled
import sequences
import solving
import successions
import tables
import walks

_TURNS = (grammar, onnx_grammar, nests, chains, sequences, solving, outer_loops, successions, changing, changing_states, bits, ahead)
FAMILIES = [module.make for module in _TURNS]
_OTHERS = {"deep_nests": deep_nests.make, "hard_nests": deep_nests.make_hard, "either": either.make, "hard_numbers": hard_numbers.make, "places": places.make, "scheduled": scheduled.make, "tables": tables.make, "walks": walks.make}  # take no turns of their own
NAMED = {**{module.__name__: module.make for module in _TURNS}, **_OTHERS}
_chosen = []


def choose(name):
    """All seeds are of the family of that name; None: they take turns."""
    _chosen[:] = [] if name is None else [NAMED[name]]


def make(seed):
    turns = _chosen or FAMILIES
    return turns[seed % len(turns)](seed)


def make_comparable(seed):
    """The same with MDF models that modeci_mdf has."""
    return make(seed) if _chosen or seed % len(FAMILIES) else modeci_grammar.make(seed)
