"""Where AutoGraph meets tensors: the table of hooks filled with this package's ops."""

from __future__ import annotations

import os
import types

from .. import _mica
from . import _dtypes, autograph, errors
from . import _nest as nest
from ._context import building, current_graph
from ._control import cond, while_loop
from ._core import Tensor, convert_to_tensor, ops
from ._graph import FuncGraph
from ._shapes import TensorShape, as_shape
from ._static import static_value
from ._variable import Variable
from .autograph import _operators as operators
from .data import Dataset

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def _loop_over(value: object):
    """A loop over a dataset or an iterator; eagerly it is one of Python."""
    if current_graph() is None:
        return None
    if hasattr(type(value), "get_next_as_optional"):
        return _over_iterator
    if hasattr(type(value), "element_spec") and hasattr(type(value), "__iter__"):
        return _over_dataset
    return None


def _over_dataset(dataset, going_on, body, get, put, names, options) -> None:
    _over_iterator(iter(dataset), going_on, body, get, put, names, options)


def _over_iterator(iterator, going_on, body, get, put, names, options) -> None:
    """Ask for elements until there is none; the body runs where there is one."""
    more: object = convert_to_tensor(True)

    def get_all():
        return (more, *get())

    def put_all(values):
        nonlocal more
        more = values[0]
        put(tuple(values[1:]))

    def run():
        nonlocal more
        element = iterator.get_next_as_optional()
        more = element.has_value()
        operators.if_stmt(
            more, lambda: body(element.get_value()), lambda: None, get, put, names, len(names)
        )

    def test():
        return more if going_on is None else _cond(more, going_on, lambda: False)

    operators.graph_while(test, run, get_all, put_all, ("<internal has_next>", *names), options)


def _is_tensor(value: object) -> bool:
    return isinstance(value, (Tensor, Variable)) or hasattr(type(value), "__tf_tensor__")


def _scratch_graph():
    return building(FuncGraph("scratch", current_graph()))


def _placeholder(dtype, shape):
    return current_graph()._parameter(dtype, shape, "placeholder")


def _zeros(shape, dtype):
    dims = convert_to_tensor(list(shape), _dtypes.int32)
    value = "" if dtype == _dtypes.string else False if dtype == _dtypes.bool else 0
    return ops["Fill"](dims, convert_to_tensor(value, dtype))


def _to_scalar(tensor):
    return ops["Reshape"](tensor, ops["Fill"](convert_to_tensor([0]), convert_to_tensor(0)))


def _check(condition, data, values=None):
    ops["Assert"](convert_to_tensor(condition), [convert_to_tensor(part) for part in data])
    return values


def _range_parts(value):
    if not isinstance(value, Tensor) or isinstance(value, _mica.TFEagerTensor):
        return None
    kind, _, inputs, _ = value.graph._node(value._node)
    if kind != "Range":
        return None
    return [value.graph._tensor(node, index) for node, index in inputs]


def _elements(tensor):
    tensor = convert_to_tensor(tensor)
    if tensor.shape.rank == 0:
        raise TypeError("Cannot iterate over a scalar tensor.")
    number = tensor.shape[0] if tensor.shape.rank is not None else None
    if number is None:
        number = ops["Shape"](tensor)[0]
    return number, lambda i: ops["ReadElement"](
        tensor, convert_to_tensor(i, _dtypes.int32), inside=True
    )


def _while_loop(test, body, variables, shape_invariants=None, **options):
    if not variables:
        # A loop over the state of variables alone.
        while_loop(lambda unused: test(), lambda unused: (body(), (unused,))[1], (0,), **options)
        return ()
    if shape_invariants is not None:
        shape_invariants = [
            [None] * len(nest.flatten(value, expand_composites=True)) if shape is None else shape
            for value, shape in zip(variables, shape_invariants, strict=True)
        ]
    return tuple(while_loop(test, body, variables, shape_invariants, **options))


def _cond(predicate, true_function, false_function):
    return cond(convert_to_tensor(predicate), true_function, false_function)


# Builtins


def _overload(builtin, function, position=0):
    """The builtin, but for tensors the function."""

    def call(*arguments, **options):
        if any(_is_tensor(argument) for argument in arguments):
            return function(*arguments, **options)
        return builtin(*arguments, **options)

    call.__name__ = builtin.__name__
    return call


