"""A plan as a graph of tensors."""

from __future__ import annotations

import numpy as np

from .. import _dtypes
from .._context import building
from .._control import cond, while_loop
from .._core import convert_to_tensor, ops
from .._math import cast
from . import _schema, _table
from ._plan import Plan, Step, Value

_STORED = ("int8", "uint8", "int16", "int32")  # types that scales give a meaning
_BRANCHED = ("IF", "WHILE")
_HYBRID = ("FULLY_CONNECTED", "CONV_2D", "DEPTHWISE_CONV_2D", "BATCH_MATMUL")


# Operators whose result has the type that the file says, whether the options repeat it or not.
_TYPED = {
    "CAST": "out_data_type",
    "SHAPE": "out_type",
    "ARG_MAX": "output_type",
    "ARG_MIN": "output_type",
}


def unsupported(plans: list[Plan]) -> list[str]:
    """The operators that are not in the table."""
    return sorted({step.op for plan in plans for step in plan.steps if step.op not in _table.ROWS})


class Runner:
    """Makes the tensors of a plan, one by one; constants are made once."""

    def __init__(self, plan: Plan, plans: list[Plan], above: tuple = ()) -> None:
        self.plan, self.plans, self.above = plan, plans, (*above, plan)
        self._constants: dict[Value, object] = {}
        self._reals: dict[Value, object] = {}

    def __call__(self, inputs: list) -> dict:
        """All tensors, by value."""
        env = dict(zip(self.plan.inputs, inputs, strict=True))
        for step in self.plan.steps:
            try:
                results = self.step(step, env)
            except (TypeError, KeyError, IndexError, AttributeError) as error:
                raise ValueError(f"{step.op}: {error}") from error
            for value, tensor in zip(step.outputs, results, strict=False):
                env[value] = tensor
        return env

    def stored(self, value: Value, env: dict):
        """A tensor as it is stored."""
        found = env.get(value)
        if found is None:
            found = self._constants.get(value)
        if found is None:
            data = value.data
            if data is None:  # a variable before it is written
                data = np.zeros(value.shape, value.dtype)
            found = self._constants[value] = _constant(data, _dtypes.as_dtype(value.dtype))
        return found

    def real(self, value: Value | None, env: dict):
        """A tensor as the numbers that it stands for."""
        if value is None:
            return None
        if value.quantization is None or value.dtype not in _STORED:
            return self.stored(value, env)
        if value.data is None:
            return _real(self.stored(value, env), value)
        if value not in self._reals:
            scale, zero = value.quantization.spread(value.data.ndim)
            with np.errstate(over="ignore"):
                real = (value.data.astype(np.float32) - zero.astype(np.float32)) * scale
            self._reals[value] = _constant(real.astype(np.float32), _dtypes.float32)
        return self._reals[value]

    def step(self, step: Step, env: dict) -> list:
        """The results of a step."""
        if step.op == "DEQUANTIZE":
            return [cast(self.real(step.inputs[0], env), _dtypes.float32)]
        given = [self.real(value, env) for value in step.inputs]
        if step.op == "QUANTIZE":
            return [_stored(given[0], step.outputs[0])]
        row = _table.ROWS[step.op]
        options = _options(row, step)
        if step.op in _BRANCHED:
            return self.branched(step, given, options)
        if step.op in _HYBRID and _is_hybrid(step):
            given[0] = _rounded(step, given[0], options)
        results = row.run(given, options)
        results = list(results) if isinstance(results, list | tuple) else [results]
        if len(results) < len(step.outputs):
            raise ValueError(f"{step.op} gives {len(results)} results, not {len(step.outputs)}")
        activation = getattr(options, "fused_activation_function", 0)
        if activation:
            results = [_activated(step, results[0], activation)]
        return [_stored(t, v) for t, v in zip(results, step.outputs, strict=False)]

    def branched(self, step: Step, given: list, options) -> list:
        """The results of a branch or a loop, whose bodies are other plans."""
        if step.op == "IF":
            branches = [options.then_subgraph_index, options.else_subgraph_index]
            yes, no = (self.body(index, len(given) - 1) for index in branches)
            results = cond(
                ops["Reshape"](given[0], []), lambda: yes(given[1:]), lambda: no(given[1:])
            )
        else:
            test = self.body(options.cond_subgraph_index, len(given))
            turn = self.body(options.body_subgraph_index, len(given))
            results = while_loop(
                lambda *state: ops["Reshape"](test(list(state))[0], []),
                lambda *state: turn(list(state)),
                given,
            )
        results = list(results) if isinstance(results, list | tuple) else [results]
        if len(results) < len(step.outputs):
            raise ValueError(f"{step.op}: its body gives {len(results)} results")
        return results

    def body(self, index: int, count: int):
        """A function of another plan's inputs."""
        if not 0 <= index < len(self.plans) or self.plans[index] in self.above:
            raise ValueError(f"there is no subgraph {index} to go to")
        runner = Runner(self.plans[index], self.plans, self.above)
        if len(runner.plan.inputs) != count or not runner.plan.outputs:
            raise ValueError(f"subgraph {index} does not take {count} operands")

        def run(tensors: list) -> list:
            env = runner(tensors)
            return [convert_to_tensor(runner.stored(v, env)) for v in runner.plan.outputs]

        return run


