"""Saved models: those that TensorFlow made are loaded and run, and what is saved comes back."""

import json
import pathlib
import re
import shutil
import subprocess
import sys

import mica.tf as tf
import numpy as np
import pytest
from house import BUILD, run
from mica.tf._bundle import write_bundle

MODELS = pathlib.Path(__file__).parents[2] / "tf" / "saved_models"
EXPECTED = json.loads((MODELS / "expected.json").read_text(encoding="utf-8"))


def load(name):
    return tf.saved_model.load(str(MODELS / name))


def found(model, path):
    for name in path.split("."):
        if name != "__call__":
            model = (
                model[name]
                if isinstance(model, tf.saved_model._load.SignatureMap)
                else getattr(model, name)
            )
    return model


def assert_same(got, wanted):
    if isinstance(wanted, dict):
        assert set(got) == set(wanted)
        for key in wanted:
            assert_same(got[key], wanted[key])
    elif isinstance(got, tuple | list):
        for one, other in zip(got, wanted, strict=True):
            assert_same(one, other)
    elif got.dtype == tf.string:
        assert [text.decode() for text in got.numpy().reshape(-1)] == wanted
    else:
        np.testing.assert_allclose(got.numpy(), np.array(wanted), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_what_tensorflow_saved_gives_what_it_gave_there(name):
    model = load(name)
    for path, arguments, result in EXPECTED[name]:
        got = found(model, path)(*[tf.constant(a) for a in arguments])
        assert_same(got, result)


def test_a_check_of_numbers_in_a_file_is_one():
    checked = load("resources").checked
    for bad, kinds in (([1.0, np.nan], "NaN"), ([np.inf, 1.0], "Inf")):
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"x is bad : Tensor had {kinds}"):
            checked(tf.constant(bad))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"z is bad : Tensor had NaN values"):
        checked(tf.constant([1.0, -1.0]))


def test_places_beyond_a_variable_are_refused():
    model = load("resources")
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not index into"):
        model.read(tf.constant([[3, 0]]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="hape"):
        model.slices(tf.ones([3, 2]))
    assert model.read(tf.constant([[2, 1]]))[0] == 6.0
    with pytest.raises(NotImplementedError, match="bad_indices_policy 'IGNORE' must be"):
        model.ignored(tf.constant([[0]]))


def test_a_signature_tells_its_inputs_and_outputs():
    signature = load("dense").signatures["serving_default"]
    assert signature.structured_input_signature == (
        (),
        {"x": tf.TensorSpec([None, 3], tf.float32, name="x")},
    )
    assert signature.structured_outputs == {
        "output_0": tf.TensorSpec([None, 2], tf.float32, name="output_0")
    }
    assert [t.dtype for t in signature.inputs] == [tf.float32, tf.resource, tf.resource]
    assert [t.shape.as_list() for t in signature.outputs] == [[None, 2]]
    assert [v.name for v in signature.variables] == ["w:0", "b:0"]
    assert signature(x=tf.ones([4, 3]))["output_0"].shape == [4, 2]


def test_variables_come_with_values_and_can_be_trained():
    model = load("dense")
    assert model.w.trainable and not model.steps.trainable
    np.testing.assert_array_equal(model.w.numpy(), np.arange(6.0).reshape(3, 2))
    x = tf.constant([[1.0, -1.0, 2.0]])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(x) ** 2)
    w, b = tape.gradient(loss, [model.w, model.b])
    np.testing.assert_allclose(b.numpy(), [13.0, 15.0])
    np.testing.assert_allclose(w.numpy(), np.outer([1, -1, 2], [13.0, 15.0]))
    model.b.assign_sub(b)
    np.testing.assert_allclose(model(x).numpy(), [[0.0, 0.0]])


def test_a_function_with_effects_has_them_each_time():
    model = load("dense")
    assert [int(model.count()) for _ in range(3)] == [8, 9, 10]
    assert int(model.steps) == 10


def test_lists_dicts_and_tuples_come_back():
    model = load("control")
    assert [float(tf.reduce_sum(v)) for v in model.parts] == [1.0, 5.0]
    assert float(model.named["a"]) == 4.0
    assert float(model.named["nested"][0]) == 5.0
    assert tuple(map(float, model.pair)) == (6.0, 7.0)


def test_gradients_go_through_loops_and_branches():
    model = load("control")
    with tf.GradientTape() as tape:
        total, _ = model.total(tf.constant(5))
    assert float(tape.gradient(total, model.pair[0])) == 10.0
    with tf.GradientTape() as tape:
        picked = model.pick(tf.constant(2))
    assert float(tape.gradient(picked, model.parts[0])) == 30.0


