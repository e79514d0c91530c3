"""Writers of summaries, which of them is the default, and whether and at which step it writes."""

from __future__ import annotations

import contextlib
import re
import threading

from .. import _dtypes
from .._array import get_static_value
from .._context import executing_eagerly, init_scope
from .._control import cond
from .._core import Tensor, convert_to_tensor, ops
from .._graph import Graph
from .._graph_def import GraphDef
from .._names import current_scope, name_scope


class _State(threading.local):
    writer = None
    step = None
    condition = None  # of record_if


state = _State()


class SummaryWriter:
    """What summaries are written to."""

    def set_as_default(self, step=None) -> None:
        """Write this thread's summaries to this writer from now on."""
        self.as_default(step).__enter__()

    def as_default(self, step=None):
        """Return a context in which summaries go to this writer, and have this step by default."""
        return _Default(self, step)

    def init(self):
        """Open the writer."""
        raise NotImplementedError

    def flush(self):
        """Write what waits."""
        raise NotImplementedError

    def close(self):
        """Write what waits, and end."""
        raise NotImplementedError


class _Default:
    def __init__(self, writer, step) -> None:
        self._writer, self._step = writer, step

    def __enter__(self):
        self._before = (state.writer, state.step)
        state.writer = self._writer
        if self._step is not None:
            state.step = self._step
        return self._writer

    def __exit__(self, *exception) -> bool:
        if state.writer is not None:
            state.writer.flush()
        state.writer = self._before[0]
        if self._step is not None:
            state.step = self._before[1]
        return False


class _FileWriter(SummaryWriter):
    """A writer of an event file."""

    def __init__(self, *options) -> None:
        self._resource = ops["SummaryWriter"]()
        self._options = options
        self._is_closed = False
        self.init()

    def _check_open(self) -> None:
        if executing_eagerly() and self._is_closed:
            raise RuntimeError(f"SummaryWriter {self!r} is already closed")

    def set_as_default(self, step=None) -> None:
        self._check_open()
        super().set_as_default(step)

    def as_default(self, step=None):
        self._check_open()
        return super().as_default(step)

    def init(self):
        self._check_open()
        return ops["CreateSummaryFileWriter"](self._resource, *self._options)

    def flush(self):
        if executing_eagerly() and self._is_closed:
            return None
        return ops["FlushSummaryWriter"](self._resource)

    def close(self):
        if executing_eagerly() and self._is_closed:
            return None
        if executing_eagerly():
            self._is_closed = True
        return ops["CloseSummaryWriter"](self._resource)


class _NoopWriter(SummaryWriter):
    """A writer that writes nothing."""

    def set_as_default(self, step=None) -> None:
        pass

    @contextlib.contextmanager
    def as_default(self, step=None):
        yield

    def init(self):
        pass

    def flush(self):
        pass

    def close(self):
        pass


def create_noop_writer() -> SummaryWriter:
    """Return a writer that writes nothing."""
    return _NoopWriter()


def create_file_writer(
    logdir,
    max_queue=None,
    flush_millis=None,
    filename_suffix=None,
    name=None,
    experimental_trackable=False,
    experimental_mesh=None,
) -> SummaryWriter:
    """Return a writer of a new event file in a folder, which is made when it is not there.

    Parameters
    ----------
    logdir
        The folder.
    max_queue
        How many summaries may wait until they are written; 10 by default.
    flush_millis
        How long they may wait; two minutes by default.
    filename_suffix
        The end of the file's name; ".v2" by default.
    name
        For the op, without meaning here.
    """
    if experimental_trackable or experimental_mesh is not None:
        raise NotImplementedError(
            "create_file_writer: a writer that is saved with a model (experimental_trackable) and "
            "one of a mesh (experimental_mesh) are not supported; leave these arguments out"
        )
    given = (
        (logdir, _dtypes.string),
        (10 if max_queue is None else max_queue, _dtypes.int32),
        (2 * 60 * 1000 if flush_millis is None else flush_millis, _dtypes.int32),
        (".v2" if filename_suffix is None else filename_suffix, _dtypes.string),
    )
    for value, _ in given:
        if isinstance(value, Tensor) and not hasattr(value, "numpy"):
            raise ValueError(
                f"create_file_writer() takes no tensor of a graph, such as {value}: the writer is "
                "made outside of the function"
            )
    with init_scope():
        return _FileWriter(
            *(convert_to_tensor(_plain(value), dtype=dtype) for value, dtype in given)
        )


def _plain(value):
    return value.__fspath__() if hasattr(value, "__fspath__") else value


# ---- whether and when --------------------------------------------------------------------------


def get_step():
    """Return the step that summaries of this thread have by default, or None."""
    return state.step


def set_step(step) -> None:
    """Set the step that summaries of this thread have by default; a variable is read each time."""
    state.step = step


