"""`tf.profiler.experimental`: a profile is a file of its own below plugins/profile."""

import pathlib
import tempfile

from corpus import plain

PROFILER = "tf.profiler.experimental"


def files_of(folder):
    return len(list(pathlib.Path(folder).glob("plugins/profile/*/*")))


@plain((f"{PROFILER}.start", f"{PROFILER}.stop", f"{PROFILER}.Trace"), "one profile, one file")
def started(tf):
    profiler = tf.profiler.experimental
    with tempfile.TemporaryDirectory() as folder:
        profiler.start(folder)
        with profiler.Trace("step", step_num=1) as mark:
            mark.set_metadata(more=2)
            tf.ones([3]) + 1
        profiler.stop()
        kept = files_of(folder)
    with tempfile.TemporaryDirectory() as folder:
        profiler.start(folder, options=profiler.ProfilerOptions(host_tracer_level=1))
        profiler.stop(save=False)
        return kept, files_of(folder)


@plain((f"{PROFILER}.Profile", f"{PROFILER}.ProfilerOptions"), "inside of a with statement")
def inside(tf):
    profiler = tf.profiler.experimental
    with tempfile.TemporaryDirectory() as folder:
        with profiler.Profile(folder, profiler.ProfilerOptions(device_tracer_level=1)):
            tf.ones([3]) + 1
        return files_of(folder), list(profiler.ProfilerOptions()[:3])
