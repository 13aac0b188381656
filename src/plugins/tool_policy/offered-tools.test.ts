// The work of reading the tools that a request offers grows with its size, and no faster.
import { test } from "bun:test";
import { expectLinear } from "../../../test/support/counted-work.ts";
import { OfferedTools } from "./offered-tools.ts";
import { Policy } from "./policy.ts";

const policy = new Policy({
  rules: [{ tool: "x", source: "offered", when: { required: ["schema"] }, action: "deny" }],
  default: "allow",
});
const list = (count: number, item: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => item(at)).join(",");

test.each<[string, (count: number) => string]>([
  ["tools", (count) => list(count, (at) => `{"type":"function","function":{"name":"${at}"}}`)],
  ["names of a tool", (count) => `{"type":"function",${list(count, (at) => `"name":"${at}"`)}}`],
  ["fields of a tool", (count) => `{${list(count, (at) => `"f${at}":{}`)}}`],
  ["lists of a namespace", (count) => `{"type":"namespace",${list(count, () => '"tools":[]')}}`],
  ["types of a tool", (count) => `{${list(count, (at) => `"type":"${at}"`)}}`],
])("many %s", (_, toolsOf) => {
  expectLinear(
    (count) => `{"tools":[${toolsOf(count)}]}`,
    (json) => new OfferedTools(json, policy).read(),
  );
});
