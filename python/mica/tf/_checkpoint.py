"""tf.train.Checkpoint: the variables of objects in files, found again by the objects' names.

A file has the tensors and a graph of the objects that held them. Restoring walks that graph and the
objects that are there, from their roots, by names. What is not there yet gets its value when it is
assigned to an attribute: the object that will hold it keeps the rest of the walk.
"""

from __future__ import annotations

import os

from . import _dtypes, errors
from ._bundle import Bundle, write_bundle
from ._checkpoint_files import latest_checkpoint, update_checkpoint_state
from ._context import building
from ._core import convert_to_tensor
from ._paths import local
from ._reading import check_references, reading
from ._tracking import AutoTrackable, Trackable
from ._variable import Variable
from ._writing import writing
from .saved_model._load import OBJECT_GRAPH_KEY, VARIABLE_VALUE
from .saved_model._messages import (
    BoolValue,
    ObjectReference,
    SerializedTensor,
    TrackableObject,
    TrackableObjectGraph,
)
from .saved_model._objects import ObjectView, checkpoint_key, children_of, variable_of


class CheckpointOptions:
    """Options of saving and restoring; they speak of devices and threads and change nothing."""

    def __init__(
        self,
        experimental_io_device=None,
        experimental_enable_async_checkpoint: bool = False,
        experimental_write_callbacks=None,
        enable_async: bool = False,
        experimental_skip_slot_variables: bool = False,
        experimental_sharding_callback=None,
    ) -> None:
        self.experimental_io_device = experimental_io_device
        self.experimental_enable_async_checkpoint = experimental_enable_async_checkpoint
        self.experimental_write_callbacks = experimental_write_callbacks
        self.enable_async = enable_async
        self.experimental_skip_slot_variables = experimental_skip_slot_variables
        self.experimental_sharding_callback = experimental_sharding_callback


# ---- values of objects ---------------------------------------------------------------------------


def values_of(value) -> dict:
    """Return what an object itself keeps: tensors by name."""
    variable = variable_of(value)
    if variable is not None:
        return {VARIABLE_VALUE: convert_to_tensor(variable)}
    if type(value)._serialize_to_tensors is not Trackable._serialize_to_tensors:
        return {k: convert_to_tensor(v) for k, v in value._serialize_to_tensors().items()}
    return {}


def _has_values(value) -> bool:
    if variable_of(value) is not None:
        return True
    kind = type(value)
    return (
        isinstance(value, Trackable)
        and kind._serialize_to_tensors is not Trackable._serialize_to_tensors
    )


def _identity(value) -> int:
    """What tells objects apart; Keras's variables are the tf.Variables in them."""
    variable = variable_of(value)
    return id(value if variable is None else variable)


def _give(value, tensors: dict) -> None:
    """Give an object what it kept."""
    variable = variable_of(value)
    if variable is None:
        value._restore_from_tensors(tensors)
        return
    if VARIABLE_VALUE not in tensors:
        found = ", ".join(sorted(tensors))
        message = f"The checkpoint has {found} for the variable {variable.name}, and no value."
        raise errors.DataLossError(None, None, message)
    tensor = tensors[VARIABLE_VALUE]
    if not variable.shape.is_compatible_with(tensor.shape):
        raise ValueError(
            f"Received incompatible tensor with shape {tensor.shape} when attempting to restore "
            f"variable with shape {variable.shape} and name {variable.name}."
        )
    if variable.dtype != tensor.dtype:
        raise errors.InvalidArgumentError(
            None,
            None,
            f"tensor_name = {variable.name}; expected dtype {variable.dtype.name} does not equal "
            f"original dtype {tensor.dtype.name}",
        )
    with building(None):
        variable.assign(tensor)


# ---- restoring -----------------------------------------------------------------------------------


