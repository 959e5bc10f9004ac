"""Jupyter AI's ACP client, with a chat that only remembers what it is given."""

import asyncio
import os
from unittest.mock import MagicMock

from jupyter_ai_acp_client.default_acp_client import JaiAcpClient


async def allow(client, session):
    """Clicks on "Allow", as soon as there is a question."""
    while not client._permission_manager._pending:
        await asyncio.sleep(0)
    assert client.resolve_permission(session, "write-1", "allow_once")


async def main():
    agent = await asyncio.create_subprocess_exec(
        os.environ["STENTOR"], "acp", "--model", f"script/{os.environ['SCENARIO']}",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )
    client = JaiAcpClient(agent_subprocess=agent, event_loop=asyncio.get_running_loop())
    persona = MagicMock()
    persona.id = "stentor"
    persona.parent.root_dir = persona.get_chat_dir.return_value = os.getcwd()
    persona.get_mcp_settings.return_value = None
    persona.chat.add_message.side_effect = [f"message-{n}" for n in range(100)]
    session = (await client.create_session(persona)).session_id
    answer, _ = await asyncio.gather(
        client.prompt_and_reply(session, "write a file"), allow(client, session)
    )
    assert answer.stop_reason == "end_turn", answer
    # What the toolbar shows of a turn comes from here.
    assert answer.usage.total_tokens > 0, answer
    call = client._tool_call_manager.get_tool_call(session, "write-1")
    assert call.status == "completed" and call.diffs, call
    shown = [message.args[0].body for message in persona.chat.update_message.call_args_list]
    print("".join(text for text in shown if isinstance(text, str)))
    agent.stdin.close()
    assert await agent.wait() == 0


asyncio.run(main())