def test_gradients_go_through_a_recurrent_layer():
    model = load("recurrent")
    x = tf.constant([[0, 1, 2, 3, 1]])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(model.serve(x))
    for gradient, variable in zip(
        tape.gradient(y, list(model.trainable_variables)), model.trainable_variables, strict=True
    ):
        assert gradient is not None and gradient.shape == variable.shape


def test_a_loaded_function_is_part_of_other_functions():
    model = load("dense")

    @tf.function
    def twice(x):
        return 2.0 * model(x)

    np.testing.assert_allclose(twice(tf.constant([[1.0, -1.0, 2.0]])).numpy(), [[13.0, 15.0]])


def test_arguments_choose_the_trace():
    model = load("dense")
    got = model.scaled(tf.constant([[2.0]]), tf.constant(3.0), negative=True)
    assert float(got["value"]) == -6.0
    assert model.scaled([1.0, 2.0])["value"].numpy().tolist() == [2.0, 4.0]
    with pytest.raises(ValueError, match="Could not find matching concrete function"):
        model.scaled(tf.constant([1, 2]))


def test_an_asset_is_found_where_the_model_is():
    model = load("text")
    path = model.vocabulary.asset_path.numpy().decode()
    assert pathlib.Path(path).read_text(encoding="utf-8") == "cat\ndog\n"


def test_what_is_no_saved_model_is_refused(tmp_path):
    with pytest.raises(OSError, match="SavedModel file does not exist at"):
        tf.saved_model.load(str(tmp_path))
    assert not tf.saved_model.contains_saved_model(str(tmp_path))
    assert tf.saved_model.contains_saved_model(str(MODELS / "dense"))
    with pytest.raises(ValueError, match="incompatible argument to `tags`"):
        tf.saved_model.load(str(MODELS / "dense"), tags=["other"])


def test_a_damaged_model_is_an_error_and_no_crash(tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(MODELS / "dense", folder)
    data = (folder / "saved_model.pb").read_bytes()
    (folder / "saved_model.pb").write_bytes(data[:1000])
    with pytest.raises(OSError, match="Cannot parse file"):
        tf.saved_model.load(str(folder))
    (folder / "saved_model.pb").write_bytes(data)
    index = folder / "variables" / "variables.index"
    index.write_bytes(index.read_bytes()[:-20])
    with pytest.raises(tf.errors.DataLossError, match="damaged"):
        tf.saved_model.load(str(folder))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda value: None, "w/.ATTRIBUTES/VARIABLE_VALUE"),
        (lambda value: np.zeros((3, 3), np.float32), "w has shape [3,2]"),
        (lambda value: value.astype(np.float64), "float64"),
    ],
)
def test_a_checkpoint_without_a_variable_or_with_another_is_refused_by_name(
    change, words, tmp_path
):
    """In Python, and by a program in C."""
    model = tmp_path / "model"
    shutil.copytree(MODELS / "dense", model)
    prefix = model / "variables" / "variables"
    reader = tf.train.load_checkpoint(str(prefix))
    values = {key: reader.get_tensor(key) for key in reader.get_variable_to_shape_map()}
    values["w/.ATTRIBUTES/VARIABLE_VALUE"] = change(values["w/.ATTRIBUTES/VARIABLE_VALUE"])
    write_bundle(prefix, {k: tf.constant(v) for k, v in values.items() if v is not None})
    with pytest.raises((ValueError, tf.errors.OpError), match=re.escape(words)):
        tf.saved_model.load(str(model))
    np.save(tmp_path / "x.npy", np.zeros((2, 3), np.float32))
    ran = run(BUILD / "bin" / "mica", "predict", model, "--inputs", tmp_path / "x.npy")
    assert ran.returncode == 1 and words in ran.stderr


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    model = tmp_path / "model"
    shutil.copytree(MODELS / "dense", model)
    shutil.rmtree(model / "variables")
    shutil.copytree(MODELS / "lstm" / "variables", model / "variables")
    with pytest.raises(tf.errors.NotFoundError, match=r"no value for the variable '[wb]'"):
        tf.saved_model.load(str(model))


