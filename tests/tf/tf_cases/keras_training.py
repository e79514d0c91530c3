"""Losses, metrics, optimizers, schedules and regularizers of Keras, and models that are trained."""

import numpy as np
from corpus import plain
from keras_numbers import numbers, set_weights

K = "tf.keras"
TRUE = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]], np.float32)
CHANCES = np.array([[0.1, 0.6, 0.3], [0.7, 0.2, 0.1]], np.float32)
CLASSES = np.array([1, 0])
METRICS = (
    "SparseCategoricalAccuracy Mean Accuracy MeanAbsoluteError BinaryAccuracy "
    "SparseCategoricalCrossentropy BinaryCrossentropy"
).split()


def _differentiated(tf, function, x):
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        value = function(x)
    return [value, tape.gradient(value, x)]


@plain(
    tuple(
        f"{K}.losses.{name}"
        for name in (
            "SparseCategoricalCrossentropy BinaryCrossentropy MeanSquaredError Huber "
            "CategoricalCrossentropy Reduction.NONE Reduction.SUM"
        ).split()
    ),
    "classes",
)
def _(tf):
    losses = tf.keras.losses
    none, total = losses.Reduction.NONE, losses.Reduction.SUM
    of = [
        losses.SparseCategoricalCrossentropy(from_logits=True),
        losses.SparseCategoricalCrossentropy(ignore_class=0, reduction=none),
        losses.BinaryCrossentropy(from_logits=True, label_smoothing=0.1, reduction=total),
        losses.MeanSquaredError(reduction=none),
        losses.Huber(delta=0.3),
        losses.CategoricalCrossentropy(label_smoothing=0.2),
    ]
    labels = [CLASSES, CLASSES, TRUE, TRUE, TRUE, TRUE]
    weights = tf.constant([0.5, 2.0])
    found = [
        _differentiated(tf, lambda x, loss=loss, y=y: tf.reduce_sum(loss(y, x)), CHANCES)
        for loss, y in zip(of, labels, strict=True)
    ]
    return [found, of[0](CLASSES, CHANCES, sample_weight=weights), none, total]


@plain(
    (f"{K}.losses.sparse_categorical_crossentropy", f"{K}.losses.mae", f"{K}.losses.MSE"),
    "functions",
)
def _(tf):
    losses = tf.keras.losses
    return [
        losses.sparse_categorical_crossentropy(CLASSES, CHANCES),
        losses.sparse_categorical_crossentropy(CLASSES, CHANCES, from_logits=True),
        losses.mae(TRUE, CHANCES),
        losses.MSE(TRUE, CHANCES),
    ]


@plain(
    (
        *(f"{K}.metrics.{name}" for name in METRICS),
        "tf.metrics.SparseCategoricalAccuracy",
        "tf.metrics.BinaryAccuracy",
    ),
    "updates, weights, reset",
)
def _(tf):
    metrics = tf.keras.metrics
    found = []
    for metric, y, x in (
        (metrics.SparseCategoricalAccuracy(), CLASSES, CHANCES),
        (tf.metrics.SparseCategoricalAccuracy(name="a"), 1 - CLASSES, CHANCES),
        (metrics.Accuracy(), [1, 2, 3], [1, 0, 3]),
        (metrics.MeanAbsoluteError(), TRUE, CHANCES),
        (metrics.BinaryAccuracy(threshold=0.25), TRUE, CHANCES),
        (tf.metrics.BinaryAccuracy(), TRUE, CHANCES),
        (metrics.SparseCategoricalCrossentropy(), CLASSES, CHANCES),
        (metrics.BinaryCrossentropy(from_logits=True), TRUE, CHANCES),
    ):
        metric.update_state(y, x)
        first = metric.result()
        metric.update_state(y[:1], x[:1], sample_weight=[2.0])
        found.append([first, metric.result(), metric.name])
        metric.reset_state()
        found.append(metric.result())
    mean = metrics.Mean()
    mean.update_state([1.0, 3.0], sample_weight=[1.0, 3.0])
    return [found, mean.result(), mean.variables]


def _walk(tf, optimizer):
    """Variables after five steps of fixed gradients."""
    x, y = tf.Variable([1.0, -2.0, 3.0]), tf.Variable([[0.5], [0.25]])
    for step in range(5):
        optimizer.apply_gradients([(x * 0.3 + step * 0.1, x), (y * y - 0.2, y)])
    return [x, y, optimizer.iterations]


OPTIMIZERS = "Adam SGD Adagrad RMSprop Optimizer".split()


@plain((*(f"{K}.optimizers.{name}" for name in OPTIMIZERS), f"{K}.optimizers"), "steps", rtol=1e-4)
def _(tf):
    optimizers = tf.keras.optimizers

    class Plain(optimizers.Optimizer):
        def update_step(self, gradient, variable, learning_rate):
            self.assign_sub(variable, gradient * tf.cast(learning_rate, variable.dtype))

    return [
        _walk(tf, optimizer)
        for optimizer in (
            optimizers.Adam(0.05),
            optimizers.Adam(0.05, amsgrad=True, weight_decay=0.01, clipnorm=0.5),
            optimizers.SGD(0.1),
            optimizers.SGD(0.1, momentum=0.9, nesterov=True, global_clipnorm=1.0),
            optimizers.Adagrad(0.1, initial_accumulator_value=0.2),
            optimizers.RMSprop(0.05, rho=0.8, momentum=0.5, centered=True),
            Plain(learning_rate=0.1),
            optimizers.get("adam"),
        )
    ]


