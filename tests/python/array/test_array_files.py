"""mica.save and mica.load: trees of arrays as safetensors, .npz and .npy, as others write them."""

import json
import struct

import mica
import numpy as np
import pytest

DTYPES = ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


def sample(dtype, shape=(2, 3)):
    numbers = np.random.default_rng(0).standard_normal(shape) * 50
    return (numbers > 0 if dtype == "b1" else np.abs(numbers)).astype(dtype)


@pytest.mark.parametrize("ending", [".npz", ".safetensors"])
def test_a_tree_comes_back_with_its_bits(tmp_path, ending):
    model = mica.nn.Sequential(mica.nn.Linear(2, 3), mica.relu, mica.nn.BatchNorm(3))
    both = {"parameters": model.parameters(), "state": model.state(), "é": mica.tensor(7)}
    mica.save(tmp_path / f"m{ending}", both)
    assert "parameters.parts.0.weight" in mica.load(tmp_path / f"m{ending}")
    again = mica.load(str(tmp_path / f"m{ending}"), like=both)
    assert mica.tree.structure(again) == mica.tree.structure(both)
    for a, b in zip(mica.tree.leaves(again), mica.tree.leaves(both), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_numpy_reads_what_mica_writes_and_the_other_way_round(tmp_path):
    arrays = {d: sample(d) for d in DTYPES} | {"empty": np.zeros((0, 3), "f"), "one": np.float32(3)}
    mica.save(tmp_path / "a.npz", {k: mica.tensor(v) for k, v in arrays.items()})
    with np.load(tmp_path / "a.npz") as found:
        assert set(found.files) == set(arrays)
        for name, array in arrays.items():
            assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
            np.testing.assert_array_equal(found[name], array)
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "b.npz", **arrays)
        found = mica.load(tmp_path / "b.npz")
        for name, array in arrays.items():
            np.testing.assert_array_equal(found[name].numpy(), array)


def test_any_order_of_axes_and_bytes_is_read(tmp_path):
    for dtype in DTYPES:
        for array in (
            np.asfortranarray(sample(dtype, (2, 3, 4))),
            sample(dtype).astype(np.dtype(dtype).newbyteorder(">")),
            np.asfortranarray(sample(dtype, (3, 2)).astype(np.dtype(dtype).newbyteorder(">"))),
        ):
            np.save(tmp_path / "x.npy", array)
            np.testing.assert_array_equal(mica.load(tmp_path / "x.npy")[""].numpy(), array)
    mica.save(tmp_path / "y.npy", mica.ones((2, 3)))
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), np.ones((2, 3)))


def test_a_safetensors_file_is_what_its_format_says(tmp_path):
    path = tmp_path / "x.safetensors"
    mica.save(path, {"w": mica.tensor([1.5, -2.0], "bf16"), "n": mica.tensor([[3]], "i64")})
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    assert length % 8 == 0
    header = json.loads(data[8 : 8 + length])
    assert header == {
        "n": {"dtype": "I64", "shape": [1, 1], "data_offsets": [0, 8]},
        "w": {"dtype": "BF16", "shape": [2], "data_offsets": [8, 12]},
    }
    assert data[8 + length :] == struct.pack("<qHH", 3, 0x3FC0, 0xC000)
    text = json.dumps({"__metadata__": {"format": "pt"}} | header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])
    found = mica.load(path)
    assert found["w"].dtype == "bf16" and found["w"].tolist() == [1.5, -2.0]


def test_what_does_not_fit_is_named(tmp_path):
    path = tmp_path / "m.npz"
    mica.save(path, {"a": mica.ones((2,)), "b": mica.ones((3,))})
    with pytest.raises(ValueError, match=r"lacks \['c'\] and has \['b'\]"):
        mica.load(path, like={"a": mica.ones((2,)), "c": mica.ones((3,))})
    with pytest.raises(ValueError, match=r"has 'b' as f32\[3\], not f32\[4\]"):
        mica.load(path, like={"a": mica.ones((2,)), "b": mica.ones((4,))})
    with pytest.raises(ValueError, match=r"two arrays of the tree are named 'a\.b'"):
        mica.save(path, {"a": {"b": mica.ones(1)}, "a.b": mica.ones(1)})
    with pytest.raises(ValueError, match=r"ends with none of \.safetensors, \.npz and \.npy"):
        mica.save(tmp_path / "m.pt", {"a": mica.ones(1)})
    with pytest.raises(OSError, match="missing"):
        mica.load(tmp_path / "missing.npz")
    np.savez(path, a=np.array(["text"]))
    with pytest.raises(NotImplementedError, match="has the dtype '<U4'"):
        mica.load(path)
    path.write_bytes(b"PK\5\6" + bytes(10))
    with pytest.raises(OSError, match="is damaged"):
        mica.load(path)


def test_a_small_archive_cannot_ask_for_much_memory(tmp_path):
    path = tmp_path / "x.npz"
    np.savez_compressed(path, a=np.zeros(1000, "f"))
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\1\2") + 24  # the size of the file in the list
    data[at : at + 4] = struct.pack("<I", 0xF0000000)
    path.write_bytes(data)
    with pytest.raises(OSError, match="damaged"):
        mica.load(path)
