"""Random numbers: the same seeds give the numbers that TensorFlow gives."""

from corpus import plain, raises

TIGHT = {"rtol": 1e-6, "atol": 1e-6}


def seeded(name, draw, seed=42):
    """Three draws after a global seed: the operation's own counter moves on."""

    @plain("tf.random.set_seed" if name.startswith("global") else SYMBOL[0], name, **TIGHT)
    def _(tf):
        tf.random.set_seed(seed)
        return [draw(tf), draw(tf), draw(tf)]


SYMBOL = [""]


def of(symbol, **draws):
    SYMBOL[0] = symbol
    for name, draw in draws.items():
        seeded(name.replace("_", " "), draw)


of(
    "tf.random.uniform",
    without_a_seed=lambda tf: tf.random.uniform([5]),
    with_a_seed=lambda tf: tf.random.uniform([2, 3], seed=7),
    a_range=lambda tf: tf.random.uniform([4], minval=-2.0, maxval=3.0, seed=1),
    i32=lambda tf: tf.random.uniform([6], 0, 10, dtype=tf.int32, seed=1),
    i64=lambda tf: tf.random.uniform([6], -5, 1000000007, dtype=tf.int64, seed=2),
    f64=lambda tf: tf.random.uniform([3], dtype=tf.float64, seed=2),
    f16=lambda tf: tf.random.uniform([7], dtype=tf.float16, seed=2),
    bfloat16=lambda tf: tf.random.uniform([7], dtype=tf.bfloat16, seed=2),
    a_scalar=lambda tf: tf.random.uniform([], seed=3),
    many=lambda tf: tf.random.uniform([300], seed=3)[250:],
    a_tensor_of_sizes=lambda tf: tf.random.uniform(tf.constant([2, 2]), seed=4),
)
of(
    "tf.random.normal",
    without_a_seed=lambda tf: tf.random.normal([5]),
    with_a_seed=lambda tf: tf.random.normal([2, 3], seed=7),
    mean_and_deviation=lambda tf: tf.random.normal([4], 2.0, 0.5, seed=1),
    f64=lambda tf: tf.random.normal([5], dtype=tf.float64, seed=1),
    f16=lambda tf: tf.random.normal([4], dtype=tf.float16, seed=1),
    many=lambda tf: tf.random.normal([300], seed=3)[250:],
)
of(
    "tf.random.truncated_normal",
    without_a_seed=lambda tf: tf.random.truncated_normal([5]),
    with_a_seed=lambda tf: tf.random.truncated_normal([20], seed=7),
    mean_and_deviation=lambda tf: tf.random.truncated_normal([4], 1.0, 2.0, seed=1),
    f64=lambda tf: tf.random.truncated_normal([6], dtype=tf.float64, seed=1),
)
of(
    "tf.random.shuffle",
    a_vector=lambda tf: tf.random.shuffle(tf.range(10), seed=3),
    rows=lambda tf: tf.random.shuffle(tf.constant([[1, 2], [3, 4], [5, 6]]), seed=3),
    without_a_seed=lambda tf: tf.random.shuffle(tf.range(7)),
)
of(
    "tf.random.categorical",
    rows=lambda tf: tf.random.categorical(
        tf.math.log([[0.1, 0.2, 0.7], [0.5, 0.4, 0.1]]), 6, seed=2
    ),
    i32=lambda tf: tf.random.categorical([[0.0, 1.0]], 5, dtype=tf.int32, seed=2),
)
of("tf.random.gamma", alpha=lambda tf: tf.random.gamma([4], [0.5, 2.0], seed=1))
of(
    "tf.random.gamma",
    one_and_a_scale=lambda tf: tf.random.gamma([3, 2], [1.0, 7.5], beta=[2.0, 0.5], seed=3),
    f64=lambda tf: tf.random.gamma([5], 0.3, dtype=tf.float64, seed=4),
)
of("tf.random.poisson", rates=lambda tf: tf.random.poisson([4], [0.5, 20.0], seed=1))
of(
    "tf.random.poisson",
    many=lambda tf: tf.random.poisson([20], [3.0, 11.0, 200.0], dtype=tf.int32, seed=5),
)
of("tf.image.random_crop", a_picture=lambda tf: tf.image.random_crop(tf.range(36), [5], seed=1))
of(
    "tf.image.random_flip_left_right",
    a_picture=lambda tf: tf.image.random_flip_left_right(
        tf.reshape(tf.range(6.0), [2, 3, 1]), seed=1
    ),
)


