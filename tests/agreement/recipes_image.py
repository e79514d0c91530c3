"""Recipes of tf.image."""

from generator import FLOATS, FULL_FLOATS, REALS, recipe
from recipes_array import a_dtype

PICTURES = ("float32", "float32", "float64", "uint8", "float16")


def picture(d, dtypes=PICTURES, channels=None, low=3, batched=True, side=(2, 5)):
    shape = [d.between(*side), d.between(*side), channels or d.pick((1, 3, 3, 4))]
    if batched and (low == 4 or d.flag()):
        shape = [d.between(1, 2), *shape]
    dtype = d.dtype(dtypes)
    kind = "range 0 256" if dtype == "uint8" else "range 0 99" if dtype[0] in "iu" else "pixel"
    return d.array(dtype, shape, kind)


for name in ("flip_left_right", "flip_up_down", "transpose"):
    recipe(f"image.{name}")(lambda d: {"image": picture(d)})
recipe("image.per_image_standardization")(lambda d: {"image": picture(d)})
recipe("image.sobel_edges")(lambda d: {"image": picture(d, FLOATS, low=4)})
recipe("image.image_gradients")(lambda d: {"image": picture(d, low=4)})
recipe("image.total_variation")(lambda d: {"images": picture(d)})
recipe("image.grayscale_to_rgb")(lambda d: {"images": picture(d, channels=1)})
recipe("image.rgb_to_grayscale")(lambda d: {"images": picture(d, channels=3)})
for name in ("rgb_to_hsv", "hsv_to_rgb", "rgb_to_yiq", "yiq_to_rgb", "rgb_to_yuv", "yuv_to_rgb"):
    recipe(f"image.{name}")(lambda d: {"images": picture(d, FLOATS, channels=3)})


@recipe("image.rot90")
def _(d):
    return d.some({"image": picture(d)}, 70, k=d.between(-2, 5))


@recipe("image.adjust_brightness")
def _(d):
    return {"image": picture(d), "delta": d.pick((0.1, -0.3, 0))}


@recipe("image.adjust_contrast")
def _(d):
    return {"images": picture(d), "contrast_factor": d.pick((0.5, 2.0, 1))}


@recipe("image.adjust_gamma")
def _(d):
    return d.some({"image": picture(d)}, 60, gamma=d.pick((0.5, 2.0, 1)), gain=d.pick((1, 2.0)))


@recipe("image.adjust_hue")
def _(d):
    return {"image": picture(d, channels=3), "delta": d.pick((0.1, -0.3, 0.0))}


@recipe("image.adjust_saturation")
def _(d):
    return {"image": picture(d, channels=3), "saturation_factor": d.pick((0.5, 2.0, 0.0))}


@recipe("image.central_crop")
def _(d):
    return {"image": picture(d, side=(3, 7)), "central_fraction": d.pick((0.5, 0.3, 1.0, 0.87))}


@recipe("image.convert_image_dtype")
def _(d):
    arguments = {"image": d.array(REALS, d.shape(0, 3)),
                 "dtype": a_dtype(d, ("uint8", "float32", "float64", "int32", "int16", "uint16",
                                      "float16"))}  # fmt: skip
    return d.keywords(arguments, 40, saturate=d.flag())


@recipe("image.crop_to_bounding_box")
def _(d):
    image = picture(d, side=(4, 5))
    return {"image": image, "offset_height": d.between(0, 2), "offset_width": d.between(0, 2),
            "target_height": d.between(1, 2), "target_width": d.between(1, 2)}  # fmt: skip


@recipe("image.pad_to_bounding_box")
def _(d):
    return {"image": picture(d, side=(2, 3)), "offset_height": d.between(0, 2),
            "offset_width": d.between(0, 2), "target_height": d.between(5, 6),
            "target_width": d.between(5, 6)}  # fmt: skip


@recipe("image.resize_with_crop_or_pad")
def _(d):
    return {"image": picture(d), "target_height": d.between(1, 6),
            "target_width": d.between(1, 6)}  # fmt: skip


