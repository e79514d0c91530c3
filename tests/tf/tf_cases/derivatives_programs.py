"""Derivatives as research programs take them: meta-learning, physics, flows, solvers, decoders."""

import numpy as np
from corpus import plain


def rng(*s):
    r = np.random.RandomState(sum(s) + 7)
    return r.randn(*s).astype("float32")


@plain("tf.GradientTape", "maml")
def _(tf):
    w = tf.Variable(rng(3, 1))
    b = tf.Variable([0.1])
    x1, y1 = (tf.constant(rng(5, 3)), tf.constant(rng(5, 1)))
    x2, y2 = (tf.constant(rng(6, 3)), tf.constant(rng(6, 1)))

    def loss(w, b, x, y):
        return tf.reduce_mean((tf.tanh(x @ w) + b - y) ** 2)

    def run():
        with tf.GradientTape() as outer:
            fw, fb = (tf.convert_to_tensor(w), tf.convert_to_tensor(b))
            for _ in range(2):
                with tf.GradientTape() as inner:
                    inner.watch([fw, fb])
                    cost = loss(fw, fb, x1, y1)
                gw, gb = inner.gradient(cost, [fw, fb])
                fw, fb = (fw - 0.1 * gw, fb - 0.1 * gb)
            meta = loss(fw, fb, x2, y2)
        return (meta, outer.gradient(meta, [w, b]))

    return [run(), tf.function(run)()]


@plain("tf.while_loop", "maml loop")
def _(tf):
    w = tf.Variable(rng(3, 1))
    x, y = (tf.constant(rng(5, 3)), tf.constant(rng(5, 1)))

    @tf.function
    def run(steps):
        with tf.GradientTape() as outer:
            fw = tf.convert_to_tensor(w)
            for _ in tf.range(steps):
                with tf.GradientTape() as inner:
                    inner.watch(fw)
                    cost = tf.reduce_mean((tf.tanh(x @ fw) - y) ** 2)
                fw = fw - 0.1 * inner.gradient(cost, fw)
            meta = tf.reduce_sum(fw**2)
        return (meta, outer.gradient(meta, w))

    return run(tf.constant(3))


@plain("tf.GradientTape", "wgan gp")
def _(tf):
    w1 = tf.Variable(rng(4, 8))
    w2 = tf.Variable(rng(8, 1))
    real, fake = (tf.constant(rng(5, 4)), tf.constant(rng(5, 4) + 1))
    eps = tf.constant(np.linspace(0, 1, 5).astype("float32")[:, None])

    def critic(x):
        return tf.nn.leaky_relu(x @ w1) @ w2

    @tf.function
    def step():
        with tf.GradientTape() as t:
            xi = eps * real + (1 - eps) * fake
            with tf.GradientTape() as g:
                g.watch(xi)
                p = critic(xi)
            gr = g.gradient(p, xi)
            n = tf.sqrt(tf.reduce_sum(gr**2, axis=1) + 1e-12)
            cost = (
                tf.reduce_mean(critic(fake))
                - tf.reduce_mean(critic(real))
                + 10.0 * tf.reduce_mean((n - 1.0) ** 2)
            )
        return (cost, t.gradient(cost, [w1, w2]))

    return step()


def hv(tf):
    A = tf.constant(rng(3, 3))

    def f(x):
        return tf.reduce_sum(tf.sin(A @ x[:, None])) * tf.reduce_sum(x**3)

    return (f, tf.constant([0.5, -1.0, 2.0]), tf.constant([1.0, 2.0, -1.0]))


@plain("tf.GradientTape", "hvp reverse reverse")
def _(tf):
    f, x, v = hv(tf)

    def run(x):
        with tf.GradientTape() as a:
            a.watch(x)
            with tf.GradientTape() as b:
                b.watch(x)
                y = f(x)
            g = b.gradient(y, x)
        return a.gradient(g, x, output_gradients=v)

    return [run(x), tf.function(run)(x)]


@plain("tf.GradientTape", "hvp forward over reverse")
def _(tf):
    f, x, v = hv(tf)

    def run(x):
        with tf.autodiff.ForwardAccumulator(x, v) as acc:
            with tf.GradientTape() as b:
                b.watch(x)
                y = f(x)
            g = b.gradient(y, x)
        return acc.jvp(g)

    return [run(x), tf.function(run)(x)]


