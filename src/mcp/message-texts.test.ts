// The texts that plugins see in messages of MCP servers.
import { expect, test } from "bun:test";
import { JsonDocument } from "../base/json-nodes.ts";
import type { McpReading, TextSink } from "../formats/text-channels.ts";
import { messageTexts } from "./message-texts.ts";

const CALL = { id: 1, method: "tools/call", item: "tool" };

function textsIn(message: string, requests: McpReading["requests"] = [CALL]): string[] {
  const body = JsonDocument.parse(Buffer.from(message));
  if (body === null) throw new Error("not JSON");
  const texts: string[] = [];
  const text: TextSink["text"] = (_, __, node) => void texts.push(body.source(node));
  const reader = messageTexts({ requests, guard: null });
  reader.readWhole(body, { text, open: () => undefined } as unknown as TextSink, true);
  return texts;
}

test.each([
  ["a block", `{"content":[{"type":"text","text":"a","text":"b"}]}`],
  ["a title", `{"content":[{"type":"resource_link","title":"a","title":"b"}]}`],
  ["a resource", `{"content":[{"resource":{"text":"a"},"resource":{"text":"b"}}]}`],
  ["the list of blocks", `{"content":[{"text":"a"}],"content":[{"text":"b"}]}`],
  ["a prompt", `{"messages":[{"content":{"text":"a"},"content":[{"text":"b"}]}]}`],
  ["contents", `{"contents":[{"text":"a","text":"b"}]}`],
])("both of two equal members of %s are seen", (_, result) => {
  expect(textsIn(`{"jsonrpc":"2.0","id":1,"result":${result}}`)).toEqual([`"a"`, `"b"`]);
});

test("structured content is seen as its JSON", () => {
  expect(textsIn(`{"result":{"structuredContent":{"a":1,"a":2}}}`)).toEqual([`{"a":1,"a":2}`]);
});

test.each([
  ["two requests", [CALL, { ...CALL, method: "tools/list" }]],
  ["none", [{ ...CALL, id: 2 }]],
])("a response with the id of %s is rejected", (_, requests) => {
  expect(() => textsIn(`{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`, requests)).toThrow("exactly one");
});

const OPAQUE_NAMES = ["cursor", "nextCursor", "requestState"];
const PLACES: [string, (member: string) => string][] = [
  ["a block", (member) => `"id":1,"result":{"content":[{"type":"text",${member}}]}`],
  ["a result", (member) => `"id":1,"result":{${member}}`],
  ["a prompt", (member) => `"id":1,"result":{"messages":[{${member}}]}`],
  ["an error", (member) => `"id":1,"error":{"code":1,${member}}`],
  ["a notification", (member) => `"method":"notifications/message","params":{${member}}`],
  ["a message", (member) => `"id":1,"result":{},${member}`],
];

test.each(PLACES)("names of cursors and states mean nothing in %s", (_, at) => {
  for (const name of OPAQUE_NAMES)
    expect(textsIn(`{"jsonrpc":"2.0",${at(`"${name}":"a"`)}}`)).toEqual([`"a"`]);
});

test.each([
  ["the cursor of a list", "tools/list", `"nextCursor":`],
  [
    "the state of a result that asks for input",
    "tools/call",
    `"resultType":"input_required","requestState":`,
  ],
])("%s is opaque unless it may be a sentence", (_, method, member) => {
  const read = (value: string) =>
    textsIn(`{"id":1,"result":{${member}"${value}"}}`, [{ ...CALL, method, item: null }]);
  expect(read("eyJhIjoxfQ==")).toEqual([]);
  expect(read("a b")).toEqual([`"a b"`]);
});
