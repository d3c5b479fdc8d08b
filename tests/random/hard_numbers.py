"""MDF models of the other families with numbers at which types and functions end: infinities, NaN, both zeros, subnormal numbers, the ends of whole types, halves. ``make(seed)`` gives one case."""
import random
import re

import changing_states
import grammar
import solving

REALS = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.7976931348623157e308, -1.7976931348623157e308, 5e-324, -5e-324, 2.2250738585072014e-308, 1e-310, 3.4028234663852886e38,
         1e39, 1e-46, 65504.0, 65520.0, 6e-8, 0.5, 1.5, 2.5, -0.5, -1.5, 9007199254740992.0, 9007199254740993.0, 4503599627370495.5, 9.223372036854775807e18, 1.8446744073709552e19, -9.223372036854775808e18,
         2147483647.0, 2147483648.0, -2147483649.0, 127.0, 128.0, 255.0, 256.0, 1e22, 1e16, 709.782712893384, 709.8, -745.2, 88.72284, 3.141592653589793, 1.0000000000000002]
WHOLES = [0, 1, -1, 2, 3, 7, -8, 127, 128, -128, -129, 255, 256, 32767, 32768, 65535, 65536, 2147483647, -2147483648, 2147483648, 4294967295, 4294967296, 9007199254740993, 9223372036854775807, -9223372036854775808, 63, 64, 31, 32]
_NUMBER = re.compile(r"(?<![\w.\[])(\d+\.\d+)(?![\w.])")
_KEYS = {"value", "default_initial_value", "default_value"}
_FEW = {"kwargs", "shape", "metadata", "conditions"}  # what says how many of something there are, or when


def _text(number):
    """An expression that is this number, whatever its sign; none has a name for what is no number."""
    return f"({number!r})" if number == number and abs(number) != float("inf") else {"inf": "numpy.inf", "-inf": "(-numpy.inf)"}.get(str(number), "numpy.nan")


class Hardening:
    def __init__(self, rng):
        self.rng, self.share = rng, rng.choice([0.1, 0.3, 0.6])

    def number(self, value):
        if isinstance(value, bool) or self.rng.random() > self.share:
            return value
        return self.rng.choice(REALS if isinstance(value, float) else WHOLES)

    def values(self, value):
        if isinstance(value, list):
            return [self.values(item) for item in value]
        if isinstance(value, str):
            return _NUMBER.sub(lambda found: _text(self.rng.choice(REALS)) if self.rng.random() < self.share / 2 else found[0], value)
        return self.number(value) if isinstance(value, (int, float)) else value

    def part(self, part):
        """Changes numbers of parameters, ports and expressions, in place."""
        for key, value in part.items() if isinstance(part, dict) else ():
            if key in _KEYS and not isinstance(value, dict):
                part[key] = self.values(value)
            elif key not in _FEW:
                self.part(value)


def make(seed):
    rng = random.Random(f"hard numbers {seed}")
    case = rng.choice([grammar, grammar, grammar, changing_states, solving]).make(seed)
    hardening = Hardening(rng)
    hardening.part(case["model"])
    for phase in case["phases"]:
        phase["inputs"] = {name: hardening.values(value) if not isinstance(value, dict) else value for name, value in phase["inputs"].items()}
    return case
