"""Names of tf.compat.v1 that the guides use: graphs, sessions, variables, savers."""

import os
import subprocess
import sys
import tempfile

from corpus import plain, raises

V1 = "tf.compat.v1"


def graph_case(of, what):
    """A case that builds a graph of its own; `run` runs in a session after the initializer."""

    def wrap(function):
        def case(tf):
            v1 = tf.compat.v1
            with tf.Graph().as_default():
                with v1.Session() as session:
                    return function(tf, v1, session)

        plain(of, what)(case)
        return function

    return wrap


def started(v1, session):
    session.run(v1.global_variables_initializer())
    return session


# ---- sessions ------------------------------------------------------------------------------------


@graph_case((f"{V1}.Session", f"{V1}.placeholder"), "fetches of every structure")
def _(tf, v1, session):
    x = v1.placeholder(tf.float32, shape=[None, 2], name="x")
    y = v1.placeholder_with_default(3.0, [])
    z = x * y
    feed = {x: [[1.0, 2.0]]}
    return [
        session.run(z, feed),
        session.run([z, y], {**feed, y: 2.0}),
        session.run({"z": z, "pair": (y, [z])}, feed),
        session.run("mul:0", {"x:0": [[4.0, 5.0]]}),
        session.run(tf.no_op()),
        z.eval(feed),
        [x.name, z.name, z.op.type, x.shape.as_list()],
        session.graph is tf.compat.v1.get_default_graph(),
    ]


@graph_case(f"{V1}.Session", "a fed tensor that is no placeholder, partial order")
def _(tf, v1, session):
    a = tf.constant(2.0)
    b = a * 3.0
    v = v1.get_variable("v", initializer=1.0)
    started(v1, session)
    with tf.control_dependencies([v1.assign_add(v, b)]):
        after = v.read_value()
    return [session.run(b + 1.0, {b: 10.0}), session.run(after), session.run(v), v.eval()]


raises(
    f"{V1}.Session",
    "a placeholder that is not fed",
    "must feed a value for placeholder",
    lambda tf: _in_graph(tf, lambda v1, s: s.run(v1.placeholder(tf.float32, name="x") * 2)),
)
raises(
    f"{V1}.Session",
    "a fetch that is no tensor",
    "",
    lambda tf: _in_graph(tf, lambda v1, s: s.run(3)),
)
raises(
    f"{V1}.Session",
    "a value of another shape",
    "Cannot feed value of shape",
    lambda tf: _in_graph(tf, _fed_badly),
)
raises(
    f"{V1}.Session",
    "a variable that has no value",
    "",
    lambda tf: _in_graph(tf, lambda v1, s: s.run(v1.get_variable("v", [2]))),
)
raises(
    f"{V1}.placeholder",
    "eagerly",
    "eager execution",
    lambda tf: tf.compat.v1.placeholder(tf.float32),
)


def _in_graph(tf, function):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        return function(tf.compat.v1, session)


def _fed_badly(v1, session):
    x = v1.placeholder("float32", [2, 3])
    return session.run(x * 2.0, {x: [[1.0]]})


@graph_case(f"{V1}.ConfigProto", "settings of a session")
def _(tf, v1, session):
    config = v1.ConfigProto(allow_soft_placement=True, device_count={"GPU": 0})
    config.gpu_options.allow_growth = True
    config.inter_op_parallelism_threads = 2
    with v1.Session(config=config) as other:
        value = other.run(tf.constant(3) + 4)
    again = v1.ConfigProto.FromString(config.SerializeToString())
    return [
        value,
        config.allow_soft_placement,
        config.log_device_placement,
        dict(config.device_count),
        again.gpu_options.allow_growth,
        again.inter_op_parallelism_threads,
        again == config,
    ]


raises(
    f"{V1}.ConfigProto",
    "a name that is none",
    "",
    lambda tf: tf.compat.v1.ConfigProto(no_such_setting=True),
)

PROGRAM = """
import {name} as tf
tf.compat.v1.disable_eager_execution()
x = tf.compat.v1.placeholder(tf.float32, [None])
v = tf.compat.v1.get_variable("v", initializer=2.0)
y = tf.reduce_sum(x * v)
with tf.compat.v1.Session() as session:
    session.run(tf.compat.v1.global_variables_initializer())
    print(tf.executing_eagerly(), y.op.type, session.run(y, {{x: [1.0, 2.5]}}))
"""


@plain(f"{V1}.disable_eager_execution", "at the start of a program")
def _(tf):
    program = PROGRAM.format(name=tf.__name__)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    return done.stdout.strip().splitlines()[-1] if done.returncode == 0 else done.stderr[-300:]


# ---- variables -----------------------------------------------------------------------------------


