"""Boxes in pictures, of tf.image: (y1, x1, y2, x2), as parts of the height and the width."""

from __future__ import annotations

import collections
from builtins import range as builtins_range

from . import _dtypes
from ._array import range, reshape, shape, stack, where, zeros_like
from ._core import convert_to_tensor, ops
from ._elementwise import floor, is_finite
from ._functional import map_fn
from ._math import cast
from ._refusals import operand
from ._select import gather_nd
from ._static import of_rank


def _along(low, high, size, count):
    """Where `count` samples from low to high are, in places of an axis of this size."""
    last = cast(size - 1, _dtypes.float32)
    steps = cast(range(count), _dtypes.float32)[None, :]
    low, high = low[:, None], high[:, None]
    if isinstance(count, int) and count == 1:
        return 0.5 * (low + high) * last
    width = (high - low) * last / cast(count - 1, _dtypes.float32)
    return low * last + steps * width


def crop_and_resize(
    image,
    boxes,
    box_indices,
    crop_size,
    method="bilinear",
    extrapolation_value=0.0,
    name=None,
):
    """Return the parts of pictures within boxes, each made of one size.

    Parameters
    ----------
    image
        Pictures, of shape [batch, height, width, depth].
    boxes, box_indices
        Boxes, and the picture that each is in.
    crop_size
        The height and width of the results.
    """
    method = "bilinear" if method is None else method
    if method not in ("bilinear", "nearest"):
        raise ValueError(f"method must be 'bilinear' or 'nearest', not {method!r}")
    image = of_rank(cast(convert_to_tensor(image), _dtypes.float32), 4)
    boxes = of_rank(convert_to_tensor(boxes, _dtypes.float32), 2)
    which = of_rank(convert_to_tensor(box_indices, _dtypes.int32), 1)
    count = boxes.shape[0] if which.shape[0] is None else which.shape[0]
    size = shape(image)
    rows, columns = (
        crop_size
        if isinstance(crop_size, list | tuple)
        else ops["Unpack"](convert_to_tensor(crop_size, _dtypes.int32), num=2)
    )
    y = _along(boxes[:, 0], boxes[:, 2], size[1], rows)
    x = _along(boxes[:, 1], boxes[:, 3], size[2], columns)
    is_inside = ops["LogicalAnd"](
        _is_within(y, size[1])[:, :, None], _is_within(x, size[2])[:, None, :]
    )[..., None]
    y, x = y[:, :, None] + 0.0 * x[:, None, :], x[:, None, :] + 0.0 * y[:, :, None]
    which = which[:, None, None] + cast(0.0 * y, _dtypes.int32)

    def at(pixels, row, column):
        row = _clamped(row, size[1])
        column = _clamped(column, size[2])
        return gather_nd(pixels, stack([which, row, column], -1))

    def between(pixels):
        top, left = floor(y), floor(x)
        bottom, right = ops["Ceil"](y), ops["Ceil"](x)
        across, down = (x - left)[..., None], (y - top)[..., None]
        corner, under = at(pixels, top, left), at(pixels, bottom, left)
        above = corner + (at(pixels, top, right) - corner) * across
        below = under + (at(pixels, bottom, right) - under) * across
        return above + (below - above) * down

    if method == "bilinear":
        found = between(image)
    else:  # the boxes have the derivative of the other method
        moved = between(ops["StopGradient"](image))
        moved = where(is_finite(moved), moved - ops["StopGradient"](moved), zeros_like(moved))
        found = at(image, _rounded(y), _rounded(x)) + moved
    found = where(is_inside, found, convert_to_tensor(extrapolation_value, _dtypes.float32))
    sizes = [n if isinstance(n, int) else None for n in (rows, columns)]
    found.set_shape([count, *sizes, image.shape[3]])
    return found


def _is_within(places, size):
    last = cast(size - 1, _dtypes.float32)
    return ops["LogicalAnd"](places >= 0.0, places <= last)


def _rounded(x):
    """To the nearest, halves away from zero."""
    return ops["Sign"](x) * floor(ops["Abs"](x) + 0.5)


