"""Datasets in files: `save` writes the elements, `load` reads them.

A folder has TensorFlow's layout, so that either reads what the other wrote without compression or
with GZIP: the spec of an element as a message, a folder for each run with a TFRecord file of
TensorProto messages for each shard, and a message that names the run. That one is written last and
in one step, so a folder always shows the last dataset that was written to its end.
"""

from __future__ import annotations

import secrets
import time
from pathlib import Path

from .. import errors
from .._context import executing_eagerly
from .._core import convert_to_tensor, ops
from .._dtypes import as_dtype, int64
from .._paths import local
from .._proto import message
from .._reading import reading
from .._records import TFRecordWriter
from ..io import write_file
from ..saved_model._messages import StructuredValue
from ..saved_model._structures import decode, encode
from . import _structure
from ._dataset import Dataset
from ._files import TFRecordDataset
from .experimental import assert_cardinality

_Metadata = message(
    "SnapshotMetadataRecord",
    graph_hash=(1, "string"),
    run_id=(2, "string"),
    creation_timestamp=(3, "int"),
    version=(4, "int"),
    dtype=(5, "int*"),
    num_elements=(6, "int"),
    finalized=(1000, "bool"),
)
_VERSION = 2  # TFRecord files
_SPEC, _METADATA = "dataset_spec.pb", "snapshot.metadata"


def _compression(given) -> str:
    if given in (None, "", "NONE"):
        return ""
    if given == "GZIP":
        return "GZIP"
    if given in ("AUTO", "SNAPPY"):
        raise NotImplementedError(
            f"compression={given!r}: Mica writes and reads no Snappy; take None or 'GZIP'."
        )
    raise ValueError(f"Invalid `compression` {given!r}: None, 'GZIP', 'SNAPPY' or 'AUTO'.")


def _specs(spec: object) -> list:
    flat = _structure.flat_specs(spec)
    if not flat:
        raise ValueError(f"Elements of {spec} have no tensors that files could hold.")
    for part in flat:
        if part.dtype.name in ("variant", "resource"):
            raise TypeError(f"Elements with a {part.dtype.name} cannot be saved: {spec}.")
    return flat


class _Shards:
    """The files of a run, each opened when its first element comes."""

    def __init__(self, folder: Path, compression: str) -> None:
        self._folder, self._compression = folder, compression
        self._writers: dict[int, TFRecordWriter] = {}

    def write(self, shard: int, records) -> None:
        if shard < 0:
            raise errors.InvalidArgumentError(
                None, None, f"`shard_func` gives the shard {shard}, which is less than 0."
            )
        if shard not in self._writers:
            folder = self._folder / f"{shard:08d}.shard"
            folder.mkdir(parents=True)
            path = str(folder / "00000000.snapshot")
            self._writers[shard] = TFRecordWriter(path, self._compression)
        for record in records:
            self._writers[shard].write(record)

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()


def save(dataset, path, compression=None, shard_func=None, checkpoint_args=None) -> None:
    """Write all elements of a dataset."""
    if checkpoint_args is not None:
        raise NotImplementedError(
            "checkpoint_args: Mica does not go on with a dataset that was saved in part."
        )
    if not executing_eagerly():
        raise NotImplementedError("Datasets are saved eagerly, not inside a tf.function.")
    spec, kind = dataset.element_spec, _compression(compression)
    flat = _specs(spec)

    def texts(*element):
        value = element if isinstance(spec, tuple) else element[0]
        shard = 0 if shard_func is None else shard_func(*element)
        parts = [ops["SerializeTensor"](t) for t in _structure.to_tensors(spec, value)]
        return ops["Cast"](convert_to_tensor(shard), DstT=int64), ops["Pack"](parts)

    root = Path(local(path))
    run = str(secrets.randbits(63))
    shards, count = _Shards(root / run, kind), 0
    (root / run).mkdir(parents=True)
    for shard, records in dataset.map(texts).as_numpy_iterator():
        shards.write(int(shard), records)
        count += 1
    shards.close()
    write_file(str(root / _SPEC), encode(spec).SerializeToString())
    made = _Metadata(
        run_id=run,
        creation_timestamp=int(time.time() * 1e6),
        version=_VERSION,
        dtype=[s.dtype.as_datatype_enum for s in flat],
        num_elements=count,
        finalized=True,
    )
    write_file(str(root / _METADATA), made.SerializeToString())


def _read(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        text = f"tf.data snapshot {what} file not found: {path}."
        raise errors.NotFoundError(None, None, text) from None


def _metadata(root: Path):
    path = root / _METADATA
    with reading(str(path)):
        found = _Metadata.FromString(_read(path, "metadata"))
        if not found.finalized or found.run_id in ("", ".", "..") or "/" in found.run_id:
            raise ValueError("it names no run that was written to its end")
        if found.version != _VERSION:
            raise ValueError(f"it is of version {found.version}, not {_VERSION}")
        return found


def load(path, element_spec=None, compression=None, reader_func=None, wait=False):
    """Return the dataset that was saved in a folder."""
    if wait:
        raise NotImplementedError("wait=True: Mica loads a dataset that was saved to its end.")
    root, kind = Path(local(path)), _compression(compression)
    spec = element_spec
    if spec is None:
        with reading(str(root / _SPEC)):
            spec = decode(StructuredValue.FromString(_read(root / _SPEC, "element_spec")))
    flat, found = _specs(spec), _metadata(root)
    dtypes = [as_dtype(number) for number in found.dtype]
    if dtypes != [s.dtype for s in flat]:
        raise errors.InvalidArgumentError(
            None, None, f"The elements of {root} are {dtypes}, and not of {spec}."
        )
    files = sorted(str(file) for file in (root / found.run_id).glob("*.shard/*.snapshot"))

    def element(records):
        parts = []
        for i, part in enumerate(flat):
            record = ops["GatherV2"](records, convert_to_tensor(i), convert_to_tensor(0))
            tensor = ops["ParseTensor"](record, out_type=part.dtype)
            parts.append(ops["EnsureShape"](tensor, shape=part.shape))
        return _structure.from_tensors(spec, parts)

    def shard(file):
        return TFRecordDataset(file, kind).batch(len(flat), drop_remainder=True).map(element)

    if reader_func is not None:
        made = reader_func(Dataset.from_tensor_slices(files).map(shard))
        return Dataset(made._handle_tensor, made.element_spec, "_LoadDataset", [made])
    if files:
        names = Dataset.from_tensor_slices(files)
        made = names.interleave(shard, cycle_length=len(files), block_length=1)
    else:
        made = Dataset.from_tensors("").take(0).flat_map(shard)

    made = made.apply(assert_cardinality(found.num_elements))
    return Dataset(made._handle_tensor, spec, "_LoadDataset", [made])
