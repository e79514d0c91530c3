"""Writes tests/python/tf/data/v1_optimizers.json: what three steps of each optimizer of
TensorFlow 1 give. Run it with a Python that has TensorFlow 2."""

import json
from pathlib import Path

import tensorflow as tf

v1 = tf.compat.v1
MAKE = {
    "gradient descent": lambda: v1.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: v1.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: v1.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda: v1.train.AdamOptimizer(0.1),
    "adagrad": lambda: v1.train.AdagradOptimizer(0.1),
    "adadelta": lambda: v1.train.AdadeltaOptimizer(0.1),
    "rmsprop": lambda: v1.train.RMSPropOptimizer(0.1, momentum=0.5),
    "centered": lambda: v1.train.RMSPropOptimizer(0.1, centered=True),
    "ftrl": lambda: v1.train.FtrlOptimizer(0.1, -0.5, 0.1, 0.01, 0.02, beta=0.1),
}


def three_steps(make):
    with v1.Graph().as_default(), v1.Session() as session:
        w = v1.Variable([1.0, -2.0], use_resource=True)
        train = make().minimize(tf.reduce_sum(w**2 * [1.0, 3.0]))
        session.run(v1.global_variables_initializer())
        for _ in range(3):
            session.run(train)
        return [float(x) for x in session.run(w)]


if __name__ == "__main__":
    path = Path(__file__).parents[1] / "python" / "tf" / "data" / "v1_optimizers.json"
    found = {name: three_steps(make) for name, make in MAKE.items()}
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
