"""Sessions that begin with a checkpoint, tell hooks of each run, and know when to stop."""

from __future__ import annotations

from ... import errors
from ..._effects import group
from ..._session import Session, get_default_graph
from ._hooks import (
    CheckpointSaverHook,
    SessionRunArgs,
    SessionRunContext,
    SessionRunValues,
    StepCounterHook,
    SummarySaverHook,
)
from ._saver import Saver, get_checkpoint_state, latest_checkpoint
from ._scopes import GraphKeys
from ._variables import (
    global_variables_initializer,
    local_variables_initializer,
    tables_initializer,
)
from .summary import merge_all


def _only(name: str):
    """The one entry of a graph's list, or None."""
    found = get_default_graph().get_collection(name)
    if len(found) > 1:
        raise RuntimeError(
            f"More than one item in the collection {name!r}. Please indicate which "
            "one to use by passing it to the tf.train.Scaffold constructor."
        )
    return found[0] if found else None


class Scaffold:
    """What a session needs before it can train: how to begin, what to save.

    Parameters
    ----------
    init_op, init_feed_dict, init_fn
        Give variables their first values, when there is no checkpoint; init_fn(scaffold, session).
    local_init_op, local_init_feed_dict
        Give local variables theirs, always.
    summary_op
        Gives all summaries.
    saver
        Saves and restores.
    """

    def __init__(
        self,
        init_op=None,
        init_feed_dict=None,
        init_fn=None,
        ready_op=None,
        ready_for_local_init_op=None,
        local_init_op=None,
        summary_op=None,
        saver=None,
        copy_from_scaffold=None,
        local_init_feed_dict=None,
    ) -> None:
        if ready_op is not None or ready_for_local_init_op is not None:
            raise NotImplementedError(
                "Scaffold: ready_op and ready_for_local_init_op ask what other processes have "
                "done; sessions are of this one: leave them out"
            )
        if copy_from_scaffold is not None:
            if not isinstance(copy_from_scaffold, Scaffold):
                raise TypeError("copy_from_scaffold is not a Scaffold instance.")
            other = copy_from_scaffold
            init_op = other._init_op if init_op is None else init_op
            init_feed_dict = init_feed_dict or other._init_feed_dict
            init_fn = init_fn or other._init_function
            local_init_op = other._local_init_op if local_init_op is None else local_init_op
            local_init_feed_dict = local_init_feed_dict or other._local_init_feed_dict
            summary_op = other._summary_op if summary_op is None else summary_op
            saver = saver or other._saver
        self._init_op, self._init_feed_dict, self._init_function = init_op, init_feed_dict, init_fn
        self._local_init_op, self._local_init_feed_dict = local_init_op, local_init_feed_dict
        self._summary_op, self._saver = summary_op, saver

    def finalize(self) -> Scaffold:
        """Make what was not given."""
        if self._init_op is None:
            self._init_op = _only(GraphKeys.INIT_OP)
        if self._init_op is None:
            self._init_op = group(
                global_variables_initializer(),
                *get_default_graph().get_collection(GraphKeys.RESOURCES),
            )
        if self._local_init_op is None:
            self._local_init_op = _only(GraphKeys.LOCAL_INIT_OP)
        if self._local_init_op is None:
            self._local_init_op = Scaffold.default_local_init_op()
        if self._summary_op is None:
            self._summary_op = merge_all()
        if self._saver is None:
            self._saver = _only(GraphKeys.SAVERS)
        if self._saver is None:
            self._saver = Saver(allow_empty=True)
            get_default_graph().add_to_collection(GraphKeys.SAVERS, self._saver)
        return self

    @staticmethod
    def default_local_init_op():
        """Return what gives local variables and tables their first values."""
        return group(local_variables_initializer(), tables_initializer())

    @property
    def init_fn(self):
        """What is called with the session after init_op, or None."""
        if self._init_function is None:
            return None
        return lambda session: self._init_function(self, session)

    @property
    def init_op(self):
        """The operation."""
        return self._init_op

    @property
    def init_feed_dict(self):
        """What it is fed."""
        return self._init_feed_dict

    @property
    def local_init_op(self):
        """The operation."""
        return self._local_init_op

    @property
    def local_init_feed_dict(self):
        """What it is fed."""
        return self._local_init_feed_dict

    @property
    def summary_op(self):
        """The tensor."""
        return self._summary_op

    @property
    def saver(self):
        """The saver."""
        return self._saver


