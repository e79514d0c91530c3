"""tf.Variable: a tensor that changes."""

from __future__ import annotations

import enum
import html
import operator
import threading
import weakref

import numpy

from .. import _mica, _notebook
from . import _dtypes
from ._context import building, graph_of_variables
from ._core import Reference, Tensor, convert_to_tensor, ops
from ._names import _set_scope, current_scope, scoped
from ._shapes import TensorShape
from ._specs import register_type_spec
from ._tracking import Trackable
from ._variable_updates import Updates, VariableSpec

_names: dict[str, int] = {}
_creators = threading.local()


class VariableSynchronization(enum.Enum):
    """When a distributed variable is brought together."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How the copies of a distributed variable are brought together."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


def _mode(kind: type[enum.Enum], value, name):
    """A member of an enum, or the number of one; None is the first."""
    try:
        return kind(0 if value is None else value)
    except ValueError:
        words = kind.__name__.removeprefix("Variable").lower()
        raise ValueError(f"Invalid variable {words} mode: {value} for variable: {name}") from None


def _value_now(tensor):
    """Return the value that a symbolic tensor has in the call whose trace is being made."""
    graph = tensor.graph
    captured = {internal._node: external for external, internal in graph._captures()}
    arguments = getattr(graph, "_arguments", [])
    known: list = []
    needed = _ancestors(tensor)
    for i in range(graph._parameter_count):
        parameter = graph._parameter_at(i)
        value = captured.get(parameter._node, arguments[i] if i < len(arguments) else None)
        if parameter._node in needed and not isinstance(value, _mica.TFEagerTensor | None):
            value = _value_now(value)
        known.append(value if isinstance(value, _mica.TFEagerTensor) else None)
    return graph._evaluate(tensor, known)


def _ancestors(tensor) -> set:
    """The nodes of a tensor and of all that it is computed of in its graph."""
    found: set = set()
    waiting = [tensor]
    while waiting:
        each = waiting.pop()
        if each._node not in found:
            found.add(each._node)
            waiting.extend(each.op.inputs)
    return found


class Variable(Updates, Trackable):
    """A variable: its value can be read, assigned and differentiated with respect to.

    Parameters
    ----------
    initial_value
        What it starts with: anything that converts to a tensor, or a function that returns that.
    trainable
        Whether tapes watch it when it is read; True for floats by default.
    shape
        What shapes its values may have; by default that of the initial value.
    """

    __array_priority__ = 101
    _is_of_graph = False  # whether its values are those of sessions

    def __new__(cls, *args, **kwargs):
        """Ask the creators of enclosing variable_creator_scopes first."""
        scopes = getattr(_creators, "scopes", None)
        if scopes and cls is Variable:
            return _create_through(list(scopes), args, kwargs)
        return super().__new__(cls)

    def __init__(
        self,
        initial_value=None,
        trainable=None,
        validate_shape=True,
        caching_device=None,
        name=None,
        variable_def=None,
        dtype=None,
        import_scope=None,
        constraint=None,
        synchronization=VariableSynchronization.AUTO,
        aggregation=VariableAggregation.NONE,
        shape=None,
        experimental_enable_variable_lifting=True,
    ) -> None:
        if getattr(self, "_handle", None) is not None:
            return
        if variable_def is not None:
            raise ValueError(
                "The `variable_def` and `initial_value` args to `tf.Variable` are mutually "
                f"exclusive, and only `initial_value` makes a variable: variable_def={variable_def}"
            )
        if initial_value is None:
            raise ValueError("The `initial_value` arg to `tf.Variable` must be specified.")
        self._synchronization = _mode(VariableSynchronization, synchronization, name)
        self._aggregation = _mode(VariableAggregation, aggregation, name)
        self._constraint = constraint
        graph = _mica.tf_current_graph()
        root = None if graph is None else graph_of_variables()
        if root is not None:
            self._add_to(root, initial_value, trainable, validate_shape, name, dtype, shape)
            return
        note_creation(graph)
        before = _mica.tf_set_graph(None)
        _mica.tf_stop_recording(1)
        try:
            value = initial_value() if callable(initial_value) else initial_value
            value = self._concrete(value, dtype)
            kept_shape = TensorShape(shape) if shape is not None else value.shape
            if not validate_shape:
                kept_shape = TensorShape(None)
            self._name = scoped(name or "Variable")
            self._handle = _mica.tf_variable(self._name, value.dtype, kept_shape)
            elsewhere = _mica.tf_remote()
            if elsewhere is not None:
                elsewhere.make_variable(self._handle, self._name, value.dtype, kept_shape)
            ops["AssignVariableOp"](self._handle, value)
        finally:
            _mica.tf_stop_recording(-1)
            _mica.tf_set_graph(before)
        self._dtype = value.dtype
        self._shape = kept_shape
        is_float = value.dtype.is_floating or value.dtype.is_complex
        self._trainable = True if trainable is None else bool(trainable)
        self._handle._trainable = self._trainable and is_float
        self._handle._variable = weakref.ref(self)
        if graph is not None:
            keep_alive(graph, self)

    # ---- in a graph that sessions run ------------------------------------------------------------

    def _add_to(self, graph, initial_value, trainable, validate_shape, name, dtype, shape) -> None:
        """Become a variable of a graph: sessions have the values, `initializer` gives the first."""
        scope = current_scope()
        place = building(graph)
        with place:
            outside = current_scope()
            _set_scope(graph, scope)
            self._name = graph.unique_name(name or "Variable").removesuffix("/")
            _set_scope(graph, "")
            graph._order.push(None)
            _mica.tf_stop_recording(1)
            try:
                value = initial_value() if callable(initial_value) else initial_value
                value = convert_to_tensor(value, dtype)
                if not isinstance(value, _mica.TFEagerTensor) and value.graph is not graph:
                    raise ValueError(
                        f"The initial value of {self._name} is computed within {value.graph.name}, "
                        "which sessions do not run: give a function that computes it"
                    )
                kept = TensorShape(shape) if shape is not None else value.shape
                if not validate_shape:
                    kept = TensorShape(None)
                elif not kept.is_fully_defined() and shape is None:
                    raise ValueError(
                        f"initial_value must have a shape specified: {value} ({self._name})"
                    )
                self._handle = _mica.tf_variable(self._name, value.dtype, kept)
                self._handle._variable = weakref.ref(self)
                ops["AssignVariableOp"](self._handle, value, name=f"{self._name}/Assign")
                self._initializer = graph._last_operation()
            finally:
                _mica.tf_stop_recording(-1)
                graph._order.pop()
                _set_scope(graph, outside)
        self._is_of_graph, self._in_graph, self._initial_value = True, graph, value
        self._element = None
        self._dtype, self._shape = value.dtype, kept
        self._trainable = True if trainable is None else bool(trainable)
        is_float = value.dtype.is_floating or value.dtype.is_complex
        self._handle._trainable = self._trainable and is_float
        self._collect(graph)

    def _collect(self, graph) -> None:
        graph.add_to_collection("variables", self)
        if self._trainable:
            graph.add_to_collection("trainable_variables", self)

    def _as_graph_element(self):
        """The value as a tensor of the graph, the same one each time."""
        if self._is_of_graph and self._element is not None:
            return self._element
        graph = _mica.tf_current_graph()
        graph._order.push(None)
        try:
            value = self._read()
        finally:
            graph._order.pop()
        if self._is_of_graph:
            self._element = value
        return value

    def _begin_with(self, value) -> None:
        """Begin with another value than what it was made with."""
        graph = self._in_graph
        with building(graph):
            graph._order.push(None)
            ops["AssignVariableOp"](self._handle, convert_to_tensor(value, self._dtype))
            self._initializer = graph._last_operation()
            graph._order.pop()

    @property
    def initializer(self):
        """The operation of a graph that gives it its first value."""
        return self._of_graph("initializer", "_initializer")

    @property
    def initial_value(self):
        """The tensor of a graph that is its first value."""
        return self._of_graph("initial_value", "_initial_value")

    def _of_graph(self, what: str, attribute: str):
        if not self._is_of_graph:
            raise RuntimeError(
                f"This operation is not supported when eager execution is enabled: "
                f"{what} of {self.name}"
            )
        return getattr(self, attribute)

    def _standing_in(self, handle):
        """Return a variable like this one for a function's argument: its handle is a parameter."""
        variable = object.__new__(type(self))
        variable.__dict__.update(self.__dict__)
        variable._handle = handle
        variable._stands_for = self._unique_id
        handle._trainable = self._handle._trainable
        handle._variable = weakref.ref(variable)
        return variable

    @staticmethod
    def _concrete(value, dtype):
        """Return an eager tensor; a symbolic one is computed now from what it depends on."""
        if isinstance(value, Tensor) and not isinstance(value, _mica.TFEagerTensor):
            try:
                value = _value_now(value)
            except Exception as error:
                raise ValueError(
                    "Tensor-typed variable initializers must either be wrapped in an init_scope "
                    "or callable (e.g., `tf.Variable(lambda : tf.truncated_normal([10, 40]))`) "
                    f"when building functions: {error}"
                ) from None
        return convert_to_tensor(value, dtype)

    # ---- what it is ------------------------------------------------------------------------------

    @property
    def handle(self):
        """The handle that ops refer to it by."""
        return self._handle

    @property
    def dtype(self):
        """The element type."""
        return self._dtype

    @property
    def shape(self):
        """The shape of its values."""
        return self._shape

    def get_shape(self):
        """Return the shape of its values."""
        return self._shape

    @property
    def ndim(self):
        """The number of axes."""
        return self._shape.rank

    @property
    def name(self) -> str:
        """The name, with the number of the output, as TensorFlow writes it."""
        return self._name if ":" in self._name else self._name + ":0"

    @property
    def _shared_name(self) -> str:
        return self._name.partition(":")[0]

    @property
    def _unique_id(self) -> str:
        if "_stands_for" in self.__dict__:
            return self._stands_for
        return f"{self._shared_name}_{self._handle._id}"

    @property
    def trainable(self) -> bool:
        """Whether tapes watch it."""
        return self._trainable

    @property
    def device(self) -> str:
        """Where its value is."""
        home = self._handle._home
        return self._handle.device if home is None else home.name

    @property
    def synchronization(self):
        """When copies are brought together."""
        return self._synchronization

    @property
    def aggregation(self):
        """How copies are brought together."""
        return self._aggregation

    @property
    def constraint(self):
        """A function that keeps its value within bounds, for optimizers."""
        return self._constraint

    @property
    def graph(self):
        """The graph that it belongs to, or else the one that is being built."""
        return self._in_graph if self._is_of_graph else _mica.tf_current_graph()

    @property
    def op(self):
        """The op that made it."""
        return _VariableOp(self) if self._is_of_graph else self._handle

    # ---- reading ---------------------------------------------------------------------------------

    def _read(self):
        value = ops["ReadVariableOp"](self._handle, self._dtype)
        if not isinstance(value, _mica.TFEagerTensor) and self._shape.rank is not None:
            value.set_shape(self._shape)
        return value

    def value(self):
        """Return the value as a tensor."""
        return self._read()

    def read_value(self):
        """Return the value as a tensor, where ops are asked to go."""
        value = self._read()
        return value if _mica.tf_remote() is None else ops["Identity"](value)

    def numpy(self):
        """Return the value as numpy's."""
        if _mica.tf_current_graph() is not None:
            raise NotImplementedError("numpy() is only available when eager execution is enabled.")
        return self._read().numpy()

    def initialized_value(self):
        """Return the value; in a graph the first one."""
        return self._initial_value if self._is_of_graph else self._read()

    def is_initialized(self, name=None):
        """Whether it has a value."""
        return ops["VarIsInitializedOp"](self._handle, name=name)

    def eval(self, session=None):
        """Return the value as numpy's: of a session, in a graph."""
        if not self._is_of_graph:
            return self.numpy()
        from ._session import evaluate

        with building(self._in_graph):
            element = self._as_graph_element()
        return evaluate(element, None, session)

    def __tf_tensor__(self, dtype=None, name=None):
        """Return the value, for conversions."""
        if dtype is not None and dtype != self._dtype:
            raise ValueError(
                f"Incompatible type conversion requested to type {dtype.name!r} for variable of "
                f"type {self._dtype.name!r}"
            )
        return self._read()

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError(
                "Unable to avoid copy while creating an array as requested: "
                "the value of a variable may change"
            )
        return numpy.asarray(self.numpy(), dtype)

    # ---- assigning -------------------------------------------------------------------------------

    def _assigned(self, read_value: bool):
        graph = _mica.tf_current_graph()
        if graph is not None and graph._runs_parts:
            operation = graph._last_operation()
            return _Unread(self, operation) if read_value else operation
        if not read_value:
            return None
        return self if _mica.tf_current_graph() is None else _Assigned(self)

    def _value_for(self, value):
        value = convert_to_tensor(value, self._dtype)
        if not self._shape.is_compatible_with(value.shape):
            raise ValueError(
                f"Cannot assign value to variable '{self.name}': Shape mismatch. The variable "
                f"shape {self._shape}, and the assigned value shape {value.shape} are "
                "incompatible."
            )
        return value

    def assign(self, value, use_locking=None, name=None, read_value=True):
        """Give it another value."""
        ops["AssignVariableOp"](self._handle, self._value_for(value))
        note_assignment(self)
        return self._assigned(read_value)

    def assign_add(self, delta, use_locking=None, name=None, read_value=True):
        """Add to it."""
        ops["AssignAddVariableOp"](self._handle, convert_to_tensor(delta, self._dtype))
        note_assignment(self)
        return self._assigned(read_value)

    def assign_sub(self, delta, use_locking=None, name=None, read_value=True):
        """Subtract from it."""
        ops["AssignSubVariableOp"](self._handle, convert_to_tensor(delta, self._dtype))
        note_assignment(self)
        return self._assigned(read_value)

    def load(self, value, session=None) -> None:
        """Give it another value: in a session, in a graph."""
        if not self._is_of_graph:
            self.assign(value)
            return
        from ._session import session_or_default

        session_or_default(session)._load(self, value)

    # ---- as a tensor -----------------------------------------------------------------------------

    def __iter__(self):
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __bool__(self) -> bool:
        return bool(self._read())

    __nonzero__ = __bool__

    def __int__(self) -> int:
        return int(self._read())

    def __float__(self) -> float:
        return float(self._read())

    def __index__(self) -> int:
        return self._read().__index__()

    def __complex__(self) -> complex:
        return complex(self.numpy())

    def ref(self):
        """Return a hashable reference."""
        return Reference(self)

    def set_shape(self, shape) -> None:
        """Say what is known about the shape."""
        self._shape = self._shape.merge_with(shape)

    def experimental_ref(self):
        """Return a hashable reference."""
        return Reference(self)

    def __hash__(self):
        if self._is_of_graph or not _mica.tf_compares_values():
            return hash(self._unique_id)
        raise TypeError("Variable is unhashable. Instead, use variable.ref() as the key.")

    def __eq__(self, other):
        if self._is_of_graph or not _mica.tf_compares_values():
            return self is other
        return self._read() == other

    def __ne__(self, other):
        if self._is_of_graph or not _mica.tf_compares_values():
            return self is not other
        return self._read() != other

    def _repr_html_(self) -> str:
        text = _notebook.eager_html(self._read()) if _mica.tf_current_graph() is None else ""
        return f"<code>{html.escape(self.name)}</code> {text}"

    def __repr__(self) -> str:
        from . import _printing

        value = None if _mica.tf_current_graph() is not None else _printing.array_of(self)
        return _printing.variable_repr(self.name, self._shape, self._dtype.name, value)

    def __deepcopy__(self, memo):
        copy = Variable(
            self.numpy(),
            trainable=self._trainable,
            name=self._name,
            dtype=self._dtype,
            shape=self._shape,
            constraint=self._constraint,
        )
        memo[id(self)] = copy
        return copy

    def __reduce__(self):
        return _restore, (self.numpy(), self._trainable, self._name, self._dtype.name)


