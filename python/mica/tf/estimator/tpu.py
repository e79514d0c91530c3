"""TPUEstimator: an estimator whose model function runs on shards, or not, as a flag says."""

from __future__ import annotations

from collections import namedtuple

from .. import _dtypes
from .. import _nest as nest
from .._array import reshape, zeros
from .._context import graph_of_variables
from .._control import while_loop
from .._core import convert_to_tensor, ops
from .._effects import control_dependencies, get_logger, group
from .._missing import finder as _finder
from .._reduce import reduce_mean
from ..compat.v1._hooks import SessionRunArgs, StopAtStepHook
from ..compat.v1._scopes import GraphKeys, Variable
from ..compat.v1.tpu import CrossShardOptimizer, bfloat16_scope
from ..data._dataset import Dataset
from ._config import RunConfig as _RunConfig
from ._estimator import Estimator, arguments_of, next_of
from ._hooks_tpu import ExamplesPerSecondHook
from ._shards import Shards, tensors_of
from ._spec import EstimatorSpec, ModeKeys, checked_loss, checked_train_op

__all__ = [
    "CrossShardOptimizer",
    "InputPipelineConfig",
    "RunConfig",
    "TPUConfig",
    "TPUEstimator",
    "TPUEstimatorSpec",
    "bfloat16_scope",
]


class InputPipelineConfig:
    """How often input_fn is called: once for each core, or once for each host."""

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4
    SLICED = 5


_TPU_FIELDS = ["iterations_per_loop", "num_shards", "per_host_input_for_training"]


class TPUConfig(namedtuple("TPUConfig", _TPU_FIELDS)):
    """Settings of shards.

    Parameters
    ----------
    iterations_per_loop
        How many steps run as one loop before hooks are asked.
    num_shards
        How many shards there are; 8, one TPU's, if it is left out.
    per_host_input_for_training
        Whether input_fn is called once, for the whole batch; else once for each shard.
    """

    def __new__(
        cls,
        iterations_per_loop=2,
        num_shards=None,
        num_cores_per_replica=None,
        per_host_input_for_training=True,
        tpu_job_name=None,
        initial_infeed_sleep_secs=None,
        input_partition_dims=None,
        eval_training_input_configuration=InputPipelineConfig.PER_HOST_V1,
        experimental_host_call_every_n_steps=1,
    ):
        """Check them."""
        if iterations_per_loop is None or iterations_per_loop < 1:
            raise ValueError(f"iterations_per_loop must be at least 1, not {iterations_per_loop}")
        if num_shards is not None and num_shards < 1:
            raise ValueError(f"num_shards must be at least 1, not {num_shards}")
        if num_cores_per_replica is not None or input_partition_dims is not None:
            raise NotImplementedError(
                "TPUConfig: a replica is on one core: leave num_cores_per_replica and "
                "input_partition_dims out"
            )
        if tpu_job_name is not None or initial_infeed_sleep_secs is not None:
            raise NotImplementedError(
                "TPUConfig: shards are of this process: leave tpu_job_name and "
                "initial_infeed_sleep_secs out"
            )
        if experimental_host_call_every_n_steps != 1:
            raise NotImplementedError(
                "TPUConfig: host_call runs after each loop: leave "
                "experimental_host_call_every_n_steps out"
            )
        kind = {True: InputPipelineConfig.PER_HOST_V1, False: InputPipelineConfig.PER_SHARD_V1}.get(
            per_host_input_for_training, per_host_input_for_training
        )
        once = (InputPipelineConfig.PER_HOST_V1, InputPipelineConfig.PER_HOST_V2)
        if kind not in (*once, InputPipelineConfig.PER_SHARD_V1):
            raise NotImplementedError(
                f"TPUConfig: per_host_input_for_training={per_host_input_for_training!r}: True, "
                "False, PER_HOST_V1, PER_HOST_V2 or PER_SHARD_V1 are possible"
            )
        if eval_training_input_configuration not in once:
            raise NotImplementedError("TPUConfig: input_fn of an evaluation is called once a host")
        return super().__new__(cls, iterations_per_loop, num_shards, kind)