class SessionCreator:
    """Makes the session of a monitored session."""

    def create_session(self):
        """Return a session that is ready."""
        raise NotImplementedError("create_session is not implemented.")


class ChiefSessionCreator(SessionCreator):
    """Makes a session that begins with a checkpoint, or with first values."""

    def __init__(
        self,
        scaffold=None,
        master="",
        config=None,
        checkpoint_dir=None,
        checkpoint_filename_with_path=None,
    ) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master, self._config = master, config
        self._folder, self._file = checkpoint_dir, checkpoint_filename_with_path

    def create_session(self):
        """Return a session that is ready."""
        scaffold = self._scaffold.finalize()
        session = Session(self._master, get_default_graph(), self._config)
        path = self._file
        if path is None and self._folder:
            path = latest_checkpoint(self._folder)
        if path is not None:
            scaffold.saver.restore(session, path)
            state = get_checkpoint_state(self._folder) if self._folder else None
            if state is not None:
                scaffold.saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        else:
            session.run(scaffold.init_op, scaffold.init_feed_dict)
            if scaffold.init_fn is not None:
                scaffold.init_fn(session)
        session.run(scaffold.local_init_op, scaffold.local_init_feed_dict)
        return session


WorkerSessionCreator = ChiefSessionCreator


class MonitoredSession:
    """A session that tells hooks of each run, and knows when to stop."""

    def __init__(self, session_creator=None, hooks=None, stop_grace_period_secs=120) -> None:
        if stop_grace_period_secs < 0:
            raise ValueError(f"stop_grace_period_secs is not negative: {stop_grace_period_secs}")
        self._hooks = list(hooks or ())
        for hook in self._hooks:
            hook.begin()
        self._session = (session_creator or ChiefSessionCreator()).create_session()
        self._should_stop = False
        for hook in self._hooks:
            hook.after_create_session(self._session, None)

    @property
    def graph(self):
        """The graph."""
        return None if self._session is None else self._session.graph

    @property
    def _raw(self):
        return self._session

    def raw_session(self):
        """Return the session without hooks."""
        return self._session

    def should_stop(self) -> bool:
        """Whether a hook has asked to stop, or there is no more data."""
        return self._should_stop or self._session is None

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """Run as a session does, and what hooks ask for with it."""
        if self._session is None:
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict, options), self._session)
        wanted, feeds = {"caller": fetches}, dict(feed_dict or {})
        for number, hook in enumerate(self._hooks):
            asked = hook.before_run(context)
            if asked is None:
                continue
            if not isinstance(asked, SessionRunArgs):
                raise TypeError(f"{hook}.before_run must return SessionRunArgs, not {asked!r}")
            if asked.fetches is not None:
                wanted[number] = asked.fetches
            for key, value in (asked.feed_dict or {}).items():
                if key in feeds:
                    raise RuntimeError(f"Same tensor is fed by two hooks or by the caller: {key}")
                feeds[key] = value
        if fetches is None or (isinstance(fetches, (list, tuple, dict)) and not fetches):
            del wanted["caller"]
        try:
            results = self._session.run(wanted, feeds, options, run_metadata)
        except (errors.OutOfRangeError, StopIteration):
            self._should_stop = True
            raise
        for number, hook in enumerate(self._hooks):
            hook.after_run(context, SessionRunValues(results.get(number), options, run_metadata))
        self._should_stop = self._should_stop or context.stop_requested
        return results.get("caller", fetches)

    def run_step_fn(self, step_fn):
        """Call a function with a context that runs parts with and without hooks."""
        return step_fn(_StepContext(self))

    def close(self) -> None:
        """Tell hooks of the end, and close the session."""
        self._close(True)

    def _close(self, is_well: bool) -> None:
        if self._session is None:
            return
        try:
            if is_well:
                for hook in self._hooks:
                    hook.end(self._session)
        finally:
            self._session.close()
            self._session = None

    def __enter__(self) -> MonitoredSession:
        return self

    def __exit__(self, kind, value, traceback) -> bool:
        is_end = kind is not None and issubclass(kind, (errors.OutOfRangeError, StopIteration))
        self._close(kind is None or is_end)
        return is_end