def test_an_op_that_is_not_there_is_named(tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(MODELS / "dense", folder)
    data = (folder / "saved_model.pb").read_bytes()
    assert b"\x04Relu" in data
    (folder / "saved_model.pb").write_bytes(data.replace(b"\x04Relu", b"\x04Rolu"))
    model = tf.saved_model.load(str(folder))
    with pytest.raises(NotImplementedError, match="Op type not registered 'Rolu'"):
        model(tf.ones([1, 3]))
    assert int(model.count()) == 8  # others can be used


# ---- saving --------------------------------------------------------------------------------------


class Everything(tf.Module):
    """Variables in attributes, lists, dicts and tuples; functions of all kinds."""

    def __init__(self):
        super().__init__()
        self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="w")
        self.b = tf.Variable([0.5, -0.5], name="b")
        self.parts = [tf.Variable(2.0), tf.Variable(3.0)]
        self.named = {"k": tf.Variable(4.0)}
        self.pair = (tf.Variable(6.0), tf.Variable(7, dtype=tf.int16))
        self.steps = tf.Variable(0, dtype=tf.int64, trainable=False)
        self.offset = tf.constant([10.0, 20.0])
        self.text = tf.Variable(b"hi")
        keys, values = tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64)
        self.table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(keys, values), -1
        )

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
    def __call__(self, x):
        return tf.nn.relu(x @ self.w + self.b) * self.parts[0] + self.offset

    @tf.function
    def scaled(self, x, factor=2.0, negative=False):
        y = x * factor
        return {"value": -y if negative else y, "shape": tf.shape(y)}

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def loop(self, n):
        total = 0.0
        for i in tf.range(n):
            if i > 2:
                total += self.pair[0]
            else:
                total += tf.cast(i, tf.float32) * self.named["k"]
        return total, n

    @tf.function(input_signature=[])
    def count(self):
        self.steps.assign_add(1)
        first = self.steps.read_value()
        self.steps.assign_add(1)
        return first, self.steps.read_value()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def number(self, x):
        return self.table.lookup(x)

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 3], tf.float32),
            tf.TensorSpec([None, 2], tf.float32),
        ]
    )
    def train(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.nn.relu(x @ self.w + self.b) - y) ** 2)
        w, b = tape.gradient(loss, [self.w, self.b])
        self.w.assign_sub(0.1 * w)
        self.b.assign_sub(0.1 * b)
        return loss


X = [[1.0, -1.0, 2.0]]


def saved(folder):
    module = Everything()
    module.scaled(tf.constant([1.0, 2.0]))
    module.scaled(tf.constant([[1.0]]), tf.constant(3.0), negative=True)
    signatures = {"serving_default": module.__call__, "loop": module.loop.get_concrete_function()}
    tf.saved_model.save(module, str(folder), signatures=signatures)
    return module


def assert_like(model, module):
    np.testing.assert_array_equal(model(tf.constant(X)), module(tf.constant(X)))
    assert [int(n) for n in model.count()] == [1, 2]
    assert [float(n) for n in model.loop(tf.constant(6))] == [30.0, 6.0]
    assert model.number(tf.constant(["b", "z"])).numpy().tolist() == [2, -1]
    assert model.scaled([3.0, 4.0])["value"].numpy().tolist() == [6.0, 8.0]
    got = model.scaled(tf.constant([[1.0]]), tf.constant(3.0), negative=True)
    assert got["value"].numpy().tolist() == [[-3.0]]
    assert float(model.parts[1]) == 3.0 and float(model.named["k"]) == 4.0
    assert model.pair[1].dtype == tf.int16 and int(model.pair[1]) == 7
    assert model.text.numpy() == b"hi"
    assert not model.steps.trainable and model.w.trainable
    assert set(model.signatures) == {"serving_default", "loop"}
    loop = model.signatures["loop"](n=tf.constant(4))
    assert {k: float(v) for k, v in loop.items()} == {"output_0": 18.0, "output_1": 4.0}


def test_what_is_saved_comes_back(tmp_path):
    module = saved(tmp_path / "model")
    model = tf.saved_model.load(str(tmp_path / "model"))
    assert_like(model, module)
    x, y = tf.constant(X), tf.constant([[1.0, 2.0]])
    losses = [float(module.train(x, y)) for _ in range(3)]
    assert [float(model.train(x, y)) for _ in range(3)] == losses
    with tf.GradientTape() as tape:
        z = tf.reduce_sum(model(x))
    assert tape.gradient(z, model.w).shape == [3, 2]


def test_what_was_loaded_can_be_saved_again(tmp_path):
    module = saved(tmp_path / "first")
    model = tf.saved_model.load(str(tmp_path / "first"))
    tf.saved_model.save(model, str(tmp_path / "second"), signatures=model.signatures)
    assert_like(tf.saved_model.load(str(tmp_path / "second")), module)