@plain("tf.random.set_seed", "starts again", **TIGHT)
def _(tf):
    tf.random.set_seed(5)
    first = tf.random.uniform([3])
    second = tf.random.uniform([3])
    tf.random.set_seed(5)
    return [
        bool(tf.reduce_all(first == tf.random.uniform([3]))),
        bool(tf.reduce_all(first == second)),
    ]


@plain("tf.random.set_seed", "different operations", **TIGHT)
def _(tf):
    tf.random.set_seed(1234)
    return [
        tf.random.uniform([2]),
        tf.random.normal([2]),
        tf.random.truncated_normal([2]),
        tf.random.uniform([2], maxval=9, dtype=tf.int32),
        tf.random.shuffle([1, 2, 3, 4]),
    ]


@plain("tf.random.set_seed", "zero and large", **TIGHT)
def _(tf):
    out = []
    for seed in (0, 2**31 - 1, 2**40):
        tf.random.set_seed(seed)
        out += [tf.random.uniform([2]), tf.random.uniform([2], seed=0)]
    return out


@plain("tf.random.set_seed", "inside functions", **TIGHT)
def _(tf):
    tf.random.set_seed(9)

    @tf.function
    def f():
        return tf.random.uniform([2]), tf.random.normal([2])

    @tf.function
    def g():
        return tf.random.uniform([2]), tf.random.uniform([2], seed=4)

    return [f(), f(), g(), g()]


@plain("tf.random.set_seed", "a seed inside a function", **TIGHT)
def _(tf):
    @tf.function
    def f():
        a = tf.random.uniform([2], seed=1)
        c = tf.random.uniform([2], seed=1)
        return a, c

    tf.random.set_seed(1)
    first = [f(), f()]
    tf.random.set_seed(1)
    return [first, f()]


def stateless(symbol, **draws):
    for name, draw in draws.items():

        @plain(symbol, name.replace("_", " "), **TIGHT)
        def _(tf, draw=draw):
            return [
                draw(tf, [1, 2]),
                draw(tf, tf.constant([-7, 2**40], tf.int64)),
                draw(tf, [0, 0]),
            ]


stateless(
    "tf.random.stateless_uniform",
    floats=lambda tf, s: tf.random.stateless_uniform([2, 3], s),
    a_range=lambda tf, s: tf.random.stateless_uniform([3], seed=s, minval=2.0, maxval=5.0),
    i32=lambda tf, s: tf.random.stateless_uniform([5], s, 0, 100, tf.int32),
    i64=lambda tf, s: tf.random.stateless_uniform([5], s, -9, 2**40, tf.int64),
    full_range=lambda tf, s: tf.random.stateless_uniform([3], s, None, None, tf.int32),
    f64=lambda tf, s: tf.random.stateless_uniform([3], s, dtype=tf.float64),
    many=lambda tf, s: tf.random.stateless_uniform([300], s)[250:],
    philox=lambda tf, s: tf.random.stateless_uniform([3], s, alg="philox"),
)
stateless(
    "tf.random.stateless_normal",
    floats=lambda tf, s: tf.random.stateless_normal([2, 3], s),
    mean_and_deviation=lambda tf, s: tf.random.stateless_normal([3], s, 1.0, 2.0),
    f64=lambda tf, s: tf.random.stateless_normal([3], s, dtype=tf.float64),
    f16=lambda tf, s: tf.random.stateless_normal([3], s, dtype=tf.float16),
)
stateless(
    "tf.random.stateless_truncated_normal",
    floats=lambda tf, s: tf.random.stateless_truncated_normal([20], s),
    mean_and_deviation=lambda tf, s: tf.random.stateless_truncated_normal([3], s, 1.0, 2.0),
)
stateless(
    "tf.random.stateless_categorical",
    rows=lambda tf, s: tf.random.stateless_categorical([[0.0, 1.0, 2.0]], 6, s),
)
stateless(
    "tf.random.stateless_gamma",
    alpha=lambda tf, s: tf.random.stateless_gamma([4, 2], s, alpha=[0.5, 2.0]),
)
stateless(
    "tf.random.stateless_poisson",
    rates=lambda tf, s: tf.random.stateless_poisson([4, 2], s, lam=[0.5, 20.0]),
)
stateless(
    "tf.random.stateless_binomial",
    counts=lambda tf, s: tf.random.stateless_binomial([5], s, counts=10.0, probs=0.3),
    several=lambda tf, s: tf.random.stateless_binomial(
        [20, 3], s, counts=[5.0, 60.0, 100.0], probs=[0.9, 0.5, 0.8]
    ),
)
stateless(
    "tf.random.experimental.stateless_shuffle",
    a_vector=lambda tf, s: tf.random.experimental.stateless_shuffle(tf.range(8), s),
)
stateless(
    "tf.random.split",
    two=lambda tf, s: tf.random.split(s, 2),
    five=lambda tf, s: tf.random.split(s, num=5),
)
stateless("tf.random.fold_in", a_number=lambda tf, s: tf.random.fold_in(s, 7))
stateless(
    "tf.image.stateless_random_brightness",
    a_picture=lambda tf, s: tf.image.stateless_random_brightness(tf.ones([1, 2, 3]), 0.3, s),
)
stateless(
    "tf.image.stateless_random_contrast",
    a_picture=lambda tf, s: tf.image.stateless_random_contrast(
        tf.reshape(tf.range(12.0), [2, 2, 3]), 0.2, 0.9, s
    ),
)
stateless(
    "tf.image.stateless_random_crop",
    a_picture=lambda tf, s: tf.image.stateless_random_crop(
        tf.reshape(tf.range(48), [4, 4, 3]), [2, 2, 3], s
    ),
)


