"""TensorFlow 1's names: graphs that sessions run, variables by name, optimizers, metrics."""

import os
import subprocess

import numpy as np
import pytest

tf = pytest.importorskip("mica.tf")
v1 = tf.compat.v1


@pytest.fixture
def graph():
    made = v1.Graph()
    with made.as_default():
        yield made


def initialized():
    session = v1.Session()
    session.run([v1.global_variables_initializer(), v1.local_variables_initializer()])
    return session


# ---- sessions ------------------------------------------------------------------------------------


def test_a_session_runs_what_its_fetches_need_and_nothing_else(graph):
    x = v1.placeholder(tf.float32, [None, 2], name="x")
    count = tf.Variable(0, name="count")
    counted = count.assign_add(1)
    doubled = tf.multiply(x, 2.0, name="doubled")
    with initialized() as session:
        assert session.run(doubled, {x: [[1, 2]]}).tolist() == [[2.0, 4.0]]
        assert session.run(count) == 0
        assert session.run(counted) == 1 and session.run(counted.op) is None
        assert session.run([count, "doubled:0"], {"x:0": [[0, 1]]})[0] == 2


def test_fetches_come_back_in_their_structure(graph):
    a, b = tf.constant(1.0), tf.constant([2, 3])
    with v1.Session() as session:
        found = session.run({"pair": (a, [b]), "again": a})
    assert found["again"] == 1.0 and isinstance(found["pair"], tuple)
    assert found["pair"][1][0].tolist() == [2, 3] and found["pair"][1][0].dtype == np.int32


def test_a_placeholder_without_a_value_is_an_error_that_names_it(graph):
    x = v1.placeholder(tf.float32, [None, 2], name="x")
    with v1.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value for place"):
            session.run(x + 1)
        with pytest.raises(ValueError, match=r"Cannot feed value of shape \(3,\) for Tensor x:0"):
            session.run(x + 1, {x: [1.0, 2.0, 3.0]})
        with pytest.raises(TypeError, match="Fetch argument None"):
            session.run(None)
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(x)


def test_what_is_in_the_middle_can_be_fed(graph):
    x = tf.constant(2.0)
    y = x * 3
    z = y + 1
    with v1.Session() as session:
        assert session.run(z) == 7 and session.run(z, {y: 10.0}) == 11


def test_variables_belong_to_sessions(graph):
    w = tf.Variable([1.0], name="w")
    one, other = v1.Session(), v1.Session()
    for session in (one, other):
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(w)
        session.run(w.initializer)
    w.load([5.0], one)
    assert one.run(w) == [5.0] and other.run(w) == [1.0]
    with other.as_default():
        assert w.eval() == [1.0] and (w * 2).eval() == [2.0]


def test_control_dependencies_are_an_order(graph):
    w = tf.Variable(1.0)
    more = w.assign_add(1.0)
    with tf.control_dependencies([more]):
        after = tf.identity(w)
        with tf.control_dependencies(None):
            free = w + 10.0
    both = tf.group(more, name="both")
    with initialized() as session:
        assert session.run(free) == 11.0
        assert session.run(after) == 2.0
        session.run(both)
        assert session.run(free) == 13.0
    assert [o.name for o in both.control_inputs] == [more.op.name]


def test_tensors_of_a_graph_are_keys(graph):
    a, b = tf.constant(1.0), tf.constant(1.0)
    assert a == a and a != b and {a: 1, b: 2}[a] == 1
    assert a.op.outputs[0] == a


def test_loops_and_branches_run_in_sessions(graph):
    n = v1.placeholder(tf.int32, [])
    w = tf.Variable(2.0)
    total = tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s * w), (0, 1.0))[1]
    chosen = tf.cond(n > 2, lambda: w * 10, lambda: w)
    with initialized() as session:
        assert session.run([total, chosen], {n: 3}) == [8.0, 20.0]
        assert session.run([total, chosen], {n: 1}) == [2.0, 2.0]


