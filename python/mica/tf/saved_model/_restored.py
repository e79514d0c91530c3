"""Functions that came from a file: traces, and functions that choose among their traces."""

from __future__ import annotations

import inspect

from ... import _mica
from .. import nest
from .._core import Tensor, convert_to_tensor
from .._function import ConcreteFunction, Function, GraphFunction
from .._signature import Parameters, unbound
from .._specs import TensorSpec, TypeSpec
from .._variable import Variable


class RestoredConcreteFunction(ConcreteFunction):
    """A trace from a file. Its graph is built when it is first used.

    `make` gives the graph, whose last parameters are for what is captured.
    """

    def __init__(self, name: str, arguments, outputs, captured: list, make) -> None:
        self._parameters = None
        self._arguments = arguments
        self._captured = captured
        self._structure = outputs
        flat = nest.flatten(outputs, expand_composites=True)
        self._none = [o is None for o in flat]
        self._single = len(flat) == 1 and outputs is flat[0] and flat[0] is not None
        self._name = name
        self._logged = False
        self._make = make
        self._made = None

    @property
    def _function(self) -> GraphFunction:
        if self._made is None:
            before = _mica.tf_set_graph(None)
            _mica.tf_stop_recording(1)
            try:
                graph = self._make()
            finally:
                _mica.tf_stop_recording(-1)
                _mica.tf_set_graph(before)
            graph.structured_outputs = self._structure
            graph.inputs = [graph._parameter_at(i) for i in range(graph._parameter_count)]
            graph.outputs = graph._outputs()
            self._made = GraphFunction(graph)
        return self._made

    @property
    def _n_inputs(self) -> int:
        return sum(isinstance(s, TypeSpec) for s in self._flat_arguments())

    def _flat_arguments(self) -> list:
        return nest.flatten(self._arguments, expand_composites=True)

    @property
    def structured_input_signature(self) -> tuple:
        """The arguments: ((positional...), {keywords})."""
        return self._arguments

    @property
    def variables(self) -> list:
        """The variables that it uses."""
        found = [handle._variable for handle in self._captured]
        return [v() for v in found if v is not None and v() is not None]

    @property
    def trainable_variables(self) -> list:
        """Those of the variables that are trainable."""
        return [v for v in self.variables if v.trainable]


# ---- matching arguments --------------------------------------------------------------------------


def _matched(stored, given, convert: bool):
    """Return the tensors of an argument that fits what was traced, or None."""
    if isinstance(stored, TensorSpec):
        return _tensor_for(stored, given, convert)
    if isinstance(stored, TypeSpec):
        if isinstance(given, Variable):
            return [given.handle] if stored.is_compatible_with(given) else None
        if not stored.is_compatible_with(given):
            return None
        return nest.flatten(given, expand_composites=True)
    if isinstance(stored, list | tuple):
        if not isinstance(given, list | tuple) or len(given) != len(stored):
            return None
        return _all_matched(zip(stored, given, strict=True), convert)
    if isinstance(stored, dict):
        if not isinstance(given, dict) or set(given) != set(stored):
            return None
        return _all_matched([(stored[k], given[k]) for k in sorted(stored)], convert)
    if isinstance(given, Tensor | Variable | TypeSpec):
        return None
    try:
        return [] if bool(stored == given) else None
    except (TypeError, ValueError):
        return None


def _all_matched(pairs, convert: bool):
    found = []
    for stored, given in pairs:
        part = _matched(stored, given, convert)
        if part is None:
            return None
        found += part
    return found


def _tensor_for(spec: TensorSpec, given, convert: bool):
    if isinstance(given, TensorSpec):
        fits = given.dtype == spec.dtype and spec.shape.is_compatible_with(given.shape)
        return [given] if fits else None
    if not isinstance(given, Tensor | Variable) and not hasattr(given, "__tf_tensor__"):
        if not convert or given is None:
            return None
    try:
        tensor = convert_to_tensor(given, dtype_hint=spec.dtype)
    except (TypeError, ValueError):
        return None
    if tensor.dtype != spec.dtype or not spec.shape.is_compatible_with(tensor.shape):
        return None
    return [tensor]


