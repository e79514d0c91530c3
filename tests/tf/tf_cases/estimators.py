"""Estimators, and models of TensorFlow 1 in those of TensorFlow 2, as the guides use them."""

import os
import tempfile

from corpus import plain, raises

E = "tf.estimator"
KERAS = "tf.compat.v1.keras"

AGE = [22.0, 38.0, 26.0, 35.0, 54.0, 2.0, 27.0, 14.0]
CITY = ["rome", "oslo", "oslo", "bern", "rome", "rome", "oslo", "bern"]
SURVIVED = [0, 1, 1, 1, 0, 0, 1, 0]
FARE = [7.25, 71.25, 7.9, 53.1, 51.9, 21.0, 11.1, 30.0]


def columns(tf):
    fc = tf.feature_column
    age = fc.numeric_column("age", normalizer_fn=lambda x: x / 30.0)
    city = fc.categorical_column_with_vocabulary_list("city", ["oslo", "rome", "bern"])
    return age, city


def batches(labels, size=4, repeat=1, weights=None):
    """A function that gives batches of the features above and labels."""

    def input_fn_of(tf):
        def input_fn():
            features = {"age": AGE, "city": CITY}
            if weights is not None:
                features["weight"] = weights
            made = tf.data.Dataset.from_tensor_slices((features, labels))
            return made.batch(size).repeat(repeat)

        return input_fn

    return input_fn_of


def trained(tf, estimator, input_fn_of, repeat_of=None):
    """What an estimator says after training: metrics, predictions, its variables."""
    estimator.train(repeat_of(tf) if repeat_of else input_fn_of(tf))
    metrics = estimator.evaluate(input_fn_of(tf))
    predictions = list(estimator.predict(input_fn_of(tf)))
    own = [
        n for n in estimator.get_variable_names() if n.startswith(("linear/", "dnn/", "baseline/"))
    ]
    own = [n for n in own if not n.endswith(("/Ftrl", "/Ftrl_1", "/Adagrad", "/SGD"))]
    numbers = {key: float(value) for key, value in metrics.items()}
    shown = {key: [p[key] for p in predictions] for key in predictions[0]}
    values = {name: estimator.get_variable_value(name) for name in sorted(own)}
    return [numbers, shown, values, int(metrics["global_step"])]


def estimator_case(of, what, rtol=1e-4, atol=1e-5):
    """A case that is given a folder for a model."""

    def wrap(function):
        def case(tf):
            with tempfile.TemporaryDirectory() as folder:
                return function(tf, os.path.join(folder, "model"))

        plain(of, what, rtol=rtol, atol=atol)(case)
        return function

    return wrap


# ---- linear --------------------------------------------------------------------------------------


@estimator_case(f"{E}.LinearClassifier", "of two classes")
def _(tf, folder):
    made = tf.estimator.LinearClassifier(list(columns(tf)), model_dir=folder)
    return trained(tf, made, batches(SURVIVED), batches(SURVIVED, repeat=5))


@estimator_case(f"{E}.LinearClassifier", "of three named classes, weighted")
def _(tf, folder):
    made = tf.estimator.LinearClassifier(
        list(columns(tf)),
        model_dir=folder,
        n_classes=3,
        weight_column="weight",
        label_vocabulary=["low", "mid", "high"],
    )
    labels = ["low", "high", "mid", "mid", "low", "high", "low", "mid"]
    weights = [1.0, 2.0, 0.5, 1.0, 1.0, 0.0, 3.0, 1.0]
    return trained(tf, made, batches(labels, weights=weights))


@estimator_case(f"{E}.LinearClassifier", "crossed columns, weighted, another optimizer")
def _(tf, folder):
    fc = tf.feature_column
    age, _ = columns(tf)
    crossed = fc.crossed_column(["city", fc.bucketized_column(age, [0.5, 1.0])], 30)
    made = tf.estimator.LinearClassifier(
        [crossed], model_dir=folder, optimizer="SGD", weight_column="weight", sparse_combiner="mean"
    )
    weights = [1.0, 2.0, 0.5, 1.0, 1.0, 0.5, 3.0, 1.0]
    return trained(tf, made, batches(SURVIVED, weights=weights))


