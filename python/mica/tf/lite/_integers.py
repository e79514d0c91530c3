"""Full integer quantization: activations in eight bits too, by the ranges that samples show."""

from __future__ import annotations

import numpy as np

from .. import _dtypes
from .._core import convert_to_tensor
from .._function import function
from .._specs import TensorSpec
from ._plan import Plan, Quantization, Step, Value
from ._quantize import quantized
from ._rows import ConverterError
from ._run import Runner

# Operators with weights: places of operand, weights and bias, the weights' axis of channels.
_WEIGHTED = {
    "CONV_2D": (0, 1, 2, 0),
    "DEPTHWISE_CONV_2D": (0, 1, 2, 3),
    "FULLY_CONNECTED": (0, 1, 2, 0),
    "TRANSPOSE_CONV": (2, 1, 3, 0),
}
# Operators that only move elements: the results are stored as the first operand is.
_MOVING = (
    *("RESHAPE", "TRANSPOSE", "MAX_POOL_2D", "AVERAGE_POOL_2D", "PAD", "SLICE", "STRIDED_SLICE"),
    *("SQUEEZE", "EXPAND_DIMS", "GATHER", "UNPACK", "SPLIT", "TILE", "RESIZE_BILINEAR"),
    *("RESIZE_NEAREST_NEIGHBOR", "MIRROR_PAD"),
)
# Operators whose operands have to be stored as their result is.
_JOINING = ("CONCATENATION", "PACK", "MAXIMUM", "MINIMUM")
# Operators whose results have a range of their own: scale and zero point.
_FIXED = {
    "SOFTMAX": (1 / 256, -128),
    "LOGISTIC": (1 / 256, -128),
    "TANH": (1 / 128, 0),
    "LOG_SOFTMAX": (16 / 256, 127),
    "L2_NORMALIZATION": (1 / 128, 0),
}
# Operators whose results are stored by the range that was seen.
_RANGED = (
    *("ADD", "SUB", "MUL", "MEAN", "SUM", "BATCH_MATMUL", "RELU", "RELU6", "LEAKY_RELU", "PRELU"),
    *("ELU", "HARD_SWISH", "SQUARED_DIFFERENCE", "RELU_N1_TO_1"),
)


# Operators that give the same of integers and of floats.
_LOOKING = ("SHAPE", "RANK", "ARG_MAX", "ARG_MIN")


def ranges(plan: Plan, samples) -> dict[Value, tuple[float, float]]:
    """The least and the largest number that each value of float takes for some samples."""
    watched = [v for v in _made(plan) if v.dtype == "float32"]
    runner = Runner(plan, [plan])
    traces: dict = {}
    found: dict = {}

    def trace(arrays: list):
        def run(*tensors):
            env = runner(list(tensors))
            return [convert_to_tensor(env[value]) for value in watched]

        specs = [TensorSpec(a.shape, _dtypes.as_dtype(a.dtype)) for a in arrays]
        return function(run, autograph=False).get_concrete_function(*specs)

    for sample in samples:
        arrays = _arrays(plan, sample)
        shapes = tuple(a.shape for a in arrays)
        if shapes not in traces:
            traces[shapes] = trace(arrays)
        results = traces[shapes](*[convert_to_tensor(a) for a in arrays])
        seen = zip(watched, [t.numpy() for t in results], strict=True)
        inputs = zip(plan.inputs, arrays, strict=True)
        for value, array in [*inputs, *seen]:
            if array.dtype != np.float32 or not array.size:
                continue
            low, high = found.get(value, (np.inf, -np.inf))
            found[value] = min(low, float(array.min())), max(high, float(array.max()))
    if not found:
        raise ValueError("the representative_dataset gives no samples")
    return found


def _made(plan: Plan) -> list[Value]:
    return [value for step in plan.steps for value in step.outputs]


def _arrays(plan: Plan, sample) -> list[np.ndarray]:
    """A sample's arrays in the order of the inputs."""
    if isinstance(sample, tuple) and len(sample) == 2 and isinstance(sample[1], dict):
        sample = sample[1]  # (the signature's key, inputs by name)
    if isinstance(sample, dict):
        sample = [sample[name] for name in plan.input_names]
    arrays = [np.asarray(each) for each in sample]
    if len(arrays) != len(plan.inputs):
        raise ValueError(
            f"a sample of the representative_dataset has {len(arrays)} arrays, the model "
            f"{len(plan.inputs)} inputs"
        )
    return [a.astype(v.dtype) for a, v in zip(arrays, plan.inputs, strict=True)]


