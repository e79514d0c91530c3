"""tf.function: Python functions traced to graphs, one for each signature."""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import sys
import threading
import weakref

from .. import _mica
from . import _dtypes, errors, nest
from ._context import building
from ._core import Tensor, convert_to_tensor, ops
from ._graph import FuncGraph, operand
from ._signature import (
    argument_names,
    flat_signature,
    flatten_up_to,
    named,
    parameters_of,
    placeholders,
    signature_text,
    specs_of,
    unbound,
    without_first,
)
from ._slices import gathered
from ._specs import DenseSpec, TensorSpec
from ._trace_key import join_keys, key_covers, key_of, spec_key, with_shapes
from ._tracking import Trackable
from ._variable import Variable

_run_eagerly = False
_watched: dict | None = None  # graphs of the functions that run, while somebody wants them
_takes_long_way = False  # either of them
_LOGGING = os.environ.get("TF_MLC_LOGGING", "0").strip() not in ("", "0")


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Run the Python code of every tf.function at each call instead of its graph."""
    global _run_eagerly, _takes_long_way
    _run_eagerly = bool(run_eagerly)
    _takes_long_way = _run_eagerly or _watched is not None


def watch(graphs: dict | None) -> None:
    """Let functions put their graphs there when they run, by numbers; None: no longer."""
    global _watched, _takes_long_way
    _watched = graphs
    _takes_long_way = _run_eagerly or graphs is not None


def functions_run_eagerly() -> bool:
    """Whether tf.functions run as Python code."""
    return _run_eagerly


# ---- calling graphs, differentiably ------------------------------------------------------------


class GraphFunction:
    """A finished graph that can be called with tensors for all its parameters.

    The gradient is made when a tape first asks for it: the graph once more, also returning what
    is needed later, and a graph of the gradient, which is a GraphFunction itself.
    """

    def __init__(self, graph) -> None:
        self.graph = graph
        self._gradients: dict = {}

    def __call__(self, tensors: list) -> list:
        """Run it, or add a call of it to the graph being built."""
        if _mica.tf_is_recording():
            levels = _mica.tf_count_recording(tensors)
            if levels > 0:
                return self._call_recorded(tensors, levels)
            if levels < 0:
                return self._node(self.graph, tensors)
        if _mica.tf_executing_eagerly():
            return self.graph._run(tensors)
        return self._node(self.graph, tensors)

    @staticmethod
    def _node(graph, tensors: list) -> list:
        op = "StatefulPartitionedCall" if graph._has_effects else "PartitionedCall"
        types = [output.dtype for output in graph._outputs()]
        return ops[op](tensors, Tout=types, f=graph)

    def _gradient(self, wanted: tuple):
        """Return (the forward function, the backward one, which inputs are connected)."""
        made = self._gradients.get(wanted)
        if made is None:
            forward, backward, connected = self.graph._backward(list(wanted))
            made = GraphFunction(forward), GraphFunction(backward), connected
            self._gradients[wanted] = made
        return made

    def _call_recorded(self, tensors: list, levels: int) -> list:
        """Run the function so that gradients of gradients find what they need.

        Of level k, the forward function gives all that level k - 1 gives and, after it, the
        residuals of that; the backward function of level k takes cotangents of the former.
        """
        wanted = tuple(_flows(t) or t.dtype == _dtypes.resource for t in tensors)
        forward = self
        backwards = []
        for _ in range(levels):
            forward, backward, connected = forward._gradient(wanted)
            backwards.append((backward, connected, len(forward.graph._outputs())))
        _mica.tf_stop_recording(1)
        try:
            if _mica.tf_executing_eagerly():
                results = forward.graph._run(tensors)
            else:
                results = self._node(forward.graph, tensors)
        finally:
            _mica.tf_stop_recording(-1)
        count = len(self.graph._outputs())

        def gradient(cotangents, results, wanted):
            first = count
            for backward, connected, end in backwards:
                if all(c is None for c in cotangents[first:]):
                    given = [
                        _cotangent(c, result)
                        for c, result in zip(cotangents[:first], results[:first], strict=True)
                        if _flows(result)
                    ]
                    answers = iter(backward(given + results[first:end]))
                    return [
                        _answer(answers, count, tensor)
                        for count, tensor in zip(connected, tensors, strict=True)
                    ]
                first = end
            raise RuntimeError(
                "A gradient of a higher order than there are tapes was asked for: "
                "nest one tape for each order"
            )

        _mica.tf_record(tensors, results, gradient)
        return results[:count]


def _answer(answers, count: int, source):
    """The gradient of one input: None, a tensor, or slices of count - 1 gathers."""
    if count < 2:
        return next(answers) if count else None

    return gathered(source, [(next(answers), next(answers)) for _ in range(count - 1)])


def _flows(tensor) -> bool:
    """Whether there are cotangents of it; those of a stack are a stack."""
    dtype = tensor.dtype
    return dtype.is_floating or dtype.is_complex or dtype == _dtypes.variant


def _cotangent(given, result):
    if given is not None:
        return convert_to_tensor(given)
    return ops["StackEmpty"]() if result.dtype == _dtypes.variant else ops["ZerosLike"](result)


class ConcreteFunction(Trackable):
    """One trace of a function: a graph with structured arguments and results."""

    def __init__(self, graph, parameters, arguments, structured_outputs, outputs, name) -> None:
        self._parameters = parameters  # of the Python function, or None
        self._arguments = arguments  # the structure of arguments, with specs for tensors
        self._n_inputs = graph._parameter_count - len(graph._captures())
        self._captured = [external for external, _ in graph._captures()]
        self._function = GraphFunction(graph)
        self._structure = structured_outputs
        self._none = [o is None for o in outputs]
        self._single = (
            len(outputs) == 1 and structured_outputs is outputs[0] and outputs[0] is not None
        )
        self._name = name
        self._logged = False
        graph.structured_outputs = structured_outputs
        graph.inputs = [graph._parameter_at(i) for i in range(graph._parameter_count)]
        graph.outputs = graph._outputs()

    @property
    def graph(self):
        """The graph."""
        return self._function.graph

    @property
    def name(self) -> str:
        """The name of the graph."""
        return self._name

    @property
    def inputs(self) -> list:
        """The graph's parameters, captured ones last."""
        return self.graph.inputs

    @property
    def outputs(self) -> list:
        """The graph's results."""
        return self.graph.outputs

    @property
    def captured_inputs(self) -> list:
        """What the function uses of the world outside."""
        return list(self._captured)

    @property
    def variables(self) -> list:
        """The variables that it uses."""
        return self.graph.variables

    @property
    def trainable_variables(self) -> list:
        """Those of the variables that are trainable."""
        return self.graph.trainable_variables

    @property
    def structured_input_signature(self) -> tuple:
        """The arguments: ((positional...), {keywords})."""
        args, kwargs = self._arguments
        names = argument_names(self._parameters, len(args))
        return (
            tuple(named(value, name) for name, value in zip(names, args, strict=True)),
            {k: named(v, k) for k, v in kwargs.items()},
        )

    @property
    def structured_outputs(self):
        """The results, in the structure that the function returns."""
        return self._structure

    @property
    def output_shapes(self):
        """The shapes of the results."""
        return nest.map_structure(lambda o: o.shape, self._structure)

    @property
    def output_dtypes(self):
        """The dtypes of the results."""
        return nest.map_structure(lambda o: o.dtype, self._structure)

    @property
    def function_def(self):
        """The graph, as what it is called by."""
        return self.graph

    def _log(self) -> None:
        """Write what became of the function, for TF_MLC_LOGGING=1."""
        self._logged = True
        graph = self.graph
        sys.stderr.write(
            f"mica.tf: device: {_mica.device(None)}\n"
            f"mica.tf: graph before: {graph._text()}mica.tf: graph after: {graph._describe()}"
            + "".join(f"mica.tf: subgraph {i}: {n} ops\n" for i, n in enumerate(graph._segments()))
        )

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """Return the signature as text."""
        return signature_text(
            self._parameters, self._arguments, self._structure, self._captured, verbose
        )

    def _call_flat(self, tensors: list):
        if self._single:
            return self._function(tensors + self._captured)[0]
        return self._pack(self._function(tensors + self._captured))

    def _pack(self, outputs: list):
        """Return the results in the structure that the function returns."""
        results = iter(outputs)
        flat = [None if is_none else next(results) for is_none in self._none]
        return nest.pack_sequence_as(self._structure, flat, expand_composites=True)

    def __call__(self, *args, **kwargs):
        """Call it with tensors for its tensor arguments."""
        specs = nest.flatten(in_order(*self._arguments), expand_composites=True)
        names = [s.name for s in specs if isinstance(s, TensorSpec)]
        given = in_order(args, {k: kwargs[k] for k in self._arguments[1] if k in kwargs} | kwargs)
        values = [v for v in nest.flatten(given, expand_composites=True) if _is_tensor_like(v)]
        if kwargs and not args and all(n in kwargs for n in names):
            values = [kwargs[n] for n in names]
        wanted = [s for s in specs if isinstance(s, TensorSpec)]
        if len(values) != self._n_inputs:
            raise unbound(
                f"expected {self._n_inputs} tensor arguments, got {len(values)}",
                args,
                kwargs,
                self.pretty_printed_signature(),
            )
        tensors = []
        for i, value in enumerate(values):
            spec = wanted[i] if i < len(wanted) else None
            tensor = convert_to_tensor(value, dtype_hint=None if spec is None else spec.dtype)
            if spec is not None and spec.dtype != tensor.dtype:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"cannot compute {self._name} as input #{i}(zero-based) was expected to be a "
                    f"{spec.dtype.name} tensor but is a {tensor.dtype.name} tensor "
                    f"[Op:{self._name}]",
                )
            if spec is not None and not spec.shape.is_compatible_with(tensor.shape):
                raise TypeError(
                    f"Tensor {tensor!r} of shape {tensor.shape} is not compatible with {spec!r}"
                )
            tensors.append(tensor)
        return self._call_flat(tensors)

    def __repr__(self) -> str:
        signature = self.pretty_printed_signature(verbose=False)
        return f"<ConcreteFunction {signature} at {hex(id(self))}>"

    def __str__(self) -> str:
        return f"ConcreteFunction {self.pretty_printed_signature()}"