@estimator_case(f"{E}.LinearRegressor", "of one number and of two")
def _(tf, folder):
    one = tf.estimator.LinearRegressor(list(columns(tf)), model_dir=folder)
    pairs = [[x, x / 2] for x in FARE]
    two = tf.estimator.LinearRegressor(
        list(columns(tf)), model_dir=folder + "2", label_dimension=2, loss_reduction="sum"
    )
    return [trained(tf, one, batches(FARE)), trained(tf, two, batches(pairs))]


@estimator_case((f"{E}.LinearEstimator", f"{E}.BinaryClassHead"), "thresholds")
def _(tf, folder):
    head = tf.estimator.BinaryClassHead(thresholds=[0.3, 0.6])
    made = tf.estimator.LinearEstimator(head, list(columns(tf)), model_dir=folder)
    return trained(tf, made, batches(SURVIVED))


@estimator_case(f"{E}.BinaryClassHead", "in a model function")
def _(tf, folder):
    head = tf.estimator.BinaryClassHead(label_vocabulary=["no", "yes"], name="survival")

    def model_fn(features, labels, mode):
        w = tf.compat.v1.get_variable("linear/w", initializer=[[0.5]])
        logits = tf.matmul(features["age"][:, None] / 30.0, w)
        optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.1)
        step = tf.compat.v1.train.get_global_step()
        return head.create_estimator_spec(
            features,
            mode,
            logits,
            labels=labels,
            train_op_fn=lambda loss: optimizer.minimize(loss, global_step=step),
        )

    labels = ["yes" if each else "no" for each in SURVIVED]
    made = tf.estimator.Estimator(model_fn, model_dir=folder)
    return trained(tf, made, batches(labels))


# ---- layers --------------------------------------------------------------------------------------


def known_start(tf, folder, shapes):
    """A checkpoint with fixed numbers in variables of these names."""
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        for name, shape in shapes.items():
            size = 1
            for each in shape:
                size *= each
            values = tf.reshape(tf.sin(tf.range(size, dtype=tf.float32) + 1.0) * 0.5, shape)
            v1.get_variable(name, initializer=values)
        session.run(v1.global_variables_initializer())
        return v1.train.Saver().save(session, os.path.join(folder, "start"))


LAYERS = {
    "dnn/hiddenlayer_0/kernel": [3, 4],
    "dnn/hiddenlayer_0/bias": [4],
    "dnn/hiddenlayer_1/kernel": [4, 2],
    "dnn/hiddenlayer_1/bias": [2],
    "dnn/input_from_feature_columns/input_layer/city_embedding/embedding_weights": [3, 2],
}


def layers_of(tf, folder, outputs):
    shapes = {**LAYERS, "dnn/logits/kernel": [2, outputs], "dnn/logits/bias": [outputs]}
    age, city = columns(tf)
    inputs = [age, tf.feature_column.embedding_column(city, 2)]
    start = known_start(tf, os.path.dirname(folder), shapes)
    return inputs, tf.estimator.WarmStartSettings(start, vars_to_warm_start="dnn/.*")


@estimator_case(f"{E}.DNNClassifier", "from known weights")
def _(tf, folder):
    inputs, start = layers_of(tf, folder, 1)
    made = tf.estimator.DNNClassifier([4, 2], inputs, model_dir=folder, warm_start_from=start)
    return trained(tf, made, batches(SURVIVED))


@estimator_case(f"{E}.DNNClassifier", "three classes, another activation")
def _(tf, folder):
    inputs, start = layers_of(tf, folder, 3)
    made = tf.estimator.DNNClassifier(
        hidden_units=[4, 2],
        feature_columns=inputs,
        model_dir=folder,
        n_classes=3,
        activation_fn=tf.nn.tanh,
        optimizer="SGD",
        warm_start_from=start,
    )
    return trained(tf, made, batches([0, 1, 2, 0, 1, 2, 1, 0]))


@estimator_case((f"{E}.DNNEstimator", f"{E}.DNNRegressor"), "from known weights")
def _(tf, folder):
    inputs, start = layers_of(tf, folder, 1)
    made = tf.estimator.DNNEstimator(
        tf.estimator.RegressionHead(), [4, 2], inputs, folder, warm_start_from=start
    )
    other = tf.estimator.DNNRegressor([4, 2], inputs, folder + "2", warm_start_from=start)
    return [trained(tf, made, batches(FARE)), trained(tf, other, batches(FARE))]


