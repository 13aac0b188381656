import { expect, test } from "bun:test";
import { fromRawItems, RawItem } from "./list-items.ts";
import { splitItems } from "./split-items.ts";

/** Returns the hash of a tool, and its JSON as clients get it. */
function read(tool: string): { readonly hash: string | undefined; readonly delivered: string | undefined } {
  const { items, hashes } = fromRawItems(splitItems(Buffer.from(`[${tool}]`), "tools/list"));
  const [item] = items;
  const [hash] = hashes;
  return { hash, delivered: item instanceof RawItem ? item.named("name", "run", null).text : undefined };
}

test.each([
  ["equal keys", '{"type":"object","x":1,"x":2}', '{"type":"object","x":3,"x":2}'],
  ["equal keys at a deeper level", '{"a":{"b":{"c":"evil","c":""}}}', '{"a":{"b":{"c":"good","c":""}}}'],
  ["digits that are rounded", '{"maximum":9007199254740993}', '{"maximum":9007199254740992}'],
])("tools of a large page with the same hash are delivered with the same text: %s", (_, left, right) => {
  const [one, other] = [left, right].map((schema) => read(`{"name":"run","inputSchema":${schema}}`));
  expect(one?.delivered).toStartWith('{"name":"run","inputSchema":{');
  expect(one?.hash === other?.hash).toBe(one?.delivered === other?.delivered);
});

test("another value of a member is another hash", () => {
  const tool = (value: string) => `{"name":"run","description":"a","inputSchema":{"x":"${value}"}}`;
  expect(read(tool("1")).hash).not.toBe(read(tool("2")).hash);
  expect(read(tool("1")).delivered).toBe('{"name":"run","description":"a","inputSchema":{"x":"1"}}');
});
