"""tf.test."""

from __future__ import annotations

from . import _devices
from ._missing import missing as _missing_name


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability=None) -> bool:
    """Whether there is a GPU that ops can run on, of this compute capability at least."""
    gpus = [d for d in _devices.visible_devices() if d.device_type == "GPU"]
    if not cuda_only and min_cuda_compute_capability is None:
        return bool(gpus)
    least = tuple(min_cuda_compute_capability or (0, 0))
    return any(_devices.details(d).get("compute_capability", (-1,)) >= least for d in gpus)


def gpu_device_name() -> str:
    """Return the name of the first GPU, or nothing."""
    return "/device:GPU:0" if is_gpu_available() else ""


def is_built_with_cuda() -> bool:
    """Whether CUDA can be used; it is found when the program runs."""
    return True


def is_built_with_gpu_support() -> bool:
    """Whether GPUs can be used."""
    return True


def is_built_with_rocm() -> bool:
    """Whether ROCm can be used."""
    return False


def main(argv=None) -> None:
    """Run the tests of the program."""
    import unittest

    unittest.main(argv=argv)


def __getattr__(name: str):
    if name != "TestCase":
        raise _missing_name(__name__, name)
    from ._test_case import TestCase

    return TestCase
