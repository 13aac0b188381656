// Contents of files, results of batches and other bodies without a format beside guards of responses: text is inspected, line by line if
// the lines are JSON, unless the rule lets it pass.
import { afterEach, expect, test } from "bun:test";
import type { Fields } from "../support/plugin-fixtures.ts";
import { rawCall, seedRoute, targetAt, type RawResponse } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const [gatehouse, provider] = await Promise.all([useGatehouse(), useFakeProvider()]);
afterEach(() => provider.reset());

const CODE = "<script>alert(1)</script>";
const RESULTS = "/v1/messages/batches/b/results";
const CONTENT = "/v1/files/f/content";
const IMAGES = "/v1/images/generations";
const SPEECH = "/v1/audio/speech";
const JSONL = "application/x-jsonl";
const OCTETS = "application/octet-stream";

const sanitation = (action: string): Fields => ({
  name: "code_sanitation",
  stage: "pre_request",
  settings: { languages: [{ language: "html" }], content_to_check: ["response"], action },
});
const GUARDS = {
  code: sanitation("block"),
  mask: sanitation("sanitize"),
  policy: {
    name: "tool_policy",
    stage: "pre_request",
    settings: { rules: [{ tool: "shell", source: "called", action: "deny" }] },
  },
} as const;
type Guard = keyof typeof GUARDS;

const routes = new Map<string, Promise<{ path: string }>>();
/** Requests a path through a guard; the provider responds with this body. */
async function get(
  path: string,
  guard: Guard,
  body: string | Uint8Array,
  type: string,
  unguarded: readonly string[] = [],
): Promise<RawResponse> {
  const key = [path, guard, ...unguarded].join(" ");
  const route =
    routes.get(key) ??
    seedRoute(gatehouse, {
      gateway: { required_plugins: [GUARDS[guard]] },
      upstream: {
        targets: [
          targetAt(provider, { path, provider: path.startsWith("/v1/messages") ? "anthropic" : "openai" }),
        ],
      },
      rule: { methods: ["*"], unguarded },
    });
  routes.set(key, route);
  provider.behave({ status: 200, headers: [["Content-Type", type]], body });
  return rawCall(gatehouse.proxyUrl, { method: "GET", target: (await route).path });
}

const result = (...content: Fields[]) =>
  JSON.stringify({ custom_id: "a", result: { type: "succeeded", message: { role: "assistant", content } } });
const harmless = result({ type: "text", text: "Good morning" });
const escaped = result({ type: "text", text: CODE }).replaceAll("<", "\\u003c");
const called = result({ type: "tool_use", id: "t", name: "shell", input: { command: "rm -rf /" } });
const completion = JSON.stringify({
  custom_id: "a",
  response: {
    status_code: 200,
    body: {
      choices: [
        {
          message: {
            tool_calls: [{ id: "c", type: "function", function: { name: "shell", arguments: "{}" } }],
          },
        },
      ],
    },
  },
});

test.each<[string, string, Guard, string | Uint8Array, string, number]>([
  ["code in the results of a batch", RESULTS, "code", `${harmless}\n${escaped}\n`, JSONL, 400],
  ["a call in the results of a batch", RESULTS, "policy", `${harmless}\r\n\n${called}`, JSONL, 403],
  ["a call in the output of a batch", CONTENT, "policy", `${completion}\n${completion}\n`, OCTETS, 403],
  ["code in a text file", CONTENT, "code", `Look: ${CODE}`, OCTETS, 400],
  ["code in one JSON document", CONTENT, "code", escaped, OCTETS, 400],
  ["a text beside images", IMAGES, "code", `Look: ${CODE}`, "text/plain", 400],
  ["a text beside speech", SPEECH, "code", `Look: ${CODE}`, "text/html", 400],
  ["lines of which some are JSON", RESULTS, "policy", `${harmless}\n{no JSON\n`, JSONL, 403],
  ["a text in another encoding", CONTENT, "code", Buffer.from("\ufeffHello", "utf16le"), OCTETS, 403],
])("is rejected: %s", async (_, path, guard, sent, type, status) => {
  const response = await get(path, guard, sent, type);
  expect([response.status, response.body.equals(Buffer.from(sent))]).toEqual([status, false]);
});

test("the rejection of a file names the guard and the transport", async () => {
  const { body } = await get(RESULTS, "policy", `${harmless}\nHello\n`, JSONL);
  const text = body.toString();
  expect(text).toContain("tool_policy");
  expect(text).toContain("(transport batches)");
  expect(text).toContain("guard_not_applicable");
});

test("code in the results of a batch is masked where it is", async () => {
  const { body } = await get(RESULTS, "mask", `${harmless}\n${escaped}\r\n${harmless}\n`, JSONL);
  const [first, second = "", third] = body.toString().split(/\r?\n/);
  expect([first, third]).toEqual([harmless, harmless]);
  expect(JSON.stringify(JSON.parse(second))).not.toContain("script");
});

test.each<[string, string, string | Uint8Array, string, string[]]>([
  ["results of a batch", RESULTS, `${harmless}\n${harmless}\n`, JSONL, []],
  ["a text file", CONTENT, "Good morning\n{}\n", OCTETS, []],
  ["an archive", CONTENT, Buffer.from([0x50, 0x4b, 3, 4, 0, 255]), "application/zip", []],
  ["speech", SPEECH, Buffer.from([0x49, 0x44, 0x33, 4, 0, 0, 255]), "audio/mpeg", []],
  ["an image", IMAGES, Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]), "image/png", []],
  ["results that the rule lets pass", RESULTS, `${escaped}\n${called}\n`, JSONL, ["batches"]],
  ["a file that the rule lets pass", CONTENT, `Look: ${CODE}`, OCTETS, ["files"]],
])("passes unchanged: %s", async (_, path, sent, type, unguarded) => {
  for (const guard of ["code", "policy"] as const) {
    const { status, body } = await get(path, guard, sent, type, unguarded);
    expect([status, body.equals(Buffer.from(sent))]).toEqual([200, true]);
  }
});
