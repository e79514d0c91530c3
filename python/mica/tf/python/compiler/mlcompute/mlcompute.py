"""The choice of a device, as the accelerated TensorFlow for Mac had it."""

from __future__ import annotations

import os as _os

from ..... import _mica
from .... import _devices

_chosen = "any"


def set_mlc_device(device_name: str = "any") -> None:
    """Choose where functions run: 'cpu', 'gpu' or 'any' (the best there is).

    Examples
    --------
    >>> set_mlc_device(device_name="cpu")
    >>> get_mlc_device()
    'cpu'
    """
    global _chosen
    if device_name not in ("cpu", "gpu", "any"):
        raise ValueError(f"The device is 'cpu', 'gpu' or 'any', not {device_name!r}")
    has_gpu = any(d.device_type == "GPU" for d in _devices.physical_devices())
    if device_name == "gpu" and not has_gpu:
        _devices._note("GPU", 0)
    if device_name == "cpu" or not has_gpu:
        _mica.tf_set_device("cpu")
    else:
        _mica.tf_set_device(None)
    _chosen = device_name


def get_mlc_device() -> str:
    """Return what was chosen."""
    return _chosen


def is_apple_mlc_enabled() -> bool:
    """Whether functions are compiled as a whole: unless TF_DISABLE_MLC=1 is set."""
    return _os.environ.get("TF_DISABLE_MLC", "") in ("", "0")


def is_tf_compiled_with_apple_mlc() -> bool:
    """Whether this TensorFlow has what the choice of a device chooses from: it always has."""
    return True
