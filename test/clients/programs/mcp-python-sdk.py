# The official Python SDK of MCP: lists and calls the tools of all servers. MCP_VERSION is the protocol version, or "legacy" for a session.
import asyncio
import json
import os

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError


async def main() -> None:
    headers = {"Authorization": f"Bearer {os.environ['GATEHOUSE_KEY']}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http_client:
        transport = streamable_http_client(os.environ["GATEHOUSE_URL"], http_client=http_client)
        async with Client(transport, mode=os.environ["MCP_VERSION"]) as client:
            print(json.dumps({**await use_servers(client), "version": client.protocol_version}))


async def use_servers(client: Client) -> dict:
    names = [tool.name for tool in (await client.list_tools()).tools]
    prefixes = list(dict.fromkeys(name.split("__")[0] for name in names))
    sums, progress = {}, {}
    for prefix in prefixes:
        sums[prefix] = (await client.call_tool(f"{prefix}__add", {"a": 2, "b": 3})).structured_content["sum"]

        async def on_progress(value, _total, _message, prefix=prefix):
            progress[prefix] = value

        slow = await client.call_tool(f"{prefix}__slow", {"ms": 1}, progress_callback=on_progress)
        assert slow.content[0].text == "done after 1 ms", slow
    failed = await client.call_tool(f"{prefixes[0]}__fail", {})
    try:
        unknown = await client.call_tool(f"{prefixes[0]}__nothing", {})
    except MCPError as error:
        unknown = error.code
    prompts = (await client.list_prompts()).prompts
    prompt = await client.get_prompt(prompts[0].name)
    resources = (await client.list_resources()).resources
    texts = [(await client.read_resource(each.uri)).contents[0].text for each in resources]
    return {
        "tools": names,
        "sums": sums,
        "progress": progress,
        "failed": failed.is_error,
        "unknown": unknown,
        "prompts": [each.name for each in prompts],
        "prompt": prompt.messages[0].content.text,
        "resources": [each.uri for each in resources],
        "texts": texts,
    }


asyncio.run(main())
