"""Checkpoints of TensorFlow 1: the variables of a session, by their names."""

from __future__ import annotations

import os
import time

from .... import _mica
from ... import errors
from ..._array import constant
from ..._bundle import Bundle, write_bundle
from ..._checkpoint_files import (
    get_checkpoint_state,
    latest_checkpoint,
    list_variables,
    load_checkpoint,
    update_checkpoint_state,
)
from ..._context import building
from ..._core import ops
from ..._paths import local
from ..._session import get_default_graph
from ._meta_graph import write_meta
from ._scopes import GraphKeys


def _named(var_list) -> dict:
    """The variables of a list or dict, by the names that they have in files."""
    if isinstance(var_list, dict):
        return {name.removesuffix(":0"): v for name, v in var_list.items()}
    named: dict = {}
    for variable in var_list:
        if named.setdefault(variable._shared_name, variable) is not variable:
            raise ValueError(f"At least two variables have the same name: {variable._shared_name}")
    return named


def saveable_variables(graph=None) -> list:
    """Return what a Saver saves by default."""
    graph = graph or get_default_graph()
    return graph.get_collection(GraphKeys.GLOBAL_VARIABLES) + graph.get_collection(
        GraphKeys.SAVEABLE_OBJECTS
    )


class Saver:
    """Saves and restores the variables of a session.

    Parameters
    ----------
    var_list
        Variables, or a dict from names to them; all global variables by default.
    max_to_keep
        How many files stay; 0 or None: all.
    keep_checkpoint_every_n_hours
        One file in so many hours is never removed.
    reshape
        Whether values of another shape, with as many elements, may be restored.
    """

    def __init__(
        self,
        var_list=None,
        reshape=False,
        sharded=False,
        max_to_keep=5,
        keep_checkpoint_every_n_hours=10000.0,
        name=None,
        restore_sequentially=False,
        saver_def=None,
        builder=None,
        defer_build=False,
        allow_empty=False,
        write_version=2,
        pad_step_number=False,
        save_relative_paths=False,
        filename=None,
    ) -> None:
        if saver_def is not None or builder is not None or filename is not None:
            raise NotImplementedError(
                "Saver: saver_def, builder and filename are parts of a graph that saves; a session "
                "does it here: leave them out"
            )
        if sharded or restore_sequentially or write_version != 2:
            raise NotImplementedError(
                f"Saver: sharded={sharded}, restore_sequentially={restore_sequentially}, "
                f"write_version={write_version}: a file is whole, of version 2; leave them out"
            )
        self._given = var_list
        self._reshape, self._allow_empty, self._pad = reshape, allow_empty, pad_step_number
        self._relative = save_relative_paths
        self._most, self._hours = max_to_keep, keep_checkpoint_every_n_hours
        self._kept: dict[str, float] = {}
        self._preserved = time.time()
        self._variables = None
        if not defer_build:
            self.build()

    def build(self) -> None:
        """Find out what is saved."""
        if self._variables is not None:
            return
        given = saveable_variables() if self._given is None else self._given
        if not given and not self._allow_empty:
            raise ValueError("No variables to save")
        self._variables = _named(given)

    @property
    def last_checkpoints(self) -> list[str]:
        """The paths of the files that are kept, oldest first."""
        return list(self._kept)

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time) -> None:
        """Say which files are there, as pairs of a path and a time."""
        self._kept = dict(last_checkpoints_with_time)

    def set_last_checkpoints(self, last_checkpoints) -> None:
        """Say which files are there."""
        self._kept = dict.fromkeys(last_checkpoints, time.time())

    def recover_last_checkpoints(self, checkpoint_paths) -> None:
        """Say which files are there; those that are not are left out."""
        for path in checkpoint_paths:
            if checkpoint_exists(path):
                self._kept[path] = os.path.getmtime(path + ".index")

    def save(
        self,
        sess,
        save_path,
        global_step=None,
        latest_filename=None,
        meta_graph_suffix="meta",
        write_meta_graph=True,
        write_state=True,
        strip_default_attrs=False,
        save_debug_info=False,
    ) -> str:
        """Write a file and remove those that are too many; returns its path."""
        if latest_filename not in (None, "checkpoint") or save_debug_info:
            raise NotImplementedError(
                f"Saver.save: latest_filename={latest_filename!r}, "
                f"save_debug_info={save_debug_info}: the file is 'checkpoint', without more"
            )
        self.build()
        path = local(save_path)
        if global_step is not None:
            if not isinstance(global_step, int):
                global_step = int(sess.run(global_step))
            path += f"-{global_step:08d}" if self._pad else f"-{global_step}"
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        session = getattr(sess, "_raw", sess)
        write_bundle(path, {name: session._value(v) for name, v in self._variables.items()})
        if write_meta_graph:
            write_meta(session.graph, f"{path}.{meta_graph_suffix}", strip_default_attrs)
        if write_state:
            self._keep(path)
        return path

    def _keep(self, path: str) -> None:
        self._kept.pop(path, None)
        self._kept[path] = time.time()
        removed = []
        while self._most and len(self._kept) > self._most:
            old = next(iter(self._kept))
            made = self._kept.pop(old)
            if made - self._hours * 3600.0 >= self._preserved:
                self._preserved = made
            else:
                removed.append(old)
        folder = os.path.dirname(path)
        update_checkpoint_state(
            folder, path, list(self._kept), self._kept.values(), self._preserved
        )
        for old in removed:
            remove_checkpoint(old)

    def restore(self, sess, save_path) -> None:
        """Give the variables of a session the values of a file."""
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        path = os.fspath(save_path)
        if not checkpoint_exists(path):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {path}")
        self.build()
        session, bundle = getattr(sess, "_raw", sess), Bundle(path)
        for name, variable in self._variables.items():
            session._load(variable, self._fitting(bundle, name, variable))

    def _fitting(self, bundle, name: str, variable):
        if name not in bundle:
            raise errors.NotFoundError(
                None, None, f"Key {name} not found in checkpoint {bundle.prefix}"
            )
        value = bundle[name]
        if variable.shape.is_compatible_with(value.shape):
            return value
        if self._reshape and value.shape.num_elements() == variable.shape.num_elements():
            with building(None):
                return ops["Reshape"](value, _sizes(variable))
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Assign requires shapes of both tensors to match. lhs shape= {variable.shape} rhs "
            f"shape= {value.shape} (variable {name})",
        )


