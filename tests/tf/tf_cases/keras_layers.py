"""Layers of Keras: what each gives of fixed numbers, and the gradients of its weights."""

from corpus import plain
from keras_numbers import numbers, set_weights

L = "tf.keras.layers"


def applied(tf, layer, x, **options):
    """A layer's result with fixed weights, and the gradients of its square."""
    x = tf.constant(x)
    layer(x)
    set_weights(layer)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x, **options)
        loss = tf.reduce_sum(tf.cast(y, tf.float32) ** 2)
    found = tape.gradient(loss, [x, *layer.trainable_variables])
    return [y, [g for g in found if g is not None]]


@plain((f"{L}.Dense", "tf.keras.layers", "tf.keras"), "activation and no bias")
def _(tf):
    layers = tf.keras.layers
    return [
        applied(tf, layers.Dense(3, activation="relu"), numbers(2, 4)),
        applied(tf, layers.Dense(2, use_bias=False), numbers(2, 3, 4)),
        layers.Dense(3, activation="tanh", name="d").get_config()["activation"],
    ]


@plain((f"{L}.Conv2D", f"{L}.Conv2DTranspose", f"{L}.Conv1D"), "strides, paddings, dilation")
def _(tf):
    layers = tf.keras.layers
    return [
        applied(tf, layers.Conv2D(3, 2, strides=2, padding="same"), numbers(1, 5, 4, 2)),
        applied(tf, layers.Conv2D(2, (2, 3), dilation_rate=2), numbers(1, 6, 7, 2)),
        applied(tf, layers.Conv2D(4, 3, groups=2, activation="relu"), numbers(1, 4, 4, 2)),
        applied(tf, layers.Conv2DTranspose(2, 3, strides=2, padding="same"), numbers(1, 3, 3, 2)),
        applied(tf, layers.Conv1D(3, 2, padding="causal"), numbers(2, 5, 2)),
    ]


@plain((f"{L}.MaxPooling2D", f"{L}.GlobalAveragePooling1D", f"{L}.GlobalAveragePooling2D"), "pools")
def _(tf):
    layers = tf.keras.layers
    return [
        applied(tf, layers.MaxPooling2D(), numbers(1, 5, 4, 2)),
        applied(tf, layers.MaxPooling2D((2, 3), strides=1, padding="same"), numbers(1, 4, 4, 1)),
        applied(tf, layers.GlobalAveragePooling1D(), numbers(2, 3, 4)),
        applied(tf, layers.GlobalAveragePooling2D(keepdims=True), numbers(1, 3, 2, 2)),
    ]


@plain((f"{L}.GlobalAveragePooling3D", f"{L}.ZeroPadding2D"), "volumes and borders")
def _(tf):
    layers = tf.keras.layers
    return [
        applied(tf, layers.GlobalAveragePooling3D(), numbers(1, 2, 2, 2, 3)),
        applied(tf, layers.ZeroPadding2D(((1, 0), (2, 1))), numbers(1, 2, 2, 1)),
    ]


@plain((f"{L}.Flatten", f"{L}.Reshape", f"{L}.Concatenate", f"{L}.concatenate"), "shapes")
def _(tf):
    layers = tf.keras.layers
    x, y = tf.constant(numbers(2, 3, 4)), tf.constant(numbers(2, 3, 1, shift=2.0))
    return [
        layers.Flatten()(x),
        layers.Reshape((4, -1))(x),
        layers.Concatenate(axis=-1)([x, y]),
        layers.concatenate([x, y, y], axis=2),
    ]


@plain((f"{L}.Dropout", f"{L}.RandomFlip", f"{L}.RandomRotation"), "at rest and with seeds")
def _(tf):
    layers = tf.keras.layers
    x = tf.ones((8, 100))
    dropped = layers.Dropout(0.25, seed=3)(x, training=True)
    picture = tf.constant(numbers(1, 4, 4, 1))
    flipped = layers.RandomFlip("horizontal", seed=1)(picture, training=True)
    same = [tf.reduce_all(flipped == each) for each in (picture, picture[:, :, ::-1])]
    return [
        layers.Dropout(0.5)(x[:1, :4]),
        tf.sort(tf.unique(tf.reshape(dropped, [-1])).y),
        tf.abs(tf.reduce_mean(dropped) - 1.0) < 0.1,
        tf.reduce_any(same),
        layers.RandomFlip("vertical")(picture, training=False),
        layers.RandomRotation(0.2)(picture, training=False),
        layers.RandomRotation((0.25, 0.25), seed=2)(picture, training=True),
    ]


@plain(f"{L}.BatchNormalization", "training, at rest, moving statistics", rtol=1e-4)
def _(tf):
    layer = tf.keras.layers.BatchNormalization(momentum=0.8)
    x = tf.constant(numbers(4, 3))
    layer.build(x.shape)
    set_weights(layer)
    trained = layer(x, training=True)
    return [trained, layer.moving_mean, layer.moving_variance, layer(x, training=False)]


@plain((f"{L}.LSTM", f"{L}.LSTMCell", f"{L}.RNN"), "sequences, states, masks", rtol=1e-4)
def _(tf):
    layers = tf.keras.layers
    x = numbers(2, 4, 3)
    lstm = layers.LSTM(2, return_sequences=True, return_state=True)
    lstm(tf.constant(x))
    set_weights(lstm)
    mask = tf.constant([[True, True, False, False], [True, True, True, True]])
    rnn = layers.RNN(layers.LSTMCell(2), go_backwards=True)
    return [
        lstm(tf.constant(x), mask=mask),
        applied(tf, layers.LSTM(3, recurrent_activation="hard_sigmoid"), x),
        applied(tf, rnn, x),
    ]


