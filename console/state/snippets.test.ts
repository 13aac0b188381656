// Code snippets are valid in their language and send the intended request.
import { expect, test } from "bun:test";
import { SNIPPETS, type SnippetSource } from "./snippets.ts";

const CALL = {
  method: "POST",
  path: "/v1/chat/completions",
  headers: { "Content-Type": "application/json", "X-GW-API-Key": "gw_x", "X-Team": "it's" },
  body: {
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: `it's "quoted" $HOME \\ ü\n` },
    ],
    temperature: 0.5,
    stream: true,
    stream_options: { include_usage: true },
  },
};
const SOURCE: SnippetSource = { address: "http://h:8081", rulePath: "/v1/*", model: "m-1", call: CALL };

const render = (name: string, source = SOURCE) => SNIPPETS[name]?.(source) ?? "";

test("curl: a shell parses the intended arguments, and the key is not in the code", () => {
  const code = render("curl");
  expect(code).not.toContain("gw_x");
  const script = `GATEHOUSE_KEY=gw_env\ncurl() { printf '%s\\n' "$@"; }\n${code}`;
  const { stdout } = Bun.spawnSync(["sh", "-c", script]);
  const args = stdout.toString().trimEnd().split("\n");
  expect(args.slice(0, 4)).toEqual(["-sSN", "-X", "POST", "http://h:8081/v1/chat/completions"]);
  expect(args).toContain("X-GW-API-Key: gw_env");
  expect(args).toContain("X-Team: it's");
  expect(JSON.parse(args.at(-1) ?? "")).toEqual(CALL.body);
});

test.each(["OpenAI SDK, TypeScript", "Anthropic SDK, TypeScript"])("%s: the code parses", (name) => {
  const code = render(name);
  expect(() => new Bun.Transpiler({ loader: "ts" }).scan(code)).not.toThrow();
  expect(code).toContain(name.startsWith("OpenAI") ? '"http://h:8081/v1"' : '"http://h:8081"');
  expect(code).toContain('defaultHeaders: {"X-Team":"it\'s"}');
  expect(code).not.toContain("gw_x");
});

test("Python: literals are Python's", () => {
  const code = render("OpenAI SDK, Python");
  expect(code).toContain('    model="m-1",');
  expect(code).toContain("    stream=True,");
  expect(code).not.toContain("stream_options");
  const anthropic = render("Anthropic SDK, Python");
  expect(anthropic).toContain('    system="Be brief.",');
  expect(anthropic).toContain("    max_tokens=1024,");
  expect(anthropic).not.toContain('"role": "system"');
});

test("a rule that does not serve the path of a client is reported", () => {
  const source = { ...SOURCE, rulePath: "/team/chat", call: { ...CALL, path: "/team/chat" } };
  for (const name of Object.keys(SNIPPETS).filter((each) => each !== "curl"))
    expect(render(name, source)).toContain("The rule /team/chat does not serve it.");
});

test("coding agents get the address of the rule", () => {
  const source = { ...SOURCE, rulePath: "/acme/v1/*", call: { ...CALL, path: "/acme/v1/chat/completions" } };
  expect(render("Codex", source)).toContain('base_url = "http://h:8081/acme/v1"');
  expect(render("Claude Code", source)).toContain('"ANTHROPIC_BASE_URL": "http://h:8081/acme"');
});