def _clamped(places, size):
    return ops["Maximum"](ops["Minimum"](cast(places, _dtypes.int32), size - 1), 0)


# ---- suppression -------------------------------------------------------------------------------


def _number(value, dtype=_dtypes.float32):
    return convert_to_tensor(value, dtype)


def _check_threshold(value, op: str, place: int) -> None:
    """Refuse a threshold that is no float, be it a whole number of Python."""
    operand(convert_to_tensor(value), _dtypes.float32, op, place)


def _suppressed(boxes, scores, most, iou, threshold, sigma=0.0, pads=False):
    return ops["NonMaxSuppressionV5"](
        _number(boxes),
        _number(scores),
        _number(most, _dtypes.int32),
        _number(iou),
        _number(threshold),
        _number(sigma),
        pad_to_max_output_size=pads,
    )


def non_max_suppression(
    boxes,
    scores,
    max_output_size,
    iou_threshold=0.5,
    score_threshold=float("-inf"),
    name=None,
):
    """Return the places of the best boxes, without those that overlap with better ones."""
    _check_threshold(iou_threshold, "NonMaxSuppressionV3", 3)
    _check_threshold(score_threshold, "NonMaxSuppressionV3", 4)
    return _suppressed(boxes, scores, max_output_size, iou_threshold, score_threshold)[0]


def non_max_suppression_with_scores(
    boxes,
    scores,
    max_output_size,
    iou_threshold=0.5,
    score_threshold=float("-inf"),
    soft_nms_sigma=0.0,
    name=None,
):
    """Return places and scores; with a sigma, overlapping boxes lose score instead of leaving."""
    found = _suppressed(
        boxes,
        scores,
        max_output_size,
        *map(convert_to_tensor, (iou_threshold, score_threshold, soft_nms_sigma)),
    )
    return found[0], found[1]


def non_max_suppression_padded(
    boxes,
    scores,
    max_output_size,
    iou_threshold=0.5,
    score_threshold=float("-inf"),
    pad_to_max_output_size=False,
    name=None,
    sorted_input=False,
    canonicalized_coordinates=False,
    tile_size=512,
):
    """Return places, filled up with zeros, and how many they are; of several pictures too."""
    boxes, scores = (cast(x, _dtypes.float32) for x in map(convert_to_tensor, (boxes, scores)))
    if sorted_input:  # the order is that of the boxes, whatever the scores
        given = scores > score_threshold
        places = cast(ops["Range"](0, shape(scores)[-1], 1), _dtypes.float32)
        below = ops["Fill"](shape(scores), convert_to_tensor(-1.0))
        scores = where(given, 1.0 / (1.0 + places), below)
        score_threshold = -0.5

    def one(parts):
        found = _suppressed(
            parts[0], parts[1], max_output_size, iou_threshold, score_threshold, 0.0, True
        )
        return found[0], found[2]

    if boxes.shape.rank in (None, 2):
        found = _suppressed(
            boxes,
            scores,
            max_output_size,
            iou_threshold,
            score_threshold,
            0.0,
            pad_to_max_output_size,
        )
        return found[0], found[2]

    return map_fn(one, (boxes, scores), fn_output_signature=(_dtypes.int32, _dtypes.int32))


def non_max_suppression_overlaps(
    overlaps,
    scores,
    max_output_size,
    overlap_threshold=0.5,
    score_threshold=float("-inf"),
    name=None,
):
    """Return the places of the best boxes, where overlaps says how much each two share."""
    return ops["NonMaxSuppressionWithOverlaps"](
        _number(overlaps),
        _number(scores),
        _number(max_output_size, _dtypes.int32),
        _number(overlap_threshold),
        _number(score_threshold),
        name=name,
    )


CombinedNonMaxSuppression = collections.namedtuple(
    "CombinedNonMaxSuppression", "nmsed_boxes nmsed_scores nmsed_classes valid_detections"
)


