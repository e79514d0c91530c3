"""Ops as they are asked for by another process: written by the client, run by the server.

A request is (op, [(attribute, kind, value)...], [tensors of each input]). Tensors among the
attributes travel with the operands: their place is their number among the arrays.
"""

from __future__ import annotations

from ... import _mica
from .. import GradientTape, autodiff, convert_to_tensor, errors, zeros_like
from .._core import ops
from .._dtypes import as_dtype, resource, variant
from .._shapes import TensorShape

_DERIVATIVES = ("Vjp", "Jvp")
_MOST_DEPTH = 8
_OF_VARIABLE = 2  # what _mica.tf_row_remote answers for an op on a variable


def _refuse(op: str, why: str) -> None:
    raise errors.UnimplementedError(None, None, f"[{op}] {why}")


def _check_allowed(op: str) -> None:
    """Refuse what the table says is for its own process alone."""
    if not _mica.tf_row_remote(op):
        _refuse(
            op,
            "cannot run in another process: it may touch files, datasets or a function of Python",
        )


# ---- the client's side -------------------------------------------------------------------------


def written(request: tuple, tensors: list) -> list:
    """A request as JSON; tensors of attributes are appended to the tensors."""
    op, attributes, groups = request
    if op not in _DERIVATIVES:
        _check_allowed(op)
    return [op, [[n, k, _written(op, k, v, tensors)] for n, k, v in attributes], groups]


def _written(op: str, kind: str, value, tensors: list):
    if kind == "operation":
        return written(value, tensors)
    if kind in ("function", "functions"):
        _refuse(op, "an op with a function inside cannot run in another process")
    if kind == "tensor":
        tensors.append(value)
        return len(tensors) - 1
    if kind == "string":
        return value.decode("latin-1")
    if kind == "strings":
        return [text.decode("latin-1") for text in value]
    return value


# ---- the server's side -------------------------------------------------------------------------


def _read(kind: str, value, tensors: list):
    if kind == "type":
        return as_dtype(value)
    if kind == "types":
        return [as_dtype(number) for number in value]
    if kind == "shape":
        return _shape(value)
    if kind == "shapes":
        return [_shape(sizes) for sizes in value]
    if kind == "tensor":
        return tensors[_place(value, len(tensors))]
    if kind == "string":
        return value.encode("latin-1")
    if kind == "strings":
        return [text.encode("latin-1") for text in value]
    if kind not in ("int", "float", "bool", "ints", "floats"):
        raise TypeError(f"an attribute of the kind {str(kind)[:40]!r} is not received")
    return value


def _shape(sizes) -> TensorShape:
    return TensorShape(None if sizes is None else [None if n < 0 else n for n in sizes])


def _place(value, count: int) -> int:
    if type(value) is not int or not 0 <= value < count:
        raise ValueError(f"there is no value {value!r} among {count}")
    return value


def _listed(result) -> list:
    if result is None:
        return []
    return list(result) if isinstance(result, list | tuple) else [result]


def function_of(request, tensors: list, depth: int = 0):
    """The function of operands that a request is."""
    op, attributes, groups = request
    if depth > _MOST_DEPTH:
        raise ValueError(f"derivatives of more than {_MOST_DEPTH} levels are not received")
    if op in _DERIVATIVES:
        return _derivative(op, dict((n, v) for n, _, v in attributes), tensors, depth)
    if not isinstance(op, str) or op not in ops:
        raise errors.NotFoundError(None, None, f"there is no op {str(op)[:80]!r}")
    _check_allowed(op)
    keywords = {str(n): _read(k, v, tensors) for n, k, v in attributes}
    if "name" in keywords:
        raise TypeError(f"{op} has no attribute 'name'")

    def run(*operands) -> list:
        given, at = [], 0
        for count in groups:
            given.append(operands[at] if count < 0 else list(operands[at : at + count]))
            at += 1 if count < 0 else count
        if at != len(operands):
            raise ValueError(f"{op} takes {at} operands, not {len(operands)}")
        return _listed(ops[op](*given, **keywords))

    return run


def _derivative(op: str, attributes: dict, tensors: list, depth: int):
    """Vjp or Jvp, by a tape or an accumulator over the op that it is of."""
    forward = function_of(attributes["forward"], tensors, depth + 1)
    count, outputs, places = (attributes[name] for name in ("n", "outputs", "inputs"))

    def vjp(*operands) -> list:
        inputs, cotangents = operands[:count], operands[count:]
        wanted = [inputs[_place(p, len(inputs))] for p in places]
        with GradientTape() as tape:
            for tensor in wanted:
                tape.watch(tensor)
            results = forward(*inputs)
        targets = [results[_place(i, len(results))] for i in outputs]
        found = tape.gradient(targets, wanted, list(cotangents), unconnected_gradients="zero")
        return [convert_to_tensor(each) for each in found]

    def jvp(*operands) -> list:
        inputs, tangents = operands[:count], operands[count:]
        primals = [inputs[_place(p, len(inputs))] for p in places]
        with autodiff.ForwardAccumulator(primals, list(tangents)) as accumulator:
            results = forward(*inputs)
        wanted = [results[_place(i, len(results))] for i in outputs]
        found = [accumulator.jvp(each) for each in wanted]
        return [zeros_like(w) if f is None else f for f, w in zip(found, wanted, strict=True)]

    return vjp if op == "Vjp" else jvp


def run(request, tensors: list, count: int) -> list:
    """What a request gives for the first `count` tensors."""
    if any(tensor.dtype == resource for tensor in tensors[:count]):
        op = request[0]
        if _mica.tf_row_remote(str(op)) != _OF_VARIABLE or any(
            t.dtype == resource for t in tensors[1:count]
        ):
            raise errors.InvalidArgumentError(
                None, None, f"[{str(op)[:80]}] takes no variable, but is given one"
            )
    results = function_of(request, tensors)(*tensors[:count])
    for each in results:
        if each.dtype in (resource, variant):
            _refuse(request[0], f"a value of dtype {each.dtype.name} stays in its own process")
    return results


class Variables:
    """The variables that a client has made, by number."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._handles: dict[int, object] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._handles)

    def make(self, header: dict) -> int:
        """A new one, of the dtype and the shape that a header says."""
        if len(self._handles) >= self._most:
            raise errors.ResourceExhaustedError(
                None, None, f"there are {self._most} variables already"
            )
        name, dtype = str(header.get("name"))[:1000], as_dtype(header.get("dtype"))
        handle = _mica.tf_variable(name, dtype, _shape(header.get("shape")))
        self._last += 1
        self._handles[self._last] = handle
        return self._last

    def drop(self, numbers) -> None:
        """Let some go."""
        for number in numbers if isinstance(numbers, list) else ():
            if type(number) is int:
                self._handles.pop(number, None)

    def put_in(self, tensors: list, places) -> list:
        """The tensors with the variables at their places among them."""
        if not isinstance(places, dict):
            raise ValueError("the variables are not given as an object of numbers by position")
        whole = list(tensors)
        for place, number in sorted((int(place), number) for place, number in places.items()):
            if not 0 <= place <= len(whole) or number not in self._handles:
                raise errors.NotFoundError(None, None, f"there is no variable {number!r}")
            whole.insert(place, self._handles[number])
        return whole
