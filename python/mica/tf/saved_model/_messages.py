"""The messages that a SavedModel is made of. The numbers are those of TensorFlow's files."""

from __future__ import annotations

from .._graph_def import (
    ArgAttrs,  # noqa: F401
    ArgDef,  # noqa: F401
    DataType,
    FunctionDef,  # noqa: F401
    NodeDef,
    OpDef,
    RegisteredGradient,
    TensorProto,
    TensorShapeProto,
    VersionDef,
)
from .._proto import extend, message

# ---- graphs and functions ------------------------------------------------------------------------

OpList = message("OpList", op=(1, [OpDef]))
# Functions stay bytes until they are asked for: most of a large file is functions.
FunctionDefLibrary = message(
    "FunctionDefLibrary", function=(1, "bytes*"), registered_gradients=(3, [RegisteredGradient])
)
GraphDef = message(
    "GraphDef", node=(1, [NodeDef]), library=(2, FunctionDefLibrary), versions=(4, VersionDef)
)

# ---- signatures ----------------------------------------------------------------------------------

TensorInfo = message(
    "TensorInfo",
    name=(1, "string"),
    dtype=(2, DataType),
    tensor_shape=(3, TensorShapeProto),
)
SignatureDef = message(
    "SignatureDef",
    inputs=(1, {TensorInfo}),
    outputs=(2, {TensorInfo}),
    method_name=(3, "string"),
    defaults=(4, {TensorProto}),
)
AssetFileDef = message("AssetFileDef", tensor_info=(1, TensorInfo), filename=(2, "string"))
SaverDef = message(
    "SaverDef",
    filename_tensor_name=(1, "string"),
    save_tensor_name=(2, "string"),
    restore_op_name=(3, "string"),
    max_to_keep=(4, "int"),
    sharded=(5, "bool"),
    keep_checkpoint_every_n_hours=(6, "float"),
    version=(7, {0: "LEGACY", 1: "V1", 2: "V2"}),
)

# ---- structures of Python ------------------------------------------------------------------------

NoneValue = message("NoneValue")
TensorSpecProto = message(
    "TensorSpecProto", name=(1, "string"), shape=(2, TensorShapeProto), dtype=(3, DataType)
)
StructuredValue = message("StructuredValue")
PairValue = message("PairValue", key=(1, "string"), value=(2, StructuredValue))
SequenceValue = message("SequenceValue", values=(1, [StructuredValue]))
DictValue = message("DictValue", fields=(1, {StructuredValue}))
NamedTupleValue = message("NamedTupleValue", name=(1, "string"), values=(2, [PairValue]))
TypeSpecProto = message(
    "TypeSpecProto",
    type_spec_class=(1, "int"),
    type_state=(2, StructuredValue),
    type_spec_class_name=(3, "string"),
    num_flat_components=(4, "int"),
)
_KINDS = {
    "none_value": (1, NoneValue),
    "float64_value": (11, "double"),
    "int64_value": (12, "sint"),
    "string_value": (13, "string"),
    "bool_value": (14, "bool"),
    "tensor_shape_value": (31, TensorShapeProto),
    "tensor_dtype_value": (32, DataType),
    "tensor_spec_value": (33, TensorSpecProto),
    "type_spec_value": (34, TypeSpecProto),
    "list_value": (51, SequenceValue),
    "tuple_value": (52, SequenceValue),
    "dict_value": (53, DictValue),
    "named_tuple_value": (54, NamedTupleValue),
    "tensor_value": (55, TensorProto),
    "numpy_value": (56, TensorProto),
}
extend(StructuredValue, oneof=tuple(_KINDS), **_KINDS)

# ---- objects -------------------------------------------------------------------------------------

