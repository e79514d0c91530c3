"""Images and labels from files in MNIST's format, IDX."""

import gzip
from pathlib import Path

import numpy as np


def read_idx(folder: Path, name: str, rank: int) -> np.ndarray:
    """The bytes of an IDX file, plain or .gz, in their shape."""
    path = folder / name
    if path.exists():
        content = path.read_bytes()
    else:
        try:
            content = gzip.decompress(path.with_name(name + ".gz").read_bytes())
        except OSError as error:
            raise ValueError(f"cannot read {path}, with or without .gz: {error}") from None
    header = 4 + 4 * rank
    if content[:4] != bytes([0, 0, 8, rank]) or len(content) < header:
        raise ValueError(f"{path} is not in MNIST's format")
    shape = [int.from_bytes(content[4 + 4 * i : 8 + 4 * i], "big") for i in range(rank)]
    if int(np.prod(shape)) != len(content) - header or min(shape) < 1:
        raise ValueError(f"{path} is not in MNIST's format")
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


def load(folder: Path, prefix: str) -> tuple[np.ndarray, np.ndarray]:
    images = read_idx(folder, f"{prefix}-images-idx3-ubyte", 3)
    labels = read_idx(folder, f"{prefix}-labels-idx1-ubyte", 1)
    if len(images) != len(labels):
        raise ValueError(f"{folder}/{prefix}-*: {len(images)} images, but {len(labels)} labels")
    return images, labels