@contextlib.contextmanager
def record_if(condition):
    """Write summaries only where the condition holds: a bool, a tensor, or a callable for one."""
    before = state.condition
    state.condition = condition
    try:
        yield
    finally:
        state.condition = before


def _condition():
    """Whether to write: a bool where that is known, else a tensor."""
    if state.writer is None:
        return False
    condition = state.condition() if callable(state.condition) else state.condition
    if condition is None:
        return True
    if not isinstance(condition, Tensor):
        condition = condition if isinstance(condition, bool) else convert_to_tensor(condition)
    known = condition if isinstance(condition, bool) else get_static_value(condition)
    return condition if known is None else bool(known)


def should_record_summaries() -> Tensor:
    """Return whether summaries are written: there is a writer, and record_if's condition holds."""
    return convert_to_tensor(_condition(), dtype=_dtypes.bool)


def _guarded(record) -> Tensor:
    """The result of `record` where summaries are written, else False."""
    condition = _condition()
    if isinstance(condition, bool):
        return record() if condition else convert_to_tensor(False)
    return cond(condition, record, lambda: convert_to_tensor(False))


def _step_tensor(step) -> Tensor:
    step = state.step if step is None else step
    if step is None:
        raise ValueError(
            "No step set. Give one by the `step` argument or by tf.summary.experimental.set_step()"
        )
    tensor = convert_to_tensor(step)
    if not tensor.dtype.is_integer:
        raise ValueError(f"The step has to be an integer, not {tensor.dtype.name}: {step!r}")
    if tensor.shape.num_elements() not in (None, 1):
        raise ValueError(f"The step has to be a scalar, not of shape {tensor.shape}")
    return ops["Cast"](tensor, DstT=_dtypes.int64) if tensor.dtype != _dtypes.int64 else tensor


# ---- writing -----------------------------------------------------------------------------------


def write(tag, tensor, step=None, metadata=None, name=None) -> Tensor:
    """Write a tensor with a tag; whether it was written is the result.

    Parameters
    ----------
    tag
        The name that the summary is shown by.
    tensor
        The tensor, or a callable that gives it, which is called only when it is written.
    step
        An integer; by default that of the writer or of `experimental.set_step`.
    metadata
        A SummaryMetadata message, or its bytes: which plugin shows the tensor.
    """
    if state.writer is None:
        return convert_to_tensor(False)
    data = metadata.SerializeToString() if hasattr(metadata, "SerializeToString") else metadata

    def record():
        with name_scope(name or "write_summary"):
            value = convert_to_tensor(tensor() if callable(tensor) else tensor)
            ops["WriteSummary"](
                state.writer._resource,
                _step_tensor(step),
                value,
                convert_to_tensor(tag, dtype=_dtypes.string),
                convert_to_tensor(data or b"", dtype=_dtypes.string),
            )
        return convert_to_tensor(True)

    return _guarded(record)


def write_raw_pb(tensor, step=None, name=None) -> Tensor:
    """Write serialized Summary messages; whether they were written is the result."""
    if state.writer is None:
        return convert_to_tensor(False)
    number = _step_tensor(step)

    def record():
        text = convert_to_tensor(tensor, dtype=_dtypes.string)
        ops["WriteRawProtoSummary"](state.writer._resource, number, text, name=name)
        return convert_to_tensor(True)

    return _guarded(record)


def graph(graph_data) -> Tensor:
    """Write a graph (tf.Graph or GraphDef), at step 0; whether it was written is the result."""
    if not executing_eagerly():
        raise ValueError("graph() cannot be invoked inside a graph context.")
    if not isinstance(graph_data, Graph) and not hasattr(graph_data, "SerializeToString"):
        raise ValueError(
            f"graph_data has to be a tf.Graph or a {GraphDef.__name__}, not {graph_data!r} of type "
            f"{type(graph_data).__name__}"
        )

    def record():
        made = graph_data.as_graph_def(add_shapes=True) if isinstance(graph_data, Graph) else None
        data = (made or graph_data).SerializeToString()
        zero = convert_to_tensor(0, dtype=_dtypes.int64)
        ops["WriteGraphSummary"](state.writer._resource, zero, convert_to_tensor(data))
        return convert_to_tensor(True)

    return _guarded(record)


def flush(writer=None, name=None) -> None:
    """Write what waits in a writer; by default in the one that is the default."""
    writer = state.writer if writer is None else writer
    if writer is None:
        return
    if not isinstance(writer, SummaryWriter):
        raise ValueError(f"flush() takes a SummaryWriter, not {writer!r}")
    writer.flush()


_NOT_IN_SCOPES = re.compile(r"[^-_/.A-Za-z0-9]")


@contextlib.contextmanager
def summary_scope(name, default_name="summary", values=None):
    """A scope for the ops of a summary: (its tag, the scope's name)."""
    name = name or default_name
    scope = current_scope()
    tag = f"{scope}/{name}" if scope else name
    with name_scope(_NOT_IN_SCOPES.sub("", name) or default_name) as made:
        yield tag, made