def _len(tensor):
    tensor = convert_to_tensor(tensor)
    if tensor.shape.rank == 0:
        raise ValueError("len requires a non-scalar tensor, got one of shape ()")
    if tensor.shape.rank is not None and tensor.shape[0] is not None:
        return tensor.shape[0]
    return ops["Shape"](tensor)[0]


def _int(value=0, base=None):
    if base is not None and base != 10:
        raise NotImplementedError("int() of a tensor takes no base: leave it out")
    return ops["Cast"](convert_to_tensor(value), DstT=_dtypes.int32)


def _float(value=0.0):
    return ops["Cast"](convert_to_tensor(value), DstT=_dtypes.float32)


def _range(start, stop=None, step=None):
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    dtype = next(v.dtype for v in (start, stop, step) if _is_tensor(v))
    return ops["Range"](*[convert_to_tensor(v, dtype) for v in (start, stop, step)])


def _extreme(name: str, reduction: str):
    def function(*arguments, **options):
        if options:
            raise ValueError(f"{name} of tensors takes no keyword arguments, got {options}")
        if len(arguments) == 1:
            tensor = convert_to_tensor(arguments[0])
            if tensor.shape.rank not in (None, 1):
                raise ValueError(f"{name}(arg) currently support only tensor with one dimension")
            return ops[reduction](tensor, convert_to_tensor([0]))
        found = arguments[0]
        dtype = next(v.dtype for v in arguments if _is_tensor(v))
        found = convert_to_tensor(found, dtype)
        for other in arguments[1:]:
            found = ops["Maximum" if name == "max" else "Minimum"](
                found, convert_to_tensor(other, dtype)
            )
        return found

    return function


def _python_range(*arguments):
    if any(_is_tensor(argument) for argument in arguments):
        return _range(*arguments)
    return range(*arguments)


def _over_datasets(builtin, function):
    """The builtin, but for datasets, while a graph is built, the function."""

    def call(*arguments, **options):
        if current_graph() is not None and any(isinstance(a, Dataset) for a in arguments):
            return function(*arguments, **options)
        return builtin(*arguments, **options)

    call.__name__ = builtin.__name__
    return call


def _zipped(*datasets, strict=False):
    return Dataset.zip(datasets)


def connect() -> None:
    """Fill AutoGraph's table; done when the first function is traced."""
    autograph.connect(
        is_tensor=_is_tensor,
        convert=convert_to_tensor,
        cond=_cond,
        while_loop=_while_loop,
        scratch_graph=_scratch_graph,
        placeholder=_placeholder,
        zeros=_zeros,
        identity=lambda tensor: ops["Identity"](tensor),
        to_scalar=_to_scalar,
        logical_not=lambda x: ops["LogicalNot"](convert_to_tensor(x)),
        logical_and=lambda x, y: ops["LogicalAnd"](convert_to_tensor(x), convert_to_tensor(y)),
        logical_or=lambda x, y: ops["LogicalOr"](convert_to_tensor(x), convert_to_tensor(y)),
        check=_check,
        range_parts=_range_parts,
        constant_value=static_value,
        elements=_elements,
        loop_over=_loop_over,
        builtins={
            abs: _overload(abs, abs),
            int: _overload(int, _int),
            float: _overload(float, _float),
            len: _overload(len, _len),
            range: _python_range,
            enumerate: _over_datasets(enumerate, lambda dataset, start=0: dataset.enumerate(start)),
            filter: _over_datasets(filter, lambda function, dataset: dataset.filter(function)),
            map: _over_datasets(map, lambda function, dataset: dataset.map(function)),
            zip: _over_datasets(zip, _zipped),
            max: _overload(max, _extreme("max", "Max")),
            min: _overload(min, _extreme("min", "Min")),
        },
        is_truth_error=lambda error: isinstance(error, errors.OperatorNotAllowedInGraphError),
        as_shape=lambda shape: as_shape(shape) if not isinstance(shape, TensorShape) else shape,
    )


# Tracebacks

_filtering = [True]


def set_filtering(on: bool) -> None:
    """Leave frames of this package out of tracebacks, or keep them."""
    _filtering[0] = on


def is_filtering() -> bool:
    """Whether frames of this package are left out of tracebacks."""
    return _filtering[0]


def without_own_frames(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """A traceback of the user's frames alone."""
    if not _filtering[0]:
        return traceback
    kept = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            kept.append(traceback)
        traceback = traceback.tb_next
    new = None
    for part in reversed(kept):
        new = types.TracebackType(new, part.tb_frame, part.tb_lasti, part.tb_lineno)
    return new
