"""tf.lite.TFLiteConverter: functions, Keras's models and SavedModels as .tflite files."""

from __future__ import annotations

import enum

from .. import _dtypes, nest, saved_model
from .._function import ConcreteFunction, function
from .._specs import TensorSpec
from . import _file, _fuse, _integers, _quantize
from ._frozen import plan_of, refuse
from ._rows import ConverterError

__all__ = ["ConverterError", "OpsSet", "Optimize", "RepresentativeDataset", "TFLiteConverter"]


class Optimize(enum.Enum):
    """What a converter does beside converting."""

    DEFAULT = "DEFAULT"
    OPTIMIZE_FOR_SIZE = "OPTIMIZE_FOR_SIZE"
    OPTIMIZE_FOR_LATENCY = "OPTIMIZE_FOR_LATENCY"
    EXPERIMENTAL_SPARSITY = "EXPERIMENTAL_SPARSITY"

    def __str__(self) -> str:
        return str(self.value)


class OpsSet(enum.Enum):
    """The operators that a target has."""

    TFLITE_BUILTINS = "TFLITE_BUILTINS"
    SELECT_TF_OPS = "SELECT_TF_OPS"
    TFLITE_BUILTINS_INT8 = "TFLITE_BUILTINS_INT8"
    EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8 = (
        "EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8"
    )
    EXPERIMENTAL_STABLEHLO_OPS = "EXPERIMENTAL_STABLEHLO_OPS"

    def __str__(self) -> str:
        return str(self.value)

    @staticmethod
    def get_options() -> list[str]:
        """Return the names of all."""
        return [str(option) for option in OpsSet]


class RepresentativeDataset:
    """A generator of inputs that are like those that the model will see."""

    def __init__(self, input_gen) -> None:
        self.input_gen = input_gen


class TargetSpec:
    """What the device that the model is for can do."""

    def __init__(
        self,
        supported_ops=None,
        supported_types=None,
        experimental_select_user_tf_ops=None,
        experimental_supported_backends=None,
    ) -> None:
        self.supported_ops = {OpsSet.TFLITE_BUILTINS} if supported_ops is None else supported_ops
        self.supported_types = set() if supported_types is None else supported_types
        self.experimental_select_user_tf_ops = experimental_select_user_tf_ops or set()
        self.experimental_supported_backends = experimental_supported_backends


class _Signature:
    """A concrete function with the names that a signature gives to what it takes and gives."""

    def __init__(self, key: str, concrete, inputs: list, outputs: list) -> None:
        self.key, self.concrete, self.inputs, self.outputs = key, concrete, inputs, outputs


def _signature(concrete, key: str = "serving_default") -> _Signature:
    """Name what a concrete function takes by its parameters, what it gives by its structure."""
    names: list = []
    args, keywords = concrete.structured_input_signature
    if concrete._parameters is None and not args and len(keywords) == concrete._n_inputs:
        names = sorted(keywords)  # of a signature that was saved
    for i in range(len(names), concrete._n_inputs):
        own = concrete.graph._parameter_at(i).name.partition(":")[0]
        names.append(own if own not in names else f"{own}_{i}")
    structure = concrete.structured_outputs
    if isinstance(structure, dict) and all(not nest.is_nested(v) for v in structure.values()):
        outputs = sorted(structure)
    else:
        outputs = [f"output_{i}" for i in range(len(concrete.outputs))]
    return _Signature(key, concrete, names, outputs)


