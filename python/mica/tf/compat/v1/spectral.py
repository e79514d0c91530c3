"""`tf.compat.v1.spectral`: functions of tf.signal."""

from __future__ import annotations

from ..._missing import missing as _missing_name
from ._aliases import find as _find

# A name -> where it is now.
_NAMES = {
    "dct": "signal.dct",
    "fft": "signal.fft",
    "fft2d": "signal.fft2d",
    "fft3d": "signal.fft3d",
    "idct": "signal.idct",
    "ifft": "signal.ifft",
    "ifft2d": "signal.ifft2d",
    "ifft3d": "signal.ifft3d",
    "irfft": "signal.irfft",
    "irfft2d": "signal.irfft2d",
    "irfft3d": "signal.irfft3d",
    "rfft": "signal.rfft",
    "rfft2d": "signal.rfft2d",
    "rfft3d": "signal.rfft3d",
}


def __getattr__(name: str):
    if name in _NAMES:
        return _find(_NAMES[name])
    raise _missing_name(__name__, name)


def __dir__() -> list[str]:
    return sorted(_NAMES)
