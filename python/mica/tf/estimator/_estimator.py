"""Estimators: a model function, traced once for each call, trained, evaluated and asked."""

from __future__ import annotations

import inspect
import os
import re

import numpy as np

from .. import errors
from .._context import building
from .._effects import get_logger, group
from .._event_messages import Summary
from .._graph import Graph
from ..compat.v1 import metrics
from ..compat.v1 import summary as _summary
from ..compat.v1._hooks import (
    CheckpointSaverHook,
    LoggingTensorHook,
    NanTensorHook,
    StopAtStepHook,
)
from ..compat.v1._monitored import (
    ChiefSessionCreator,
    MonitoredSession,
    MonitoredTrainingSession,
    Scaffold,
)
from ..compat.v1._saver import (
    Saver,
    init_from_checkpoint,
    latest_checkpoint,
    list_variables,
    load_checkpoint,
)
from ..compat.v1._scopes import GraphKeys
from ..compat.v1._steps import create_global_step, get_global_step
from ..compat.v1._variables import add_to_collection, trainable_variables
from ..compat.v1.data import make_initializable_iterator
from ..data._dataset import Dataset
from ._config import WarmStartSettings, with_model_dir
from ._spec import EstimatorSpec, ModeKeys
from .export import export_model


def arguments_of(function) -> list[str]:
    """Return the names of a function's arguments."""
    return list(inspect.signature(function).parameters)


def _called(function, **offered):
    """Call a function with what it has arguments for."""
    names = arguments_of(function)
    return function(**{name: value for name, value in offered.items() if name in names})


