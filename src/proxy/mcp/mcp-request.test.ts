// Tests of the copy of a request that plugins in shadow mode get.
import { expect, test } from "bun:test";
import { RawJson } from "../../base/raw-json.ts";
import { LargeToolCall, McpRequest } from "./mcp-request.ts";

test("plugins in shadow mode get the arguments of a large call", () => {
  const request = new McpRequest(false);
  const tool = new LargeToolCall("run", new RawJson(Buffer.from('{"path":"/etc"}')));
  request.content = { messages: [], isBatch: false, generation: "stateless", session: null, tool };
  const copied = request.copy().content?.tool;
  expect(copied?.name).toBe("run");
  expect(copied?.arguments).toEqual({ path: "/etc" });
  expect(copied?.arguments).not.toBe(tool.arguments);
});
