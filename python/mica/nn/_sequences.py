"""Layers over sequences: recurrent ones and attention."""

from __future__ import annotations

from typing import Any

from .. import random
from .._functions import concatenate, zeros
from .._mica import Tensor
from .._tracing import as_array
from . import initializers
from ._module import Module
from ._whole import attention, gru, lstm

Array = Any


def _keys(key: Any, n: int) -> Any:
    return random.split(random.next_key() if key is None else key, n)


class LSTM(Module):
    """Long short-term memory: `mica.nn.lstm` with its weights.

    Parameters
    ----------
    inputs, size : int
        The features of a step, and the size of the state.
    reverse : bool
        Whether the last step comes first.
    key : u32[2], optional
    dtype : float dtype
    """

    def __init__(
        self, inputs: int, size: int, reverse: bool = False, key: Any = None, dtype: Any = "f32"
    ) -> None:
        keys = _keys(key, 2)
        self.reverse = reverse
        self.input_weights = initializers.glorot_uniform(keys[0], (inputs, 4 * size), dtype)
        self.hidden_weights = initializers.glorot_uniform(keys[1], (size, 4 * size), dtype)
        gates = [zeros((size,), dtype), zeros((size,), dtype) + 1, zeros((2 * size,), dtype)]
        self.bias = concatenate(gates)  # what is remembered at first: most of it

    def __call__(
        self, x: Array, hidden: Array | None = None, cell: Array | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """x (batch, time, inputs) -> outputs (batch, time, size) and the last (hidden, cell)."""
        return lstm(
            x, self.input_weights, self.hidden_weights, self.bias, hidden, cell, self.reverse
        )


class GRU(Module):
    """Gated recurrent units: `mica.nn.gru` with its weights.

    Parameters
    ----------
    inputs, size, reverse, key, dtype
        As in `LSTM`.
    """

    def __init__(
        self, inputs: int, size: int, reverse: bool = False, key: Any = None, dtype: Any = "f32"
    ) -> None:
        keys = _keys(key, 2)
        self.reverse = reverse
        self.input_weights = initializers.glorot_uniform(keys[0], (inputs, 3 * size), dtype)
        self.hidden_weights = initializers.glorot_uniform(keys[1], (size, 3 * size), dtype)
        self.bias = zeros((3 * size,), dtype)
        self.hidden_bias = zeros((3 * size,), dtype)

    def __call__(self, x: Array, hidden: Array | None = None) -> tuple[Tensor, Tensor]:
        """x (batch, time, inputs) -> outputs (batch, time, size) and the last of them."""
        return gru(
            x,
            self.input_weights,
            self.hidden_weights,
            self.bias,
            self.hidden_bias,
            hidden,
            self.reverse,
        )


class MultiHeadAttention(Module):
    """Attention of several heads, with a linear map of queries, keys, values and of the result.

    Parameters
    ----------
    size : int
        Of queries and of the result; the heads divide it.
    heads : int
    key_size, value_size : int, optional
        Of keys and values where it is another.
    bias : bool
    key : u32[2], optional
    dtype : float dtype
    """

    def __init__(
        self,
        size: int,
        heads: int,
        key_size: int | None = None,
        value_size: int | None = None,
        bias: bool = True,
        key: Any = None,
        dtype: Any = "f32",
    ) -> None:
        if heads < 1 or size % heads:
            raise ValueError(f"[MultiHeadAttention] {heads} heads do not divide a size of {size}")
        keys = _keys(key, 4)
        sizes = (size, key_size or size, value_size or size, size)
        weights = [
            initializers.glorot_uniform(keys[i], (n, size), dtype) for i, n in enumerate(sizes)
        ]
        self.heads = heads
        self.query, self.key, self.value, self.output = weights
        self.biases = _Biases(size, dtype) if bias else None

    def _heads(self, x: Any, weight: Any, bias: Any) -> Any:
        """(batch, time, size) -> (batch, heads, time, size / heads)."""
        y = as_array(x) @ weight
        y = y if bias is None else y + bias
        batch, time, size = y.shape
        return y.reshape(batch, time, self.heads, size // self.heads).transpose((0, 2, 1, 3))

    def __call__(
        self,
        query: Array,
        key: Array | None = None,
        value: Array | None = None,
        mask: Array | None = None,
        causal: bool = False,
    ) -> Tensor:
        """Query (batch, queries, size), key and value (batch, keys, ...) -> as the query.

        Keys are the query where none are given, values the keys; mask and causal are those of
        `mica.nn.attention`.
        """
        query = as_array(query)
        if query.ndim != 3:
            raise ValueError(
                f"[MultiHeadAttention] the query must be (batch, time, size), not "
                f"{tuple(query.shape)}"
            )
        key = query if key is None else key
        value = key if value is None else value
        b = self.biases
        q = self._heads(query, self.query, b and b.query)
        k = self._heads(key, self.key, b and b.key)
        v = self._heads(value, self.value, b and b.value)
        y = attention(q, k, v, mask, causal)
        batch, heads, time, size = y.shape
        y = y.transpose((0, 2, 1, 3)).reshape(batch, time, heads * size) @ self.output
        return y if b is None else y + b.output


class _Biases(Module):
    """The offsets of the four linear maps."""

    def __init__(self, size: int, dtype: Any) -> None:
        self.query, self.key, self.value, self.output = (zeros((size,), dtype) for _ in range(4))
