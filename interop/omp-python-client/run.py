"""Drives the stentor binary with omp's Python client, as it is published.

    STENTOR=/path/to/stentor OMP_RPC=/path/to/python/omp-rpc/src python3 run.py

The package is not in an index, so it is taken from where you have it: from the folder OMP_RPC
names, or wherever Python finds it. Each check is one call of the client class, or one thing a
program does with it. Every frame goes through the client's own strict parser; one that it cannot
read is an error, and so is one it does not know beside those of `watched.BEYOND_IT`.
"""

import base64
import json
import shutil
import tempfile
import threading
from pathlib import Path

from watched import HERE, STENTOR, Later, Watched, attempt, error_of, is_delta, tool_ends

from omp_rpc import (
    RpcClient,
    RpcError,
    RpcProcessExitError,
    TodoItem,
    TodoPhase,
    host_tool,
    host_uri,
    image_from_path,
    message_text,
)

DEMO = HERE / "../../crates/stentor/tests/omp/extensions/demo.py"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def main():
    assert STENTOR.exists(), f"there is no {STENTOR}; build it or set STENTOR"
    scenes = [
        flags,
        conversation,
        interruptions,
        choices,
        sessions,
        hosting,
        subagents,
        dialogs,
        recoveries,
        failures,
    ]
    for scene in scenes:
        folder = Path(tempfile.mkdtemp(prefix="stentor-interop-")).resolve()
        shutil.copy(HERE / "scenario.toml", folder)
        (folder / "notes.txt").write_text("alpha\nbeta\n")
        (folder / "pixel.png").write_bytes(base64.b64decode(PIXEL))
        (folder / "stentor").mkdir()
        (folder / "stentor/config.toml").write_text("[retry]\nbase_delay_ms = 1\n")
        scene(folder)
        shutil.rmtree(folder)
    print("ok: omp's Python client")


def flags(folder):
    """The command line that the class makes of its options."""
    options = {
        "thinking": "high",
        "append_system_prompt": "Be kind to the reader.",
        "provider_session_id": "p-1",
        "tools": ["read", "bash"],
        "no_session": True,
        "no_skills": True,
        "no_rules": True,
        "no_title": True,
        "no_ui": True,
    }
    with Watched(folder, **options) as watched:
        state = watched.client.get_state()
        assert (state.thinking_level, state.session_file) == ("high", None)
        assert "Be kind to the reader." in state.system_prompt[0]
        assert {tool.name for tool in state.dump_tools} == {"read", "bash"}
        assert watched.client.prompt_and_wait("say hello").require_assistant_text() == "Hello from the script."
    with Watched(folder, tools=[]) as watched:
        assert watched.client.get_state().dump_tools == ()


