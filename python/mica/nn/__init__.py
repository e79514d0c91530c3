"""Layers and losses.

Functions of arrays (`lstm`, `gru`, `attention`, `cross_entropy`), which devices compute whole;
modules, which hold their parameters; `losses` and `initializers`.

Examples
--------
>>> import mica
>>> model = mica.nn.Sequential(mica.nn.Linear(2, 8), mica.relu, mica.nn.Linear(8, 1))
>>> mica.nn.count(model)
33
"""

from . import initializers, losses
from ._layers import (
    BatchNorm,
    Conv,
    Dropout,
    Embedding,
    GroupNorm,
    LayerNorm,
    Linear,
    RMSNorm,
    Sequential,
)
from ._module import Module, count
from ._sequences import GRU, LSTM, MultiHeadAttention
from ._whole import attention, cross_entropy, gru, lstm

__all__ = [
    "GRU",
    "LSTM",
    "BatchNorm",
    "Conv",
    "Dropout",
    "Embedding",
    "GroupNorm",
    "LayerNorm",
    "Linear",
    "Module",
    "MultiHeadAttention",
    "RMSNorm",
    "Sequential",
    "attention",
    "count",
    "cross_entropy",
    "gru",
    "initializers",
    "losses",
    "lstm",
]
