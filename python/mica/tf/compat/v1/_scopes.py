"""Variables by name: variable_scope, get_variable, make_template."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading

from ... import _dtypes
from ..._composite import is_tensor
from ..._context import building, graph_of_variables
from ..._core import convert_to_tensor
from ..._names import _set_scope, current_scope, name_scope
from ..._session import get_default_graph
from ..._shapes import TensorShape
from ..._variable import Variable as _Variable
from ..._variable import VariableAggregation, VariableSynchronization
from ...initializers import GlorotUniform, Zeros


class _ReuseMode:
    """What reuse may be besides True and False."""

    def __repr__(self) -> str:
        return "<_ReuseMode.AUTO_REUSE: 1>"


AUTO_REUSE = _ReuseMode()


class GraphKeys:
    """Names of the collections of a graph."""

    GLOBAL_VARIABLES = VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    EVAL_STEP = "eval_step"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"


class Variable(_Variable):
    """A variable with the arguments of TensorFlow 1: in a graph its values are those of sessions.

    Parameters
    ----------
    collections
        The names of the graph's lists that it is put in; GLOBAL_VARIABLES by default.
    """

    def __init__(
        self,
        initial_value=None,
        trainable=None,
        collections=None,
        validate_shape=True,
        caching_device=None,
        name=None,
        variable_def=None,
        dtype=None,
        expected_shape=None,
        import_scope=None,
        constraint=None,
        use_resource=None,
        synchronization=VariableSynchronization.AUTO,
        aggregation=VariableAggregation.NONE,
        shape=None,
    ) -> None:
        if use_resource is not None and not isinstance(use_resource, bool):
            raise ValueError(f"use_resource is True, False or None, not {use_resource!r}")
        if collections is not None and not isinstance(collections, (list, tuple, set)):
            raise ValueError(
                "collections argument to Variable constructor must be a list, tuple, or set. Got "
                f"{collections} of type {type(collections)}"
            )
        self._keys = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        super().__init__(
            initial_value,
            trainable,
            validate_shape,
            caching_device,
            name,
            variable_def,
            None if dtype is None else _dtypes.as_dtype(dtype),
            import_scope,
            constraint,
            synchronization,
            aggregation,
            shape if shape is not None else expected_shape,
        )

    def _collect(self, graph) -> None:
        keys = list(self._keys)
        if self._trainable and GraphKeys.TRAINABLE_VARIABLES not in keys:
            keys.append(GraphKeys.TRAINABLE_VARIABLES)
        graph.add_to_collections(keys, self)


# ---- scopes --------------------------------------------------------------------------------------


class VariableScope:
    """What variables made by get_variable within it have in common."""

    def __init__(
        self,
        reuse,
        name="",
        initializer=None,
        regularizer=None,
        caching_device=None,
        partitioner=None,
        custom_getter=None,
        name_scope="",
        dtype=_dtypes.float32,
        use_resource=None,
        constraint=None,
    ) -> None:
        if caching_device is not None or partitioner is not None:
            raise NotImplementedError(
                f"variable_scope({name!r}): variables are whole and are read where they are: leave "
                "caching_device and partitioner out"
            )
        self._reuse, self._name, self._custom_getter = reuse, name, custom_getter
        self._initializer, self._regularizer = initializer, regularizer
        self._original_name_scope = name_scope
        self._dtype, self._constraint, self._use_resource = dtype, constraint, use_resource

    @property
    def name(self) -> str:
        """The name, which variables' names begin with."""
        return self._name

    @property
    def original_name_scope(self) -> str:
        """The name scope that was opened with it."""
        return self._original_name_scope

    @property
    def reuse(self):
        """Whether get_variable gives variables that are there."""
        return self._reuse

    @property
    def initializer(self):
        """The initializer of variables without one."""
        return self._initializer

    @property
    def regularizer(self):
        """The regularizer of variables without one."""
        return self._regularizer

    @property
    def dtype(self):
        """The dtype of variables without one."""
        return self._dtype

    @property
    def constraint(self):
        """The constraint of variables without one."""
        return self._constraint

    @property
    def use_resource(self):
        """What was asked for; all variables are resources."""
        return self._use_resource

    @property
    def custom_getter(self):
        """What is asked in place of get_variable."""
        return self._custom_getter

    def reuse_variables(self) -> None:
        """Let get_variable give variables that are there from now on."""
        self._reuse = True

    def set_initializer(self, initializer) -> None:
        """Set the initializer."""
        self._initializer = initializer

    def set_regularizer(self, regularizer) -> None:
        """Set the regularizer."""
        self._regularizer = regularizer

    def set_dtype(self, dtype) -> None:
        """Set the dtype."""
        self._dtype = dtype

    def set_custom_getter(self, custom_getter) -> None:
        """Set what is asked in place of get_variable."""
        self._custom_getter = custom_getter

    def get_collection(self, name) -> list:
        """Return what is in a list of the graph and has a name within the scope."""
        scope = self._name + "/" if self._name else ""
        return get_default_graph().get_collection(name, scope)

    def global_variables(self) -> list:
        """Return the global variables within the scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def trainable_variables(self) -> list:
        """Return the trainable variables within the scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def local_variables(self) -> list:
        """Return the local variables within the scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)


class _Store:
    """The variables that get_variable made for a graph, by name, and the scope that is open."""

    def __init__(self) -> None:
        self.variables: dict = {}
        self.regularized: dict = {}  # name -> (variable, regularizer), of eager variables
        self.layers: dict = {}  # what get_or_create_layer made, by name
        self.make = None  # makes an eager variable in place of _get, where it is set
        self.scope = VariableScope(False)
        self.counts: dict[str, int] = {}

    def open(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def close_below(self, name: str) -> None:
        for key in self.counts:
            if not name or key.startswith(name + "/"):
                self.counts[key] = 0

    def unique(self, prefix: str) -> str:
        whole = f"{self.scope.name}/{prefix}" if self.scope.name else prefix
        if not self.counts.get(whole, 0):
            return prefix
        number = 1
        while self.counts.get(f"{whole}_{number}", 0):
            number += 1
        return f"{prefix}_{number}"


_eager_store = _Store()  # of variables that nothing keeps but who asked for them
_kept = threading.local()  # .stores: those of objects that keep their variables, innermost last


def kept_store() -> _Store | None:
    """Return the store that an object has for its eager variables, where one is open."""
    stores = getattr(_kept, "stores", None)
    return stores[-1] if stores else None


@contextlib.contextmanager
def keeping(store: _Store):
    """Let get_variable find and make eager variables in a store; its scopes begin anew."""
    if not hasattr(_kept, "stores"):
        _kept.stores = []
    store.scope, store.counts = VariableScope(False), {}
    _kept.stores.append(store)
    try:
        yield store
    finally:
        _kept.stores.pop()


def _store() -> _Store:
    graph = graph_of_variables()
    if graph is None:
        return kept_store() or _eager_store
    found = graph.__dict__.get("_variable_store")
    if found is None:
        found = graph._variable_store = _Store()
    return found


def get_variable_scope() -> VariableScope:
    """Return the scope that is open."""
    return _store().scope


class variable_scope:
    """Within it, get_variable's names begin with its own, and what it says holds for them.

    Parameters
    ----------
    name_or_scope
        A name, or a scope that was open before.
    default_name
        The name where none is given, with a number where it is taken.
    reuse
        True: variables are there already; AUTO_REUSE: they are made where they are not; None: as
        in the scope around.
    """

    def __init__(
        self,
        name_or_scope,
        default_name=None,
        values=None,
        initializer=None,
        regularizer=None,
        caching_device=None,
        partitioner=None,
        custom_getter=None,
        reuse=None,
        dtype=None,
        use_resource=None,
        constraint=None,
        auxiliary_name_scope=True,
    ) -> None:
        if name_or_scope is None and default_name is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if reuse not in (None, False, True) and reuse is not AUTO_REUSE:
            raise ValueError("The reuse parameter must be True or False or None.")
        if name_or_scope is None and reuse:
            raise ValueError("reuse=True cannot be used without a name_or_scope")
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(
                "The auxiliary_name_scope must be `True` or `False`, while get "
                f"{auxiliary_name_scope}"
            )
        if values is not None:
            list(values)  # one graph is being built: the values are of it
        self._given, self._default_name, self._reuse = name_or_scope, default_name, reuse
        self._names_too = auxiliary_name_scope
        self._own = {
            "initializer": initializer,
            "regularizer": regularizer,
            "caching_device": caching_device,
            "partitioner": partitioner,
            "custom_getter": custom_getter,
            "dtype": dtype,
            "use_resource": use_resource,
            "constraint": constraint,
        }

    def __enter__(self) -> VariableScope:
        store = self._store = _store()
        self._before, self._counts = store.scope, None
        given = self._given
        name = store.unique(self._default_name) if given is None else given
        around = given if isinstance(given, VariableScope) else store.scope
        if isinstance(given, VariableScope):
            whole = given.name
            self._counts = dict(store.counts)
            plain = whole.rpartition("/")[2]
        else:
            whole = f"{around.name}/{name}" if around.name and name else around.name or name
            plain = name
        self._whole = whole
        store.open(whole)
        options = {
            "initializer": around.initializer,
            "regularizer": around.regularizer,
            "caching_device": None,
            "partitioner": None,
            "custom_getter": around.custom_getter,
            "dtype": around.dtype,
            "use_resource": around.use_resource,
            "constraint": around.constraint,
        }
        own = {key: value for key, value in self._own.items() if value is not None}
        if own.get("custom_getter") and around.custom_getter:
            own["custom_getter"] = _both_getters(own["custom_getter"], around.custom_getter)
        reuse = self._reuse or around.reuse
        self._scope_of_names = contextlib.nullcontext("")
        if self._names_too and plain:
            self._scope_of_names = name_scope(plain)
        scope_of_names = self._scope_of_names.__enter__()
        if isinstance(given, VariableScope):
            scope_of_names = given.original_name_scope
        store.scope = VariableScope(reuse, whole, name_scope=scope_of_names, **{**options, **own})
        return store.scope

    def __exit__(self, *exception) -> None:
        self._scope_of_names.__exit__(*exception)
        self._store.close_below(self._whole)
        if self._counts is not None:
            self._store.counts = self._counts
        self._store.scope = self._before


def _both_getters(inner, outer):
    def getter(next_getter, *args, **kwargs):
        return outer(functools.partial(inner, next_getter), *args, **kwargs)

    return getter


@contextlib.contextmanager
def variable_op_scope(
    values,
    name_or_scope,
    default_name=None,
    initializer=None,
    regularizer=None,
    caching_device=None,
    partitioner=None,
    custom_getter=None,
    reuse=None,
    dtype=None,
    use_resource=None,
    constraint=None,
):
    """As variable_scope."""
    with variable_scope(
        name_or_scope,
        default_name,
        values,
        initializer=initializer,
        regularizer=regularizer,
        caching_device=caching_device,
        partitioner=partitioner,
        custom_getter=custom_getter,
        reuse=reuse,
        dtype=dtype,
        use_resource=use_resource,
        constraint=constraint,
    ) as scope:
        yield scope


# ---- get_variable --------------------------------------------------------------------------------


def no_regularizer(_) -> None:
    """No regularizer, not even that of the scope."""
    return None


def _default_initializer(name: str, dtype):
    if dtype.is_floating or dtype.is_complex:
        return GlorotUniform()
    if dtype.is_integer or dtype.is_bool:
        return Zeros()
    raise ValueError(f"An initializer for variable {name} of {dtype} is required")


def _first_value(name: str, shape, dtype, initializer):
    """A function of the first value, and its shape."""
    if is_tensor(initializer) or not callable(initializer):
        if shape is not None:
            raise ValueError(
                f"If initializer is a constant, do not specify shape. ({name}, {shape})"
            )
        return lambda: convert_to_tensor(initializer, dtype if dtype is not None else None)
    if inspect.isclass(initializer):
        initializer = initializer()
    if shape is not None and not shape.is_fully_defined():
        raise ValueError(
            f"Shape of a new variable ({name}) must be fully defined, but instead was {shape}."
        )
    if shape is None:
        if _needs_arguments(initializer):
            raise ValueError(
                f"Shape of a new variable ({name}) must be fully defined, but instead was "
                "<unknown>."
            )
        return lambda: convert_to_tensor(initializer(), dtype)
    named = _takes(initializer, "dtype")
    if named:
        return lambda: initializer(shape.as_list(), dtype=dtype)
    return lambda: convert_to_tensor(initializer(shape.as_list()), dtype)


def _needs_arguments(function) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return any(p.default is p.empty and p.kind not in several for p in parameters)


def _takes(function, name: str) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(p.name == name or p.kind is p.VAR_KEYWORD for p in parameters)


def _reused(variable, name: str, shape, dtype):
    if shape is not None and not shape.is_compatible_with(variable.shape):
        raise ValueError(
            f"Trying to share variable {name}, but specified shape {shape} and found shape "
            f"{variable.shape}."
        )
    if not dtype.is_compatible_with(variable.dtype):
        raise ValueError(
            f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
            f"{variable.dtype.name}."
        )
    return variable


def _regularize(variable, name: str, regularizer) -> None:
    graph = get_default_graph()
    with name_scope(name + "/Regularizer/"):
        loss = regularizer(variable)
    if loss is not None:
        graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)


def _get(
    name,
    shape=None,
    dtype=None,
    initializer=None,
    regularizer=None,
    reuse=None,
    trainable=None,
    collections=None,
    validate_shape=True,
    constraint=None,
    synchronization=VariableSynchronization.AUTO,
    aggregation=VariableAggregation.NONE,
    **unused,
):
    store = _store()
    if name in store.variables:
        if reuse is False:
            raise ValueError(
                f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
                "reuse=tf.AUTO_REUSE in VarScope?"
            )
        return _reused(store.variables[name], name, shape, dtype)
    if reuse is True:
        raise ValueError(
            f"Variable {name} does not exist, or was not created with tf.get_variable(). Did you "
            "mean to set reuse=tf.AUTO_REUSE in VarScope?"
        )
    if initializer is None:
        initializer = _default_initializer(name, dtype)
    first = _first_value(name, shape, dtype, initializer)
    graph = graph_of_variables()
    if graph is None and store.make is not None:
        with building(None):
            made = store.make(name, first, dtype, trainable, regularizer)
        store.variables[name] = made
        return made
    with building(graph):
        before = current_scope()
        _set_scope(graph, "")
        try:
            variable = Variable(
                first,
                trainable,
                collections,
                validate_shape,
                name=name,
                dtype=dtype,
                constraint=constraint,
                synchronization=synchronization,
                aggregation=aggregation,
            )
        finally:
            _set_scope(graph, before)
    if store is not _eager_store:
        store.variables[name] = variable
    if regularizer is not None and regularizer is not no_regularizer:
        if graph is None:
            store.regularized[name] = variable, regularizer
        else:
            _regularize(variable, name, regularizer)
    return variable


def get_variable(
    name,
    shape=None,
    dtype=None,
    initializer=None,
    regularizer=None,
    trainable=None,
    collections=None,
    caching_device=None,
    partitioner=None,
    validate_shape=True,
    use_resource=None,
    custom_getter=None,
    constraint=None,
    synchronization=VariableSynchronization.AUTO,
    aggregation=VariableAggregation.NONE,
):
    """Return the variable of this name in the scope, or make it, as the scope's `reuse` says."""
    if caching_device is not None or partitioner is not None or use_resource is False:
        raise NotImplementedError(
            f"get_variable({name!r}): variables are whole resources that are read where they are: "
            "leave caching_device and partitioner out, and use_resource=False"
        )
    scope = get_variable_scope()
    whole = f"{scope.name}/{name}" if scope.name else name
    is_constant = is_tensor(initializer) or (initializer is not None and not callable(initializer))
    if dtype is None:
        dtype = convert_to_tensor(initializer).dtype if is_constant else scope.dtype
    getter = custom_getter or scope.custom_getter
    if custom_getter and scope.custom_getter:
        getter = _both_getters(custom_getter, scope.custom_getter)
    make = _get if getter is None else functools.partial(getter, _get)
    synchronized = VariableSynchronization(synchronization)
    if trainable is None:
        trainable = synchronized is not VariableSynchronization.ON_READ
    return make(
        whole,
        shape=None if shape is None else TensorShape(shape),
        dtype=_dtypes.as_dtype(dtype),
        initializer=scope.initializer if initializer is None else initializer,
        regularizer=scope.regularizer if regularizer is None else regularizer,
        reuse=AUTO_REUSE if graph_of_variables() is None else scope.reuse,
        trainable=trainable,
        collections=collections,
        validate_shape=validate_shape,
        constraint=scope.constraint if constraint is None else constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


def get_local_variable(
    name,
    shape=None,
    dtype=None,
    initializer=None,
    regularizer=None,
    trainable=False,
    collections=None,
    caching_device=None,
    partitioner=None,
    validate_shape=True,
    use_resource=None,
    custom_getter=None,
    constraint=None,
    synchronization=VariableSynchronization.AUTO,
    aggregation=VariableAggregation.NONE,
):
    """As get_variable, for a variable that is not saved and, whatever is asked, not trained."""
    return get_variable(
        name,
        shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=False,
        collections=[*(collections or ()), GraphKeys.LOCAL_VARIABLES],
        caching_device=caching_device,
        partitioner=partitioner,
        validate_shape=validate_shape,
        use_resource=use_resource,
        custom_getter=custom_getter,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )


class _Template:
    """A function whose variables are made at its first call and are the same ones later."""

    def __init__(self, name: str, function, unique_name, create_scope_now: bool, kwargs) -> None:
        self._function = functools.partial(function, **kwargs) if kwargs else function
        self._name, self._unique_name, self._scope = name, unique_name, None
        self._was_called = False
        if create_scope_now:
            self._open()

    def _open(self) -> None:
        given = self._unique_name
        with variable_scope(given, None if given else self._name) as scope:
            self._scope = scope

    @property
    def variable_scope(self) -> VariableScope:
        """The scope of its variables."""
        return self._scope

    @property
    def name(self) -> str:
        """The name of its scope."""
        return self._name if self._scope is None else self._scope.name

    @property
    def global_variables(self) -> list:
        """Its global variables."""
        return self._scope.global_variables() if self._scope else []

    variables = global_variables

    @property
    def trainable_variables(self) -> list:
        """Its trainable variables."""
        return self._scope.trainable_variables() if self._scope else []

    def __call__(self, *args, **kwargs):
        if self._scope is None:
            self._open()
        with variable_scope(self._scope, reuse=self._was_called):
            result = self._function(*args, **kwargs)
        self._was_called = True
        return result


def make_template(
    name_, func_, create_scope_now_=False, unique_name_=None, custom_getter_=None, **kwargs
):
    """Return a function that makes its variables at its first call and shares them afterwards."""
    if custom_getter_ is not None:
        inner, getter = func_, custom_getter_

        def func_(*args, **options):
            with variable_scope(get_variable_scope(), custom_getter=getter):
                return inner(*args, **options)

    return _Template(name_, func_, unique_name_, create_scope_now_, kwargs)