def conversation(folder):
    """Text, thinking, pictures, tools, commands of the user, a compaction, long frames."""
    with Watched(folder) as watched:
        client = watched.client
        ready = watched.until(lambda told: told.type == "ready")
        assert ready.supported_protocol_versions == (1, 2), ready

        turn = client.prompt_and_wait("say hello", images=[image_from_path(folder / "pixel.png")])
        assert turn.require_assistant_text() == "Hello from the script."
        assert (turn.result.status, turn.result.agent_invoked, turn.result.session_settled) == ("completed", True, True)
        assert [message["role"] for message in turn.messages] == ["user", "assistant"]
        said, picture = turn.messages[0]["content"]
        assert (said["text"], picture["type"], picture["mimeType"]) == ("say hello", "image", "image/png")
        deltas = [event.assistant_message_event for event in turn.events if event.type == "message_update"]
        assert "".join(delta["delta"] for delta in deltas if delta["type"] == "thinking_delta") == "A greeting."
        assert all(delta["partial"]["role"] == "assistant" for delta in deltas)
        assert len({event.message_id for event in turn.events if event.type == "message_update"}) == 1

        turn = client.prompt_and_wait("use tools")
        ends = [event for event in turn.events if event.type == "tool_execution_end"]
        assert [(end.tool_call_id, end.is_error) for end in ends] == [("bash-1", False), ("read-1", False)]
        assert "alpha" in ends[1].result["content"][0]["text"]
        assert client.get_last_assistant_text() == "Both tools are done."

        done = client.bash("echo out; exit 3")
        assert (done.output, done.exit_code, done.cancelled, done.total_lines) == ("out\n", 3, False, 2)
        sleeping = Later(lambda: client.bash("echo begun; sleep 60"))
        watched.until(lambda told: told.type == "unknown" and told.payload.get("delta") == "begun\n")
        client.abort_bash()
        stopped = sleeping.result()
        assert (stopped.cancelled, stopped.exit_code) == (True, None), stopped

        messages = client.get_messages()
        assert [message["role"] for message in messages][-2:] == ["bashExecution", "bashExecution"]
        first = client.get_messages_page(limit=2)
        second = client.get_messages_page(cursor=first.next_cursor, limit=256)
        assert (*first.messages, *second.messages) == messages
        assert (first.total_messages, second.next_cursor) == (len(messages), None)

        state = client.get_state()
        assert (state.model.id, state.is_settled, state.message_count) == ("mock-1", True, len(messages))
        assert state.context_usage.tokens > 0 and state.context_usage.percent > 0
        assert {"bash", "read", "edit", "write"} <= {tool.name for tool in state.dump_tools}
        assert state.system_prompt
        stats = client.get_session_stats()
        assert (stats.user_messages, stats.assistant_messages, stats.tool_calls) == (2, 3, 2)
        assert stats.tokens.total > 0 and stats.cost > 0

        compacted = client.compact("Be brief")
        assert compacted.summary == "## Goal\nThe user tried things." and compacted.tokens_before > 0
        assert message_text(client.get_messages()[0]) is None
        assert client.get_messages()[0]["role"] == "compactionSummary"
        assert not client.get_state().is_compacting

        # Longer than one frame may be: it comes in chunks.
        turn = client.prompt_and_wait("at length")
        assert len(turn.require_assistant_text()) > 1024 * 1024
        assert client.get_messages()[-1] == turn.assistant_message


def interruptions(folder):
    """Steering, follow-ups, the queues, aborts."""
    with Watched(folder) as watched:
        client = watched.client
        client.prompt("run two")
        watched.until(lambda told: told.type == "tool_execution_start")
        client.steer("STEER: something else")
        assert client.get_state().queued_messages.steering == ("STEER: something else",)
        (folder / "go").touch()
        client.wait_for_idle()
        skipped = watched.until(lambda told: told.type == "tool_execution_end" and told.tool_call_id == "slow-2")
        assert skipped.result["content"][0]["text"] == "Skipped due to queued user message."
        assert client.get_last_assistant_text() == "Understood, changing direction."

        before = len(watched.told)
        client.prompt("never stop")
        watched.until(is_delta, before)
        client.follow_up("FOLLOW one")
        client.follow_up("FOLLOW two", images=[image_from_path(folder / "pixel.png")])
        client.prompt("FOLLOW three", streaming_behavior="followUp")
        assert client.promote_queued_message("FOLLOW two").promoted
        assert not client.promote_queued_message("FOLLOW two").promoted
        state = client.get_state()
        assert state.queued_messages.steering == ("FOLLOW two",)
        assert state.queued_messages.follow_up == ("FOLLOW one", "FOLLOW three")
        assert client.remove_queued_message("FOLLOW one", "followUp").removed
        assert not client.remove_queued_message("FOLLOW one", "followUp").removed
        refused = error_of(lambda: client.prompt("no behaviour given"))
        assert refused.command == "prompt" and "already processing" in refused.error, refused
        client.abort()
        assert watched.all_of("turn_end")[-1].message["stopReason"] == "aborted"
        client.wait_for_settled()
        turn = client.prompt_and_wait("say hello")
        said = [message_text(message) for message in turn.messages if message["role"] == "user"]
        assert said == ["say hello", "FOLLOW two", "FOLLOW three"], said
        updates = watched.all_of("queue_update")
        assert (updates[-1].steering, updates[-1].follow_up) == ((), ())

        before = len(watched.told)
        first = client.prompt("never stop")
        watched.until(is_delta, before)
        second = client.abort_and_prompt("say hello")
        client.wait_for_idle()
        ended = {result.id: result.status for result in watched.all_of("prompt_result")}
        assert (ended[first], ended[second]) == ("aborted", "completed"), ended

        # It collects up to the end of the run that is next when it begins to.
        collected = Later(client.collect_events)
        while not collected.over():
            prompted = client.prompt("say hello")
            watched.until(lambda told: told.type == "prompt_result" and told.id == prompted)
        assert collected.result()[-1].type == "agent_end"