METHODS = ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian",
           "mitchellcubic")  # fmt: skip


@recipe("image.resize")
def _(d):
    arguments = {"images": picture(d), "size": [d.between(1, 6), d.between(1, 6)]}
    d.some(arguments, 70, method=d.pick(METHODS))
    return d.keywords(arguments, 25, antialias=d.flag(), preserve_aspect_ratio=d.flag())


@recipe("image.resize_with_pad")
def _(d):
    arguments = {"image": picture(d), "target_height": d.between(1, 6),
                 "target_width": d.between(1, 6)}  # fmt: skip
    return d.keywords(arguments, 40, method=d.pick(METHODS), antialias=d.flag())


@recipe("image.crop_and_resize")
def _(d):
    n, batch = d.between(1, 3), d.between(1, 2)
    arguments = {
        "image": d.array(("float32", "uint8", "float64"), [batch, 4, 4, 2], "range 0 9"),
        "boxes": d.array("float32", [n, 4], "boxes"),
        "box_indices": d.array("int32", [n], f"range 0 {batch}"),
        "crop_size": [d.between(1, 4), d.between(1, 4)],
    }
    return d.keywords(arguments, 40, method=d.pick(("bilinear", "nearest")),
                      extrapolation_value=d.pick((0.0, 2.0)))  # fmt: skip


@recipe("image.extract_patches")
def _(d):
    return {
        "images": picture(d, (*PICTURES, "int32"), low=4),
        "sizes": [1, d.between(1, 3), d.between(1, 3), 1],
        "strides": [1, d.between(1, 2), d.between(1, 2), 1],
        "rates": [1, d.between(1, 2), 1, 1],
        "padding": d.pick(("SAME", "VALID")),
    }


@recipe("image.extract_glimpse", order=0)
def _(d):
    batch = d.between(1, 2)
    arguments = {"input": d.array("float32", [batch, 4, 5, 2], "pixel"),
                 "size": [d.between(1, 3), d.between(1, 3)],
                 "offsets": d.array("float32", [batch, 2], "interval")}  # fmt: skip
    d.keywords(arguments, 40, centered=d.flag(), normalized=d.flag())
    return {**arguments, "noise=": "zero"}


def boxes(d, n):
    return d.array("float32", [n, 4], "boxes")


@recipe("image.non_max_suppression", "image.non_max_suppression_with_scores")
def _(d):
    n = d.between(0, 5)
    arguments = {"boxes": boxes(d, n), "scores": d.array("float32", [n], "interval"),
                 "max_output_size": d.between(0, 4)}  # fmt: skip
    return d.keywords(arguments, 40, iou_threshold=d.pick((0.1, 0.5, 0.0)),
                      score_threshold=d.pick((0.2, 0.5)))  # fmt: skip


@recipe("image.non_max_suppression_overlaps")
def _(d):
    n = d.between(0, 4)
    arguments = {"overlaps": d.array("float32", [n, n], "interval"),
                 "scores": d.array("float32", [n], "interval"),
                 "max_output_size": d.between(0, 4)}  # fmt: skip
    return d.keywords(arguments, 40, overlap_threshold=d.pick((0.2, 0.7)),
                      score_threshold=d.pick((0.2, 0.5)))  # fmt: skip


@recipe("image.non_max_suppression_padded")
def _(d):
    n = d.between(1, 5)
    arguments = {"boxes": boxes(d, n), "scores": d.array("float32", [n], "interval"),
                 "max_output_size": d.between(1, 4)}  # fmt: skip
    return d.keywords(arguments, 40, iou_threshold=d.pick((0.1, 0.5)),
                      pad_to_max_output_size=d.flag())  # fmt: skip


