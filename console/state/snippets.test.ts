// Snippets that can be pasted: the shell's and Python's own parsers read them as they were meant.
import { expect, test } from "bun:test";
import type { ChatCall } from "./chat.ts";
import { snippet } from "./snippets.ts";

const CALL: ChatCall = {
  method: "POST",
  path: "/v1/chat",
  headers: { "Content-Type": "application/json", "X-GW-API-Key": "gw_x" },
  body: { stream: true, messages: [{ role: "user", content: `it's "quoted" $HOME \\ ü\n` }] },
};

test("curl, as a shell reads it", () => {
  const script = `curl() { printf '%s\\n' "$@"; }\n${snippet("curl", "http://h", CALL)}`;
  const { stdout } = Bun.spawnSync(["sh", "-c", script]);
  const words = stdout.toString().trimEnd().split("\n");
  expect(words.slice(0, 4)).toEqual(["-sSN", "-X", "POST", "http://h/v1/chat"]);
  expect(words).toContain("X-GW-API-Key: gw_x");
  expect(JSON.parse(words.at(-1) ?? "")).toEqual(CALL.body);
});

test("TypeScript, as Bun reads it", async () => {
  const code = snippet("TypeScript", "http://h", CALL).split("const decoder")[0] ?? "";
  const plain = new Bun.Transpiler({ loader: "ts" }).transformSync(code);
  let sent: RequestInit = {};
  const run = new Function("fetch", `return (async () => { ${plain} })()`) as (
    fetch: unknown,
  ) => Promise<void>;
  await run((_: string, init: RequestInit) => (sent = init));
  expect(JSON.parse(String(sent.body))).toEqual(CALL.body);
});

test("Python gets the body as one text literal", () => {
  const [, literal = ""] = /data=(".*")\.encode\(\)/.exec(snippet("Python", "http://h", CALL)) ?? [];
  expect(JSON.parse(JSON.parse(literal) as string)).toEqual(CALL.body);
});
