"""Lists of a graph's variables, and operations that give them first and other values."""

from __future__ import annotations

from ... import _dtypes
from ..._array import constant
from ..._core import convert_to_tensor, ops
from ..._effects import group
from ..._session import get_default_graph
from ..._variable import Variable as _Variable
from ._scopes import GraphKeys


def add_to_collection(name, value) -> None:
    """Append to a list of the graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names, value) -> None:
    """Append to several lists of the graph."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key, scope=None) -> list:
    """Return a list of the graph, as a copy."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key) -> list:
    """Return a list of the graph itself."""
    return get_default_graph().get_collection_ref(key)


def global_variables(scope=None) -> list:
    """Return the variables that are saved."""
    return get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def all_variables() -> list:
    """Return the variables that are saved."""
    return global_variables()


def local_variables(scope=None) -> list:
    """Return the variables that are not saved."""
    return get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope=None) -> list:
    """Return the variables that inference uses."""
    return get_collection(GraphKeys.MODEL_VARIABLES, scope)


def trainable_variables(scope=None) -> list:
    """Return the variables that are trained."""
    return get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope=None) -> list:
    """Return the variables that have moving averages."""
    return get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list, name="init"):
    """Return the operation that gives variables their first values."""
    return group(*[v.initializer for v in var_list], name=name)


initialize_variables = variables_initializer


def global_variables_initializer():
    """Return the operation that gives the saved variables their first values."""
    return variables_initializer(global_variables())


initialize_all_variables = global_variables_initializer


def local_variables_initializer():
    """Return the operation that gives the others their first values."""
    return variables_initializer(local_variables())


initialize_local_variables = local_variables_initializer


def tables_initializer(name="init_all_tables"):
    """Return the operation that fills tables and lets iterators begin."""
    return group(*get_collection(GraphKeys.TABLE_INITIALIZERS), name=name)


initialize_all_tables = tables_initializer


def is_variable_initialized(variable):
    """Whether a variable has a value."""
    return variable.is_initialized()


def report_uninitialized_variables(var_list=None, name="report_uninitialized_variables"):
    """Return the names of variables without a value, as a tensor."""
    variables = global_variables() + local_variables() if var_list is None else list(var_list)
    if not variables:
        return constant([], _dtypes.string, shape=[0])
    flags = ops["Pack"]([v.is_initialized() for v in variables])
    names = constant([v._shared_name for v in variables])
    places = ops["Where"](ops["LogicalNot"](flags))
    return ops["GatherNd"](names, places, name=name)


def assert_variables_initialized(var_list=None):
    """Return an operation that fails unless all variables have values."""
    variables = global_variables() + local_variables() if var_list is None else list(var_list)
    return group(*[v._read() for v in variables])


def _target(ref):
    if not isinstance(ref, _Variable):
        raise TypeError(f"a variable is needed, not {ref!r}")
    return ref


def assign(ref, value, validate_shape=None, use_locking=None, name=None):
    """Give a variable another value."""
    if validate_shape is False:
        raise NotImplementedError("assign(validate_shape=False): a variable keeps its shape")
    return _target(ref).assign(value, use_locking, name)


def assign_add(ref, value, use_locking=None, name=None):
    """Add to a variable."""
    return _target(ref).assign_add(value, use_locking, name)


def assign_sub(ref, value, use_locking=None, name=None):
    """Subtract from a variable."""
    return _target(ref).assign_sub(value, use_locking, name)


def _scattered(op: str, ref, indices, updates, use_locking, name):
    indices = convert_to_tensor(indices)
    updates = convert_to_tensor(updates, ref.dtype)
    places = ops["ExpandDims"](indices, convert_to_tensor(-1))
    new = ops[op](_target(ref)._read(), places, updates)
    return ref.assign(new, use_locking, name)


def scatter_update(ref, indices, updates, use_locking=True, name=None):
    """Write rows of a variable."""
    return _scattered("TensorScatterUpdate", ref, indices, updates, use_locking, name)


def _scatter(op: str, name_: str):
    def scatter(ref, indices, updates, use_locking=False, name=None):
        return _scattered(op, ref, indices, updates, use_locking, name)

    scatter.__name__ = scatter.__qualname__ = name_
    scatter.__doc__ = f"{name_}: write rows of a variable."
    return scatter


scatter_add = _scatter("TensorScatterAdd", "scatter_add")
scatter_sub = _scatter("TensorScatterSub", "scatter_sub")
scatter_max = _scatter("TensorScatterMax", "scatter_max")
scatter_min = _scatter("TensorScatterMin", "scatter_min")
