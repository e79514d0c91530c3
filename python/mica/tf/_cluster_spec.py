"""`tf.train.ClusterSpec`: the jobs of a cluster, their tasks and where these listen."""

from __future__ import annotations

from ._proto import message

JobDef = message("JobDef", name=(1, "string"), tasks=(2, ("int", "string")))
ClusterDef = message("ClusterDef", job=(1, [JobDef]))
ServerDef = message(
    "ServerDef",
    cluster=(1, ClusterDef),
    job_name=(2, "string"),
    task_index=(3, "int"),
    protocol=(5, "string"),
    port=(6, "int"),
)


def _text(value, what: str) -> str:
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode()
    if not isinstance(value, str):
        raise TypeError(f"{what} {value!r} must be bytes or unicode")
    return value


def _tasks_of(job: str, tasks) -> dict[int, str]:
    if isinstance(tasks, dict):
        return {int(index): address for index, address in tasks.items()}
    if isinstance(tasks, list | tuple):
        return dict(enumerate(tasks))
    raise TypeError(
        f"The tasks for job {job!r} must be a list or a dictionary from integers to strings."
    )


class ClusterSpec:
    """A cluster: from the names of jobs to the addresses of their tasks.

    Parameters
    ----------
    cluster
        A dict from names to lists of addresses, or to dicts from task numbers to addresses; or
        another ClusterSpec, or a ClusterDef.

    Examples
    --------
    >>> ClusterSpec({"worker": ["a:1", "b:2"], "ps": {3: "c:1"}})
    ClusterSpec({'ps': {3: 'c:1'}, 'worker': ['a:1', 'b:2']})
    """

    def __init__(self, cluster) -> None:
        if isinstance(cluster, ClusterSpec):
            cluster = cluster.as_cluster_def()
        if isinstance(cluster, ClusterDef):
            self._jobs = {job.name: dict(job.tasks) for job in cluster.job}
        elif isinstance(cluster, dict):
            self._jobs = {job: _tasks_of(job, tasks) for job, tasks in cluster.items()}
        else:
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network "
                "addresses, or a `ClusterDef` protocol buffer"
            )
        for job, tasks in self._jobs.items():
            _text(job, "Job name")
            for address in tasks.values():
                _text(address, "Task address")

    def _job(self, job_name: str) -> dict[int, str]:
        if job_name not in self._jobs:
            raise ValueError(f"No such job in cluster: {job_name!r}")
        return self._jobs[job_name]

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """Return how many tasks a job has."""
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Return the numbers of a job's tasks."""
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Return where a task listens."""
        job = self._job(job_name)
        if task_index not in job:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return job[task_index]

    def job_tasks(self, job_name: str) -> list:
        """Return the addresses of a job's tasks by number; None where a number is left out."""
        job = self._job(job_name)
        if not job:
            raise ValueError(f"The job {job_name!r} has no tasks: its list is an empty sequence")
        return [job.get(index) for index in range(max(job) + 1)]

    def as_dict(self) -> dict:
        """Return a dict from jobs to lists of addresses, or to dicts where numbers are left out."""
        found: dict = {}
        for job, tasks in self._jobs.items():
            is_dense = bool(tasks) and max(tasks) + 1 == len(tasks)
            found[job] = self.job_tasks(job) if is_dense else dict(sorted(tasks.items()))
        return found

    def as_cluster_def(self):
        """Return the ClusterDef that says the same."""
        made = ClusterDef()
        for job, tasks in sorted(self._jobs.items()):
            by_number = {i: _text(address, "Task address") for i, address in sorted(tasks.items())}
            made.job.add(name=_text(job, "Job name"), tasks=by_number)
        return made

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other) -> bool:
        return self._jobs == (other._jobs if isinstance(other, ClusterSpec) else other)

    __hash__ = None

    def __repr__(self) -> str:
        parts = (f"{job!r}: {tasks!r}" for job, tasks in sorted(self.as_dict().items()))
        return "ClusterSpec({" + ", ".join(parts) + "})"
