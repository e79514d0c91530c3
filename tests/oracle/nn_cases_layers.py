"""Convolutions, pooling, normalisations, embedding, LSTM, attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf
import torch
import torch.nn.functional as F
from nn_oracle import TensorFlow

if TYPE_CHECKING:
    from nn_oracle import Maker


def _y(f):
    return lambda **operands: {"y": f(**operands)}


def _last(x):
    return tf.transpose(x, [0, 2, 3, 1])


def _first(x):
    return tf.transpose(x, [0, 3, 1, 2])


# ---- convolutions ------------------------------------------------------------------------------


def add_convolutions(m: Maker) -> None:
    plain = [
        ("valid", (2, 3, 6, 5), (4, 3, 3, 2), True, {}),
        ("strided", (2, 3, 7, 8), (4, 3, 3, 3), True, {"stride": (2, 3), "padding": (1, 2)}),
        ("dilated", (1, 2, 8, 9), (3, 2, 2, 3), False, {"dilation": (3, 2), "padding": (2, 1)}),
        ("grouped", (2, 4, 5, 5), (6, 2, 3, 3), True, {"groups": 2, "padding": (1, 1)}),
    ]
    for name, x, w, bias, o in plain:
        operands = {"input": m.normal(*x), "weight": m.normal(*w, scale=0.5)}
        if bias:
            operands["bias"] = m.normal(w[0])
        settings = {"kind": 0, "policy": 2 if "padding" in o else 1}
        settings |= {k + ("s" if k in ("stride", "dilation") else ""): v for k, v in o.items()}
        m.add(f"conv2d_{name}", "conv2d", _y(lambda o=o, **t: F.conv2d(**t, **o)), operands,
              settings=settings)  # fmt: skip
    m.add("conv2d_depthwise", "conv2d",
          _y(lambda **t: F.conv2d(**t, groups=3, stride=2, padding=1)),
          {"input": m.normal(2, 3, 5, 6), "weight": m.normal(6, 1, 3, 3), "bias": m.normal(6)},
          settings={"kind": 2, "policy": 2, "padding": (1, 1), "strides": (2, 2)})  # fmt: skip
    transposed = [
        ("", (2, 3, 4, 5), (3, 2, 3, 3), True, {}),
        ("_strided", (2, 3, 4, 3), (3, 2, 3, 4), True,
         {"stride": (2, 3), "padding": (1, 2), "output_padding": (1, 0)}),
        ("_grouped", (2, 4, 3, 3), (4, 3, 2, 3), True,
         {"groups": 2, "dilation": (2, 1), "stride": (3, 2)}),
        ("_small_kernel", (1, 2, 3, 3), (2, 2, 1, 2), False, {"stride": (3, 2)}),
    ]  # fmt: skip
    for name, x, w, bias, o in transposed:
        groups = o.get("groups", 1)
        operands = {"input": m.normal(*x), "weight": m.normal(*w, scale=0.5)}
        if bias:
            operands["bias"] = m.normal(w[1] * groups)
        settings = {"kind": 1, "policy": 2 if "padding" in o else 1}
        settings |= {k + ("s" if k in ("stride", "dilation") else ""): v for k, v in o.items()}
        m.add(f"conv2d_transposed{name}", "conv2d",
              _y(lambda o=o, **t: F.conv_transpose2d(**t, **o)), operands,
              settings=settings)  # fmt: skip
    same = [
        ("same", (2, 3, 5, 6), (4, 3, 3, 2), (1, 1)),
        ("same_strided", (2, 3, 7, 6), (4, 3, 4, 3), (2, 3)),
    ]
    for name, x, w, strides in same:

        def f(input, weight, bias, strides=strides):
            kernel = tf.transpose(weight, [2, 3, 1, 0])
            return _first(tf.nn.conv2d(_last(input), kernel, strides, "SAME") + bias)

        m.add(f"conv2d_{name}", "conv2d", _y(f), framework=TensorFlow,
              operands={"input": m.normal(*x), "weight": m.normal(*w, scale=0.5),
                        "bias": m.normal(w[0])},
              settings={"kind": 0, "policy": 0, "strides": strides})  # fmt: skip
    m.add("conv2d_same_dilated", "conv2d",
          _y(lambda **t: F.conv2d(**t, padding="same", dilation=(2, 3))),
          {"input": m.normal(1, 2, 8, 7), "weight": m.normal(3, 2, 3, 2)},
          settings={"kind": 0, "policy": 0, "dilations": (2, 3)})  # fmt: skip
    m.add("conv2d_channels_last", "conv2d",
          _y(lambda input, weight, bias: bias + tf.nn.conv2d(
              input, tf.transpose(weight, [2, 3, 1, 0]), (2, 1), "SAME")),
          {"input": m.normal(2, 5, 4, 3), "weight": m.normal(4, 3, 3, 3, scale=0.5),
           "bias": m.normal(4)}, framework=TensorFlow,
          settings={"kind": 0, "policy": 0, "strides": (2, 1), "channels_last": 1})  # fmt: skip
    for name, w, strides in (("", (3, 2, 3, 3), (2, 2)), ("_small_kernel", (3, 2, 1, 2), (2, 3))):

        def g(input, weight, strides=strides):
            n, _, h, v = input.shape
            shape = [n, h * strides[0], v * strides[1], weight.shape[1]]
            kernel = tf.transpose(weight, [2, 3, 1, 0])
            return _first(tf.nn.conv2d_transpose(_last(input), kernel, shape, strides, "SAME"))

        m.add(f"conv2d_transposed_same{name}", "conv2d", _y(g), framework=TensorFlow,
              operands={"input": m.normal(2, 3, 4, 3), "weight": m.normal(*w, scale=0.5)},
              settings={"kind": 1, "policy": 0, "strides": strides})  # fmt: skip

    m.add("conv2d_transposed_last", "conv2d",
          _y(lambda input, weight, bias: F.conv_transpose2d(
              input.permute(0, 3, 1, 2), weight, bias, (2, 1), (1, 0)).permute(0, 2, 3, 1)),
          {"input": m.normal(2, 3, 4, 3), "weight": m.normal(3, 2, 3, 2), "bias": m.normal(2)},
          settings={"kind": 1, "policy": 2, "strides": (2, 1), "padding": (1, 0),
                    "channels_last": 1})  # fmt: skip


def add_pooling(m: Maker) -> None:
    cases = [
        ("max", 1, lambda x: F.max_pool2d(x, 2), {"window": (2, 2), "strides": (2, 2)}),
        ("max_padded", 1, lambda x: F.max_pool2d(x, (3, 2), (2, 1), (1, 1), (1, 2)),
         {"window": (3, 2), "strides": (2, 1), "padding": (1, 1), "dilations": (1, 2)}),
        ("average", 2, lambda x: F.avg_pool2d(x, (2, 3), (1, 2)),
         {"window": (2, 3), "strides": (1, 2)}),
        ("average_padded", 2,
         lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
         {"window": (3, 3), "strides": (2, 2), "padding": (1, 1), "count_includes_padding": 0}),
        ("average_counts_padding", 2,
         lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=True),
         {"window": (3, 3), "strides": (2, 2), "padding": (1, 1), "count_includes_padding": 1}),
        ("l2", 3, lambda x: F.lp_pool2d(x, 2.0, (2, 3), (2, 2)),
         {"window": (2, 3), "strides": (2, 2)}),
    ]  # fmt: skip
    for name, kind, f, settings in cases:
        settings |= {"kind": kind, "policy": 2 if "padding" in settings else 1}
        m.add(f"pool2d_{name}", "pool2d", _y(f), {"x": m.distinct(2, 3, 6, 7)},
              settings=settings)  # fmt: skip
    for name, padding in (("rows", (1, 0)), ("columns", (0, 1))):
        m.add(f"pool2d_average_padded_{name}", "pool2d",
              _y(lambda x, padding=padding: F.avg_pool2d(
                  x, 2, 1, padding, count_include_pad=False)),
              {"x": m.distinct(1, 2, 3, 4)},
              settings={"kind": 2, "policy": 2, "window": (2, 2), "strides": (1, 1),
                        "padding": padding})  # fmt: skip
    m.add("pool2d_average_same_last", "pool2d",
          _y(lambda x: tf.nn.pool(x, (3, 2), "AVG", (2, 1), "SAME")),
          {"x": m.distinct(2, 4, 5, 2)}, framework=TensorFlow,
          settings={"kind": 2, "policy": 0, "window": (3, 2), "strides": (2, 1),
                    "channels_last": 1})  # fmt: skip
    for name, kind, mode in (("max", 1, "MAX"), ("average", 2, "AVG")):
        m.add(f"pool2d_{name}_same", "pool2d",
              _y(lambda x, mode=mode: _first(tf.nn.pool(
                  _last(x), (3, 2), mode, (2, 2), "SAME"))),
              {"x": m.distinct(2, 2, 5, 5)}, framework=TensorFlow,
              settings={"kind": kind, "policy": 0, "window": (3, 2), "strides": (2, 2)},
              )  # fmt: skip
    m.add("pool2d_average_dilated", "pool2d",
          _y(lambda x: tf.nn.pool(x, (2, 2), "AVG", (1, 1), "VALID", dilations=(2, 3))),
          {"x": m.distinct(2, 5, 6, 2)}, framework=TensorFlow,
          settings={"kind": 2, "policy": 1, "window": (2, 2), "strides": (1, 1),
                    "dilations": (2, 3), "channels_last": 1})  # fmt: skip


# ---- normalisations ----------------------------------------------------------------------------


def add_norms(m: Maker) -> None:
    def batch(x, mean, variance, gamma=None, beta=None):
        mean, variance = mean.clone(), variance.clone()
        y = F.batch_norm(x, mean, variance, gamma, beta, True, 1 - 0.75, 1e-3)
        return {"y": y, "mean": mean, "variance": variance}

    statistics = {"mean": m.normal(3), "variance": m.positive(3)}
    affine = {"gamma": m.normal(3), "beta": m.normal(3)}
    for name, more in (("", affine), ("_plain", {})):
        m.add(f"batch_norm{name}", "batch_norm", batch,
              {"x": m.normal(4, 3, 2, 3)} | statistics | more,
              settings={"epsilon": 1e-3, "momentum": 0.75}, only="y",
              wrt=["x", *more])  # fmt: skip
        m.add(f"batch_norm_inference{name}", "batch_norm_inference",
              _y(lambda x, mean, variance, gamma=None, beta=None: F.batch_norm(
                  x, mean, variance, gamma, beta, False, 0, 1e-3)),
              {"x": m.normal(4, 3, 2, 3)} | statistics | more, settings={"epsilon": 1e-3},
              wrt=["x", *more])  # fmt: skip
    for name, shape, more in (
        ("", [4], {"gamma": m.normal(4), "beta": m.normal(4)}),
        ("_two_axes", [3, 4], {"gamma": m.normal(3, 4), "beta": m.normal(3, 4)}),
        ("_plain", [4], {}),
    ):
        m.add(f"layer_norm{name}", "layer_norm",
              _y(lambda x, shape=shape, gamma=None, beta=None: F.layer_norm(
                  x, shape, gamma, beta, 1e-4)),
              {"x": m.normal(2, 3, 4)} | more,
              settings={"shape": shape, "epsilon": 1e-4})  # fmt: skip
    m.add("batch_norm_two_rows", "batch_norm", batch,
          {"x": m.normal(2, 3)} | statistics | affine, only="y", wrt=["x", "gamma", "beta"],
          settings={"epsilon": 1e-3, "momentum": 0.75})  # fmt: skip
    m.add("group_norm_one_group", "group_norm",
          _y(lambda x, gamma: F.group_norm(x, 1, gamma, eps=1e-4)),
          {"x": m.normal(2, 3, 4), "gamma": m.normal(3)},
          settings={"groups": 1, "epsilon": 1e-4})  # fmt: skip
    six = {"gamma": m.normal(6), "beta": m.normal(6)}
    for name, more in (("", six), ("_plain", {})):
        m.add(f"group_norm{name}", "group_norm",
              _y(lambda x, gamma=None, beta=None: F.group_norm(x, 2, gamma, beta, 1e-4)),
              {"x": m.normal(2, 6, 2, 3)} | more,
              settings={"groups": 2, "epsilon": 1e-4})  # fmt: skip
        m.add(f"instance_norm{name}", "instance_norm",
              _y(lambda x, gamma=None, beta=None: F.instance_norm(
                  x, weight=gamma, bias=beta, eps=1e-4)),
              {"x": m.normal(2, 6, 2, 3)} | more,
              settings={"epsilon": 1e-4, "momentum": 0.5})  # fmt: skip

    def running(x, mean, variance, gamma, beta):
        mean, variance = mean.clone(), variance.clone()
        y = F.instance_norm(x, mean, variance, gamma, beta, True, 1 - 0.75, 1e-4)
        return {"y": y, "mean": mean, "variance": variance}

    for name, shape in (("", (4, 3, 2, 3)), ("_sequence", (4, 3, 2))):
        m.add(f"instance_norm_running{name}", "instance_norm", running,
              {"x": m.normal(*shape)} | statistics | affine,
              settings={"epsilon": 1e-4, "momentum": 0.75}, only="y",
              wrt=["x", "gamma", "beta"])  # fmt: skip


# ---- embedding ---------------------------------------------------------------------------------


def add_embeddings(m: Maker) -> None:
    cases = [
        ("", {}, {}),
        ("_padding", {"padding_idx": 2}, {"padding_index": 2}),
        ("_frequency", {"scale_grad_by_freq": True}, {"scales_gradient_by_frequency": 1}),
        ("_max_norm", {"max_norm": 1.0}, {"maximum_norm": 1.0}),
        ("_max_norm_l1", {"max_norm": 1.5, "norm_type": 1.0, "padding_idx": 1},
         {"maximum_norm": 1.5, "p_norm": 1.0, "padding_index": 1}),
        ("_max_norm_p3", {"max_norm": 0.75, "norm_type": 3.0},
         {"maximum_norm": 0.75, "p_norm": 3.0}),
    ]  # fmt: skip
    for name, o, settings in cases:

        def f(weights, indices, o=o):
            # The shrinking of rows is in place and outside of differentiation.
            if "max_norm" in o:
                with torch.no_grad():
                    shrunk = weights.clone()
                    F.embedding(indices, shrunk, **o)
                    change = shrunk - weights
                weights = weights + change
            plain = {k: v for k, v in o.items() if k not in ("max_norm", "norm_type")}
            return {"y": F.embedding(indices, weights, **plain), "weights": weights * 1}

        settings = settings | {"differences": 0 if o else 1}
        m.add(f"embedding{name}", "embedding", f,
              {"weights": m.normal(6, 4), "indices": m.integers(6, 3, 4)},
              settings=settings, rate=1.0)  # fmt: skip


# ---- LSTM --------------------------------------------------------------------------------------


def _cell(x, h, c, w, u, b, v, gates, output):
    """One step, as the header has it; lists hold gates i f c o."""

    def total(k, cell):
        out = x @ w[k].T + h @ u[k].T
        if b is not None:
            out = out + b[k]
        if v is not None:
            out = out + (cell @ v[k].T if v[k].dim() == 2 else cell * v[k])
        return gates[k](out)

    i, f, candidate = total(0, c), total(1, c), total(2, c)
    c = f * c + i * candidate
    return total(3, c) * output(c), c


def _lstm(x, w, u, b, v, h0, c0, lengths, layers, directions, gates, output, sequences):
    n, time, _ = x.shape
    hidden = u[0].shape[0]
    final_h, final_c = [], []
    for layer in range(layers):
        results = []
        for d in range(directions):
            at = 4 * (d * layers + layer)
            part = [None if p is None else p[at : at + 4] for p in (w, u, b, v)]
            h = x.new_zeros(n, hidden) if h0 is None else h0[layer, d]
            c = x.new_zeros(n, hidden) if c0 is None else c0[layer, d]
            ys = [None] * time
            for t in range(time) if d == 0 else reversed(range(time)):
                h1, c1 = _cell(x[:, t], h, c, *part, gates, output)
                active = x.new_ones(n, 1) if lengths is None else (t < lengths)[:, None].double()
                h, c = active * h1 + (1 - active) * h, active * c1 + (1 - active) * c
                ys[t] = active * h1
            results.append(torch.stack(ys, 1))
            final_h.append(h)
            final_c.append(c)
        x = torch.cat(results, 2)
    y = x if sequences else torch.cat(final_h[-directions:], 1)
    shape = (layers, directions, n, hidden)
    return {
        "y": y,
        "hidden": torch.stack(final_h).reshape(shape),
        "cell": torch.stack(final_c).reshape(shape),
    }


def add_lstm(m: Maker) -> None:
    n, time, features, hidden = 3, 4, 3, 2
    smooth = [torch.sigmoid, torch.sigmoid, torch.tanh, torch.sigmoid]
    cases = [
        ("", 1, 1, {}),
        ("_no_bias", 1, 1, {"bias": False}),
        ("_last", 1, 1, {"sequences": 0}),
        ("_states", 1, 1, {"states": True}),
        ("_lengths", 1, 1, {"lengths": True, "states": True}),
        ("_peephole", 1, 1, {"peephole": 1}),
        ("_peephole_matrix", 1, 1, {"peephole": 2}),
        ("_activations", 1, 1, {"gates": [5, 3, 7, 8], "output": 3}),
        ("_bidirectional", 1, 2, {}),
        ("_bidirectional_last", 1, 2, {"sequences": 0, "lengths": True}),
        ("_two_layers", 2, 1, {"states": True}),
        ("_two_layers_bidirectional", 2, 2, {"states": True, "lengths": True}),
        ("_three_layers", 3, 1, {"lengths": True}),
        ("_three_layers_bidirectional", 3, 2, {"states": True, "bias": False}),
    ]
    kinds = {3: torch.sigmoid, 5: torch.tanh, 7: F.softplus, 8: F.softsign}
    for name, layers, directions, o in cases:
        operands = {"x": m.normal(n, time, features)}
        count = 4 * layers * directions
        for k in range(count):
            inputs = features if k // 4 % layers == 0 else hidden * directions
            operands[f"w{k}"] = m.normal(hidden, inputs, scale=0.5)
            operands[f"u{k}"] = m.normal(hidden, hidden, scale=0.5)
            if o.get("bias", True):
                operands[f"b{k}"] = m.normal(hidden, scale=0.5)
            if o.get("peephole"):
                operands[f"v{k}"] = m.normal(*[hidden] * o["peephole"], scale=0.5)
        if o.get("states"):
            operands["h0"] = m.normal(layers, directions, n, hidden)
            operands["c0"] = m.normal(layers, directions, n, hidden)
        if o.get("lengths"):
            operands["lengths"] = np.array([4, 3, 1], np.int32)
        gates = [kinds[k] for k in o["gates"]] if "gates" in o else smooth
        output = kinds[o.get("output", 5)]
        sequences = o.get("sequences", 1)

        def f(x, h0=None, c0=None, lengths=None, layers=layers, directions=directions, gates=gates,
              output=output, sequences=sequences, count=count, **p):  # fmt: skip
            def parts(letter):
                found = [p[f"{letter}{k}"] for k in range(count) if f"{letter}{k}" in p]
                return found or None

            return _lstm(x, parts("w"), parts("u"), parts("b"), parts("v"), h0, c0, lengths, layers,
                         directions, gates, output, sequences)  # fmt: skip

        settings = {"hidden": hidden, "layers": layers, "bidirectional": directions - 1,
                    "sequences": sequences, "gates": o.get("gates", [3, 3, 5, 3]),
                    "output": o.get("output", 5)}  # fmt: skip
        case = m.add(f"lstm{name}", "lstm", f, operands, settings=settings, rate=0.2,
                     train=[k for k in operands if k[0] in "wubv"])  # fmt: skip
        if not (set(o) & {"lengths", "peephole", "gates"}):
            _check_against_torch(case, layers, directions, sequences)


def _check_against_torch(case, layers, directions, sequences) -> None:
    """The loop above is torch.nn.LSTM."""
    t = {k: torch.tensor(v, dtype=torch.float64) for k, v in case.group("in").items()}
    features, hidden = t["x"].shape[2], t["u0"].shape[0]
    net = torch.nn.LSTM(features, hidden, layers, "b0" in t, True, 0.0, directions == 2).double()
    for d in range(directions):
        for layer in range(layers):
            at, suffix = 4 * (d * layers + layer), f"l{layer}" + ("_reverse" if d else "")
            for letter, name in (("w", "weight_ih_"), ("u", "weight_hh_"), ("b", "bias_ih_")):
                if letter + "0" not in t:
                    continue
                value = torch.cat([t[f"{letter}{at + k}"] for k in range(4)])
                getattr(net, name + suffix).data.copy_(value)
            if "b0" in t:
                getattr(net, "bias_hh_" + suffix).data.zero_()
    states = None
    if "h0" in t:
        states = tuple(t[k].flatten(0, 1).contiguous() for k in ("h0", "c0"))
    y, (h, c) = net(t["x"], states)
    out = case.group("out")
    if sequences:
        np.testing.assert_allclose(y.detach().numpy(), out["y"], atol=1e-12)
    np.testing.assert_allclose(h.detach().numpy().reshape(out["hidden"].shape), out["hidden"])
    np.testing.assert_allclose(c.detach().numpy().reshape(out["cell"].shape), out["cell"])


# ---- attention ---------------------------------------------------------------------------------


def add_attention(m: Maker) -> None:
    n, queries, keys, model, heads = 2, 3, 4, 4, 2
    cases = [
        ("", {}),
        ("_no_biases", {"biases": False}),
        ("_dimensions", {"key": 3, "value": 5}),
        ("_key_mask", {"key_mask": True}),
        ("_bool_mask", {"mask": "bool", "lead": 1}),
        ("_float_mask", {"mask": "float", "lead": 1}),
        ("_mask_per_head", {"mask": "float", "lead": n * heads}),
        ("_attention_biases", {"attention_biases": True}),
        ("_zero_attention", {"zero": True}),
        ("_everything", {"key": 3, "value": 5, "attention_biases": True, "zero": True,
                         "key_mask": True, "mask": "bool", "lead": n * heads}),
        ("_both_kinds_of_mask", {"key_mask": True, "mask": "float", "lead": 1, "zero": True}),
    ]  # fmt: skip
    for name, o in cases:
        k, v = o.get("key", model), o.get("value", model)
        operands = {
            "query": m.normal(n, queries, model),
            "key": m.normal(n, keys, k),
            "value": m.normal(n, keys, v),
            "wq": m.normal(model, model, scale=0.5),
            "wk": m.normal(model, k, scale=0.5),
            "wv": m.normal(model, v, scale=0.5),
            "wo": m.normal(model, model, scale=0.5),
        }
        if o.get("biases", True):
            operands |= {f"b{p}": m.normal(model, scale=0.5) for p in "qkvo"}
        if o.get("attention_biases"):
            operands |= {"bias_k": m.normal(model), "bias_v": m.normal(model)}
        if o.get("key_mask"):
            operands["key_mask"] = np.array(
                [[False, False, True, True], [False, True, False, False]]
            )
        if "mask" in o:
            shape = (o["lead"], queries, keys)
            mask = m.bools(*shape) if o["mask"] == "bool" else m.normal(*shape)
            if o["mask"] == "bool":
                mask[:, :, 0] = False
            operands["mask"] = mask
        zero = o.get("zero", False)

        def f(query, key, value, wq, wk, wv, wo, bq=None, bk=None, bv=None, bo=None, bias_k=None,
              bias_v=None, key_mask=None, mask=None, zero=zero):  # fmt: skip
            bias = None if bq is None else torch.cat([bq, bk, bv])
            if mask is not None and mask.shape[0] == 1:
                mask = mask[0]
            if mask is not None and mask.dtype != torch.bool and key_mask is not None:
                key_mask = torch.zeros(key_mask.shape, dtype=mask.dtype).masked_fill(
                    key_mask, -torch.inf
                )
            y, _ = F.multi_head_attention_forward(
                query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1), model, heads,
                None, bias, None if bias_k is None else bias_k[None, None],
                None if bias_v is None else bias_v[None, None], zero, 0.0, wo, bo, True, key_mask,
                False, mask, use_separate_proj_weight=True, q_proj_weight=wq, k_proj_weight=wk,
                v_proj_weight=wv)  # fmt: skip
            return {"y": y.transpose(0, 1)}

        trained = [p for p in operands if p[0] in "wb"]
        m.add(f"multihead_attention{name}", "multihead_attention", f, operands, rate=0.2,
              settings={"heads": heads, "zero": zero}, train=trained)  # fmt: skip
    m.add("attention", "attention",
          _y(lambda q, k, v, mask: F.scaled_dot_product_attention(q, k, v, ~mask, scale=0.75)),
          {"q": m.normal(2, 3, 4), "k": m.normal(2, 5, 4), "v": m.normal(2, 5, 2),
           "mask": np.triu(np.ones((3, 5), bool), 2)}, settings={"scale": 0.75})  # fmt: skip


def add_cases(m: Maker) -> None:
    add_convolutions(m)
    add_pooling(m)
    add_norms(m)
    add_embeddings(m)
    add_lstm(m)
    add_attention(m)