def test_datasets_feed_sessions(graph):
    pairs = tf.data.Dataset.range(3).map(lambda i: (i, i * i))
    once = v1.data.make_one_shot_iterator(pairs).get_next()
    again = v1.data.make_initializable_iterator(pairs)
    element = again.get_next()
    with v1.Session() as session:
        assert [session.run(once)[1] for _ in range(3)] == [0, 1, 4]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(once)
        for _ in range(2):
            session.run(again.initializer)
            assert session.run(element) == (0, 0)


# ---- variables by name ---------------------------------------------------------------------------


def test_get_variable_shares_by_name(graph):
    with v1.variable_scope("a"):
        first = v1.get_variable("w", [2, 3])
        with pytest.raises(ValueError, match="Variable a/w already exists, disallowed"):
            v1.get_variable("w", [2, 3])
    with v1.variable_scope("a", reuse=True):
        assert v1.get_variable("w", [2, 3]) is first
        with pytest.raises(ValueError, match=r"specified shape \(3, 2\) and found shape \(2, 3\)"):
            v1.get_variable("w", [3, 2])
        with pytest.raises(ValueError, match="does not exist"):
            v1.get_variable("v", [1])
    with v1.variable_scope("a", reuse=v1.AUTO_REUSE) as scope:
        assert v1.get_variable("w") is first
        assert v1.get_variable("v", [], initializer=v1.zeros_initializer()).name == "a/v:0"
    assert scope.name == "a" and len(scope.global_variables()) == 2


def test_default_names_get_numbers(graph):
    for expected in ("dense", "dense_1"):
        v1.layers.dense(tf.zeros([1, 2]), 3)
        assert v1.trainable_variables()[-1].name == f"{expected}/bias:0"
    with v1.variable_scope("outer"):
        v1.layers.dense(tf.zeros([1, 2]), 3)
    assert v1.trainable_variables()[-1].name == "outer/dense/bias:0"


def test_regularizers_give_losses(graph):
    v1.get_variable("w", [2], initializer=v1.ones_initializer(), regularizer=tf.nn.l2_loss)
    with initialized() as session:
        assert session.run(v1.losses.get_regularization_loss()) == 1.0


def test_a_template_makes_its_variables_once(graph):
    def scaled(x):
        return x * v1.get_variable("scale", [], initializer=v1.constant_initializer(3.0))

    double = v1.make_template("double", scaled)
    a, b = double(1.0), double(tf.constant(2.0))
    assert [v.name for v in v1.global_variables()] == ["double/scale:0"]
    with initialized() as session:
        assert session.run([a, b]) == [3.0, 6.0]


# ---- optimizers: the values are TensorFlow's -----------------------------------------------------

OPTIMIZERS = {
    "gradient descent": (lambda: v1.train.GradientDescentOptimizer(0.1), []),
    "momentum": (lambda: v1.train.MomentumOptimizer(0.1, 0.9), ["momentum"]),
    "nesterov": (lambda: v1.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True), ["momentum"]),
    "adam": (lambda: v1.train.AdamOptimizer(0.1), ["m", "v"]),
    "adagrad": (lambda: v1.train.AdagradOptimizer(0.1), ["accumulator"]),
    "adadelta": (lambda: v1.train.AdadeltaOptimizer(0.1), ["accum", "accum_update"]),
    "rmsprop": (lambda: v1.train.RMSPropOptimizer(0.1, momentum=0.5), ["momentum", "rms"]),
    "centered": (lambda: v1.train.RMSPropOptimizer(0.1, centered=True), ["mg", "momentum", "rms"]),
    "ftrl": (
        lambda: v1.train.FtrlOptimizer(0.1, -0.5, 0.1, 0.01, 0.02, beta=0.1),
        ["accum", "linear"],
    ),
}


