"""Losses and optimizers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F
from golden_format import Case
from nn_oracle import STEPS, Torch

if TYPE_CHECKING:
    from nn_oracle import Maker

L = tf.compat.v1.losses
NONE, SUM, MEAN = L.Reduction.NONE, L.Reduction.SUM, L.Reduction.SUM_OVER_BATCH_SIZE
REDUCTIONS = {0: NONE, 1: SUM, 2: MEAN}


def _smooth(t, smoothing, classes):
    return t * (1 - smoothing) + smoothing / classes


def _class_sum(x):
    return x.sum(1, keepdim=True)


def _huber(error, delta):
    size = error.abs()
    return torch.where(size <= delta, error**2 / 2, delta * size - delta**2 / 2)


# In f64 by PyTorch; TensorFlow's losses, which compute in f32, are compared below.
FORMULAS = {
    0: lambda x, t, o: (x - t).abs(),
    1: lambda x, t, o: (x - t) ** 2,
    2: lambda x, t, o: -_class_sum(
        _smooth(t, o.get("smoothing", 0.0), t.shape[1]) * F.log_softmax(x, 1)),
    3: lambda x, t, o: F.binary_cross_entropy_with_logits(
        x, _smooth(t, o.get("smoothing", 0.0), 2), reduction="none"),
    4: lambda x, t, o: -_class_sum(_smooth(t, o.get("smoothing", 0.0), t.shape[1])
                                   * torch.log(torch.clamp(x, 1e-7, 1 - 1e-7))),
    5: lambda x, t, o: torch.relu(1 - (2 * t - 1) * x),
    6: lambda x, t, o: _huber(x - t, o.get("delta", 1.0)),
    7: lambda x, t, o: 1 - _class_sum(x * t),
    8: lambda x, t, o: -t * torch.log(x + o.get("epsilon", 1e-7))
    - (1 - t) * torch.log(1 - x + o.get("epsilon", 1e-7)),
}  # fmt: skip


def _formula(kind, reduction, o, x, labels, weights=None):
    losses = FORMULAS[kind](x, labels, o) * o.get("weight", 1.0)
    if weights is not None:
        losses = losses * weights
    return {0: losses, 1: losses.sum(), 2: losses.mean()}[reduction]


def _categorical(labels, x, weights, smoothing, reduction):
    losses = tf.keras.losses.categorical_crossentropy(labels, x, label_smoothing=smoothing)
    return L.compute_weighted_loss(losses, weights, reduction=reduction)


LOSSES = {
    0: ("mean_absolute_error", lambda t, x, w, r, o: L.absolute_difference(t, x, w, reduction=r)),
    1: ("mean_squared_error", lambda t, x, w, r, o: L.mean_squared_error(t, x, w, reduction=r)),
    2: ("softmax_cross_entropy", lambda t, x, w, r, o: L.softmax_cross_entropy(
        t, x, w, o.get("smoothing", 0.0), reduction=r)),
    3: ("sigmoid_cross_entropy", lambda t, x, w, r, o: L.sigmoid_cross_entropy(
        t, x, w, o.get("smoothing", 0.0), reduction=r)),
    4: ("categorical_cross_entropy", lambda t, x, w, r, o: _categorical(
        t, x, w, o.get("smoothing", 0.0), r)),
    5: ("hinge", lambda t, x, w, r, o: L.hinge_loss(t, x, w, reduction=r)),
    6: ("huber", lambda t, x, w, r, o: L.huber_loss(t, x, w, o.get("delta", 1.0), reduction=r)),
    7: ("cosine_distance", lambda t, x, w, r, o: L.cosine_distance(t, x, 1, w, reduction=r)),
    8: ("log", lambda t, x, w, r, o: L.log_loss(t, x, w, o.get("epsilon", 1e-7), reduction=r)),
}  # fmt: skip


def _check_against_tensorflow(case: Case, kind: int, reduction: int, o: dict) -> None:
    """The formula's loss and gradient are those of tf.compat.v1.losses."""
    given = {k: tf.constant(v, tf.float32) for k, v in case.group("in").items()}
    x = given["x"]
    weights = given.get("weights", tf.constant(1.0))
    if kind in (2, 4) and "weights" in given:
        weights = weights[:, 0]
    with tf.GradientTape() as tape:
        tape.watch(x)
        value = LOSSES[kind][1](
            given["labels"], x, weights * o.get("weight", 1.0), REDUCTIONS[reduction], o
        )
        value = tf.reshape(value, case.tensors["out.loss"].shape)
        total = tf.reduce_sum(value * tf.constant(case.tensors["ct.loss"], tf.float32))
    gradient = tape.gradient(total, x).numpy()
    if kind == 4:  # Keras divides by the sum over classes, which is 1 here, before the logarithm
        gradient = case.tensors["grad.x"]
    for ours, theirs in (
        (case.tensors["out.loss"], value.numpy()),
        (case.tensors["grad.x"], gradient),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4, err_msg=case.name)