class RunConfig(_RunConfig):
    """Settings of a TPUEstimator."""

    def __init__(
        self, tpu_config=None, evaluation_master=None, master=None, cluster=None, **kwargs
    ) -> None:
        super().__init__(**kwargs)
        self.tpu_config = tpu_config or TPUConfig()
        self.cluster = cluster
        if cluster is not None and master is None:
            master = cluster.master()
        self.master = master or ""
        self.evaluation_master = self.master if evaluation_master is None else evaluation_master
        for place in (self.master, self.evaluation_master):
            if place not in ("", "local"):
                raise NotImplementedError(
                    f"RunConfig: master={place!r}: shards are of this process; give '' or what "
                    "TPUClusterResolver('local') says"
                )


_SPEC_FIELDS = [
    "mode",
    "predictions",
    "loss",
    "train_op",
    "eval_metrics",
    "export_outputs",
    "scaffold_fn",
    "host_call",
]


class TPUEstimatorSpec(namedtuple("TPUEstimatorSpec", _SPEC_FIELDS)):
    """What the model function of a TPUEstimator returns.

    Parameters
    ----------
    eval_metrics
        (a function of tensors that gives a dict of metrics, the tensors: a list or a dict).
    scaffold_fn
        A function that gives a Scaffold.
    host_call
        (a function of tensors, the tensors), run after each loop.
    """

    def __new__(
        cls,
        mode,
        predictions=None,
        loss=None,
        train_op=None,
        eval_metrics=None,
        export_outputs=None,
        scaffold_fn=None,
        host_call=None,
        training_hooks=None,
        evaluation_hooks=None,
        prediction_hooks=None,
    ):
        """Check what the mode needs."""
        if any((training_hooks, evaluation_hooks, prediction_hooks)):
            get_logger().warning(
                "Hooks of a TPUEstimatorSpec are ignored: pass them to train() and the like."
            )
        if scaffold_fn is not None and not callable(scaffold_fn):
            raise TypeError(f"scaffold_fn must be callable, given {scaffold_fn!r}")
        for name, pair in (("eval_metrics", eval_metrics), ("host_call", host_call)):
            if pair is None:
                continue
            if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not callable(pair[0]):
                raise ValueError(f"{name} should be a tuple of a function and its tensors")
        if predictions is None and mode == ModeKeys.PREDICT:
            raise ValueError("Missing predictions.")
        return super().__new__(
            cls,
            mode,
            {} if predictions is None else predictions,
            checked_loss(loss, mode),
            checked_train_op(train_op, mode),
            eval_metrics,
            export_outputs,
            scaffold_fn,
            host_call,
        )

    def as_estimator_spec(self) -> EstimatorSpec:
        """Return what an estimator without shards runs."""
        train_op = self.train_op
        if self.host_call is not None and self.mode == ModeKeys.TRAIN:
            with control_dependencies([train_op]):
                called = _call(self.host_call)
            train_op = group(train_op, *nest.flatten(called))
        return EstimatorSpec(
            self.mode,
            self.predictions,
            self.loss,
            train_op,
            _call(self.eval_metrics) if self.eval_metrics else None,
            self.export_outputs,
            scaffold=self.scaffold_fn() if self.scaffold_fn else None,
        )


def _call(pair):
    """Call a function with its tensors: a list, or a dict by the names of arguments."""
    function, tensors = pair
    return function(**tensors) if isinstance(tensors, dict) else function(*tensors)


