"""Settings as messages: ConfigProto and what is in it. Fields that nothing here reads are kept."""

from __future__ import annotations

from ..._cluster_spec import ClusterDef
from ..._proto import message

GPUOptions = message(
    "GPUOptions",
    per_process_gpu_memory_fraction=(1, "double"),
    allocator_type=(2, "string"),
    deferred_deletion_bytes=(3, "int"),
    allow_growth=(4, "bool"),
    visible_device_list=(5, "string"),
    polling_active_delay_usecs=(6, "int"),
    polling_inactive_delay_msecs=(7, "int"),
    force_gpu_compatible=(8, "bool"),
)
GPUOptions.__doc__ = "How memory of a GPU is used."

_LEVELS = {0: "L1", -1: "L0"}
_JIT_LEVELS = {0: "DEFAULT", -1: "OFF", 1: "ON_1", 2: "ON_2"}
OptimizerOptions = message(
    "OptimizerOptions",
    do_common_subexpression_elimination=(1, "bool"),
    do_constant_folding=(2, "bool"),
    opt_level=(3, _LEVELS),
    do_function_inlining=(4, "bool"),
    global_jit_level=(5, _JIT_LEVELS),
    max_folded_constant_in_bytes=(6, "int"),
)
OptimizerOptions.__doc__ = "How graphs are made faster."
for _names in (_LEVELS, _JIT_LEVELS):
    for _number, _name in _names.items():
        setattr(OptimizerOptions, _name, _number)

_TOGGLES = {0: "DEFAULT", 1: "ON", 2: "OFF", 3: "AGGRESSIVE"}
RewriterConfig = message(
    "RewriterConfig",
    layout_optimizer=(1, _TOGGLES),
    disable_model_pruning=(2, "bool"),
    constant_folding=(3, _TOGGLES),
    memory_optimization=(4, "int"),
    arithmetic_optimization=(7, _TOGGLES),
    dependency_optimization=(8, _TOGGLES),
    loop_optimization=(9, _TOGGLES),
    function_optimization=(10, _TOGGLES),
    shape_optimization=(13, _TOGGLES),
    remapping=(14, _TOGGLES),
    auto_mixed_precision=(23, _TOGGLES),
)
RewriterConfig.__doc__ = "Which passes over graphs run."
for _number, _name in _TOGGLES.items():
    setattr(RewriterConfig, _name, _number)
RewriterConfig.NO_MEM_OPT = 1

GraphOptions = message(
    "GraphOptions",
    optimizer_options=(3, OptimizerOptions),
    build_cost_model=(4, "int"),
    infer_shapes=(5, "bool"),
    place_pruned_graph=(6, "bool"),
    timeline_step=(8, "int"),
    build_cost_model_after=(9, "int"),
    rewrite_options=(10, RewriterConfig),
)
GraphOptions.__doc__ = "How graphs are run."

RPCOptions = message(
    "RPCOptions",
    use_rpc_for_inprocess_master=(1, "bool"),
    compression_algorithm=(2, "string"),
    compression_level=(3, "int"),
)
_Experimental = message(
    "Experimental",
    collective_group_leader=(1, "string"),
    executor_type=(3, "string"),
    collective_nccl=(7, "bool"),
    share_session_state_in_clusterspec_propagation=(8, "bool"),
    enable_mlir_bridge=(13, "int"),
)
ConfigProto = message(
    "ConfigProto",
    device_count=(1, ("string", "int")),
    intra_op_parallelism_threads=(2, "int"),
    placement_period=(3, "int"),
    device_filters=(4, "string*"),
    inter_op_parallelism_threads=(5, "int"),
    gpu_options=(6, GPUOptions),
    allow_soft_placement=(7, "bool"),
    log_device_placement=(8, "bool"),
    use_per_session_threads=(9, "bool"),
    graph_options=(10, GraphOptions),
    operation_timeout_in_ms=(11, "int"),
    rpc_options=(13, RPCOptions),
    cluster_def=(14, ClusterDef),
    isolate_session_state=(15, "bool"),
    experimental=(16, _Experimental),
    share_cluster_devices_in_session=(17, "bool"),
)
ConfigProto.__doc__ = (
    "Settings of a session: with log_device_placement the first run prints where ops are."
)
ConfigProto.Experimental = _Experimental

_TRACES = {0: "NO_TRACE", 1: "SOFTWARE_TRACE", 2: "HARDWARE_TRACE", 3: "FULL_TRACE"}
RunOptions = message(
    "RunOptions",
    trace_level=(1, _TRACES),
    timeout_in_ms=(2, "int"),
    inter_op_thread_pool=(3, "int"),
    output_partition_graphs=(5, "bool"),
    report_tensor_allocations_upon_oom=(7, "bool"),
)
RunOptions.__doc__ = "Settings of a run."
for _number, _name in _TRACES.items():
    setattr(RunOptions, _name, _number)
