"""`tf.contrib.cluster_resolver`: finds the TPU to run on."""

from __future__ import annotations

from .._missing import finder as _finder
from ..distribute._tpu import TPUClusterResolver as _TPUClusterResolver

__all__ = ["TPUClusterResolver"]


class TPUClusterResolver(_TPUClusterResolver):
    """Finds a TPU: 'local' and '' are the shards of this process.

    Parameters
    ----------
    tpu, tpu_names
        The name, or a list of one, under either of the two names that the argument has had.
    """

    def __init__(self, tpu=None, zone=None, project=None, tpu_names=None, **options) -> None:
        if tpu is not None and tpu_names is not None:
            raise ValueError("TPUClusterResolver: tpu and tpu_names are the same; give one of them")
        name = tpu_names if tpu is None else tpu
        if isinstance(name, (list, tuple)):
            name = name[0] if name else ""
        super().__init__("local" if name in ("", b"", None) else name, zone, project, **options)

    def get_master(self) -> str:
        """Return the address that sessions are given: '' for this process."""
        place = self.master()
        return "" if place == "local" else place


__getattr__ = _finder(__name__)
