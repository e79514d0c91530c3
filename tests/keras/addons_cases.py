"""What TensorFlow Addons gives of fixed numbers: run with Addons 0.23 and with mica.tf.addons.

A case is a function of (tf, tfa) that gives tensors; `values` turns them into JSON.
"""

from __future__ import annotations

import numpy as np

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def numbers(*shape, shift=0.0):
    """A wave of numbers in a shape."""
    n = int(np.prod(shape))
    return np.sin(np.arange(n, dtype=np.float32) * 0.7 + shift).reshape(shape)


def values(value):
    """A result as lists of numbers."""
    if isinstance(value, (list, tuple)):
        return [values(each) for each in value]
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value
    array = np.asarray(value)
    return [list(array.shape), [float(f"{float(v):.6g}") for v in array.ravel()]]


def differentiated(tf, function, x):
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return [y, tape.gradient(y, x)]


@case
def activations(tf, tfa):
    x = numbers(3, 4) * 2
    a = tfa.activations
    functions = [
        a.gelu, lambda x: a.gelu(x, False), a.hardshrink, a.softshrink, a.lisht, a.mish, a.snake,
        lambda x: a.snake(x, 3), a.tanhshrink, a.rrelu, a.sparsemax, lambda x: a.sparsemax(x, 0),
        lambda x: a.hardshrink(x, -1.0, 0.25),
    ]  # fmt: skip
    return [differentiated(tf, each, x) for each in functions]


@case
def losses(tf, tfa):
    of = tfa.losses
    x = 1 / (1 + np.exp(-numbers(4, 3)))
    y = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0]], np.float32)
    boxes = np.array([[4.0, 3.0, 7.0, 5.0], [5.0, 6.0, 10.0, 7.0]], np.float32)
    other = np.array([[3.0, 4.0, 6.0, 8.0], [14.0, 14.0, 15.0, 15.0]], np.float32)
    classes = np.array([0, 1, 0, 1, 1, 0])
    vectors = numbers(6, 4)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    many = (numbers(6, 3) > 0).astype(np.float32)
    similar = vectors @ numbers(6, 4, shift=1.0).T
    return [
        differentiated(tf, lambda p: of.sigmoid_focal_crossentropy(y, p), x),
        of.SigmoidFocalCrossEntropy(True, 0.5, 1.5)(y, numbers(4, 3)),
        differentiated(tf, lambda p: of.contrastive_loss([0, 1, 1, 0], p, 0.7), x[:, 0]),
        of.ContrastiveLoss()([0, 1, 1, 0], x[:, 0]),
        differentiated(tf, lambda p: of.giou_loss(boxes, p), other),
        of.giou_loss(boxes, other, "iou"),
        of.GIoULoss()(boxes, other),
        differentiated(tf, lambda p: of.pinball_loss(y, p, 0.2), x),
        of.PinballLoss([[0.1, 0.5, 0.9]])(y, x),
        of.SparsemaxLoss()(y, numbers(4, 3)),
        differentiated(tf, lambda p: of.triplet_semihard_loss(classes, p), unit),
        of.triplet_semihard_loss(classes, unit, 0.3, "angular"),
        differentiated(tf, lambda p: of.triplet_hard_loss(classes, p, 0.5), unit),
        of.triplet_hard_loss(classes, unit, soft=True, distance_metric="squared-L2"),
        of.TripletSemiHardLoss()(classes, unit),
        differentiated(tf, lambda p: of.lifted_struct_loss(classes, p), vectors),
        differentiated(tf, lambda p: of.npairs_loss(classes, p), similar),
        of.npairs_multilabel_loss(many, similar),
        of.WeightedKappaLoss(3)(y, x),
        of.WeightedKappaLoss(3, "linear")(y, x),
    ]


def _walk(tf, optimizer, slices=False):
    """Variables after six steps of gradients that depend on them."""
    x = tf.Variable([[1.0, -2.0], [3.0, 0.5]], name="x")
    y = tf.Variable([0.5, 0.25], name="y")
    found = []
    for step in range(6):
        gradient = x * 0.3 + 0.1 * step
        if slices:
            gradient = tf.IndexedSlices(gradient[1:], [1], [2, 2])
        optimizer.apply_gradients([(gradient, x), (y * y - 0.2, y)])
        found.append([tf.identity(x), tf.identity(y)])
    return [found[0], found[2], found[5]], x, y


