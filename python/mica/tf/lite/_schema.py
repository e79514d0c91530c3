"""The tables of a .tflite file, version 3: fields by number, and the numbers of its enums."""

from __future__ import annotations

from ._flatbuffer import table

IDENTIFIER = b"TFL3"
VERSION = 3

# Types of tensors, by number; None where the runtime here has none.
TYPES = (
    *("float32", "float16", "int32", "uint8", "int64", "string", "bool", "int16"),
    *("complex64", "int8", "float64", "complex128", "uint64", None, None),
    *("uint32", "uint16", None, "bfloat16"),
)
TYPE_NUMBERS = {name: number for number, name in enumerate(TYPES) if name}
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")
PADDINGS = ("SAME", "VALID")

QuantizationParameters = table(
    "QuantizationParameters",
    "min: [float], max: [float], scale: [float], zero_point: [long], details_type: ubyte,"
    "details: union, quantized_dimension: int",
)
SparsityParameters = table("SparsityParameters", "traversal_order: [int]")
Tensor = table(
    "Tensor",
    "shape: [int], type: byte, buffer: uint, name: string, quantization: QuantizationParameters,"
    "is_variable: bool, sparsity: SparsityParameters, shape_signature: [int], has_rank: bool",
)
OperatorCode = table(
    "OperatorCode",
    "deprecated_builtin_code: byte, custom_code: string, version: int = 1, builtin_code: int",
)
Buffer = table("Buffer", "data: bytes, offset: ulong, size: ulong")
Metadata = table("Metadata", "name: string, buffer: uint")
TensorMap = table("TensorMap", "name: string, tensor_index: uint")
SignatureDef = table(
    "SignatureDef",
    "inputs: [TensorMap], outputs: [TensorMap], signature_key: string, unused: string,"
    "subgraph_index: uint",
)
OPTIONS: dict[int, type] = {}
OPTION_NUMBERS: dict[str, int] = {}
Operator = table(
    "Operator",
    "opcode_index: uint, inputs: [int], outputs: [int], builtin_options_type: ubyte,"
    "builtin_options: union, custom_options: bytes, custom_options_format: byte,"
    "mutating_variable_inputs: [bool], intermediates: [int]",
    union=OPTIONS,
)
SubGraph = table(
    "SubGraph",
    "tensors: [Tensor], inputs: [int], outputs: [int], operators: [Operator], name: string",
)
Model = table(
    "Model",
    "version: uint, operator_codes: [OperatorCode], subgraphs: [SubGraph], description: string,"
    "buffers: [Buffer], metadata_buffer: [int], metadata: [Metadata],"
    "signature_defs: [SignatureDef]",
)

