"""`tf.version`."""

from ._missing import finder as _finder

VERSION = "2.21.0"
GIT_VERSION = "v2.21.0"
COMPILER_VERSION = "C11"
GRAPH_DEF_VERSION = 1882
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0

__getattr__ = _finder(__name__)
