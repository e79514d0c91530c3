"""Every name that Mica offers takes the arguments of TensorFlow's: tests/tf/api.txt has them."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tf"))

import api
import mica.tf as tf
import pytest
from mica.tf._missing import public_names

EXCEPTIONS = Path(api.__file__).with_name("api_exceptions.txt")


def find(name: str):
    return functools.reduce(getattr, name.split("."), tf)


@functools.cache
def offered() -> dict[str, api.Row]:
    """The rows of the names that are there."""
    found = {}
    for name, row in api.read().items():
        try:
            find(name)
        except AttributeError:
            continue
        found[name] = row
    return found


@functools.cache
def differing() -> dict[str, str]:
    """Names that take other arguments than TensorFlow's, with both."""
    found = {}
    for name, row in offered().items():
        if row.kind in ("module", "constant") or row.arguments == "?":
            continue
        ours = api.arguments(tf, find(name))
        same = ours == row.arguments
        if name.startswith("raw_ops."):
            same = ours is not None and _of_op(ours) == _of_op(row.arguments)
        if not same:
            found[name] = f"{name}({row.arguments}), here ({ours})"
    return found


# Attributes of ops that say nothing about the result: notes for TensorFlow's own profiler, ways to
# run that the rewriter sets, static shapes that Mica finds itself. Giving one is an error.
NOT_TAKEN = frozenset(
    (
        "metadata grad_a grad_b grad_x grad_y output_shapes config config_proto executor_type "
        "cardinality_options bad_indices_policy use_inter_op_parallelism force_synchronous "
        "preserve_cardinality legacy_autotune buffer_size_min slack_period replicate_on_split "
        "is_files use_default_device Tsplits swap_memory"
    ).split()
)


def _of_op(arguments: str) -> set[tuple[str, bool]]:
    """An op's arguments, which are given by name, and whether each has a default."""
    parts = api.split(arguments).items()
    return {(name, bool(given)) for name, given in parts if name not in NOT_TAKEN}


def exceptions() -> set[str]:
    lines = EXCEPTIONS.read_text(encoding="utf-8").splitlines()
    listed = {word for line in lines if not line.startswith("#") for word in line.split()}
    return listed | {f"compat.v1.{name}" for name in listed if name.startswith("errors.")}


def test_arguments_are_tensorflows_but_for_a_few_with_a_reason():
    wrong = [text for name, text in differing().items() if name not in exceptions()]
    assert not wrong, "\n".join(wrong)


def test_every_exception_is_needed():
    assert exceptions() <= set(differing())
    assert len(exceptions()) < 0.05 * len(offered())


# Keras', and packages that lie in TensorFlow's folder without being part of its interface.
NOT_IN_TABLE = {
    "dtensor", "initializers", "keras", "losses", "metrics", "optimizers", "security", "tools",
}  # fmt: skip


def test_the_table_has_the_names_that_missing_ones_are_told_by():
    for space in ("", "nn", "compat.v1.train", "experimental.numpy"):
        told = {f"{space}.{name}".lstrip(".") for name in public_names(space)}
        assert told - set(api.read()) <= NOT_IN_TABLE


@pytest.mark.parametrize("name", ["queue.FIFOQueue", "compat.v1.FIFOQueue", "raw_ops.Abort"])
def test_a_name_that_is_not_offered_says_so(name):
    with pytest.raises(AttributeError, match="Mica does not have it yet"):
        find(name)
