// A copy of an exchange for a plugin in shadow mode shares nothing that the plugin can change.
import { expect, test } from "bun:test";
import { systemClock } from "../../base/clock.ts";
import { HeaderFields } from "../../http/header-fields.ts";
import type { ClientRequest } from "../../http/server/client-request.ts";
import { EMPTY_SNAPSHOT } from "../../snapshot/snapshot.ts";
import { Exchange } from "../exchange.ts";
import { McpRequest } from "../mcp/mcp-request.ts";
import { RequestBody } from "../request-body.ts";
import { copyBody, copyExchange } from "./shadow-copy.ts";

const REQUEST: ClientRequest = {
  method: "POST",
  target: "/v1/chat?a=b",
  headers: new HeaderFields(),
  peerAddress: "127.0.0.1",
  isDisconnected: false,
  disconnectListener: null,
  readBody: () => null,
};

function exchangeWithBody(): Exchange {
  const exchange = new Exchange(REQUEST, EMPTY_SNAPSHOT, "id", systemClock);
  // A Buffer, as the listener reads it: slice() of it is a view.
  const bytes = Buffer.from('{"model":"m","messages":[{"role":"user"}]}');
  exchange.setBody(RequestBody.scan({ bytes, isJson: true, contentType: null, isTraced: false }));
  exchange.sentHeaders = { "x-a": "1" };
  exchange.setResponseHeader("x-set", "before");
  return exchange;
}

function responseHeadersOf(exchange: Exchange): [string, string][] {
  const headers = new HeaderFields();
  exchange.addResponseHeaders(headers);
  return [...headers.entries()];
}

test("changes of a copy do not change the original", () => {
  const original = exchangeWithBody();
  const before = JSON.stringify(original.body?.json);
  const copy = copyExchange(original);
  copy.body = original.body && copyBody(original.body, false);
  expect(copy.body?.json).toEqual(original.body?.json ?? {});
  (copy.body?.json?.["messages"] as unknown[]).length = 0;
  copy.body?.bytes.fill(32);
  (copy.sentHeaders ?? {})["x-a"] = "changed";
  copy.sentPath = "/elsewhere";
  copy.setResponseHeader("x-set", "after");
  expect(JSON.stringify(original.body?.json)).toBe(before);
  // Not `text`, which the original has decoded before.
  expect(Buffer.from(original.body?.bytes ?? []).toString()).toBe(before);
  expect(original.sentHeaders).toEqual({ "x-a": "1" });
  expect(original.sentPath).toBe("/v1/chat");
  expect(responseHeadersOf(original)).toEqual([["x-set", "before"]]);
  expect(responseHeadersOf(copy)).toEqual([["x-set", "after"]]);
});

test("changed arguments of a tool in a copy do not change the original", () => {
  const original = exchangeWithBody();
  const tool = { name: "read", arguments: { path: "/a" } };
  original.mcp = new McpRequest(false);
  original.mcp.content = { messages: [], isBatch: false, generation: "session", session: null, tool };
  const { mcp } = copyExchange(original);
  expect(mcp?.content?.tool).toEqual(tool);
  Object.assign(mcp?.content?.tool?.arguments ?? {}, { path: "/b" });
  expect(mcp?.content?.tool?.arguments).toEqual({ path: "/b" });
  expect(tool.arguments).toEqual({ path: "/a" });
});

test("later changes of the original do not change a copy, and notes are shared by key", () => {
  const original = exchangeWithBody();
  const copy = copyExchange(original);
  original.sentHeaders = { "x-a": "changed" };
  original.setResponseHeader("x-later", "1");
  original.releaseBody();
  expect(copy.sentHeaders).toEqual({ "x-a": "1" });
  expect(responseHeadersOf(copy)).toEqual([["x-set", "before"]]);
  expect(copy.body?.fields.model).toBe("m");
  copy.notesOf("p@shadow/0").set("a", 1);
  expect(copyExchange(original).notesOf("p@shadow/0").get("a")).toBe(1);
  expect(original.notesOf("p/0").size).toBe(0);
});