def three_steps(make):
    w = tf.Variable([1.0, -2.0], name="w")
    step = v1.train.get_or_create_global_step()
    optimizer = make()
    train = optimizer.minimize(tf.reduce_sum(w**2 * [1.0, 3.0]), global_step=step)
    with initialized() as session:
        for _ in range(3):
            session.run(train)
        return session.run(w), int(session.run(step)), optimizer


def golden():
    import json

    path = os.path.join(os.path.dirname(__file__), "data", "v1_optimizers.json")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_step_as_tensorflow_does(graph, name):
    make, slots = OPTIMIZERS[name]
    value, steps, optimizer = three_steps(make)
    np.testing.assert_allclose(value, golden()[name], rtol=2e-6)
    assert steps == 3 and optimizer.get_slot_names() == slots


def test_optimizers_run_at_once_too():
    w = tf.Variable([1.0])
    v1.train.GradientDescentOptimizer(0.5).minimize(lambda: tf.reduce_sum(w**2))
    assert w.numpy() == [0.0]


def test_nothing_to_optimise_is_an_error(graph):
    optimizer = v1.train.GradientDescentOptimizer(0.1)
    with pytest.raises(ValueError, match="No variables to optimize"):
        optimizer.minimize(tf.constant(1.0))
    w = tf.Variable(1.0)
    with pytest.raises(ValueError, match="No gradients provided for any variable"):
        optimizer.minimize(tf.constant(1.0), var_list=[w])


# ---- layers, losses, metrics ---------------------------------------------------------------------


def test_batch_normalisation_keeps_moving_averages(graph):
    x = tf.constant([[1.0], [3.0]])
    y = v1.layers.batch_normalization(x, training=True, momentum=0.5)
    updates = v1.get_collection(v1.GraphKeys.UPDATE_OPS)
    with initialized() as session:
        found = session.run(y)
        session.run(updates)
        mean, variance = session.run(v1.global_variables()[-2:])
    np.testing.assert_allclose(found, [[-0.9995], [0.9995]], atol=1e-4)
    assert (mean[0], variance[0]) == (1.0, 1.0)


def test_losses_are_kept_and_weighted(graph):
    labels, predictions = tf.constant([1.0, 2.0]), tf.constant([2.0, 4.0])
    loss = v1.losses.mean_squared_error(labels, predictions, weights=[1.0, 0.0])
    with v1.Session() as session:
        assert session.run([loss, v1.losses.get_total_loss()]) == [1.0, 1.0]


def test_metrics_are_pairs(graph):
    labels = v1.placeholder(tf.int32, [None])
    value, update = v1.metrics.accuracy(labels, tf.constant([1, 1]))
    area = v1.metrics.auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    with initialized() as session:
        assert session.run(value) == 0.0
        assert session.run(update, {labels: [1, 0]}) == 0.5
        assert session.run(update, {labels: [1, 1]}) == 0.75
        assert session.run(value) == 0.75
        np.testing.assert_allclose(session.run(area[1]), 0.75, atol=1e-3)
    assert len(v1.local_variables()) == 6


def test_metrics_by_class(graph):
    labels, predictions, weights = [0, 1, 1, 2], [0, 1, 2, 2], [1.0, 3.0, 1.0, 1.0]
    union = v1.metrics.mean_iou(labels, predictions, 3)
    found = v1.metrics.mean_per_class_accuracy(labels, predictions, 3, weights)
    with initialized() as session:
        session.run([union[1], found[1]])
        np.testing.assert_allclose(session.run(union[0]), (1 + 1 / 2 + 1 / 2) / 3, rtol=1e-6)
        np.testing.assert_allclose(session.run(found[0]), (1 + 3 / 4 + 1) / 3, rtol=1e-6)


