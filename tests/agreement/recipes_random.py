"""Recipes of tf.random.stateless_*: the same seed draws the same numbers."""

from generator import EVERY, FLOATS, FULL_FLOATS, WIDE_INTS, recipe
from recipes_array import a_dtype

DRAWN = ("float32", "float32", "float64", "float16", "bfloat16")


def seed(d):
    which = d.below(3)
    if which == 0:
        return [d.below(99), d.below(99)]
    if which == 1:
        return {"u": [d.below(99), -1]}
    return d.array(WIDE_INTS, [2], "range 0 99", "tensor")


def shape(d):
    return d.shape(0, 2) if d.flag() else [d.between(1, 9)]


@recipe("random.stateless_uniform")
def _(d):
    arguments = {"shape": shape(d), "seed": seed(d)}
    if d.chance(40):
        low = d.between(-5, 5)
        arguments.update({"minval": low, "maxval": low + d.between(1, 9),
                          "dtype": a_dtype(d, ("int32", "int64", "uint32"))})  # fmt: skip
    else:
        d.some(arguments, 50, minval=d.pick((-1.0, 0.0)))
        d.keywords(arguments, 50, maxval=d.pick((2.0, 5)), dtype=lambda: a_dtype(d, DRAWN))
    return d.keywords(arguments, 30, alg=d.pick(("philox", "threefry", "auto_select")))


@recipe("random.stateless_normal", "random.stateless_truncated_normal")
def _(d):
    arguments = {"shape": shape(d), "seed": seed(d)}
    d.some(arguments, 40, mean=d.pick((1.0, -2.0)))
    d.keywords(arguments, 40, stddev=d.pick((0.5, 2.0)), dtype=lambda: a_dtype(d, DRAWN))
    return d.keywords(arguments, 30, alg=d.pick(("philox", "threefry", "auto_select")))


@recipe("random.stateless_categorical", order=0)
def _(d):
    arguments = {"logits": d.array(FLOATS, [d.between(1, 3), d.between(1, 4)], "uniform"),
                 "num_samples": d.between(0, 5), "seed": seed(d)}  # fmt: skip
    return d.some(arguments, 40, dtype=lambda: a_dtype(d, WIDE_INTS))


@recipe("random.stateless_gamma", order=1)
def _(d):
    dtype, n = d.dtype(FULL_FLOATS), d.between(1, 3)
    arguments = {"shape": [d.between(1, 3), n], "seed": seed(d),
                 "alpha": d.array(dtype, [n], "positive", "tensor")}  # fmt: skip
    d.some(arguments, 40, beta=d.array(dtype, [n], "positive", "tensor"))
    return {**arguments, "dtype=": {"d": dtype}}


@recipe("random.stateless_poisson", order=0)
def _(d):
    n = d.between(1, 3)
    arguments = {"shape": [d.between(1, 3), n], "seed": seed(d),
                 "lam": d.array(FULL_FLOATS, [n], "positive", "tensor")}  # fmt: skip
    return d.some(arguments, 40, dtype=lambda: a_dtype(d, ("int32", "int64", "float32")))


@recipe("random.stateless_binomial", order=0)
def _(d):
    n, dtype = d.between(1, 3), d.dtype(FULL_FLOATS)
    arguments = {"shape": [d.between(1, 3), n], "seed": seed(d),
                 "counts": d.array(dtype, [n], "range 1 20", "tensor"),
                 "probs": d.array(dtype, [n], "interval", "tensor")}  # fmt: skip
    return d.some(arguments, 40, output_dtype=lambda: a_dtype(d, ("int32", "int64", "float32")))


@recipe("random.stateless_parameterized_truncated_normal", order=0)
def _(d):
    arguments = {"shape": shape(d), "seed": seed(d)}
    return d.keywords(arguments, 50, means=d.pick((0.0, 1.0)), stddevs=d.pick((1.0, 2.0)),
                      minvals=-1.5, maxvals=d.pick((0.5, 3.0)))  # fmt: skip


@recipe("random.experimental.stateless_shuffle")
def _(d):
    return {"value": d.array(EVERY, d.shape(1, 2)), "seed": seed(d)}


@recipe("random.experimental.index_shuffle", order=0)
def _(d):
    n = d.between(1, 50)
    shape = d.shape(0, 1, empty=False)
    dtype = d.pick(WIDE_INTS)
    return {"index": d.array(dtype, shape, f"range 0 {n}", "tensor"),
            "seed": [d.below(99), d.below(99), d.below(99)], "max_index": n - 1}  # fmt: skip


@recipe("random.split")
def _(d):
    return d.some({"seed": seed(d)}, 50, num=d.between(1, 4))


@recipe("random.fold_in")
def _(d):
    return {"seed": seed(d), "data": d.between(0, 99)}


@recipe("random.uniform", "random.normal", "random.truncated_normal")
def _(d):
    arguments = {"shape": shape(d)}
    d.keywords(arguments, 50, dtype=lambda: a_dtype(d, DRAWN))
    return {**arguments, "seed=": d.between(1, 9)}


@recipe("random.shuffle")
def _(d):
    return {"value": d.array(EVERY, d.shape(1, 2)), "seed": d.between(1, 9)}


@recipe("random.categorical", order=0)
def _(d):
    return {"logits": d.array(FLOATS, [d.between(1, 3), d.between(1, 4)], "uniform"),
            "num_samples": d.between(0, 5), "seed=": d.between(1, 9)}  # fmt: skip