@plain("tf.GradientTape", "hvp reverse over forward")
def _(tf):
    f, x, v = hv(tf)

    def run(x):
        with tf.GradientTape() as b:
            b.watch(x)
            with tf.autodiff.ForwardAccumulator(x, v) as acc:
                y = f(x)
            j = acc.jvp(y)
        return b.gradient(j, x)

    return [run(x), tf.function(run)(x)]


@plain("tf.GradientTape", "hvp of function")
def _(tf):
    f, x, v = hv(tf)
    g = tf.function(f)
    with tf.autodiff.ForwardAccumulator(x, v) as acc:
        with tf.GradientTape() as b:
            b.watch(x)
            y = g(x)
        d = b.gradient(y, x)
    return [d, acc.jvp(d)]


@plain("tf.autodiff.ForwardAccumulator", "jvp nested")
def _(tf):
    f, x, v = hv(tf)
    with tf.autodiff.ForwardAccumulator(x, v) as o:
        with tf.autodiff.ForwardAccumulator(x, v) as i:
            y = f(x)
        j = i.jvp(y)
    return [j, o.jvp(j), o.jvp(y)]


@plain("tf.GradientTape", "pinn")
def _(tf):
    w1 = tf.Variable(rng(2, 6))
    b1 = tf.Variable(rng(6))
    w2 = tf.Variable(rng(6, 1))
    xt = tf.constant(rng(7, 2))

    @tf.function
    def step(x, t):
        with tf.GradientTape() as outer:
            with tf.GradientTape(persistent=True) as t2:
                t2.watch(x)
                with tf.GradientTape(persistent=True) as t1:
                    t1.watch([x, t])
                    u = tf.tanh(tf.concat([x, t], 1) @ w1 + b1) @ w2
                ux = t1.gradient(u, x)
                ut = t1.gradient(u, t)
            uxx = t2.gradient(ux, x)
            cost = tf.reduce_mean((ut + u * ux - 0.01 * uxx) ** 2)
        return (cost, outer.gradient(cost, [w1, b1, w2]))

    return step(xt[:, :1], xt[:, 1:])


@plain("tf.GradientTape", "implicit layer")
def _(tf):
    W = tf.Variable(rng(4, 4) * 0.2)

    @tf.custom_gradient
    def fixed(x):
        z = tf.zeros_like(x)
        for _ in range(40):
            z = tf.tanh(z @ W + x)

        def grad(dy, variables=None):
            with tf.GradientTape() as t:
                zz = tf.identity(z)
                t.watch(zz)
                t.watch(x)
                f = tf.tanh(zz @ W + x)
            u = dy
            for _ in range(40):
                with tf.GradientTape() as t2:
                    zz = tf.identity(z)
                    t2.watch(zz)
                    f = tf.tanh(zz @ W + x)
                u = dy + t2.gradient(f, zz, output_gradients=u)
            with tf.GradientTape() as t3:
                t3.watch([x, W])
                f = tf.tanh(z @ W + x)
            gx, gw = t3.gradient(f, [x, W], output_gradients=u)
            return (gx, [gw])

        return (z, grad)

    x = tf.constant(rng(2, 4))

    def run():
        with tf.GradientTape() as t:
            t.watch(x)
            y = tf.reduce_sum(fixed(x) ** 2)
        return (y, t.gradient(y, [x, W]))

    g = tf.function(lambda x: tf.reduce_sum(fixed(x) ** 2))
    with tf.GradientTape() as t:
        t.watch(x)
        y = g(x)
    return [run(), tf.function(run)(), t.gradient(y, [x, W])]


@plain("tf.GradientTape", "flow")
def _(tf):
    W = tf.Variable(rng(3, 3))
    x = tf.constant(rng(5, 3))

    @tf.function
    def step(x):
        with tf.GradientTape() as o:
            with tf.GradientTape() as t:
                t.watch(x)
                z = x + tf.tanh(x @ W)
            J = t.batch_jacobian(z, x)
            cost = -tf.reduce_mean(tf.linalg.slogdet(J)[1] - 0.5 * tf.reduce_sum(z**2, 1))
        return (J, cost, o.gradient(cost, W))

    return step(x)


@plain("tf.GradientTape", "flow unknown batch")
def _(tf):
    W = tf.Variable(rng(3, 3))

    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def step(x):
        with tf.GradientTape() as t:
            t.watch(x)
            z = x + tf.tanh(x @ W)
        J = t.batch_jacobian(z, x)
        return J

    return [step(tf.constant(rng(5, 3))), step(tf.constant(rng(2, 3)))]