@recipe("image.combined_non_max_suppression")
def _(d):
    n, classes, batch = d.between(1, 4), d.between(1, 2), d.between(1, 2)
    arguments = {
        "boxes": d.array("float32", [batch, n, d.pick((1, classes)), 4], "boxes"),
        "scores": d.array("float32", [batch, n, classes], "interval"),
        "max_output_size_per_class": d.between(1, 3),
        "max_total_size": d.between(1, 4),
    }
    return d.keywords(arguments, 40, iou_threshold=d.pick((0.1, 0.5)), score_threshold=0.2,
                      pad_per_class=d.flag(), clip_boxes=d.flag())  # fmt: skip


@recipe("image.draw_bounding_boxes")
def _(d):
    batch, n = d.between(1, 2), d.between(0, 2)
    return {"images": d.array(("float32", "float16"), [batch, 5, 5, d.pick((1, 3, 4))], "pixel"),
            "boxes": d.array("float32", [batch, n, 4], "boxes"),
            "colors": d.array("float32", [d.between(1, 2), 4], "pixel")}  # fmt: skip


@recipe("image.psnr")
def _(d):
    image = picture(d, ("float32", "float64", "uint8"))
    other = {"t": [*image["t"][:4], d.below(999)]}
    return {"a": image, "b": other, "max_val": d.pick((1.0, 255, 255.0))}


@recipe("image.ssim", order=1)
def _(d):
    image = picture(d, ("float32", "float64", "uint8"), low=4, side=(6, 8))
    other = {"t": [*image["t"][:4], d.below(999)]}
    arguments = {"img1": image, "img2": other, "max_val": d.pick((1.0, 255))}
    return {**arguments, "filter_size=": d.between(2, 5)}


@recipe("image.ssim_multiscale", order=1)
def _(d):
    image = d.array(FULL_FLOATS, [1, 12, 12, d.pick((1, 3))], "pixel")
    other = {"t": [*image["t"][:4], d.below(999)]}
    arguments = {"img1": image, "img2": other, "max_val": 1.0}
    return {**arguments, "power_factors=": {"u": [0.4, 0.6]}, "filter_size=": d.between(2, 4)}


def seed(d):
    return d.pick(([d.below(99), d.below(99)], {"u": [d.below(99), 1]}))


for name in ("flip_left_right", "flip_up_down"):
    recipe(f"image.stateless_random_{name}")(lambda d: {"image": picture(d), "seed": seed(d)})


@recipe("image.stateless_random_brightness")
def _(d):
    return {"image": picture(d), "max_delta": d.pick((0.1, 0.3)), "seed": seed(d)}


@recipe("image.stateless_random_hue")
def _(d):
    return {"image": picture(d, channels=3), "max_delta": d.pick((0.1, 0.3)), "seed": seed(d)}


@recipe("image.stateless_random_contrast")
def _(d):
    return {"image": picture(d), "lower": 0.2, "upper": d.pick((0.7, 2.0)), "seed": seed(d)}


@recipe("image.stateless_random_saturation")
def _(d):
    return {"image": picture(d, channels=3), "lower": 0.2, "upper": 1.5, "seed": seed(d)}


@recipe("image.stateless_random_crop")
def _(d):
    value = picture(d, batched=False, side=(4, 6))
    size = [d.between(1, 3), d.between(1, 3), value["t"][2][2]]
    return {"value": value, "size": size, "seed": seed(d)}


@recipe("image.stateless_sample_distorted_bounding_box", order=0)
def _(d):
    arguments = {
        "image_size": {"v": ["tensor", "int32", [d.between(5, 20), d.between(5, 20), 3]]},
        "bounding_boxes": d.array("float32", [1, d.between(1, 2), 4], "boxes"),
        "seed": seed(d),
    }
    return d.keywords(arguments, 40, min_object_covered=d.pick((0.1, 0.5)),
                      aspect_ratio_range=[0.5, 2.0], area_range=[0.2, 1.0])  # fmt: skip


@recipe("image.encode_png")
def _(d):
    return {"image": picture(d, ("uint8", "uint16"), batched=False)}