@estimator_case(f"{E}.DNNLinearCombinedEstimator", "only the linear part")
def _(tf, folder):
    made = tf.estimator.DNNLinearCombinedEstimator(
        tf.estimator.BinaryClassHead(),
        model_dir=folder,
        linear_feature_columns=list(columns(tf)),
        linear_optimizer="SGD",
    )
    return trained(tf, made, batches(SURVIVED))


@estimator_case((f"{E}.DNNLinearCombinedClassifier", f"{E}.DNNLinearCombinedEstimator"), "both")
def _(tf, folder):
    inputs, start = layers_of(tf, folder, 1)
    made = tf.estimator.DNNLinearCombinedClassifier(
        model_dir=folder,
        linear_feature_columns=list(columns(tf)),
        dnn_feature_columns=inputs,
        dnn_hidden_units=[4, 2],
        warm_start_from=start,
    )
    return trained(tf, made, batches(SURVIVED), batches(SURVIVED, repeat=3))


@estimator_case(f"{E}.DNNLinearCombinedClassifier", "only the linear part")
def _(tf, folder):
    made = tf.estimator.DNNLinearCombinedClassifier(
        model_dir=folder, linear_feature_columns=list(columns(tf)), linear_optimizer="Adagrad"
    )
    return trained(tf, made, batches(SURVIVED))


@estimator_case((f"{E}.BaselineClassifier", f"{E}.BaselineRegressor"), "a bias")
def _(tf, folder):
    out = []
    for kind, labels in (("BaselineClassifier", SURVIVED), ("BaselineRegressor", FARE)):

        def input_fn(labels=labels):
            return {"age": tf.constant(AGE)}, tf.constant(labels)

        made = getattr(tf.estimator, kind)(model_dir=os.path.join(folder, kind))
        made.train(input_fn, steps=4)
        metrics = made.evaluate(input_fn, steps=1)
        out += [
            {key: float(value) for key, value in metrics.items()},
            made.get_variable_value("baseline/bias"),
        ]
    return out


# ---- a model function ----------------------------------------------------------------------------