@plain("tf.random.Generator.from_seed", "draws", **TIGHT)
def _(tf):
    g = tf.random.Generator.from_seed(1)
    return [
        g.uniform([3]),
        g.normal([2, 2]),
        g.truncated_normal([3]),
        g.uniform([3], -1.0, 1.0),
        g.uniform([4], 0, 50, dtype=tf.int32),
        g.uniform_full_int([2]),
        g.normal([1], 3.0, 0.1),
        g.state,
    ]


@plain("tf.random.Generator.from_seed", "splits", **TIGHT)
def _(tf):
    g = tf.random.Generator.from_seed(2, alg="philox")
    one, two = g.split(2)
    return [one.uniform([2]), two.uniform([2]), g.uniform([2]), one.state, two.state]


@plain("tf.random.Generator.from_seed", "skips and resets", **TIGHT)
def _(tf):
    g = tf.random.Generator.from_seed(3)
    g.skip(5)
    out = [g.uniform([2])]
    g.reset_from_seed(3)
    out.append(g.uniform([2]))
    out.append(g.make_seeds(2))
    out.append(g.key)
    return out


@plain("tf.random.Generator.from_seed", "inside a function", **TIGHT)
def _(tf):
    g = tf.random.Generator.from_seed(4)

    @tf.function
    def f():
        return g.normal([2])

    return [f(), f(), g.normal([2])]


@plain("tf.random.Generator.from_seed", "from state", **TIGHT)
def _(tf):
    g = tf.random.Generator.from_state([1, 2, 3], alg="philox")
    h = tf.random.Generator.from_key_counter(7, [8, 9], "philox")
    return [g.uniform([2]), g.state, h.uniform([2]), h.state, g.algorithm]


@plain("tf.random.Generator.from_non_deterministic_state", "draws")
def _(tf):
    g = tf.random.Generator.from_non_deterministic_state()
    return [g.uniform([3]).shape, g.state.shape, g.state.dtype]


@plain("tf.random.get_global_generator", "after a seed", **TIGHT)
def _(tf):
    tf.random.set_global_generator(tf.random.Generator.from_seed(6))
    return [
        tf.random.get_global_generator().uniform([2]),
        tf.random.get_global_generator().normal([2]),
    ]


@plain("tf.random_normal_initializer", "draws", **TIGHT)
def _(tf):
    a = tf.random_normal_initializer(seed=3)
    return [a([2, 2]), tf.random_normal_initializer(1.0, 0.5, seed=1)([3], tf.float64).dtype]


@plain("tf.random_uniform_initializer", "draws", **TIGHT)
def _(tf):
    tf.random.set_seed(1)
    return [tf.random_uniform_initializer(-1, 1, seed=3)([2, 2])]


raises(
    "tf.random.uniform",
    "an empty range",
    "minval < maxval",
    lambda tf: tf.random.uniform([2], 5, 5, dtype=tf.int32),
)
raises(
    "tf.random.uniform",
    "integers need a range",
    "maxval",
    lambda tf: tf.random.uniform([2], dtype=tf.int32),
)
raises(
    "tf.random.stateless_uniform",
    "a seed of three",
    "seed",
    lambda tf: tf.random.stateless_uniform([2], [1, 2, 3]),
)
