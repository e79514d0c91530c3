"""Recipes of the losses of tf.nn."""

from generator import FLOATS, FULL_FLOATS, recipe


@recipe("nn.sigmoid_cross_entropy_with_logits")
def _(d):
    dtype, shape = d.dtype(FLOATS), d.shape()
    return {"labels": d.array(dtype, shape, d.pick(("interval", None))),
            "logits": d.array(dtype, shape)}  # fmt: skip


@recipe("nn.weighted_cross_entropy_with_logits")
def _(d):
    dtype, shape = d.dtype(FLOATS), d.shape()
    return {"labels": d.array(dtype, shape, "interval"), "logits": d.array(dtype, shape),
            "pos_weight": d.pick((0.5, 2.0, 1))}  # fmt: skip


@recipe("nn.softmax_cross_entropy_with_logits")
def _(d):
    dtype, shape = d.dtype(FLOATS), d.shape(1, 3)
    arguments = {"labels": d.array(dtype, shape, d.pick(("probabilities", "uniform"))),
                 "logits": d.array(dtype, shape)}  # fmt: skip
    return d.keywords(arguments, 40, axis=d.axis(len(shape)))


@recipe("nn.sparse_softmax_cross_entropy_with_logits")
def _(d):
    shape = d.shape(1, 3)
    return {"labels": d.ints(shape[:-1], 0, max(shape[-1], 1), ("int32", "int64", "int32")),
            "logits": d.array(FLOATS, shape)}  # fmt: skip


@recipe("nn.log_poisson_loss")
def _(d):
    dtype, shape = d.dtype(FLOATS), d.shape()
    arguments = {"targets": d.array(dtype, shape, "positive"), "log_input": d.array(dtype, shape)}
    return d.keywords(arguments, 50, compute_full_loss=d.flag())


@recipe("nn.compute_average_loss")
def _(d):
    n = d.between(1, 4)
    arguments = {"per_example_loss": d.array(FULL_FLOATS, [n])}
    if d.chance(40):
        arguments["sample_weight="] = d.array("float32", [n], "positive")
    return d.keywords(arguments, 50, global_batch_size=d.between(1, 6))


@recipe("nn.scale_regularization_loss")
def _(d):
    return {"regularization_loss": d.array(FULL_FLOATS, d.shape(0, 1))}


@recipe("nn.ctc_loss")
def _(d):
    time, batch, classes = d.between(4, 6), d.between(1, 2), d.between(3, 4)
    longest = d.between(1, 2)
    major = d.flag()
    shape = [time, batch, classes] if major else [batch, time, classes]
    return {
        "labels": d.array("int32", [batch, longest], f"range 1 {classes}", "tensor"),
        "logits": d.tensor("float32", shape, "uniform"),
        "label_length": d.array("int32", [batch], f"range 1 {longest + 1}", "tensor"),
        "logit_length": d.array("int32", [batch], f"range {time - 1} {time + 1}", "tensor"),
        "logits_time_major": major,
        "blank_index=": 0,
    }


@recipe("nn.ctc_unique_labels")
def _(d):
    return {"labels": d.array("int32", [d.between(1, 3), d.between(1, 4)], "range 0 4", "tensor")}


@recipe("nn.ctc_greedy_decoder")
def _(d):
    time, batch = d.between(2, 5), d.between(1, 2)
    lengths = d.array("int32", [batch], f"range 1 {time + 1}", "tensor")
    arguments = {"inputs": d.tensor("float32", [time, batch, 3], "uniform"),
                 "sequence_length": lengths}  # fmt: skip
    return d.keywords(arguments, 40, merge_repeated=d.flag(), blank_index=d.pick((0, 2)))


@recipe("nn.ctc_beam_search_decoder", order=0)
def _(d):
    time, batch = d.between(2, 4), d.between(1, 2)
    lengths = d.array("int32", [batch], f"range 1 {time + 1}", "tensor")
    arguments = {"inputs": d.tensor("float32", [time, batch, 3], "uniform"),
                 "sequence_length": lengths}  # fmt: skip
    return d.keywords(arguments, 60, beam_width=d.between(2, 5), top_paths=d.between(1, 2))