def line_fn(tf):
    """A model function in the manner of TensorFlow 1."""

    def model_fn(features, labels, mode, params):
        v1 = tf.compat.v1
        w = v1.get_variable("linear/w", initializer=0.5)
        b = v1.get_variable("linear/b", initializer=0.0)
        y = features["age"] / 30.0 * w + b
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(
                mode,
                predictions={"y": y},
                export_outputs={"serving_default": tf.estimator.export.PredictOutput({"out": y})},
            )
        loss = tf.reduce_mean((y - tf.cast(labels, tf.float32)) ** 2)
        if mode == tf.estimator.ModeKeys.EVAL:
            metrics = {"mean": v1.metrics.mean(y)}
            return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
        optimizer = v1.train.GradientDescentOptimizer(params["rate"])
        train_op = optimizer.minimize(loss, v1.train.get_or_create_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    return model_fn


NAMES = (
    E,
    f"{E}.Estimator",
    f"{E}.EstimatorSpec",
    f"{E}.RunConfig",
    f"{E}.ModeKeys.TRAIN",
    f"{E}.ModeKeys.EVAL",
    f"{E}.ModeKeys.PREDICT",
)


@estimator_case(NAMES, "trained, evaluated, asked")
def _(tf, folder):
    keys = tf.estimator.ModeKeys
    config = tf.estimator.RunConfig(model_dir=folder, save_checkpoints_steps=2, tf_random_seed=7)
    made = tf.estimator.Estimator(line_fn(tf), config=config, params={"rate": 0.1})
    made.train(batches(FARE, repeat=3)(tf), steps=5)
    first = made.evaluate(batches(FARE)(tf))
    made.train(batches(FARE, repeat=3)(tf), max_steps=7)
    predictions = [p["y"] for p in made.predict(batches(FARE)(tf))]
    return [
        {key: float(value) for key, value in first.items()},
        predictions,
        {n: made.get_variable_value(n) for n in sorted(made.get_variable_names())},
        [keys.TRAIN, keys.EVAL, keys.PREDICT],
        os.path.basename(made.latest_checkpoint()),
        [config.save_checkpoints_steps, config.tf_random_seed, config.keep_checkpoint_max],
    ]


@estimator_case((f"{E}.train_and_evaluate", f"{E}.TrainSpec", f"{E}.EvalSpec"), "to a step")
def _(tf, folder):
    made = tf.estimator.Estimator(line_fn(tf), folder, params={"rate": 0.05})
    train = tf.estimator.TrainSpec(batches(FARE, repeat=None)(tf), max_steps=9)
    evaluation = tf.estimator.EvalSpec(batches(FARE)(tf), steps=1, name="last", throttle_secs=1)
    metrics, exports = tf.estimator.train_and_evaluate(made, train, evaluation)
    return [
        {key: float(value) for key, value in metrics.items()},
        exports,
        [train.max_steps, evaluation.steps, evaluation.name],
        sorted(n for n in os.listdir(folder) if n.startswith("eval")),
    ]


@estimator_case(
    (
        f"{E}.export.build_raw_serving_input_receiver_fn",
        f"{E}.export.PredictOutput",
    ),
    "a model that is loaded again",
)
def _(tf, folder):
    made = tf.estimator.Estimator(line_fn(tf), folder, params={"rate": 0.05})
    made.train(batches(FARE)(tf))
    with tf.Graph().as_default():
        age = tf.compat.v1.placeholder(tf.float32, [None], name="age")
        receiver = tf.estimator.export.build_raw_serving_input_receiver_fn({"age": age})
        path = made.export_saved_model(folder + "_export", receiver)
    loaded = tf.saved_model.load(path.decode())
    call = loaded.signatures["serving_default"]
    return [call(age=tf.constant([30.0, 60.0])), sorted(loaded.signatures)]


@estimator_case(f"{E}.export.build_parsing_serving_input_receiver_fn", "fed with examples")
def _(tf, folder):
    made = tf.estimator.LinearClassifier(list(columns(tf)), model_dir=folder)
    made.train(batches(SURVIVED)(tf))
    spec = tf.feature_column.make_parse_example_spec(columns(tf))
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    path = made.export_saved_model(folder + "_export", receiver)
    loaded = tf.saved_model.load(path.decode())
    feature = {
        "age": tf.train.Feature(float_list=tf.train.FloatList(value=[40.0])),
        "city": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"oslo"])),
    }
    record = tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
    asked = loaded.signatures["predict"](examples=tf.constant([record, record]))
    return [asked["logits"], asked["classes"], asked["probabilities"], sorted(loaded.signatures)]


raises(
    f"{E}.EstimatorSpec",
    "no loss to train",
    "",
    lambda tf: tf.estimator.EstimatorSpec(tf.estimator.ModeKeys.TRAIN, predictions=1.0),
)
raises(
    f"{E}.Estimator",
    "a model function without features",
    "features",
    lambda tf: tf.estimator.Estimator(lambda x: x),
)
raises(f"{E}.RunConfig", "no such setting", "", lambda tf: tf.estimator.RunConfig(unknown=1))
raises(
    f"{E}.TrainSpec",
    "no steps",
    "",
    lambda tf: tf.estimator.TrainSpec(batches(FARE)(tf), max_steps=0),
)
raises(
    f"{E}.EvalSpec", "no steps", "", lambda tf: tf.estimator.EvalSpec(batches(FARE)(tf), steps=0)
)
raises(
    f"{E}.LinearClassifier",
    "no columns",
    "",
    lambda tf: tf.estimator.LinearClassifier([]).train(batches(SURVIVED)(tf)),
)
raises(
    f"{E}.DNNClassifier",
    "a column of categories",
    "",
    lambda tf: tf.estimator.DNNClassifier([2], [columns(tf)[1]]).train(batches(SURVIVED)(tf)),
)


# ---- models of TensorFlow 1 in those of TensorFlow 2 ---------------------------------------------


def _module(tf):
    v1 = tf.compat.v1

    class Model(tf.Module):
        @v1.keras.utils.track_tf1_style_variables
        def __call__(self, x):
            with v1.variable_scope("a"):
                w = v1.get_variable("w", [2, 3], initializer=tf.ones_initializer())
                b = v1.get_variable("b", [3], initializer=tf.zeros_initializer(), trainable=False)
                y = x @ w + b
            with v1.variable_scope("b"):
                return v1.layers.dense(y, 1, kernel_initializer=tf.ones_initializer(), name="d")

    return Model()


