"""Sessions: parts of a graph, each with what its fetches need, run as functions.

A graph keeps the handles of its variables; a session has handles of its own in their place, so each
session has its own values. `Graph._prune` (src/tf/prune.c) makes the function of a run; it is kept
for runs that ask for the same.
"""

from __future__ import annotations

import sys
import threading

import numpy

from .. import _mica
from . import _dtypes, errors
from ._composite import CompositeTensor
from ._context import building, current_graph, graph_of_variables
from ._core import Tensor, convert_to_tensor, ops
from ._devices import placement_text
from ._graph import Graph, Operation
from ._variable import Variable
from .compat.v1._values import IndexedSlicesValue, SparseTensorValue
from .config import list_logical_devices

_PROTO_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


class _Stacks(threading.local):
    def __init__(self) -> None:
        self.sessions: list = []
        self.graph = None


_stacks = _Stacks()


# ---- the default graph ---------------------------------------------------------------------------


def get_default_graph() -> Graph:
    """Return the graph that sessions run, and that names of TensorFlow 1 add to."""
    graph = graph_of_variables()
    if graph is not None:
        return graph
    if _stacks.graph is None:
        _stacks.graph = Graph()
    return _stacks.graph


def reset_default_graph() -> None:
    """Begin with an empty default graph."""
    was_building = current_graph()
    if was_building is not None and was_building is not _stacks.graph:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared "
            "graph, exit the nesting and create a new graph."
        )
    _stacks.graph = None
    if was_building is not None:
        _mica.tf_set_graph(get_default_graph_outside())


def get_default_graph_outside() -> Graph:
    """Return the default graph of a thread that builds no other."""
    with building(None):
        return get_default_graph()


def disable_eager_execution() -> None:
    """From now on this thread adds ops to the default graph."""
    if current_graph() is None:
        _mica.tf_set_graph(get_default_graph_outside())


def enable_eager_execution() -> None:
    """Ops run at once; too late when the default graph is being built."""
    if current_graph() is not None:
        raise ValueError("tf.enable_eager_execution must be called at program startup.")


# ---- what fetches and feeds stand for ------------------------------------------------------------


def _by_name(graph, name: str, allow_tensor: bool, allow_operation: bool):
    operation, colon, index = name.partition(":")
    if colon and allow_tensor:
        if not index.isdigit():
            raise ValueError(
                f"The name {name!r} looks a like a Tensor name, but is not a valid one. "
                "Tensor names "
                'must be of the form "<op_name>:<output_index>".'
            )
        found = _operation_named(graph, operation)
        if found is None or int(index) >= len(found.outputs):
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                f"{operation!r}, does not exist in the graph."
            )
        return found.outputs[int(index)]
    if allow_operation and not colon:
        found = _operation_named(graph, name)
        if found is None:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        return found
    raise ValueError(f"{name!r} is no name of a {'Tensor' if allow_tensor else 'Operation'}.")


def _operation_named(graph, name: str):
    return next((o for o in graph.get_operations() if o.name == name), None)


def graph_element(graph, given, allow_tensor: bool = True, allow_operation: bool = True):
    """Return the tensor or operation of the graph that an object or a name stands for."""
    value = given
    if isinstance(given, str):
        return _by_name(graph, given, allow_tensor, allow_operation)
    if isinstance(given, Variable):
        with building(graph):
            value = given._as_graph_element()
    if isinstance(value, _mica.TFEagerTensor):
        value = _mica.tf_lift(graph, value)
    is_tensor, is_operation = isinstance(value, Tensor), isinstance(value, Operation)
    if not (is_tensor and allow_tensor) and not (is_operation and allow_operation):
        kinds = [k for k, ok in (("Tensor", allow_tensor), ("Operation", allow_operation)) if ok]
        raise TypeError(f"Can not convert a {type(given).__name__} into a {' or '.join(kinds)}.")
    if value.graph is not graph:
        raise ValueError(
            f"{'Tensor' if is_tensor else 'Operation'} {value} is not an element of this graph."
        )
    return value