def _restore(value, trainable, name, dtype):
    return Variable(value, trainable=trainable, name=name, dtype=_dtypes.as_dtype(dtype))


def _forward_operators() -> None:
    def forward(function):
        return lambda self, other: function(self._read(), other)

    def reflected(function):
        return lambda self, other: function(other, self._read())

    def alone(function):
        return lambda self: function(self._read())

    for name in "add sub mul truediv floordiv mod pow matmul and_ or_ xor".split():
        function = getattr(operator, name)
        plain = name.rstrip("_")
        setattr(Variable, f"__{plain}__", forward(function))
        setattr(Variable, f"__r{plain}__", reflected(function))
    for name in ("lt", "le", "gt", "ge"):
        setattr(Variable, f"__{name}__", forward(getattr(operator, name)))
    for name in ("neg", "abs", "invert", "pos"):
        setattr(Variable, f"__{name}__", alone(getattr(operator, name)))


_forward_operators()


class _Assigned(Variable):
    """What an assignment inside a function returns: the variable, to go on with."""

    def __new__(cls, variable):
        """Share everything with the variable."""
        return object.__new__(cls)

    def __init__(self, variable) -> None:
        self.__dict__.update(variable.__dict__)


class _Unread(_Assigned):
    """What an assignment in a graph returns: the operation, and the value that is read after it."""

    def __init__(self, variable, operation) -> None:
        super().__init__(variable)
        self._operation = operation
        self._element = None

    def __new__(cls, variable, operation):
        """Share everything with the variable."""
        return object.__new__(cls)

    @property
    def op(self):
        """The assignment."""
        return self._operation

    def _read(self):
        graph = _mica.tf_current_graph()
        if graph is not self._operation.graph:
            return super()._read()
        graph._order.push([self._operation._number])
        try:
            return super()._read()
        finally:
            graph._order.pop()

    def _as_graph_element(self):
        if self._element is None:
            self._element = self._read()
        return self._element