def _signature_of(spec) -> inspect.Signature:
    """The signature that a FullArgSpec of a file says, without self."""
    if spec is None:
        return inspect.Signature(
            [
                inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
            ]
        )
    kind = inspect.Parameter
    defaults = list(spec.defaults or ())
    first = len(spec.args) - len(defaults)
    made = [
        kind(
            name,
            kind.POSITIONAL_OR_KEYWORD,
            default=defaults[i - first] if i >= first else kind.empty,
        )
        for i, name in enumerate(spec.args)
    ]
    if made and made[0].name == "self":
        made = made[1:]
    if spec.varargs:
        made.append(kind(spec.varargs, kind.VAR_POSITIONAL))
    given = spec.kwonlydefaults or {}
    made += [
        kind(name, kind.KEYWORD_ONLY, default=given.get(name, kind.empty))
        for name in spec.kwonlyargs or ()
    ]
    if spec.varkw:
        made.append(kind(spec.varkw, kind.VAR_KEYWORD))
    return inspect.Signature(made)


class RestoredFunction(Function):
    """A function from a file, with the traces that were saved."""

    def __init__(self, name: str, full_spec, input_signature, concrete: list) -> None:
        def restored_function_body(*args, **kwargs):
            return self(*args, **kwargs)

        super().__init__(restored_function_body, name=name)
        self.__name__ = name
        self._given_signature = input_signature
        self._full_spec = full_spec
        self._parameters = Parameters(_signature_of(full_spec))
        self.concrete_functions = concrete
        for i, function in enumerate(concrete):
            self._cache["restored", i] = function
            function._parameters = None

    @property
    def function_spec(self):
        """The function's signature."""
        return self._parameters._signature

    def _choose(self, args, kwargs) -> tuple:
        """Return the trace for these arguments and the tensors among them."""
        if not self.concrete_functions:
            raise ValueError("Found zero restored functions for caller function.")
        args, kwargs = self._parameters.canonical(self._name, args, kwargs)
        for convert in (False, True):
            for function in self.concrete_functions:
                stored, keywords = function.structured_input_signature
                tensors = _matched((stored, keywords), (self._cut(args, stored), kwargs), convert)
                if tensors is not None:
                    return function, tensors
        if self._given_signature is not None:
            expected = repr(self._given_signature)
            raise unbound("arguments that the signature does not take", args, kwargs, expected)
        known = "\n\n".join(
            f"Option {i + 1}:\n  Positional arguments ({len(f.structured_input_signature[0])} "
            f"total):\n"
            + "".join(f"    * {a!r}\n" for a in f.structured_input_signature[0])
            + f"  Keyword arguments: {f.structured_input_signature[1]!r}"
            for i, f in enumerate(self.concrete_functions)
        )
        given = "".join(f"    * {a!r}\n" for a in args)
        raise ValueError(
            "Could not find matching concrete function to call loaded from the SavedModel. Got:\n"
            f"  Positional arguments ({len(args)} total):\n{given}  Keyword arguments: "
            f"{kwargs!r}\n\n Expected these arguments to match one of the following "
            f"{len(self.concrete_functions)} option(s):\n\n{known}"
        )

    def _cut(self, args: list, stored: tuple) -> list:
        """Leave out arguments at the end that a signature does not speak of and are defaults."""
        while len(args) > len(stored) and self._parameters.default(len(args) - 1) is args[-1]:
            args = args[:-1]
        return args

    def __call__(self, *args, **kwargs):
        """Run the trace that fits these arguments."""
        function, tensors = self._choose(args, kwargs)
        return function._call_flat(tensors)

    def __get__(self, instance, owner=None):
        """Restored functions are no methods."""
        return self

    def get_concrete_function(self, *args, **kwargs) -> ConcreteFunction:
        """Return the trace that fits arguments like these; TensorSpecs may stand for tensors."""
        if not args and not kwargs and len(self.concrete_functions) == 1:
            return self.concrete_functions[0]
        return self._choose(args, kwargs)[0]

    def _find(self, args, kwargs) -> tuple:
        return self._choose(args, kwargs)

    def _list_all_concrete_functions(self) -> list[ConcreteFunction]:
        return list(self.concrete_functions)

    _list_all_concrete_functions_for_serialization = _list_all_concrete_functions