class _Fetches:
    """A nest of fetches: what it asks for, and the nest again with values in it."""

    def __init__(self, graph, fetches) -> None:
        self._graph = graph
        self.tensors: list = []
        self.targets: list[int] = []
        self._places: dict = {}
        self._build = self._plan(fetches)

    def _place(self, tensor) -> int:
        key = (tensor._node, tensor.value_index)
        if key not in self._places:
            self._places[key] = len(self.tensors)
            self.tensors.append(tensor)
        return self._places[key]

    def _plan(self, fetch):
        """Return a function of the values of all tensors that gives this part of the nest."""
        if fetch is None:
            raise TypeError("Fetch argument None has invalid type <class 'NoneType'>")
        if isinstance(fetch, (list, tuple)):
            parts = [self._plan(part) for part in fetch]
            if hasattr(fetch, "_fields"):
                return lambda values: type(fetch)(*(p(values) for p in parts))
            return lambda values: type(fetch)([p(values) for p in parts])
        if isinstance(fetch, dict):
            pairs = [(key, self._plan(part)) for key, part in fetch.items()]
            return lambda values: type(fetch)((key, p(values)) for key, p in pairs)
        if hasattr(type(fetch), "__attrs_attrs__"):
            fields = [a.name for a in type(fetch).__attrs_attrs__]
            parts = [self._plan(getattr(fetch, name)) for name in fields]
            return lambda values: type(fetch)(*(p(values) for p in parts))
        if hasattr(fetch, "indices") and hasattr(fetch, "values"):
            return self._composite(fetch)
        return self._leaf(fetch)

    def _composite(self, fetch):
        shape = fetch.dense_shape
        parts = [self._leaf(fetch.values), self._leaf(fetch.indices)]
        parts += [] if shape is None else [self._leaf(shape)]
        if isinstance(fetch, CompositeTensor):
            return lambda values: SparseTensorValue(
                parts[1](values), parts[0](values), parts[2](values)
            )
        return lambda values: IndexedSlicesValue(
            *(p(values) for p in parts), *([None] if shape is None else [])
        )

    def _leaf(self, fetch):
        try:
            element = graph_element(self._graph, fetch)
        except TypeError as error:
            raise TypeError(
                f"Fetch argument {fetch!r} has invalid type {type(fetch)}, must be a string or "
                f"Tensor. ({error})"
            ) from None
        except (KeyError, ValueError) as error:
            raise ValueError(
                f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error})"
            ) from None
        if isinstance(element, Operation):
            if element.type == "Placeholder":  # a parameter has no node that runs
                self._place(element.outputs[0])
            else:
                self.targets.append(element._number)
            return lambda unused: None
        place = self._place(element)
        return lambda values: values[place]

    def values(self, tensors: list):
        """Return the nest with these values."""
        return self._build([t.numpy() for t in tensors])


def _pairs_of(graph, feed_dict) -> list:
    """Pairs of a tensor of the graph and the value that is fed for it."""
    pairs = []
    for key, value in (feed_dict or {}).items():
        if isinstance(key, CompositeTensor) and hasattr(key, "indices"):
            parts = (
                (value.indices, value.values, value.dense_shape)
                if hasattr(value, "indices")
                else value
            )
            pairs += zip((key.indices, key.values, key.dense_shape), parts, strict=True)
            continue
        try:
            tensor = graph_element(graph, key, allow_operation=False)
        except Exception as error:
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error}") from None
        pairs.append((tensor, value))
    return pairs


def _fed(tensor, value):
    """The value as an eager tensor, when it fits."""
    if isinstance(value, Tensor) and not isinstance(value, _mica.TFEagerTensor):
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include "
            "Python scalars, strings, lists, numpy ndarrays, or TensorHandles. For reference, the "
            f"tensor object was {value} which was passed to the feed with key {tensor}."
        )
    if tensor.dtype in (_dtypes.resource, _dtypes.variant):
        return value
    with building(None):
        made = _converted(value, tensor.dtype)
    if not tensor.shape.is_compatible_with(made.shape):
        raise ValueError(
            f"Cannot feed value of shape {tuple(made.shape)} for Tensor {tensor.name}, which has "
            f"shape {tuple(tensor.shape) if tensor.shape.rank is not None else '<unknown>'}"
        )
    return made


def _converted(value, dtype):
    if isinstance(value, _mica.TFEagerTensor):
        return value if value.dtype == dtype else convert_to_tensor(value.numpy(), dtype)
    if dtype == _dtypes.string:
        return convert_to_tensor(value, dtype)
    given = numpy.asarray(value)
    if given.dtype.kind in "SUO" and given.size:
        given = given.astype(dtype.as_numpy_dtype)
    if isinstance(value, int) and given.astype(dtype.as_numpy_dtype) != value:
        raise TypeError(
            f"Type of feed value {value} with type {type(value)} is not compatible with Tensor "
            f"type {dtype.as_numpy_dtype}. Try explicitly setting the type of the feed tensor to a "
            "larger type (e.g. int64)."
        )
    return convert_to_tensor(given.astype(dtype.as_numpy_dtype, copy=False), dtype)


