"""Trains the MNIST example with several seeds and prints each accuracy, their median and the speed.

    python bench/mnist_seeds.py [--seeds N] [--program build/examples/mnist] [-- ARGUMENTS]

Exits with 1 when the median is below 99 %.
"""

import argparse
import re
import statistics
import subprocess
import sys
import tempfile

BAR = 99.0


def train(program: str, seed: int, plot: str, arguments: list[str]) -> tuple[float, float]:
    """The test accuracy in percent and the images per second of one run."""
    command = [program, "--seed", str(seed), "--plot", plot, *arguments]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.search(r"test accuracy ([\d.]+) % after \d+ epochs, (\d+) images/s", output)
    if not found:
        raise SystemExit(f"no result in the output of {' '.join(command)}:\n{output}")
    return float(found[1]), float(found[2])


def main() -> int:
    """Train, print, and answer whether the median is high enough."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--program", default="build/examples/mnist")
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_args()
    accuracies = []
    with tempfile.NamedTemporaryFile(suffix=".png") as plot:
        for seed in range(options.seeds):
            accuracy, speed = train(options.program, seed, plot.name, options.arguments)
            accuracies.append(accuracy)
            print(f"seed {seed}: {accuracy:.2f} %, {speed:.0f} images/s", flush=True)
    median = statistics.median(accuracies)
    print(f"median of {options.seeds} seeds: {median:.2f} %")
    return 0 if median >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