@graph_case((f"{V1}.variable_scope", f"{V1}.get_variable"), "names, reuse and defaults")
def _(tf, v1, session):
    with v1.variable_scope("outer", initializer=tf.constant_initializer(0.5)) as scope:
        a = v1.get_variable("a", [2])
        with v1.variable_scope("inner"):
            b = v1.get_variable("b", initializer=tf.constant([1, 2]), trainable=False)
            c = tf.add(b, 1, name="c")
    with v1.variable_scope(scope, reuse=True):
        again = v1.get_variable("a", [2])
    with v1.variable_scope("outer", reuse=v1.AUTO_REUSE):
        auto, new = v1.get_variable("a", [2]), v1.get_variable("new", [], tf.int32)
    with v1.variable_scope(None, default_name="unit"):
        unit = v1.get_variable("w", [1], initializer=tf.zeros_initializer())
    with v1.variable_scope(None, default_name="unit"):
        other = v1.get_variable("w", [1], initializer=tf.zeros_initializer())
    started(v1, session)
    return [
        [each.name for each in (a, b, c, again, auto, new, unit, other)],
        again is a,
        auto is a,
        scope.name,
        [v.name for v in v1.trainable_variables()],
        [v.name for v in v1.global_variables("outer")],
        session.run([a, b, c, unit]),
        v1.get_variable_scope().name,
    ]


raises(
    f"{V1}.get_variable",
    "twice",
    "already exists",
    lambda tf: _in_graph(tf, lambda v1, s: [v1.get_variable("v", [2]) for _ in range(2)]),
)
raises(
    f"{V1}.variable_scope",
    "reuse of what there is not",
    "does not exist",
    lambda tf: _in_graph(tf, _reused),
)
raises(
    f"{V1}.get_variable",
    "another shape",
    "",
    lambda tf: _in_graph(tf, _reshaped),
)
raises(
    f"{V1}.get_variable",
    "no shape",
    "",
    lambda tf: _in_graph(tf, lambda v1, s: v1.get_variable("v")),
)


def _reused(v1, session):
    with v1.variable_scope("a", reuse=True):
        return v1.get_variable("v", [2])


def _reshaped(v1, session):
    v1.get_variable("v", [2])
    with v1.variable_scope("", reuse=True):
        return v1.get_variable("v", [3])


@graph_case((f"{V1}.get_variable", f"{V1}.get_collection"), "a regularizer's losses")
def _(tf, v1, session):
    def half_squares(w):
        return 0.5 * tf.reduce_sum(w * w)

    with v1.variable_scope("a", regularizer=half_squares):
        v1.get_variable("w", initializer=[1.0, 2.0])
        v1.get_variable("b", [2], regularizer=lambda b: tf.reduce_sum(b) + 7.0)
    started(v1, session)
    losses = v1.get_collection(v1.GraphKeys.REGULARIZATION_LOSSES)
    return [session.run(losses[0]), len(losses), v1.losses.get_regularization_loss() is not None]


@graph_case((f"{V1}.GraphKeys", f"{V1}.get_collection"), "what is kept under them")
def _(tf, v1, session):
    keys = v1.GraphKeys
    v1.get_variable("a", [1])
    v1.get_variable("b", [1], trainable=False)
    v1.get_variable("c", [1], collections=[keys.LOCAL_VARIABLES])
    v1.add_to_collection("mine", 3)
    v1.add_to_collections(["mine", "other"], "x")
    v1.losses.add_loss(tf.constant(1.0))
    names = sorted(n for n in dir(keys) if n.isupper() and not n.startswith("_"))
    return [
        {n: getattr(keys, n) for n in names},
        [v.name for v in v1.get_collection(keys.GLOBAL_VARIABLES)],
        [v.name for v in v1.get_collection(keys.TRAINABLE_VARIABLES, scope="a")],
        [v.name for v in v1.get_collection(keys.LOCAL_VARIABLES)],
        v1.get_collection("mine"),
        v1.get_collection("other"),
        v1.get_collection("none"),
        len(v1.get_collection(keys.LOSSES)),
    ]


@graph_case((f"{V1}.global_variables", f"{V1}.global_variables_initializer"), "set and set again")
def _(tf, v1, session):
    a = v1.Variable(3.0, name="a")
    b = v1.get_variable("b", initializer=lambda: tf.ones([2]) * 2.0)
    c = v1.Variable(tf.constant(3) + 4, name="c")
    init = v1.global_variables_initializer()
    unset = session.run(v1.report_uninitialized_variables())
    session.run(init)
    session.run(v1.assign(a, 10.0))
    changed = session.run(a)
    session.run(init)
    return [
        sorted(unset.tolist()),
        changed,
        session.run([a, b, c]),
        [v.name for v in v1.global_variables()],
        session.run(v1.report_uninitialized_variables()),
    ]