class _VariableOp:
    """The operation that a variable of a graph would be made by."""

    type = "VarHandleOp"

    def __init__(self, variable) -> None:
        self.name, self.graph = variable._shared_name, variable.graph

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type=VarHandleOp>"


# ---- what functions under construction know ----------------------------------------------------


def note_creation(graph) -> None:
    """Tell the function being traced that it creates a variable; it may refuse."""
    while graph is not None:
        notice = getattr(graph, "_variable_created", None)
        if notice is not None:
            notice()
        graph = graph.outer_graph


def keep_alive(graph, variable) -> None:
    """A variable made while tracing lives at least as long as the trace's function."""
    kept = getattr(graph, "_weak_variables", None)
    if kept is None:
        graph._weak_variables = kept = []
    kept.append(weakref.ref(variable))


def note_assignment(variable) -> None:
    """Tell the graph being built that the variable changes in it."""
    graph = _mica.tf_current_graph()
    if graph is not None:
        assigned = getattr(graph, "_assigned", None)
        if assigned is None:
            graph._assigned = assigned = set()
        assigned.add(variable._handle._id)


def _create_through(scopes, args, kwargs):
    if not scopes:
        before, _creators.scopes = getattr(_creators, "scopes", None), None
        try:
            return Variable(*args, **kwargs)
        finally:
            _creators.scopes = before
    if args:
        kwargs["initial_value"] = args[0]

    def next_creator(**more):
        return _create_through(scopes[:-1], (), more)

    return scopes[-1](next_creator, **kwargs)


class variable_creator_scope:
    """Within it, `variable_creator(next_creator, **kwargs)` makes variables."""

    def __init__(self, variable_creator) -> None:
        self._creator = variable_creator

    def __enter__(self) -> None:
        if getattr(_creators, "scopes", None) is None:
            _creators.scopes = []
        _creators.scopes.append(self._creator)

    def __exit__(self, *unused) -> None:
        _creators.scopes.pop()


register_type_spec(Variable, lambda v: VariableSpec(v.shape, v.dtype, v.trainable))
Variable.__name__ = "ResourceVariable"  # what programs see that print the type of a variable