def choices(folder):
    """Models, thinking, modes, the filter of events, todos."""
    with Watched(folder) as watched:
        client = watched.client
        chosen = client.get_state().model
        assert (chosen.provider, chosen.context_window, chosen.cost.output) == ("script", 200_000, 15.0)
        assert chosen.thinking.efforts and chosen.thinking.mode
        assert "offline" in {model.provider for model in client.get_available_models()}
        assert client.set_model("offline", "guide").id == "guide"
        assert client.get_state().model.id == "guide"
        refused = error_of(lambda: client.set_model("nope", "missing"))
        assert refused.error == "Model not found: nope/missing", refused
        client.set_model("script", chosen.id)
        cycled = client.cycle_model()
        assert (cycled.model.id, cycled.is_scoped) == ("guide", False)
        assert client.cycle_model() is None, "there is no other"
        client.set_model("script", chosen.id)

        levels = client.get_available_thinking_levels()
        assert levels[0] == "off" and "high" in levels
        client.set_thinking_level("low")
        assert client.get_state().thinking_level == "low"
        assert watched.until(lambda told: told.type == "thinking_level_changed").thinking_level
        assert client.cycle_thinking_level().level == "medium"

        client.set_steering_mode("all")
        client.set_follow_up_mode("all")
        client.set_interrupt_mode("wait")
        client.set_auto_compaction(False)
        client.set_auto_retry(False)
        client.abort_retry()
        state = client.get_state()
        assert (state.steering_mode, state.follow_up_mode, state.interrupt_mode) == ("all", "all", "wait")
        assert not state.auto_compaction_enabled

        assert client.set_event_filter(["agent_end"]) == ("agent_end",)
        turn = client.prompt_and_wait("say hello")
        assert [event.type for event in turn.events] == ["agent_end"]
        assert turn.require_assistant_text() == "Hello from the script."
        assert client.set_event_filter(None) is None

        client.set_todos(["plain", TodoItem(id="t", content="done", status="completed")])
        phases = client.get_todos()
        assert [(task.content, task.status) for task in phases[0].tasks] == [("plain", "pending"), ("done", "completed")]
        client.set_todos([TodoPhase(id="p", name="Plan", tasks=(TodoItem(id="", content="one", status="blocked", blocker="rain"),)),
                          {"name": "Later", "tasks": [{"content": "two", "status": "abandoned", "notes": "n"}]}])
        assert [phase.name for phase in client.get_todos()] == ["Plan", "Later"]
        client.set_todos(["to do"])
        client.prompt_and_wait("say hello")
        reminder = watched.until(lambda told: told.type == "todo_reminder")
        assert (reminder.todos[0].content, reminder.attempt, reminder.max_attempts) == ("to do", 1, 3)
        assert client.clear_todos() == () and client.get_todos() == ()


