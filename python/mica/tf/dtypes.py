"""tf.dtypes."""

from . import _dispatch, _dtypes
from ._dtypes import *  # noqa: F403
from ._dtypes import DType, as_dtype
from ._elementwise import complex, saturate_cast
from ._math import cast
from ._missing import finder as _finder
from ._missing import namespace as _namespace


@_namespace
class experimental:
    """`tf.dtypes.experimental`: dtypes of few bits."""

    float8_e4m3b11fnuz = _dtypes.float8_e4m3b11fnuz
    float8_e4m3fn = _dtypes.float8_e4m3fn
    float8_e4m3fnuz = _dtypes.float8_e4m3fnuz
    float8_e5m2 = _dtypes.float8_e5m2
    float8_e5m2fnuz = _dtypes.float8_e5m2fnuz
    int4 = _dtypes.int4
    uint4 = _dtypes.uint4


__all__ = ["DType", "as_dtype", "cast", "complex", "experimental", "saturate_cast"]

del ALL, PUBLIC_NAMES, is_refused  # noqa: F821 (of the module that all of them come from)

_dispatch.offer(globals())

__getattr__ = _finder(__name__)
