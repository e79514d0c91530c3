"""tf.lite.Interpreter: runs .tflite files."""

from __future__ import annotations

import enum

import numpy as np

from .. import _dtypes, errors
from .._core import convert_to_tensor
from .._function import function
from .._reading import reading
from .._specs import TensorSpec
from . import _file
from ._plan import Plan, Value
from ._run import Runner, unsupported

_MOST_ELEMENTS = 1 << 29


class OpResolverType(enum.Enum):
    """Which kernels TensorFlow Lite takes; here there is one kind."""

    AUTO = 0
    BUILTIN = 1
    BUILTIN_REF = 2
    BUILTIN_WITHOUT_DEFAULT_DELEGATES = 3


class _Subgraph:
    """A plan with the arrays that are set and computed."""

    def __init__(self, plan: Plan, plans: list[Plan], keep_all: bool) -> None:
        self.plan, self.plans = plan, plans
        self.runner = Runner(plan, plans)
        self.shapes = {v: tuple(1 if n is None else n for n in v.shape) for v in plan.inputs}
        self.sizes = {v: _filled(v.shape) for v in plan.values}
        self.arrays: dict[Value, np.ndarray] = {}
        self.results = [v for v in _made(plan) if keep_all or v in plan.outputs]
        self.traces: dict = {}
        self.trace = None

    def value(self, index: int) -> Value:
        """The tensor with this number."""
        if not 0 <= index < len(self.plan.values):
            raise ValueError(f"there is no tensor {index} among {len(self.plan.values)}")
        return self.plan.values[index]

    def resize(self, index: int, sizes, strict: bool) -> None:
        """Give an input another shape."""
        value = self.value(index)
        sizes = tuple(int(n) for n in sizes)
        if value not in self.shapes:
            raise ValueError(f"tensor {index} is not an input")
        if any(n < 0 for n in sizes) or _file._size(sizes) > _MOST_ELEMENTS:
            raise ValueError(f"tensor {index} cannot have the shape {sizes}")
        if strict:
            fits = len(sizes) == len(value.shape) and all(
                n is None or n == m for n, m in zip(value.shape, sizes, strict=True)
            )
            if not fits:
                raise RuntimeError(
                    "ResizeInputTensorStrict only allows mutating unknown dimensions identified "
                    f"by -1: tensor {index} has {value.shape}, not {sizes}"
                )
        if self.shapes[value] != sizes:
            self.shapes[value] = sizes
            self.trace = None

    def allocate(self) -> None:
        """Make the function for the shapes that the inputs have."""
        missing = unsupported(self.plans)
        if missing:
            raise ValueError(f"operators that are not supported: {', '.join(missing)}")
        key = tuple(self.shapes.values())
        if key not in self.traces:
            self.traces[key] = self.traced()
        self.trace = self.traces[key]
        for value, shape in self.shapes.items():
            self.sizes[value] = shape
            if value not in self.arrays or self.arrays[value].shape != shape:
                self.arrays[value] = _zeros(value.dtype, shape)
        for value, spec in zip(self.results, self.trace.outputs, strict=True):
            if spec.shape.rank is not None:
                self.sizes[value] = _filled(spec.shape.as_list())

    def traced(self):
        def run(*tensors):
            env = self.runner(list(tensors))
            return [
                convert_to_tensor(env[v] if v in env else self.runner.stored(v, env))
                for v in self.results
            ]

        specs = [TensorSpec(s, _dtypes.as_dtype(v.dtype)) for v, s in self.shapes.items()]
        try:
            return function(run, autograph=False).get_concrete_function(*specs)
        except (errors.OpError, TypeError, KeyError, OverflowError, MemoryError) as error:
            raise ValueError(f"the model does not fit together: {error}") from error

    def invoke(self) -> None:
        """Compute the results."""
        if self.trace is None:
            raise RuntimeError("Invoke called on model that is not ready: allocate_tensors() first")
        given = [
            convert_to_tensor(self.arrays[v].copy(), _dtypes.as_dtype(v.dtype)) for v in self.shapes
        ]
        try:
            found = self.trace(*given)
        except errors.OpError as error:
            raise RuntimeError(str(error)) from error
        for value, tensor in zip(self.results, found, strict=True):
            self.arrays[value] = np.array(tensor.numpy())
            self.sizes[value] = self.arrays[value].shape

    def set(self, index: int, given) -> None:
        """Set an input."""
        value, given = self.value(index), np.asarray(given)
        if value not in self.shapes:
            raise ValueError(f"Cannot set tensor: tensor {index} is not an input")
        if value not in self.arrays or self.trace is None:
            raise ValueError(
                "Cannot set tensor: Tensor is unallocated. Try calling allocate_tensors() first"
            )
        if not _is_of(given, value.dtype):
            raise ValueError(
                f"Cannot set tensor: Got value of type {given.dtype.name.upper()} but expected "
                f"type {value.dtype.upper()} for input {index}, name: {value.name}"
            )
        shape = self.shapes[value]
        if given.ndim != len(shape):
            raise ValueError(
                f"Cannot set tensor: Dimension mismatch. Got {given.ndim} but expected "
                f"{len(shape)} for input {index}."
            )
        for axis, (got, wanted) in enumerate(zip(given.shape, shape, strict=True)):
            if got != wanted:
                raise ValueError(
                    f"Cannot set tensor: Dimension mismatch. Got {got} but expected {wanted} for "
                    f"dimension {axis} of input {index}."
                )
        self.arrays[value] = np.array(given)

    def array(self, index: int) -> np.ndarray:
        """What a tensor holds."""
        value = self.value(index)
        if value in self.arrays:
            return self.arrays[value]
        if value.data is not None:
            return value.data
        if value in self.results and self.trace is not None:
            return self.arrays.setdefault(value, _zeros(value.dtype, self.sizes[value]))
        raise ValueError(f"Tensor data is null: tensor {index} ({value.name}) has no value now")

    def details(self, index: int) -> dict:
        """What is known of a tensor."""
        value = self.value(index)
        quantization = value.quantization
        scale = zero = None
        if quantization is not None:
            scale, zero = quantization.scale.reshape(-1), quantization.zero_point.reshape(-1)
        single = scale is not None and scale.size == 1
        signature = [-1 if n is None else n for n in value.shape]
        return {
            "name": value.name,
            "index": value.index,
            "shape": np.array(self.sizes[value], np.int32),
            "shape_signature": np.array(signature, np.int32),
            "dtype": _numpy_type(value.dtype),
            "quantization": (float(scale[0]), int(zero[0])) if single else (0.0, 0),
            "quantization_parameters": {
                "scales": np.array([] if scale is None else scale, np.float32),
                "zero_points": np.array([] if zero is None else zero, np.int32),
                "quantized_dimension": 0 if quantization is None else quantization.axis,
                "block_size": 0,
            },
            "sparsity_parameters": {},
        }