class _Restore:
    """One file that is being restored, for as long as objects are missing."""

    def __init__(self, prefix: str) -> None:
        try:
            self.bundle = Bundle(prefix)
        except errors.NotFoundError:
            raise errors.NotFoundError(
                None,
                None,
                "Unsuccessful TensorSliceReader constructor: Failed to find any matching files "
                f"for {prefix}",
            ) from None
        if OBJECT_GRAPH_KEY not in self.bundle:
            raise NotImplementedError(
                f"{prefix} has no graph of objects: it was written by names, as TensorFlow 1 does. "
                "tf.train.load_checkpoint reads its tensors."
            )
        with reading(prefix):
            self.nodes = TrackableObjectGraph.FromString(self.bundle.text(OBJECT_GRAPH_KEY)).nodes
            check_references(self.nodes, prefix)
        self.matched: dict[int, object] = {}  # number in the file -> object
        self._seen: set = set()

    def match(self, number: int, value, attached: dict | None = None) -> None:
        """Restore an object, and what it holds, from a node of the file."""
        pending = [(number, value, attached)]
        while pending:
            number, value, attached = pending.pop()
            key = number, _identity(value)
            if key in self._seen:
                continue
            self._seen.add(key)
            self.matched.setdefault(number, value)
            node = self.nodes[number]
            if node.attributes and _has_values(value):
                _give(value, {a.name: self.bundle[a.checkpoint_key] for a in node.attributes})
            held = children_of(value, "checkpoint")
            held.update(attached or {})
            for child in node.children:
                if child.local_name in held:
                    pending.append((child.node_id, held[child.local_name], None))
                else:
                    self._wait(value, child.local_name, child.node_id)

    def _wait(self, holder, name: str, number: int) -> None:
        """Restore a child when the holder gets it."""
        fields = getattr(holder, "__dict__", None)
        if isinstance(holder, Trackable) and fields is not None:
            waiting = fields.setdefault("_mica_deferred", {})
            waiting.setdefault(name, []).append(lambda child: self.match(number, child))


class LoadStatus:
    """What became of a restore."""

    def __init__(self, restore: _Restore, root, attached: dict) -> None:
        self._restore, self._root, self._attached = restore, root, attached

    def _objects(self) -> list:
        first = {**children_of(self._root, "checkpoint"), **self._attached}
        return ObjectView(self._root, "checkpoint", first).objects

    def assert_existing_objects_matched(self):
        """Raise unless everything that is there has got its value."""
        matched = set(map(_identity, self._restore.matched.values()))
        for value in self._objects():
            if _has_values(value) and _identity(value) not in matched:
                raise AssertionError(
                    f"No checkpoint value found for {value!r}: the checkpoint has no object under "
                    "the names by which it is held."
                )
        return self

    def assert_consumed(self):
        """Raise unless everything that is there, and everything in the file, has its match."""
        for number, node in enumerate(self._restore.nodes):
            if number in self._restore.matched:
                continue
            if node.attributes:
                raise AssertionError(
                    f"Unresolved object in checkpoint {self._path(number)}: "
                    + ", ".join(str(a).strip().replace("\n", " ") for a in node.attributes)
                )
        return self.assert_existing_objects_matched()

    def assert_nontrivial_match(self):
        """Raise if nothing but the root has a match."""
        if len(self._restore.matched) < 2 and len(self._restore.nodes) > 1:
            raise AssertionError(
                "Nothing except the root object matched a checkpointed value. Typically this "
                "means that the checkpoint does not match the Python program."
            )
        return self

    def _path(self, wanted: int) -> str:
        paths, pending = {0: "(root)"}, [0]
        while pending:
            number = pending.pop()
            for child in self._restore.nodes[number].children:
                if child.node_id not in paths:
                    paths[child.node_id] = f"{paths[number]}.{child.local_name}"
                    pending.append(child.node_id)
        return paths.get(wanted, "(root)")

    def expect_partial(self):
        """Say nothing about what has no match."""
        return self

    def run_restore_ops(self, session=None) -> None:
        """Do nothing: values are there."""

    def initialize_or_restore(self, session=None) -> None:
        """Do nothing: values are there."""


class InitializationOnlyStatus(LoadStatus):
    """What became of restoring from nothing."""

    def __init__(self) -> None:
        pass

    def assert_consumed(self):
        """Raise: there is no file."""
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    assert_existing_objects_matched = assert_consumed
    assert_nontrivial_match = assert_consumed


# ---- checkpoints ---------------------------------------------------------------------------------