class TFLiteConverter:
    """Converts a model to the bytes of a .tflite file.

    Attributes
    ----------
    optimizations
        A list of `tf.lite.Optimize`; with DEFAULT large weights are kept in eight bits.
    target_spec
        What the target can do; `supported_types = [tf.float16]` keeps weights in sixteen bits.
    representative_dataset
        A function that generates samples, lists of arrays or dicts by name. With it, activations
        are kept in eight bits too, by the ranges that the samples show.
    inference_input_type, inference_output_type
        tf.float32; then also tf.int8 or tf.uint8.
    """

    def __init__(self, funcs, trackable_obj=None) -> None:
        self._signatures = [f if isinstance(f, _Signature) else _signature(f) for f in funcs]
        self._trackable_obj = trackable_obj
        self.optimizations: set | list = set()
        self.representative_dataset = None
        self.target_spec = TargetSpec()
        self.allow_custom_ops = False
        self.inference_input_type = _dtypes.float32
        self.inference_output_type = _dtypes.float32
        self.exclude_conversion_metadata = False
        self.unfold_batchmatmul = False
        self.experimental_new_converter = True
        self.experimental_new_quantizer = True
        self.experimental_enable_resource_variables = True
        self.experimental_new_dynamic_range_quantizer = True
        self._experimental_lower_tensor_list_ops = True
        self._experimental_disable_per_channel = False

    # ---- where a model comes from

    @classmethod
    def from_concrete_functions(cls, funcs, trackable_obj=None) -> TFLiteConverter:
        """Make a converter of concrete functions, one signature each."""
        for each in funcs:
            if not isinstance(each, ConcreteFunction):
                raise ValueError(
                    "This function takes in a list of ConcreteFunction. If you have a Function, "
                    "call its get_concrete_function() first."
                )
        keys = ["serving_default"] if len(funcs) == 1 else [f.graph.name for f in funcs]
        made = [_signature(f, key) for f, key in zip(funcs, keys, strict=True)]
        return cls(made, trackable_obj)

    @classmethod
    def from_keras_model(cls, model) -> TFLiteConverter:
        """Make a converter of a Keras model: its call for inference."""
        specs, names = _keras_inputs(model)

        def call(*tensors):
            return model(nest.pack_sequence_as(specs, list(tensors)), training=False)

        flat = nest.flatten(specs)
        concrete = function(call, autograph=False).get_concrete_function(*flat)
        made = _signature(concrete)
        made.inputs = names
        return cls([made], model)

    @classmethod
    def from_saved_model(cls, saved_model_dir, signature_keys=None, tags=None) -> TFLiteConverter:
        """Make a converter of signatures of a SavedModel."""
        tags = None if tags is None else sorted(tags)
        loaded = saved_model.load(str(saved_model_dir), tags)
        keys = ["serving_default"] if not signature_keys else list(signature_keys)
        made = []
        for key in keys:
            if key not in loaded.signatures:
                raise ValueError(
                    f"Invalid signature key '{key}' found. Valid keys are "
                    f"'{','.join(sorted(loaded.signatures))}'."
                )
            made.append(_signature(loaded.signatures[key], key))
        return cls(made, loaded)

    # ---- converting

    def convert(self) -> bytes:
        """Return the bytes of the file.

        Raises
        ------
        ConverterError
            For an op that TensorFlow Lite has no operator for; it is named.
        """
        smallest = self._weights()
        if not self._signatures:
            raise ValueError("No ConcreteFunction is specified.")
        plans = []
        for signature in self._signatures:
            plan = plan_of(signature.concrete, signature.inputs, signature.outputs, signature.key)
            _fuse.fuse(plan)
            refuse(_fuse.PARTS[step.op] for step in plan.steps if step.op in _fuse.PARTS)
            if smallest == "float16":
                _quantize.half_precision(plan)
            elif smallest == "int8":
                _quantize.dynamic_range(plan)
            elif smallest == "integers":
                self._quantize_fully(plan)
            _named(plan)
            plans.append(plan)
        return _file.written(plans)

    def _weights(self) -> str:
        """What weights are kept in; refuses what is not done."""
        optimizations = set(self.optimizations or ())
        unknown = [o for o in optimizations if not isinstance(o, Optimize)]
        if unknown:
            raise ValueError(f"{unknown[0]!r} is no tf.lite.Optimize")
        if Optimize.EXPERIMENTAL_SPARSITY in optimizations:
            raise NotImplementedError("sparse weights are not implemented: EXPERIMENTAL_SPARSITY")
        wanted = {str(o) for o in self.target_spec.supported_ops}
        if any("INT16" in name or "STABLEHLO" in name for name in wanted):
            raise NotImplementedError(f"a target with {sorted(wanted)} is not implemented")
        types = {_dtypes.as_dtype(t) for t in self.target_spec.supported_types}
        if not types <= {_dtypes.float32, _dtypes.float16, _dtypes.int8}:
            raise NotImplementedError(
                f"weights are float32, float16 or int8, not {sorted(t.name for t in types)}"
            )
        kept = "float32"
        if optimizations:
            is_half = _dtypes.float16 in types
            samples = self.representative_dataset is not None
            kept = "float16" if is_half else "integers" if samples else "int8"
        only = wanted == {"TFLITE_BUILTINS_INT8"} or types == {_dtypes.int8}
        if only and kept != "integers":
            raise ValueError(
                "representative_dataset is required when specifying TFLITE_BUILTINS_INT8 or INT8 "
                "supported types; Optimize.DEFAULT with it."
            )
        self._only_integers = only
        for name in ("inference_input_type", "inference_output_type"):
            dtype = _dtypes.as_dtype(getattr(self, name) or _dtypes.float32).name
            allowed = ("float32", "int8", "uint8") if kept == "integers" else ("float32",)
            if dtype not in allowed:
                raise ValueError(
                    "The inference_input_type and inference_output_type must be "
                    + (f"in {['tf.' + n for n in allowed]}." if len(allowed) > 1 else "tf.float32.")
                )
        return kept

    def _quantize_fully(self, plan) -> None:
        dataset = getattr(self.representative_dataset, "input_gen", self.representative_dataset)
        seen = _integers.ranges(plan, dataset())
        taken, given = (
            _dtypes.as_dtype(t or _dtypes.float32).name
            for t in (self.inference_input_type, self.inference_output_type)
        )
        _integers.quantize(plan, seen, self._only_integers, taken, given)


def _keras_inputs(model) -> tuple:
    """The specs of a Keras model's inputs, in their structure, and a name for each."""
    given = getattr(model, "_inputs_struct", None)
    if given is None:
        given = getattr(model, "inputs", None)
        given = given[0] if isinstance(given, list) and len(given) == 1 else given
    if given is None:
        raise ValueError(
            f"The model {getattr(model, 'name', model)!r} has not been built: call it on data or "
            "give its input shape first"
        )
    names: list = []

    def spec(tensor):
        names.append(tensor.name.partition(":")[0].replace("/", "_"))
        return TensorSpec(tensor.shape, _dtypes.as_dtype(tensor.dtype), name=names[-1])

    return nest.map_structure(spec, given), names


def _named(plan) -> None:
    """Name inputs and outputs as TensorFlow does."""
    for value, name in zip(plan.inputs, plan.input_names, strict=True):
        value.name = f"{plan.key}_{name}:0"
    for i, value in enumerate(plan.outputs):
        if value not in plan.inputs and value.data is None:
            value.name = f"PartitionedCall:{i}"