@plain(f"{L}.TimeDistributed", "a layer at each step")
def _(tf):
    layers = tf.keras.layers
    return applied(tf, layers.TimeDistributed(layers.Dense(2)), numbers(2, 3, 4))


@plain(f"{L}.Embedding", "rows and a mask")
def _(tf):
    layer = tf.keras.layers.Embedding(5, 3, mask_zero=True)
    ids = tf.constant([[1, 2, 0], [4, 0, 0]])
    layer(ids)
    set_weights(layer)
    with tf.GradientTape() as tape:
        y = layer(ids)
        loss = tf.reduce_sum(y**2)
    return [y, layer.compute_mask(ids), tape.gradient(loss, layer.trainable_variables)[0]]


@plain((f"{L}.Activation", f"{L}.ReLU", f"{L}.LeakyReLU", f"{L}.Softmax"), "activations")
def _(tf):
    layers = tf.keras.layers
    x = numbers(2, 4)
    return [
        applied(tf, layers.Activation("gelu"), x),
        applied(tf, layers.Activation(tf.nn.elu), x),
        applied(tf, layers.ReLU(max_value=0.5, negative_slope=0.1, threshold=0.2), x),
        applied(tf, layers.LeakyReLU(negative_slope=0.3), x),
        applied(tf, layers.Softmax(axis=0), x),
    ]


@plain((f"{L}.Lambda", f"{L}.Layer"), "functions and classes of one's own")
def _(tf):
    keras = tf.keras

    class Scale(keras.layers.Layer):
        def __init__(self, start, **options):
            super().__init__(**options)
            self.start = start

        def build(self, shape):
            self.scale = self.add_weight(
                shape=(shape[-1],), initializer=keras.initializers.Constant(self.start), name="s"
            )

        def call(self, x, training=False):
            self.add_loss(tf.reduce_sum(self.scale) * 0.1)
            return x * self.scale * (2.0 if training else 1.0)

    layer = Scale(3.0, name="mine")
    x = tf.constant(numbers(2, 3))
    return [
        layer(x, training=True),
        layer.losses,
        [(v.name, v.shape[0]) for v in layer.weights],
        layer.count_params(),
        keras.layers.Lambda(lambda t: t[:, ::-1])(x),
    ]


@plain((f"{L}.Rescaling", f"{L}.Normalization", f"{L}.Discretization"), "numbers made ready")
def _(tf):
    layers = tf.keras.layers
    x = numbers(6, 2) * 4
    adapted = layers.Normalization(axis=-1)
    adapted.adapt(x)
    known = layers.Normalization(mean=[1.0, 2.0], variance=[4.0, 0.25], invert=True)
    quantiles = layers.Discretization(num_bins=3)
    quantiles.adapt(x[:, :1])
    return [
        layers.Rescaling(1 / 255.0, offset=-1)(tf.constant([0, 127, 255], tf.uint8)),
        adapted(x),
        adapted.mean,
        known(x),
        layers.Discretization([-1.0, 0.0, 2.5])(x),
        layers.Discretization([0.0, 1.0], output_mode="one_hot")(x[:3, 0]),
        quantiles(x[:, :1]),
    ]


@plain((f"{L}.StringLookup", f"{L}.IntegerLookup", f"{L}.CategoryEncoding"), "words and classes")
def _(tf):
    layers = tf.keras.layers
    words = layers.StringLookup(vocabulary=["a", "b", "c"])
    back = layers.StringLookup(vocabulary=["a", "b", "c"], invert=True)
    learned = layers.StringLookup(max_tokens=4)
    learned.adapt(tf.constant(["x", "y", "x", "z", "y", "x", "w"]))
    whole = layers.IntegerLookup(vocabulary=[10, 20], num_oov_indices=2)
    return [
        words(tf.constant([["b", "z"], ["c", "a"]])),
        back(tf.constant([1, 3, 0])),
        learned.get_vocabulary(),
        learned(tf.constant(["y", "w", "x"])),
        layers.StringLookup(vocabulary=["a", "b"], output_mode="count")(tf.constant([["a", "a"]])),
        whole(tf.constant([20, 10, 7, 8])),
        layers.CategoryEncoding(4, output_mode="one_hot")(tf.constant([0, 3])),
        layers.CategoryEncoding(3, output_mode="multi_hot")(tf.constant([[0, 1], [2, 2]])),
    ]


@plain(f"{L}.TextVectorization", "words, lengths, counts, n-grams")
def _(tf):
    layers = tf.keras.layers
    texts = tf.constant(["The cat sat.", "the dog, the cat!", "a BIRD"])
    ids = layers.TextVectorization(max_tokens=6, output_sequence_length=4)
    ids.adapt(texts)
    counted = layers.TextVectorization(output_mode="tf_idf", ngrams=2)
    counted.adapt(texts)
    given = layers.TextVectorization(
        vocabulary=["cat", "dog"], standardize=None, split="whitespace", output_mode="multi_hot"
    )
    return [
        ids.get_vocabulary(),
        ids(texts),
        counted.get_vocabulary(),
        counted(texts),
        given(tf.constant(["cat bird", "dog cat dog"])),
    ]


@plain((f"{L}.Input", f"{L}.InputLayer", "tf.keras.Input"), "symbols of inputs")
def _(tf):
    keras = tf.keras
    x = keras.Input((3,), name="x")
    ids = keras.layers.Input(shape=(None,), dtype="int32", batch_size=2)
    layer = keras.layers.InputLayer(shape=(2, 4), name="first")
    return [
        [str(x.shape), x.dtype, x.name],
        [str(ids.shape), ids.dtype],
        [str(layer.output.shape), layer.get_config()["name"]],
    ]
