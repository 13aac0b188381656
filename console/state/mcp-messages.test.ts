// Messages of MCP: header values, which must be plain ASCII, and what responses say.
import { expect, test } from "bun:test";
import { headerText, readMessage } from "./mcp-messages.ts";

test.each([
  ["tickets__search", "tickets__search"],
  ["two words", "two words"],
  ["größe", "=?base64?Z3LDtsOfZQ==?="],
  [" space", "=?base64?IHNwYWNl?="],
  ["", "=?base64??="],
  ["=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="],
])("%j is sent as %j", (text, expected) => {
  expect(headerText(text)).toBe(expected);
});

test.each([
  [
    { jsonrpc: "2.0", id: 1, result: { content: [] } },
    { result: { content: [] }, error: null },
  ],
  [{ jsonrpc: "2.0", id: 1, error: { code: -32602, message: "Unknown tool" } }, { error: "Unknown tool" }],
  [{ error: "The API key is not valid.", code: "invalid_api_key" }, { error: "The API key is not valid." }],
  [{ method: "notifications/progress", params: { progress: 1, total: 2 } }, { progress: "1 of 2" }],
  [{ method: "notifications/progress", params: { progress: 3, message: "rows" } }, { progress: "3: rows" }],
  [{ method: "notifications/message", params: {} }, {}],
  [["a list"], {}],
  [null, {}],
])("%j is read", (message, expected) => {
  expect(readMessage(message)).toEqual(expected as never);
});
