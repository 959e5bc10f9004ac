"""A real MCP server, made with the official Python SDK: one tool that gives back what it gets."""

import asyncio

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

ECHO = types.Tool(
    name="echo",
    description="Gives back what it gets",
    input_schema={
        "type": "object",
        "properties": {"message": {"type": "string"}},
        "required": ["message"],
    },
)


async def list_tools(_context, _params):
    return types.ListToolsResult(tools=[ECHO])


async def call_tool(_context, params):
    text = f"Echo: {params.arguments['message']}"
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def main():
    server = Server("real", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(main())
