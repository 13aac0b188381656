// Code snippets are valid in their language and send the intended request.
import { expect, test } from "bun:test";
import type { ChatCall } from "./chat.ts";
import { snippet } from "./snippets.ts";

const CALL: ChatCall = {
  method: "POST",
  path: "/v1/chat",
  headers: { "Content-Type": "application/json", "X-GW-API-Key": "gw_x" },
  body: { stream: true, messages: [{ role: "user", content: `it's "quoted" $HOME \\ ü\n` }] },
};

test("curl: a shell parses the intended arguments", () => {
  const script = `curl() { printf '%s\\n' "$@"; }\n${snippet("curl", "http://h", CALL)}`;
  const { stdout } = Bun.spawnSync(["sh", "-c", script]);
  const args = stdout.toString().trimEnd().split("\n");
  expect(args.slice(0, 4)).toEqual(["-sSN", "-X", "POST", "http://h/v1/chat"]);
  expect(args).toContain("X-GW-API-Key: gw_x");
  expect(JSON.parse(args.at(-1) ?? "")).toEqual(CALL.body);
});

test("TypeScript: the code parses and sends the body", () => {
  const code = snippet("TypeScript", "http://h", CALL);
  expect(() => new Bun.Transpiler({ loader: "ts" }).scan(code)).not.toThrow();
  const [, body = ""] = /body: JSON\.stringify\(([\s\S]*?)\),\n\}\);/.exec(code) ?? [];
  expect(JSON.parse(body)).toEqual(CALL.body);
});

test("Python: the body is one string literal", () => {
  const [, literal = ""] = /data=(".*")\.encode\(\)/.exec(snippet("Python", "http://h", CALL)) ?? [];
  expect(JSON.parse(JSON.parse(literal) as string)).toEqual(CALL.body);
});
