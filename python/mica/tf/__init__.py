"""TensorFlow 2's names on Mica: ``import mica.tf as tf``.

Namespaces such as tf.nn are imported when they are first touched, so that importing the package
stays quick.

Examples
--------
>>> import mica.tf as tf
>>> float(tf.reduce_sum(tf.constant([1.0, 2.0]) * 3.0))
9.0
"""

# ruff: noqa: F401

from __future__ import annotations

import importlib as _importlib

from . import _dispatch, _dtypes, _elementwise, _reduce, _select, errors
from ._array import *  # noqa: F403
from ._composite import is_symbolic_tensor, is_tensor
from ._context import executing_eagerly, init_scope
from ._control import case, cond, switch_case, while_loop
from ._core import Tensor, convert_to_tensor
from ._custom_gradient import custom_gradient, grad_pass_through, recompute_grad
from ._devices import device
from ._dtypes import DType, as_dtype
from ._function import function
from ._gradients import AggregationMethod, gradients, hessians
from ._graph import Graph, Operation
from ._install import install
from ._math import *  # noqa: F403
from ._missing import missing as _missing_name
from ._names import name_scope
from ._print import Assert, print
from ._shapes import TensorShape
from ._slices import IndexedSlices
from ._specs import TensorSpec, TypeSpec, type_spec_from_value
from ._tape import GradientTape, UnconnectedGradients
from ._variable import (
    Variable,
    VariableAggregation,
    VariableSynchronization,
    variable_creator_scope,
)
from ._vectorize import vectorized_map
from .linalg import matmul

__version__ = "2.21.0"
newaxis = None

for _name in _dtypes.PUBLIC_NAMES:
    globals()[_name] = getattr(_dtypes, _name)
for _module in (_elementwise, _reduce, _select):
    for _name in _module.TOP:
        globals()[_name] = getattr(_module, _name)
del _name, _module

# Namespaces, modules of this package.
_MODULES = frozenset(
    {
        "__internal__",
        "audio",
        "autodiff",
        "autograph",
        "bitwise",
        "compat",
        "compiler",
        "config",
        "data",
        "debugging",
        "distribute",
        "dtypes",
        "experimental",
        "graph_util",
        "feature_column",
        "image",
        "initializers",
        "io",
        "linalg",
        "lite",
        "lookup",
        "math",
        "nest",
        "nn",
        "profiler",
        "python",
        "quantization",
        "ragged",
        "random",
        "raw_ops",
        "saved_model",
        "sets",
        "signal",
        "sparse",
        "strings",
        "summary",
        "test",
        "tpu",
        "train",
        "types",
        "version",
    }
)


# Names that are found when they are first touched: name -> module of this package.
_LAZY = {
    "Module": "_module",
    "OptionalSpec": "data._iterator",
    "RaggedTensor": "ragged",
    "RaggedTensorSpec": "ragged",
    "SparseTensor": "sparse",
    "SparseTensorSpec": "sparse",
    "TensorArray": "_tensor_array",
    "TensorArraySpec": "_tensor_array",
    "VariableSpec": "_variable_updates",
    "as_string": "strings",
    "assert_equal": "debugging",
    "assert_greater": "debugging",
    "assert_less": "debugging",
    "assert_rank": "debugging",
    "broadcast_static_shape": "_shapes",
    "constant_initializer": ("initializers", "Constant"),
    "control_dependencies": "_effects",
    "eig": "linalg",
    "eigvals": "linalg",
    "dynamic_partition": "_partition",
    "dynamic_stitch": "_partition",
    "extract_volume_patches": "_patches",
    "guarantee_const": ("_array", "identity"),
    "histogram_fixed_width": "_partition",
    "histogram_fixed_width_bins": "_partition",
    "parallel_stack": "_partition",
    "required_space_to_batch_paddings": "_partition",
    "foldl": "_functional",
    "foldr": "_functional",
    "get_logger": "_effects",
    "group": "_effects",
    "inside_function": "_effects",
    "make_ndarray": "_tensor_protos",
    "make_tensor_proto": "_tensor_protos",
    "map_fn": "_functional",
    "no_op": "_effects",
    "numpy_function": "_effects",
    "ones_initializer": ("initializers", "Ones"),
    "py_function": "_effects",
    "random_normal_initializer": ("initializers", "RandomNormal"),
    "random_uniform_initializer": ("initializers", "RandomUniform"),
    "scan": "_functional",
    "timestamp": "_effects",
    "tuple": "_effects",
    "zeros_initializer": ("initializers", "Zeros"),
}


# What modules that are taken whole bring along for themselves.
for _name in ("all_axes", "annotations", "as_shape", "building", "ops", "reduction"):
    globals().pop(_name, None)
for _name in ("CompositeTensor", "log", "shape_operand", "static_value"):
    globals().pop(_name, None)
del _name

_dispatch.offer(globals())

_OF_KERAS = frozenset({"losses", "metrics", "optimizers"})
# Namespaces that TensorFlow 2 has dropped.
_DROPPED = frozenset({"contrib", "estimator"})


def _of_both(name: str):
    """A name that TensorFlow 2 has: what compat.v1 does not have in a form of its own."""
    if name in _MODULES or name in _LAZY or name in globals():
        return globals()[name] if name in globals() else __getattr__(name)
    if name in _DROPPED:
        return _importlib.import_module(f".{name}", __name__)
    raise AttributeError(name)


def __getattr__(name: str):
    if name == "keras" or name in _OF_KERAS:
        from ._install import keras

        if name in ("losses", "metrics"):
            from ._both import merged

            return merged(name)
        return keras() if name == "keras" else getattr(keras(), name)
    if name in _MODULES:
        return _importlib.import_module(f".{name}", __name__)
    if name in _LAZY:
        place = _LAZY[name]
        module, own = (place, name) if isinstance(place, str) else place
        value = getattr(_importlib.import_module(f".{module}", __name__), own)
        value = globals()[name] = _dispatch.offered(name, value, __name__)
        return value
    if name in _DROPPED:
        return _importlib.import_module(f".{name}", __name__)
    if not name.startswith("_") and name != "compat":
        older = _importlib.import_module(".compat.v1", __name__)
        if name in older._LAZY or name in older._ALIASES or name in older._MODULES:
            return getattr(older, name)
    raise _missing_name(__name__, name)


def __dir__() -> list[str]:
    return sorted([n for n in globals() if not n.startswith("_")] + [*_MODULES, *_LAZY, *_OF_KERAS])
