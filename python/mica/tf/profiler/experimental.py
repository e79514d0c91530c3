"""`tf.profiler.experimental`: a trace of what runs, which Chrome, Perfetto and TensorBoard show."""

from __future__ import annotations

import collections as _collections
import gzip as _gzip
import os as _os
import platform as _platform
import threading as _threading
import time as _time

from ... import _mica
from .. import errors as _errors
from .._missing import finder as _finder

_lock = _threading.Lock()
_folder: str | None = None  # where the profile that is on will be written


_FIELDS = ("host_tracer_level", "python_tracer_level", "device_tracer_level", "delay_ms")
ProfilerOptions = _collections.namedtuple("ProfilerOptions", _FIELDS, defaults=(2, 0, 1, None))
ProfilerOptions.__doc__ = "What a profile holds."


def _check(options: ProfilerOptions) -> None:
    """Refuse what a trace cannot do: it has the host and the device, from now on, and no Python."""
    if options.python_tracer_level:
        raise NotImplementedError(
            "tf.profiler: calls of Python are not traced; leave python_tracer_level at 0"
        )
    if options.delay_ms:
        raise NotImplementedError("tf.profiler: a profile begins at once; leave delay_ms out")
    if not (options.host_tracer_level and options.device_tracer_level):
        raise NotImplementedError(
            "tf.profiler: host and device are traced together; leave host_tracer_level and "
            "device_tracer_level above 0"
        )


def start(logdir, options=None) -> None:
    """Keep what runs from now on, until `stop` writes it below `logdir`."""
    global _folder
    _check(options or ProfilerOptions())
    with _lock:
        if _folder is not None:
            raise _errors.AlreadyExistsError(None, None, "Another profiler is running.")
        _mica.trace_start()
        _folder = _os.fspath(logdir)


def stop(save=True) -> None:
    """End the profile; write `plugins/profile/<time>/<host>.trace.json.gz` unless told not to."""
    global _folder
    with _lock:
        if _folder is None:
            raise _errors.UnavailableError(
                None, None, "Cannot export profiling results. No profiler is running."
            )
        folder, _folder = _folder, None
        text = _mica.trace_stop()
    if not save:
        return
    moment = _time.strftime("%Y_%m_%d_%H_%M_%S")
    folder = _os.path.join(folder, "plugins", "profile", moment)
    _os.makedirs(folder, exist_ok=True)
    path = _os.path.join(folder, f"{_platform.node() or 'localhost'}.trace.json.gz")
    _mica.tf_file_replace(path, _gzip.compress(text, mtime=0))


class Profile:
    """A profile of what runs inside a with statement."""

    def __init__(self, logdir, options=None) -> None:
        self._logdir = logdir
        self._options = options

    def __enter__(self) -> None:
        start(self._logdir, self._options)

    def __exit__(self, kind, error, traceback) -> None:
        stop()


class Trace:
    """What runs inside a with statement, as one event of a profile that is on."""

    def __init__(self, name, **kwargs) -> None:
        self._name = name
        self._metadata = kwargs
        self._start: float | None = None

    def set_metadata(self, **kwargs) -> None:
        """Add to what the event says."""
        self._metadata |= kwargs

    def __enter__(self) -> Trace:
        self._start = _mica.trace_clock()
        return self

    def __exit__(self, kind, error, traceback) -> None:
        if self._start is None:
            return
        pairs = ",".join(f"{key}={value}" for key, value in self._metadata.items())
        name = f"{self._name}#{pairs}#" if pairs else str(self._name)
        _mica.trace_note(name, self._start, _mica.trace_clock() - self._start)


__getattr__ = _finder(__name__)
