"""Plans as the bytes of a .tflite file, and back."""

from __future__ import annotations

import itertools
import struct

import numpy as np

from . import _flatbuffer, _schema, _table
from ._plan import Plan, Quantization, Step, Value

_LARGE_CODES = 127  # what the older field for codes says of those from here on
_MOST_BYTES = 1 << 31  # of one tensor

# ---- writing -------------------------------------------------------------------------------------


class _Writer:
    def __init__(self) -> None:
        self.buffers = [_schema.Buffer()]
        self.known: dict = {}  # buffers by their bytes
        self.codes: list = []  # (operator, version)

    def buffer(self, data: bytes) -> int:
        if data not in self.known:
            self.known[data] = len(self.buffers)
            self.buffers.append(_schema.Buffer(data=data))
        return self.known[data]

    def subgraph(self, plan: Plan):
        values = _ordered(plan)
        for i, value in enumerate(values):
            value.index = i
        return _schema.SubGraph(
            tensors=[self.tensor(value) for value in values],
            inputs=[value.index for value in plan.inputs],
            outputs=[value.index for value in plan.outputs],
            operators=[self.operator(step) for step in plan.steps],
            name=plan.name,
        )

    def tensor(self, value: Value):
        shape = value.shape or ()
        made = _schema.Tensor(
            shape=[1 if n is None else n for n in shape],
            type=_schema.TYPE_NUMBERS[value.dtype],
            name=value.name,
            has_rank=value.shape is not None,
        )
        if None in shape:
            made.shape_signature = [-1 if n is None else n for n in shape]
        if value.data is not None:
            made.buffer = self.buffer(_bytes(value))
        if value.quantization is not None:
            made.quantization = _schema.QuantizationParameters(
                scale=value.quantization.scale.reshape(-1),
                zero_point=value.quantization.zero_point.reshape(-1),
                quantized_dimension=value.quantization.axis,
            )
        return made

    def operator(self, step: Step):
        row = _table.ROWS[step.op]
        code = (row, _table.version(step))
        if code not in self.codes:
            self.codes.append(code)
        made = _schema.Operator(
            opcode_index=self.codes.index(code),
            inputs=[-1 if value is None else value.index for value in step.inputs],
            outputs=[value.index for value in step.outputs],
        )
        if row.options is not None:
            made.builtin_options_type = _schema.OPTION_NUMBERS[row.options]
            made.builtin_options = _schema.OPTIONS[made.builtin_options_type](**step.options)
        return made

    def operator_codes(self) -> list:
        return [
            _schema.OperatorCode(
                deprecated_builtin_code=min(row.code, _LARGE_CODES),
                version=version,
                builtin_code=row.code,
            )
            for row, version in self.codes
        ]

    def least_runtime(self) -> str:
        """The first runtime that has all operators in their versions."""
        since = [row.since[version - 1] for row, version in self.codes if version <= len(row.since)]
        numbers = [tuple(map(int, text.split("."))) for text in since if text != "."]
        return ".".join(map(str, max(numbers, default=(1, 5, 0))))


def _ordered(plan: Plan) -> list:
    """All values, inputs first, then in the order that steps take and make them."""
    found = dict.fromkeys(plan.inputs)
    for step in plan.steps:
        found.update(dict.fromkeys(v for v in [*step.inputs, *step.outputs] if v is not None))
    found.update(dict.fromkeys(plan.outputs))
    return list(found)


def _bytes(value: Value) -> bytes:
    if value.dtype != "string":
        return np.ascontiguousarray(value.data).tobytes()
    texts = [t if isinstance(t, bytes) else str(t).encode() for t in value.data.reshape(-1)]
    ends = np.cumsum([4 * (len(texts) + 2), *map(len, texts)])
    return struct.pack(f"<{len(texts) + 2}i", len(texts), *ends) + b"".join(texts)


def _signature(plan: Plan, index: int):
    def maps(names: list, values: list) -> list:
        return [
            _schema.TensorMap(name=name, tensor_index=value.index)
            for name, value in zip(names, values, strict=True)
        ]

    return _schema.SignatureDef(
        inputs=maps(plan.input_names, plan.inputs),
        outputs=maps(plan.output_names, plan.outputs),
        signature_key=plan.key,
        subgraph_index=index,
    )