@case
def optimizers(tf, tfa):
    of = tfa.optimizers
    inner = lambda: tf.keras.optimizers.legacy.SGD(0.1)  # noqa: E731
    made = [
        of.LAMB(0.05),
        of.LAMB(0.05, weight_decay=0.1, exclude_from_weight_decay=["y"]),
        of.LazyAdam(0.05),
        of.NovoGrad(0.05),
        of.NovoGrad(0.05, weight_decay=0.1, grad_averaging=True),
        of.RectifiedAdam(0.05),
        of.RectifiedAdam(0.05, weight_decay=0.01, total_steps=10, min_lr=0.01),
        of.RectifiedAdam(0.05, beta_2=0.9, sma_threshold=3.0),
        of.Yogi(0.05),
        of.Yogi(0.05, activation="tanh", l2_regularization_strength=0.1),
        of.Yogi(0.05, l1_regularization_strength=0.1),
        of.SGDW(0.01, learning_rate=0.1, momentum=0.9),
        of.AdamW(0.01, learning_rate=0.05),
        of.Lookahead(inner(), 3, 0.4),
    ]
    found = [_walk(tf, each)[0] for each in made]
    found.append(_walk(tf, of.LazyAdam(0.05), slices=True)[0])
    for wrapper in (of.MovingAverage(inner(), 0.8), of.SWA(inner(), 1, 2)):
        steps, x, y = _walk(tf, wrapper)
        wrapper.assign_average_vars([x, y])
        found.append([steps, x, y])
    return found


@case
def rates(tf, tfa):
    of = tfa.optimizers
    made = [
        of.TriangularCyclicalLearningRate(0.1, 1.0, 5),
        of.Triangular2CyclicalLearningRate(0.1, 1.0, 5),
        of.ExponentialCyclicalLearningRate(0.1, 1.0, 5, gamma=0.9),
        of.CyclicalLearningRate(0.1, 1.0, 4, lambda x: 1 / x, "cycle"),
    ]
    return [[each(step) for step in (0, 3, 5, 8, 13, 22)] for each in made]


@case
def metrics(tf, tfa):
    of = tfa.metrics
    y = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 0, 0]], np.int64)
    x = 1 / (1 + np.exp(-numbers(4, 3)))
    hard = (x > 0.5).astype(np.int64)
    weights = np.array([1.0, 2.0, 0.5, 1.0], np.float32)
    made = [
        (of.F1Score(3), y, x),
        (of.F1Score(3, "macro", 0.5), y, x),
        (of.FBetaScore(3, "micro", 2.0), y, x),
        (of.FBetaScore(3, "weighted", 0.5), y, x),
        (of.CohenKappa(3), y, x),
        (of.CohenKappa(4, sparse_labels=True, weightage="quadratic"), [0, 1, 3, 2], numbers(4, 4)),
        (of.CohenKappa(2, weightage="linear"), [0, 1, 1, 0], [0.2, 0.7, 0.4, 0.9]),
        (of.MatthewsCorrelationCoefficient(3), y, x),
        (of.MultiLabelConfusionMatrix(3), y, hard),
        (of.RSquare(), numbers(4, 2), numbers(4, 2, shift=0.2)),
        (of.RSquare(multioutput="variance_weighted"), numbers(4, 2), numbers(4, 2, shift=0.2)),
        (of.RSquare(num_regressors=1), numbers(4), numbers(4, shift=0.2)),
    ]
    found = []
    for metric, true, pred in made:
        metric.update_state(true, pred)
        found.append(metric.result())
        # Addons takes no weights of rows for the first of these, and drops those of the second.
        is_plain = isinstance(metric, (of.RSquare, of.MultiLabelConfusionMatrix))
        metric.update_state(true, pred, sample_weight=None if is_plain else weights)
        found.append(metric.result())
    for mean in (of.GeometricMean(), of.HarmonicMean()):
        mean.update_state([1.0, 4.0, 2.0])
        found.append(mean.result())
    for mode, threshold, true in (("multilabel", 0.5, y), ("multiclass", None, y)):
        loss = of.HammingLoss(mode=mode, threshold=threshold)
        loss.update_state(true, x)
        found.append(loss.result())
    return [*found, of.hamming_distance([1, 0, 1], [1, 1, 1])]


@case
def text(tf, tfa):
    of = tfa.text
    x, table = numbers(3, 4, 2) * 2, numbers(2, 2, shift=1.0)
    tags = np.array([[0, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]], np.int32)
    lengths = np.array([4, 2, 1], np.int32)
    allowed = np.ones((3, 4, 2), bool)
    allowed[0, 1, 0] = False
    return [
        differentiated(tf, lambda p: of.crf_log_likelihood(p, tags, lengths, table)[0], x),
        differentiated(tf, lambda t: of.crf_log_likelihood(x, tags, lengths, t)[0], table),
        of.crf_sequence_score(x, tags, lengths, table),
        of.crf_log_norm(x, lengths, table),
        of.crf_log_norm(x[:, :1], [1, 1, 1], table),
        of.crf_multitag_sequence_score(x, allowed, lengths, table),
        list(of.crf_decode(x, table, lengths)),
        list(of.crf_decode(x[:, :1], table, [1, 1, 1])),
        list(of.crf_constrained_decode(x, allowed, table, lengths)),
        [np.asarray(each) for each in of.viterbi_decode(x[0], table)],
    ]