INITIALIZERS = {
    "ones_initializer": (),
    "zeros_initializer": (),
    "constant_initializer": (2.5,),
}
for name, arguments in INITIALIZERS.items():

    @graph_case(f"{V1}.{name}", "of two dtypes, and in get_variable")
    def _(tf, v1, session, name=name, arguments=arguments):
        made = getattr(v1, name)(*arguments)
        other = getattr(v1, name)(*arguments, dtype=tf.float64)
        v = v1.get_variable("v", [2], initializer=made)
        started(v1, session)
        return session.run([made([2, 2]), other([1]), made([2], tf.float64), v])


@graph_case(f"{V1}.constant_initializer", "of lists")
def _(tf, v1, session):
    made = v1.constant_initializer([[1, 2], [3, 4]])
    checked = v1.constant_initializer([1.0, 2.0], verify_shape=True)
    return session.run([made([2, 2], tf.int32), checked([2])])


raises(
    f"{V1}.constant_initializer",
    "too many values",
    "",
    lambda tf: tf.compat.v1.constant_initializer([1.0, 2.0, 3.0])([2]),
)


@graph_case(f"{V1}.initializers.zeros", "is zeros_initializer")
def _(tf, v1, session):
    made = v1.initializers.zeros(dtype=tf.int32)
    return [session.run(made([3])), v1.initializers.zeros is v1.zeros_initializer]


@graph_case(f"{V1}.initializers.glorot_normal", "within its bounds")
def _(tf, v1, session):
    draw = v1.initializers.glorot_normal(seed=3)
    values = session.run(draw([300, 200]))
    bound = 2.0 * (2.0 / 500) ** 0.5 / 0.87962566103423978
    return [
        values.dtype.name,
        list(values.shape),
        bool(abs(values).max() <= bound),
        round(float(values.std()) / (2.0 / 500) ** 0.5, 1),
        round(abs(float(values.mean())), 2),
        v1.initializers.glorot_normal is v1.glorot_normal_initializer,
    ]


@graph_case(f"{V1}.make_template", "variables made once")
def _(tf, v1, session):
    def scaled(x, name, by=1.0):
        w = v1.get_variable(name, [], initializer=tf.constant_initializer(3.0))
        return x * w * by

    both = v1.make_template("scaled", scaled, name="w")
    y, z = both(tf.constant(2.0)), both(tf.constant(5.0), by=2.0)
    other = v1.make_template("scaled", scaled, name="w")
    u = other(tf.constant(1.0))
    started(v1, session)
    return [
        session.run([y, z, u]),
        [v.name for v in v1.global_variables()],
        both.name,
        [v.name for v in both.variables],
        len(other.trainable_variables),
    ]


raises(
    f"{V1}.make_template",
    "a variable at the second call",
    "",
    lambda tf: _in_graph(tf, _grown),
)


def _grown(v1, session):
    names = iter("abc")
    made = v1.make_template("grown", lambda: v1.get_variable(next(names), [1]))
    return made(), made()


# ---- layers and training -------------------------------------------------------------------------


@graph_case(f"{V1}.nn.bias_add", "last and second axis")
def _(tf, v1, session):
    x = tf.reshape(tf.range(12.0), [1, 3, 2, 2])
    return session.run(
        [
            v1.nn.bias_add(x, [1.0, 2.0]),
            v1.nn.bias_add(x, [1.0, 2.0, 3.0], data_format="NCHW"),
            v1.nn.bias_add(value=tf.ones([2, 2]), bias=[0.5, 1.5], name="b"),
        ]
    )


@graph_case(
    (f"{V1}.train.GradientDescentOptimizer", f"{V1}.train.get_or_create_global_step"),
    "steps of a line",
)
def _(tf, v1, session):
    x, y = tf.constant([1.0, 2.0, 3.0]), tf.constant([2.0, 4.0, 7.0])
    w, b = v1.get_variable("w", initializer=0.5), v1.get_variable("b", initializer=0.0)
    loss = tf.reduce_mean((w * x + b - y) ** 2)
    step = v1.train.get_or_create_global_step()
    optimizer = v1.train.GradientDescentOptimizer(learning_rate=0.05)
    pairs = optimizer.compute_gradients(loss, [w, b])
    train = optimizer.minimize(loss, global_step=step)
    clipped = optimizer.apply_gradients([(tf.clip_by_norm(g, 0.1), v) for g, v in pairs])
    started(v1, session)
    found = [session.run([g for g, _ in pairs])]
    for _ in range(3):
        session.run(train)
        found.append(session.run([loss, w, b, step]))
    session.run(clipped)
    return [
        *found,
        session.run([w, b, step]),
        [step.name, step.dtype.base_dtype.name],
        v1.train.get_or_create_global_step() is step,
        v1.train.global_step(session, step),
        optimizer.get_name(),
        [v.name for v in v1.trainable_variables()],
        train.type == "AssignAddVariableOp",
    ]


