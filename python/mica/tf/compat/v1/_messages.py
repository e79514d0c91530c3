"""Settings as messages: ConfigProto and what is in it. Fields that nothing here reads are kept."""

from __future__ import annotations

import types


class _Settings:
    """An object with the fields that its class lists, each with a first value."""

    _fields = types.MappingProxyType({})

    def __init__(self, **fields) -> None:
        for name, first in self._fields.items():
            made = first() if isinstance(first, type) else first
            object.__setattr__(self, name, made)
        for name, value in fields.items():
            setattr(self, name, value)

    def __setattr__(self, name, value) -> None:
        if name not in self._fields:
            raise AttributeError(
                f"Assignment not allowed (no field {name!r} in protocol message object)."
            )
        object.__setattr__(self, name, value)

    def CopyFrom(self, other) -> None:
        """Take all fields of another one."""
        for name in self._fields:
            setattr(self, name, getattr(other, name))

    def HasField(self, name: str) -> bool:
        """Whether a field was set."""
        first = self._fields[name]
        return getattr(self, name) != (first() if isinstance(first, type) else first)

    def __eq__(self, other) -> bool:
        return type(other) is type(self) and vars(self) == vars(other)

    __hash__ = None

    def __repr__(self) -> str:
        lines = []
        for name, value in vars(self).items():
            if isinstance(value, _Settings):
                inner = repr(value)
                if inner:
                    lines.append(
                        f"{name} {{\n"
                        + "".join(f"  {line}\n" for line in inner.splitlines())
                        + "}\n"
                    )
            elif value:
                shown = str(value).lower() if isinstance(value, bool) else repr(value)
                lines.append(f"{name}: {shown}\n")
        return "".join(lines)


class GPUOptions(_Settings):
    """How memory of a GPU is used."""

    _fields = types.MappingProxyType(
        {
            "allow_growth": False,
            "per_process_gpu_memory_fraction": 0.0,
            "visible_device_list": "",
            "allocator_type": "",
            "polling_active_delay_usecs": 0,
            "force_gpu_compatible": False,
        }
    )


class OptimizerOptions(_Settings):
    """How graphs are made faster."""

    L0, L1, DEFAULT, OFF, ON_1, ON_2 = -1, 0, 0, -1, 1, 2
    _fields = types.MappingProxyType(
        {
            "do_common_subexpression_elimination": False,
            "do_constant_folding": False,
            "do_function_inlining": False,
            "opt_level": 0,
            "global_jit_level": 0,
        }
    )


class RewriterConfig(_Settings):
    """Which passes over graphs run."""

    DEFAULT, ON, OFF, AGGRESSIVE, NO_MEM_OPT = 0, 1, 2, 3, 1
    _fields = types.MappingProxyType(
        {
            "layout_optimizer": 0,
            "disable_model_pruning": False,
            "constant_folding": 0,
            "arithmetic_optimization": 0,
            "dependency_optimization": 0,
            "function_optimization": 0,
            "memory_optimization": 0,
            "auto_mixed_precision": 0,
        }
    )


class GraphOptions(_Settings):
    """How graphs are run."""

    _fields = types.MappingProxyType(
        {
            "optimizer_options": OptimizerOptions,
            "rewrite_options": RewriterConfig,
            "infer_shapes": False,
            "place_pruned_graph": False,
            "build_cost_model": 0,
        }
    )


class ConfigProto(_Settings):
    """Settings of a session: with log_device_placement the first run prints where ops are."""

    _fields = types.MappingProxyType(
        {
            "device_count": dict,
            "intra_op_parallelism_threads": 0,
            "inter_op_parallelism_threads": 0,
            "use_per_session_threads": False,
            "allow_soft_placement": False,
            "log_device_placement": False,
            "device_filters": list,
            "operation_timeout_in_ms": 0,
            "isolate_session_state": False,
            "share_cluster_devices_in_session": False,
            "gpu_options": GPUOptions,
            "graph_options": GraphOptions,
            "cluster_def": None,
            "rpc_options": None,
            "experimental": None,
        }
    )


class RunOptions(_Settings):
    """Settings of a run."""

    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = 0, 1, 2, 3
    _fields = types.MappingProxyType(
        {
            "trace_level": 0,
            "timeout_in_ms": 0,
            "inter_op_thread_pool": 0,
            "output_partition_graphs": False,
            "report_tensor_allocations_upon_oom": False,
        }
    )