@plain("tf.GradientTape", "jacobian graph")
def _(tf):
    x = tf.constant(rng(3))
    W = tf.constant(rng(4, 3))

    @tf.function
    def f(x):
        with tf.GradientTape() as t:
            t.watch(x)
            y = tf.sin(tf.linalg.matvec(W, x))
        return t.jacobian(y, x)

    with tf.GradientTape() as t:
        t.watch(x)
        y = tf.sin(tf.linalg.matvec(W, x))
    return [f(x), t.jacobian(y, x)]


@plain("tf.GradientTape", "jacobian unknown")
def _(tf):

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def f(x):
        with tf.GradientTape() as t:
            t.watch(x)
            y = tf.cumsum(x**2)
        return t.jacobian(y, x)

    return [f(tf.constant(rng(3))), f(tf.constant(rng(4)))]


@plain("tf.GradientTape", "jacobian variables")
def _(tf):
    v = tf.Variable(rng(3))
    w = tf.Variable(rng(2, 2))
    u = tf.Variable(1.0)

    def f():
        with tf.GradientTape() as t:
            y = tf.exp(v) * tf.reduce_sum(w**2)
        return t.jacobian(y, [v, w, u])

    a = f()
    b = tf.function(lambda: f()[:2])()
    return [a, b]


@plain("tf.GradientTape", "jacobian large")
def _(tf):
    x = tf.constant(rng(10, 10))
    with tf.GradientTape() as t:
        t.watch(x)
        y = tf.matmul(x, x)
    j = t.jacobian(y, x)
    return [list(j.shape), tf.reduce_sum(j * tf.constant(rng(100, 100).reshape(10, 10, 10, 10)))]


@plain("tf.while_loop", "jacobian loop")
def _(tf):

    @tf.function
    def f(x):
        with tf.GradientTape() as t:
            t.watch(x)
            y = x
            for _ in tf.range(3):
                y = tf.sin(y) * x
        return t.jacobian(y, x)

    return f(tf.constant(rng(3)))


@plain("tf.hessians", "hessian tapes")
def _(tf):
    x = tf.constant(rng(3))

    def f(x):
        with tf.GradientTape() as o:
            o.watch(x)
            with tf.GradientTape() as i:
                i.watch(x)
                y = tf.reduce_sum(x**3) * x[0]
            g = i.gradient(y, x)
        return o.jacobian(g, x)

    return [f(x), tf.function(f)(x)]


@plain("tf.GradientTape", "newton")
def _(tf):

    @tf.function
    def solve(x):
        for _ in tf.range(5):
            with tf.GradientTape() as o:
                o.watch(x)
                with tf.GradientTape() as i:
                    i.watch(x)
                    y = tf.reduce_sum(x**4) + tf.reduce_sum(x) ** 2 + tf.reduce_sum(tf.exp(x))
                g = i.gradient(y, x)
            H = o.jacobian(g, x)
            x = x - tf.linalg.solve(H, g[:, None])[:, 0]
        return x

    return solve(tf.constant([1.0, 2.0]))


@plain("tf.GradientTape", "ode")
def _(tf):
    k = tf.Variable(0.5)

    @tf.function
    def solve(x0, h, T):

        def f(x):
            return -k * x + tf.sin(x)

        t = tf.constant(0.0)
        x = x0

        def body(t, x):
            k1 = f(x)
            k2 = f(x + h / 2 * k1)
            k3 = f(x + h / 2 * k2)
            k4 = f(x + h * k3)
            return (t + h, x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))

        _, x = tf.while_loop(lambda t, x: t < T - 1e-06, body, (t, x))
        return x

    x0 = tf.constant([1.0, 2.0])
    with tf.GradientTape() as t2:
        t2.watch(x0)
        with tf.GradientTape() as t:
            t.watch(x0)
            y = tf.reduce_sum(solve(x0, tf.constant(0.1), tf.constant(1.0)) ** 2)
        g = t.gradient(y, [x0, k])
        s = tf.reduce_sum(g[0]) + g[1]
    return [y, g, t2.gradient(s, [x0, k])]


@plain("tf.GradientTape", "ode adaptive")
def _(tf):

    @tf.function
    def solve(x):
        ts = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[])
        t = tf.constant(0.0)
        h = tf.constant(0.3)
        i = 0
        while t < 1.0:
            a = x + h * tf.sin(x)
            m = x + h / 2 * tf.sin(x)
            b = m + h / 2 * tf.sin(m)
            e = tf.reduce_max(tf.abs(a - b))
            if e < 0.05:
                x = b
                t = t + h
                ts = ts.write(i, t)
                i += 1
                h = h * 1.2
            else:
                h = h * 0.5
        return (x, ts.stack())

    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as t:
        t.watch(x)
        y, ts = solve(x)
    return [y, ts, t.gradient(y, x)]


