"""`tf.experimental`."""

from .._dispatch import (
    dispatch_for_api,
    dispatch_for_binary_elementwise_apis,
    dispatch_for_unary_elementwise_apis,
    unregister_dispatch_for,
)
from .._extension import (
    BatchableExtensionType,
    ExtensionType,
    ExtensionTypeBatchEncoder,
    ExtensionTypeSpec,
)
from .._missing import finder as _finder
from ..data._iterator import Optional
from ..ragged._partition import RowPartition
from ..ragged._shape import DynamicRaggedShape
from . import dtensor, numpy

__all__ = [
    "BatchableExtensionType",
    "DynamicRaggedShape",
    "ExtensionType",
    "ExtensionTypeBatchEncoder",
    "ExtensionTypeSpec",
    "Optional",
    "RowPartition",
    "dispatch_for_api",
    "dispatch_for_binary_elementwise_apis",
    "dispatch_for_unary_elementwise_apis",
    "dtensor",
    "numpy",
    "unregister_dispatch_for",
]

__getattr__ = _finder(__name__)