# The options of operators: number in the union, fields.
_FUSED = "fused_activation_function: byte"
_OPTIONS = {
    "Conv2D": (
        1,
        f"padding: byte, stride_w: int, stride_h: int, {_FUSED}, dilation_w_factor: int = 1,"
        "dilation_h_factor: int = 1, quantized_bias_type: byte",
    ),
    "DepthwiseConv2D": (
        2,
        f"padding: byte, stride_w: int, stride_h: int, depth_multiplier: int, {_FUSED},"
        "dilation_w_factor: int = 1, dilation_h_factor: int = 1",
    ),
    "Pool2D": (
        5,
        "padding: byte, stride_w: int, stride_h: int, filter_width: int, filter_height: int,"
        + _FUSED,
    ),
    "FullyConnected": (
        8,
        f"{_FUSED}, weights_format: byte, keep_num_dims: bool, asymmetric_quantize_inputs: bool,"
        "quantized_bias_type: byte",
    ),
    "Softmax": (9, "beta: float"),
    "Concatenation": (10, f"axis: int, {_FUSED}"),
    "Add": (11, f"{_FUSED}, pot_scale_int16: bool = true"),
    "L2Norm": (12, _FUSED),
    "LocalResponseNormalization": (13, "radius: int, bias: float, alpha: float, beta: float"),
    "ResizeBilinear": (
        15,
        "new_height: int, new_width: int, align_corners: bool, half_pixel_centers: bool",
    ),
    "Reshape": (17, "new_shape: [int]"),
    "SpaceToDepth": (19, "block_size: int"),
    "Mul": (21, _FUSED),
    "Pad": (22, ""),
    "Gather": (23, "axis: int, batch_dims: int"),
    "BatchToSpaceND": (24, ""),
    "SpaceToBatchND": (25, ""),
    "Transpose": (26, ""),
    "Reducer": (27, "keep_dims: bool"),
    "Sub": (28, f"{_FUSED}, pot_scale_int16: bool = true"),
    "Div": (29, _FUSED),
    "Squeeze": (30, "squeeze_dims: [int]"),
    "StridedSlice": (
        32,
        "begin_mask: int, end_mask: int, ellipsis_mask: int, new_axis_mask: int,"
        "shrink_axis_mask: int, offset: bool",
    ),
    "Exp": (33, ""),
    "TopKV2": (34, ""),
    "Split": (35, "num_splits: int"),
    "LogSoftmax": (36, ""),
    "Cast": (37, "in_data_type: byte, out_data_type: byte"),
    "Dequantize": (38, ""),
    "MaximumMinimum": (39, ""),
    "ArgMax": (40, "output_type: byte"),
    "Less": (41, ""),
    "Neg": (42, ""),
    "PadV2": (43, ""),
    "Greater": (44, ""),
    "GreaterEqual": (45, ""),
    "LessEqual": (46, ""),
    "Select": (47, ""),
    "Slice": (48, ""),
    "TransposeConv": (
        49,
        f"padding: byte, stride_w: int, stride_h: int, {_FUSED}, quantized_bias_type: byte",
    ),
    "SparseToDense": (50, "validate_indices: bool"),
    "Tile": (51, ""),
    "ExpandDims": (52, ""),
    "Equal": (53, ""),
    "NotEqual": (54, ""),
    "Shape": (55, "out_type: byte"),
    "Pow": (56, ""),
    "ArgMin": (57, "output_type: byte"),
    "FakeQuant": (58, "min: float, max: float, num_bits: int, narrow_range: bool"),
    "Pack": (59, "values_count: int, axis: int"),
    "LogicalOr": (60, ""),
    "OneHot": (61, "axis: int"),
    "LogicalAnd": (62, ""),
    "LogicalNot": (63, ""),
    "Unpack": (64, "num: int, axis: int"),
    "FloorDiv": (65, ""),
    "Square": (66, ""),
    "ZerosLike": (67, ""),
    "Fill": (68, ""),
    "FloorMod": (72, ""),
    "Range": (73, ""),
    "ResizeNearestNeighbor": (74, "align_corners: bool, half_pixel_centers: bool"),
    "LeakyRelu": (75, "alpha: float"),
    "SquaredDifference": (76, ""),
    "MirrorPad": (77, "mode: byte"),
    "Abs": (78, ""),
    "SplitV": (79, "num_splits: int"),
    "ReverseV2": (81, ""),
    "AddN": (82, ""),
    "GatherNd": (83, ""),
    "Cos": (84, ""),
    "Where": (85, ""),
    "Rank": (86, ""),
    "Quantize": (89, ""),
    "HardSwish": (91, ""),
    "If": (92, "then_subgraph_index: int, else_subgraph_index: int"),
    "While": (93, "cond_subgraph_index: int, body_subgraph_index: int"),
    "DepthToSpace": (94, "block_size: int"),
    "ScatterNd": (97, ""),
    "SelectV2": (98, ""),
    "BatchMatMul": (101, "adj_x: bool, adj_y: bool, asymmetric_quantize_inputs: bool"),
    "Cumsum": (102, "exclusive: bool, reverse: bool"),
    "BroadcastTo": (104, ""),
    "Conv3D": (
        106,
        f"padding: byte, stride_d: int, stride_w: int, stride_h: int, {_FUSED},"
        "dilation_d_factor: int = 1, dilation_w_factor: int = 1, dilation_h_factor: int = 1",
    ),
    "Gelu": (116, "approximate: bool"),
    "DynamicUpdateSlice": (117, ""),
    "ATan2": (122, ""),
    "Sign": (123, ""),
    "BitwiseXor": (125, ""),
    "RightShift": (126, ""),
}
for _name, (_number, _fields) in _OPTIONS.items():
    OPTIONS[_number] = table(_name + "Options", _fields)
    OPTION_NUMBERS[_name] = _number
