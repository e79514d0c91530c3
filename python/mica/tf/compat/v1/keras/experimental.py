"""`tf.compat.v1.keras.experimental`: a linear model, and one beside a deep one."""

from __future__ import annotations

from ...._install import keras as _get_keras
from ...._missing import finder as _finder
from ...._tape import GradientTape as _GradientTape

_keras = _get_keras()


class LinearModel(_keras.Model):
    """y = activation(sum of inputs x times their kernels + bias).

    Parameters
    ----------
    units
        The size of y.
    """

    def __init__(
        self,
        units=1,
        activation=None,
        use_bias=True,
        kernel_initializer="zeros",
        bias_initializer="zeros",
        kernel_regularizer=None,
        bias_regularizer=None,
        **kwargs,
    ) -> None:
        super().__init__(**kwargs)
        self.units, self.use_bias = units, use_bias
        self.activation = _keras.activations.get(activation)
        self.kernel_initializer = _keras.initializers.get(kernel_initializer)
        self.bias_initializer = _keras.initializers.get(bias_initializer)
        self.kernel_regularizer = _keras.regularizers.get(kernel_regularizer)
        self.bias_regularizer = _keras.regularizers.get(bias_regularizer)

    def build(self, input_shape) -> None:
        """Make a kernel for each input."""
        self.dense_layers = {}
        for name, shape in _named(input_shape, _is_shape).items():
            layer = _keras.layers.Dense(
                self.units,
                use_bias=False,
                kernel_initializer=self.kernel_initializer,
                kernel_regularizer=self.kernel_regularizer,
                name=name,
            )
            layer.build(shape)
            self.dense_layers[name] = layer
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                name="bias",
                shape=(self.units,),
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                trainable=True,
            )
        self.built = True

    def call(self, inputs):
        """Add what the inputs give."""
        parts = [self.dense_layers[name](x) for name, x in _named(inputs, _is_one).items()]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        if self.bias is not None:
            total = total + self.bias
        return total if self.activation is None else self.activation(total)

    def get_config(self) -> dict:
        """Return the arguments that make another one like it."""
        return {
            **super().get_config(),
            "units": self.units,
            "activation": _keras.activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "kernel_initializer": _keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": _keras.initializers.serialize(self.bias_initializer),
            "kernel_regularizer": _keras.regularizers.serialize(self.kernel_regularizer),
            "bias_regularizer": _keras.regularizers.serialize(self.bias_regularizer),
        }


def _is_shape(value) -> bool:
    return isinstance(value, tuple | list) and all(v is None or isinstance(v, int) for v in value)


def _is_one(value) -> bool:
    return not isinstance(value, tuple | list | dict)


def _named(inputs, is_one) -> dict:
    """Inputs by the names of their layers."""
    if is_one(inputs):
        return {"dense": inputs}
    if isinstance(inputs, dict):
        return {f"dense_{name}": inputs[name] for name in sorted(inputs)}
    return {f"dense_{i}": each for i, each in enumerate(inputs)}


class WideDeepModel(_keras.Model):
    """The sum of a linear model and a deep one, each trained by an optimizer of its own.

    Inputs are a pair, one for each, or the same for both. `compile` takes one optimizer, or a pair:
    that of the linear model and that of the deep one.
    """

    def __init__(self, linear_model, dnn_model, activation=None, **kwargs) -> None:
        super().__init__(**kwargs)
        self.linear_model, self.dnn_model = linear_model, dnn_model
        self.activation = _keras.activations.get(activation)
        self._linear_optimizer = None

    def call(self, inputs, training=None):
        """Add what both give."""
        pair = isinstance(inputs, tuple | list) and len(inputs) == 2
        linear_inputs, dnn_inputs = inputs if pair else (inputs, inputs)
        total = self.linear_model(linear_inputs) + self.dnn_model(dnn_inputs, training=training)
        return total if self.activation is None else self.activation(total)

    def compile(self, optimizer="rmsprop", loss=None, **kwargs) -> None:
        """Say how it is trained."""
        self._linear_optimizer = None
        if isinstance(optimizer, tuple | list):
            if len(optimizer) != 2:
                raise ValueError(
                    f"compile takes one optimizer or two (linear, deep), not {len(optimizer)}"
                )
            self._linear_optimizer = _keras.optimizers.get(optimizer[0])
            optimizer = optimizer[1]
        super().compile(optimizer=optimizer, loss=loss, **kwargs)

    def train_step(self, data):
        """Train both on a batch."""
        if self._linear_optimizer is None:
            return super().train_step(data)
        x, y, weights = _keras.utils.unpack_x_y_sample_weight(data)
        with _GradientTape() as tape:
            predictions = self(x, training=True)
            loss = self.compute_loss(x, y, predictions, weights, training=True)
        parts = (
            (self._linear_optimizer, self.linear_model),
            (self.optimizer, self.dnn_model),
        )
        variables = [model.trainable_weights for _, model in parts]
        values = [[v.value for v in each] for each in variables]
        gradients = tape.gradient(loss, values)
        for (optimizer, _), own, part in zip(parts, variables, gradients, strict=True):
            optimizer.apply(part, own)
        self._loss_tracker.update_state(loss)
        return self.compute_metrics(x, y, predictions, weights)


__getattr__ = _finder(__name__)
