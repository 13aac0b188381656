// Pretty log lines: one line per event, whatever values contain.
import { expect, test } from "bun:test";
import { createLog } from "./log.ts";

test("control characters of values and messages are escaped, so that no value forges a line", () => {
  const lines: string[] = [];
  const log = createLog({ level: "info", format: "pretty" }, { write: (line) => void lines.push(line) });
  log.info({ path: "/a\n12:00:00 ERROR forged", agent: "\u001b[2J\u009b1m\u2028" }, "request\r\nforged");
  expect(lines).toHaveLength(1);
  const [line = ""] = lines;
  expect(line.trimEnd()).not.toMatch(/[\r\n\u001b\u009b\u2028]/);
  expect(line).toContain("/a\\u000a12:00:00 ERROR forged");
});
