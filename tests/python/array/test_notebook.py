"""What notebooks show of tensors and models: whole HTML, escaped, of a bounded size."""

import subprocess
import sys
from html.parser import HTMLParser

import mica
import pytest


class Cells(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.cells, self.open = [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        if tag != "br":
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += text


def test_a_matrix_is_a_table_of_its_elements():
    text = mica.tensor([[1.5, 2.0], [3.0, -4.0]])._repr_html_()
    assert Cells(text).cells == ["1.5", "2", "3", "-4"]
    assert "mica.f32" in text and "2\u00d72" in text and "cpu:0" in text


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (5,), (100,), (9, 200), (2, 3, 4), (1,) * 6])
def test_any_shape_shows_within_bounds(shape):
    cells = Cells(mica.zeros(shape)._repr_html_()).cells
    assert len(cells) <= 90
    assert bool(cells) == (0 not in shape)


def test_large_tensors_show_that_there_is_more():
    assert Cells(mica.arange(100)._repr_html_()).cells[-1] == "\u2026"


def test_a_model_is_a_table_of_its_parameters():
    model = mica.nn.Sequential(mica.nn.Linear(2, 3), mica.tanh)
    cells = Cells(model._repr_html_()).cells
    assert cells[3:6] == ["parts.0.weight", "f32", "(2, 3)"]

    class Named(mica.nn.Module):
        def __init__(self):
            self.parts = {"<b>x": mica.nn.Linear(1, 1)}

    assert "parts.<b>x.weight" in Cells(Named()._repr_html_()).cells


def test_tensors_and_variables_of_tensorflow(tmp_path):
    script = tmp_path / "show.py"
    script.write_text(
        "import tensorflow as tf\n"
        "text = tf.constant([['<b>', 'a&b']])._repr_html_()\n"
        "assert '&lt;b&gt;' in text and 'a&amp;b' in text and '<b>tf.string</b>' in text, text\n"
        "text = tf.Variable([1.0, 2.5], name='<v>')._repr_html_()\n"
        "assert '&lt;v&gt;' in text and '2.5' in text and 'tf.float32' in text, text\n"
        "assert 'tf.bfloat16' in tf.ones((2, 2), tf.bfloat16)._repr_html_()\n"
        "@tf.function\n"
        "def f(x):\n"
        "    assert not hasattr(x, '_repr_html_')\n"
        "    return x\n"
        "f(tf.ones(2))\n"
    )
    command = [sys.executable, "-m", "mica.tf", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