def sessions(folder):
    """Names, trees, branches, other conversations, pages, commands, logins."""
    (folder / ".stentor/prompts").mkdir(parents=True)
    (folder / ".stentor/prompts/greet.md").write_text("---\ndescription: Greets\nargument-hint: NAME\n---\nsay hello to $1\n")
    with Watched(folder) as watched:
        client = watched.client
        assert client.get_last_assistant_text() is None
        assert client.get_messages() == () and client.get_branch_messages() == ()
        assert client.get_state().context_usage is None
        turn = client.prompt_and_wait("/greet Bob")
        assert message_text(turn.messages[0]).strip() == "say hello to Bob"
        client.prompt_and_wait("use tools")
        [greet] = [command for command in client.get_available_commands() if command.name == "greet"]
        assert (greet.source, greet.description, greet.input_hint) == ("file", "Greets", "NAME"), greet
        assert watched.until(lambda told: told.type == "available_commands_update").commands

        client.set_session_name("  my work  ")
        first = client.get_state()
        assert first.session_name == "my work"
        entries = client.get_entries()
        tree = client.get_tree()
        assert (entries.entries[-1]["id"], tree.leaf_id) == (entries.leaf_id, entries.leaf_id) and tree.tree
        since = client.get_entries(since=entries.entries[0]["id"])
        assert since.entries == entries.entries[1:]
        unknown = error_of(lambda: client.get_entries(since="nobody"))
        assert unknown.code == "unknown_since", unknown.code

        points = client.get_branch_messages()
        assert [point.text for point in points][1] == "use tools"
        branched = client.branch(points[1].entry_id)
        assert (branched.text, branched.cancelled) == ("use tools", False)
        assert len(client.get_messages()) == 2
        assert "Invalid entry ID" in error_of(lambda: client.branch("deadbeef")).error
        assert client.request_raw("clone") == {"cancelled": False}
        assert len(client.get_messages()) == 2
        assert not client.new_session(first.session_file).cancelled
        assert client.get_state().message_count == 0
        assert not client.switch_session(first.session_file).cancelled
        back = client.get_state()
        assert (back.session_id, back.session_name) == (first.session_id, "my work")

        fresh = client.open_session(folder / "fresh")
        assert not fresh.resumed and fresh.session_id != first.session_id
        back = client.open_session(folder / "sessions")
        assert (back.resumed, back.cancelled) == (True, False)
        client.switch_session(first.session_file)
        assert not client.set_fast_mode(False).enabled
        refused = error_of(lambda: client.set_fast_mode(True))
        assert refused.command == "set_fast_mode", refused

        page = client.export_html(folder / "out.html")
        assert "Hello from the script" in page.read_text()
        providers = {provider.id: provider for provider in client.get_login_providers()}
        assert providers and not any(provider.authenticated for provider in providers.values())
        assert error_of(lambda: client.login("nobody")).command == "login"
        assert client.handoff("Be brief").saved_path is None
        assert client.get_messages()[0]["role"] == "compactionSummary"


