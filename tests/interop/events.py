"""What TensorBoard's reader finds in the files of events of a folder: `python events.py FOLDER`.

It runs where TensorBoard is installed and prints a list as JSON.
"""

import json
import logging
import sys
from pathlib import Path

from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.util import tensor_util


def content_of(value) -> list | None:
    """Dtype, shape and elements; of pictures, which compressors differ in, their number."""
    if not value.tensor.dtype:
        return None
    array = tensor_util.make_ndarray(value.tensor)
    elements = [repr(x) for x in array.reshape(-1).tolist()]
    if value.metadata.plugin_data.plugin_name == "images":
        elements[2:] = [f"{len(elements) - 2} pictures"]
    return [str(array.dtype), list(array.shape), elements]


def events_of(path: Path) -> list:
    """Step, tag, plugin and content of what is in a file."""
    found: list = []
    for event in EventFileLoader(str(path)).Load():
        if not event.HasField("summary"):
            found.append([event.step, event.WhichOneof("what")])
        for value in event.summary.value:
            plugin = value.metadata.plugin_data.plugin_name
            description = value.metadata.summary_description
            found.append([event.step, value.tag, plugin, description, content_of(value)])
    return found


def main() -> None:
    """Print them all."""
    logging.disable(logging.WARNING)
    paths = sorted(Path(sys.argv[1]).glob("events.out.tfevents.*"))
    print(json.dumps([event for path in paths for event in events_of(path)]))


if __name__ == "__main__":
    main()
