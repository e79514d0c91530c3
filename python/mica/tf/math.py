"""tf.math."""

import importlib as _importlib

from . import _dispatch, _elementwise, _reduce
from ._math import *  # noqa: F403
from ._missing import missing as _missing_name
from .linalg import l2_normalize  # noqa: F401

for _module in (_elementwise, _reduce):
    for _name in _module.MATH:
        globals()[_name] = getattr(_module, _name)
del _name, _module

from . import _special as special  # noqa: E402, F401

_dispatch.offer(globals())

# Names that are found when they are first touched, in a module that builds on this one.
_OF_NN = frozenset({"log_softmax", "softmax"})


def __getattr__(name: str):
    if name in _OF_NN:
        return getattr(_importlib.import_module("..nn", __name__), name)
    raise _missing_name(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_OF_NN})