def _made(plan: Plan) -> list[Value]:
    found = dict.fromkeys(v for step in plan.steps for v in step.outputs)
    found.update(dict.fromkeys(plan.outputs))
    return list(found)


def _filled(shape) -> tuple:
    return tuple(1 if n is None else n for n in shape)


def _numpy_type(dtype: str):
    if dtype in ("string", "bfloat16"):
        return np.bytes_ if dtype == "string" else _dtypes.bfloat16.as_numpy_dtype
    return np.dtype(dtype).type


def _is_of(array: np.ndarray, dtype: str) -> bool:
    if dtype == "string":
        return array.dtype.kind in "SUO"
    return array.dtype == _numpy_type(dtype)


def _zeros(dtype: str, shape: tuple) -> np.ndarray:
    if _file._size(shape) > _MOST_ELEMENTS:
        raise ValueError(f"a tensor of shape {shape} is too large")
    if dtype == "string":
        return np.full(shape, b"", object)
    return np.zeros(shape, _numpy_type(dtype))


class SignatureRunner:
    """Calls a signature of a model by the names of its inputs."""

    def __init__(self, subgraph: _Subgraph) -> None:
        self._subgraph = subgraph
        self._inputs = subgraph.plan.named_inputs
        self._outputs = subgraph.plan.named_outputs

    def __call__(self, **kwargs) -> dict:
        """Run it; arrays by name in and out."""
        if len(kwargs) != len(self._inputs):
            raise ValueError(
                "Invalid number of inputs provided for running a SignatureDef, expected "
                f"{len(self._inputs)} vs provided {len(kwargs)}"
            )
        given = {}
        for name, array in kwargs.items():
            if name not in self._inputs:
                raise ValueError(f"Invalid Input name ({name}) for SignatureDef")
            given[name] = np.asarray(array)
            self._subgraph.resize(self._inputs[name].index, given[name].shape, False)
        self._subgraph.allocate()
        for name, array in given.items():
            self._subgraph.set(self._inputs[name].index, array)
        self._subgraph.invoke()
        return {n: self._subgraph.array(v.index).copy() for n, v in self._outputs.items()}

    def get_input_details(self) -> dict:
        """Return what is known of the inputs, by name."""
        return {n: self._subgraph.details(v.index) for n, v in self._inputs.items()}

    def get_output_details(self) -> dict:
        """Return what is known of the outputs, by name."""
        return {n: self._subgraph.details(v.index) for n, v in self._outputs.items()}


