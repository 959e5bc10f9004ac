"""ACP's Python SDK: a client that allows what it is asked."""

import asyncio
import os

import acp
from acp import schema


class Client(acp.Client):
    def __init__(self):
        self.updates = []

    async def request_permission(self, options, session_id, tool_call, **rest):
        option = next(option for option in options if option.kind == "allow_once")
        outcome = schema.AllowedOutcome(outcome="selected", option_id=option.option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def session_update(self, session_id, update, **rest):
        self.updates.append(update)


async def main():
    client = Client()
    words = ["acp", "--model", f"script/{os.environ['SCENARIO']}"]
    async with acp.spawn_agent_process(client, os.environ["STENTOR"], *words) as (agent, _):
        hello = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert hello.protocol_version == 1, hello
        session = await agent.new_session(cwd=os.getcwd(), mcp_servers=[])
        end = await agent.prompt(
            session_id=session.session_id, prompt=[acp.text_block("write a file")]
        )
        assert end.stop_reason == "end_turn", end
    for update in client.updates:
        if update.session_update == "agent_message_chunk":
            print(update.content.text)


asyncio.run(main())