class _StepContext:
    def __init__(self, session) -> None:
        self.session = session._session
        self._monitored = session

    def run_with_hooks(self, *args, **kwargs):
        """Run with hooks."""
        return self._monitored.run(*args, **kwargs)

    def request_stop(self):
        """Let this step be the last."""
        self._monitored._should_stop = True


class SingularMonitoredSession(MonitoredSession):
    """A monitored session of one process."""

    def __init__(
        self,
        hooks=None,
        scaffold=None,
        master="",
        config=None,
        checkpoint_dir=None,
        stop_grace_period_secs=120,
        checkpoint_filename_with_path=None,
    ) -> None:
        creator = ChiefSessionCreator(
            scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path
        )
        super().__init__(creator, hooks, stop_grace_period_secs)


USE_DEFAULT = object()


def MonitoredTrainingSession(
    master="",
    is_chief=True,
    checkpoint_dir=None,
    scaffold=None,
    hooks=None,
    chief_only_hooks=None,
    save_checkpoint_secs=USE_DEFAULT,
    save_summaries_steps=USE_DEFAULT,
    save_summaries_secs=USE_DEFAULT,
    config=None,
    stop_grace_period_secs=120,
    log_step_count_steps=100,
    max_wait_secs=7200,
    save_checkpoint_steps=USE_DEFAULT,
    summary_dir=None,
    save_graph_def=True,
) -> MonitoredSession:
    """Return a session that logs, writes summaries and saves checkpoints while it trains."""
    if not is_chief or max_wait_secs < 0:
        raise NotImplementedError(
            f"MonitoredTrainingSession: is_chief={is_chief}, max_wait_secs={max_wait_secs}: there "
            "is one process, which is the chief"
        )
    if save_summaries_steps is USE_DEFAULT and save_summaries_secs is USE_DEFAULT:
        save_summaries_steps, save_summaries_secs = 100, None
    save_summaries_steps = None if save_summaries_steps is USE_DEFAULT else save_summaries_steps
    save_summaries_secs = None if save_summaries_secs is USE_DEFAULT else save_summaries_secs
    if save_checkpoint_steps is USE_DEFAULT and save_checkpoint_secs is USE_DEFAULT:
        save_checkpoint_steps, save_checkpoint_secs = None, 600
    save_checkpoint_steps = None if save_checkpoint_steps is USE_DEFAULT else save_checkpoint_steps
    save_checkpoint_secs = None if save_checkpoint_secs is USE_DEFAULT else save_checkpoint_secs
    scaffold = scaffold or Scaffold()
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    all_hooks = list(chief_only_hooks or ())
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir:
        if log_step_count_steps and log_step_count_steps > 0:
            all_hooks.append(StepCounterHook(log_step_count_steps, output_dir=summary_dir))
        if (save_summaries_steps or 0) > 0 or (save_summaries_secs or 0) > 0:
            all_hooks.append(
                SummarySaverHook(
                    save_summaries_steps, save_summaries_secs, summary_dir, scaffold=scaffold
                )
            )
    if checkpoint_dir and ((save_checkpoint_secs or 0) > 0 or (save_checkpoint_steps or 0) > 0):
        all_hooks.append(
            CheckpointSaverHook(
                checkpoint_dir,
                save_checkpoint_secs,
                save_checkpoint_steps,
                scaffold=scaffold,
                save_graph_def=save_graph_def,
            )
        )
    return MonitoredSession(creator, [*all_hooks, *(hooks or ())], stop_grace_period_secs)