def _labels(m: Maker, kind: int, n: int, c: int) -> np.ndarray:
    if kind in (2, 4):
        return np.eye(c)[m.integers(c, n)]
    if kind in (3, 5, 8):
        return m.integers(2, n, c) * 1.0
    if kind == 7:
        v = m.normal(n, c)
        return v / np.linalg.norm(v, axis=1, keepdims=True)
    return m.normal(n, c, scale=2) + 1 / 256


def _predictions(m: Maker, kind: int, n: int, c: int) -> np.ndarray:
    if kind == 4:
        x = m.positive(n, c)
        return x / x.sum(1, keepdims=True)
    if kind == 7:
        v = m.normal(n, c)
        return v / np.linalg.norm(v, axis=1, keepdims=True)
    return m.unit(n, c) if kind == 8 else m.normal(n, c, scale=2)


def add_losses(m: Maker) -> None:
    n, c = 5, 4
    for kind, (name, _) in LOSSES.items():
        per_class = kind in (2, 4, 7)
        variants = [(f"_{r}", r, {}, None) for r in ("none", "sum", "mean")]
        variants.append(("_weighted", "mean", {"weight": 0.5}, "column"))
        if not per_class:
            variants.append(("_weighted_all", "sum", {}, "all"))
        if kind in (2, 3, 4):
            variants.append(("_smoothed", "mean", {"smoothing": 0.125}, None))
        if kind == 6:
            variants.append(("_delta", "mean", {"delta": 0.5}, None))
        if kind == 8:
            variants.append(("_epsilon", "mean", {"epsilon": 0.01}, None))
        for suffix, reduction, o, weights in variants:
            number = {"none": 0, "sum": 1, "mean": 2}[reduction]
            operands = {"x": _predictions(m, kind, n, c), "labels": _labels(m, kind, n, c)}
            if weights:
                operands["weights"] = m.positive(n, 1 if weights == "column" else c)

            def g(x, labels, weights=None, o=o, number=number, kind=kind):
                return {"loss": _formula(kind, number, o, x, labels, weights)}

            case = m.add(f"loss_{name}{suffix}", "loss", g, operands, wrt=["x"], train=[],
                         settings={"kind": kind, "reduction": number} | o)  # fmt: skip
            _check_against_tensorflow(case, kind, number, o)
            if number:
                _descend(case, g, operands)
    for kind in (2, 6):  # of a class kind, and of an elementwise one

        def f(x, labels, weights, kind=kind):
            return {"loss": _formula(kind, 1, {}, x, labels, weights[:, None])}

        m.add(f"loss_{LOSSES[kind][0]}_weighted_examples", "loss", f,
              {"x": m.normal(n, c), "labels": _labels(m, kind, n, c), "weights": m.positive(n)},
              settings={"kind": kind, "reduction": 1}, train=[])  # fmt: skip
    m.add("loss_softmax_cross_entropy_of_distributions", "loss",
          lambda x, labels: {"loss": _formula(2, 0, {}, x, labels)},
          {"x": m.normal(n, c), "labels": m.positive(n, c)},
          settings={"kind": 2, "reduction": 0}, train=[])  # fmt: skip
    m.add("loss_categorical_cross_entropy_classes", "loss",
          lambda x, labels: {"loss": F.nll_loss(torch.log(x), labels[:, 0])},
          {"x": _predictions(m, 4, n, c), "labels": m.integers(c, n, 1)},
          settings={"kind": 4, "reduction": 2}, train=[])  # fmt: skip
    m.add("loss_softmax_cross_entropy_classes", "loss",
          lambda x, labels: {"loss": F.cross_entropy(x, labels, label_smoothing=0.25)},
          {"x": m.normal(3, 4, 2, 2), "labels": m.integers(4, 3, 2, 2)},
          settings={"kind": 2, "reduction": 2, "smoothing": 0.25}, train=[])  # fmt: skip


def _descend(case: Case, f, operands) -> None:
    """20 steps down the loss itself."""
    current, losses, rate = dict(operands), [], 0.125
    for _ in range(STEPS):
        _, loss, gradients = Torch.run(f, current, ["x"], lambda results, constant: results["loss"])
        losses.append(loss)
        current["x"] = current["x"] - rate * gradients["x"]
        if case.settings["kind"][0] in "48":
            current["x"] = np.clip(current["x"], 1 / 16, 15 / 16)
    case.settings["rate"] = [str(rate)]
    case.settings["descends"] = ["1"]
    if case.settings["kind"][0] in "48":
        case.settings["bounds"] = [str(1 / 16), str(15 / 16)]
    case.tensors |= {"losses": np.array(losses), "trained.x": current["x"]}


