"""tf.dtypes."""

from . import _dispatch
from ._dtypes import *  # noqa: F403
from ._dtypes import DType, as_dtype
from ._elementwise import complex, saturate_cast
from ._math import cast
from ._missing import finder as _finder

__all__ = ["DType", "as_dtype", "cast", "complex", "saturate_cast"]

del ALL, PUBLIC_NAMES, is_refused  # noqa: F821 (of the module that all of them come from)

_dispatch.offer(globals())

__getattr__ = _finder(__name__)
