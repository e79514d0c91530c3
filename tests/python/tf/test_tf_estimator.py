"""Estimators: a model function trained, evaluated and asked, in one place or on shards."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

tf = pytest.importorskip("mica.tf")
v1 = tf.compat.v1
SEEDS = Path(__file__).parents[2] / "seeds"

RNG = np.random.default_rng(0)
DATA = RNG.normal(size=(256, 8)).astype("float32")
TARGET = (DATA @ RNG.normal(size=(8, 4))).argmax(1).astype("int32")


def run_seed(name, *arguments):
    path = SEEDS / name
    command = [sys.executable, "-m", "mica.tf", path, *arguments]
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    found = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=300
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


# ---- the documents' programs ---------------------------------------------------------------------


def test_document_001_prints_its_five_lines():
    lines = run_seed("s001_add_three_tensors.py").splitlines()
    assert lines[-1] == "MLCTensor data5 : 1 2.1 3.2 4.3 5.4 6.5" and lines[-2] == "True"


def test_document_003_runs():
    try:
        assert tf.keras
    except ModuleNotFoundError:
        pytest.skip("keras is not installed")
    run_seed("s003_effective_tf2.py")


@pytest.mark.parametrize("flags", [["--use_tpu=false"], ["--use_tpu=true", "--num_shards=8"]])
def test_document_004_runs_in_both_modes(flags, tmp_path):
    lines = run_seed("s004_tpu_estimator.py", *flags, f"--model_dir={tmp_path}").splitlines()
    accuracy = float(re.match(r"accuracy (\S+) global_step 300$", lines[-2])[1])
    assert lines[-1] == "ok" and accuracy > 0.98
    assert (tmp_path / "checkpoint").exists() and (tmp_path / "eval").is_dir()
    names = [name for name, _ in tf.train.list_variables(tmp_path)]
    assert names == ["dense/bias", "dense/kernel", "dense_1/bias", "dense_1/kernel", "global_step"]


# ---- one place -----------------------------------------------------------------------------------


def linear_model(features, labels, mode, params):
    w = v1.get_variable("w", [1], initializer=v1.zeros_initializer())
    y = tf.reduce_sum(features["x"] * w, axis=1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": y})
    loss = tf.reduce_mean((y - labels) ** 2)
    metrics = {"error": v1.metrics.mean_absolute_error(labels, y)}
    train = v1.train.GradientDescentOptimizer(params["rate"]).minimize(
        loss, global_step=v1.train.get_global_step()
    )
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, eval_metric_ops=metrics)


def inputs(count=1):
    def input_fn():
        features = {"x": [[1.0], [2.0]]}
        return tf.data.Dataset.from_tensor_slices((features, [2.0, 4.0])).batch(2).repeat(count)

    return input_fn


@pytest.fixture
def estimator(tmp_path):
    return tf.estimator.Estimator(linear_model, tmp_path / "model", params={"rate": 0.1})


def test_an_estimator_trains_evaluates_and_predicts(estimator):
    estimator.train(inputs(None), steps=30)
    assert estimator.get_variable_names() == ["global_step", "w"]
    np.testing.assert_allclose(estimator.get_variable_value("w"), [2.0], atol=1e-4)
    found = estimator.evaluate(inputs())
    assert found["global_step"] == 30 and found["loss"] < 1e-6 and found["error"] < 1e-3
    predictions = list(estimator.predict(inputs()))
    np.testing.assert_allclose([p["y"] for p in predictions], [2.0, 4.0], atol=1e-3)
    estimator.train(inputs(None), max_steps=35)
    assert estimator.evaluate(inputs())["global_step"] == 35


def test_training_ends_with_the_data(estimator):
    estimator.train(inputs(3))
    assert estimator.get_variable_value("global_step") == 3


def test_the_folder_has_the_files_that_tensorflow_writes(estimator):
    estimator.train(inputs(None), steps=5)
    names = sorted(os.listdir(estimator.model_dir))
    assert "checkpoint" in names and "model.ckpt-5.index" in names and "model.ckpt-0.index" in names
    (events,) = [n for n in names if "tfevents" in n]
    path = os.path.join(estimator.model_dir, events)
    tags = {v.tag for e in v1.train.summary_iterator(path) for v in e.summary.value}
    assert "loss" in tags


def test_hooks_are_told_of_each_step(estimator):
    told = []

    class Hook(tf.estimator.SessionRunHook):
        def begin(self):
            told.append("begin")

        def after_run(self, run_context, run_values):
            told.append("run")

        def end(self, session):
            told.append("end")

    estimator.train(inputs(None), hooks=[Hook()], steps=2)
    assert told == ["begin", "run", "run", "end"]


def test_a_loss_that_is_no_number_stops_training(estimator):
    def bad():
        return tf.data.Dataset.from_tensors(({"x": [[np.nan]]}, [1.0])).repeat()

    with pytest.raises(tf.estimator.NanLossDuringTrainingError, match="NaN loss during training"):
        estimator.train(bad, steps=2)


def test_a_model_begins_with_another_ones_variables(estimator, tmp_path):
    estimator.train(inputs(None), steps=30)
    warm = tf.estimator.Estimator(
        linear_model, tmp_path / "warm", params={"rate": 0.0}, warm_start_from=estimator.model_dir
    )
    warm.train(inputs(None), steps=1)
    np.testing.assert_allclose(warm.get_variable_value("w"), [2.0], atol=1e-4)


def test_train_and_evaluate_does_both(estimator):
    train = tf.estimator.TrainSpec(inputs(None), max_steps=10)
    metrics, exports = tf.estimator.train_and_evaluate(
        estimator, train, tf.estimator.EvalSpec(inputs(), steps=1)
    )
    assert metrics["global_step"] == 10 and exports == []


def test_an_exported_model_is_served_without_its_function(estimator, tmp_path):
    estimator.train(inputs(None), steps=30)
    receiver = tf.estimator.export.build_raw_serving_input_receiver_fn({"x": tf.zeros([1, 1])})
    folder = estimator.export_saved_model(tmp_path / "export", receiver)
    served = tf.saved_model.load(folder.decode()).signatures["serving_default"]
    np.testing.assert_allclose(served(x=tf.constant([[3.0]]))["y"], [6.0], atol=1e-3)


def test_exporters_export_at_the_end(estimator):
    receiver = tf.estimator.export.build_raw_serving_input_receiver_fn({"x": tf.zeros([1, 1])})
    exporter = tf.estimator.FinalExporter("last", receiver)
    evaluation = tf.estimator.EvalSpec(inputs(), steps=1, exporters=exporter)
    _, (folder,) = tf.estimator.train_and_evaluate(
        estimator, tf.estimator.TrainSpec(inputs(None), max_steps=3), evaluation
    )
    assert os.path.isfile(os.path.join(folder.decode(), "saved_model.pb"))


def test_mistakes_are_told(tmp_path):
    with pytest.raises(ValueError, match="must include features"):
        tf.estimator.Estimator(lambda x: None, tmp_path)
    with pytest.raises(ValueError, match=r"not expected args: \['other'\]"):
        tf.estimator.Estimator(lambda features, other: None, tmp_path)
    with pytest.raises(ValueError, match="Missing loss"):
        tf.estimator.EstimatorSpec("train", train_op=tf.constant(1))
    with pytest.raises(ValueError, match="both steps and max_steps"):
        tf.estimator.Estimator(lambda features: None, tmp_path).train(None, steps=1, max_steps=2)


# ---- shards --------------------------------------------------------------------------------------


def batches(params):
    pairs = tf.data.Dataset.from_tensor_slices((DATA, TARGET))
    return pairs.repeat().batch(params["batch_size"], drop_remainder=True)


def accuracy_of(labels, logits):
    return {"a": v1.metrics.accuracy(labels, tf.argmax(logits, 1))}


def train_on(shards, use_tpu=True, cross=True, loop=1, normalise=False, extra=None, steps=8):
    """Losses of the steps, the estimator, and what the model function was given."""
    losses, seen = [], []

    class Losses(v1.train.SessionRunHook):
        def before_run(self, run_context):
            return v1.train.SessionRunArgs(made.kept.loss)

        def after_run(self, run_context, run_values):
            losses.append(float(run_values.results))

    class Kept(tf.contrib.tpu.TPUEstimator):
        def _train_spec(self, input_fn):
            self.kept = super()._train_spec(input_fn)
            return self.kept

    def model_fn(features, labels, mode, params):
        seen.append((features.shape.as_list(), params["batch_size"], params["batch-size"]))
        first = v1.random_normal_initializer(stddev=0.3, seed=1)
        x = v1.layers.dense(features, 16, tf.nn.relu, kernel_initializer=first)
        if normalise:
            x = v1.layers.batch_normalization(x, training=mode == "train")
        logits = v1.layers.dense(x, 4, kernel_initializer=first)
        loss = v1.losses.sparse_softmax_cross_entropy(labels, logits)
        if extra is not None:
            extra(loss)
        if mode == "eval":
            pair = (accuracy_of, [labels, logits])
            return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, eval_metrics=pair)
        if mode == "infer":
            return tf.contrib.tpu.TPUEstimatorSpec(mode, predictions=logits)
        optimizer = v1.train.AdamOptimizer(0.05)
        if use_tpu and cross:
            optimizer = tf.contrib.tpu.CrossShardOptimizer(optimizer)
        with tf.control_dependencies(v1.get_collection(v1.GraphKeys.UPDATE_OPS)):
            train = optimizer.minimize(loss, v1.train.get_global_step())
        return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train)

    config = tf.contrib.tpu.RunConfig(tpu_config=tf.contrib.tpu.TPUConfig(loop, shards))
    made = Kept(model_fn, config=config, use_tpu=use_tpu, train_batch_size=64, eval_batch_size=64)
    try:
        made.train(batches, hooks=[Losses()], max_steps=steps)
        return np.array(losses), made, seen
    finally:
        made.evaluated = made.evaluate(batches, steps=2) if losses else None
        shutil.rmtree(made.model_dir)


def test_eight_shards_train_as_one():
    alone, one, _ = train_on(8, use_tpu=False)
    shared, eight, seen = train_on(8)
    looped, _, _ = train_on(8, loop=3)
    assert len(alone) == 8 and alone[-1] < alone[0]
    np.testing.assert_allclose(shared, alone, atol=1e-5)
    np.testing.assert_allclose(looped, alone[[2, 5, 7]], atol=1e-5)
    assert seen == [([8, 8], 8, 8), ([8, 8], 8, 8)]
    assert eight.evaluated["a"] == one.evaluated["a"]
    np.testing.assert_allclose(eight.evaluated["loss"], one.evaluated["loss"], atol=1e-5)


def test_without_the_sum_over_shards_each_keeps_its_own_variables():
    shared, _, _ = train_on(8)
    apart, _, _ = train_on(8, cross=False)
    looped, _, _ = train_on(8, cross=False, loop=4)
    assert apart[0] == pytest.approx(shared[0]) and abs(apart - shared).max() > 1e-2
    np.testing.assert_allclose(looped, apart[[3, 7]], atol=1e-5)


def test_a_shard_normalises_over_its_own_batch():
    whole, _, _ = train_on(1, normalise=True)
    split, _, _ = train_on(8, normalise=True)
    assert abs(whole - split).max() > 1e-3 and split[-1] < split[0]


def test_shards_need_static_shapes(tmp_path):
    config = tf.contrib.tpu.RunConfig(model_dir=tmp_path, tpu_config=tf.contrib.tpu.TPUConfig(1, 2))

    def model_fn(features, labels, mode, params):
        raise AssertionError("not reached")

    made = tf.contrib.tpu.TPUEstimator(model_fn, config=config, train_batch_size=4)

    def unknown(params):
        return tf.data.Dataset.from_tensor_slices((DATA, TARGET)).batch(params["batch_size"])

    with pytest.raises(ValueError, match="dimension 0 is not known") as caught:
        made.train(unknown, steps=1)
    assert "batch_and_drop_remainder" in str(caught.value) and "set_shape" in str(caught.value)
    with pytest.raises(ValueError, match="does not include params"):
        made.train(lambda: None, steps=1)
    with pytest.raises(ValueError, match="must be divisible by number of replicas 2"):
        tf.contrib.tpu.TPUEstimator(model_fn, config=config, train_batch_size=5)
    with pytest.raises(ValueError, match="reserved keys"):
        tf.contrib.tpu.TPUEstimator(
            model_fn, config=config, train_batch_size=4, params={"batch_size": 1}
        )


def test_summaries_in_a_model_function_are_refused_on_shards():
    with pytest.raises(NotImplementedError, match="'seen' is made in a model_fn with use_tpu=True"):
        train_on(8, extra=lambda loss: v1.summary.scalar("seen", loss))
    with pytest.raises(NotImplementedError, match="with use_tpu=True"):
        train_on(8, extra=lambda loss: tf.summary.scalar("seen", loss))
    train_on(8, use_tpu=False, extra=lambda loss: tf.summary.scalar("seen", loss), steps=1)


def host_seen(tensor, seen):
    return tf.py_function(lambda value: seen.append(value.numpy().tolist()), [tensor], [])


def test_shards_draw_their_own_numbers_and_predictions_are_joined():
    seen = []

    def model_fn(features, labels, mode, params):
        x = v1.layers.dropout(features["x"], 0.5, training=mode == "train")
        y = v1.layers.dense(x, 1, kernel_initializer=v1.ones_initializer())
        if mode == "infer":
            return tf.contrib.tpu.TPUEstimatorSpec(mode, predictions={"y": y})
        loss = tf.reduce_mean((y - labels) ** 2)
        optimizer = v1.train.GradientDescentOptimizer(0.01)
        train = tf.contrib.tpu.CrossShardOptimizer(optimizer).minimize(
            loss, v1.train.get_global_step()
        )
        total = tf.reshape(tf.reduce_sum(x), [1])
        return tf.contrib.tpu.TPUEstimatorSpec(
            mode,
            loss=loss,
            train_op=train,
            host_call=(lambda total: host_seen(total, seen), [total]),
        )

    def input_fn(params):
        sizes.append(params["batch_size"])
        ones = np.ones((params["batch_size"], 64), "float32")
        return tf.data.Dataset.from_tensors(({"x": ones}, ones[:, :1])).repeat(3)

    sizes = []
    tpu_config = tf.contrib.tpu.TPUConfig(2, 4, per_host_input_for_training=False)
    made = tf.contrib.tpu.TPUEstimator(
        model_fn,
        config=tf.contrib.tpu.RunConfig(tpu_config=tpu_config),
        train_batch_size=8,
        predict_batch_size=8,
    )
    made.train(input_fn)
    predictions = list(made.predict(input_fn))
    shutil.rmtree(made.model_dir)
    assert sizes == [2, 2, 2, 2, 8] and len(predictions) == 24
    assert predictions[0]["y"].shape == (1,)
    assert all(len(set(values)) > 1 for values in seen) and len(seen[0]) == 4


def test_bfloat16_scope_gives_values_of_variables_kept_in_float32():
    with v1.Graph().as_default(), tf.contrib.tpu.bfloat16_scope():
        x = tf.cast(tf.ones([1, 2]), tf.bfloat16)
        y = v1.layers.dense(x, 3)
        assert y.dtype == tf.bfloat16
        assert [v.dtype for v in v1.trainable_variables()] == [tf.float32] * 2


def test_the_resolver_takes_both_names_of_its_argument():
    for resolver in (
        tf.contrib.cluster_resolver.TPUClusterResolver(tpu="local"),
        tf.contrib.cluster_resolver.TPUClusterResolver(tpu_names=["local"]),
        tf.contrib.cluster_resolver.TPUClusterResolver(tpu=""),
    ):
        assert resolver.get_master() in ("", "local")