# ---- sessions ------------------------------------------------------------------------------------


class _Run:
    """The function of fetches and feeds."""

    def __init__(self, graph, feeds: list, fetches: _Fetches) -> None:
        targets = list(dict.fromkeys(fetches.targets))
        ranges = graph._order.ranges()
        self.function, nodes = graph._prune(feeds, fetches.tensors, targets, ranges)
        external = {internal._node: outside for outside, internal in graph._captures()}
        self.given = [external.get(node, graph._tensor(node, 0)) for node in nodes]


class BaseSession:
    """What runs parts of a graph: see Session."""

    def __init__(self, target: str = "", graph=None, config=None) -> None:
        if target and not isinstance(target, str | bytes):
            raise TypeError(f"`target` must be a string. Received: {target}.")
        if target not in ("", "local", b""):
            raise errors.UnimplementedError(
                None, None, f"Session: target={target!r}: sessions run in this process; give ''"
            )
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"`graph` must be a tf.Graph. Received: {graph!r}.")
        self._graph = get_default_graph() if graph is None else graph
        self._config = config
        self._handles: dict = {}
        self._runs: dict = {}
        self._is_closed = False
        self._is_placement_shown = False
        self._n_begun = 0

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph

    @property
    def graph_def(self):
        """The graph as a message."""
        return self._graph.as_graph_def()

    @property
    def sess_str(self) -> str:
        """The target, which is this process."""
        return ""

    def _handle(self, external):
        """The session's own variable in place of the graph's."""
        variable = external._variable and external._variable()
        if variable is None or not variable._is_of_graph:
            return external
        own = self._handles.get(external._id)
        if own is None:
            with building(None):
                own = _mica.tf_variable(variable._shared_name, variable.dtype, variable.shape)
            self._handles[external._id] = own
        return own

    def _value_of(self, external):
        if not isinstance(external, _mica.TFEagerTensor):
            shape = external.shape
            dtype = _PROTO_NAMES.get(external.dtype.name, external.dtype.name)
            text = (
                f" with dtype {dtype}"
                if shape.rank is None
                else (
                    f" with dtype {dtype} and shape "
                    f"[{','.join('?' if n is None else str(n) for n in shape)}]"
                )
            )
            raise errors.InvalidArgumentError(
                None,
                external.op,
                f"You must feed a value for placeholder tensor {external.op.name!r}{text}",
            )
        return self._handle(external) if external.dtype == _dtypes.resource else external

    def _load(self, variable, value) -> None:
        """Give a variable of the graph another value here."""
        handle = self._handle(variable._handle)
        with building(None):
            ops["AssignVariableOp"](handle, convert_to_tensor(value, variable.dtype))

    def _check(self) -> None:
        if self._is_closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if self._graph._node_count == 0:
            raise RuntimeError(
                "The Session graph is empty. Add operations to the graph before calling run()."
            )

    def _value(self, variable):
        """The value of a variable of the graph here, as an eager tensor."""
        handle = self._handle(variable._handle)
        with building(None):
            return ops["ReadVariableOp"](handle, variable.dtype)

    def _begin(self) -> None:
        """Run what the graph wants to have run before anything else."""
        waiting = self._graph.__dict__.get("_at_first_run", ())
        while self._n_begun < len(waiting):
            self._n_begun += 1
            self.run(waiting[self._n_begun - 1])

    def _show_placement(self) -> None:
        if self._is_placement_shown or not getattr(self._config, "log_device_placement", False):
            return
        self._is_placement_shown = True

        print(placement_text(self._graph), file=sys.stderr)

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """Run what the fetches need and return their values, in the structure of the fetches."""
        if run_metadata is not None or getattr(options, "trace_level", 0):
            raise NotImplementedError("Session.run: runs are not traced; leave run_metadata out")
        self._check()
        self._show_placement()
        self._begin()
        wanted = _Fetches(self._graph, fetches)
        pairs = _pairs_of(self._graph, feed_dict)
        feeds = [_fed(tensor, value) for tensor, value in pairs]
        tensors = self._results(wanted, [tensor for tensor, _ in pairs], feeds)
        return wanted.values(tensors)

    def _results(self, wanted: _Fetches, places: list, feeds: list) -> list:
        key = (
            tuple((t._node, t.value_index) for t in places),
            tuple((t._node, t.value_index) for t in wanted.tensors),
            tuple(wanted.targets),
        )
        run = self._runs.get(key)
        if run is None:
            run = self._runs[key] = _Run(self._graph, places, wanted)
        given = [self._value_of(external) for external in run.given]
        with building(None):
            return run.function._run(feeds + given)

    def make_callable(self, fetches, feed_list=None, accept_options=False):
        """Return a function of the values to feed that runs the fetches."""
        if accept_options:
            raise NotImplementedError("make_callable: runs have no options; leave it out")
        places = list(feed_list or ())
        return lambda *values: self.run(fetches, dict(zip(places, values, strict=True)))

    def partial_run_setup(self, fetches, feeds=None):
        """Refuse: a run is whole."""
        raise NotImplementedError(
            f"partial_run_setup({fetches}, {feeds}): a run is whole; use run()"
        )

    def list_devices(self) -> list:
        """Return the devices of this process."""
        return list_logical_devices()

    def as_default(self):
        """Return a context in which this is the default session; it stays open at its end."""
        return _DefaultSession(self)

    def close(self) -> None:
        """Forget the values of variables."""
        self._is_closed = True
        self._handles.clear()
        self._runs.clear()


