"""How estimators run: RunConfig, and what training and evaluation are specified by."""

from __future__ import annotations

import os
import tempfile
from collections import namedtuple

from .._effects import get_logger

_UNSET = object()


class RunConfig:
    """Settings of an estimator.

    Parameters
    ----------
    model_dir
        Where checkpoints and events go.
    tf_random_seed
        The seed of the graph.
    save_checkpoints_steps, save_checkpoints_secs
        How often checkpoints are written; every 600 seconds by default.
    """

    def __init__(
        self,
        model_dir=None,
        tf_random_seed=None,
        save_summary_steps=100,
        save_checkpoints_steps=_UNSET,
        save_checkpoints_secs=_UNSET,
        session_config=None,
        keep_checkpoint_max=5,
        keep_checkpoint_every_n_hours=10000,
        log_step_count_steps=100,
        train_distribute=None,
        device_fn=None,
        protocol=None,
        eval_distribute=None,
        experimental_distribute=None,
        experimental_max_worker_delay_secs=None,
        session_creation_timeout_secs=7200,
        checkpoint_save_graph_def=True,
    ) -> None:
        elsewhere = {
            "train_distribute": train_distribute,
            "device_fn": device_fn,
            "protocol": protocol,
            "eval_distribute": eval_distribute,
            "experimental_distribute": experimental_distribute,
            "experimental_max_worker_delay_secs": experimental_max_worker_delay_secs,
        }
        asked = [name for name, value in elsewhere.items() if value is not None]
        if asked:
            raise NotImplementedError(
                f"RunConfig: {', '.join(asked)}: an estimator runs in this process; leave it out"
            )
        if session_creation_timeout_secs <= 0:
            raise ValueError("session_creation_timeout_secs should be > 0")
        if save_checkpoints_steps is _UNSET and save_checkpoints_secs is _UNSET:
            save_checkpoints_steps, save_checkpoints_secs = None, 600
        elif save_checkpoints_secs is _UNSET:
            save_checkpoints_secs = None
        elif save_checkpoints_steps is _UNSET:
            save_checkpoints_steps = None
        elif save_checkpoints_steps is not None and save_checkpoints_secs is not None:
            raise ValueError(
                "`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set."
            )
        if keep_checkpoint_max is not None and keep_checkpoint_max < 0:
            raise ValueError("keep_checkpoint_max should be >= 0")
        self._values = {
            "model_dir": None if model_dir is None else os.fspath(model_dir),
            "tf_random_seed": tf_random_seed,
            "save_summary_steps": save_summary_steps,
            "save_checkpoints_steps": save_checkpoints_steps,
            "save_checkpoints_secs": save_checkpoints_secs,
            "session_config": session_config,
            "keep_checkpoint_max": keep_checkpoint_max,
            "keep_checkpoint_every_n_hours": keep_checkpoint_every_n_hours,
            "log_step_count_steps": log_step_count_steps,
            "session_creation_timeout_secs": session_creation_timeout_secs,
            "checkpoint_save_graph_def": checkpoint_save_graph_def,
        }

    master = evaluation_master = ""
    is_chief, num_worker_replicas, num_ps_replicas, task_id, task_type = True, 1, 0, 0, "worker"
    cluster_spec = train_distribute = eval_distribute = device_fn = None

    def __getattr__(self, name: str):
        values = self.__dict__.get("_values", {})
        if name not in values:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}", name=name)
        return values[name]

    def replace(self, **kwargs) -> RunConfig:
        """Return the same with other values."""
        unknown = kwargs.keys() - self._values.keys()
        if unknown:
            raise ValueError(f"Replacing {', '.join(sorted(unknown))} is not supported.")
        if {"save_checkpoints_steps", "save_checkpoints_secs"} <= kwargs.keys():
            if None not in (kwargs["save_checkpoints_steps"], kwargs["save_checkpoints_secs"]):
                raise ValueError(
                    "`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set."
                )
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._values = {**self._values, **kwargs}
        if kwargs.get("save_checkpoints_steps") is not None:
            copy._values["save_checkpoints_secs"] = None
        elif kwargs.get("save_checkpoints_secs") is not None:
            copy._values["save_checkpoints_steps"] = None
        return copy


def with_model_dir(config: RunConfig | None, model_dir) -> RunConfig:
    """Return the settings with the folder that was given, or a new one."""
    config = RunConfig() if config is None else config
    if not isinstance(config, RunConfig):
        raise ValueError(f"config must be an instance of `RunConfig`, but provided {config}.")
    if model_dir is None:
        model_dir = config.model_dir
    elif config.model_dir is not None and os.fspath(model_dir) != config.model_dir:
        raise ValueError(
            "`model_dir` are set both in constructor and `RunConfig`, but with different values. "
            "In "
            f"constructor: '{model_dir}', in `RunConfig`: '{config.model_dir}' "
        )
    if model_dir is None:
        model_dir = tempfile.mkdtemp()
        get_logger().warning("Using temporary folder as model directory: %s", model_dir)
    return config.replace(model_dir=os.fspath(model_dir))


class TrainSpec(namedtuple("TrainSpec", ["input_fn", "max_steps", "hooks", "saving_listeners"])):
    """What train_and_evaluate trains with."""

    def __new__(cls, input_fn, max_steps=None, hooks=None, saving_listeners=None):
        """Train on this input up to this step."""
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        return super().__new__(
            cls, input_fn, max_steps, tuple(hooks or ()), tuple(saving_listeners or ())
        )


_EVAL = ["input_fn", "steps", "name", "hooks", "exporters", "start_delay_secs", "throttle_secs"]


class EvalSpec(namedtuple("EvalSpec", _EVAL)):
    """What train_and_evaluate evaluates with, after each checkpoint."""

    def __new__(
        cls,
        input_fn,
        steps=100,
        name=None,
        hooks=None,
        exporters=None,
        start_delay_secs=120,
        throttle_secs=600,
    ):
        """Evaluate on this input for so many steps."""
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        if start_delay_secs < 0 or throttle_secs < 0:
            raise ValueError("start_delay_secs and throttle_secs must not be negative")
        many = exporters if isinstance(exporters, (list, tuple)) else [exporters]
        exporters = tuple(e for e in many if e is not None)
        return super().__new__(
            cls,
            input_fn,
            steps,
            name,
            tuple(hooks or ()),
            exporters,
            start_delay_secs,
            throttle_secs,
        )


class WarmStartSettings(
    namedtuple(
        "WarmStartSettings",
        ["ckpt_to_initialize_from", "vars_to_warm_start", "var_name_to_prev_var_name"],
    )
):
    """What variables begin with: those of another model's checkpoint."""

    def __new__(
        cls, ckpt_to_initialize_from, vars_to_warm_start=".*", var_name_to_prev_var_name=None
    ):
        """Begin with a checkpoint, for variables whose names match."""
        if not ckpt_to_initialize_from:
            raise ValueError("`ckpt_to_initialize_from` MUST be set in WarmStartSettings")
        return super().__new__(
            cls, ckpt_to_initialize_from, vars_to_warm_start, dict(var_name_to_prev_var_name or {})
        )
