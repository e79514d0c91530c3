"""Mica: tensors, derivatives and compiled functions on CPUs and GPUs.

Every primitive of the table (``mica.ops()``) is a function of this package; what their names mean
is their docstring (`fft` is a module, whose `transform` is the primitive). On them stand everyday
functions, control flow, `jit`, `grad`, `value_and_grad`, `jvp`, `vjp` and `vmap`.

Examples
--------
>>> import mica
>>> x = mica.tensor([1.0, 2.0, 3.0])
>>> mica.grad(lambda v: (v * v).sum())(x).tolist()
[2.0, 4.0, 6.0]
"""

from __future__ import annotations

import importlib.util
import os
from typing import NamedTuple

from . import _mica
from ._control import (
    barrier,
    call,
    callback,
    case,
    composite,
    cond,
    custom_gradient,
    remat,
    scan,
    while_loop,
)
from ._einsum import einsum
from ._everyday import (
    allclose,
    flip,
    hessian,
    isclose,
    isfinite,
    isinf,
    isnan,
    linspace,
    outer,
    repeat,
    roll,
    split,
    tile,
    tri,
    tril,
    triu,
)
from ._functions import (
    all,
    any,
    arange,
    argsort,
    avg_pool,
    broadcast_to,
    clip,
    concatenate,
    conv,
    cumprod,
    cumsum,
    expand_dims,
    eye,
    full,
    full_like,
    gelu,
    log_softmax,
    logsumexp,
    max_pool,
    maximum,
    mean,
    minimum,
    one_hot,
    ones,
    ones_like,
    prod,
    relu,
    sigmoid,
    silu,
    softmax,
    softplus,
    sort,
    squeeze,
    stack,
    std,
    stop_gradient,
    sum,
    var,
    where,
    zeros,
    zeros_like,
)
from ._index import put, take, take_along_axis
from ._mica import (
    Device,
    DType,
    Executable,
    Graph,
    Tensor,
    Traced,
    __version__,
    device,
    from_dlpack,
    is_tracing,
    matmul,
    ops,
    set_default_device,
    set_threads,
    tensor,
    threads,
)
from ._tracing import clear_caches
from ._transforms import grad, jacobian, jit, jvp, trace, value_and_grad, vjp, vmap


class DeviceInfo(NamedTuple):
    """A kind of device, present or not.

    Attributes
    ----------
    name : str
        What `device` takes.
    description : str
        What it is, or why there is none.
    available : bool
        Whether it can be used.
    priority : int
        "any" takes the highest; negative: never by itself.
    """

    name: str
    description: str
    available: bool
    priority: int


def devices() -> list[DeviceInfo]:
    """Every kind of device that is built in, present or not."""
    return [DeviceInfo(**row) for row in _mica.devices()]


def _name_packages() -> None:
    """Tells the library where numpy's wheel lies, which carries a LAPACK."""
    spec = importlib.util.find_spec("numpy")
    if spec and spec.origin:
        _mica.packages_add(os.path.dirname(os.path.dirname(spec.origin)))


_name_packages()

# The rest of the table: primitives that no function above stands in for.
_DTYPES = ["bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
_DTYPES += ["f16", "bf16", "f32", "f64", "c64", "c128", "f8e4m3fn", "f8e5m2"]
_primitives = [row["name"] for row in ops() if row["class"] not in ("CONTROL", "HOST")]
_primitives.remove("fft")  # the name of a module, whose `transform` it is
for _name in [*_primitives, *_DTYPES]:
    globals().setdefault(_name, getattr(_mica, _name))
# `and`, `or` and `not` are words of Python.
_WORDS_OF_PYTHON = ("and", "or", "not")
and_, or_, not_, bool_ = (getattr(_mica, _name) for _name in ("and", "or", "not", "bool"))
del _name

from . import data, fft, linalg, nn, optim, random, tree  # noqa: E402  (after the names they use)
from ._export import export  # noqa: E402
from ._files import load, save  # noqa: E402  (they use the module tree)

__all__ = [
    "DType",
    "Device",
    "DeviceInfo",
    "Executable",
    "Graph",
    "Tensor",
    "Traced",
    "__version__",
    "all",
    "allclose",
    "and_",
    "any",
    "arange",
    "argsort",
    "avg_pool",
    "barrier",
    "bool_",
    "broadcast_to",
    "call",
    "callback",
    "case",
    "clear_caches",
    "clip",
    "composite",
    "concatenate",
    "cond",
    "conv",
    "cumprod",
    "cumsum",
    "custom_gradient",
    "data",
    "device",
    "devices",
    "einsum",
    "expand_dims",
    "export",
    "eye",
    "fft",
    "flip",
    "from_dlpack",
    "full",
    "full_like",
    "gelu",
    "grad",
    "hessian",
    "is_tracing",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "jacobian",
    "jit",
    "jvp",
    "linalg",
    "linspace",
    "load",
    "log_softmax",
    "logsumexp",
    "matmul",
    "max_pool",
    "maximum",
    "mean",
    "minimum",
    "nn",
    "not_",
    "one_hot",
    "ones",
    "ones_like",
    "ops",
    "optim",
    "or_",
    "outer",
    "prod",
    "put",
    "random",
    "relu",
    "remat",
    "repeat",
    "roll",
    "save",
    "scan",
    "set_default_device",
    "set_threads",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "sort",
    "split",
    "squeeze",
    "stack",
    "std",
    "stop_gradient",
    "sum",
    "take",
    "take_along_axis",
    "tensor",
    "threads",
    "tile",
    "trace",
    "tree",
    "tri",
    "tril",
    "triu",
    "value_and_grad",
    "var",
    "vjp",
    "vmap",
    "where",
    "while_loop",
    "zeros",
    "zeros_like",
]


def __dir__() -> list[str]:
    names = {*__all__, *_primitives, *_DTYPES} - set(_WORDS_OF_PYTHON)
    return sorted(names)