def test_models_of_tensorflow_can_be_saved_again(tmp_path):
    for name in ("control", "recurrent", "text"):
        tf.saved_model.save(load(name), str(tmp_path / name))
        model = tf.saved_model.load(str(tmp_path / name))
        for path, arguments, result in EXPECTED[name]:
            if not path.startswith("signatures"):
                assert_same(found(model, path)(*[tf.constant(a) for a in arguments]), result)


def test_one_function_is_the_signature_by_itself(tmp_path):
    class Double(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="values")])
        def double(self, x):
            return {"twice": 2.0 * x}

    tf.saved_model.save(Double(), str(tmp_path))
    signatures = tf.saved_model.load(str(tmp_path)).signatures
    assert list(signatures) == [tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY]
    got = signatures["serving_default"](values=tf.constant([4.0]))
    assert got["twice"].numpy().tolist() == [8.0]


def test_keywords_find_their_places(tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda x, *, z, a: x + 10.0 * z + 100.0 * a)
    trace = module.f.get_concrete_function(
        tf.TensorSpec([], tf.float32), z=tf.TensorSpec([], tf.float32), a=tf.TensorSpec([])
    )
    one, two, three = map(tf.constant, (1.0, 2.0, 3.0))
    assert float(trace(one, a=two, z=three)) == 231.0
    tf.saved_model.save(module, str(tmp_path), signatures=trace)
    model = tf.saved_model.load(str(tmp_path))
    assert float(model.f(one, a=two, z=three)) == 231.0
    got = model.signatures["serving_default"](z=three, x=one, a=two)
    assert float(got["output_0"]) == 231.0


def test_modules_in_modules_come_back(tmp_path):
    class Inner(tf.Module):
        def __init__(self, n):
            super().__init__()
            self.v = tf.Variable(float(n))

        @tf.function
        def __call__(self, x):
            return x * self.v

    class Outer(tf.Module):
        def __init__(self):
            super().__init__()
            self.layers = [Inner(2), Inner(3)]

        @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    tf.saved_model.save(Outer(), str(tmp_path))
    model = tf.saved_model.load(str(tmp_path))
    assert float(model(tf.constant(5.0))) == 30.0
    assert float(model.layers[1](tf.constant(5.0))) == 15.0


def test_what_cannot_be_saved_is_refused(tmp_path):
    with pytest.raises(ValueError, match="Expected an object of type `Trackable`"):
        tf.saved_model.save(3, str(tmp_path))
    hidden = tf.Variable(1.0)

    class Uses(tf.Module):
        @tf.function(input_signature=[])
        def f(self):
            return hidden + 1.0

    with pytest.raises(AssertionError, match="references an 'untracked' resource"):
        tf.saved_model.save(Uses(), str(tmp_path))
    module = tf.Module()
    with pytest.raises(ValueError, match="Expected a TensorFlow function"):
        tf.saved_model.save(module, str(tmp_path), signatures={"f": lambda x: x})
    module.f = tf.function(lambda: {1: tf.constant(1.0)}, input_signature=[])
    with pytest.raises(ValueError, match="non-string key"):
        tf.saved_model.save(module, str(tmp_path), signatures=module.f)

    @tf.function
    def inside():
        tf.saved_model.save(tf.Module(), str(tmp_path))

    with pytest.raises(AssertionError, match="not supported inside a traced"):
        inside()
    assert not tf.saved_model.contains_saved_model(str(tmp_path))


def test_a_function_without_a_trace_comes_back_without_one(tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda x: x)
    tf.saved_model.save(module, str(tmp_path))
    with pytest.raises(ValueError, match="Found zero restored functions"):
        tf.saved_model.load(str(tmp_path)).f(tf.constant(1.0))


# ---- Keras ---------------------------------------------------------------------------------------

