"""`tf.tpu.experimental`: making a TPU system ready; without TPUs an error that says so."""

from __future__ import annotations

from .. import errors
from .._missing import finder as _finder
from ..distribute._tpu import TPUClusterResolver, TPUSystemMetadata


def _resolver(cluster_resolver):
    if cluster_resolver is None:
        return TPUClusterResolver()
    if not isinstance(cluster_resolver, TPUClusterResolver):
        raise AssertionError(f"a TPUClusterResolver is needed, not {cluster_resolver!r}")
    return cluster_resolver


def _devices(resolver) -> str:
    metadata = resolver.get_tpu_system_metadata()
    return ", ".join(device.name for device in metadata.devices)


def initialize_tpu_system(cluster_resolver=None):
    """Make the TPUs of a cluster ready; a NotFoundError where there are none."""
    resolver = _resolver(cluster_resolver)
    raise errors.NotFoundError(
        None,
        None,
        "TPUs not found in the cluster. Failed in initialization: No OpKernel was registered to "
        f"support Op 'ConfigureDistributedTPU': all available devices [{_devices(resolver)}]",
    )


def shutdown_tpu_system(cluster_resolver=None):
    """Let the TPUs of a cluster go; an InvalidArgumentError where there are none."""
    resolver = _resolver(cluster_resolver)
    raise errors.InvalidArgumentError(
        None,
        None,
        "No OpKernel was registered to support Op 'ShutdownDistributedTPU': there are no TPUs, "
        f"all available devices [{_devices(resolver)}]",
    )


__all__ = ["TPUSystemMetadata", "initialize_tpu_system", "shutdown_tpu_system"]

__getattr__ = _finder(__name__)
