"""A client that keeps all it was told, and what a run with it needs besides."""

import json
import os
import sys
import threading
from pathlib import Path

if os.environ.get("OMP_RPC"):
    sys.path.insert(0, os.environ["OMP_RPC"])

from omp_rpc import RpcClient, RpcCommandError, UnknownNotification  # noqa: E402

HERE = Path(__file__).resolve().parent
STENTOR = Path(os.environ.get("STENTOR", HERE / "../../target/debug/stentor")).resolve()

# What is sent for other clients, or came after this one; it hands them on unread.
BEYOND_IT = {
    "agent_settled",
    "bash_execution_update",
    "command_output",
    "compaction_end",
    "compaction_start",
    "config_update",
    "entry_appended",
    "session_info_changed",
    "session_info_update",
    "summarization_retry_attempt_start",
    "summarization_retry_finished",
    "summarization_retry_scheduled",
}


class Watched:
    """A client, all it was told, and whether it could read it."""

    def __init__(self, folder, *words, **options):
        self.folder = folder
        self.told = []
        self.changed = threading.Condition()
        self.client = RpcClient(
            executable=str(STENTOR),
            provider="script",
            model=str(folder / "scenario.toml"),
            session_dir=folder / "sessions",
            cwd=folder,
            env={"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder)},
            extra_args=["--a-flag-nobody-knows", *words],
            **options,
        )
        self.client.on_notification(self.hear)

    def __enter__(self):
        self.client.start()
        return self

    def __exit__(self, kind, *_):
        ended = self.client.stop()
        if kind is None:
            assert ended, f"the child lives on: {self.client.survivor_pids}"
            self.check()

    def hear(self, notification):
        with self.changed:
            self.told.append(notification)
            self.changed.notify_all()

    def all_of(self, kind):
        return [notification for notification in list(self.told) if notification.type == kind]

    def until(self, fits, since=0):
        """The first notification after so many that fits, whether it came already or not."""

        def found():
            return next((told for told in self.told[since:] if fits(told)), None)

        with self.changed:
            assert self.changed.wait_for(found, 30), "it did not come"
            return found()

    def check(self):
        """Everything was read, and no listener failed."""
        for notification in self.told:
            unread(notification)
            if notification.type == "subagent_event":
                unread(notification.event)
        assert not self.client.listener_errors, self.client.listener_errors
        assert not self.client.protocol_errors, self.client.protocol_errors


def unread(notification):
    if isinstance(notification, UnknownNotification):
        frame = json.dumps(notification.payload)[:1000]
        assert notification.parse_error is None, f"{notification.parse_error}: {frame}"
        assert notification.payload["type"] in BEYOND_IT, f"not known: {frame}"


class Later:
    """Something that happens in a thread of its own."""

    def __init__(self, do):
        self.outcome = None

        def run():
            try:
                self.outcome = (do(), None)
            except Exception as error:
                self.outcome = (None, error)

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def over(self):
        return not self.thread.is_alive()

    def result(self):
        value, error = self.join()
        if error is not None:
            raise error
        return value

    def join(self):
        self.thread.join(60)
        assert self.outcome is not None, "it did not end"
        return self.outcome


def tool_ends(turn):
    return [event for event in turn.events if event.type == "tool_execution_end"]


def is_delta(told):
    return told.type == "message_update" and told.assistant_message_event["type"] == "text_delta"


def attempt(do):
    """The error that it ends with, if any."""
    try:
        do()
    except Exception as error:
        return error
    return None


def error_of(do):
    """The refusal of a command."""
    error = attempt(do)
    assert isinstance(error, RpcCommandError), repr(error)
    return error
