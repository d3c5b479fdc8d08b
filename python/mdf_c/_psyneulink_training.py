"""Which trials `learn` runs: what Composition.learn takes, as rows of inputs of the model in the order in which PsyNeuLink's
CompositionRunner goes through them, in its Python mode.
"""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Schedule:
    """How often and in which order trials are gone through; as the arguments of Composition.learn of these names."""

    num_trials: int | None
    epochs: Any
    minibatch_size: Any
    optimizations_per_minibatch: int
    randomize_minibatches: bool

    def settle(self, n_given: int) -> None:
        """What was not said follows from the number of trials that are given."""
        if self.num_trials is None:
            self.num_trials = n_given
        if isinstance(self.minibatch_size, str):
            self.minibatch_size = self.num_trials
        if self.minibatch_size > self.num_trials:
            raise ValueError(f"minibatch_size {self.minibatch_size} is more than num_trials, {self.num_trials}")

    def minibatches(self, epochs: int) -> Iterator[list[int]]:
        """Their trials, by numbers, each as often as it is optimized."""
        n_trials = self.num_trials or 0
        for _ in range(epochs):
            numbers = list(range(n_trials))
            if self.randomize_minibatches:
                np.random.shuffle(numbers)  # the generator that PsyNeuLink takes
            for i in range(0, n_trials, self.minibatch_size):
                yield from itertools.repeat(numbers[i : i + self.minibatch_size], self.optimizations_per_minibatch)


def schedule(
    composition: Any, num_trials: int | None, epochs: Any, minibatch_size: Any, optimizations: int | None, randomize: bool
) -> Schedule:
    """With the composition's own settings where none are given."""
    if minibatch_size is None:
        minibatch_size = composition.parameters.minibatch_size.get(None)
    if optimizations is None:
        optimizations = composition.parameters.optimizations_per_minibatch.get(None)
    if not isinstance(minibatch_size, str):
        minibatch_size = int(np.asarray(minibatch_size).item())
    return Schedule(num_trials, epochs, minibatch_size, int(np.asarray(optimizations).item()), randomize)


def batches(composition: Any, inputs: Any, targets: Any, plan: Schedule) -> Iterator[tuple[dict[Any, Any], list[int]]]:
    """What nodes get, by node: a row for each trial, and for each of its ports one in that; and the trials' order. When it is over,
    `plan` has the number of trials and the size of a minibatch."""
    for given, target, n_epochs in sets(inputs, targets, plan):
        parsed, n_given = _parsed(composition, given, target)
        plan.settle(n_given)
        if callable(given):
            yield from _drawn(composition, given, plan.num_trials or 0, n_epochs)
        else:  # of a minibatch PsyNeuLink executes, in Python mode, the first one
            yield parsed, [numbers[0] % n_given for numbers in plan.minibatches(n_epochs)]


def sets(inputs: Any, targets: Any, plan: Schedule) -> Iterator[tuple[Any, Any, int]]:
    """The sets of trials that are learned one after the other: what was given for inputs and for targets, and how many epochs."""
    targets = itertools.repeat(None) if targets is None else _each(targets)
    epochs = plan.epochs if isinstance(plan.epochs, (list, tuple)) else itertools.repeat(plan.epochs)
    for given, target, n_epochs in zip(_each(inputs), targets, epochs):
        yield given, target, n_epochs if callable(given) else given.get("epochs", n_epochs)


def _each(given: Any) -> Any:
    if inspect.isgeneratorfunction(given):
        return given()
    if isinstance(given, dict) or callable(given):
        return [given]
    if isinstance(given, list):
        raise TypeError("inputs and targets are a dict, a function of the trial, or a generator of dicts, not a list")
    return given


def _parsed(composition: Any, inputs: Any, targets: Any) -> tuple[Any, int]:
    from psyneulink.core.globals.context import Context, ContextFlags
    from psyneulink.core.llvm import ExecutionMode

    context = Context(source=ContextFlags.COMMAND_LINE, execution_id=None)
    context.add_flag(ContextFlags.LEARNING_MODE)
    return composition._parse_learn_targets_specs(
        inputs=inputs, targets=targets, execution_mode=ExecutionMode.Python, context=context, base_context=context
    )


def _drawn(composition: Any, function: Any, num_trials: int, epochs: int) -> Iterator[tuple[dict[Any, Any], list[int]]]:
    """Trials from a function, until it has none: of a minibatch all are executed."""
    if num_trials == sys.maxsize and epochs > 1:
        raise ValueError("num_trials is needed where inputs are a function, and epochs more than 1")
    for _ in range(epochs):
        for number in range(num_trials):
            try:
                given = function(number)
            except (StopIteration, IndexError):
                return
            if given is None:
                return
            yield _parsed(composition, given, None)[0], [0]
