"""The layers of TensorFlow 1 as classes: their variables are made at the first call."""

from __future__ import annotations

import inspect

from ..._context import graph_of_variables
from . import layers
from ._scopes import GraphKeys, _Store, keeping, kept_store, variable_scope

__all__ = [
    "AveragePooling1D",
    "AveragePooling2D",
    "BatchNormalization",
    "Conv1D",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Dense",
    "Dropout",
    "Flatten",
    "Layer",
    "MaxPooling1D",
    "MaxPooling2D",
]


class Layer:
    """The base of layers: a function of `tf.compat.v1.layers` with variables of its own."""

    _function: str

    def __init__(self, *args, **kwargs) -> None:
        self._reuse = kwargs.pop("_reuse", None)
        function = getattr(layers, self._function)
        signature = inspect.signature(function)
        _, *others = signature.parameters.values()
        taken = [p for p in others if p.name != "reuse"]
        try:
            bound = signature.replace(parameters=taken).bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}") from None
        self._options = dict(bound.arguments)
        self._given_name, self._scope = self._options.pop("name", None), None
        self._store, self._made = _Store(), []

    @property
    def name(self) -> str:
        """The name of its scope, or of its kind before it is called."""
        return self._scope.name if self._scope else self._given_name or self._function

    @property
    def built(self) -> bool:
        """Whether it has been called."""
        return self._scope is not None

    @property
    def variables(self) -> list:
        """Its variables."""
        return list(self._made)

    weights = variables

    @property
    def trainable_variables(self) -> list:
        """Its variables that are trained."""
        return [v for v in self._made if v.trainable]

    trainable_weights = trainable_variables

    def _one(self, name: str):
        found = [v for v in self._made if v.name.split(":")[0].rpartition("/")[2] == name]
        if not found:
            raise AttributeError(f"{type(self).__name__} {self.name!r} has no {name}")
        return found[0]

    @property
    def kernel(self):
        """What inputs are multiplied by."""
        return self._one("kernel")

    @property
    def bias(self):
        """What is added."""
        return self._one("bias")

    def __call__(self, inputs, **more):
        """Compute the layer."""
        if graph_of_variables() is None and kept_store() is None:
            with keeping(self._store):
                return self._run(inputs, more)
        return self._run(inputs, more)

    apply = __call__

    def _run(self, inputs, more: dict):
        function = getattr(layers, self._function)
        named = "reuse" in inspect.signature(function).parameters
        if not named:
            return function(inputs, **self._options, **more)
        if self._scope is None:
            with variable_scope(self._given_name, self._function, reuse=self._reuse) as scope:
                self._scope = scope
            reuse = self._reuse
        else:
            reuse = True
        with variable_scope(self._scope, reuse=reuse) as scope:
            result = function(inputs, **self._options, name=scope, reuse=reuse, **more)
            if not self._made:
                graph = graph_of_variables()
                if graph is None:
                    kept = (kept_store() or self._store).variables
                    inside = self._scope.name + "/"
                    self._made = [v for name, v in kept.items() if name.startswith(inside)]
                else:
                    self._made = graph.get_collection(
                        GraphKeys.GLOBAL_VARIABLES, self._scope.name + "/"
                    )
        return result


def _class(name: str, function: str) -> type:
    described = f"A layer as `tf.compat.v1.layers.{function}`, which says what its arguments are."
    return type(name, (Layer,), {"_function": function, "__doc__": described})


AveragePooling1D = _class("AveragePooling1D", "average_pooling1d")
AveragePooling2D = _class("AveragePooling2D", "average_pooling2d")
BatchNormalization = _class("BatchNormalization", "batch_normalization")
Conv1D = _class("Conv1D", "conv1d")
Conv2D = _class("Conv2D", "conv2d")
Conv2DTranspose = _class("Conv2DTranspose", "conv2d_transpose")
Conv3D = _class("Conv3D", "conv3d")
Dense = _class("Dense", "dense")
Dropout = _class("Dropout", "dropout")
Flatten = _class("Flatten", "flatten")
MaxPooling1D = _class("MaxPooling1D", "max_pooling1d")
MaxPooling2D = _class("MaxPooling2D", "max_pooling2d")