def in_order(args, kwargs: dict) -> list:
    """Arguments as parameters stand in a graph: keywords as they come, not by name."""
    return [*args, *kwargs.values()]


def _is_tensor_like(value) -> bool:
    return (
        isinstance(value, Tensor) or hasattr(value, "__array__") or isinstance(value, float | int)
    )


# ---- functions ---------------------------------------------------------------------------------


_numbers = itertools.count(1)  # every trace has one


class _State(threading.local):
    tracing: tuple = ()


_state = _State()


def _is_traced_again(graph) -> bool:
    """Whether the graph, or one that it is in, has made variables and is traced a second time."""
    while graph is not None and not getattr(graph, "_is_traced_again", False):
        graph = graph.outer_graph
    return graph is not None


class Function(Trackable):
    """A Python function whose ops become graphs; what tf.function returns."""

    def __init__(
        self,
        python_function,
        input_signature=None,
        autograph=True,
        jit_compile=None,
        reduce_retracing=False,
        experimental_implements=None,
        experimental_autograph_options=None,
        experimental_attributes=None,
        name=None,
    ) -> None:
        self._python_function = python_function
        self._autograph = autograph
        self._jit_compile = jit_compile
        self._reduce_retracing = reduce_retracing
        self._name = name or getattr(python_function, "__name__", "function")
        self._signature = flat_signature(input_signature)
        self._given_signature = input_signature
        self._cache: dict = {}
        self._quick = _mica.TFCache()
        self._trace_count = 0
        self._creates_variables = None  # not known before the first trace
        self._lock = threading.RLock()
        self._bound: weakref.WeakKeyDictionary | None = None
        self._parameters = parameters_of(python_function)
        if input_signature is not None and self._parameters is not None:
            self._parameters.check_constraints(len(input_signature))
        functools.update_wrapper(self, python_function, updated=())

    # ---- looks

    @property
    def python_function(self):
        """The Python function."""
        return self._python_function

    @property
    def input_signature(self):
        """The signature given, or None."""
        return self._given_signature

    @property
    def function_spec(self):
        """The function's Python signature."""
        return inspect.signature(self._python_function)

    @property
    def name(self) -> str:
        """The function's name."""
        return self._name

    def experimental_get_tracing_count(self) -> int:
        """Return how often the Python function was traced."""
        return self._trace_count

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """Return all signatures traced so far."""
        return "\n\n".join(c.pretty_printed_signature(verbose) for c in self._cache.values())

    def __get__(self, instance, owner=None):
        """Bind it to an instance, as a method; the instance's traces are its own."""
        if instance is None:
            return self
        if self._bound is None:
            self._bound = weakref.WeakKeyDictionary()
        try:
            bound = self._bound.get(instance)
        except TypeError:
            return self._bind(instance)
        if bound is None:
            bound = self._bound[instance] = self._bind(instance)
        return bound

    def _bind(self, instance):
        reference = weakref.ref(instance)
        function = self._python_function

        @functools.wraps(function)
        def method(*args, **kwargs):
            return function(reference(), *args, **kwargs)

        method.__wrapped__ = function.__get__(_Weak(reference), object)
        bound = Function(
            method,
            self._given_signature,
            self._autograph,
            self._jit_compile,
            self._reduce_retracing,
            name=self._name,
        )
        bound._converted_from = (function, reference)
        bound._parameters = without_first(self._parameters)
        return bound

    # ---- calls

    def __call__(self, *args, **kwargs):
        """Run the trace for these arguments; trace first when there is none."""
        if not kwargs and not _takes_long_way:
            result = self._quick.call(args)
            if result is not NotImplemented:
                return result
        if _run_eagerly or _mica.tf_remote() is not None:
            return self._python_function(*args, **kwargs)  # elsewhere, ops go one by one
        try:
            concrete, tensors = self._find(args, kwargs)
            result = concrete._call_flat(tensors)
            if _watched is not None:
                _watched.setdefault(id(concrete), concrete.graph)
            if _LOGGING and not concrete._logged:
                concrete._log()
            if not kwargs and len(args) == len(tensors):
                self._keep_for_quick_calls(args, concrete)
            return result
        except Exception as error:
            # Tracebacks show the frames of the user.
            raise error.with_traceback(_user_frames(error.__traceback__))  # noqa: B904

    def _find(self, args, kwargs) -> tuple:
        """Return the trace for these arguments, and the tensors among them."""
        if self._signature is not None:
            return self._by_signature(args, kwargs)
        if kwargs or (self._parameters is not None and len(args) != self._parameters.exact):
            args, kwargs = self._canonical(args, kwargs)
        tensors: list = []
        key = (
            _graph_key(),
            tuple([key_of(arg, tensors) for arg in args]),
            tuple([(k, key_of(v, tensors)) for k, v in kwargs.items()]) if kwargs else (),
        )
        concrete = self._cache.get(key)
        if concrete is None:
            concrete = self._find_relaxed(key) or self._trace(key, args, kwargs, tensors)
        return concrete, tensors

    def _keep_for_quick_calls(self, args, concrete) -> None:
        """Let calls with tensors like these find their trace without Python."""
        exact = self._signature is not None or self._parameters is None
        if (exact or len(args) == self._parameters.exact) and _mica.tf_executing_eagerly():
            self._quick.add(
                tuple(args),
                concrete.graph,
                tuple(concrete._captured),
                None if concrete._single else concrete._pack,
            )

    def _canonical(self, args, kwargs):
        """Bring keywords into their places and fill in defaults."""
        if self._parameters is None:
            return args, dict(sorted(kwargs.items()))
        return self._parameters.canonical(self._name, args, kwargs)

    def _by_signature(self, args, kwargs):
        args, kwargs = self._canonical(args, kwargs)
        structure, specs = self._signature
        given = list(args) + list(kwargs.values())
        if len(given) > len(structure):
            rest = given[len(structure) :]
            if any(not self._is_default(len(structure) + i, v) for i, v in enumerate(rest)):
                raise TypeError(
                    f"{self._name}: {len(given)} arguments where the input_signature has "
                    f"{len(structure)}"
                )
            given = given[: len(structure)]
        flat = flatten_up_to(list(structure), given)
        if flat is None or len(flat) != len(specs):
            raise TypeError(
                f"Structure of Python function inputs does not match input_signature: inputs "
                f"{given!r}, input_signature {self._given_signature!r}"
            )
        tensors = []
        for value, spec in zip(flat, specs, strict=True):
            if not isinstance(spec, DenseSpec):
                if not spec.is_compatible_with(value):
                    reason = f"Can not cast {value!r} to {spec!r}"
                    raise unbound(reason, args, kwargs, repr(self._given_signature))
                tensors += nest.flatten(value, expand_composites=True)
                continue
            try:
                tensor = convert_to_tensor(value, spec.dtype)
            except (TypeError, ValueError):
                given = TensorSpec(value.shape, value.dtype) if isinstance(value, Tensor) else value
                reason = f"Can not cast {given!r} to {spec!r}"
                raise unbound(reason, args, kwargs, repr(self._given_signature)) from None
            if not spec.shape.is_compatible_with(tensor.shape):
                given = TensorSpec(tensor.shape, tensor.dtype)
                reason = f"Can not cast {given!r} to {spec!r}"
                raise unbound(reason, args, kwargs, repr(self._given_signature))
            tensors.append(tensor)
        key = (_graph_key(), "signature")
        concrete = self._cache.get(key)
        if concrete is None:
            concrete = self._trace(key, list(structure), {}, tensors)
        return concrete, tensors

    def _is_default(self, index: int, value) -> bool:
        return self._parameters is not None and self._parameters.default(index) is value

    def _find_relaxed(self, key):
        """With reduce_retracing, a trace for more general shapes that covers these."""
        if not self._reduce_retracing:
            return None
        for known, concrete in self._cache.items():
            if known[0] == key[0] and key_covers(known[1:], key[1:]):
                return concrete
        return None

    def get_concrete_function(self, *args, **kwargs) -> ConcreteFunction:
        """Return the trace for arguments like these; TensorSpecs may stand for tensors."""
        if self._signature is not None and not args and not kwargs:
            structure, specs = self._signature
            key = (_graph_key(), "signature")
            concrete = self._cache.get(key)
            if concrete is None:
                concrete = self._trace(key, list(structure), {})
            return concrete
        args, kwargs = self._canonical(args, kwargs)
        if self._signature is not None:
            specs = list(self._signature[0])
            key = (_graph_key(), "signature")
            concrete = self._cache.get(key)
            return concrete or self._trace(key, specs, {})
        tensors: list = []
        key = (
            _graph_key(),
            tuple([spec_key(arg, tensors) for arg in args]),
            tuple([(k, spec_key(v, tensors)) for k, v in kwargs.items()]),
        )
        concrete = self._cache.get(key)
        if concrete is None:
            concrete = self._trace(key, args, kwargs)
        return concrete

    # ---- what files keep

    def _list_all_concrete_functions(self) -> list[ConcreteFunction]:
        """Return all traces that stand by themselves; one for an input_signature is made."""
        if self._signature is not None:
            self.get_concrete_function()
        found: dict = {}
        for key, trace in self._cache.items():
            if all(isinstance(c, _mica.TFEagerTensor) for c in trace.captured_inputs):
                found.setdefault(key[1:], trace)
        return list(found.values())

    _list_all_concrete_functions_for_serialization = _list_all_concrete_functions

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs) -> dict:
        if save_type == "checkpoint":
            return {}
        return {f"trace_{i}": c for i, c in enumerate(self._list_all_concrete_functions())}

    # ---- tracing

    def _trace(self, key, args, kwargs, tensors=()) -> ConcreteFunction:
        """Trace for these arguments; tensors are their values where a call is what asks."""
        with self._lock:
            concrete = self._cache.get(key)
            if concrete is not None:
                return concrete
            if self._reduce_retracing:
                key, args, kwargs = self._relaxed(key, args, kwargs)
            first = self._creates_variables is None
            created: list = []
            concrete = self._trace_once(args, kwargs, created, first, tensors)
            if first:
                self._creates_variables = bool(created)
            if created and _is_traced_again(_mica.tf_current_graph()):
                return concrete  # in a graph that is not kept: traced anew with the next
            if created:
                again: list = []
                concrete = self._trace_once(args, kwargs, again, False)
            self._cache[key] = concrete
            self._warn_of_retracing()
            return concrete

    def _relaxed(self, key, args, kwargs):
        """Widen shapes that differed before: sizes that vary become None."""
        for known in self._cache:
            joined = join_keys(known, key)
            if joined is not None:
                args, kwargs = with_shapes(joined, args, kwargs)
                return joined, args, kwargs
        return key, args, kwargs

    def _warn_of_retracing(self) -> None:
        if self._trace_count in (5, 6) and len(self._cache) >= 5:
            import logging

            logging.getLogger("tensorflow").warning(
                "%d out of the last %d calls to %r triggered tf.function retracing. Tracing is "
                "expensive and the excessive number of tracings could be due to (1) creating "
                "@tf.function repeatedly in a loop, (2) passing tensors with different shapes, "
                "(3) passing Python objects instead of tensors.",
                self._trace_count,
                self._trace_count,
                self._python_function,
            )

    def _trace_once(
        self, args, kwargs, created: list, may_create: bool, tensors=()
    ) -> ConcreteFunction:
        outer = _mica.tf_current_graph()
        graph = FuncGraph(self._name, outer)
        graph._arguments = list(tensors)  # of which initial values of variables may be made
        self._trace_count += 1

        def variable_created():
            if not may_create:
                raise ValueError(
                    "tf.function only supports singleton tf.Variables created on the first call. "
                    "Make sure the tf.Variable is only created once or created outside "
                    "tf.function. See https://www.tensorflow.org/guide/function#creating_"
                    "tfvariables for more information."
                )
            created.append(True)
            graph._is_traced_again = True

        graph._variable_created = variable_created
        function = self._function_to_trace()
        with building(graph):
            names = argument_names(self._parameters, len(args))
            placed_args, placed_kwargs = placeholders(graph, names, args, kwargs)
            result = function(*placed_args, **placed_kwargs)
            result = _results(result)
            flat = [
                None if item is None else ops["Identity"](operand(item))
                for item in nest.flatten(result, expand_composites=True)
            ]
        del graph._arguments
        for item in flat:
            if item is not None:
                graph._output(item)
        structured = nest.pack_sequence_as(result, flat, expand_composites=True)
        if self._jit_compile:
            graph._set_compiled()
        specs = specs_of(args), {k: specs_of(v) for k, v in kwargs.items()}
        name = f"__inference_{self._name}_{next(_numbers)}"
        return ConcreteFunction(graph, self._parameters, specs, structured, flat, name)

    def _function_to_trace(self):
        function = self._python_function
        if not self._autograph:
            from .autograph.experimental import do_not_convert

            return do_not_convert(function)
        from . import autograph

        _connect_autograph()
        bound = getattr(self, "_converted_from", None)
        if bound is None:
            return autograph.convert(function)
        converted = autograph.convert(bound[0])
        return functools.partial(converted, bound[1]())

    def __repr__(self) -> str:
        return f"<tensorflow.python.eager.polymorphic_function.Function object at {hex(id(self))}>"


