"""`tf.compat.v1.image`: sizes as TensorFlow 1 counts them."""

from corpus import case, f, plain, raises

NAMES = ("resize_bilinear", "resize_bicubic", "resize_nearest_neighbor", "resize_area")
for name in NAMES:
    for aligned in (False, True):

        def resized(tf, x, name=name, aligned=aligned):
            return getattr(tf.compat.v1.image, name)(x, [3, 7], align_corners=aligned)

        case(
            f"tf.compat.v1.image.{name}",
            "corners aligned" if aligned else "plain",
            resized,
            f(2, 5, 4, 2),
            **({"grad": "ResizeArea has no gradient"} if name == "resize_area" else {}),
        )


@plain("tf.compat.v1.image.resize_bilinear", "half pixel centers")
def half_pixels(tf):
    x = tf.reshape(tf.range(24.0), [1, 3, 4, 2])
    return tf.compat.v1.image.resize_bilinear(x, [5, 2], half_pixel_centers=True)


@plain(("tf.compat.v1.image.resize", "tf.compat.v1.image.resize_images"), "its ways")
def ways(tf):
    image = tf.compat.v1.image
    x = tf.reshape(tf.range(24, dtype=tf.int32), [1, 4, 3, 2])
    method = image.ResizeMethod
    kinds = (method.BILINEAR, method.NEAREST_NEIGHBOR, method.BICUBIC, method.AREA)
    results = [image.resize(x, [6, 2], kind) for kind in kinds]
    results += [image.resize_images(x[0], [2, 5], "bilinear", align_corners=True)]
    results += [image.resize(x, [4, 3])]  # as it is, integers
    return [*results, image.resize(x, [8, 8], preserve_aspect_ratio=True)]


@plain("tf.compat.v1.image.resize_image_with_pad", "a tall picture")
def padded(tf):
    x = tf.reshape(tf.range(24.0), [4, 3, 2])
    return tf.compat.v1.image.resize_image_with_pad(x, 6, 6)


@plain("tf.compat.v1.image.resize_image_with_crop_or_pad", "both at once")
def cropped(tf):
    x = tf.reshape(tf.range(24.0), [4, 3, 2])
    return tf.compat.v1.image.resize_image_with_crop_or_pad(x, 2, 5)


@plain("tf.compat.v1.image.crop_and_resize", "places by either name")
def crops(tf):
    x, boxes = tf.reshape(tf.range(24.0), [1, 4, 3, 2]), [[0.0, 0.0, 0.5, 1.0]]
    crop = tf.compat.v1.image.crop_and_resize
    return crop(x, boxes, [0], [2, 2]), crop(x, boxes, crop_size=[2, 2], box_indices=[0])


@plain("tf.compat.v1.image.draw_bounding_boxes", "one box")
def drawn(tf):
    boxes = [[[0.1, 0.1, 0.7, 0.8]]]
    return tf.compat.v1.image.draw_bounding_boxes(
        tf.zeros([1, 6, 6, 3]), boxes, colors=[[1.0, 0.5, 0.0]]
    )


raises(
    "tf.compat.v1.image.resize",
    "an unknown way",
    "method not implemented",
    lambda tf: tf.compat.v1.image.resize(tf.ones([1, 2, 2, 1]), [3, 3], 7),
)
raises(
    "tf.compat.v1.image.resize",
    "a size of three",
    "size 1-D 2 elements",
    lambda tf: tf.compat.v1.image.resize(tf.ones([1, 2, 2, 1]), [3, 3, 3]),
)
raises(
    "tf.compat.v1.image.crop_and_resize",
    "places twice",
    "Cannot specify both box_indices box_ind",
    lambda tf: tf.compat.v1.image.crop_and_resize(
        tf.ones([1, 2, 2, 1]), [[0.0, 0.0, 1.0, 1.0]], [0], [2, 2], box_indices=[0]
    ),
)
