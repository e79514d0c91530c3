"""8-bit floats: what converts, what moves, what is refused."""

import math

import mica
import numpy as np
import pytest

KINDS = {"f8e4m3fn": (448.0, math.nan), "f8e5m2": (57344.0, math.inf)}


@pytest.mark.parametrize("name", KINDS)
def test_every_code_is_a_number_that_converts_back(name):
    codes = mica.tensor(np.arange(256, dtype=np.uint8))
    wide = mica.bitcast(codes, dtype=name).astype("f32")
    numbers = np.array(wide.tolist())
    back = np.array(mica.bitcast(wide.astype(name), dtype="u8").tolist())
    known = ~np.isnan(numbers)
    assert (back[known] == np.arange(256)[known]).all() and known.sum() >= 250
    assert numbers[np.isfinite(numbers)].max() == KINDS[name][0]
    assert np.isnan(np.array(mica.bitcast(codes, dtype=name).astype("f64").tolist())[~known]).all()


@pytest.mark.parametrize("name", KINDS)
def test_python_numbers_round_as_tensors_do(name):
    given = [0.3, -1e-9, 464.0, 465.0, 61439.0, 61440.0, 1e9, -1e9, 0.0009765625, -0.0]
    made = mica.tensor(given, dtype=name)
    converted = mica.tensor(given, dtype="f64").astype(name)
    bits = [mica.bitcast(x, dtype="u8").tolist() for x in (made, converted)]
    assert bits[0] == bits[1]
    assert str(made.tolist()[6]) == str(KINDS[name][1]) and repr(made).startswith("Tensor([0.3")


def test_they_move_in_compiled_functions_and_do_not_compute():
    def move(x):
        y = (x * 1.5).astype("f8e5m2")
        return mica.concat(y, y.reshape(6)[::-1].reshape(2, 3), axis=0).astype("f32")

    x = mica.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    expected = [[1.5, 3.0, 4.0], [6.0, 8.0, 8.0], [8.0, 8.0, 6.0], [4.0, 3.0, 1.5]]
    assert move(x).tolist() == expected and mica.jit(move)(x).tolist() == expected
    y = x.astype("f8e4m3fn")
    for op in (lambda: y + y, lambda: mica.tanh(y), lambda: y @ y, lambda: y < y, lambda: y.sum()):
        with pytest.raises(TypeError, match="convert to f32 first"):
            op()
    assert mica.grad(lambda x: (x.astype("f8e5m2").astype("f32") * x).sum())(x).tolist() == [
        [1.0, 2.0, 3.0],
        [4.0, 5.0, 6.0],
    ]


def test_files_and_dlpack_carry_them(tmp_path):
    x = mica.tensor([1.0, 449.0, -0.25]).astype("f8e4m3fn")
    mica.save(tmp_path / "x.safetensors", {"x": x, "y": x.astype("f8e5m2")})
    read = mica.load(tmp_path / "x.safetensors")
    assert [str(read[k].dtype) for k in "xy"] == ["f8e4m3fn", "f8e5m2"]
    assert read["x"].tolist() == [1.0, 448.0, -0.25] and read["y"].tolist() == [1.0, 448.0, -0.25]
    again = mica.from_dlpack(x)
    assert again.dtype == "f8e4m3fn" and again.tolist() == x.tolist()
    assert x.numpy().dtype == np.float32 and x.numpy().tolist() == x.tolist()
