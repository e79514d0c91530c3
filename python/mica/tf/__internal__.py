"""`tf.__internal__`: what Keras asks for."""

from __future__ import annotations

import types as _types

from .. import _mica
from . import _tracking, cond, get_static_value
from . import distribute as _distribute
from ._composite import CompositeTensor, TensorLike
from ._context import building
from ._graph import FuncGraph

EagerTensor = _mica.TFEagerTensor


def _namespace(name: str, **members) -> _types.SimpleNamespace:
    space = _types.SimpleNamespace(**members)
    space.__name__ = f"tensorflow.__internal__.{name}"
    return space


def _smart_cond(pred, true_fn=None, false_fn=None, name=None):
    """The branch itself when the predicate is known now, else tf.cond."""
    if not callable(true_fn) or not callable(false_fn):
        raise TypeError("`true_fn` and `false_fn` must be callable.")
    known = pred if isinstance(pred, (bool, int)) else get_static_value(pred)
    if known is not None:
        return true_fn() if known else false_fn()
    return cond(pred, true_fn, false_fn)


def _eager_mode():
    return building(None)


tracking = _namespace(
    "tracking",
    AutoTrackable=_tracking.AutoTrackable,
    Trackable=_tracking.Trackable,
    no_automatic_dependency_tracking=_tracking.no_automatic_dependency_tracking,
)
types = _namespace("types", Tensor=TensorLike)
distribute = _namespace(
    "distribute",
    interim=_namespace("distribute.interim", maybe_merge_call=_distribute.maybe_merge_call),
    strategy_supports_no_merge_call=_distribute.strategy_supports_no_merge_call,
)
smart_cond = _namespace("smart_cond", smart_cond=_smart_cond)
eager_context = _namespace("eager_context", eager_mode=_eager_mode)
tf2 = _namespace("tf2", enabled=lambda: True)

__all__ = [
    "CompositeTensor",
    "EagerTensor",
    "FuncGraph",
    "distribute",
    "eager_context",
    "smart_cond",
    "tf2",
    "tracking",
    "types",
]
