"""Signatures of traced functions: parameters and names, placeholders, their looks in print."""

from __future__ import annotations

import inspect

from . import _dtypes, nest
from ._context import building
from ._core import Tensor, convert_to_tensor
from ._specs import TensorSpec, TypeSpec
from ._variable import Variable


def unbound(reason, args, kwargs, signature: str) -> TypeError:
    """Return the error of arguments that do not fit."""
    return TypeError(
        f"Binding inputs to tf.function failed due to `{reason}`. Received args: {args} and "
        f"kwargs: {kwargs} for signature: {signature}."
    )


class Parameters:
    """What is known of a Python function's parameters."""

    def __init__(self, signature: inspect.Signature) -> None:
        self._signature = signature
        positional = [
            p
            for p in signature.parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        self._positional = positional
        others = len(signature.parameters) - len(positional)
        # The number of positional arguments that need no completion; -1: never.
        self.exact = len(positional) if others == 0 else -1

    def names(self, count: int) -> list[str]:
        """Return the names of so many positional arguments, as far as there are names."""
        names = [p.name for p in self._positional[:count]]
        for p in self._signature.parameters.values():
            if p.kind is p.VAR_POSITIONAL:
                names += [f"{p.name}_{i}" for i in range(count - len(names))]
        return names

    def takes_extra(self, count: int) -> bool:
        """Whether so many positional arguments are more than have names of their own."""
        return count > len(self._positional)

    def check_constraints(self, count: int) -> None:
        """An input_signature of so many is for parameters; those beyond it have defaults."""
        constrained = [p for p in self._positional if p.name != "self"]
        for p in constrained[count:]:
            if p.default is p.empty:
                raise TypeError(f"input_signature missing type constraint for {p.name}")
        kinds = self._signature.parameters.values()
        for p in kinds:
            if p.kind is p.KEYWORD_ONLY and p.default is p.empty:
                raise TypeError(
                    f"Since input_signature is defined, keyword-only parameter `{p.name}` must "
                    "have a default value"
                )
        extra = count - len(constrained)
        if extra > 0 and all(p.kind is not p.VAR_POSITIONAL for p in kinds):
            raise TypeError(f"input_signature contains {extra} extra type constraints.")

    def default(self, index: int):
        """Return the default of a positional parameter."""
        if index < len(self._positional):
            return self._positional[index].default
        return inspect.Parameter.empty

    def canonical(self, name: str, args, kwargs):
        """Bring keywords into their places and fill in defaults."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise unbound(error, args, kwargs, f"{name}{self._signature}") from None
        bound.apply_defaults()
        return list(bound.args), bound.kwargs

    def without_first(self):
        """Return the parameters of the bound method."""
        rest = list(self._signature.parameters.values())[1:]
        return Parameters(self._signature.replace(parameters=rest))


def parameters_of(function):
    """Return the parameters of a Python function, or None where it does not tell."""
    try:
        return Parameters(inspect.signature(function))
    except (TypeError, ValueError):
        return None


def without_first(parameters):
    """Return the parameters of the method bound to an instance."""
    return None if parameters is None else parameters.without_first()


def flat_signature(signature):
    """Return (an input_signature as a tuple, the specs in it)."""
    if signature is None:
        return None
    structure = tuple(signature)
    flat = nest.flatten(list(structure))
    specs = []
    for spec in flat:
        if not isinstance(spec, TypeSpec):
            raise TypeError(
                f"input_signature must be a possibly nested sequence of TensorSpec "
                f"objects, got {spec!r}"
            )
        specs.append(spec)
    return structure, specs


def flatten_up_to(structure, values):
    """Return the values where the structure has specs; None when it does not fit."""
    if isinstance(structure, TypeSpec):
        return [values]
    if isinstance(structure, dict):
        if not isinstance(values, dict) or set(structure) != set(values):
            return None
        parts = [flatten_up_to(structure[k], values[k]) for k in sorted(structure)]
    else:
        if not isinstance(values, list | tuple) or len(values) != len(structure):
            return None
        parts = [flatten_up_to(s, v) for s, v in zip(structure, values, strict=True)]
    return None if any(p is None for p in parts) else [item for part in parts for item in part]


def argument_names(parameters, count: int) -> list[str]:
    """Return names for so many positional arguments."""
    names = [] if parameters is None else parameters.names(count)
    return names + [f"args_{i}" for i in range(len(names), count)]


def placeholders(graph, names: list[str], args, kwargs):
    """Return the arguments with parameters of the graph for tensors and variables."""

    def one(value, name):
        if isinstance(value, Variable):
            return value._standing_in(graph._parameter(_dtypes.resource, [], name))
        if isinstance(value, TensorSpec):
            return graph._parameter(value.dtype, value.shape, value.name or name)
        if isinstance(value, Tensor):
            return graph._parameter(value.dtype, value.shape, name)
        if hasattr(value, "__array__"):
            tensor = convert_to_tensor_eagerly(value)
            return graph._parameter(tensor.dtype, tensor.shape, name)
        return value

    def is_composite(value) -> bool:
        if isinstance(value, Variable | Tensor | TensorSpec):
            return False
        return isinstance(value, TypeSpec) or isinstance(
            getattr(value, "_type_spec", None), TypeSpec
        )

    def as_spec(value):
        # How many elements a sparse or ragged tensor has is not known in a trace.
        spec = getattr(value, "_type_spec", None)
        return spec if hasattr(spec, "_flat_tensor_specs") else value

    def place(value, name):
        if isinstance(value, list | tuple | dict) or nest.is_nested(value) or is_composite(value):
            value = nest.map_structure(as_spec, value)
            flat = nest.flatten(value, expand_composites=True)
            return nest.pack_sequence_as(
                value, [one(item, name) for item in flat], expand_composites=True
            )
        return one(value, name)

    placed = [place(value, name) for name, value in zip(names, args, strict=True)]
    return placed, {k: place(v, k) for k, v in kwargs.items()}


def convert_to_tensor_eagerly(value):
    """Return a value as an eager tensor, also while tracing."""
    with building(None):
        return convert_to_tensor(value)


def specs_of(value):
    """Return a structure with specs for the tensors in it."""

    def one(item):
        if isinstance(item, Tensor):
            return TensorSpec(item.shape, item.dtype)
        return item

    return nest.map_structure(one, value)


def named(value, name: str):
    """Return specs with names that tell where in an argument they are: y, or y_1_a."""
    if isinstance(value, TensorSpec):
        return value if value.name else TensorSpec(value.shape, value.dtype, name)
    if type(value) is dict:
        return {k: named(v, f"{name}_{k}") for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(named(v, f"{name}_{i}") for i, v in enumerate(value))
    return value


# ---- as text -----------------------------------------------------------------------------------


def type_text(value) -> str:
    """Return the type of an argument or result as TensorFlow prints it."""
    if isinstance(value, Variable):
        return (
            f"VariableSpec(shape={value.shape}, dtype={value.dtype!r}, "
            f"trainable={value.trainable}, alias_id=0)"
        )
    if isinstance(value, Tensor):
        return repr(TensorSpec(value.shape, value.dtype))
    if isinstance(value, TypeSpec):
        return repr(value)
    if isinstance(value, dict):
        inside = ", ".join(f"[{k!r}, {type_text(v)}]" for k, v in value.items())
        return f"Dict[{inside}]"
    if isinstance(value, list | tuple):
        inside = ", ".join(type_text(item) for item in value)
        return f"{'List' if isinstance(value, list) else 'Tuple'}[{inside}]"
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return f"Literal[{value!r}]"
    return repr(value)


def signature_text(parameters, arguments, outputs, captured: list, verbose: bool) -> str:
    """Return the signature of a trace, in one line or (verbose) one line per part."""
    args, kwargs = arguments
    names = argument_names(parameters, len(args))
    is_open = parameters is not None and not parameters.takes_extra(len(args))
    if not verbose:
        parts = [f"{n}: {type_text(a)}" for n, a in zip(names, args, strict=True)]
        if parts and not is_open:
            parts.append("/")
        if kwargs:
            parts.append("*")
        parts += [f"{k}: {type_text(v)}" for k, v in kwargs.items()]
        return f"({', '.join(parts)}) -> {type_text(outputs)}"
    kind = "POSITIONAL_OR_KEYWORD" if is_open else "POSITIONAL_ONLY"
    lines = ["Input Parameters:"]
    lines += [f"  {n} ({kind}): {type_text(a)}" for n, a in zip(names, args, strict=True)]
    lines += [f"  {k} (KEYWORD_ONLY): {type_text(v)}" for k, v in kwargs.items()]
    if len(lines) == 1:
        lines.append("  None")
    lines += ["Output Type:", f"  {type_text(outputs)}", "Captures:"]
    lines += [f"  {id(c)}: {type_text(c)}" for c in captured] or ["  None"]
    return "\n".join(lines)