@plain(f"{KERAS}.utils.track_tf1_style_variables", "a module's, in a function and a tape")
def _(tf):
    model = _module(tf)
    x = tf.constant([[1.0, 2.0], [3.0, -1.0]])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(x) ** 2)
    trained = sorted(model.trainable_variables, key=lambda v: v.name)
    gradients = tape.gradient(loss, trained)
    trained[0].assign_add(tf.ones_like(trained[0]))
    traced = tf.function(model)
    return [
        loss,
        gradients,
        [v.name for v in trained],
        model(x),
        traced(x),
        len(model.variables),
    ]


@plain(f"{KERAS}.utils.track_tf1_style_variables", "two objects")
def _(tf):
    one, two = _module(tf), _module(tf)
    x = tf.constant([[1.0, 2.0]])
    one(x), two(x)
    for v in one.trainable_variables:
        v.assign(v * 2.0)
    return [one(x), two(x)]


def _layer(tf):
    v1 = tf.compat.v1

    class Layer(tf.keras.layers.Layer):
        @v1.keras.utils.track_tf1_style_variables
        def call(self, x):
            with v1.variable_scope("a", regularizer=tf.keras.regularizers.L2(0.1)):
                w = v1.get_variable("w", [2, 1], initializer=tf.ones_initializer())
            return x @ w

    return Layer()


@plain(f"{KERAS}.utils.track_tf1_style_variables", "a layer of Keras, its losses")
def _(tf):
    layer = _layer(tf)
    out = layer(tf.constant([[1.0, 2.0]]))
    layer(tf.constant([[3.0, 2.0]]))
    weights = [tf.convert_to_tensor(w) for w in layer.trainable_weights]
    return [out, weights, tf.add_n(layer.losses), len(layer.losses)]


raises(
    f"{KERAS}.utils.track_tf1_style_variables",
    "of what is no module",
    "applied to a method",
    lambda tf: tf.compat.v1.keras.utils.track_tf1_style_variables(lambda self: 1)(3),
)


@plain(f"{KERAS}.utils.get_or_create_layer", "made once")
def _(tf):
    v1, made = tf.compat.v1, []

    class Model(tf.keras.layers.Layer):
        @v1.keras.utils.track_tf1_style_variables
        def call(self, x):
            def create():
                made.append(1)
                return tf.keras.layers.Dense(2, kernel_initializer="ones")

            return v1.keras.utils.get_or_create_layer("dense", create)(x)

    model = Model()
    x = tf.constant([[1.0, 2.0]])
    return [model(x), model(2.0 * x), len(made), len(model.trainable_weights)]


@plain(f"{KERAS}.experimental.LinearModel", "trained", rtol=1e-4)
def _(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]])
    y = tf.constant([[1.0], [2.0], [0.0]])
    model = tf.compat.v1.keras.experimental.LinearModel()
    model.compile("sgd", "mse")
    losses = model.fit(x, y, epochs=3, batch_size=3, verbose=0).history["loss"]
    pair = tf.compat.v1.keras.experimental.LinearModel(
        2, kernel_initializer="ones", bias_initializer="ones", activation="tanh"
    )
    both = pair([x[:, :1] * 0.1, x * 0.2])
    return [losses, tf.constant(model.predict(x, verbose=0)), both, len(pair.trainable_weights)]


@plain(f"{KERAS}.experimental.WideDeepModel", "with one optimizer and with two", rtol=1e-4)
def _(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]])
    y = tf.constant([[1.0], [2.0], [0.0]])
    out = []
    for optimizer in ("sgd", ["sgd", tf.keras.optimizers.SGD(0.001)]):
        deep = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
        wide = tf.compat.v1.keras.experimental.LinearModel()
        model = tf.compat.v1.keras.experimental.WideDeepModel(wide, deep)
        model.compile(optimizer, "mse")
        out.append(model.fit([x, x], y, epochs=3, batch_size=3, verbose=0).history["loss"])
        out.append(tf.constant(model.predict([x, x], verbose=0)))
    return out


@plain(f"{KERAS}.regularizers.L2", "of a vector")
def _(tf):
    return [tf.compat.v1.keras.regularizers.L2(0.5)(tf.constant([1.0, 2.0]))]
