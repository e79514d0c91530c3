"""Recipes of functions of whole arrays: segments, counts, orders, polynomials."""

from generator import COMPLEX, FLOATS, NUMBERS, REALS, WIDE_INTS, recipe
from recipes_array import a_dtype


@recipe("math.segment_sum", "math.segment_prod", "math.segment_mean", "math.segment_max",
        "math.segment_min")  # fmt: skip
def _(d):
    shape = d.shape(1, 3)
    ids = {"t": [d.how(), d.pick(WIDE_INTS), shape[:1], "segments", d.below(999)]}
    ids["t"][0] = "tensor" if ids["t"][0] == "list" else ids["t"][0]
    return {"data": d.array(REALS, shape), "segment_ids": ids}


@recipe("math.unsorted_segment_sum", "math.unsorted_segment_prod", "math.unsorted_segment_mean",
        "math.unsorted_segment_max", "math.unsorted_segment_min",
        "math.unsorted_segment_sqrt_n")  # fmt: skip
def _(d):
    shape = d.shape(1, 3)
    n = d.between(1, 5)
    ids = d.ints(shape[: d.between(1, len(shape))], -1 if d.chance(30) else 0, n)
    return {"data": d.array(REALS, shape), "segment_ids": ids, "num_segments": n}


@recipe("sparse.segment_sum", "sparse.segment_mean", "sparse.segment_sqrt_n")
def _(d):
    shape = d.shape(1, 3, empty=False)
    n = d.between(0, 5)
    arguments = {
        "data": d.array(FLOATS, shape),
        "indices": d.ints([n], 0, shape[0]),
        "segment_ids": {"t": ["tensor", d.pick(WIDE_INTS), [n], "segments", d.below(999)]},
    }
    return d.some(arguments, 40, num_segments=d.between(5, 12))


@recipe("math.bincount")
def _(d):
    shape = d.shape(1, 2)
    arguments = {"arr": d.array(WIDE_INTS, shape, "range 0 6")}
    if d.chance(40):
        weights = d.array(("float32", "int32", "float64", "int64"), shape, None, "tensor")
        arguments["weights="] = weights
    d.keywords(arguments, 40, minlength=d.between(0, 8), maxlength=d.between(1, 8))
    d.keywords(arguments, 30, dtype=lambda: a_dtype(d, ("int32", "int64", "float32")))
    return d.keywords(arguments, 40, axis=d.pick((0, -1)), binary_output=d.flag())


@recipe("math.confusion_matrix")
def _(d):
    n = d.between(0, 6)
    arguments = {"labels": d.ints([n], 0, 4), "predictions": d.ints([n], 0, 4)}
    d.some(arguments, 50, num_classes=d.between(4, 5))
    if d.chance(40):
        arguments["weights="] = d.array(("float32", "int32"), [n])
    return d.keywords(arguments, 30, dtype=lambda: a_dtype(d))


@recipe("math.in_top_k")
def _(d):
    batch, classes = d.between(1, 4), d.between(1, 6)
    return {
        "targets": d.ints([batch], 0, classes),
        "predictions": d.array("float32", [batch, classes]),
        "k": d.between(0, 4),
    }


@recipe("math.top_k")
def _(d):
    shape = d.shape(1, 3, empty=False)
    arguments = {"input": d.array(REALS, shape)}
    d.some(arguments, 70, k=d.between(0, shape[-1]))
    return d.keywords(arguments, 20, sorted=True, index_type=lambda: a_dtype(d, WIDE_INTS))


@recipe("math.invert_permutation")
def _(d):
    return {"x": {"t": ["tensor", d.pick(WIDE_INTS), [d.between(0, 6)], "permutation",
                        d.below(999)]}}  # fmt: skip


@recipe("math.lbeta")
def _(d):
    return {"x": d.array(FLOATS, d.shape(1, 3), "positive")}


@recipe("math.polyval")
def _(d):
    dtype, shape = d.dtype(FLOATS), d.shape(0, 2)
    coefficients = [d.tensor(dtype, [] if d.flag() else shape) for _ in range(d.between(0, 4))]
    return {"coeffs": coefficients, "x": d.array(dtype, shape)}


@recipe("math.sobol_sample", order=0)
def _(d):
    arguments = {"dim": d.between(1, 5), "num_results": d.between(1, 6)}
    d.some(arguments, 50, skip=d.between(0, 9))
    return d.keywords(arguments, 30, dtype=lambda: a_dtype(d, ("float32", "float64")))


@recipe("scalar_mul")
def _(d):
    dtype = d.dtype(NUMBERS)
    scalar = d.array(dtype, []) if d.flag() else 2
    return {"scalar": scalar, "x": d.array(dtype, d.shape())}


@recipe("clip_by_norm")
def _(d):
    shape = d.shape(0, 3)
    arguments = {"t": d.array(FLOATS, shape), "clip_norm": d.pick((0.5, 1.0, 2, 100.0))}
    return d.some(arguments, 50, axes=lambda: d.axes(len(shape)))


@recipe("clip_by_global_norm")
def _(d):
    dtype = d.dtype(FLOATS)
    tensors = [d.tensor(dtype, d.shape(), "uniform") for _ in range(d.between(1, 3))]
    return {"t_list": tensors, "clip_norm": d.pick((0.5, 1.0, 100.0))}


@recipe("linalg.global_norm")
def _(d):
    dtype = d.dtype(FLOATS)
    return {"t_list": [d.tensor(dtype, d.shape()) for _ in range(d.between(1, 3))]}


EQUATIONS = (
    ("ij,jk->ik", "ij", "jk"), ("ij->ji", "ij"), ("ij->", "ij"), ("ij,ij->i", "ij", "ij"),
    ("bij,bjk->bik", "bij", "bjk"), ("i,j->ij", "i", "j"), ("ii->i", "ii"), ("ii", "ii"),
    ("ij,jk", "ij", "jk"), ("abc,cd->abd", "abc", "cd"), ("i,i->", "i", "i"),
    ("...ij,...jk->...ik", "bij", "bjk"), ("ij,jk,kl->il", "ij", "jk", "kl"), ("ba", "ba"),
    ("...i->...", "bij"), ("bhqd,bhkd->bhqk", "bhqd", "bhkd"),
)  # fmt: skip


@recipe("einsum")
def _(d):
    equation, *inputs = d.pick(EQUATIONS)
    lengths = {letter: d.pick((1, 2, 3)) for letter in "abcdhijklq"}
    dtype = d.dtype((*FLOATS, "int32", *COMPLEX))
    parts = [d.tensor(dtype, [lengths[letter] for letter in part]) for part in inputs]
    return {"*": [equation, *parts]}
