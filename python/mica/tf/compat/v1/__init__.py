"""`tf.compat.v1`: names of TensorFlow 1, on graphs that sessions run; the rest is tf's own."""

from __future__ import annotations

import importlib as _importlib

from ..._missing import missing as _missing_name
from ._aliases import ALIASES as _ALIASES
from ._aliases import find as _find

# name -> module with it, or (module, the name there)
_LAZY = {
    "AUTO_REUSE": "._scopes",
    "ConfigProto": "._messages",
    "Dimension": "..._shapes",
    "Event": "..._event_messages",
    "GPUOptions": "._messages",
    "GraphDef": "..._graph_def",
    "GraphKeys": "._scopes",
    "GraphOptions": "._messages",
    "InteractiveSession": "..._session",
    "OptimizerOptions": "._messages",
    "RunMetadata": "..._event_messages",
    "RunOptions": "._messages",
    "Session": "..._session",
    "SparseTensorValue": "._values",
    "Summary": "..._event_messages",
    "SummaryMetadata": "..._event_messages",
    "Variable": "._scopes",
    "VariableScope": "._scopes",
    "add_to_collection": "._variables",
    "add_to_collections": "._variables",
    "all_variables": "._variables",
    "argmax": ".math",
    "argmin": ".math",
    "assert_equal": ".debugging",
    "assert_greater": ".debugging",
    "assert_greater_equal": ".debugging",
    "assert_less": ".debugging",
    "assert_less_equal": ".debugging",
    "assert_near": ".debugging",
    "assert_negative": ".debugging",
    "assert_non_negative": ".debugging",
    "assert_non_positive": ".debugging",
    "assert_none_equal": ".debugging",
    "assert_positive": ".debugging",
    "assert_rank": ".debugging",
    "assert_rank_at_least": ".debugging",
    "assert_rank_in": ".debugging",
    "assert_scalar": ".debugging",
    "assert_variables_initialized": "._variables",
    "assign": "._variables",
    "assign_add": "._variables",
    "assign_sub": "._variables",
    "batch_to_space": "._arrays",
    "bincount": ".math",
    "boolean_mask": "._arrays",
    "cond": "._arrays",
    "confusion_matrix": ".math",
    "constant": "._arrays",
    "constant_initializer": (".initializers", "constant"),
    "convert_to_tensor": "._arrays",
    "count_nonzero": ".math",
    "decode_csv": ".io",
    "decode_raw": ".io",
    "device": "._arrays",
    "dimension_at_index": "..._shapes",
    "dimension_value": "..._shapes",
    "disable_eager_execution": "._switches",
    "disable_resource_variables": "._switches",
    "disable_tensor_equality": "._switches",
    "disable_v2_behavior": "._switches",
    "div": "._older",
    "enable_eager_execution": "._switches",
    "enable_resource_variables": "._switches",
    "enable_tensor_equality": "._switches",
    "enable_v2_behavior": "._switches",
    "executing_eagerly": "..._context",
    "executing_eagerly_outside_functions": "._switches",
    "expand_dims": "._arrays",
    "gather": "._arrays",
    "gather_nd": "._arrays",
    "get_collection": "._variables",
    "get_collection_ref": "._variables",
    "get_default_graph": "..._session",
    "get_default_session": "..._session",
    "get_local_variable": "._scopes",
    "get_seed": "._switches",
    "get_variable": "._scopes",
    "get_variable_scope": "._scopes",
    "global_variables": "._variables",
    "global_variables_initializer": "._variables",
    "glorot_normal_initializer": (".initializers", "glorot_normal"),
    "glorot_uniform_initializer": (".initializers", "glorot_uniform"),
    "gradients": "._arrays",
    "hessians": "._arrays",
    "import_graph_def": "..._import_graph_def",
    "initialize_all_tables": "._variables",
    "initialize_all_variables": "._variables",
    "initialize_local_variables": "._variables",
    "initialize_variables": "._variables",
    "is_variable_initialized": "._variables",
    "local_variables": "._variables",
    "local_variables_initializer": "._variables",
    "make_template": "._scopes",
    "model_variables": "._variables",
    "moving_average_variables": "._variables",
    "multinomial": "._older",
    "name_scope": "._arrays",
    "no_regularizer": "._scopes",
    "norm": "._arrays",
    "ones_initializer": (".initializers", "ones"),
    "ones_like": "._arrays",
    "op_scope": "._arrays",
    "pad": "._arrays",
    "parse_example": ".io",
    "parse_single_example": ".io",
    "placeholder": "._placeholders",
    "placeholder_with_default": "._placeholders",
    "py_func": "._older",
    "random_normal": "._older",
    "random_normal_initializer": (".initializers", "random_normal"),
    "random_uniform": "._older",
    "random_uniform_initializer": (".initializers", "random_uniform"),
    "reduce_all": "._older",
    "reduce_any": "._older",
    "reduce_join": ".strings",
    "reduce_logsumexp": "._older",
    "reduce_max": "._older",
    "reduce_mean": "._older",
    "reduce_min": "._older",
    "reduce_prod": "._older",
    "reduce_sum": "._older",
    "report_uninitialized_variables": "._variables",
    "reset_default_graph": "._switches",
    "resource_variables_enabled": "._switches",
    "reverse_sequence": "._arrays",
    "scatter_add": "._variables",
    "scatter_max": "._variables",
    "scatter_min": "._variables",
    "scatter_sub": "._variables",
    "scatter_update": "._variables",
    "serialize_many_sparse": ".io",
    "serialize_sparse": ".io",
    "set_random_seed": "._switches",
    "setdiff1d": "._older",
    "shape": "._arrays",
    "size": "._arrays",
    "space_to_batch": "._arrays",
    "sparse_add": (".sparse", "add"),
    "sparse_concat": (".sparse", "concat"),
    "sparse_placeholder": "._placeholders",
    "sparse_reduce_max": (".sparse", "reduce_max"),
    "sparse_reduce_max_sparse": (".sparse", "reduce_max_sparse"),
    "sparse_reduce_sum": (".sparse", "reduce_sum"),
    "sparse_reduce_sum_sparse": (".sparse", "reduce_sum_sparse"),
    "sparse_segment_mean": (".sparse", "segment_mean"),
    "sparse_segment_sqrt_n": (".sparse", "segment_sqrt_n"),
    "sparse_segment_sum": (".sparse", "segment_sum"),
    "sparse_split": (".sparse", "split"),
    "squeeze": "._arrays",
    "string_split": "._arrays",
    "string_to_number": (".strings", "to_number"),
    "substr": ".strings",
    "tables_initializer": "._variables",
    "to_double": "._older",
    "to_float": "._older",
    "to_int32": "._older",
    "to_int64": "._older",
    "trainable_variables": "._variables",
    "transpose": "._arrays",
    "truncated_normal": "._older",
    "truncated_normal_initializer": (".initializers", "truncated_normal"),
    "tuple": "._arrays",
    "variable_op_scope": "._scopes",
    "variable_scope": "._scopes",
    "variables_initializer": "._variables",
    "variance_scaling_initializer": (".initializers", "variance_scaling"),
    "while_loop": "._arrays",
    "zeros_initializer": (".initializers", "zeros"),
    "zeros_like": "._arrays",
}
_MODULES = frozenset(
    (
        "app data debugging feature_column flags gfile image initializers io keras layers linalg "
        "logging losses manip math metrics nn python_io random saved_model sets sparse spectral "
        "strings summary tpu train"
    ).split()
)


def __getattr__(name: str):
    if name in _MODULES:
        return _importlib.import_module(f".{name}", __name__)
    if name in _LAZY:
        place = _LAZY[name]
        module, own = (place, name) if isinstance(place, str) else place
        value = getattr(_importlib.import_module(module, __name__), own)
        globals()[name] = value
        return value
    if name in _ALIASES:
        globals()[name] = value = _find(_ALIASES[name])
        return value
    if not name.startswith("_") and name not in ("keras", "optimizers"):
        whole = _importlib.import_module("...", __name__)
        try:
            return whole._of_both(name)
        except AttributeError:
            pass
    raise _missing_name(__name__, name)


def __dir__() -> list[str]:
    return sorted({*_LAZY, *_MODULES, *_ALIASES})