class _Weak:
    """Stands for the instance of a bound method without keeping it alive."""

    def __init__(self, reference) -> None:
        self._reference = reference


def _results(result):
    """Return what a function gave with variables read and operations dropped."""
    return nest.map_structure(
        lambda item: item._read() if isinstance(item, Variable) else item, result
    )


def _graph_key():
    graph = _mica.tf_current_graph()
    return None if graph is None else id(graph)


# ---- AutoGraph ---------------------------------------------------------------------------------

_connected = False


def _user_frames(traceback):
    from ._autograph_hooks import without_own_frames

    return without_own_frames(traceback)


def _connect_autograph() -> None:
    global _connected
    if _connected:
        return
    _connected = True
    from . import _autograph_hooks

    _autograph_hooks.connect()


def function(
    func=None,
    input_signature=None,
    autograph=True,
    jit_compile=None,
    reduce_retracing=False,
    experimental_implements=None,
    experimental_autograph_options=None,
    experimental_attributes=None,
    experimental_relax_shapes=None,
    experimental_compile=None,
    experimental_follow_type_hints=None,
):
    """Make of a Python function one that runs as graphs.

    Parameters
    ----------
    func
        The function; without it a decorator is returned.
    input_signature
        TensorSpecs for the arguments: one trace serves all that fit.
    autograph
        Whether Python's control flow over tensors becomes the graph's.
    reduce_retracing
        Whether sizes that vary between calls become unknown.
    """
    relax = reduce_retracing or bool(experimental_relax_shapes)

    def decorated(python_function):
        return Function(
            python_function,
            input_signature,
            autograph,
            experimental_compile if jit_compile is None else jit_compile,
            relax,
        )

    return decorated if func is None else decorated(func)