def _of_range(low: float, high: float) -> Quantization:
    low, high = min(low, 0.0), max(high, 0.0)
    scale = np.float32((high - low) / 255) if high > low else np.float32(1)
    zero = int(np.clip(np.round(-128 - low / scale), -128, 127))
    return _single(scale, zero)


def _single(scale: float, zero: int) -> Quantization:
    return Quantization(np.array([scale], np.float32), np.array([zero], np.int64))


def _is_same(a: Quantization, b: Quantization) -> bool:
    return bool(np.array_equal(a.scale, b.scale) and np.array_equal(a.zero_point, b.zero_point))


class _Rewriter:
    """Makes the steps of integers, and steps between integers and floats where both are."""

    def __init__(self, plan: Plan, seen: dict, only_integers: bool) -> None:
        self.plan, self.seen, self.only_integers = plan, seen, only_integers
        self.steps: list[Step] = []
        self.stored: dict[Value, Value] = {}  # of a float, its integers
        self.real: set = set(plan.inputs)  # floats that are there
        self.constants: dict[Value, Value] = {}

    def integers(self, value: Value) -> Value:
        """A value as integers."""
        if value.data is not None:
            return self.constant(value)
        if value not in self.stored:
            self.stored[value] = self.declared(value, _of_range(*self.seen[value]))
            self.steps.append(Step("QUANTIZE", [value], [self.stored[value]]))
        return self.stored[value]

    def constant(self, value: Value) -> Value:
        if value not in self.constants:
            quantization = _of_range(float(value.data.min()), float(value.data.max()))
            self.constants[value] = _stored(value, quantization)
        return self.constants[value]

    def floats(self, value: Value) -> Value:
        """A value as floats."""
        if value.data is None and value not in self.real:
            self.real.add(value)
            self.steps.append(Step("DEQUANTIZE", [self.stored[value]], [value]))
        return value

    def taken(self, step: Step, value: Value) -> Value:
        """An operand of a step that stays as it is."""
        if value.dtype != "float32":
            return value
        if step.op in _LOOKING and value in self.stored:
            return self.stored[value]
        return self.floats(value)

    def declared(self, value: Value, quantization: Quantization) -> Value:
        return Value(value.name + "_int8", "int8", value.shape, None, quantization)

    def like(self, value: Value, quantization: Quantization) -> Value:
        """Integers, stored in another way."""
        if _is_same(value.quantization, quantization):
            return value
        if value.data is not None:
            real = (value.data - value.quantization.zero_point) * value.quantization.scale
            return _stored(Value(value.name, "float32", value.shape, real), quantization)
        made = self.declared(value, quantization)
        self.steps.append(Step("QUANTIZE", [value], [made]))
        return made

    def rewrite(self, step: Step) -> None:
        """Add a step, of integers if it can be."""
        step = _multiplied(step)
        if not self.can(step):
            if self.only_integers and any(v.dtype == "float32" for v in step.outputs):
                raise ConverterError(f"{step.op}: there is no kernel of integers for it")
            inputs = [v if v is None else self.taken(step, v) for v in step.inputs]
            self.steps.append(Step(step.op, inputs, step.outputs, step.options))
            self.real.update(step.outputs)
            return
        if step.op in _WEIGHTED:
            self.weighted(step)
        else:
            self.plain(step)

    def can(self, step: Step) -> bool:
        floats = [v for v in step.inputs if v is not None and v.dtype == "float32"]
        if not floats or any(v.data is None and v not in self.seen for v in floats):
            return False
        if any(v.data is not None and not v.data.size for v in floats):
            return False
        if any(v.dtype == "float32" and v not in self.seen for v in step.outputs):
            return False
        if step.op in _WEIGHTED:
            weights, bias = (self.operand(step, i) for i in _WEIGHTED[step.op][1:3])
            return weights.data is not None and (bias is None or bias.data is not None)
        return step.op in (*_MOVING, *_JOINING, *_FIXED, *_RANGED)

    @staticmethod
    def operand(step: Step, place: int) -> Value | None:
        return step.inputs[place] if place < len(step.inputs) else None

    def weighted(self, step: Step) -> None:
        place, weights_place, bias_place, axis = _WEIGHTED[step.op]
        x = self.integers(step.inputs[place])
        weights = quantized(step.inputs[weights_place], axis)
        inputs = list(step.inputs)
        inputs[place], inputs[weights_place] = x, weights
        bias = self.operand(step, bias_place)
        if bias is not None:
            scale = (x.quantization.scale * weights.quantization.scale).astype(np.float32)
            limit = np.iinfo(np.int32)
            data = np.clip(np.round(bias.data.astype(np.float64) / scale), limit.min, limit.max)
            data = data.astype(np.int32)
            zeros = np.zeros(scale.size, np.int64)
            inputs[bias_place] = Value(
                bias.name, "int32", data.shape, data, Quantization(scale, zeros)
            )
        self.add(step, inputs, _of_range(*self.seen[step.outputs[0]]))

    def plain(self, step: Step) -> None:
        inputs = [v if v is None or v.dtype != "float32" else self.integers(v) for v in step.inputs]
        first = next(v for v in inputs if v is not None and v.dtype == "int8")
        if step.op in _FIXED:
            quantization = _single(*_FIXED[step.op])
        elif step.op in _MOVING:
            quantization = first.quantization
        else:
            quantization = _of_range(*self.seen[step.outputs[0]])
        if step.op in _JOINING:
            inputs = [self.like(v, quantization) if v.dtype == "int8" else v for v in inputs]
        self.add(step, inputs, quantization)

    def add(self, step: Step, inputs: list, quantization: Quantization) -> None:
        outputs = []
        for value in step.outputs:
            made = self.declared(value, quantization) if value.dtype == "float32" else value
            self.stored[value] = made
            outputs.append(made)
        self.steps.append(Step(step.op, inputs, outputs, dict(step.options)))