class _DefaultSession:
    def __init__(self, session) -> None:
        self._session = session

    def __enter__(self):
        _stacks.sessions.append(self._session)
        return self._session

    def __exit__(self, *unused) -> None:
        _stacks.sessions.remove(self._session)


class Session(BaseSession):
    """Runs parts of a graph; its variables are its own.

    Within `with`, it and its graph are the defaults, and at the end it is closed.

    Parameters
    ----------
    target
        "": this process.
    graph
        The graph; the default graph if it is left out.
    config
        A ConfigProto: with log_device_placement the first run prints where ops are.
    """

    def __enter__(self) -> Session:
        self._before = _mica.tf_set_graph(self._graph)
        _stacks.sessions.append(self)
        return self

    def __exit__(self, *unused) -> None:
        _stacks.sessions.remove(self)
        _mica.tf_set_graph(self._before)
        self.close()

    @staticmethod
    def reset(target, containers=None, config=None) -> None:
        """Refuse: variables are those of sessions, which `close` forgets."""
        raise NotImplementedError(f"Session.reset({target!r}, {containers}, {config}): use close()")


class InteractiveSession(BaseSession):
    """A session that is the default one from the start, until it is closed."""

    def __init__(self, target: str = "", graph=None, config=None) -> None:
        super().__init__(target, graph, config)
        self._before = _mica.tf_set_graph(graph) if graph is not None else False
        _stacks.sessions.append(self)

    def close(self) -> None:
        """Close it, and let the session before be the default one."""
        if self in _stacks.sessions:
            _stacks.sessions.remove(self)
            if self._before is not False:
                _mica.tf_set_graph(self._before)
        super().close()


def get_default_session():
    """Return the innermost session that is a default one, or None."""
    return _stacks.sessions[-1] if _stacks.sessions else None


def session_or_default(session):
    """Return the session, or the default one; a ValueError without one."""
    session = session or get_default_session()
    if session is None:
        raise ValueError(
            "Either session argument should be provided or default session should be established"
        )
    return session


def evaluate(element, feed_dict=None, session=None):
    """Run a tensor or operation in a session, the default one if none is given."""
    if isinstance(element, _mica.TFEagerTensor):
        raise NotImplementedError(
            "eval is not supported when eager execution is enabled, is .numpy() what you're "
            "looking for?"
        )
    session = session or get_default_session()
    if session is None:
        what = (
            "evaluate tensor using `eval()`"
            if isinstance(element, Tensor)
            else ("execute operation using `run()`")
        )
        raise ValueError(
            f"Cannot {what}: No default session is registered. Use `with sess.as_default()` or "
            "pass "
            "an explicit session to `eval(session=sess)`"
        )
    if element.graph is not session.graph:
        raise ValueError(
            "Cannot use the given session to evaluate tensor: the tensor's graph is different from "
            "the session's graph."
        )
    return session.run(element, feed_dict)