class Checkpoint(AutoTrackable):
    """Objects whose variables are written to files and read again.

    Parameters
    ----------
    root
        An object whose variables are saved as if it were the checkpoint itself.
    **kwargs
        Objects by name: they become attributes.
    """

    def __init__(self, root=None, **kwargs) -> None:
        self._self_setattr_tracking = False
        self._root = root
        self._attached: dict = {}
        self._counter = None
        self._self_setattr_tracking = True
        for name, value in sorted(kwargs.items()):
            setattr(self, name, value)
            kept = getattr(self, name)
            if not isinstance(kept, Trackable) and not children_of(kept, "checkpoint"):
                raise ValueError(
                    "`Checkpoint` was expecting a trackable object (an object derived from "
                    f"`Trackable`), got {value} of type {type(value)}. If you believe this object "
                    "should be trackable (i.e. it is part of the TensorFlow Python API and manages "
                    "state), please open an issue."
                )
            if root is not None:
                held = children_of(root, "checkpoint").get(name)
                if held is not None and held is not kept:
                    raise ValueError(
                        f"Cannot create a Checkpoint with keyword argument {name} if root.{name} "
                        "already exists."
                    )
                self._attached[name] = kept
        if root is not None:
            self._attached["root"] = root

    @property
    def save_counter(self) -> Variable:
        """How often it was saved."""
        self._make_counter()
        return self._counter

    def _make_counter(self) -> None:
        if self._counter is not None:
            return
        with building(None):
            counter = Variable(0, dtype=_dtypes.int64, trainable=False, name="save_counter")
        self.__dict__["_counter"] = counter
        if self._root is None:
            self._track_trackable(counter, "save_counter", overwrite=True)
        else:
            self._attached["save_counter"] = counter

    def _holder(self):
        return self if self._root is None else self._root

    # ---- writing

    def _tensors(self) -> dict:
        holder = self._holder()
        first = {**children_of(holder, "checkpoint"), **self._attached}
        view = ObjectView(holder, "checkpoint", first)
        stored, tensors = TrackableObjectGraph(), {}
        holds = [False] * len(view.objects)
        for number, value in enumerate(view.objects):
            node = TrackableObject()
            for name, child in view.children[number].items():
                node.children.append(ObjectReference(node_id=child, local_name=name))
            for name, tensor in values_of(value).items() if _has_values(value) else ():
                variable = variable_of(value)
                full = "" if variable is None else variable.name.removesuffix(":0")
                key = checkpoint_key(view.paths[number], name)
                node.attributes.append(
                    SerializedTensor(name=name, full_name=full, checkpoint_key=key)
                )
                tensors[key] = tensor
                holds[number] = True
            stored.nodes.append(node)
        for node, held in zip(stored.nodes, view.spread(holds), strict=True):
            node.has_checkpoint_values = BoolValue(value=held)
        tensors[OBJECT_GRAPH_KEY] = convert_to_tensor(stored.SerializeToString())
        return tensors

    def write(self, file_prefix, options: CheckpointOptions | None = None) -> str:
        """Write the variables to files that begin with this path; returns the path."""
        path = local(file_prefix)
        folder = os.path.dirname(path)
        with writing(path), building(None):
            if folder:
                os.makedirs(folder, exist_ok=True)
            write_bundle(path, self._tensors())
        return path

    def save(self, file_prefix, options: CheckpointOptions | None = None) -> str:
        """Write the variables to files numbered from 1 on; returns the path of this one."""
        self._make_counter()
        with building(None):
            self._counter.assign_add(1)
            path = self.write(f"{os.fspath(file_prefix)}-{int(self._counter)}")
        update_checkpoint_state(os.path.dirname(path), path, [path])
        return path

    # ---- reading

    def read(self, save_path, options: CheckpointOptions | None = None) -> LoadStatus:
        """Give variables the values of a file that `write` made."""
        if save_path is None:
            return InitializationOnlyStatus()
        path = os.fspath(save_path)
        with building(None):
            restore = _Restore(path)
            restore.match(0, self._holder(), self._attached)
        return LoadStatus(restore, self._holder(), self._attached)

    def restore(self, save_path, options: CheckpointOptions | None = None) -> LoadStatus:
        """Give variables the values of a file that `save` made; None: change nothing.

        What is not there yet gets its value when it is made. The answer asserts what was matched.
        """
        if save_path is not None and os.path.isdir(os.fspath(save_path)):
            save_path = latest_checkpoint(save_path) or save_path
        self._make_counter()
        return self.read(save_path)

    def sync(self) -> None:
        """Do nothing: writing is over when `save` returns."""
