"""Fixed numbers for the cases of Keras: inputs, and weights of layers."""

import numpy as np


def numbers(*shape, scale=0.1, shift=-0.5):
    """Fixed numbers of a shape, a wave."""
    n = int(np.prod(shape))
    return np.sin(np.arange(n, dtype=np.float32) * 0.7 + shift).reshape(shape) * (10 * scale)


def set_weights(layer):
    """Give every weight of a layer or model fixed numbers; counters keep theirs."""
    for i, weight in enumerate(layer.weights):
        if "seed" in weight.name or not str(weight.dtype).startswith("float"):
            continue
        values = numbers(*weight.shape, shift=i) * 0.3
        weight.assign(np.abs(values) + 0.5 if "variance" in weight.name else values)
