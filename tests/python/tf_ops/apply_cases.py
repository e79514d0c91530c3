"""Steps of optimizers on variables: what is asked of TensorFlow (make_tensorflow_apply.py) and of
Mica. A case is an op, its variables by name, its scalars, its flags. This module needs numpy alone.
"""

import numpy as np

SHAPE = (2, 3)

# op, variables (the first is what is trained), scalars; "grad" (or "delta") is an array of SHAPE
OPS = [
    ("GradientDescent", "var", {"alpha": 0.3}, "delta"),
    ("ProximalGradientDescent", "var", {"alpha": 0.3, "l1": 0.2, "l2": 0.1}, "delta"),
    ("ProximalGradientDescent", "var", {"alpha": 0.3, "l1": 0.0, "l2": 0.1}, "delta"),
    ("Momentum", "var accum", {"lr": 0.3, "momentum": 0.9}, "grad"),
    ("KerasMomentum", "var accum", {"lr": 0.3, "momentum": 0.9}, "grad"),
    (
        "Adam",
        "var m v",
        {"beta1_power": 0.81, "beta2_power": 0.98, "lr": 0.1, "beta1": 0.9, "beta2": 0.99}
        | {"epsilon": 1e-3},
        "grad",
    ),
    (
        "AdamWithAmsgrad",
        "var m v vhat",
        {"beta1_power": 0.81, "beta2_power": 0.98, "lr": 0.1, "beta1": 0.9, "beta2": 0.99}
        | {"epsilon": 1e-3},
        "grad",
    ),
    (
        "AdaMax",
        "var m v",
        {"beta1_power": 0.81, "lr": 0.1, "beta1": 0.9, "beta2": 0.99, "epsilon": 1e-3},
        "grad",
    ),
    ("Adadelta", "var accum accum_update", {"lr": 0.5, "rho": 0.9, "epsilon": 1e-2}, "grad"),
    ("Adagrad", "var accum", {"lr": 0.3}, "grad"),
    ("AdagradV2", "var accum", {"lr": 0.3, "epsilon": 1e-3}, "grad"),
    ("ProximalAdagrad", "var accum", {"lr": 0.3, "l1": 0.4, "l2": 0.1}, "grad"),
    ("ProximalAdagrad", "var accum", {"lr": 0.3, "l1": 0.0, "l2": 0.1}, "grad"),
    (
        "AdagradDA",
        "var gradient_accumulator gradient_squared_accumulator",
        {"lr": 0.3, "l1": 0.1, "l2": 0.2, "global_step": 3},
        "grad",
    ),
    (
        "RMSProp",
        "var ms mom",
        {"lr": 0.1, "rho": 0.9, "momentum": 0.8, "epsilon": 1e-3},
        "grad",
    ),
    (
        "CenteredRMSProp",
        "var mg ms mom",
        {"lr": 0.1, "rho": 0.9, "momentum": 0.8, "epsilon": 1.0},
        "grad",
    ),
    ("AddSign", "var m", {"lr": 0.1, "alpha": 1.0, "sign_decay": 0.9, "beta": 0.9}, "grad"),
    ("PowerSign", "var m", {"lr": 0.1, "logbase": 1.0, "sign_decay": 0.9, "beta": 0.9}, "grad"),
    ("Ftrl", "var accum linear", {"lr": 0.3, "l1": 0.1, "l2": 0.2, "lr_power": -0.5}, "grad"),
    ("Ftrl", "var accum linear", {"lr": 0.3, "l1": 0.1, "l2": 0.2, "lr_power": -0.7}, "grad"),
    (
        "FtrlV2",
        "var accum linear",
        {"lr": 0.3, "l1": 0.1, "l2": 0.2, "l2_shrinkage": 0.3, "lr_power": -0.5},
        "grad",
    ),
]
FLAGS = {
    "use_nesterov": ("Momentum", "KerasMomentum", "Adam"),
    "update_slots": ("Adagrad", "AdagradV2"),
    "multiply_linear_by_lr": ("Ftrl", "FtrlV2"),
}
SIGNED = ("var", "m", "mg", "mom", "linear", "gradient_accumulator")
SCATTERS = [
    ("Mul", [2, 0, 2], "rows"),
    ("Div", [2, 0, 2], "rows"),
    ("Mul", [[1], [0]], "one"),
    ("Div", 1, "rows"),
]


def cases() -> list[tuple]:
    """(op, names of variables, scalars, name of the gradient, flags)."""
    found = []
    for op, names, scalars, gradient in OPS:
        flags = [flag for flag, ops in FLAGS.items() if op in ops]
        for value in (False, True) if flags else (None,):
            found.append((op, names.split(), scalars, gradient, dict.fromkeys(flags, value)))
    return found


def run(tf, case, variables) -> list:
    """Two steps of a case with values that are always the same; what the variables are then."""
    op, names, scalars, gradient, flags = case
    random = np.random.RandomState(5)
    for name, variable in zip(names, variables, strict=True):
        value = random.uniform(0.1, 1.5, SHAPE)
        signs = random.choice([-1.0, 1.0], SHAPE) if name in SIGNED else 1.0
        variable.assign((value * signs).astype(np.float32))
    for _ in range(2):
        step = random.uniform(-1, 1, SHAPE).astype(np.float32)
        given = {name: variable.handle for name, variable in zip(names, variables, strict=True)}
        for name, value in scalars.items():
            is_count = name == "global_step"
            given[name] = tf.constant(value, tf.int64 if is_count else tf.float32)
        getattr(tf.raw_ops, f"ResourceApply{op}")(**given, **flags, **{gradient: tf.constant(step)})
    return [variable.read_value() for variable in variables]


def run_scatter(tf, case, variable):
    """What a variable is after some of its slices were multiplied or divided."""
    kind, indices, updates = case
    rows = np.random.RandomState(6).uniform(0.5, 2, (3, 4)).astype(np.float32)
    variable.assign(rows)
    shape = np.shape(indices)
    given = np.float32(1.5) if updates == "one" else np.resize(rows + 1, (*shape, 4))
    scatter = getattr(tf.raw_ops, f"ResourceScatter{kind}")
    scatter(resource=variable.handle, indices=tf.constant(indices), updates=tf.constant(given))
    return variable.read_value()
