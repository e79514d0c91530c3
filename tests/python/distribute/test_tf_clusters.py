"""Clusters of mica.tf: what TensorFlow cannot show, or shows only in several processes."""

import json
import subprocess
import sys

import mica.tf as tf
import pytest


def test_a_tpu_that_cannot_be_looked_up_is_both_a_value_and_an_os_error():
    for kind in (ValueError, OSError):
        with pytest.raises(kind, match="'mytpu' cannot be looked up"):
            tf.distribute.cluster_resolver.TPUClusterResolver("mytpu")


def test_a_tpu_strategy_without_cores_says_which_devices_there_are():
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver("local")
    with pytest.raises(tf.errors.NotFoundError, match=r"no TPU core to run on.*CPU:0"):
        tf.distribute.TPUStrategy(resolver)


def test_a_worker_of_an_unknown_type_is_refused(monkeypatch):
    monkeypatch.setenv(
        "TF_CONFIG",
        json.dumps({"cluster": {"worker": ["a:1"]}, "task": {"type": "cook", "index": 0}}),
    )
    with pytest.raises(ValueError, match="'cook'"):
        tf.distribute.MultiWorkerMirroredStrategy()


def test_a_cluster_of_one_worker_is_this_process(monkeypatch):
    monkeypatch.setenv(
        "TF_CONFIG",
        json.dumps({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}),
    )
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    assert strategy.num_replicas_in_sync == 1
    assert strategy.cluster_resolver.task_type == "worker"
    assert float(strategy.run(lambda x: x + 1.0, args=(tf.constant(2.0),))) == 3.0


def test_importing_the_package_does_not_import_what_clusters_need():
    code = (
        "import sys, mica.tf as tf; tf.constant(1.0) + 1.0;"
        "assert not {'socket', 'mica.tf.distribute'} & set(sys.modules), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_evaluator_is_alone(monkeypatch):
    cluster = {"worker": ["a:1", "b:1"], "evaluator": ["c:1"]}
    task = {"type": "evaluator", "index": 0}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    assert tf.distribute.MultiWorkerMirroredStrategy().num_replicas_in_sync == 1
