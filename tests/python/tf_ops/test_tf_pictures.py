"""Pictures and windows whose shapes are unknown, or leave no room (answers of TensorFlow 2.21)."""

import numpy as np
import pytest

tf = pytest.importorskip("mica.tf")

PICTURE = np.arange(60, dtype=np.float32).reshape(5, 4, 3)
BATCH = np.stack([PICTURE, PICTURE[::-1]])
SEED = (3, 4)

# What a function of pictures knows of its result's shape, for one of unknown sizes.
STATIC = {
    "resize_with_pad": (lambda x: tf.image.resize_with_pad(x, 4, 6), [4, 6, None]),
    "resize_with_crop_or_pad": (lambda x: tf.image.resize_with_crop_or_pad(x, 3, 6), [3, 6, None]),
    "pad_to_bounding_box": (lambda x: tf.image.pad_to_bounding_box(x, 1, 2, 8, 9), [8, 9, None]),
    "crop_to_bounding_box": (lambda x: tf.image.crop_to_bounding_box(x, 1, 2, 3, 1), [3, 1, None]),
    "grayscale_to_rgb": (lambda x: tf.image.grayscale_to_rgb(x[..., :1]), [None, None, 3]),
    "stateless_random_crop": (
        lambda x: tf.image.stateless_random_crop(x, [2, 2, 3], SEED),
        [2, 2, 3],
    ),
}
UNKNOWN_RANK = {
    "flip_left_right": tf.image.flip_left_right,
    "flip_up_down": tf.image.flip_up_down,
    "transpose": tf.image.transpose,
    "rot90": tf.image.rot90,
    "per_image_standardization": tf.image.per_image_standardization,
    "stateless_random_flip_left_right": lambda x: tf.image.stateless_random_flip_left_right(
        x, SEED
    ),
    "stateless_random_flip_up_down": lambda x: tf.image.stateless_random_flip_up_down(x, SEED),
}


@pytest.mark.parametrize("name", STATIC)
def test_sizes_that_follow_from_arguments_are_known(name):
    function, wanted = STATIC[name]
    known = []

    @tf.function(input_signature=[tf.TensorSpec([None, None, None])])
    def call(x):
        known.append(function(x).shape.as_list())
        return function(x)

    assert np.array_equal(call(PICTURE), function(PICTURE))
    assert known[0] == wanted


@pytest.mark.parametrize("name", UNKNOWN_RANK)
def test_one_picture_and_many_pass_where_the_rank_is_unknown(name):
    function = UNKNOWN_RANK[name]
    call = tf.function(function, input_signature=[tf.TensorSpec(None)])
    for pictures in (PICTURE, BATCH):
        assert np.array_equal(call(pictures), function(pictures))


def test_boxes_are_drawn_where_their_number_is_unknown():
    pictures = np.zeros([1, 5, 5, 1], np.float32)
    boxes = np.array([[[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.5, 0.5]]], np.float32)
    colours = [[1.0], [2.0]]

    @tf.function(input_signature=[tf.TensorSpec([None] * 4), tf.TensorSpec([None] * 3)])
    def draw(pictures, boxes):
        return tf.image.draw_bounding_boxes(pictures, boxes, colours)

    found = draw(pictures, boxes)[0, ..., 0].numpy()
    wanted = [
        [2, 2, 2, 1, 1],
        [2, 0, 2, 0, 1],
        [2, 2, 2, 0, 1],
        [1, 0, 0, 0, 1],
        [1, 1, 1, 1, 1],
    ]
    assert found.tolist() == wanted
    assert draw(pictures, boxes[:, :0]).numpy().max() == 0


def transposed(output_shape):
    return tf.nn.conv2d_transpose(tf.ones([1, 3, 2, 2]), tf.ones([2, 2, 3, 2]), output_shape, 1)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: tf.image.crop_to_bounding_box(PICTURE, 0, 0, 9, 1), ValueError),
        (lambda: tf.image.pad_to_bounding_box(PICTURE, 0, -1, 9, 9), ValueError),
        (lambda: tf.image.resize_with_pad(PICTURE, 0, 3), ValueError),
        (lambda: tf.image.adjust_gamma(PICTURE, -1), ValueError),
        (lambda: tf.image.convert_image_dtype([1j], tf.float32), AttributeError),
        (lambda: tf.image.rgb_to_hsv(BATCH[..., :2]), tf.errors.FailedPreconditionError),
        (lambda: tf.image.adjust_hue(BATCH[..., :2], 0.1), tf.errors.InvalidArgumentError),
        (lambda: tf.nn.space_to_depth(BATCH, 1), tf.errors.InvalidArgumentError),
        (lambda: tf.nn.max_pool2d(BATCH, 9, 1, "VALID"), tf.errors.InvalidArgumentError),
        (lambda: tf.nn.pool(BATCH, [1, 1], "MAX", [2, 2]), ValueError),
        (lambda: tf.nn.lrn(tf.ones([1, 2, 2, 1], tf.int32)), tf.errors.InvalidArgumentError),
        (lambda: transposed([2, 3, 2, 3]), tf.errors.InvalidArgumentError),
        (lambda: transposed([1, 3, 2, 4]), tf.errors.InvalidArgumentError),
        (lambda: transposed([1, 3, 2, 6]), tf.errors.UnimplementedError),
        (lambda: tf.nn.compute_average_loss(tf.constant(1.0)), ValueError),
    ],
)
def test_arguments_that_do_not_fit_are_refused(call, kind):
    with pytest.raises(kind):
        call()


def test_a_window_that_reaches_less_than_a_stride_too_far_has_no_places():
    assert tf.nn.max_pool2d(BATCH, 6, 2, "VALID").shape == [2, 0, 0, 3]
    assert tf.nn.conv2d(BATCH, np.ones([6, 3, 3, 1], np.float32), 2, "VALID").shape == [2, 0, 1, 1]


def test_windows_know_the_rank_of_images_of_unknown_rank():
    known = []

    @tf.function(input_signature=[tf.TensorSpec(None)])
    def call(x):
        y = tf.nn.avg_pool2d(x, 2, 2, "SAME")
        known.append(y.shape.as_list())
        return y

    assert call(BATCH).shape == [2, 3, 2, 3]
    assert known == [[None] * 4]


def test_morphology_of_integers():
    x = tf.reshape(tf.range(6), [1, 2, 3, 1])
    w = tf.constant([[[-1], [0]], [[-2], [-3]]])
    arguments = [1, 1, 1, 1], "SAME", "NHWC", [1, 1, 1, 1]
    assert tf.nn.dilation2d(x, w, *arguments).numpy().ravel().tolist() == [1, 2, 3, 4, 5, 4]
    assert tf.nn.erosion2d(x, w, *arguments).numpy().ravel().tolist() == [3, 4, 5, 6, 7, 8]


def test_constants_of_float64_are_read_whole():
    assert tf.constant([[0.1, 0.2]], tf.float64).numpy().tolist() == [[0.1, 0.2]]
    assert (tf.ones([2], tf.float64) * [0.1, 0.7]).numpy().tolist() == [0.1, 0.7]
