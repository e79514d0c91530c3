"""Signatures: functions of named tensors that give named tensors."""

from __future__ import annotations

import collections

from .. import nest
from .._composite import CompositeTensor
from .._core import Tensor
from .._function import ConcreteFunction, Function, in_order
from .._specs import TensorSpec, TypeSpec
from .._variable_updates import VariableSpec
from ._load import SignatureMap

DEFAULT_KEY = "serving_default"
INIT_OP_KEY = "__saved_model_init_op"


def trace_of(function):
    """Return the one trace that a function with a signature stands for, or None."""
    if isinstance(function, ConcreteFunction):
        return function
    if not isinstance(function, Function):
        return None
    if function.input_signature is None:
        return None  # its traces follow from how it was called
    traces = function._list_all_concrete_functions()
    return traces[0] if len(traces) == 1 else None


def default_function(children: dict):
    """Return the function of a root that becomes its signature when none is given, or None."""
    if "_default_save_signature" in children:
        return children["_default_save_signature"]
    found = []
    for child in children.values():
        trace = trace_of(child) if isinstance(child, Function | ConcreteFunction) else None
        if trace is not None and _is_fit(trace):
            found.append(trace)
    return found[0] if len(found) == 1 else None


def _is_fit(trace: ConcreteFunction) -> bool:
    """Whether a trace could be a signature."""
    if trace.structured_outputs is None:
        return False
    try:
        _check_inputs(trace)
        named_outputs(trace.structured_outputs, "unused", "unused")
    except ValueError:
        return False
    return True


def _check_inputs(trace: ConcreteFunction) -> None:
    for spec in nest.flatten(trace.structured_input_signature):
        if isinstance(spec, VariableSpec):
            raise ValueError(
                f"Unable to serialize concrete_function '{trace.name}' with tf.Variable input. "
                "Functions that expect tf.Variable inputs cannot be exported as signatures."
            )


def named_outputs(outputs, name: str, key: str) -> dict:
    """Return the results of a function as a signature has them: by name."""
    if not isinstance(outputs, collections.abc.Mapping):
        if hasattr(outputs, "_asdict"):
            outputs = outputs._asdict()
        else:
            if not isinstance(outputs, list | tuple):
                outputs = [outputs]
            outputs = {f"output_{i}": output for i, output in enumerate(outputs)}
    for output, value in outputs.items():
        if not isinstance(output, str):
            raise ValueError(
                f"Got a dictionary with a non-string key {output!r} in the output of the function "
                f"{name} used to generate the SavedModel signature {key!r}."
            )
        if not isinstance(value, Tensor | CompositeTensor | TypeSpec):
            raise ValueError(
                f"Got a non-Tensor value {value!r} for key {output!r} in the output of the "
                f"function {name} used to generate the SavedModel signature {key!r}. Outputs for "
                "functions used as signatures must be a single Tensor, a sequence of Tensors, or "
                "a dictionary from string to Tensor."
            )
    return outputs


def _wrapped(key: str, trace: ConcreteFunction) -> ConcreteFunction:
    """Return a function of keywords alone, with named results, that calls a trace."""
    specs = [
        spec
        for spec in nest.flatten(
            in_order(*trace.structured_input_signature), expand_composites=True
        )
        if isinstance(spec, TensorSpec)
    ]
    names: list[str] = []
    for i in range(len(specs)):
        wanted = name = trace.inputs[i].name.partition(":")[0]
        n = 0
        while name in names:
            n += 1
            name = f"{wanted}_{n}"
        names.append(name)

    def signature_wrapper(**keywords):
        outputs = trace._call_flat([keywords[name] for name in names])
        made = named_outputs(outputs, trace.name, key)
        return {name: made[name] for name in made}

    function = Function(signature_wrapper, autograph=False, name=f"signature_wrapper_{key}")
    given = {
        name: TensorSpec(spec.shape, spec.dtype, name)
        for name, spec in sorted(zip(names, specs, strict=True), key=lambda pair: pair[0])
    }
    return function.get_concrete_function(**given)


def canonical_signatures(signatures) -> SignatureMap:
    """Return signatures as a map of functions of keywords."""
    made = SignatureMap()
    if signatures is None:
        return made
    if not isinstance(signatures, collections.abc.Mapping):
        signatures = {DEFAULT_KEY: signatures}
    for key, function in signatures.items():
        if not isinstance(key, str):
            raise ValueError(f"The name of a signature must be a string, not {key!r}.")
        if key == INIT_OP_KEY:
            raise KeyError(f"SavedModel signature key {key!r} is reserved.")
        trace = trace_of(function)
        if trace is None:
            raise ValueError(
                "Expected a TensorFlow function for which to generate a signature, but got "
                f"{function}. Only `tf.functions` with an input signature or concrete functions "
                "can be used as a signature."
            )
        _check_inputs(trace)
        made._signatures[key] = _wrapped(key, trace)
    return made