class TPUEstimator(Estimator):
    """An estimator that runs its model function on shards, where use_tpu is True.

    Parameters
    ----------
    train_batch_size, eval_batch_size, predict_batch_size
        Sizes of whole batches. params['batch_size'] (and params['batch-size']) is that of a shard
        for the model function, and for an input function what it is asked to batch: the whole, or a
        shard's where it is called for each shard.
    """

    def __init__(
        self,
        model_fn=None,
        model_dir=None,
        config=None,
        params=None,
        use_tpu=True,
        train_batch_size=None,
        eval_batch_size=None,
        predict_batch_size=None,
        batch_axis=None,
        eval_on_tpu=True,
        export_to_tpu=True,
        export_to_cpu=True,
        warm_start_from=None,
    ) -> None:
        if config is None or not isinstance(config, RunConfig):
            raise ValueError("`config` must be provided with type `tpu_config.RunConfig`")
        reserved = [k for k in ("batch_size", "batch-size") if k in (params or {})]
        if reserved:
            raise ValueError(
                f"batch_size are reserved keys, so they cannot be in params: {reserved}"
            )
        if batch_axis is not None and any(
            batch_axis if isinstance(batch_axis, list) else [batch_axis]
        ):
            raise NotImplementedError(
                "TPUEstimator: batches are along axis 0; leave batch_axis out"
            )
        if not (export_to_tpu and export_to_cpu):
            raise NotImplementedError(
                "TPUEstimator: there is one form of an exported model; leave export_to_tpu and "
                "export_to_cpu out"
            )
        super().__init__(model_fn, model_dir, config, None, warm_start_from)
        self._params = dict(params or {})
        self._use_tpu, self._eval_on_tpu = bool(use_tpu), bool(eval_on_tpu)
        self._sizes = {
            ModeKeys.TRAIN: train_batch_size,
            ModeKeys.EVAL: eval_batch_size,
            ModeKeys.PREDICT: predict_batch_size,
        }
        for mode, size in self._sizes.items():
            if size is None and use_tpu and mode == ModeKeys.TRAIN:
                raise ValueError("`train_batch_size` cannot be `None`")
            if size is not None and (not isinstance(size, int) or size < 1):
                raise ValueError(f"a batch size is a positive integer, not {size!r}")
            if size is not None and use_tpu and size % self._shards:
                names = {ModeKeys.TRAIN: "train", ModeKeys.EVAL: "eval"}.get(mode, "predict")
                raise ValueError(
                    f"{names} batch size {size} must be divisible by number of replicas "
                    f"{self._shards}"
                )
        self._mode = None

    @property
    def _shards(self) -> int:
        return self._config.tpu_config.num_shards or 8

    def _on_shards(self, mode) -> bool:
        return self._use_tpu and (mode != ModeKeys.EVAL or self._eval_on_tpu)

    def _params_for(self, size) -> dict:
        params = self.params
        if size is not None:
            params["batch_size"] = params["batch-size"] = size
        return params

    def _per_shard_input(self, mode) -> bool:
        kind = self._config.tpu_config.per_host_input_for_training
        per_shard = kind == InputPipelineConfig.PER_SHARD_V1
        return per_shard and mode == ModeKeys.TRAIN and self._on_shards(mode)

    # ---- functions of the caller -----------------------------------------------------------------

    def _call_input_fn(self, input_fn, mode):
        names = arguments_of(input_fn)
        if "params" not in names:
            raise ValueError(
                f"input_fn ({input_fn}) does not include params argument, required by "
                "TPUEstimator to pass batch size as params['batch_size']"
            )
        size = self._sizes[mode]
        if self._per_shard_input(mode) and size is not None:
            size //= self._shards
        offered = {"mode": mode, "config": self._config, "params": self._params_for(size)}
        return input_fn(**{k: v for k, v in offered.items() if k in names})

    def _model(self, features, labels, mode, size):
        names = arguments_of(self._model_fn)
        if "labels" not in names and labels is not None:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        offered = {
            "features": features,
            "labels": labels,
            "mode": mode,
            "config": self._config,
            "params": self._params_for(size),
        }
        get_logger().info("Calling model_fn.")
        spec = self._model_fn(**{k: v for k, v in offered.items() if k in names})
        get_logger().info("Done calling model_fn.")
        if not isinstance(spec, (EstimatorSpec, TPUEstimatorSpec)):
            raise ValueError("model_fn should return a TPUEstimatorSpec.")
        return spec

    def _call_model_fn(self, features, labels, mode):
        spec = self._model(features, labels, mode, self._sizes[mode])
        return spec.as_estimator_spec() if isinstance(spec, TPUEstimatorSpec) else spec

    # ---- on shards -------------------------------------------------------------------------------

    def _trace(self, inputs, mode, wanted):
        """Shards of the model function; `wanted(spec)` gives tensors and operations."""
        size = self._sizes[mode]
        size = None if size is None else size // self._shards
        features, labels = inputs

        def trace(given):
            spec = self._model(*given, mode, size)
            return (*wanted(spec), spec)

        inputs = (features, labels)
        return Shards(graph_of_variables(), inputs, self._shards, trace)

    def _shard_inputs(self, input_fn, mode):
        """(features, labels) of whole batches, as one stream or as one for each shard."""
        if not self._per_shard_input(mode):
            return self._inputs(input_fn, mode)
        parts = [self._inputs(input_fn, mode) for _ in range(self._shards)]
        flat = [nest.flatten(p) for p in parts]
        whole = [ops["ConcatV2"](list(ts), convert_to_tensor(0)) for ts in zip(*flat, strict=True)]
        return nest.pack_sequence_as(parts[0], whole)

    def _train_spec(self, input_fn) -> EstimatorSpec:
        if not self._on_shards(ModeKeys.TRAIN):
            return super()._train_spec(input_fn)
        loop = self._config.tpu_config.iterations_per_loop
        inputs, stacked = self._looped_inputs(input_fn, loop)

        def wanted(spec):
            extra = list(nest.flatten(spec.host_call[1])) if _host_call(spec) else []
            return [spec.loss, *extra], [spec.train_op]

        shards = self._trace(inputs, ModeKeys.TRAIN, wanted)
        spec = shards.answer
        train_op, loss, extra = self._loop(shards, stacked, spec)
        if _host_call(spec):
            train_op = self._with_host_call(spec, train_op, extra)
        scaffold_fn = getattr(spec, "scaffold_fn", None)
        return EstimatorSpec(
            ModeKeys.TRAIN,
            loss=loss,
            train_op=train_op,
            scaffold=scaffold_fn() if scaffold_fn else None,
        )

    def _looped_inputs(self, input_fn, loop: int):
        """The inputs of one step, and a function of all steps of a loop: (count, stacked)."""
        given = (
            None
            if self._per_shard_input(ModeKeys.TRAIN)
            else self._call_input_fn(input_fn, ModeKeys.TRAIN)
        )
        if isinstance(given, Dataset):
            # A loop takes several batches at once; the last may have fewer.
            whole = next_of(given.batch(loop))
            flat = tensors_of(whole)
            one = nest.pack_sequence_as(whole, [_One(t) for t in flat], expand_composites=True)
            features, labels = one if isinstance(one, (list, tuple)) else (one, None)
            return (features, labels), flat
        inputs = self._shard_inputs(input_fn, ModeKeys.TRAIN) if given is None else given
        if not isinstance(inputs, (list, tuple)):
            inputs = (inputs, None)
        flat = tensors_of(tuple(inputs))
        return tuple(inputs), [ops["ExpandDims"](t, convert_to_tensor(0)) for t in flat]

    def _loop(self, shards, stacked: list, spec):
        """The steps of a loop as one While; returns (the operation, the last loss, extras)."""
        states = shards.states()
        self._limit = Variable(
            lambda: convert_to_tensor(self._config.tpu_config.iterations_per_loop, _dtypes.int32),
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
            name="iterations_per_loop",
        )
        count = ops["Minimum"](ops["Shape"](stacked[0])[0], self._limit._read())
        first = [state._read() for state in states]
        n_fetched = len(shards._dtypes) - len(shards.variables)
        zeros = [
            _zeros([shards._count, *t.shape], t.dtype)
            for t in shards._function._outputs()[:n_fetched]
        ]

        def body(i, fetched, values):
            batch = [t[i] for t in stacked]
            fetched, values = shards.run(batch, values)
            return i + 1, fetched, values

        _, fetched, last = while_loop(
            lambda i, *unused: i < count, body, (convert_to_tensor(0), zeros, first)
        )
        updates = []
        for variable, state, value in zip(shards.variables, states, last, strict=True):
            updates.append(state.assign(value, read_value=False))
            if state is not variable:
                updates.append(variable.assign(value[0], read_value=False))
        return group(*updates), reduce_mean(fetched[0]), fetched[1:]

    def _with_host_call(self, spec, train_op, extra: list):
        function, tensors = spec.host_call
        joined = nest.pack_sequence_as(tensors, [_joined(t) for t in extra])
        with control_dependencies([train_op]):
            called = _call((function, joined))
        return group(train_op, *nest.flatten(called))

    def _train_hooks(self, spec, scaffold, listeners) -> list:
        hooks = super()._train_hooks(spec, scaffold, listeners)
        size = self._sizes[ModeKeys.TRAIN]
        if size is not None:
            hooks.append(
                ExamplesPerSecondHook(
                    size, self._config.log_step_count_steps or 100, self.model_dir
                )
            )
        return hooks

    def _train_with(self, spec, hooks, listeners):
        if self._on_shards(ModeKeys.TRAIN):
            hooks = [
                _StopAfterLoops(h, self._limit, self._config.tpu_config.iterations_per_loop)
                if isinstance(h, StopAtStepHook)
                else h
                for h in hooks
            ]
        return super()._train_with(spec, hooks, listeners)

    def _counted_steps(self):
        return None  # ExamplesPerSecondHook counts steps too

    def _eval_spec(self, input_fn) -> EstimatorSpec:
        if not self._on_shards(ModeKeys.EVAL):
            return super()._eval_spec(input_fn)
        inputs = self._inputs(input_fn, ModeKeys.EVAL)

        def wanted(spec):
            pair = getattr(spec, "eval_metrics", None)
            return [spec.loss, *(nest.flatten(pair[1]) if pair else [])], []

        shards = self._trace(tuple(inputs), ModeKeys.EVAL, wanted)
        fetched = self._once(shards, inputs)
        pair, pairs = getattr(shards.answer, "eval_metrics", None), None
        if pair:
            joined = nest.pack_sequence_as(pair[1], [_joined(t) for t in fetched[1:]])
            pairs = _call((pair[0], joined))
        scaffold_fn = getattr(shards.answer, "scaffold_fn", None)
        return EstimatorSpec(
            ModeKeys.EVAL,
            loss=reduce_mean(fetched[0]),
            eval_metric_ops=pairs,
            scaffold=scaffold_fn() if scaffold_fn else None,
        )

    def _once(self, shards, inputs) -> list:
        values = [
            _rows_of(v, self._shards) if is_own else v._read()
            for v, is_own in zip(shards.variables, shards.is_own, strict=True)
        ]
        return shards.run(tensors_of(tuple(inputs)), values)[0]

    def _predict_spec(self, input_fn) -> EstimatorSpec:
        if not self._on_shards(ModeKeys.PREDICT):
            return super()._predict_spec(input_fn)
        given = self._inputs(input_fn, ModeKeys.PREDICT, takes_apart=False)
        features = given[0] if isinstance(given, (list, tuple)) else given

        def wanted(spec):
            return nest.flatten(spec.predictions), []

        shards = self._trace((features, None), ModeKeys.PREDICT, wanted)
        fetched = self._once(shards, (features, None))
        predictions = nest.pack_sequence_as(
            shards.answer.predictions, [_joined(t) for t in fetched]
        )
        return EstimatorSpec(ModeKeys.PREDICT, predictions=predictions)


def _host_call(spec):
    return getattr(spec, "host_call", None)


def _joined(stacked):
    """Tensors of shards as one along the batch."""
    if stacked.shape.rank == 1:
        return stacked
    return reshape(stacked, [-1, *list(stacked.shape)[2:]])


def _zeros(shape, dtype):
    return zeros(shape, dtype)


def _rows_of(variable, count: int):
    return ops["BroadcastTo"](
        variable._read(), convert_to_tensor([count, *[int(n) for n in variable.shape]])
    )


class _One:
    """What one step gets of a tensor that has several steps' batches."""

    def __init__(self, stacked) -> None:
        self.dtype, self.shape = stacked.dtype, stacked.shape[1:]


class _StopAfterLoops(StopAtStepHook):
    """Stops at a step: the last loop has as many steps as are left."""

    def __init__(self, hook, limit, loop: int) -> None:
        super().__init__(hook._num_steps, hook._last_step)
        self._limit, self._loop = limit, loop

    def before_run(self, run_context):
        """Say how many steps the loop has."""
        step = int(run_context.session.run(self._step))
        left = max(1, min(self._loop, self._last_step - step))
        self._limit.load(left, run_context.session)
        return SessionRunArgs(self._step)


__getattr__ = _finder(__name__)