EXPORT = """
import sys
import numpy as np
import mica.tf as tf

keras = tf.keras
keras.utils.set_random_seed(1)
folder = sys.argv[1]
layers = keras.layers
model = keras.Sequential([
    layers.Input((8, 8, 1)), layers.Conv2D(3, 3, activation="relu"), layers.BatchNormalization(),
    layers.MaxPooling2D(), layers.Reshape((3, 9)), layers.LSTM(4), layers.Dropout(0.5),
    layers.Dense(2),
])
x = np.random.default_rng(0).random((2, 8, 8, 1)).astype("float32")
wanted = model(x).numpy()
model.export(folder + "/exported", verbose=False)
loaded = tf.saved_model.load(folder + "/exported")
assert abs(loaded.serve(x).numpy() - wanted).max() < 1e-6
(got,) = loaded.signatures["serving_default"](tf.constant(x)).values()
assert abs(got.numpy() - wanted).max() < 1e-6
assert len(loaded.trainable_variables) == len(model.trainable_variables)
layer = keras.layers.TFSMLayer(folder + "/exported", call_endpoint="serve")
assert abs(layer(x).numpy() - wanted).max() < 1e-6
tf.saved_model.save(model, folder + "/saved")
(got,) = tf.saved_model.load(folder + "/saved").signatures["serving_default"](
    tf.constant(x)).values()
assert abs(got.numpy() - wanted).max() < 1e-6
model.compile("adam", "mse")
y = np.ones((2, 2), "float32")
model.fit(x, y, verbose=0)
saver = tf.train.Checkpoint(model=model, optimizer=model.optimizer)
path = saver.save(folder + "/ckpt")
kept = [v.numpy() for v in model.weights]
model.fit(x, y, verbose=0)
saver.restore(path).assert_consumed()
assert all((a == v.numpy()).all() for a, v in zip(kept, model.weights, strict=True))
print("exported")
"""


def test_keras_models_are_exported_and_restored(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", EXPORT, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert run.stdout.strip().endswith("exported"), run.stdout + run.stderr


def test_attributes_that_are_a_choice_of_texts_come_back(tmp_path):
    class Module(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def padded(self, x):
            return tf.pad(x, [[2, 2]], mode="SYMMETRIC")

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def length(self, x):
            return tf.strings.length(x, unit="UTF8_CHAR")

    tf.saved_model.save(Module(), str(tmp_path / "model"))
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    assert loaded.padded(tf.constant([1.0, 2.0, 3.0])).numpy().tolist() == [2, 1, 1, 2, 3, 3, 2]
    assert loaded.length(tf.constant(["aé"])).numpy().tolist() == [2]


# What TensorFlow gives for the loaded model: tests/tf/saved_models/make.py prints it.
CUSTOM = {
    "four": ([12.0, 20.0], [1.0, -0.5]),
    "captured": ([121.00559, 21.487862], [20.167599, -1.074393]),
}


@pytest.mark.parametrize("name", sorted(CUSTOM))
def test_custom_gradients_are_loaded(name):
    model, x = load("custom"), tf.constant([0.5, -0.25])
    for call in (getattr(model, name), lambda x: model.signatures[name](x)["output_0"]):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = call(x)
        for got, wanted in zip(tape.gradient(y, [x, model.w]), CUSTOM[name], strict=True):
            np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-5)


def test_a_custom_gradient_that_was_not_saved_is_an_error():
    model, x = load("lost"), tf.constant([0.5, -0.25])
    np.testing.assert_allclose(model.four(x).numpy(), [3.0, -2.5])
    with pytest.raises(tf.errors.UnimplementedError, match="custom gradient was not saved"):
        with tf.GradientTape() as tape:
            tape.watch(x)
            tape.gradient(model.four(x), x)


def test_custom_gradients_are_saved(tmp_path):
    module, x = tf.Module(), tf.constant([0.5, -0.25])
    module.w = tf.Variable([3.0, 5.0], name="w")

    @tf.custom_gradient
    def inner(x, n):
        y = tf.exp(x)
        return y + 1.0, lambda dy: (dy * y * 3.0 * tf.cast(n, tf.float32), None)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def f(x):
        return inner(x * module.w, tf.constant(3)) * 2.0

    module.f = f
    tf.saved_model.save(module, str(tmp_path / "kept"), signatures=f)
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    tf.saved_model.save(module, str(tmp_path / "lost"), signatures=f, options=options)
    wanted = 2 * np.exp(x.numpy() * [3.0, 5.0]) * 9 * [3.0, 5.0]
    model = tf.saved_model.load(str(tmp_path / "kept"))
    tf.saved_model.save(model, str(tmp_path / "again"), signatures=model.signatures)
    for loaded in (model, tf.saved_model.load(str(tmp_path / "again"))):
        for call in (loaded.f, lambda x: loaded.signatures["serving_default"](x)["output_0"]):  # noqa: B023
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = call(x)
            np.testing.assert_allclose(y.numpy(), f(x).numpy(), rtol=1e-6)
            np.testing.assert_allclose(tape.gradient(y, x).numpy(), wanted, rtol=1e-5)
    lost = tf.saved_model.load(str(tmp_path / "lost"))
    np.testing.assert_allclose(lost.f(x).numpy(), f(x).numpy())
    with pytest.raises(tf.errors.UnimplementedError, match="custom gradient was not saved"):
        with tf.GradientTape() as tape:
            tape.watch(x)
            lost.f(x)
