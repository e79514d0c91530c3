"""Steps of Keras 2's optimizers: `walk(optimizers, tensorflow)` gives where each leads."""

OPTIONS = {
    "Adagrad": ({}, {"initial_accumulator_value": 0.0, "lr": 0.5}),
    "Adam": ({}, {"lr": 0.1, "decay": 0.5}, {"amsgrad": True, "epsilon": 0.1, "clipnorm": 1.0}),
    "Ftrl": ({}, {"learning_rate": 0.3, "l1_regularization_strength": 0.1, "beta": 0.2}),
    "RMSprop": ({}, {"centered": True, "lr": 0.05}, {"momentum": 0.9, "epsilon": 0.01}),
    "SGD": ({}, {"momentum": 0.9, "nesterov": True}, {"lr": 0.1, "decay": 0.1, "clipvalue": 0.5}),
}
POSITIONAL = {"Ftrl": (0.3, -0.5, 0.2, 0.1, 0.2, "name", 0.1, 0.3), "SGD": (0.1, 0.5, True, "name")}


def walk(optimizers, tf) -> dict:
    found = {}
    for name, all_options in OPTIONS.items():
        make = getattr(optimizers, name)
        made = [make(**options) for options in all_options]
        made += [make(*POSITIONAL[name])] if name in POSITIONAL else []
        found[name] = []
        for optimizer in made:
            x = tf.Variable([1.0, -2.0, 3e-4])
            for step in range(4):
                gradient = tf.constant([0.5 - step, 1e-4 * (step + 1), 2.0])
                optimizer.apply_gradients([(gradient, x)])
            found[name].append([float(f"{value:.8g}") for value in x.numpy()])
    return found