class Estimator:
    """A model that is trained, evaluated and asked through its model function.

    Parameters
    ----------
    model_fn
        (features, labels, mode, params, config), the last four as far as it has them; returns an
        EstimatorSpec.
    model_dir
        Where checkpoints and events go.
    params
        Passed on to functions that have an argument `params`.
    warm_start_from
        A checkpoint, or WarmStartSettings.
    """

    def __init__(
        self, model_fn, model_dir=None, config=None, params=None, warm_start_from=None
    ) -> None:
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        names = arguments_of(model_fn)
        if "features" not in names:
            raise ValueError(f"model_fn ({model_fn}) must include features argument.")
        known = {"features", "labels", "mode", "params", "config", "self"}
        strangers = [n for n in names if n not in known]
        if strangers:
            raise ValueError(f"model_fn ({model_fn}) has following not expected args: {strangers}")
        if params is not None and "params" not in names:
            raise ValueError(
                f"model_fn ({model_fn}) does not include params argument, but params ({params}) is "
                "passed to Estimator."
            )
        self._model_fn, self._params = model_fn, dict(params or {})
        self._config = with_model_dir(config, model_dir)
        if isinstance(warm_start_from, (str, bytes, os.PathLike)):
            warm_start_from = WarmStartSettings(os.fspath(warm_start_from))
        self._warm_start = warm_start_from

    @property
    def model_dir(self) -> str:
        """The folder."""
        return self._config.model_dir

    @property
    def config(self):
        """The settings."""
        return self._config

    @property
    def params(self) -> dict:
        """The parameters."""
        return dict(self._params)

    @property
    def model_fn(self):
        """A function of (features, labels, mode, config)."""
        return lambda features, labels, mode, config: self._call_model_fn(features, labels, mode)

    def latest_checkpoint(self):
        """Return the path of the newest checkpoint, or None."""
        return latest_checkpoint(self.model_dir)

    def get_variable_names(self) -> list[str]:
        """Return the names of what the newest checkpoint holds."""
        return [name for name, _ in list_variables(self._needed_checkpoint())]

    def get_variable_value(self, name):
        """Return a tensor of the newest checkpoint."""
        return load_checkpoint(self._needed_checkpoint()).get_tensor(name.removesuffix(":0"))

    def _needed_checkpoint(self) -> str:
        path = self.latest_checkpoint()
        if path is None:
            raise ValueError(f"Could not find trained model in model_dir: {self.model_dir}.")
        return path

    # ---- the graph -------------------------------------------------------------------------------

    def _graph(self) -> Graph:
        graph = Graph()
        graph.seed = self._config.tf_random_seed
        return graph

    def _call_model_fn(self, features, labels, mode):
        names = arguments_of(self._model_fn)
        if "labels" not in names and labels is not None:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        get_logger().info("Calling model_fn.")
        spec = _called(
            self._model_fn,
            features=features,
            labels=labels,
            mode=mode,
            params=self.params,
            config=self._config,
        )
        get_logger().info("Done calling model_fn.")
        if not isinstance(spec, EstimatorSpec):
            raise ValueError("model_fn should return an EstimatorSpec.")
        return spec

    def _call_input_fn(self, input_fn, mode):
        return _called(input_fn, mode=mode, params=self.params, config=self._config)

    def _inputs(self, input_fn, mode, takes_apart: bool = True):
        """(features, labels) as tensors of the graph."""
        given = self._call_input_fn(input_fn, mode)
        if isinstance(given, Dataset):
            given = next_of(given)
        if not takes_apart:
            return given
        if isinstance(given, (list, tuple)):
            if len(given) != 2:
                raise ValueError("input_fn should return (features, labels) as a len 2 tuple.")
            return given
        return given, None

    def _warm_started(self) -> None:
        settings = self._warm_start
        if settings is None:
            return
        graph_variables = trainable_variables()
        wanted = settings.vars_to_warm_start
        renamed = settings.var_name_to_prev_var_name
        chosen = graph_variables
        if isinstance(wanted, str):
            chosen = [v for v in graph_variables if re.search(wanted, v._shared_name)]
        elif wanted is not None:
            patterns = [w for w in wanted if isinstance(w, str)]
            chosen = [
                v for v in graph_variables if any(re.search(p, v._shared_name) for p in patterns)
            ]
            chosen += [w for w in wanted if not isinstance(w, str)]
        get_logger().info("Warm-starting from: %s", settings.ckpt_to_initialize_from)
        init_from_checkpoint(
            settings.ckpt_to_initialize_from,
            [(renamed.get(v._shared_name, v._shared_name), v) for v in chosen],
        )

    # ---- training --------------------------------------------------------------------------------

    def train(self, input_fn, hooks=None, steps=None, max_steps=None, saving_listeners=None):
        """Train for `steps` more steps, or until there are `max_steps`, or no more data."""
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        for value, name in ((steps, "steps"), (max_steps, "max_steps")):
            if value is not None and value <= 0:
                raise ValueError(f"Must specify {name} > 0, given: {value}")
        if max_steps is not None and self._trained_steps() >= max_steps:
            get_logger().info("Skipping training since max_steps has already saved.")
            return self
        hooks = list(hooks or ())
        if steps is not None or max_steps is not None:
            hooks.append(StopAtStepHook(steps, max_steps))
        with self._graph().as_default():
            create_global_step()
            spec = self._train_spec(input_fn)
            loss = self._train_with(spec, hooks, saving_listeners)
        get_logger().info("Loss for final step: %s.", loss)
        return self

    def _trained_steps(self) -> int:
        path = self.latest_checkpoint()
        if path is None:
            return 0
        reader = load_checkpoint(path)
        return int(reader.get_tensor("global_step")) if reader.has_tensor("global_step") else 0

    def _train_spec(self, input_fn) -> EstimatorSpec:
        features, labels = self._inputs(input_fn, ModeKeys.TRAIN)
        return self._call_model_fn(features, labels, ModeKeys.TRAIN)

    def _train_hooks(self, spec, scaffold, listeners) -> list:
        config, hooks = self._config, [NanTensorHook(spec.loss)]
        if config.log_step_count_steps:
            hooks.append(
                LoggingTensorHook(
                    {"loss": spec.loss, "step": get_global_step()},
                    every_n_iter=config.log_step_count_steps,
                )
            )
        hooks += [*spec.training_hooks, *spec.training_chief_hooks]
        savers = [h for h in hooks if isinstance(h, CheckpointSaverHook)]
        if (config.save_checkpoints_secs or config.save_checkpoints_steps) and not savers:
            hooks.append(
                CheckpointSaverHook(
                    self.model_dir,
                    config.save_checkpoints_secs,
                    config.save_checkpoints_steps,
                    scaffold=scaffold,
                    listeners=listeners,
                    save_graph_def=config.checkpoint_save_graph_def,
                )
            )
        elif listeners:
            if not savers:
                raise ValueError("There should be a CheckpointSaverHook to use saving_listeners.")
            savers[0]._listeners += listeners
        return hooks

    def _scaffold_of(self, spec) -> Scaffold:
        scaffold = spec.scaffold or Scaffold()
        if scaffold.saver is None:
            scaffold._saver = Saver(
                max_to_keep=self._config.keep_checkpoint_max,
                keep_checkpoint_every_n_hours=self._config.keep_checkpoint_every_n_hours,
                allow_empty=True,
                defer_build=True,
            )
        return scaffold

    def _train_with(self, spec, hooks, listeners):
        self._warm_started()
        os.makedirs(self.model_dir, exist_ok=True)
        if self._config.save_summary_steps:
            _summary.scalar("loss", spec.loss)
        scaffold, loss = self._scaffold_of(spec), None
        before = [h for h in hooks if isinstance(h, StopAtStepHook)]
        after = [h for h in hooks if not isinstance(h, StopAtStepHook)]
        own = self._train_hooks(spec, scaffold, list(listeners or ()))
        with MonitoredTrainingSession(
            checkpoint_dir=self.model_dir,
            scaffold=scaffold,
            hooks=[*after, *own, *before],
            save_checkpoint_secs=0,
            save_summaries_steps=self._config.save_summary_steps,
            save_summaries_secs=None,
            config=self._config.session_config,
            log_step_count_steps=self._counted_steps(),
            save_graph_def=self._config.checkpoint_save_graph_def,
        ) as session:
            while not session.should_stop():
                _, loss = session.run([spec.train_op, spec.loss])
        return loss

    def _counted_steps(self):
        return self._config.log_step_count_steps

    # ---- evaluation ------------------------------------------------------------------------------

    def evaluate(self, input_fn, steps=None, hooks=None, checkpoint_path=None, name=None) -> dict:
        """Return the metrics over `steps` batches, or all of them, and the step."""
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        path = checkpoint_path or self.latest_checkpoint()
        if path is None:
            get_logger().info("Could not find trained model, running initialization to evaluate.")
        with self._graph().as_default():
            step = create_global_step()
            spec = self._eval_spec(input_fn)
            values, updates = self._eval_metrics(spec)
            scaffold = self._scaffold_of(spec)
            creator = ChiefSessionCreator(
                scaffold,
                config=self._config.session_config,
                checkpoint_filename_with_path=path,
            )
            update = group(*updates)
            results: dict = {}
            all_hooks = [*(hooks or ()), *spec.evaluation_hooks]
            session = MonitoredSession(creator, all_hooks)
            number = 0
            try:
                with session:
                    while not session.should_stop() and (steps is None or number < steps):
                        try:
                            session.run(update)
                        except errors.OutOfRangeError:
                            break
                        number += 1
                    results = session.raw_session().run({**values, "global_step": step})
            finally:
                session._close(False)
        self._write_results(results, name)
        return results

    def _eval_spec(self, input_fn) -> EstimatorSpec:
        features, labels = self._inputs(input_fn, ModeKeys.EVAL)
        return self._call_model_fn(features, labels, ModeKeys.EVAL)

    @staticmethod
    def _eval_metrics(spec) -> tuple[dict, list]:
        pairs = dict(spec.eval_metric_ops)
        if "loss" in pairs or "global_step" in pairs:
            raise ValueError("Metric with name 'loss' or 'global_step' is not allowed")
        pairs["loss"] = metrics.mean(spec.loss)
        return {k: value for k, (value, _) in pairs.items()}, [u for _, u in pairs.values()]

    def _write_results(self, results: dict, name) -> None:
        folder = os.path.join(self.model_dir, f"eval_{name}" if name else "eval")
        shown = ", ".join(f"{k} = {v}" for k, v in sorted(results.items()))
        step = int(results.get("global_step", 0))
        get_logger().info("Saving dict for global step %d: %s", step, shown)
        values = [
            Summary.Value(tag=key, simple_value=float(value))
            for key, value in sorted(results.items())
            if key != "global_step" and np.ndim(value) == 0 and not isinstance(value, bytes)
        ]
        writer = _summary.FileWriterCache.get(folder)
        writer.add_summary(Summary(value=values), step)
        writer.flush()

    # ---- predictions -----------------------------------------------------------------------------

    def predict(
        self,
        input_fn,
        predict_keys=None,
        hooks=None,
        checkpoint_path=None,
        yield_single_examples=True,
    ):
        """Yield predictions: of each example, or of each batch."""
        path = checkpoint_path or self.latest_checkpoint()
        if path is None:
            get_logger().info("Could not find trained model, running initialization to predict.")
        graph = self._graph()
        with graph.as_default():
            create_global_step()
            spec = self._predict_spec(input_fn)
            wanted = _chosen(spec.predictions, predict_keys)
            creator = ChiefSessionCreator(
                self._scaffold_of(spec),
                config=self._config.session_config,
                checkpoint_filename_with_path=path,
            )
            session = MonitoredSession(creator, [*(hooks or ()), *spec.prediction_hooks])
        with session:
            while not session.should_stop():
                with building(graph):
                    batch = session.run(wanted)
                if not yield_single_examples:
                    yield batch
                    continue
                count = _batch_size(batch)
                for i in range(count):
                    yield (
                        {k: v[i] for k, v in batch.items()} if isinstance(batch, dict) else batch[i]
                    )

    def _predict_spec(self, input_fn) -> EstimatorSpec:
        given = self._inputs(input_fn, ModeKeys.PREDICT, takes_apart=False)
        features = given[0] if isinstance(given, (list, tuple)) else given
        return self._call_model_fn(features, None, ModeKeys.PREDICT)

    # ---- export ----------------------------------------------------------------------------------

    def export_saved_model(
        self,
        export_dir_base,
        serving_input_receiver_fn,
        assets_extra=None,
        as_text=False,
        checkpoint_path=None,
        experimental_mode=ModeKeys.PREDICT,
    ):
        """Write the model with a signature for each export output; returns the folder."""
        if experimental_mode != ModeKeys.PREDICT or as_text:
            raise NotImplementedError(
                f"export_saved_model: experimental_mode={experimental_mode!r}, as_text={as_text}: "
                "predictions are exported, in binary form"
            )
        return export_model(
            self, export_dir_base, serving_input_receiver_fn, assets_extra, checkpoint_path
        )


def _batch_size(batch) -> int:
    """The number of examples that all predictions are of."""
    parts = batch if isinstance(batch, dict) else {"predictions": batch}
    sizes = {name: np.shape(value)[0] if np.ndim(value) else None for name, value in parts.items()}
    if None in sizes.values() or len(set(sizes.values())) != 1:
        raise ValueError(
            "Batch length of predictions should be same: each is a tensor with an entry for every "
            f"example, and these have {sizes}"
        )
    return next(iter(sizes.values()))


def next_of(dataset):
    """Return the next element of a dataset as tensors of the graph; sessions let it begin."""
    iterator = make_initializable_iterator(dataset)
    add_to_collection(GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    return iterator.get_next()


def _chosen(predictions, keys):
    if keys is None:
        return predictions
    if not isinstance(predictions, dict):
        raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
    wanted = {k: v for k, v in predictions.items() if k in keys}
    if not wanted:
        raise ValueError(
            f"Expected to run at least one output from {list(predictions)}, provided {keys}."
        )
    return wanted
