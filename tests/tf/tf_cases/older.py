"""What TensorFlow 1 wrote and TensorFlow 2 still runs: rows, losses with weights, decays."""

from corpus import case, f, lit, plain, raises

case(
    "tf.raw_ops.PlaceholderWithDefault",
    "the default",
    lambda tf, x: tf.raw_ops.PlaceholderWithDefault(input=x, shape=[None, 3]),
    f(2, 3),
)


def nothing(tf, x):
    tf.raw_ops.NoOp()
    return tf.identity(x)


case("tf.raw_ops.NoOp", "beside a value", nothing, f(2))

LOSSES = ["absolute_difference", "mean_squared_error", "huber_loss", "log_loss", "hinge_loss"]
for name in LOSSES:
    for reduction in ("weighted_sum_by_nonzero_weights", "weighted_mean", "none", "weighted_sum"):

        def loss(tf, labels, y, weights, name=name, reduction=reduction):
            function = getattr(tf.compat.v1.losses, name)
            return function(labels, tf.sigmoid(y), weights=weights, reduction=reduction)

        case(
            f"tf.compat.v1.losses.{name}",
            reduction.replace("_", " "),
            loss,
            lit([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]),
            f(2, 3),
            lit([[1.0, 0.0, 2.0], [0.5, 1.0, 0.0]]),
        )

case(
    "tf.compat.v1.losses.softmax_cross_entropy",
    "smoothed",
    lambda tf, y: tf.compat.v1.losses.softmax_cross_entropy(
        [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], y, weights=[1.0, 2.0], label_smoothing=0.1
    ),
    f(2, 3),
)
case(
    "tf.compat.v1.losses.sigmoid_cross_entropy",
    "smoothed",
    lambda tf, y: tf.compat.v1.losses.sigmoid_cross_entropy(
        [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], y, label_smoothing=0.2
    ),
    f(2, 3),
)
case(
    "tf.compat.v1.losses.sparse_softmax_cross_entropy",
    "weighted",
    lambda tf, y: tf.compat.v1.losses.sparse_softmax_cross_entropy([0, 2], y, weights=[1.0, 3.0]),
    f(2, 3),
)
case(
    "tf.compat.v1.losses.cosine_distance",
    "along the last axis",
    lambda tf, x, y: tf.compat.v1.losses.cosine_distance(x, y, axis=1),
    f(2, 3),
    f(2, 3),
)

DECAYS = {
    "exponential_decay": (10.0, 0.5),
    "natural_exp_decay": (10.0, 0.5),
    "inverse_time_decay": (10.0, 0.5),
    "polynomial_decay": (10.0, 0.01),
    "cosine_decay": (10.0, 0.1),
}
for name, more in DECAYS.items():

    def rate(tf, step, name=name, more=more):
        made = getattr(tf.compat.v1.train, name)(0.1, step, *more)
        return made() if callable(made) else made

    case(f"tf.compat.v1.train.{name}", "on the way", rate, lit(7.0))
    case(f"tf.compat.v1.train.{name}", "beyond", rate, lit(25.0))


def piece(tf, step):
    made = tf.compat.v1.train.piecewise_constant(step, [3.0, 8.0], [1.0, 0.5, 0.1])
    return made() if callable(made) else made


for step in (2.0, 3.0, 5.0, 9.0):
    case("tf.compat.v1.train.piecewise_constant", f"at {step}", piece, lit(step))

for name in ("xw_plus_b", "relu_layer"):
    case(
        f"tf.compat.v1.nn.{name}",
        "of a matrix",
        lambda tf, x, w, b, name=name: getattr(tf.compat.v1.nn, name)(x, w, b),
        f(2, 3),
        f(3, 4),
        f(4),
    )

case(
    "tf.compat.v1.div", "of floats", lambda tf, x, y: tf.compat.v1.div(x, y), f(3), lit([2, -3, 4])
)
case(
    "tf.compat.v1.div",
    "of integers",
    lambda tf, x, y: tf.compat.v1.div(x, y),
    lit([7, -7, 9], "int32"),
    lit([2, 2, -4], "int32"),
)

def imported(tf, x, **arguments):
    """A graph written as bytes and read into another one, with its first result."""
    with tf.Graph().as_default() as graph:
        y = tf.compat.v1.placeholder(tf.float32, [None, 2], name="y")
        z = tf.matmul(y, [[1.0, 2.0], [3.0, 4.0]], name="z")
        tf.split(tf.cond(tf.reduce_sum(z) > 0.0, lambda: z, lambda: -z), 2, axis=1, name="parts")
    data = graph.as_graph_def().SerializeToString()
    message = tf.compat.v1.GraphDef.FromString(data)
    return tf.graph_util.import_graph_def(
        message, input_map={"y:0": x}, return_elements=["parts:1", "z"], **arguments
    )


@plain("tf.graph_util.import_graph_def", "in a function and by its names")
def _(tf):
    names = []

    @tf.function
    def run(x):
        for arguments in ({}, {"name": "again"}, {"name": ""}):
            part, operation = imported(tf, x, **arguments)
            names.append([part.name, operation.name, operation.type])
        return part

    return [run(tf.constant([[1.0, -2.0], [0.5, 3.0]])), names]


def with_input_map(tf, mapped=(), **arguments):
    with tf.Graph().as_default():
        message = tf.compat.v1.GraphDef()
        node = message.node.add()
        node.name, node.op = "a", "Identity"
        node.input.append("b")
        node.attr["T"].type = 1
        given = {key: tf.constant(1.0) for key in mapped}
        return tf.graph_util.import_graph_def(message, input_map=given, **arguments)


raises(
    "tf.graph_util.import_graph_def",
    "an input that is not there",
    "",
    lambda tf: with_input_map(tf),
)
raises(
    "tf.graph_util.import_graph_def",
    "a mapped input that nothing has",
    "",
    lambda tf: with_input_map(tf, ["c:0", "b:0"]),
)
raises(
    "tf.graph_util.import_graph_def",
    "an element that is not there",
    "",
    lambda tf: with_input_map(tf, ["b:0"], return_elements=["nothing:0"]),
)
raises(
    "tf.graph_util.import_graph_def",
    "no message",
    "",
    lambda tf: tf.graph_util.import_graph_def(7),
)
