"""tf.math."""

from . import _dispatch, _elementwise, _reduce
from ._math import *  # noqa: F403
from ._missing import finder as _finder
from .linalg import l2_normalize  # noqa: F401

for _module in (_elementwise, _reduce):
    for _name in _module.MATH:
        globals()[_name] = getattr(_module, _name)
del _name, _module

from . import _special as special  # noqa: E402, F401

_dispatch.offer(globals())

__getattr__ = _finder(__name__)