def _stored(value: Value, quantization: Quantization) -> Value:
    places = np.round(value.data / quantization.scale) + quantization.zero_point
    data = np.clip(places, -128, 127).astype(np.int8).reshape(value.data.shape)
    return Value(value.name, "int8", data.shape, data, quantization)


def _multiplied(step: Step) -> Step:
    """A quotient by a constant as a product, which has kernels of integers."""
    divisor = step.inputs[1] if step.op == "DIV" else None
    if divisor is None or divisor.data is None or not np.all(divisor.data):
        return step
    data = (np.float32(1) / divisor.data).astype(np.float32)
    factor = Value(divisor.name, "float32", data.shape, data)
    return Step("MUL", [step.inputs[0], factor], step.outputs, dict(step.options))


def _other(quantization: Quantization, dtype: str) -> Quantization:
    shift = 128 if dtype == "uint8" else 0
    return Quantization(quantization.scale, quantization.zero_point + shift)


def quantize(plan: Plan, seen: dict, only_integers: bool, taken: str, given: str) -> None:
    """Rewrite a plan; `taken` and `given` are the dtypes of its inputs and outputs."""
    rewriter = _Rewriter(plan, seen, only_integers)
    inputs = []
    for value in plan.inputs:
        if taken == "float32" or value.dtype != "float32":
            inputs.append(value)
            continue
        quantization = _of_range(*seen[value])
        own = Value(value.name, taken, value.shape, None, _other(quantization, taken))
        inputs.append(own)
        rewriter.stored[value] = own
        rewriter.real.discard(value)
        if taken != "int8":
            rewriter.stored[value] = rewriter.declared(value, quantization)
            rewriter.steps.append(Step("QUANTIZE", [own], [rewriter.stored[value]]))
    for step in plan.steps:
        rewriter.rewrite(step)
    outputs = []
    for value in plan.outputs:
        if given == "float32" or value.dtype != "float32":
            outputs.append(rewriter.floats(value))
            continue
        made = rewriter.integers(value)
        outputs.append(made)
        if given != "int8":
            outputs[-1] = Value(
                value.name, given, value.shape, None, _other(made.quantization, given)
            )
            rewriter.steps.append(Step("QUANTIZE", [made], [outputs[-1]]))
    plan.inputs, plan.outputs, plan.steps = inputs, outputs, rewriter.steps
