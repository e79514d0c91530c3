"""Makes the saved models of this folder, with TensorFlow: python tests/tf/saved_models/make.py

Each function makes one model and returns what calls of it give, which is kept beside the models in
expected.json: name -> list of [path of the callable, arguments, results].
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile

import numpy as np
import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__))


def dense(folder):
    """A module with two variables, a function with a signature and one traced twice."""

    class Dense(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2), name="w")
            self.b = tf.Variable([0.5, -0.5], name="b")
            self.steps = tf.Variable(7, dtype=tf.int64, trainable=False, name="steps")

        @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)])
        def __call__(self, x):
            return tf.nn.relu(x @ self.w + self.b)

        @tf.function
        def scaled(self, x, factor=2.0, negative=False):
            y = x * factor
            return {"value": -y if negative else y, "shape": tf.shape(y)}

        @tf.function(input_signature=[])
        def count(self):
            self.steps.assign_add(1)
            return self.steps.read_value()

    module = Dense()
    module.scaled(tf.constant([1.0, 2.0]))
    module.scaled(tf.constant([[1.0]]), tf.constant(3.0), negative=True)
    tf.saved_model.save(module, folder, signatures=module.__call__)
    x = [[1.0, -1.0, 2.0]]
    return [
        ["__call__", [x], module(tf.constant(x))],
        ["signatures.serving_default", [x], {"output_0": module(tf.constant(x))}],
        ["scaled", [[3.0, 4.0]], module.scaled(tf.constant([3.0, 4.0]))],
    ]


def control(folder):
    """Branches and loops with captured constants; lists and dicts of variables."""

    class Control(tf.Module):
        def __init__(self):
            super().__init__()
            self.parts = [tf.Variable(1.0), tf.Variable([2.0, 3.0])]
            self.named = {"a": tf.Variable(4.0), "nested": [tf.Variable(5.0)]}
            self.pair = (tf.Variable(6.0), tf.Variable(7.0))
            self.table = tf.constant([10.0, 20.0, 30.0])

        @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
        def pick(self, i):
            if i > 1:
                return self.table[i] * self.parts[0]
            else:
                return self.named["a"] + tf.reduce_sum(self.parts[1])

        @tf.function(input_signature=[tf.TensorSpec([], tf.int32, name="n")])
        def total(self, n):
            s = 0.0
            for i in tf.range(n):
                s += tf.cast(i, tf.float32) * self.pair[0]
            return s, n + 1

    module = Control()
    signatures = {"pick": module.pick, "total": module.total.get_concrete_function()}
    tf.saved_model.save(module, folder, signatures=signatures)
    return [
        ["pick", [2], module.pick(2)],
        ["pick", [0], module.pick(0)],
        ["total", [5], list(module.total(5))],
        [
            "signatures.total",
            [4],
            {"output_0": module.total(4)[0], "output_1": module.total(4)[1]},
        ],
    ]


def text(folder):
    """Strings, a variable of strings, a table and an asset."""
    words = os.path.join(os.path.dirname(folder), "words.txt")
    with open(words, "w", encoding="utf-8") as file:
        file.write("cat\ndog\n")

    class Text(tf.Module):
        def __init__(self):
            super().__init__()
            self.suffix = tf.Variable(b"!", name="suffix")
            keys = tf.constant(["one", "two"])
            values = tf.constant([1, 2], tf.int64)
            initializer = tf.lookup.KeyValueTensorInitializer(keys, values)
            self.table = tf.lookup.StaticHashTable(initializer, -1)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def shout(self, x):
            return tf.strings.join([tf.strings.upper(x), self.suffix])

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def number(self, x):
            return self.table.lookup(x)

    module = Text()
    module.vocabulary = tf.saved_model.Asset(words)
    tf.saved_model.save(module, folder)
    os.remove(words)
    return [
        ["shout", [["ab", "c"]], module.shout(tf.constant(["ab", "c"]))],
        ["number", [["two", "x"]], module.number(tf.constant(["two", "x"]))],
    ]


def lines(folder):
    """A table from the lines of an asset."""
    names = "names.txt"  # a path that is written into the graph
    os.chdir(tempfile.mkdtemp())
    with open(names, "w", encoding="utf-8") as file:
        file.write("cat\ndog\n")
    initializer = tf.lookup.TextFileInitializer(
        names, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, -1
    )
    module = tf.Module()
    module.table = tf.lookup.StaticHashTable(initializer, -1)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="words")])
    def number(words):
        return module.table.lookup(words)

    module.number = number
    tf.saved_model.save(module, folder, signatures=number)


class Custom(tf.Module):
    """Functions whose gradients are not those of their values."""

    def __init__(self):
        super().__init__()
        self.w = tf.Variable([3.0, 5.0], name="w")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def four(self, x):
        return tf.custom_gradient(lambda x: (x * 2.0, lambda dy: dy * 4.0))(x) * self.w

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, name="x")])
    def captured(self, x):
        """The gradient needs a value of the function, an integer and the variable."""

        @tf.custom_gradient
        def function(x, n):
            y = tf.exp(x)
            w = self.w
            return y + 1.0, lambda dy: (dy * y * w * tf.cast(n, tf.float32), None)

        return function(x * self.w, tf.constant(3))


def custom(folder):
    """Custom gradients, saved with the model."""
    module = Custom()
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=True)
    signatures = {"four": module.four, "captured": module.captured}
    tf.saved_model.save(module, folder, signatures=signatures, options=options)
    loaded = tf.saved_model.load(folder)
    x = tf.constant([0.5, -0.25])
    for name in signatures:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = getattr(loaded, name)(x)
        print(name, y.numpy(), [g.numpy() for g in tape.gradient(y, [x, loaded.w])])
    x = [0.5, -0.25]
    return [[name, [x], getattr(module, name)(tf.constant(x))] for name in signatures]


def lost(folder):
    """A custom gradient that is not saved with the model."""
    module = Custom()
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    tf.saved_model.save(module, folder, signatures={"four": module.four}, options=options)
    return [["four", [[0.5, -0.25]], module.four(tf.constant([0.5, -0.25]))]]


def words(folder):
    """A signature from strings to numbers: a table, an embedding, attention over its rows."""

    class Words(tf.Module):
        def __init__(self):
            super().__init__()
            keys = tf.constant(["the", "cat", "sat"])
            initializer = tf.lookup.KeyValueTensorInitializer(keys, tf.range(1, 4))
            self.table = tf.lookup.StaticHashTable(initializer, 0)
            table = np.sin(np.arange(16, dtype=np.float32)).reshape(4, 4)
            self.embedding = tf.Variable(table, name="embedding")
            self.kernel = tf.Variable(np.cos(table), name="kernel")

        @tf.function(input_signature=[tf.TensorSpec([None, None], tf.string, name="words")])
        def __call__(self, x):
            h = tf.gather(self.embedding, self.table.lookup(x))
            q = tf.einsum("btd,de->bte", h, self.kernel)
            weights = tf.nn.softmax(tf.matmul(q, h, transpose_b=True) / 2.0)
            return {"state": tf.reduce_mean(tf.matmul(weights, h), axis=1)}

    module = Words()
    tf.saved_model.save(module, folder, signatures=module.__call__)
    x = [["the", "cat"], ["dog", "sat"]]
    return [["signatures.serving_default", [x], module(tf.constant(x))]]


def tables(folder):
    """A table that signatures fill, whose contents are stored with the variables."""

    class Tables(tf.Module):
        def __init__(self):
            super().__init__()
            self.table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
            self.table.insert(["one", "two"], tf.constant([1, 2], tf.int64))

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="words")])
        def find(self, words):
            return self.table.lookup(words)

        @tf.function(
            input_signature=[
                tf.TensorSpec([None], tf.string, name="words"),
                tf.TensorSpec([None], tf.int64, name="numbers"),
            ]
        )
        def put(self, words, numbers):
            self.table.insert(words, numbers)
            return self.table.size()

    module = Tables()
    tf.saved_model.save(module, folder, signatures={"find": module.find, "put": module.put})
    return [["find", [["two", "x"]], module.find(tf.constant(["two", "x"]))]]


def convnet(folder):
    """A small Keras model, exported."""
    tf.keras.utils.set_random_seed(3)
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input((6, 6, 1)),
            tf.keras.layers.Conv2D(2, 3, activation="relu"),
            tf.keras.layers.BatchNormalization(),
            tf.keras.layers.MaxPooling2D(),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(3, activation="softmax"),
        ]
    )
    model.export(folder, verbose=False)
    x = (np.arange(36, dtype=np.float32) / 36).reshape(1, 6, 6, 1)
    return [["serve", [x.tolist()], model(x)]]


def recurrent(folder):
    """An embedding and a recurrent layer: a loop over lists of tensors."""
    tf.keras.utils.set_random_seed(4)
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input((5,), dtype="int32"),
            tf.keras.layers.Embedding(4, 3),
            tf.keras.layers.GRU(2),
            tf.keras.layers.Dense(1),
        ]
    )
    model.export(folder, verbose=False)
    x = np.array([[0, 1, 2, 3, 1], [3, 3, 0, 0, 2]], np.int32)
    return [["serve", [x.tolist()], model(x)]]


def lstm(folder):
    """Two LSTMs over batches and sequences of any size."""
    tf.keras.utils.set_random_seed(5)
    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input((None, 4)),
            tf.keras.layers.LSTM(5, return_sequences=True),
            tf.keras.layers.LSTM(3),
            tf.keras.layers.Dense(2),
        ]
    )
    model.export(folder, verbose=False)
    cases = []
    for batch, steps in (1, 3), (2, 7):
        x = np.sin(np.arange(batch * steps * 4, dtype=np.float32)).reshape(batch, steps, 4)
        cases.append(["serve", [x.tolist()], model(x)])
    return cases


def operations(folder):
    """Ops that Mica makes of others: resizing, normalisation, arrays that grow, gradients."""
    images = tf.TensorSpec([None, None, None, 3], tf.float32)
    raw = tf.raw_ops

    def resized(x):
        flags = [(False, False), (True, False), (False, True)]
        return [
            op(images=x, size=[5, 3], align_corners=align, half_pixel_centers=half)
            for op in (raw.ResizeBilinear, raw.ResizeNearestNeighbor)
            for align, half in flags
        ]

    def normalized(x):
        scale, offset = [1.0, 2.0, 3.0], [0.1, 0.2, 0.3]
        trained = tf.compat.v1.nn.fused_batch_norm(x, scale, offset, epsilon=0.01)
        moments = tf.constant([0.1, 0.2, 0.3]), tf.constant([1.0, 2.0, 3.0])
        used = tf.compat.v1.nn.fused_batch_norm(x, scale, offset, *moments, is_training=False)
        return [*trained, used[0]]

    def grown(x):
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in range(3):
            array = array.write(i, x[0, 0, i])
        return array.stack()

    def gradient(x):
        kernel = tf.fill([3, 3, 3, 2], 0.1)
        scale, offset = tf.constant([1.0, 2.0, 3.0]), tf.constant([0.1, 0.2, 0.3])
        watched = [x, kernel, scale, offset]
        with tf.GradientTape() as tape:
            tape.watch(watched)
            y, _, _ = tf.compat.v1.nn.fused_batch_norm(x, scale, offset, epsilon=0.01)
            moments = tf.constant([0.1, 0.2, 0.3]), tf.constant([1.0, 2.0, 3.0])
            y = (
                y
                + tf.compat.v1.nn.fused_batch_norm(
                    x, scale, offset, *moments, epsilon=0.01, is_training=False
                )[0]
            )
            y = tf.nn.relu(tf.nn.conv2d(y, kernel, 1, "SAME") - 0.5)
            y = tf.nn.avg_pool2d(tf.nn.max_pool2d(y, 2, 1, "VALID"), 2, 1, "VALID")
            loss = tf.reduce_sum(tf.tanh(y) + tf.nn.elu(y - 1.0))
        return tape.gradient(loss, watched)

    def counted(x):
        numbers = tf.cast(x[0, :, :, 0] * 7, tf.int32)
        weights = x[0, :, :, 1]
        return [
            tf.math.bincount(numbers, minlength=4, maxlength=4),
            tf.math.bincount(numbers, weights, minlength=9, maxlength=9),
            tf.math.bincount(numbers, axis=-1, minlength=4, maxlength=4),
            tf.math.bincount(numbers, axis=-1, minlength=4, maxlength=4, binary_output=True),
        ]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def tidied(x):
        vowels = tf.strings.regex_replace(x, "([aeiou])", r"<\1>")
        first = tf.strings.regex_replace(x, "[a-z]+", "", replace_global=False)
        return [vowels, first, tf.strings.regex_full_match(x, "[a-z]+")]

    module = tf.Module()
    module.tidied = tidied
    x = (np.arange(72, dtype=np.float32) % 7).reshape(2, 3, 4, 3) / 7
    words = ["one two", "x"]
    calls = [["tidied", [words], tidied(tf.constant(words))]]
    for function in (resized, normalized, grown, gradient, counted):
        name = function.__name__
        setattr(module, name, tf.function(function, input_signature=[images], autograph=False))
        calls.append([name, [x.tolist()], getattr(module, name)(tf.constant(x))])
    tf.saved_model.save(module, folder)
    return calls


def resources(folder):
    """Parts of variables that are read and written in place, and checks of numbers."""
    raw = tf.raw_ops
    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]

    class Resources(tf.Module):
        def __init__(self):
            super().__init__()
            self.v = tf.Variable(rows, name="v")

        @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
        def slices(self, x):
            handle, results = self.v.handle, []
            self.v.assign(rows)
            for op in (
                raw.ResourceScatterAdd,
                raw.ResourceScatterSub,
                raw.ResourceScatterMax,
                raw.ResourceScatterMin,
                raw.ResourceScatterUpdate,
            ):
                op(resource=handle, indices=[2, 0], updates=x)
                results.append(self.v.read_value())
            raw.ResourceScatterAdd(resource=handle, indices=[2, 2], updates=0.5)
            raw.ResourceScatterSub(resource=handle, indices=1, updates=x[0])
            raw.ResourceScatterAdd(resource=handle, indices=[[0], [2]], updates=x[:, None])
            return [*results, self.v.read_value()]

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def places(self, x):
            handle, results = self.v.handle, []
            self.v.assign(rows)
            for op in (
                raw.ResourceScatterNdAdd,
                raw.ResourceScatterNdSub,
                raw.ResourceScatterNdMax,
                raw.ResourceScatterNdMin,
                raw.ResourceScatterNdUpdate,
            ):
                op(ref=handle, indices=[[0, 1], [2, 0]], updates=x)
                results.append(self.v.read_value())
            raw.ResourceApplyGradientDescent(var=handle, alpha=0.5, delta=self.v * 0.25)
            return [*results, self.v.read_value()]

        @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)])
        def read(self, places):
            self.v.assign(rows)
            found = raw.ResourceGatherNd(resource=self.v.handle, indices=places, dtype=tf.float32)
            size = raw.VariableShape(input=self.v.handle, out_type=tf.int64)
            picked = tf.cond(
                found[0] > 2.0,
                lambda: raw.ResourceGatherNd(
                    resource=self.v.handle, indices=places[:1], dtype=tf.float32
                ),
                lambda: tf.zeros([1]),
            )
            return [found, size, picked]

        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def checked(self, x):
            y = raw.CheckNumerics(tensor=x, message="x is bad")
            with tf.GradientTape() as tape:
                tape.watch(y)
                z = raw.CheckNumericsV2(tensor=tf.sqrt(y), message="z is bad")
            seen = raw.DebugIdentityV2(input=z)
            return [raw.BiasAddV1(value=seen[None], bias=z), tape.gradient(z, y)]

        @tf.function(input_signature=[tf.TensorSpec([None, 1], tf.int32)])
        def ignored(self, places):
            raw.ResourceScatterNdUpdate(
                ref=self.v.handle,
                indices=places,
                updates=tf.zeros([1, 2]),
                bad_indices_policy="IGNORE",
            )
            return self.v.read_value()

    module = Resources()
    names = ("slices", "places", "read", "checked", "ignored")
    tf.saved_model.save(module, folder, signatures={name: getattr(module, name) for name in names})
    cases = [
        ["slices", [[[1.5, -2.0], [0.25, 8.0]]]],
        ["places", [[1.5, 0.25]]],
        ["read", [[[0, 1], [2, 0]]]],
        ["read", [[[1, 1]]]],
        ["checked", [[1.0, 4.0]]],
    ]
    return [
        [name, arguments, getattr(module, name)(*[tf.constant(a) for a in arguments])]
        for name, arguments in cases
    ]


def version1(folder):
    """A graph of TensorFlow 1: variables by reference, tables that ops fill, one from an asset."""
    v1 = tf.compat.v1
    words = "numbers.txt"  # a path that is written into the graph
    os.chdir(tempfile.mkdtemp())
    with open(words, "w", encoding="utf-8") as file:
        file.write("cat,1.5\ndog,2.5\nsat,-1\n")
    shutil.rmtree(folder, ignore_errors=True)
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        names = v1.placeholder(tf.string, [None], name="names")
        keep = v1.placeholder_with_default(1.0, [], name="keep")
        values = np.sin(np.arange(6, dtype=np.float32)).reshape(3, 2)
        w = v1.get_variable("w", initializer=values, use_resource=False)
        b = v1.get_variable("b", initializer=np.array([0.5, -0.5], np.float32), use_resource=True)
        calls = v1.get_variable("calls", initializer=3, trainable=False, use_resource=False)
        start = tf.constant([10.0, 20.0])
        local = v1.get_local_variable("local", initializer=start, use_resource=False)
        y = tf.nn.relu(v1.matmul(x, w) * keep + b) + local
        asset = tf.constant(words)
        v1.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, asset)
        file = tf.lookup.TextFileInitializer(asset, tf.string, 0, tf.float32, 1, delimiter=",")
        lines = tf.lookup.TextFileInitializer(
            asset, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, -1
        )
        pairs = tf.lookup.KeyValueTensorInitializer(["cat", "dog"], tf.constant([5, 6], tf.int64))
        tables = [
            tf.lookup.StaticHashTable(file, 0.0),
            tf.lookup.StaticHashTable(lines, -1),
            tf.lookup.StaticHashTable(pairs, -1),
        ]
        count = tf.identity(v1.assign_add(calls, 2))
        initialise = v1.group(v1.tables_initializer(), v1.local_variables_initializer())
        session.run([v1.global_variables_initializer(), initialise])
        session.run(v1.assign(w, w + 1.0))
        define = v1.saved_model.predict_signature_def
        builder = v1.saved_model.builder.SavedModelBuilder(folder)
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            {
                "serving_default": define({"x": x}, {"y": y}),
                "kept": define({"x": x, "keep": keep}, {"y": y}),
                "lookup": define(
                    {"names": names}, {f"t{i}": t.lookup(names) for i, t in enumerate(tables)}
                ),
                "count": define({"names": names}, {"n": count}),
            },
            assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
            main_op=initialise,
        )
        builder.save()
        rows = np.array([[1.0, -1.0, 2.0]], np.float32)
        print(folder, session.run(y, {x: rows}), session.run(y, {x: rows, keep: 0.5}))
    os.remove(words)


MODELS = [
    dense,
    control,
    text,
    lines,
    words,
    tables,
    convnet,
    recurrent,
    lstm,
    operations,
    resources,
    version1,
    custom,
    lost,
]


def plain(value):
    """Results as JSON has them."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    array = np.asarray(value)
    if array.dtype == object:
        return np.vectorize(lambda b: b.decode())(array).tolist()
    return array.tolist()


def main(names):
    path = os.path.join(HERE, "expected.json")
    expected = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            expected = json.load(file)
    for make in MODELS:
        name = make.__name__
        if names and name not in names:
            continue
        folder = os.path.join(HERE, name)
        shutil.rmtree(folder, ignore_errors=True)
        calls = make(folder)
        if os.path.exists(os.path.join(folder, "fingerprint.pb")):  # TensorFlow 1 writes none
            os.remove(os.path.join(folder, "fingerprint.pb"))
        if calls is None:  # for programs in C: tests/io
            continue
        expected[name] = [[where, arguments, plain(result)] for where, arguments, result in calls]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(expected, file, indent=1, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1:])