def written(plans: list[Plan]) -> bytes:
    """Return the file of some plans, a subgraph and a signature each."""
    writer = _Writer()
    subgraphs = [writer.subgraph(plan) for plan in plans]
    runtime = writer.least_runtime().encode()
    metadata = _schema.Metadata(name="min_runtime_version", buffer=len(writer.buffers))
    writer.buffers.append(_schema.Buffer(data=runtime + bytes(16 - len(runtime))))
    model = _schema.Model(
        version=_schema.VERSION,
        operator_codes=writer.operator_codes(),
        subgraphs=subgraphs,
        description="Mica Converted.",
        buffers=writer.buffers,
        metadata=[metadata],
        signature_defs=[_signature(plan, i) for i, plan in enumerate(plans)],
    )
    return _flatbuffer.written(model, _schema.IDENTIFIER)


# ---- reading -------------------------------------------------------------------------------------


def read(data) -> list[Plan]:
    """Return the plans of a file; ValueError for what is no sound file."""
    model = _flatbuffer.read(_schema.Model, data, _schema.IDENTIFIER)
    if model.version != _schema.VERSION:
        raise ValueError(f"a model of schema version {model.version}, not {_schema.VERSION}")
    if not model.subgraphs or not model.buffers:
        raise ValueError("a model without subgraphs or buffers")
    plans = [_plan(model, subgraph) for subgraph in model.subgraphs]
    for plan in plans:
        plan.key = ""
    for signature in model.signature_defs or ():
        _sign(plans, signature)
    return plans


def _sign(plans: list[Plan], signature) -> None:
    if not signature.signature_key or signature.subgraph_index >= len(plans):
        raise ValueError("a signature of a subgraph that is not there")
    plan = plans[signature.subgraph_index]
    plan.key = signature.signature_key
    for entries, values, names in (
        (signature.inputs, plan.inputs, plan.named_inputs),
        (signature.outputs, plan.outputs, plan.named_outputs),
    ):
        for entry in entries or ():
            value = _item(plan.values, entry.tensor_index, "tensor")
            if value not in values or not entry.name:
                raise ValueError(f"the signature {plan.key!r} names a tensor that it does not have")
            names[entry.name] = value


def _item(items, index: int, what: str):
    if not 0 <= index < len(items):
        raise ValueError(f"there is no {what} {index} among {len(items)}")
    return items[index]


def _plan(model, subgraph) -> Plan:
    values = [_value(model, i, tensor) for i, tensor in enumerate(subgraph.tensors or ())]

    def several(indices) -> list:
        return [_item(values, int(i), "tensor") for i in (() if indices is None else indices)]

    plan = Plan(several(subgraph.inputs), several(subgraph.outputs), values=values)
    plan.name = subgraph.name or ""
    made = {v for v in values if v.data is not None or v.is_variable} | set(plan.inputs)
    for operator in subgraph.operators or ():
        step = _step(model, operator, values, several)
        for value in step.inputs:
            if value is not None and value not in made and 0 in value.shape:
                value.data = _zeros(value)  # files do not tell empty constants from others
                made.add(value)
            if value is not None and value not in made:
                raise ValueError(f"{step.op} takes tensor {value.index} before it is made")
        for value in step.outputs:
            if value in made:
                raise ValueError(f"{step.op} makes tensor {value.index}, which is there already")
            made.add(value)
        plan.steps.append(step)
    for value in plan.outputs:
        if value not in made:
            raise ValueError(f"the output {value.index} ({value.name!r}) is never made")
    return plan


def _step(model, operator, values: list, several) -> Step:
    code = _item(model.operator_codes or (), operator.opcode_index, "operator code")
    number = max(code.builtin_code, code.deprecated_builtin_code)
    row = _table.BY_CODE.get(number)
    name = row.name if row else code.custom_code or f"builtin operator {number}"
    given = () if operator.inputs is None else operator.inputs
    inputs = [None if i == -1 else _item(values, int(i), "tensor") for i in given]
    step = Step(name, inputs, several(operator.outputs), {})
    if row is not None and row.options is not None:
        kind = _schema.OPTIONS[_schema.OPTION_NUMBERS[row.options]]
        options = operator.builtin_options
        step.options = vars(options if isinstance(options, kind) else kind())
    if row is not None and (not step.outputs or (inputs and inputs[0] is None)):
        raise ValueError(f"{name} without operands or results")
    return step