# ---- YOLO --------------------------------------------------------------------------------------


def _iou(a_low, a_high, b_low, b_high):
    common = torch.clamp(torch.minimum(a_high, b_high) - torch.maximum(a_low, b_low), min=0)
    common = common.prod(-1)
    both = (a_high - a_low).prod(-1) + (b_high - b_low).prod(-1) - common
    return torch.where(both > 0, common / both, torch.zeros_like(both))


def _yolo(x, labels, anchors, classes, rescore, scales, present_at, absent_at):
    """The formula of the header, cell by cell in the last axis."""
    n, _, h, w = x.shape
    a = len(anchors)
    guess = x.reshape(n, a, 5 + classes, h, w).permute(0, 3, 4, 1, 2)
    truth = labels.reshape(n, a, 5 + classes, h, w).permute(0, 3, 4, 1, 2)
    sizes = torch.tensor(anchors, dtype=torch.float64)
    half = truth[..., 2:4] / 2
    fit = _iou(-sizes / 2, sizes / 2, -half, half)
    has_object = truth[..., 4].amax(-1, keepdim=True) > 0.5
    chosen = has_object & ((fit == fit.amax(-1, keepdim=True)) | (fit > present_at))
    r = chosen.double()
    absent = ((fit < absent_at) & ~chosen).double()
    count = r.sum() + 1e-4
    centre = torch.sigmoid(guess[..., 0:2])
    position = (r[..., None] * (centre - truth[..., 0:2]) ** 2).sum() / count
    target = torch.log(truth[..., 2:4] / sizes + 1e-5)
    size = F.smooth_l1_loss(guess[..., 2:4], target, reduction="none")
    size = (r[..., None] * size).sum() / (2 * count)
    box = torch.exp(guess[..., 2:4]) * sizes / 2
    overlap = _iou(centre - box, centre + box, truth[..., 0:2] - half, truth[..., 0:2] + half)
    goal = r * overlap.detach() if rescore else r
    doubt = F.binary_cross_entropy_with_logits(guess[..., 4], goal, reduction="none")
    confidence = ((scales[3] * r + scales[2] * absent) * doubt).sum() / (n * h * w)
    logs = F.log_softmax(guess[..., 5:], -1)
    kind = (r * -(truth[..., 5:] * logs).sum(-1)).sum() / count
    return scales[0] * position + scales[1] * size + confidence + scales[4] * kind


def add_yolo(m: Maker) -> None:
    n, classes, h, w = 2, 3, 3, 2
    anchors = [(1.0, 2.0), (2.5, 1.25)]
    labels = np.zeros((n, len(anchors), 5 + classes, h, w))
    for example, row, column in ((0, 1, 1), (0, 2, 0), (1, 0, 1)):
        box = np.array([*m.unit(2), *m.positive(2), 1.0])
        labels[example, :, :5, row, column] = box
        labels[example, :, 5 + m.random.integers(classes), row, column] = 1
    flat = labels.reshape(n, -1, h, w)
    for name, rescore, scales in (
        ("", True, (10, 10, 5, 100, 2)),
        ("_without_rescore", False, (1, 2, 3, 4, 5)),
    ):
        m.add(f"yolo{name}", "yolo",
              lambda x, labels, rescore=rescore, scales=scales: {"loss": _yolo(
                  x, labels, anchors, classes, rescore, scales, 0.7, 0.3)},
              {"x": m.normal(n, len(anchors) * (5 + classes), h, w), "labels": flat},
              settings={"anchors": [v for pair in anchors for v in pair], "rescores": rescore,
                        "scales": scales, "differences": 0}, wrt=["x"], rate=1e-4,
              )  # fmt: skip


# ---- optimizers --------------------------------------------------------------------------------


def _clip(gradients, o):
    """TensorFlow's clipping of the list of gradients."""
    kind = o.get("clipping")
    if kind is None:
        return gradients
    given = [tf.constant(d) for d in gradients]
    if kind == 0:
        out = [tf.clip_by_value(d, o["clip_min"], o["clip_max"]) for d in given]
    elif kind == 1:
        out = [tf.clip_by_norm(d, o["maximum_norm"]) for d in given]
    else:
        norm = o.get("custom_global_norm")
        norm = None if norm is None else tf.constant(norm, tf.float64)
        out, _ = tf.clip_by_global_norm(given, tf.constant(o["maximum_norm"], tf.float64), norm)
    return [d.numpy() for d in out]


