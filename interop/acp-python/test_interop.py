"""The official Python SDK as a client of the built binary. STENTOR names the binary."""

import asyncio
import os
import sys
import tempfile
import unittest
from pathlib import Path

import acp
from acp import schema

HERE = Path(__file__).resolve().parent
BINARY = os.environ.get("STENTOR", str(HERE / "../../target/debug/stentor"))
SCENARIO = HERE.parent / "acp-scenarios/work.toml"


class Client(acp.Client):
    """Keeps what it is told and answers every question the same way."""

    def __init__(self, answer="allow_once"):
        self.answer = answer
        self.updates = []
        self.questions = []
        self.changed = asyncio.Event()

    async def session_update(self, session_id, update, **kwargs):
        self.updates.append((session_id, update))
        self.changed.set()

    async def request_permission(self, session_id, tool_call, options, **kwargs):
        self.questions.append(tool_call)
        outcome = schema.AllowedOutcome(outcome="selected", option_id=self.answer)
        return schema.RequestPermissionResponse(outcome=outcome)

    def text(self, session_id):
        return "".join(
            update.content.text
            for session, update in self.updates
            if session == session_id and update.session_update == "agent_message_chunk"
        )

    async def until(self, holds):
        while not holds():
            self.changed.clear()
            await self.changed.wait()


class World:
    """A connected agent in a folder of its own."""

    def __init__(self, **kwargs):
        self.client = Client(**kwargs)

    async def __aenter__(self):
        self.folder = tempfile.TemporaryDirectory()
        root = Path(self.folder.name).resolve()
        self.cwd = root / "work"
        self.cwd.mkdir()
        (root / "home").mkdir()
        env = {"PATH": os.environ["PATH"], "HOME": str(root / "home")}
        self.spawned = acp.spawn_agent_process(
            self.client, BINARY, "acp", "--model", f"script/{SCENARIO}", env=env, cwd=self.cwd
        )
        self.agent, self.process = await self.spawned.__aenter__()
        hello = await self.agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert hello.protocol_version == 1, hello
        return self

    async def __aexit__(self, *exc):
        await self.spawned.__aexit__(*exc)
        self.folder.cleanup()

    async def start(self, mcp_servers=()):
        made = await self.agent.new_session(cwd=str(self.cwd), mcp_servers=list(mcp_servers))
        return made.session_id

    async def prompt(self, session_id, text):
        return await self.agent.prompt(session_id=session_id, prompt=[acp.text_block(text)])


class Interop(unittest.IsolatedAsyncioTestCase):
    async def test_a_session_with_tools_permission_given(self):
        async with World() as world:
            session = await world.start()
            end = await world.prompt(session, "write a file")
            self.assertEqual(end.stop_reason, "end_turn")
            self.assertEqual((world.cwd / "made.txt").read_text(), "made\n")
            self.assertEqual([call.title for call in world.client.questions], ["Write made.txt"])
            self.assertIn("Successfully wrote 5 bytes", world.client.text(session))

    async def test_permission_refused(self):
        async with World(answer="reject_once") as world:
            session = await world.start()
            end = await world.prompt(session, "write a file")
            self.assertEqual(end.stop_reason, "end_turn")
            self.assertFalse((world.cwd / "made.txt").exists())
            self.assertIn("It was not allowed", world.client.text(session))

    async def test_cancel_in_mid_stream(self):
        async with World() as world:
            session = await world.start()
            turn = asyncio.create_task(world.prompt(session, "never stop"))
            await world.client.until(lambda: "Working" in world.client.text(session))
            await world.agent.cancel(session_id=session)
            self.assertEqual((await turn).stop_reason, "cancelled")
            end = await world.prompt(session, "hello")
            self.assertEqual(end.stop_reason, "end_turn")

    async def test_cancel_in_mid_tool(self):
        async with World() as world:
            session = await world.start()
            turn = asyncio.create_task(world.prompt(session, "sleep long"))
            running = lambda: any(
                getattr(update, "status", None) == "in_progress"
                for _, update in world.client.updates
            )
            await world.client.until(running)
            await world.agent.cancel(session_id=session)
            self.assertEqual((await turn).stop_reason, "cancelled")

    async def test_load(self):
        async with World() as world:
            session = await world.start()
            await world.prompt(session, "write a file")
            await world.agent.close_session(session_id=session)
            world.client.updates.clear()
            await world.agent.load_session(
                session_id=session, cwd=str(world.cwd), mcp_servers=[]
            )
            kinds = [update.session_update for _, update in world.client.updates]
            self.assertEqual(kinds[0], "user_message_chunk")
            self.assertIn("tool_call", kinds)
            self.assertEqual(kinds[-1], "available_commands_update")

    async def test_several_sessions_at_once(self):
        async with World() as world:
            sessions = await asyncio.gather(*(world.start() for _ in range(8)))
            ends = await asyncio.gather(*(world.prompt(one, "count") for one in sessions))
            self.assertEqual({end.stop_reason for end in ends}, {"end_turn"})
            for session in sessions:
                self.assertEqual(world.client.text(session), "word " * 2000)

    async def test_a_real_mcp_server_over_stdio(self):
        server = schema.McpServerStdio(
            name="real", command=sys.executable, args=[str(HERE / "mcp_server.py")], env=[]
        )
        async with World() as world:
            session = await world.start([server])
            end = await world.prompt(session, "use the server")
            self.assertEqual(end.stop_reason, "end_turn")
            self.assertIn("Echo: over MCP", world.client.text(session))


if __name__ == "__main__":
    unittest.main()