@plain("tf.GradientTape", "returns scan")
def _(tf):

    @tf.function
    def returns(r, g):
        return tf.scan(lambda a, x: a * g + x, r, initializer=tf.zeros_like(r[0]), reverse=True)

    r = tf.constant(rng(6, 2))
    g = tf.constant(0.9)
    with tf.GradientTape() as t:
        t.watch([r, g])
        y = returns(r, g)
        cost = tf.reduce_sum(y**2)
    return [y, t.gradient(cost, [r, g])]


@plain("tf.GradientTape", "reinforce")
def _(tf):
    w = tf.Variable(rng(4, 3))
    s = tf.constant(rng(6, 4))
    a = tf.constant([0, 1, 2, 1, 0, 2])
    R = tf.constant(rng(6))

    @tf.function
    def step():
        with tf.GradientTape() as t:
            lp = tf.nn.log_softmax(s @ w)
            p = tf.gather(lp, a, batch_dims=1)
            ent = -tf.reduce_sum(tf.exp(lp) * lp, 1)
            ratio = tf.exp(p - tf.stop_gradient(p))
            cost = -tf.reduce_mean(
                tf.minimum(ratio * R, tf.clip_by_value(ratio, 0.8, 1.2) * R) + 0.01 * ent
            )
        g = t.gradient(cost, w)
        g, _ = tf.clip_by_global_norm([g], 0.5)
        return (cost, g[0])

    return step()


@plain("tf.GradientTape", "crf")
def _(tf):
    e = tf.constant(rng(2, 5, 3))
    T = tf.Variable(rng(3, 3))
    n = tf.constant([5, 3])

    @tf.function
    def log_z(e, n):
        a = e[:, 0]
        for i in tf.range(1, tf.shape(e)[1]):
            new = tf.reduce_logsumexp(a[:, :, None] + T[None], axis=1) + e[:, i]
            a = tf.where((i < n)[:, None], new, a)
        return tf.reduce_logsumexp(a, axis=1)

    with tf.GradientTape() as t:
        t.watch(e)
        z = log_z(e, n)
    return [z, t.gradient(z, [e, T])]


@plain("tf.GradientTape", "crf unknown")
def _(tf):
    T = tf.constant(rng(3, 3))

    @tf.function(input_signature=[tf.TensorSpec([None, None, 3])])
    def log_z(e):

        def step(a, x):
            return tf.reduce_logsumexp(a[:, :, None] + T[None], axis=1) + x

        return tf.reduce_logsumexp(tf.foldl(step, tf.transpose(e, [1, 0, 2])), axis=1)

    e = tf.constant(rng(2, 5, 3))
    with tf.GradientTape() as t:
        t.watch(e)
        z = log_z(e)
    return [z, t.gradient(z, e)]


@plain("tf.GradientTape", "beam")
def _(tf):
    E = tf.constant(rng(5, 5))

    @tf.function
    def beam(start, steps):
        seqs = tf.TensorArray(tf.int32, size=steps)
        par = tf.TensorArray(tf.int32, size=steps)
        scores = tf.constant([0.0, -1000000000.0, -1000000000.0])
        tok = tf.fill([3], start)
        for i in tf.range(steps):
            lp = tf.nn.log_softmax(tf.gather(E, tok))
            tot = scores[:, None] + lp
            scores, idx = tf.math.top_k(tf.reshape(tot, [-1]), 3)
            p = idx // 5
            tok = idx % 5
            seqs = seqs.write(i, tok)
            par = par.write(i, p)
        return (seqs.stack(), par.stack(), scores)

    return beam(tf.constant(1), tf.constant(4))


@plain("tf.GradientTape", "beam gradient")
def _(tf):
    E = tf.Variable(rng(5, 5))

    @tf.function
    def beam(steps):
        scores = tf.constant([0.0, -1000000000.0, -1000000000.0])
        tok = tf.fill([3], 1)
        for _i in tf.range(steps):
            tot = scores[:, None] + tf.nn.log_softmax(tf.gather(E, tok))
            scores, idx = tf.math.top_k(tf.reshape(tot, [-1]), 3)
            tok = idx % 5
        return scores[0]

    with tf.GradientTape() as t:
        y = beam(tf.constant(3))
    return [y, tf.convert_to_tensor(t.gradient(y, E))]