def _value(model, index: int, tensor) -> Value:
    number = tensor.type
    dtype = _schema.TYPES[number] if 0 <= number < len(_schema.TYPES) else None
    if dtype is None:
        raise ValueError(f"tensor {index}: type {number} is not supported")
    if tensor.sparsity is not None:
        raise ValueError(f"tensor {index}: sparse tensors are not supported")
    shape = tuple(int(n) for n in (() if tensor.shape is None else tensor.shape))
    name = tensor.name or ""
    if any(n < 0 for n in shape) or len(shape) > 8 or _size(shape) * 4 > _MOST_BYTES:
        raise ValueError(f"tensor {index} ({name!r}): the shape {shape} is not supported")
    value = Value(name, dtype, shape, is_variable=tensor.is_variable, index=index)
    buffer = _item(model.buffers, tensor.buffer, "buffer")
    if buffer.offset > 1:
        raise ValueError(f"tensor {index}: data outside of the model's tables is not supported")
    if tensor.buffer and buffer.data is not None and len(buffer.data):
        value.data = _data(buffer.data, value)
    value.quantization = _quantization(tensor.quantization, value)
    signature = tensor.shape_signature
    if signature is not None and len(signature) == len(shape) and value.data is None:
        value.shape = tuple(None if s < 0 else n for s, n in zip(signature, shape, strict=True))
    return value


def _size(shape) -> int:
    total = 1
    for n in shape:
        total *= int(n)
    return total


def _zeros(value: Value) -> np.ndarray:
    shape = tuple(0 if n is None else n for n in value.shape)
    return np.zeros(shape, object if value.dtype == "string" else value.dtype)


def _data(data, value: Value) -> np.ndarray:
    if value.dtype == "string":
        return _texts(bytes(data), value)
    if value.dtype == "bfloat16":
        raise ValueError(f"tensor {value.index}: constants of bfloat16 are not supported")
    dtype = np.dtype(value.dtype)
    if len(data) != _size(value.shape) * dtype.itemsize:
        raise ValueError(
            f"tensor {value.index} has {len(data)} bytes for {value.dtype}{value.shape}"
        )
    if value.dtype == "bool":
        return np.frombuffer(data, np.uint8).reshape(value.shape) != 0
    return np.frombuffer(data, dtype.newbyteorder("<")).astype(dtype).reshape(value.shape)


def _texts(data: bytes, value: Value) -> np.ndarray:
    count = struct.unpack_from("<i", data)[0] if len(data) >= 4 else -1
    if count != _size(value.shape) or len(data) < 4 * (count + 2):
        raise ValueError(f"tensor {value.index}: the strings are not as many as its shape says")
    places = struct.unpack_from(f"<{count + 1}i", data, 4)
    pairs = list(itertools.pairwise(places))
    if any(not 0 <= a <= b <= len(data) for a, b in pairs):
        raise ValueError(f"tensor {value.index}: a string is outside of its buffer")
    texts = np.empty(count, object)
    texts[:] = [data[a:b] for a, b in pairs]
    return texts.reshape(value.shape)


def _quantization(given, value: Value) -> Quantization | None:
    if given is None or given.scale is None or not len(given.scale):
        return None
    scale = given.scale.astype(np.float32)
    zeros = np.zeros(scale.size, np.int64) if given.zero_point is None else given.zero_point
    if given.details is not None or given.details_type:
        raise ValueError(f"tensor {value.index}: its kind of quantization is not supported")
    if zeros.size == 1 and scale.size > 1:
        zeros = np.broadcast_to(zeros, scale.shape)
    axis = given.quantized_dimension
    sized = scale.size == 1 or (
        0 <= axis < len(value.shape) and value.shape[axis] == scale.size == zeros.size
    )
    if not sized or zeros.size != scale.size or not np.all(np.isfinite(scale)):
        raise ValueError(f"tensor {value.index} ({value.name!r}): its scales do not fit its shape")
    return Quantization(scale, zeros.astype(np.int64), axis)