@plain(
    tuple(
        f"{K}.optimizers.schedules.{name}"
        for name in ("ExponentialDecay", "PolynomialDecay", "InverseTimeDecay")
    ),
    "rates by the step",
)
def _(tf):
    schedules = tf.keras.optimizers.schedules
    of = [
        schedules.ExponentialDecay(0.1, 10, 0.5),
        schedules.ExponentialDecay(0.1, 10, 0.5, staircase=True),
        schedules.PolynomialDecay(0.1, 20, 0.01, power=2.0),
        schedules.PolynomialDecay(0.1, 7, cycle=True),
        schedules.InverseTimeDecay(0.1, 5, 0.7),
        schedules.InverseTimeDecay(0.1, 5, 0.7, staircase=True),
    ]
    return [[schedule(step) for step in (0, 3, 10, 25)] for schedule in of]


@plain((f"{K}.regularizers.L2", f"{K}.regularizers.l2", f"{K}.regularizers.Regularizer"), "losses")
def _(tf):
    keras = tf.keras

    class Cubes(keras.regularizers.Regularizer):
        def __call__(self, x):
            return tf.reduce_sum(tf.abs(x) ** 3)

        def get_config(self):
            return {}

    x = tf.constant(numbers(2, 3))
    dense = keras.layers.Dense(2, kernel_regularizer=Cubes(), bias_regularizer="l2")
    dense(x)
    set_weights(dense)
    return [
        keras.regularizers.L2(0.3)(x),
        keras.regularizers.l2(0.1)(x),
        dense.losses,
        keras.regularizers.L2(0.25).get_config(),
    ]


@plain(
    tuple(f"{K}.initializers.{name}" for name in ("GlorotUniform", "Zeros", "Constant")),
    "first values",
)
def _(tf):
    initializers = tf.keras.initializers
    drawn = initializers.GlorotUniform(seed=1)((200, 100))
    again = initializers.GlorotUniform(seed=1)((200, 100))
    return [
        tf.reduce_max(tf.abs(drawn)) <= 0.1415,
        tf.abs(tf.math.reduce_std(drawn) - 0.0816) < 0.002,
        tf.reduce_all(drawn == again),
        initializers.Zeros()((2, 3), dtype="int32"),
        initializers.Constant(2.5)((2,)),
    ]


def _model(tf):
    keras = tf.keras
    model = keras.Sequential(
        [keras.Input((3,)), keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(2)]
    )
    set_weights(model)
    return model


DATA = numbers(8, 3), (np.arange(8) % 2)


@plain(
    (f"{K}.Sequential", f"{K}.models.Sequential", f"{K}.models.clone_model"),
    "fit, evaluate, predict",
    rtol=1e-4,
)
def _(tf):
    keras = tf.keras
    model = _model(tf)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss, metrics=["accuracy"])
    history = model.fit(*DATA, batch_size=4, epochs=3, verbose=0, shuffle=False)
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    summary = []
    model.summary(print_fn=lambda line, **_: summary.append(line))
    return [
        history.history["loss"],
        model.evaluate(*DATA, verbose=0),
        model.predict(DATA[0], batch_size=3, verbose=0),
        clone(DATA[0]),
        keras.models.Sequential is keras.Sequential,
        [w.shape for w in model.get_weights()],
        len(summary) > 0,
    ]


@plain((f"{K}.Model", f"{K}.models.Model"), "functional, subclassed, with a step of its own")
def _(tf):
    keras = tf.keras
    a, b = keras.Input((3,), name="a"), keras.Input((2,), name="b")
    hidden = keras.layers.Dense(4, activation="relu")(a)
    joined = keras.layers.Concatenate()([hidden, b])
    outputs = {"one": keras.layers.Dense(1)(joined), "two": keras.layers.Dense(2)(hidden)}
    model = keras.Model({"a": a, "b": b}, outputs)
    set_weights(model)

    class Own(keras.models.Model):
        def __init__(self):
            super().__init__()
            self.inner = keras.layers.Dense(2)

        def call(self, x):
            return self.inner(x)

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            return {"loss": loss}

    own = Own()
    own(DATA[0])
    set_weights(own)
    own.compile(optimizer=keras.optimizers.SGD(0.1))
    trained = own.fit(DATA[0], DATA[0][:, :2], epochs=2, verbose=0, shuffle=False)
    return [
        model({"a": DATA[0], "b": DATA[0][:, :2]}),
        [layer.name.split("_")[0] for layer in model.layers],
        trained.history["loss"],
    ]


@plain(
    tuple(
        f"{K}.callbacks.{name}" for name in ("Callback", "EarlyStopping", "LearningRateScheduler")
    ),
    "what they are told and change",
    rtol=1e-4,
)
def _(tf):
    keras = tf.keras
    told = []

    class Listener(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            told.append("begin")

        def on_train_batch_end(self, batch, logs=None):
            told.append(f"batch {batch} {sorted(logs)}")

        def on_epoch_end(self, epoch, logs=None):
            told.append(f"epoch {epoch} {sorted(logs)}")

    model = _model(tf)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.5), loss)
    rates = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5)
    stop = keras.callbacks.EarlyStopping("loss", patience=1, mode="max", restore_best_weights=True)
    history = model.fit(
        *DATA, epochs=5, batch_size=4, verbose=0, shuffle=False, callbacks=[Listener(), rates, stop]
    )
    return [told, history.history["loss"], history.history["learning_rate"], stop.stopped_epoch]


@plain((f"{K}.utils.set_random_seed", f"{K}.backend.clear_session"), "the same again")
def _(tf):
    keras = tf.keras
    found = []
    for _ in range(2):
        keras.backend.clear_session()
        keras.utils.set_random_seed(5)
        layer = keras.layers.Dense(3)
        layer.build((None, 2))
        found.append([layer.kernel.numpy(), np.random.rand(2), layer.name])
    (a, b, name), (c, d, other) = found
    return [bool((a == c).all()), bool((b == d).all()), name, other]
