"""tf.quantization: numbers rounded as if they were kept in few bits."""

from __future__ import annotations

from . import errors
from ._array import stop_gradient, where, zeros_like
from ._context import in_graph
from ._core import convert_to_tensor, ops
from ._missing import finder as _finder


def _check_bits(num_bits: int) -> None:
    if not 2 <= num_bits <= 16:
        raise errors.InvalidArgumentError(
            None, None, f"num_bits must be between 2 and 16, inclusive: {num_bits}"
        )


def _nudged(low, high, num_bits: int, narrow_range: bool):
    """Return the range moved so that 0 is one of its steps, the step, and steps per unit."""
    least, most = (1.0 if narrow_range else 0.0), float(2**num_bits - 1)
    step = (high - low) / (most - least)
    zero = ops["Floor"](least - low / step + 0.5)
    zero = ops["Minimum"](ops["Maximum"](zero, least), most)
    per_unit = (most - least) / (high - low)
    return (least - zero) * step, (most - zero) * step, step, per_unit


def _quantized(x, low, high, num_bits: int, narrow_range: bool):
    first, last, step, per_unit = _nudged(low, high, num_bits, narrow_range)
    bounded = ops["Minimum"](ops["Maximum"](x, first), last)
    value = ops["Floor"]((bounded - first) * per_unit + 0.5) * step + first
    value = where(ops["LogicalAnd"](low == 0.0, high == 0.0), zeros_like(value), value)
    # The gradient goes to the input within the range, to the bound that it was clipped to outside;
    # that of NaN nowhere.
    moved = where(x == x, x - stop_gradient(x), zeros_like(x))
    moved = where(x < first, low - stop_gradient(low), moved)
    moved = where(x > last, high - stop_gradient(high), moved)
    return stop_gradient(value) + moved


def fake_quant_with_min_max_args(inputs, min=-6, max=6, num_bits=8, narrow_range=False, name=None):
    """Return the inputs rounded to 2^num_bits steps between two numbers."""
    x = convert_to_tensor(inputs)
    _check_bits(num_bits)
    min, max = -6.0 if min is None else float(min), 6.0 if max is None else float(max)
    if not min < max:
        raise errors.InvalidArgumentError(
            None, None, f"min has to be smaller than max: {min}, {max}"
        )
    low, high = (convert_to_tensor(bound, x.dtype) for bound in (min, max))
    return _quantized(x, low, high, num_bits, narrow_range)


def fake_quant_with_min_max_vars(inputs, min, max, num_bits=8, narrow_range=False, name=None):
    """Return the inputs rounded to 2^num_bits steps between two scalars that can be learned."""
    x = convert_to_tensor(inputs)
    _check_bits(num_bits)
    low, high = convert_to_tensor(min, x.dtype), convert_to_tensor(max, x.dtype)
    return _quantized(x, low, high, num_bits, narrow_range)


def fake_quant_with_min_max_vars_per_channel(
    inputs, min, max, num_bits=8, narrow_range=False, name=None
):
    """Return the inputs rounded to steps between two bounds for each of the last axis."""
    x = convert_to_tensor(inputs)
    low, high = convert_to_tensor(min, x.dtype), convert_to_tensor(max, x.dtype)
    for name, bound in (("min", low), ("max", high)):
        shapes = bound.shape, x.shape[-1:]
        if not shapes[0].is_compatible_with(shapes[1]):
            text = f"{name} has shape {shapes[0]}, the last axis of the inputs {shapes[1]}"
            raise ValueError(text) if in_graph() else errors.InvalidArgumentError(None, None, text)
    result = fake_quant_with_min_max_vars(x, low, high, num_bits, narrow_range)
    result.set_shape(x.shape)
    return result


__getattr__ = _finder(__name__)
