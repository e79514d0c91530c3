"""`tf.compat.v1.keras.utils`: models that get their variables by name, kept by an object."""

from __future__ import annotations

import contextlib as _contextlib
import functools as _functools

from ...._install import keras as _keras
from ...._missing import missing as _missing_name
from ...._module import Module as _Module
from .._scopes import AUTO_REUSE as _AUTO_REUSE
from .._scopes import _Store
from .._scopes import get_variable_scope as _get_variable_scope
from .._scopes import keeping as _keeping
from .._scopes import kept_store as _kept_store
from .._scopes import variable_scope as _variable_scope


def _is_layer(value) -> bool:
    """Whether it is a layer of Keras; a program without Keras has none."""
    return any(cls.__module__.startswith("keras.") for cls in type(value).__mro__)


@_contextlib.contextmanager
def _unlocked(layer):
    """Let a layer of Keras that is built take in more variables and layers."""
    tracker = layer._tracker
    was_locked = tracker.locked
    tracker.unlock()
    try:
        yield
    finally:
        if was_locked:
            tracker.lock()


def _maker(layer):
    """What makes variables that are weights of a Keras layer."""

    def make(name, first, dtype, trainable, regularizer):
        value = first()
        with _unlocked(layer):
            weight = layer.add_weight(
                shape=tuple(value.shape.as_list()),
                initializer=lambda shape, dtype=None: value,
                dtype=dtype.name,
                trainable=bool(trainable),
                regularizer=regularizer,
                name=name.replace("/", "_"),
            )
        return weight.value

    return make


def track_tf1_style_variables(method):
    """Decorate a method of a tf.Module or a Keras layer: variables got in it are the object's.

    At the first call get_variable, tf.compat.v1.layers and get_or_create_layer make what they are
    asked for; later calls find it by its name. The variables are among those of the object, and
    those of a layer bring the losses of their regularizers along.
    """

    @_functools.wraps(method)
    def tracked(self, *args, **kwargs):
        layer = _is_layer(self)
        if not layer and not isinstance(self, _Module):
            raise ValueError(
                "`@tf.compat.v1.keras.utils.track_tf1_style_variables` must be applied to a method "
                "of a subclassed `tf.Module`, `tf.keras.layers.Layer`, or `tf.keras.Model` and "
                "which takes `self` as the first argument. But, the first argument passed to the "
                f"decorated method was {self}, which does not extend one of these."
            )
        store = self.__dict__.get("_tf1_style_store")
        if store is None:
            store = _Store()
            store.make = _maker(self) if layer else None
            object.__setattr__(self, "_tf1_style_store", store)
        before = len(store.variables), len(store.layers)
        with _keeping(store), _variable_scope(_get_variable_scope(), reuse=_AUTO_REUSE):
            result = method(self, *args, **kwargs)
        if before != (len(store.variables), len(store.layers)):
            if not layer:
                self._tf1_style_variables = dict(store.variables)
            with _unlocked(self) if layer else _contextlib.nullcontext():
                self._tf1_style_layers = list(store.layers.values())
        return result

    return tracked


def get_or_create_layer(name, create_layer_method):
    """Return the layer of this name that the object has, or make it and let the object keep it.

    Called in a method that `track_tf1_style_variables` decorates; elsewhere the layer is made anew.
    """
    store = _kept_store()
    if store is None:
        return create_layer_method()
    scope = _get_variable_scope().name
    whole = f"{scope}/{name}" if scope else name
    if whole not in store.layers:
        store.layers[whole] = create_layer_method()
    return store.layers[whole]


def __getattr__(name: str):
    if not name.startswith("_"):
        try:
            return getattr(_keras().utils, name)
        except AttributeError:
            pass
    raise _missing_name(__name__, name)
