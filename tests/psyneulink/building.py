"""What builds compositions of PsyNeuLink, small ones, and the lists that they stand in, by name.

COMPOSITIONS has functions without arguments; what one returns are the composition, the inputs by names of mechanisms (or None) and the
number of trials. REFUSED has such functions, too, each with words of the error; ARRANGED those with further arguments of Composition.run
behind what they return; ESTIMATIONS what builds an estimation of parameters, its inputs, and values to try."""

import functools

import psyneulink as pnl
from psyneulink.core.globals.utilities import set_global_seed

COMPOSITIONS = {}
REFUSED = {}
ARRANGED = {}
ESTIMATIONS = {}


def fresh(function):
    """The function, in a PsyNeuLink that has made nothing yet: else a second mechanism "A" is called "A-1"."""

    @functools.wraps(function)
    def build():
        for registry in pnl.primary_registries:
            pnl.clear_registry(registry)
        set_global_seed(0)
        return function()

    return build


def composition(function):
    COMPOSITIONS[function.__name__] = fresh(function)
    return COMPOSITIONS[function.__name__]


def comp(*pathways, name="comp"):
    result = pnl.Composition(name=name)
    for pathway in pathways:
        result.add_linear_processing_pathway(pathway) if isinstance(pathway, list) else result.add_node(pathway)
    return result


def alone(mechanism, inputs):
    """A mechanism by itself."""
    return comp(mechanism), {mechanism.name: inputs}, len(inputs)


def processing(function, inputs):
    return alone(pnl.ProcessingMechanism(name="T", input_shapes=len(inputs[0]), function=function), inputs)


def integrator(function):
    return alone(pnl.IntegratorMechanism(name="T", function=function), [[1.0]] * 4)


def refused(words):
    def add(function):
        REFUSED[function.__name__] = (composition(function), words)
        del COMPOSITIONS[function.__name__]
        return function

    return add


def estimation(function):
    ESTIMATIONS[function.__name__] = composition(function)
    del COMPOSITIONS[function.__name__]
    return ESTIMATIONS[function.__name__]


def arranged(function):
    ARRANGED[function.__name__] = fresh(function)
    return ARRANGED[function.__name__]
