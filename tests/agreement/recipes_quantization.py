"""Recipes of tf.quantization."""

from generator import FULL_FLOATS, recipe


def fake(d, arguments, names=("min", "max")):
    arguments[names[0]] = d.pick((-6.0, -1.0, 0.0))
    arguments[names[1]] = d.pick((1.0, 6.0))
    return d.keywords(arguments, 40, num_bits=d.between(2, 10), narrow_range=d.flag())


@recipe("quantization.fake_quant_with_min_max_args", "quantization.fake_quant_with_min_max_vars",
        order=1)  # fmt: skip
def _(d):
    return fake(d, {"inputs": d.array("float32", d.shape())})


@recipe("quantization.fake_quant_with_min_max_args_gradient",
        "quantization.fake_quant_with_min_max_vars_gradient", order=0)  # fmt: skip
def _(d):
    shape = d.shape()
    return fake(d, {"gradients": d.array("float32", shape), "inputs": d.array("float32", shape)})


@recipe("quantization.fake_quant_with_min_max_vars_per_channel", order=1)
def _(d):
    shape = d.shape(1, 3)
    arguments = {"inputs": d.array("float32", shape),
                 "min": d.array("float32", shape[-1:], "range -6 0"),
                 "max": d.array("float32", shape[-1:], "range 1 6")}  # fmt: skip
    return d.keywords(arguments, 40, num_bits=d.between(2, 10), narrow_range=d.flag())


@recipe("quantization.fake_quant_with_min_max_vars_per_channel_gradient", order=0)
def _(d):
    shape = d.shape(1, 3)
    return {"gradients": d.array("float32", shape), "inputs": d.array("float32", shape),
            "min": d.array("float32", shape[-1:], "range -6 0"),
            "max": d.array("float32", shape[-1:], "range 1 6")}  # fmt: skip


@recipe("quantization.quantize_and_dequantize_v2", "quantization.quantize_and_dequantize", order=1)
def _(d):
    dtype = d.dtype(FULL_FLOATS)
    arguments = {"input": d.array(dtype, d.shape(), "uniform"), "input_min": -1.0,
                 "input_max": d.pick((1.0, 2.0))}  # fmt: skip
    return d.keywords(arguments, 30, signed_input=d.flag(), num_bits=d.between(2, 9),
                      range_given=d.flag(), narrow_range=d.flag(),
                      round_mode=d.pick(("HALF_TO_EVEN", "HALF_UP")))  # fmt: skip