def test_what_the_library_compares_it_compares_by_element(graph):
    with v1.Session() as session:
        assert session.run(tf.eye(2)).tolist() == [[1.0, 0.0], [0.0, 1.0]]
        parts = tf.dynamic_partition(tf.constant([1, 2, 3]), [0, 1, 0], 2)
        assert [p.tolist() for p in session.run(parts)] == [[1, 3], [2]]


def test_names_of_both_versions_live_side_by_side(graph):
    from mica.tf._both import collisions

    try:
        assert tf.keras
    except ModuleNotFoundError:
        pytest.skip("keras is not installed")
    assert isinstance(tf.metrics.Mean, type) and tf.metrics.accuracy is v1.metrics.accuracy
    assert collisions("metrics") == []
    assert collisions("losses") == ["Reduction"]
    assert tf.losses.Reduction is v1.losses.Reduction  # a graph is being built
    with tf.init_scope():
        assert tf.losses.Reduction is tf.keras.losses.Reduction


# ---- files ---------------------------------------------------------------------------------------


def test_a_saver_writes_names_and_restores_them(graph, tmp_path):
    w = v1.get_variable("layer/w", [2], initializer=v1.ones_initializer())
    v1.train.create_global_step()
    saver = v1.train.Saver(max_to_keep=1)
    with initialized() as session:
        w.load([3.0, 4.0], session)
        saver.save(session, tmp_path / "model.ckpt", 1)
        path = saver.save(session, tmp_path / "model.ckpt", 2)
    assert path == str(tmp_path / "model.ckpt-2") == v1.train.latest_checkpoint(tmp_path)
    assert not (tmp_path / "model.ckpt-1.index").exists()
    assert tf.train.list_variables(tmp_path) == [("global_step", []), ("layer/w", [2])]
    with v1.Session() as session:
        saver.restore(session, path)
        assert session.run(w).tolist() == [3.0, 4.0]


def test_a_monitored_session_goes_on_where_it_stopped(graph, tmp_path):
    step = v1.train.create_global_step()
    count = step.assign_add(1)
    for last in (3, 5):
        hooks = [v1.train.StopAtStepHook(last_step=last)]
        with v1.train.MonitoredTrainingSession(
            checkpoint_dir=str(tmp_path), hooks=hooks, save_checkpoint_steps=2
        ) as session:
            while not session.should_stop():
                reached = session.run(count)
        assert reached == last
    assert (tmp_path / "model.ckpt-5.index").exists()


def test_summaries_are_tensors(graph, tmp_path):
    v1.summary.scalar("loss", tf.constant(2.5))
    merged = v1.summary.merge_all()
    with v1.Session() as session, v1.summary.FileWriter(tmp_path) as writer:
        writer.add_summary(session.run(merged), 7)
    (path,) = tmp_path.iterdir()
    events = list(v1.train.summary_iterator(str(path)))
    assert [(v.tag, v.simple_value) for e in events for v in e.summary.value] == [("loss", 2.5)]
    assert events[-1].step == 7


SCRIPT = """
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
tf.flags.DEFINE_integer("steps", 2, "how many")
tf.flags.DEFINE_bool("loud", False, "whether")
FLAGS = tf.flags.FLAGS

def main(argv):
    x = tf.placeholder(tf.float32, [])
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    train = tf.assign_add(w, x)
    with tf.Session(config=tf.ConfigProto(log_device_placement=FLAGS.loud)) as sess:
        sess.run(tf.global_variables_initializer())
        for i in range(FLAGS.steps):
            sess.run(train, feed_dict={x: i})
        print(argv[1:], sess.run(w), tf.reduce_sum(w, keep_dims=True).shape)

tf.app.run(main)
"""


def test_a_program_of_tensorflow_1_runs(tmp_path):
    import sys

    path = tmp_path / "program.py"
    path.write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, "-m", "mica.tf", path, "--steps=4", "--loud", "rest"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "['rest'] 6.0 ()\n"), found.stderr
    assert "w/Assign: (AssignVariableOp): /job:localhost" in found.stderr