def combined_non_max_suppression(
    boxes,
    scores,
    max_output_size_per_class,
    max_total_size,
    iou_threshold=0.5,
    score_threshold=float("-inf"),
    pad_per_class=False,
    clip_boxes=True,
    name=None,
):
    """Return the best boxes of all classes of each picture, their scores, classes and number."""
    return CombinedNonMaxSuppression(
        *ops["CombinedNonMaxSuppression"](
            operand(boxes, _dtypes.float32, "CombinedNonMaxSuppression", 0),
            operand(scores, _dtypes.float32, "CombinedNonMaxSuppression", 1),
            _number(max_output_size_per_class, _dtypes.int32),
            _number(max_total_size, _dtypes.int32),
            _number(iou_threshold),
            _number(score_threshold),
            pad_per_class=pad_per_class,
            clip_boxes=clip_boxes,
        )
    )


# ---- drawing -----------------------------------------------------------------------------------

_COLOURS = [
    [1.0, 1.0, 0.0, 1.0],
    [0.0, 0.0, 1.0, 1.0],
    [1.0, 0.0, 0.0, 1.0],
    [0.0, 1.0, 0.0, 1.0],
    [0.5, 0.0, 0.5, 1.0],
    [0.5, 0.5, 0.0, 1.0],
    [0.5, 0.0, 0.0, 1.0],
    [0.0, 0.0, 0.5, 1.0],
    [0.0, 1.0, 1.0, 1.0],
    [1.0, 0.0, 1.0, 1.0],
]


def draw_bounding_boxes(images, boxes, colors, name=None):
    """Return pictures with the frames of boxes on them, one after the other.

    Parameters
    ----------
    images
        Pictures, of shape [batch, height, width, depth].
    boxes
        Boxes, of shape [batch, boxes, 4]; how many there are has to be known.
    colors
        Colours of the frames, taken in turns.
    """
    images = of_rank(convert_to_tensor(images), 4)
    boxes = of_rank(convert_to_tensor(boxes, _dtypes.float32), 3)
    if boxes.shape.rank != 3:
        raise ValueError(f"boxes must be of shape [batch, number, 4], not {boxes.shape}")
    size = shape(images)
    if colors is None:
        # White for pictures of one channel, whose number may be unknown yet.
        colors = convert_to_tensor(_COLOURS, _dtypes.float32)
        colors = where(size[3] == 1, ops["OnesLike"](colors), colors)
    colors = of_rank(convert_to_tensor(colors, _dtypes.float32), 2)
    rows = reshape(range(size[1]), [1, 1, -1, 1])
    columns = reshape(range(size[2]), [1, 1, 1, -1])
    last = cast(stack([size[1], size[2], size[1], size[2]]) - 1, _dtypes.float32)
    ends = cast(boxes * last, _dtypes.int32)
    top, left, bottom, right = (ends[:, :, i, None, None] for i in builtins_range(4))
    across = _both(columns >= left, columns <= right)
    down = _both(rows >= top, rows <= bottom)
    on_frame = ops["LogicalOr"](
        _both(across, _either(rows == top, rows == bottom)),
        _both(down, _either(columns == left, columns == right)),
    )
    on_frame = _both(on_frame, _both(top <= bottom, left <= right))
    # Later boxes cover earlier ones: the number of the last box at each place, from 1 on.
    numbers = reshape(range(shape(boxes)[1]) + 1, [1, -1, 1, 1])
    none = reshape(range(size[0]) * 0, [-1, 1, 1, 1]) + rows * 0 + columns * 0
    front = ops["Max"](
        ops["ConcatV2"]([none, where(on_frame, numbers, ops["ZerosLike"](numbers))], 1), 1
    )
    which = ops["FloorMod"](ops["Maximum"](front - 1, 0), shape(colors)[0])
    colour = cast(ops["GatherV2"](colors, which, 0)[..., : size[3]], images.dtype)
    found = where((front > 0)[..., None], colour, images)
    found.set_shape(images.shape)
    return found


def _both(a, b):
    return ops["LogicalAnd"](a, b)


def _either(a, b):
    return ops["LogicalOr"](a, b)
