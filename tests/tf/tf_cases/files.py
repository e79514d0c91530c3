"""Models and checkpoints in folders: what is saved is loaded, run and compared."""

import os
import tempfile

from corpus import plain, raises

SAVE = "tf.saved_model.save"
LOAD = "tf.saved_model.load"


def dense(tf):
    """A module with variables, functions with and without a signature."""

    class Dense(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable([[1.0, -2.0], [0.5, 3.0]], name="w")
            self.b = tf.Variable([0.25, -1.0], name="b")
            self.steps = tf.Variable(3, dtype=tf.int64, trainable=False)

        @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
        def __call__(self, x):
            return tf.nn.relu(x @ self.w + self.b)

        @tf.function
        def scaled(self, x, factor=2.0):
            return {"y": x * factor, "n": tf.shape(x)}

        @tf.function(input_signature=[])
        def step(self):
            self.steps.assign_add(1)
            return self.steps.read_value()

    return Dense()


def again(tf, module, **options):
    """The module, saved and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, **options)
        return tf.saved_model.load(folder)


X = [[1.0, 2.0], [-1.0, 0.5]]


@plain((SAVE, LOAD), "a module's function")
def _(tf):
    loaded = again(tf, dense(tf))
    x = tf.constant(X)
    return [loaded(x), loaded.w, loaded.b, loaded.w.trainable, loaded.steps.trainable]


@plain((SAVE, LOAD), "functions that were called before")
def _(tf):
    module = dense(tf)
    module.scaled(tf.constant([1.0, 2.0]))
    module.scaled(tf.constant([[1.0]]), tf.constant(3.0))
    loaded = again(tf, module)
    return [
        loaded.scaled(tf.constant([3.0, 4.0])),
        loaded.scaled([5.0, 6.0], 2.0),
        loaded.scaled(tf.constant([[2.0]]), tf.constant(5.0)),
    ]


@plain((SAVE, LOAD), "variables that change")
def _(tf):
    loaded = again(tf, dense(tf))
    counts = [int(loaded.step()) for _ in range(3)]
    return [counts, loaded.steps]


@plain((LOAD, SAVE), "gradients of loaded functions")
def _(tf):
    loaded = again(tf, dense(tf))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(loaded(tf.constant(X)) ** 2)
    return [loss, *tape.gradient(loss, [loaded.w, loaded.b])]


@plain((SAVE, LOAD, "tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY"), "signatures")
def _(tf):
    key = tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    module = dense(tf)
    loaded = again(tf, module, signatures={key: module.__call__, "step": module.step})
    call = loaded.signatures[key]
    return [
        key,
        sorted(loaded.signatures),
        call(x=tf.constant(X)),
        call(tf.constant(X)),
        loaded.signatures["step"](),
        repr(call.structured_input_signature),
        repr(call.structured_outputs),
        [t.shape.as_list() for t in call.outputs],
        [t.dtype.name for t in call.inputs],
        len(call.variables),
    ]


@plain((SAVE, LOAD), "concrete functions as signatures")
def _(tf):
    module = tf.Module()
    module.v = tf.Variable(2.0)
    module.f = tf.function(lambda x, y: (x * module.v, {"sum": x + y}["sum"]))
    concrete = module.f.get_concrete_function(
        tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.float32, name="offset")
    )
    loaded = again(tf, module, signatures=concrete)
    call = loaded.signatures["serving_default"]
    return [
        call(x=tf.constant([1.0, 2.0]), offset=tf.constant(10.0)),
        sorted(call.structured_input_signature[1]),
    ]


@plain((SAVE, LOAD), "lists, dictionaries and modules inside")
def _(tf):
    outer = tf.Module()
    outer.parts = [tf.Variable(1.0), [tf.Variable(2.0)]]
    outer.named = {"a": tf.Variable([3.0]), "b": {"c": tf.Variable(4)}}
    outer.inner = tf.Module()
    outer.inner.v = tf.Variable(b"text")
    outer.same = outer.parts[0]
    loaded = again(tf, outer)
    return [
        loaded.parts[0],
        loaded.parts[1][0],
        loaded.named["a"],
        loaded.named["b"]["c"],
        loaded.inner.v,
        loaded.same is loaded.parts[0],
        len(loaded.parts),
    ]


@plain((SAVE, LOAD), "branches and loops")
def _(tf):
    module = tf.Module()
    module.v = tf.Variable(3.0)

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def collatz(n):
        steps = 0
        total = 0.0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
            total += module.v
        return steps, total

    module.collatz = collatz
    loaded = again(tf, module)
    with tf.GradientTape() as tape:
        steps, total = loaded.collatz(tf.constant(6))
    return [steps, total, tape.gradient(total, loaded.v)]


@plain((SAVE, LOAD), "what was loaded, saved again")
def _(tf):
    module = dense(tf)
    first = again(tf, module, signatures=module.__call__)
    first.b.assign([10.0, 20.0])
    second = again(tf, first)
    return [second(tf.constant(X)), second.b]


@plain(("tf.saved_model.SaveOptions", SAVE), "options of saving")
def _(tf):
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    module = dense(tf)
    loaded = again(tf, module, options=options)
    return [
        loaded(tf.constant(X)),
        options.experimental_custom_gradients,
        options.save_debug_info,
        options.function_aliases,
        options.namespace_whitelist,
    ]


@plain(("tf.saved_model.LoadOptions", LOAD), "options of loading")
def _(tf):
    options = tf.saved_model.LoadOptions(experimental_io_device="/job:localhost")
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(dense(tf), folder)
        loaded = tf.saved_model.load(folder, options=options)
        tagged = tf.saved_model.load(folder, tags=["serve"])
    return [loaded(tf.constant(X)), tagged(tf.constant(X)), options.allow_partial_checkpoint]


@plain((SAVE, LOAD), "files of a folder")
def _(tf):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "new", "model")
        before = tf.saved_model.contains_saved_model(folder)
        tf.saved_model.save(dense(tf), path)
        names = sorted(set(os.listdir(path)) - {"fingerprint.pb"})
        return [before, names, sorted(os.listdir(os.path.join(path, "variables")))]


def _nowhere(tf):
    tf.saved_model.load("/nowhere/at/all")


raises(LOAD, "a folder that is not there", "SavedModel file does not exist at", _nowhere)
raises(
    SAVE,
    "no trackable object",
    "Expected an object of type `Trackable`",
    lambda tf: tf.saved_model.save(3, "/nowhere"),
)


def _untracked(tf):
    hidden = tf.Variable(1.0)
    module = tf.Module()
    module.f = tf.function(lambda: hidden + 1.0, input_signature=[])
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder)


raises(SAVE, "a variable that nothing holds", "references an 'untracked' resource", _untracked)


def _no_signature(tf):
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(tf.Module(), folder, signatures=lambda x: x)


raises(SAVE, "a signature that is no function", "Expected a TensorFlow function", _no_signature)


def _no_match(tf):
    again(tf, dense(tf))(tf.constant([1, 2]))


raises(LOAD, "arguments that fit no trace", "", _no_match)


# ---- checkpoints ---------------------------------------------------------------------------------

CHECKPOINT = "tf.train.Checkpoint"
MANAGER = "tf.train.CheckpointManager"


@plain(CHECKPOINT, "saved and restored")
def _(tf):
    with tempfile.TemporaryDirectory() as folder:
        v, w = tf.Variable([1.0, 2.0]), tf.Variable(3, dtype=tf.int64)
        saver = tf.train.Checkpoint(v=v, w=w)
        path = saver.save(os.path.join(folder, "ckpt"))
        second = saver.save(os.path.join(folder, "ckpt"))
        v.assign([0.0, 0.0])
        w.assign(0)
        status = saver.restore(path)
        status.assert_consumed()
        return [os.path.basename(path), os.path.basename(second), v, w, saver.save_counter]


@plain(CHECKPOINT, "written and read")
def _(tf):
    with tempfile.TemporaryDirectory() as folder:
        module = dense(tf)
        path = tf.train.Checkpoint(module).write(os.path.join(folder, "one"))
        other = dense(tf)
        other.w.assign(tf.zeros([2, 2]))
        tf.train.Checkpoint(root=other).read(path).assert_consumed()
        return [os.path.basename(path), other.w, other.steps]


@plain(CHECKPOINT, "by the names of objects")
def _(tf):
    with tempfile.TemporaryDirectory() as folder:
        inner = tf.train.Checkpoint(bias=tf.Variable([1.0]), kernel=tf.Variable([[2.0, 3.0]]))
        path = tf.train.Checkpoint(net=inner, step=tf.Variable(7)).save(folder + "/a")
        bias = tf.Variable([0.0])
        part = tf.train.Checkpoint(bias=bias)
        status = tf.train.Checkpoint(net=part).restore(path)
        status.assert_existing_objects_matched()
        later = tf.Variable([[0.0, 0.0]])
        found = [bias, tf.identity(later)]
        part.kernel = later
        return [*found, later]


@plain(CHECKPOINT, "lists and dictionaries")
def _(tf):
    with tempfile.TemporaryDirectory() as folder:
        saver = tf.train.Checkpoint()
        saver.parts = [tf.Variable(1.0)]
        saver.parts.append(tf.Variable(2.0))
        saver.named = {"a": tf.Variable(3.0)}
        path = saver.save(folder + "/list")
        other = tf.train.Checkpoint()
        other.parts = []
        other.restore(path)
        v = tf.Variable(0.0)
        other.parts.append(v)
        first = tf.identity(v)
        other.parts.append(tf.Variable(0.0))
        return [first, other.parts[1]]


@plain((CHECKPOINT, "tf.train.list_variables", "tf.train.load_checkpoint"), "tensors of a file")
def _(tf):
    with tempfile.TemporaryDirectory() as folder:
        saver = tf.train.Checkpoint(v=tf.Variable([1.0, 2.0]), t=tf.Variable(b"x"))
        saver.save(folder + "/c")
        reader = tf.train.load_checkpoint(folder)
        shapes = reader.get_variable_to_shape_map()
        key = "v/.ATTRIBUTES/VARIABLE_VALUE"
        return [
            [[name, list(shape)] for name, shape in tf.train.list_variables(folder)],
            sorted(shapes),
            reader.get_tensor(key),
            reader.has_tensor("nothing"),
            reader.get_variable_to_dtype_map()[key].name,
            tf.train.load_variable(folder, key),
        ]


@plain((MANAGER, "tf.train.latest_checkpoint"), "keeps the newest")
def _(tf):
    with tempfile.TemporaryDirectory() as folder:
        v = tf.Variable(0)
        saver = tf.train.Checkpoint(v=v)
        manager = tf.train.CheckpointManager(saver, folder, max_to_keep=2)
        found = [manager.latest_checkpoint, tf.train.latest_checkpoint(folder)]
        for _ in range(4):
            v.assign_add(1)
            manager.save()
        names = [os.path.basename(p) for p in manager.checkpoints]
        found += [names, sorted(n for n in os.listdir(folder) if n.endswith(".index"))]
        found += [os.path.basename(tf.train.latest_checkpoint(folder))]
        other = tf.train.CheckpointManager(tf.train.Checkpoint(v=tf.Variable(0)), folder, 2)
        restored = other.restore_or_initialize()
        found += [os.path.basename(restored), other.checkpoint.v, other.checkpoint.save_counter]
        other.save()
        return [*found, [os.path.basename(p) for p in other.checkpoints]]


@plain(MANAGER, "intervals, numbers and beginnings")
def _(tf):
    with tempfile.TemporaryDirectory() as folder:
        step = tf.Variable(0)
        begun = []
        manager = tf.train.CheckpointManager(
            tf.train.Checkpoint(step=step),
            folder,
            max_to_keep=None,
            step_counter=step,
            checkpoint_interval=2,
            checkpoint_name="c",
            init_fn=lambda: begun.append(1),
        )
        found = [manager.restore_or_initialize(), begun]
        for _ in range(5):
            step.assign_add(1)
            path = manager.save(checkpoint_number=step)
            found.append(path and os.path.basename(path))
        return [*found, manager.checkpoint_interval]


def _partial(tf, assertion):
    with tempfile.TemporaryDirectory() as folder:
        path = tf.train.Checkpoint(v=tf.Variable(1.0)).save(folder + "/x")
        other = tf.train.Checkpoint(w=tf.Variable(2.0))
        getattr(other.restore(path), assertion)()


raises(
    CHECKPOINT, "something of the file is not there", "", lambda tf: _partial(tf, "assert_consumed")
)
raises(
    CHECKPOINT,
    "something there is not in the file",
    "",
    lambda tf: _partial(tf, "assert_existing_objects_matched"),
)


def _shape(tf):
    with tempfile.TemporaryDirectory() as folder:
        path = tf.train.Checkpoint(v=tf.Variable([1.0])).save(folder + "/x")
        tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).restore(path)


raises(CHECKPOINT, "another shape", "incompatible", _shape)
raises(
    CHECKPOINT,
    "a file that is not there",
    "Failed to find any matching files for",
    lambda tf: tf.train.Checkpoint(v=tf.Variable(1.0)).restore("/nowhere/x"),
)
raises(
    MANAGER,
    "nothing to keep",
    "positive integer",
    lambda tf: tf.train.CheckpointManager(tf.train.Checkpoint(), "/tmp", max_to_keep=0),
)
