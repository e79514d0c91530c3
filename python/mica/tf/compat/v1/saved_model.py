"""`tf.compat.v1.saved_model`: models of sessions in folders; the rest is `tf.saved_model`."""

from __future__ import annotations

import os as _os

from ... import saved_model as _saved_model
from ..._context import building as _building
from ..._missing import missing as _missing_name
from ...estimator.export import _Served, _served

__all__ = ["load", "simple_save"]


def simple_save(session, export_dir, inputs, outputs, legacy_init_op=None) -> None:
    """Write what a session computes of inputs, by name, with the values of its variables.

    The signature is `serving_default`.
    """
    if legacy_init_op is not None:
        raise NotImplementedError(
            "simple_save: legacy_init_op: a loaded model has its tables filled; leave it out"
        )
    folder = _os.fspath(export_dir)
    if _os.path.isdir(folder) and _os.listdir(folder):
        raise AssertionError(
            f"Export directory already exists, and isn't empty: {folder}. Please choose a "
            "different export directory, or delete all the contents of the specified directory."
        )
    module = _Served()
    with session.graph.as_default():
        call = _served(module, session.graph, session, dict(inputs), dict(outputs), {})
    with _building(None):
        _saved_model.save(module, folder, {"serving_default": call})


def load(sess, tags, export_dir, import_scope=None, **saver_kwargs):
    """Refuse: a model comes back as an object, not into the graph of a session."""
    raise NotImplementedError(
        f"tf.compat.v1.saved_model.load reads {export_dir!r} (tags {tags!r}) into the graph of a "
        f"session ({sess!r}, import_scope={import_scope!r}, options {saver_kwargs}): Mica loads a "
        "model as an object: tf.saved_model.load(export_dir) gives its signatures as functions, "
        "in a graph too"
    )


def __getattr__(name: str):
    if not name.startswith("_"):
        try:
            return getattr(_saved_model, name)
        except AttributeError:
            pass
    raise _missing_name(__name__, name)
