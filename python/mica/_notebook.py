"""How tensors show in notebooks: what they are, and the first of their elements as a table."""

from __future__ import annotations

import html
from typing import Any

_MOST = 8  # rows and columns


def _cell(value: Any) -> str:
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    if isinstance(value, float):
        value = f"{value:.6g}"
    elif isinstance(value, complex):
        value = f"{value:.4g}"
    text = str(value)
    return html.escape(text if len(text) <= 60 else text[:59] + "\u2026")


def _table(rows: list[list[Any]], shape: tuple[int, int]) -> str:
    """The rows that are given, with a mark where the shape has more."""
    more = "<td>\u2026</td>" if shape[1] > _MOST else ""
    lines = [
        "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + more + "</tr>"
        for row in rows
    ]
    if shape[0] > _MOST:
        lines.append("<tr>" + "<td>\u2026</td>" * (min(shape[1], _MOST) + bool(more)) + "</tr>")
    return '<table style="font-variant-numeric: tabular-nums">' + "".join(lines) + "</table>"


def array_html(array: Any, name: str, where: str) -> str:
    """A heading, and the elements of the last two axes at the beginning of the others.

    `array` is sliced before anything is read: of large ones the first elements alone come.
    """
    shape = tuple(array.shape)
    sizes = "\u00d7".join(str(size) for size in shape) or "scalar"
    heading = f"<b>{html.escape(name)}</b> {sizes}, {html.escape(where)}"
    if 0 in shape:
        return f"{heading}<br>no elements"
    if not shape:
        return f"{heading}<table><tr><td>{_cell(array.tolist())}</td></tr></table>"
    for _ in shape[2:]:
        array = array[0]
    place = "" if len(shape) < 3 else f"<br><code>[{'0, ' * (len(shape) - 2)}:, :]</code>"
    if len(shape) == 1:
        return heading + _table([array[:_MOST].tolist()], (1, shape[0]))
    rows = array[:_MOST, :_MOST].tolist()
    return heading + place + _table(rows, (shape[-2], shape[-1]))


def tensor_html(tensor: Any) -> str:
    """A tensor of mica."""
    return array_html(tensor, f"mica.{tensor.dtype}", tensor.device.name)


def eager_html(tensor: Any) -> str:
    """A tensor of TensorFlow's front; text and numbers come from numpy."""
    import numpy  # mica itself does without it

    place = tensor.device.rpartition("device:")[2] or "host"
    return array_html(numpy.asarray(tensor.numpy()), f"tf.{tensor.dtype.name}", place)