@plain("tf.GradientTape", "rnn ta")
def _(tf):
    w = tf.Variable(rng(3, 3) * 0.5)
    u = tf.Variable(rng(2, 3))

    @tf.function(input_signature=[tf.TensorSpec([None, None, 2])])
    def rnn(x):
        n = tf.shape(x)[1]
        h = tf.zeros([tf.shape(x)[0], 3])
        out = tf.TensorArray(tf.float32, size=n)
        for i in tf.range(n):
            h = tf.tanh(x[:, i] @ u + h @ w)
            out = out.write(i, h)
        return tf.transpose(out.stack(), [1, 0, 2])

    x = tf.constant(rng(2, 4, 2))
    with tf.GradientTape() as t2:
        with tf.GradientTape() as t:
            y = tf.reduce_sum(rnn(x) ** 2)
        g = t.gradient(y, [w, u])
        s = tf.reduce_sum(g[0] ** 2)
    return [y, g, t2.gradient(s, u)]


@plain("tf.GradientTape", "unroll ta")
def _(tf):
    ta = tf.TensorArray(tf.float32, size=3, clear_after_read=False)
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as t:
        t.watch(x)
        for i in range(3):
            ta = ta.write(i, x * float(i + 1))
        y = ta.stack() * ta.read(2) + ta.gather([0, 1, 2])
    return [y, t.gradient(y, x)]


@plain("tf.TensorArray", "ta split concat")
def _(tf):

    @tf.function
    def f(x):
        ta = tf.TensorArray(tf.float32, size=2, infer_shape=False).split(x, [1, 3])
        return (ta.read(0) * 2.0, ta.read(1) * 3.0)

    x = tf.constant(rng(4, 2))
    with tf.GradientTape() as t:
        t.watch(x)
        a, b = f(x)
    return [a, b, t.gradient([a, b], x)]


@plain("tf.GradientTape", "straight through")
def _(tf):

    @tf.custom_gradient
    def quant(x):
        return (tf.round(x * 4) / 4, lambda dy: dy * tf.cast(tf.abs(x) <= 1, dy.dtype))

    w = tf.Variable(rng(3, 2))
    x = tf.constant(rng(4, 3))

    @tf.function
    def step():
        with tf.GradientTape() as t:
            cost = tf.reduce_sum((x @ quant(w)) ** 2)
        return (cost, t.gradient(cost, w))

    return step()


@plain("tf.GradientTape", "gumbel")
def _(tf):
    lg = tf.Variable(rng(4))
    u = tf.constant(np.random.RandomState(0).rand(4).astype("float32"))
    with tf.GradientTape() as t:
        y = tf.nn.softmax((lg - tf.math.log(-tf.math.log(u))) / 0.5)
        hard = tf.one_hot(tf.argmax(y), 4)
        z = tf.stop_gradient(hard - y) + y
        cost = tf.reduce_sum(z * tf.constant([1.0, 2.0, 3.0, 4.0]))
    return [z, t.gradient(cost, lg)]


@plain("tf.GradientTape", "vae")
def _(tf):
    e = tf.Variable(rng(4, 4))
    d = tf.Variable(rng(2, 4))
    x = tf.constant(rng(3, 4))
    eps = tf.constant(rng(3, 2))

    @tf.function
    def step():
        with tf.GradientTape() as t:
            m, lv = tf.split(x @ e, 2, axis=1)
            z = m + tf.exp(lv / 2) * eps
            r = z @ d
            cost = tf.reduce_mean(
                tf.nn.sigmoid_cross_entropy_with_logits(tf.sigmoid(x), r)
            ) - 0.5 * tf.reduce_mean(1 + lv - m**2 - tf.exp(lv))
        return (cost, t.gradient(cost, [e, d]))

    return step()


@plain("tf.GradientTape", "attention mask")
def _(tf):
    q = tf.Variable(rng(2, 4, 3))
    lens = tf.constant([2, 4])

    @tf.function
    def f():
        s = tf.matmul(q, q, transpose_b=True) / tf.sqrt(3.0)
        m = tf.sequence_mask(lens, 4)
        s = tf.where(m[:, None, :], s, -1000000000.0)
        return tf.reduce_sum(tf.nn.softmax(s) @ q)

    with tf.GradientTape() as t:
        y = f()
    return [y, t.gradient(y, q)]