class Interpreter:
    """Runs a .tflite model.

    Parameters
    ----------
    model_path
        The file.
    model_content
        The bytes of a file, instead of a path.
    num_threads
        As in TensorFlow; Mica's own threads do the work.
    experimental_preserve_all_tensors
        Whether get_tensor gives what is computed on the way too.
    """

    def __init__(
        self,
        model_path=None,
        model_content=None,
        experimental_delegates=None,
        num_threads=None,
        experimental_op_resolver_type=OpResolverType.AUTO,
        experimental_preserve_all_tensors=False,
        experimental_disable_delegate_clustering=False,
        experimental_default_delegate_latest_features=False,
    ) -> None:
        if (model_path is None) == (model_content is None):
            raise ValueError("`model_path` or `model_content` must be specified, and not both.")
        if num_threads is not None and not isinstance(num_threads, int):
            raise ValueError("type of num_threads should be int")
        if num_threads is not None and num_threads < 1:
            raise ValueError("num_threads should >= 1")
        if experimental_delegates:
            raise ValueError("delegates are not supported: Mica's own kernels run the model")
        if model_path is not None:
            try:
                with open(model_path, "rb") as file:
                    model_content = file.read()
            except OSError as error:
                raise ValueError(f"Could not open '{model_path}'.") from error
        with reading(model_path or "The model"):
            plans = _file.read(bytes(model_content))
        keep = bool(experimental_preserve_all_tensors)
        self._subgraphs = [_Subgraph(plan, plans, keep) for plan in plans]
        self._main = self._subgraphs[0]

    def allocate_tensors(self) -> None:
        """Make ready to run, for the shapes that the inputs have."""
        self._main.allocate()

    def invoke(self) -> None:
        """Run the model."""
        self._main.invoke()

    def resize_tensor_input(self, input_index: int, tensor_size, strict: bool = False) -> None:
        """Give an input another shape; allocate_tensors() is due then."""
        self._main.resize(int(input_index), np.asarray(tensor_size).reshape(-1), strict)

    def set_tensor(self, tensor_index: int, value) -> None:
        """Set an input to a copy of the value."""
        self._main.set(int(tensor_index), value)

    def get_tensor(self, tensor_index: int, subgraph_index: int = 0) -> np.ndarray:
        """Return a copy of a tensor."""
        return self._subgraphs[subgraph_index].array(int(tensor_index)).copy()

    def tensor(self, tensor_index: int):
        """Return a function that gives the tensor's own array."""
        return lambda: self._main.array(int(tensor_index))

    def get_input_details(self) -> list[dict]:
        """Return what is known of the inputs."""
        return [self._main.details(v.index) for v in self._main.plan.inputs]

    def get_output_details(self) -> list[dict]:
        """Return what is known of the outputs."""
        return [self._main.details(v.index) for v in self._main.plan.outputs]

    def get_tensor_details(self, subgraph_index: int = 0) -> list[dict]:
        """Return what is known of all tensors."""
        subgraph = self._subgraphs[subgraph_index]
        return [subgraph.details(v.index) for v in subgraph.plan.values]

    def _get_ops_details(self) -> list[dict]:
        """Return the operators with the numbers of their tensors."""
        found = []
        for i, step in enumerate(self._main.plan.steps):
            inputs = [-1 if v is None else v.index for v in step.inputs]
            outputs = [v.index for v in step.outputs]
            found.append(
                {
                    "index": i,
                    "op_name": step.op,
                    "inputs": np.array(inputs, np.int32),
                    "outputs": np.array(outputs, np.int32),
                    "operand_types": [_numpy_type(v.dtype) for v in step.inputs if v is not None],
                    "result_types": [_numpy_type(v.dtype) for v in step.outputs],
                }
            )
        return found

    def num_subgraphs(self) -> int:
        """Return the number of subgraphs."""
        return len(self._subgraphs)

    def reset_all_variables(self) -> None:
        """Set the model's state back: plain models have none."""

    def get_signature_list(self) -> dict:
        """Return the names of inputs and outputs of each signature."""
        return {
            s.plan.key: {
                "inputs": sorted(s.plan.named_inputs),
                "outputs": sorted(s.plan.named_outputs),
            }
            for s in self._subgraphs
            if s.plan.key
        }

    def get_signature_runner(self, signature_key=None) -> SignatureRunner:
        """Return a function that calls a signature by the names of its inputs."""
        signed = {s.plan.key: s for s in self._subgraphs if s.plan.key}
        if signature_key is None:
            if len(signed) != 1:
                raise ValueError(
                    f"SignatureDef signature_key is None and model has {len(signed)} Signatures. "
                    "None is only allowed when the model has 1 SignatureDef"
                )
            signature_key = next(iter(signed))
        if signature_key not in signed:
            raise ValueError(f'Invalid signature_key provided: "{signature_key}".')
        return SignatureRunner(signed[signature_key])