def _sizes(variable):
    return constant([int(n) for n in variable.shape], shape=[variable.shape.rank], dtype="int32")


def checkpoint_exists(checkpoint_prefix) -> bool:
    """Whether there is a checkpoint of this path."""
    return os.path.isfile(os.fspath(checkpoint_prefix) + ".index")


def get_checkpoint_mtimes(checkpoint_prefixes) -> list:
    """Return when checkpoints were written."""
    return [os.path.getmtime(p + ".index") for p in checkpoint_prefixes if checkpoint_exists(p)]


def remove_checkpoint(checkpoint_prefix, checkpoint_format_version=2, meta_graph_suffix="meta"):
    """Remove the files of a checkpoint."""
    if checkpoint_format_version != 2:
        raise NotImplementedError(f"checkpoints are of version 2, not {checkpoint_format_version}")
    _mica.tf_bundle_remove(checkpoint_prefix)
    meta = f"{checkpoint_prefix}.{meta_graph_suffix}"
    if os.path.exists(meta):
        os.remove(meta)


def NewCheckpointReader(filepattern):
    """Return a reader of a checkpoint."""
    return load_checkpoint(filepattern)


# ---- first values from a checkpoint --------------------------------------------------------------


def _variables_of(value) -> list:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def init_from_checkpoint(ckpt_dir_or_file, assignment_map) -> None:
    """Let variables of the graph begin with values of a checkpoint.

    The map has names of the checkpoint (a scope ends with a slash) and for each a variable, a
    variable's name, or a scope.
    """
    reader = load_checkpoint(ckpt_dir_or_file)
    graph = get_default_graph()
    by_name = {v._shared_name: v for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES)}
    pairs = assignment_map.items() if isinstance(assignment_map, dict) else assignment_map
    for source, target in pairs:
        if isinstance(source, str) and source.endswith("/") and isinstance(target, str):
            scope = "" if target == "/" else target
            inside = "" if source == "/" else source
            for name, variable in by_name.items():
                if name.startswith(scope):
                    _begin_with(reader, inside + name[len(scope) :], variable)
            continue
        variables = [by_name.get(v, v) if isinstance(v, str) else v for v in _variables_of(target)]
        for variable in variables:
            if isinstance(variable, str):
                raise ValueError(f"Variable {variable} is not found in the graph")
            _begin_with(reader, source, variable)


def _begin_with(reader, name: str, variable) -> None:
    if not reader.has_tensor(name):
        raise ValueError(
            f"Tensor {name} is not found in the checkpoint; it has "
            f"{sorted(reader.get_variable_to_shape_map())}"
        )
    value = reader.get_tensor(name)
    if list(value.shape) != variable.shape.as_list():
        raise ValueError(
            f"Shape of variable {variable.name} ({variable.shape}) doesn't match with shape of "
            f"tensor {name} ({list(value.shape)}) from checkpoint reader."
        )
    variable._begin_with(value)


__all__ = [
    "NewCheckpointReader",
    "Saver",
    "checkpoint_exists",
    "get_checkpoint_mtimes",
    "get_checkpoint_state",
    "init_from_checkpoint",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "remove_checkpoint",
    "update_checkpoint_state",
]
