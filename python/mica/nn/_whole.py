"""Layers that devices compute as a whole: loops and sums that would be slow op by op.

They are composites of primitives, so `jit`, `grad`, `vmap` and the rest go through them.
"""

from __future__ import annotations

import math
from typing import Any

from .. import _mica
from .._control import composite
from .._functions import where, zeros
from .._mica import Tensor
from .._tracing import as_array, stage

Array = Any


def _state(given: Array | None, shape: tuple[int, int], dtype: Any) -> Any:
    return zeros(shape, dtype) if given is None else as_array(given)


def lstm(
    x: Array,
    input_weights: Array,
    hidden_weights: Array,
    bias: Array | None = None,
    hidden: Array | None = None,
    cell: Array | None = None,
    reverse: bool = False,
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """A layer of long short-term memory, in one direction.

    With gates i f g o side by side in the weights, at every step
    ``z = x @ input_weights + hidden @ hidden_weights + bias``,
    ``cell = sigmoid(f) * cell + sigmoid(i) * tanh(g)`` and ``hidden = sigmoid(o) * tanh(cell)``.

    Parameters
    ----------
    x : array (batch, time, features)
    input_weights : array (features, 4 * size)
    hidden_weights : array (size, 4 * size)
    bias : array (4 * size), optional
    hidden, cell : array (batch, size), optional
        The states before the first step; zeros by default.
    reverse : bool
        Whether the last step comes first.

    Returns
    -------
    tuple
        The outputs (batch, time, size), and the pair of the last hidden and cell states.

    Examples
    --------
    >>> import mica
    >>> y, (h, c) = mica.nn.lstm(mica.ones((2, 5, 3)), mica.ones((3, 16)), mica.ones((4, 16)))
    >>> y.shape, h.shape, c.shape
    ((2, 5, 4), (2, 4), (2, 4))
    """
    x, input_weights, hidden_weights = map(as_array, (x, input_weights, hidden_weights))
    if x.ndim != 3 or x.shape[1] == 0:
        raise ValueError(f"[lstm] x must be (batch, time, features), not {tuple(x.shape)}")
    if hidden_weights.ndim != 2 or hidden_weights.shape[1] != 4 * hidden_weights.shape[0]:
        raise ValueError(
            f"[lstm] hidden weights must be (size, 4 * size), not {tuple(hidden_weights.shape)}"
        )
    state = (x.shape[0], hidden_weights.shape[0])
    states = _state(hidden, state, x.dtype), _state(cell, state, x.dtype)

    def staged(x: Any, wx: Any, wh: Any, b: Any, h: Any, c: Any) -> Any:
        projected = x.transpose((1, 0, 2)) @ wx
        projected = projected if b is None else projected + b
        steps = _mica.lstm_steps((projected, h, c, wh.transpose((1, 0))), reverse)
        last = 0 if reverse else x.shape[1] - 1
        return steps[0].transpose((1, 0, 2)), (steps[0][last], steps[1][last])

    bias = None if bias is None else as_array(bias)
    return stage("lstm", staged, x, input_weights, hidden_weights, bias, *states)


def gru(
    x: Array,
    input_weights: Array,
    hidden_weights: Array,
    bias: Array | None = None,
    hidden_bias: Array | None = None,
    hidden: Array | None = None,
    reverse: bool = False,
) -> tuple[Tensor, Tensor]:
    """A layer of gated recurrent units, in one direction.

    With gates z r n side by side in the weights, at every step ``a = x @ input_weights + bias``,
    ``u = hidden @ hidden_weights + hidden_bias``, ``z = sigmoid(a_z + u_z)``,
    ``r = sigmoid(a_r + u_r)``, ``n = tanh(a_n + r * u_n)`` and
    ``hidden = z * hidden + (1 - z) * n``.

    Parameters
    ----------
    x : array (batch, time, features)
    input_weights : array (features, 3 * size)
    hidden_weights : array (size, 3 * size)
    bias, hidden_bias : array (3 * size), optional
    hidden : array (batch, size), optional
        The state before the first step; zeros by default.
    reverse : bool
        Whether the last step comes first.

    Returns
    -------
    tuple
        The outputs (batch, time, size), and the last of them.

    Examples
    --------
    >>> import mica
    >>> y, h = mica.nn.gru(mica.ones((2, 5, 3)), mica.ones((3, 12)), mica.ones((4, 12)))
    >>> y.shape, h.shape
    ((2, 5, 4), (2, 4))
    """
    x, input_weights, hidden_weights = map(as_array, (x, input_weights, hidden_weights))
    if x.ndim != 3 or x.shape[1] == 0:
        raise ValueError(f"[gru] x must be (batch, time, features), not {tuple(x.shape)}")
    if hidden_weights.ndim != 2 or hidden_weights.shape[1] != 3 * hidden_weights.shape[0]:
        raise ValueError(
            f"[gru] hidden weights must be (size, 3 * size), not {tuple(hidden_weights.shape)}"
        )
    size = hidden_weights.shape[0]
    state = _state(hidden, (x.shape[0], size), x.dtype)
    inner = zeros((3 * size,), x.dtype) if hidden_bias is None else as_array(hidden_bias)

    def staged(x: Any, wx: Any, wh: Any, b: Any, bh: Any, h: Any) -> Any:
        projected = x.transpose((1, 0, 2)) @ wx
        projected = projected if b is None else projected + b
        steps = _mica.gru_steps((projected, h, wh.transpose((1, 0)), bh), reverse)
        last = 0 if reverse else x.shape[1] - 1
        return steps[0].transpose((1, 0, 2)), steps[0][last]

    bias = None if bias is None else as_array(bias)
    return stage("gru", staged, x, input_weights, hidden_weights, bias, inner, state)


# ---- cross entropy -------------------------------------------------------------------------------
def _hot(logits: Any, labels: Any) -> Any:
    """Where an element is that of its row's label."""
    classes = _mica.iota(shape=logits.shape, axis=logits.ndim - 1, dtype=labels.dtype)
    return classes == labels.reshape(*labels.shape, 1)


def _forward(logits: Any, labels: Any) -> Any:
    top = logits.max(-1, True)
    top = where(_mica.is_finite(top), top, 0.0)
    shifted = logits - top
    total = _mica.exp(shifted).sum(-1, True)
    picked = where(_hot(logits, labels), shifted, 0.0).sum(-1)
    valid = (labels >= 0) & (labels < logits.shape[-1])
    losses = _mica.log(total.reshape(labels.shape)) - picked
    return where(valid, losses, math.nan), top, total


def _backward(arguments: tuple, result: tuple, cotangent: tuple) -> tuple:
    # Nothing but the losses leaves this module, and they do not change with what is subtracted
    # from the logits: so `top` counts as constant.
    logits, labels = arguments
    _, top, total = result
    dy, _, dtotal = cotangent
    powers = _mica.exp(logits - top)
    slope = powers / total - _hot(logits, labels).astype(logits.dtype)
    return slope * dy.reshape(*dy.shape, 1) + powers * dtotal, None


_cross_entropy = composite("cross_entropy", vjp=_backward)(_forward)


def cross_entropy(logits: Array, labels: Array) -> Tensor:
    """The losses ``-ln softmax(logits)`` at the labels, along the last axis.

    Parameters
    ----------
    logits : array (..., classes)
    labels : integers (...)
        A label that is no class has the loss NaN.

    Returns
    -------
    Tensor
        Of the labels' shape. The gradient is computed from the logits and two numbers per row, in
        one pass.

    Examples
    --------
    >>> import mica
    >>> mica.nn.cross_entropy([[0.0, 0.0]], [1]).tolist()
    [0.6931471824645996]
    """
    logits, labels = as_array(logits), as_array(labels)
    if labels.dtype.kind not in ("signed", "unsigned") or logits.shape[:-1] != labels.shape:
        raise ValueError(
            f"[cross_entropy] logits {tuple(logits.shape)} need integer labels of shape "
            f"{tuple(logits.shape[:-1])}, not {labels.dtype}{list(labels.shape)}"
        )
    return _cross_entropy(logits, labels)[0]


# ---- attention -----------------------------------------------------------------------------------
def attention(
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """``softmax(scale * q @ k.T + mask) @ v``, computed without a matrix of all scores.

    Parameters
    ----------
    q : array (..., queries, d)
    k : array (..., keys, d)
    v : array (..., keys, e)
    mask : array, optional
        Stretched to (..., queries, keys): of a float dtype it is added, of bool it says which keys
        are not attended to.
    causal : bool
        Whether query i may attend to keys 0 ... i only.
    scale : float, optional
        By default ``d ** -0.5``.

    Returns
    -------
    Tensor
        (..., queries, e); zeros for a query that may attend to nothing.

    Examples
    --------
    >>> import mica
    >>> mica.nn.attention(mica.ones((2, 3, 4)), mica.ones((2, 5, 4)), mica.ones((2, 5, 6))).shape
    (2, 3, 6)
    """
    q, k, v = map(as_array, (q, k, v))
    if q.ndim < 2:
        raise ValueError(f"[attention] q must be (..., queries, d), not {tuple(q.shape)}")
    factor = q.shape[-1] ** -0.5 if scale is None else float(scale)
    operands = (q, k, v) if mask is None else (q, k, v, as_array(mask))
    return stage("attention", lambda *values: _mica.attend(values, factor, causal)[0], *operands)
