"""`tf.compat.v1.summary`: writers of messages that are made by hand."""

from __future__ import annotations

from os import fspath as _fspath

from ... import _dtypes
from ..._core import convert_to_tensor, ops
from ..._event_messages import Event, Summary
from ..._missing import finder as _finder
from ...summary._writers import create_file_writer

__all__ = ["Event", "FileWriter", "Summary"]


class FileWriter:
    """Writes Summary and Event messages, and graphs, to an event file of a folder."""

    def __init__(
        self,
        logdir,
        graph=None,
        max_queue=10,
        flush_secs=120,
        graph_def=None,
        filename_suffix=None,
        session=None,
    ) -> None:
        if session is not None:
            raise NotImplementedError("FileWriter: there are no sessions; leave `session` out")
        self._folder = _fspath(logdir)
        self._options = (max_queue, int(flush_secs * 1000), filename_suffix or "")
        self._writer = None
        self.reopen()
        if graph is not None or graph_def is not None:
            self.add_graph(graph if graph is not None else graph_def)

    def _resource(self):
        if self._writer is None:
            raise RuntimeError("The FileWriter is closed; reopen() opens another file")
        return self._writer._resource

    def get_logdir(self) -> str:
        """Return the folder."""
        return self._folder

    def add_summary(self, summary, global_step=None) -> None:
        """Write a Summary message, or its bytes."""
        data = summary if isinstance(summary, bytes) else summary.SerializeToString()
        step = convert_to_tensor(int(global_step or 0), dtype=_dtypes.int64)
        ops["WriteRawProtoSummary"](self._resource(), step, convert_to_tensor(data))

    def add_event(self, event) -> None:
        """Write an Event message."""
        ops["ImportEvent"](self._resource(), convert_to_tensor(event.SerializeToString()))

    def add_graph(self, graph, global_step=None) -> None:
        """Write a graph, or a GraphDef."""
        message = graph.as_graph_def(add_shapes=True) if hasattr(graph, "as_graph_def") else graph
        step = convert_to_tensor(int(global_step or 0), dtype=_dtypes.int64)
        data = convert_to_tensor(message.SerializeToString())
        ops["WriteGraphSummary"](self._resource(), step, data)

    def flush(self) -> None:
        """What was written is in the file."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """Write what waits, and end the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def reopen(self) -> None:
        """Go on in another file, when this one is closed."""
        if self._writer is None:
            waiting, milliseconds, suffix = self._options
            self._writer = create_file_writer(self._folder, waiting, milliseconds, suffix)

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *exception) -> None:
        self.close()


__getattr__ = _finder(__name__)