@graph_case(f"{V1}.train.get_or_create_global_step", "of another graph")
def _(tf, v1, session):
    none = v1.train.get_global_step() is None
    other = tf.Graph()
    made = v1.train.get_or_create_global_step(other)
    return [none, made.graph is other, v1.train.get_global_step() is None]


@graph_case(f"{V1}.train.Saver", "saved, changed, restored")
def _(tf, v1, session):
    w = v1.get_variable("w", initializer=[1.0, 2.0])
    b = v1.get_variable("b", initializer=3)
    started(v1, session)
    with tempfile.TemporaryDirectory() as folder:
        saver = v1.train.Saver(max_to_keep=2)
        paths = []
        for step in range(3):
            session.run(v1.assign_add(b, 1))
            paths.append(saver.save(session, os.path.join(folder, "model"), global_step=step))
        session.run([v1.assign(w, [0.0, 0.0]), v1.assign(b, 0)])
        saver.restore(session, paths[1])
        restored = session.run([w, b])
        one = v1.train.Saver({"w": w})
        one.restore(session, v1.train.latest_checkpoint(folder))
        return [
            restored,
            [os.path.basename(p) for p in paths],
            [os.path.basename(p) for p in saver.last_checkpoints],
            sorted(os.listdir(folder)),
            os.path.basename(v1.train.latest_checkpoint(folder)),
            v1.train.checkpoint_exists(paths[0]),
            [(n, list(s)) for n, s in v1.train.list_variables(paths[2])],
        ]


raises(
    f"{V1}.train.Saver",
    "nothing to save",
    "No variables to save",
    lambda tf: _in_graph(tf, lambda v1, s: v1.train.Saver()),
)
raises(
    f"{V1}.train.Saver",
    "no such checkpoint",
    "",
    lambda tf: _in_graph(tf, _lost),
)


def _lost(v1, session):
    v1.get_variable("v", [2])
    v1.train.Saver().restore(session, "/nowhere/at/all")


@graph_case(f"{V1}.GraphDef", "written and read")
def _(tf, v1, session):
    x = v1.placeholder(tf.float32, [2], name="x")
    tf.add(x * tf.constant(2.0), tf.constant(1.0, name="one"), name="y")
    made = v1.get_default_graph().as_graph_def()
    again = v1.GraphDef()
    again.ParseFromString(made.SerializeToString())
    return [
        [(node.name, node.op, list(node.input)) for node in again.node],
        again.node[0].attr["dtype"].type,
        [d.size for d in again.node[0].attr["shape"].shape.dim],
        [tf.make_ndarray(n.attr["value"].tensor) for n in again.node if n.op == "Const"],
        again == made,
    ]


@plain(f"{V1}.saved_model.simple_save", "written and loaded")
def _(tf):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        _in_graph(tf, lambda v1, session: _saved(v1, session, path))
        files = sorted(n for n in os.listdir(path) if not n.startswith("fingerprint"))
        call = tf.saved_model.load(path).signatures["serving_default"]
        return [files[-2:], sorted(call.structured_outputs), call(x=tf.constant([1.0, 2.0]))]


def _saved(v1, session, path):
    x = v1.placeholder("float32", [None], name="x")
    w = v1.get_variable("w", initializer=3.0)
    y = x * w
    started(v1, session)
    session.run(v1.assign(w, 4.0))
    v1.saved_model.simple_save(session, path, {"x": x}, {"y": y})


raises(
    f"{V1}.saved_model.simple_save",
    "a folder that is not empty",
    "",
    lambda tf: _in_graph(tf, _saved_twice),
)


def _saved_twice(v1, session):
    x = v1.placeholder("float32", [2])
    v1.get_variable("w", initializer=3.0)
    started(v1, session)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "a"), "w") as file:
            file.write("a")
        v1.saved_model.simple_save(session, folder, {"x": x}, {"y": x * 2.0})


@plain((f"{V1}.enable_tensor_equality", f"{V1}.disable_tensor_equality"), "values and identities")
def _(tf):
    v1, found = tf.compat.v1, []
    x, y, v = tf.constant([1.0, 2.0]), tf.constant([1.0, 3.0]), tf.Variable([1.0, 2.0])
    try:
        for switch in (v1.enable_tensor_equality, v1.disable_tensor_equality):
            switch()
            same, other = x == y, x != y
            found.append([same, other, x == x, v == v, x == None])  # noqa: E711
        found += [len({v, v}), hash(v) == hash(v), v == x]
    finally:
        v1.enable_tensor_equality()
    return [*found, x == y, v == x]


raises(f"{V1}.enable_tensor_equality", "a hash", "", lambda tf: hash(tf.constant(1)))
