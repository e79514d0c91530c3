"""Linear regression by gradient descent: jit, value_and_grad, random keys.

    python examples/linear_regression.py [--device NAME] [--steps N] [--seed N]

Draws points around a plane, fits weights and a bias to them, and prints both.
"""

import argparse
from collections.abc import Sequence
from typing import Any

import mica

TRUE_WEIGHTS = [2.0, -3.4, 0.5]
TRUE_BIAS = 4.2

Parameters = dict[str, mica.Tensor]


def make_data(key: mica.Tensor, n: int) -> tuple[mica.Tensor, mica.Tensor]:
    """Points x, and y = x w + b with a little noise."""
    point_key, noise_key = mica.random.split(key)
    x = mica.random.normal(point_key, (n, len(TRUE_WEIGHTS)))
    noise = mica.random.normal(noise_key, (n,)) * 0.01
    return x, x @ mica.tensor(TRUE_WEIGHTS) + TRUE_BIAS + noise


def loss(parameters: Parameters, x: mica.Tensor, y: mica.Tensor) -> mica.Tensor:
    """The mean squared error."""
    prediction = x @ parameters["w"] + parameters["b"]
    return ((prediction - y) ** 2).mean()


@mica.jit
def step(
    parameters: Parameters, x: mica.Tensor, y: mica.Tensor, rate: float
) -> tuple[mica.Tensor, Parameters]:
    """One step of gradient descent: the loss before it, and the parameters after it."""
    value, gradient = mica.value_and_grad(loss)(parameters, x, y)
    return value, {name: parameters[name] - rate * gradient[name] for name in parameters}


def main(arguments: Sequence[str] | None = None) -> tuple[Any, Any]:
    """Fit and print; returns the parameters."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--device", default="any")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    with mica.device(options.device) as device:
        x, y = make_data(mica.random.key(options.seed), 1000)
        parameters = {"w": mica.zeros(len(TRUE_WEIGHTS)), "b": mica.zeros(())}
        for i in range(options.steps):
            value, parameters = step(parameters, x, y, 0.1)
            if i % 50 == 0:
                print(f"step {i:4}  loss {value.item():.6f}")
    weights, bias = parameters["w"].tolist(), parameters["b"].item()
    print(f"on {device.name}: w = {[round(w, 3) for w in weights]}, b = {bias:.3f}")
    print(f"truth:    w = {TRUE_WEIGHTS}, b = {TRUE_BIAS}")
    return weights, bias


if __name__ == "__main__":
    main()