def _run_optimizer(make, parameters, gradients, o):
    """20 steps with given gradients: clipped, rescaled, regularized, then PyTorch's step."""
    values = [torch.tensor(p, dtype=torch.float64, requires_grad=True) for p in parameters]
    optimizer = make(values)
    for t in range(STEPS):
        clipped = _clip([d[t] for d in gradients], o)
        for value, d in zip(values, clipped, strict=True):
            d = torch.tensor(d) * o.get("rescale", 1.0)
            scale = o.get("regularization_scale", 0.0)
            if o.get("regularization") == 1:
                d = d + scale * torch.sign(value.detach())
            elif o.get("regularization") == 2 and o["kind"] != 2:
                d = d + scale * value.detach()
            value.grad = d
        optimizer.step()
    return [v.detach().numpy() for v in values]


def add_optimizers(m: Maker) -> None:
    t = torch.optim
    cases = [
        ("sgd", 0, lambda p: t.SGD(p, 0.1), {}),
        ("sgd_momentum", 0, lambda p: t.SGD(p, 0.1, 0.75), {"momentum": 0.75}),
        ("sgd_nesterov", 0, lambda p: t.SGD(p, 0.1, 0.75, nesterov=True),
         {"momentum": 0.75, "nesterov": 1}),
        ("sgd_l1", 0, lambda p: t.SGD(p, 0.1), {"regularization": 1, "regularization_scale": 0.25}),
        ("sgd_l2", 0, lambda p: t.SGD(p, 0.1, 0.5),
         {"momentum": 0.5, "regularization": 2, "regularization_scale": 0.25}),
        ("sgd_rescaled", 0, lambda p: t.SGD(p, 0.1), {"rescale": 0.5}),
        ("sgd_clipped", 0, lambda p: t.SGD(p, 0.1),
         {"clipping": 0, "clip_min": -0.25, "clip_max": 0.5, "rescale": 2.0}),
        ("sgd_clipped_by_norm", 0, lambda p: t.SGD(p, 0.1),
         {"clipping": 1, "maximum_norm": 0.75, "rescale": 2.0}),
        ("sgd_clipped_by_global_norm", 0, lambda p: t.SGD(p, 0.1),
         {"clipping": 2, "maximum_norm": 0.75}),
        ("sgd_clipped_by_custom_norm", 0, lambda p: t.SGD(p, 0.1),
         {"clipping": 2, "maximum_norm": 0.75, "custom_global_norm": 2.5}),
        ("adam", 1, lambda p: t.Adam(p, 0.01), {}),
        ("adam_amsgrad", 1, lambda p: t.Adam(p, 0.01, amsgrad=True), {"amsgrad": 1}),
        ("adam_betas", 1, lambda p: t.Adam(p, 0.01, (0.5, 0.75), 1e-2),
         {"beta1": 0.5, "beta2": 0.75, "epsilon": 1e-2}),
        ("adam_l2", 1, lambda p: t.Adam(p, 0.01),
         {"regularization": 2, "regularization_scale": 0.25, "clipping": 0, "clip_min": -1.0,
          "clip_max": 1.0}),
        ("adamw", 2, lambda p: t.AdamW(p, 0.01, weight_decay=0.0), {}),
        ("adamw_decay", 2, lambda p: t.AdamW(p, 0.01, weight_decay=0.25, amsgrad=True),
         {"regularization": 2, "regularization_scale": 0.25, "amsgrad": 1}),
        ("rmsprop", 3, lambda p: t.RMSprop(p, 0.01), {}),
        ("rmsprop_momentum", 3, lambda p: t.RMSprop(p, 0.01, 0.75, 1e-3, momentum=0.5),
         {"alpha": 0.75, "epsilon": 1e-3, "momentum": 0.5}),
        ("rmsprop_centered", 3, lambda p: t.RMSprop(p, 0.01, centered=True), {"centered": 1}),
        ("rmsprop_all", 3, lambda p: t.RMSprop(p, 0.01, momentum=0.5, centered=True),
         {"centered": 1, "momentum": 0.5, "regularization": 2, "regularization_scale": 0.25}),
    ]  # fmt: skip
    for name, kind, make, o in cases:
        o = {"kind": kind} | o
        parameters = [m.normal(3, 2), m.normal(2)]
        gradients = [m.normal(STEPS, 3, 2), m.normal(STEPS, 2)]
        results = _run_optimizer(make, parameters, gradients, o)
        rate = 0.1 if kind == 0 else 0.01
        case = Case(f"optimizer_{name}", "optimizer",
                    {k: [str(v)] for k, v in ({"rate": rate} | o).items()})  # fmt: skip
        for i in range(2):
            case.tensors[f"in.p{i}"] = parameters[i]
            case.tensors[f"in.d{i}"] = gradients[i]
            case.tensors[f"trained.p{i}"] = results[i]
        m.cases.append(case)


def add_cases(m: Maker) -> None:
    add_losses(m)
    add_yolo(m)
    add_optimizers(m)