def _constant(data: np.ndarray, dtype):
    """A tensor that every graph can use."""
    with building(None):
        return convert_to_tensor(data, dtype)


def _options(row, step: Step):
    if row.options is None:
        return None
    options = _schema.OPTIONS[_schema.OPTION_NUMBERS[row.options]](**step.options)
    if step.op in _TYPED:
        setattr(options, _TYPED[step.op], _schema.TYPE_NUMBERS[step.outputs[0].dtype])
    return options


def _activated(step: Step, x, number: int):
    name = _schema.ACTIVATIONS[number] if 0 <= number < len(_schema.ACTIVATIONS) else ""
    if name not in _table.ROWS:
        raise ValueError(f"{step.op}: the activation {name or number} is not supported")
    return _table.ROWS[name].run([x], None)


def _real(tensor, value: Value):
    scale, zero = value.quantization.spread(len(value.shape))
    return (cast(tensor, _dtypes.float32) - zero.astype(np.float32)) * scale


def _round(x):
    """The nearest integer, halves away from zero."""
    half = convert_to_tensor(0.5, x.dtype)
    return ops["Sign"](x) * ops["Floor"](ops["Abs"](x) + half)


def _stored(x, value: Value):
    """Numbers as they are stored."""
    dtype = _dtypes.as_dtype(value.dtype)
    if value.quantization is None or value.dtype not in _STORED or not x.dtype.is_floating:
        if x.dtype != dtype:
            raise ValueError(f"a tensor is {x.dtype.name}, but {value.dtype} in the file")
        return x
    scale, zero = value.quantization.spread(len(value.shape))
    limits = np.iinfo(value.dtype)
    places = _round(x / convert_to_tensor(scale)) + zero.astype(np.float32)
    low, high = (convert_to_tensor(float(n), x.dtype) for n in (limits.min, limits.max))
    return cast(ops["Minimum"](ops["Maximum"](places, low), high), dtype)


# ---- weights of eight bits with operands of float ------------------------------------------------


def _is_hybrid(step: Step) -> bool:
    weights = step.inputs[1] if len(step.inputs) > 1 else None
    if weights is None or weights.quantization is None or weights.dtype not in ("int8", "uint8"):
        return False
    return step.inputs[0].dtype == "float32"


def _rounded(step: Step, x, options):
    """The operand as kernels take it: rounded to eight bits, by row or by picture."""
    is_picture = "CONV" in step.op
    axes = list(range(1, x.shape.rank)) if is_picture else [-1]
    asymmetric = is_picture or options.asymmetric_quantize_inputs
    zero, one = convert_to_tensor(0.0), convert_to_tensor(1.0)
    if not asymmetric:
        largest = ops["Max"](ops["Abs"](x), axes, keep_dims=True)
        scale = ops["SelectV2"](largest > zero, largest / 127.0, one)
        return _round(x / scale) * scale
    low = ops["Minimum"](ops["Min"](x, axes, keep_dims=True), zero)
    high = ops["Maximum"](ops["Max"](x, axes, keep_dims=True), zero)
    scale = (high - low) / 255.0
    scale = ops["SelectV2"](scale > zero, scale, one)
    base = _round(convert_to_tensor(-128.0) - low / scale)
    base = ops["Minimum"](ops["Maximum"](base, convert_to_tensor(-128.0)), convert_to_tensor(127.0))
    places = _round(x / scale + base)
    places = ops["Minimum"](
        ops["Maximum"](places, convert_to_tensor(-128.0)), convert_to_tensor(127.0)
    )
    return (places - base) * scale