ObjectReference = message("ObjectReference", node_id=(1, "int"), local_name=(2, "string"))
SlotVariableReference = message(
    "SlotVariableReference",
    original_variable_node_id=(1, "int"),
    slot_name=(2, "string"),
    slot_variable_node_id=(3, "int"),
)
SavedUserObject = message(
    "SavedUserObject", identifier=(1, "string"), version=(2, VersionDef), metadata=(3, "string")
)
SavedAsset = message("SavedAsset", asset_file_def_index=(1, "int"))
FunctionSpec = message(
    "FunctionSpec",
    fullargspec=(1, StructuredValue),
    is_method=(2, "bool"),
    input_signature=(5, StructuredValue),
    jit_compile=(6, "int"),
)
SavedFunction = message(
    "SavedFunction", concrete_functions=(1, "string*"), function_spec=(2, FunctionSpec)
)
SavedVariable = message(
    "SavedVariable",
    dtype=(1, DataType),
    shape=(2, TensorShapeProto),
    trainable=(3, "bool"),
    synchronization=(4, "int"),
    aggregation=(5, "int"),
    name=(6, "string"),
    device=(7, "string"),
)
SavedBareConcreteFunction = message(
    "SavedBareConcreteFunction",
    concrete_function_name=(1, "string"),
    argument_keywords=(2, "string*"),
    allowed_positional_arguments=(3, "int"),
    function_spec=(4, FunctionSpec),
)
SavedConstant = message("SavedConstant", operation=(1, "string"))
SavedResource = message("SavedResource", device=(1, "string"))
CapturedTensor = message("CapturedTensor", name=(1, "string"), concrete_function=(2, "string"))
SaveableObject = message("SaveableObject", save_function=(2, "int"), restore_function=(3, "int"))
_OBJECT_KINDS = {
    "user_object": (4, SavedUserObject),
    "asset": (5, SavedAsset),
    "function": (6, SavedFunction),
    "variable": (7, SavedVariable),
    "bare_concrete_function": (8, SavedBareConcreteFunction),
    "constant": (9, SavedConstant),
    "resource": (10, SavedResource),
    "captured_tensor": (12, CapturedTensor),
}
SavedObject = message(
    "SavedObject",
    oneof=tuple(_OBJECT_KINDS),
    children=(1, [ObjectReference]),
    slot_variables=(3, [SlotVariableReference]),
    saveable_objects=(11, {SaveableObject}),
    registered_name=(13, "string"),
    dependencies=(15, [ObjectReference]),
    registered_saver=(16, "string"),
    **_OBJECT_KINDS,
)
SavedConcreteFunction = message(
    "SavedConcreteFunction",
    bound_inputs=(2, "int*"),
    canonicalized_input_signature=(3, StructuredValue),
    output_signature=(4, StructuredValue),
)
SavedObjectGraph = message(
    "SavedObjectGraph", nodes=(1, [SavedObject]), concrete_functions=(2, {SavedConcreteFunction})
)

# ---- files ---------------------------------------------------------------------------------------

MetaInfoDef = message(
    "MetaInfoDef",
    meta_graph_version=(1, "string"),
    stripped_op_list=(2, OpList),
    tags=(4, "string*"),
    tensorflow_version=(5, "string"),
    tensorflow_git_version=(6, "string"),
    stripped_default_attrs=(7, "bool"),
    function_aliases=(8, ("string", "string")),
)
MetaGraphDef = message(
    "MetaGraphDef",
    meta_info_def=(1, MetaInfoDef),
    graph_def=(2, GraphDef),
    saver_def=(3, SaverDef),
    signature_def=(5, {SignatureDef}),
    asset_file_def=(6, [AssetFileDef]),
    object_graph_def=(7, SavedObjectGraph),
)
SavedModel = message(
    "SavedModel", saved_model_schema_version=(1, "int"), meta_graphs=(2, [MetaGraphDef])
)

# ---- checkpoints ---------------------------------------------------------------------------------

SerializedTensor = message(
    "SerializedTensor", name=(1, "string"), full_name=(2, "string"), checkpoint_key=(3, "string")
)
BoolValue = message("BoolValue", value=(1, "bool"))
RegisteredSaver = message("RegisteredSaver", name=(1, "string"), object_name=(2, "string"))
TrackableObject = message(
    "TrackableObject",
    children=(1, [ObjectReference]),
    attributes=(2, [SerializedTensor]),
    slot_variables=(3, [SlotVariableReference]),
    registered_saver=(4, RegisteredSaver),
    has_checkpoint_values=(5, BoolValue),
)
TrackableObjectGraph = message("TrackableObjectGraph", nodes=(1, [TrackableObject]))