@plain("tf.GradientTape", "gp marginal")
def _(tf):
    x = tf.constant(rng(5, 1))
    y = tf.constant(rng(5, 1))
    ls = tf.Variable(0.7)
    nz = tf.Variable(0.3)

    def nll():
        K = tf.exp(-((x - tf.transpose(x)) ** 2) / (2 * ls**2)) + nz**2 * tf.eye(5)
        L = tf.linalg.cholesky(K)
        a = tf.linalg.cholesky_solve(L, y)
        return 0.5 * tf.reduce_sum(y * a) + tf.reduce_sum(tf.math.log(tf.linalg.diag_part(L)))

    def run():
        with tf.GradientTape() as t2:
            with tf.GradientTape() as t:
                cost = nll()
            g = t.gradient(cost, [ls, nz])
            s = g[0] * g[1]
        return (cost, g, t2.gradient(s, [ls, nz]))

    return [run(), tf.function(run)()]


@plain("tf.GradientTape", "per example")
def _(tf):
    w = tf.Variable(rng(3, 2))
    x = tf.constant(rng(4, 3))
    y = tf.constant([0, 1, 1, 0])

    def one(a):
        xi, yi = a
        with tf.GradientTape() as t:
            cost = tf.nn.sparse_softmax_cross_entropy_with_logits(yi[None], xi[None] @ w)
        return t.gradient(cost, w)

    return tf.vectorized_map(one, (x, y))


@plain("tf.GradientTape", "per example jacobian")
def _(tf):
    w = tf.Variable(rng(3, 2))
    x = tf.constant(rng(4, 3))
    y = tf.constant([0, 1, 1, 0])

    @tf.function
    def f():
        with tf.GradientTape() as t:
            cost = tf.nn.sparse_softmax_cross_entropy_with_logits(y, x @ w)
        return t.jacobian(cost, w)

    return f()


@plain("tf.GradientTape", "dp sgd")
def _(tf):
    w = tf.Variable(rng(3, 2))
    x = tf.constant(rng(4, 3))

    @tf.function
    def f():

        def one(xi):
            with tf.GradientTape() as t:
                cost = tf.reduce_sum(tf.tanh(xi[None] @ w) ** 2)
            return tf.clip_by_norm(t.gradient(cost, w), 0.1)

        return tf.reduce_mean(tf.vectorized_map(one, x), 0)

    return f()


@plain("tf.GradientTape", "natural gradient")
def _(tf):
    w = tf.Variable(rng(4))
    x = tf.constant(rng(6, 4))

    @tf.function
    def step():
        with tf.GradientTape() as o:
            with tf.GradientTape() as t:
                cost = tf.reduce_mean(tf.nn.softplus(tf.linalg.matvec(x, w)))
            g = t.gradient(cost, w)
        H = o.jacobian(g, w)
        return tf.linalg.solve(H + 0.1 * tf.eye(4), g[:, None])

    return step()


@plain("tf.GradientTape", "cg hvp")
def _(tf):
    w = tf.Variable(rng(4))
    x = tf.constant(rng(6, 4))

    @tf.function
    def cg():

        def hvp(v):
            with tf.GradientTape() as o:
                with tf.GradientTape() as t:
                    cost = tf.reduce_mean(
                        tf.nn.softplus(tf.linalg.matvec(x, w))
                    ) + 0.05 * tf.reduce_sum(w**2)
                g = t.gradient(cost, w)
                d = tf.reduce_sum(g * v)
            return o.gradient(d, w)

        with tf.GradientTape() as t:
            cost = tf.reduce_mean(tf.nn.softplus(tf.linalg.matvec(x, w))) + 0.05 * tf.reduce_sum(
                w**2
            )
        b = t.gradient(cost, w)
        z = tf.zeros_like(b)
        r = b
        p = r
        rr = tf.reduce_sum(r * r)
        for _ in tf.range(6):
            Ap = hvp(p)
            a = rr / (tf.reduce_sum(p * Ap) + 1e-12)
            z += a * p
            r -= a * Ap
            new = tf.reduce_sum(r * r)
            p = r + new / (rr + 1e-12) * p
            rr = new
        return z

    return cg()


@plain("tf.GradientTape", "langevin meta")
def _(tf):
    x = tf.constant(rng(3))
    a = tf.Variable(0.1)

    @tf.function
    def f(x):

        def E(x):
            return tf.reduce_sum(x**4 / 4 - x**2 / 2)

        for _i in tf.range(4):
            with tf.GradientTape() as t:
                t.watch(x)
                e = E(x)
            x = x - a * t.gradient(e, x)
        return E(x)

    with tf.GradientTape() as t:
        y = f(x)
    return [y, t.gradient(y, a)]