def hosting(folder):
    """Tools and addresses that Python serves."""
    notes = {"today": "remember the milk\n"}
    cancelled = threading.Event()

    def echo(arguments, context):
        if arguments["message"] == "fail":
            raise ValueError("no echo here")
        if arguments["message"] == "wait":
            context.send_update("waiting")
            while not context.cancelled:
                threading.Event().wait(0.01)
            cancelled.set()
        context.send_update({"content": [{"type": "text", "text": "almost"}], "details": {"done": 1}})
        return f"echo: {arguments['message']}"

    def change(url, content, _context):
        notes[url.removeprefix("notes://")] = content

    tool = host_tool(
        name="echo_host",
        description="Says it again.",
        parameters={"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
        execute=echo,
    )
    uris = [
        host_uri(scheme="notes", read=lambda url, _: notes[url.removeprefix("notes://")], write=change, description="Notes"),
        host_uri(scheme="fixed", read=lambda *_: {"content": "{}", "content_type": "application/json", "notes": ["a note"]}, immutable=True),
    ]
    with Watched(folder, custom_tools=[tool], host_uris=uris) as watched:
        client = watched.client
        assert client.set_custom_tools([tool]) == ("echo_host",)
        assert client.set_host_uris(uris) == ("notes", "fixed")
        [end] = tool_ends(client.prompt_and_wait("call the host"))
        assert (end.tool_name, end.result["content"][0]["text"], end.is_error) == ("echo_host", "echo: hello", False)
        [end] = tool_ends(client.prompt_and_wait("let the host fail"))
        assert (end.result["content"][0]["text"], end.is_error) == ("no echo here", True)

        client.prompt("keep the host busy")
        watched.until(lambda told: told.type == "tool_execution_update" and told.tool_call_id == "host-3")
        client.abort()
        assert cancelled.wait(30)
        client.wait_for_idle()

        ends = tool_ends(client.prompt_and_wait("use addresses"))
        assert [(end.tool_call_id, end.is_error) for end in ends] == [
            ("uri-1", False), ("uri-2", False), ("uri-3", True), ("uri-4", True)]
        assert "remember the milk" in ends[0].result["content"][0]["text"]
        assert notes["today"] == "changed" and "missing" in ends[2].result["content"][0]["text"]
        assert client.set_custom_tools([]) == ()


def subagents(folder):
    """Following subagents, reading what they say, telling them something, stopping them."""
    with Watched(folder) as watched:
        client = watched.client
        assert client.get_subagents() == ()
        assert client.set_subagent_subscription("events") == "events"
        client.prompt_and_wait("delegate: look")
        told = watched.all_of("subagent_lifecycle")
        assert [(life.status, life.agent_source) for life in told] == [("started", "bundled"), ("completed", "bundled")]
        said = [event.event for event in watched.all_of("subagent_event") if event.event.type == "message_update"]
        assert "".join(event.assistant_message_event.get("delta", "") for event in said) == "The subagent is done."
        progress = watched.all_of("subagent_progress")[-1]
        kept = client.get_subagent_messages(session_file=progress.session_file)
        assert [message["role"] for message in kept.messages] == ["user", "assistant"]
        more = client.get_subagent_messages(session_file=progress.session_file, from_byte=kept.next_byte)
        assert (more.messages, more.reset) == ((), False)

        client.prompt("delegate: wait for it")
        begun = watched.until(lambda told: told.type == "subagent_event" and told.event.type == "tool_execution_start")
        [running] = client.get_subagents()
        assert (running.id, running.status, running.parent_tool_call_id) == (begun.id, "running", "out-1")
        client.steer_subagent(running.id, "Do something ELSE")
        (folder / "told").touch()
        client.wait_for_idle()
        end = watched.all_of("tool_execution_end")[-1]
        assert end.result["content"][0]["text"] == "Something else, then."
        assert error_of(lambda: client.steer_subagent(running.id, "late")).command == "steer_subagent"

        before = len(watched.told)
        client.prompt("delegate: never end")
        last = watched.until(lambda told: told.type == "subagent_lifecycle", before)
        watched.until(lambda told: told.type == "subagent_event" and told.id == last.id and is_delta(told.event))
        assert client.cancel_subagent(last.id) and not client.cancel_subagent(last.id)
        client.wait_for_idle()
        assert watched.all_of("subagent_lifecycle")[-1].status == "aborted"


def dialogs(folder):
    """Questions of the core and of extensions, what they show, and that they break."""
    with Watched(folder, "--permission-mode", "ask") as watched:
        client = watched.client
        turn = Later(lambda: client.prompt_and_wait("a guarded command"))
        request = client.next_ui_request(timeout=30)
        labels = tuple(" ".join(label.split()[:2]) for label in request.options)
        assert (request.method, labels) == ("select", ("Allow", "Always allow", "Deny", "Always deny"))
        client.send_ui_value("unknown", "Allow")
        client.send_ui_value(request.id, "Deny")
        assert tool_ends(turn.result())[0].is_error
        # Nobody there: whatever is asked is declined.
        uninstall = client.install_headless_ui()
        assert tool_ends(client.prompt_and_wait("a guarded command"))[0].is_error
        uninstall()
        client.install_headless_ui(select_value="Allow")
        assert not tool_ends(client.prompt_and_wait("a guarded command"))[0].is_error

    with Watched(folder, "--extension", str(DEMO.resolve())) as watched:
        client = watched.client
        failed = []
        client.on_extension_error(failed.append)
        asked = []

        def answer(request):
            asked.append((request.method, request.title))
            if request.method == "confirm":
                client.send_ui_confirmation(request.id, True)
            elif request.method == "select":
                assert request.option_details[1] == {"description": "No"}, request
                client.send_ui_value(request.id, "Block")
            elif request.method == "input":
                client.cancel_ui_request(request.id, timed_out=True)
            elif request.method == "editor":
                client.send_ui_value(request.id, f"{request.prefill}\nedited")

        client.on_ui_request(answer)
        [end] = tool_ends(client.prompt_and_wait("ask me everything"))
        assert [method for method, _ in asked] == ["confirm", "select", "input", "editor"], asked
        assert json.loads(end.result["content"][0]["text"]) == [
            {"confirmed": True, "answered": True}, {"value": "b"}, {"value": None}, {"value": "line 1\nline 2\nedited"}]
        client.prompt_and_wait("show me everything")
        watched.until(lambda told: told.type == "extension_ui_request" and told.method == "set_editor_text")
        shown = [told for told in watched.all_of("extension_ui_request") if told.is_passive()]
        assert {"notify", "setStatus", "setWidget", "setTitle", "set_editor_text"} <= {told.method for told in shown}
        assert [told.notify_type for told in shown if told.method == "notify"] == ["info", "warning", "error"]
        [end] = tool_ends(client.prompt_and_wait("let it die"))
        assert end.is_error
        watched.until(lambda told: told.type == "extension_error")
        assert failed and failed[0].error, failed


def recoveries(folder):
    """Rules that stop a stream, retries, a context that is too long."""
    (folder / ".omp/rules").mkdir(parents=True)
    (folder / ".omp/rules/no-unwrap.md").write_text("---\ncondition: '\\.unwrap\\(\\)'\n---\nUse `?`.\n")
    with Watched(folder) as watched:
        client = watched.client
        turn = client.prompt_and_wait("break a rule")
        assert watched.all_of("ttsr_triggered")[0].rules[0]["name"] == "no-unwrap"
        assert [message["role"] for message in turn.messages] == ["user", "assistant", "developer", "assistant"]

        turn = client.prompt_and_wait("retry, please")
        assert (turn.result.status, turn.require_assistant_text()) == ("completed", "Nothing more to say.")
        starts = watched.all_of("auto_retry_start")
        assert [(start.attempt, start.max_attempts, start.delay_ms, start.error_message) for start in starts] == [
            (1, 3, 1, "busy"), (2, 3, 2, "busy")]
        [end] = watched.all_of("auto_retry_end")
        assert (end.success, end.attempt, end.final_error) == (True, 2, None)
        ends = [event.is_terminal for event in turn.events if event.type == "agent_end"]
        assert ends == [False, False, True], ends

        turn = client.prompt_and_wait("an overflow")
        assert turn.result.status == "completed"
        [start] = watched.all_of("auto_compaction_start")
        [end] = watched.all_of("auto_compaction_end")
        assert (start.reason, start.action, end.aborted, end.will_retry) == ("overflow", "context-full", False, True)
        assert end.result.summary == "## Goal\nThe user tried things."

        turn = client.prompt_and_wait("fail for good")
        error = turn.result.error
        assert (turn.result.status, error.message, error.retryable, error.http_status) == ("error", "no such thing", False, 400)
        assert (error.provider, error.model) == ("script", "mock-1")
        assert turn.assistant_message["stopReason"] == "error"


def failures(folder):
    """What the class makes of commands there are not, and of a child that does not start or ends."""
    with Watched(folder) as watched:
        client = watched.client
        unknown = error_of(lambda: client.request_raw("no_such_command"))
        assert unknown.error == "Unknown command: no_such_command", unknown
        wrong = error_of(lambda: client.request_raw("set_model", provider=1))
        assert wrong.command == "set_model" and "provider" in wrong.error, wrong
        absent = error_of(lambda: client.predict_word("wor", 3))
        assert absent.error == "predict_word is not supported", absent
        assert error_of(lambda: client.set_ask_dialog(True)).command == "set_ask_dialog"
        assert error_of(lambda: client.set_cache_warming("idle")).command == "set_cache_warming"
        client.prompt("never stop")
        watched.until(is_delta)
        waiting = Later(lambda: client.wait_for_idle())
        assert client.stop() and client.reap()
        # Whether it still hears how the prompt ended, or only that the child has: it does not wait on.
        waiting.join()
        assert isinstance(attempt(lambda: client.get_state()), RpcError)
        # It can be started again.
        client.start()
        assert client.prompt_and_wait("say hello").require_assistant_text() == "Hello from the script."
    refused = RpcClient(command=[str(STENTOR), "--mode", "rpc", "@file"], cwd=folder)
    error = attempt(refused.start)
    # It reads stderr beside stdout, so what was said there may be missing in the error.
    assert isinstance(error, RpcProcessExitError) and "exited with code 1" in str(error), error


if __name__ == "__main__":
    main()
