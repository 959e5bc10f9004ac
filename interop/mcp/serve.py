"""Prompts `stentor mcp serve` with the client that the protocol's authors publish for Python."""

import asyncio
import os

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


def data(result):
    """What a call returned, by either name that the package has had for it."""
    found = getattr(result, "structured_content", None)
    return found if found is not None else result.structuredContent


async def main():
    words = ["mcp", "serve", "--model", "script/play.toml", "--permission-mode", "all"]
    server = StdioServerParameters(command=os.environ["STENTOR"], args=words, env=dict(os.environ))
    async with stdio_client(server) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()
            assert len((await session.list_tools()).tools) == 6
            done = data(await session.call_tool("prompt", {"prompt": "go"}))
            listed = data(await session.call_tool("sessions", {"limit": 1}))
            print(done["status"], done["text"].strip(), len(listed["sessions"]))


asyncio.run(main())
