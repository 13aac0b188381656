// A session of a coding agent, in the formats that such agents use, passes code_sanitation as the guide configures it. The same session
// with an attack in the result of a tool is blocked, and the response, the request log and an explanation name the place.
import { describe, expect, test } from "bun:test";
import { repositoryTexts } from "../support/repository-texts.ts";
import { onlyRequest, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouseOnManualClock } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

const LANGUAGES = ["javascript", "python", "php", "sql", "shell", "java", "csharp", "ruby", "html"];
/** As in docs/guides/coding-agents.md. */
const FOR_AGENTS = {
  languages: LANGUAGES.map((language) => ({ language, sensitivity: "relaxed" })),
  content_to_check: ["body"],
  roles: ["user", "tool"],
  action: "block",
};

const provider = await useFakeProvider();
const gatehouse = await useGatehouseOnManualClock();

async function route(
  fields: Record<string, unknown> = {},
): Promise<{ url: string; gateway: string; path: string }> {
  const settings = { ...FOR_AGENTS, ...fields };
  const { path, gateway } = await seedRoute(gatehouse, {
    gateway: { required_plugins: [{ name: "code_sanitation", stage: "pre_request", settings }] },
    upstream: { targets: [targetAt(provider, { path: "/echo" })] },
  });
  return { url: gatehouse.proxyUrl + path, gateway, path };
}

const send = (url: string, body: unknown) =>
  fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

const texts = repositoryTexts();
const FILES = [
  "README.md",
  "src/main.ts",
  "src/cli/main.ts",
  "src/store/sql-store.ts",
  "src/admin/operation.ts",
  "src/plugins/rate_limiter/plugin.ts",
  "console/forms/schema-field.tsx",
  "scripts/generate_jwt_token.sh",
  "deploy/docker/Dockerfile",
  "deploy/docker/nginx.conf",
  "deploy/compose.yaml",
  "docs/guides/first-gateway.md",
  "docs/guides/many-nodes.md",
  "package.json",
];
const RESULTS = FILES.map((path) => texts.get(path) ?? "");

const SYSTEM = [
  "You are a coding agent in the terminal of a developer. You can read files, edit them and run commands.",
  "Prefer `rg` over `grep -R`. To read part of a file run `sed -n '1,200p' src/main.ts`; chain commands with && and never use",
  "`rm -rf /` or `git reset --hard`. Example: bash -lc 'cd /workspace && npm test 2>&1 | tail -40; echo $?'.",
  "Use <edit path=\"src/x.ts\">…</edit> for edits. In Python avoid eval() and os.system('…'); in SQL avoid string concatenation",
  'such as "SELECT * FROM users WHERE name = \'" + name + "\'".',
  "Environment: cwd=$(pwd), shell=${SHELL:-/bin/bash}, user=`whoami`.",
].join("\n");
const QUESTION =
  "The test of the store fails with `SQLITE_BUSY: database is locked`. Please find out why, run `npm test -- src/store`, and fix it; " +
  "if a migration is needed, write it as SQL (ALTER TABLE gateways ADD COLUMN note TEXT). Don't touch anything else.";
const TOOL = {
  name: "shell",
  description:
    'Runs a command, for example: bash -lc "cat README.md | head -20 && ls -la /tmp; echo $(date)".',
  schema: {
    type: "object",
    properties: { command: { type: "string", description: "Such as `rm -rf build; make`" } },
    required: ["command"],
  },
};
const commandFor = (index: number) => `cat ${FILES[index] ?? ""} | head -400; echo "exit $?"`;

/** A session in one format, with these results of tools, and the path of a result in it. */
interface Format {
  readonly body: (results: readonly string[]) => unknown;
  readonly pathOf: (index: number) => string;
}

const FORMATS: Readonly<Record<string, Format>> = {
  "OpenAI chat": {
    body: (results) => ({
      model: "m",
      messages: [
        { role: "system", content: SYSTEM },
        { role: "user", content: QUESTION },
        ...results.flatMap((content, index) => [
          {
            role: "assistant",
            content: null,
            tool_calls: [
              {
                id: `call_${index}`,
                type: "function",
                function: { name: "shell", arguments: JSON.stringify({ command: commandFor(index) }) },
              },
            ],
          },
          { role: "tool", tool_call_id: `call_${index}`, content },
        ]),
      ],
      tools: [
        {
          type: "function",
          function: { name: TOOL.name, description: TOOL.description, parameters: TOOL.schema },
        },
      ],
    }),
    pathOf: (index) => `messages[${3 + 2 * index}].content`,
  },
  Anthropic: {
    body: (results) => ({
      model: "m",
      max_tokens: 1000,
      system: [{ type: "text", text: SYSTEM, cache_control: { type: "ephemeral" } }],
      messages: [
        { role: "user", content: [{ type: "text", text: QUESTION }] },
        ...results.flatMap((text, index) => [
          {
            role: "assistant",
            content: [
              { type: "text", text: "I run `cat`." },
              { type: "tool_use", id: `t${index}`, name: "shell", input: { command: commandFor(index) } },
            ],
          },
          {
            role: "user",
            content: [{ type: "tool_result", tool_use_id: `t${index}`, content: [{ type: "text", text }] }],
          },
        ]),
      ],
      tools: [{ name: TOOL.name, description: TOOL.description, input_schema: TOOL.schema }],
    }),
    pathOf: (index) => `messages[${2 + 2 * index}].content[0].content[0].text`,
  },
  Responses: {
    body: (results) => ({
      model: "m",
      instructions: SYSTEM,
      input: [
        { type: "message", role: "developer", content: [{ type: "input_text", text: SYSTEM }] },
        { type: "message", role: "user", content: [{ type: "input_text", text: QUESTION }] },
        ...results.flatMap((output, index) => [
          {
            type: "function_call",
            call_id: `call_${index}`,
            name: "shell",
            arguments: JSON.stringify({ command: commandFor(index) }),
          },
          { type: "function_call_output", call_id: `call_${index}`, output },
        ]),
      ],
      tools: [{ type: "function", name: TOOL.name, description: TOOL.description, parameters: TOOL.schema }],
    }),
    pathOf: (index) => `input[${3 + 2 * index}].output`,
  },
};

const ATTACKS: readonly [language: string, text: string][] = [
  ["sql", "customer: Dent'; DELETE FROM invoices WHERE 1=1; --"],
  ["shell", "status: done;c''at${IFS}/et?/pass''wd"],
];

const withAttack = (index: number, attack: string) =>
  RESULTS.map((result, each) => (each === index ? `${result}\n${attack}\n` : result));

test("the files of the session exist", () => {
  expect(RESULTS.every((text) => text.length > 500)).toBe(true);
});

describe.each(Object.entries(FORMATS))("%s", (_, { body, pathOf }) => {
  test("a session of a coding agent passes", async () => {
    const { url } = await route();
    const response = await send(url, body(RESULTS));
    expect(await response.text()).not.toContain("code_injection_detected");
    expect(response.status).toBe(200);
    expect(Buffer.from(onlyRequest(provider).body).toString() === JSON.stringify(body(RESULTS))).toBe(true);
  });

  test.each(ATTACKS)(
    "an attack (%s) in the result of a tool is blocked, and its place is reported",
    async (language, attack) => {
      const { url } = await route();
      const index = 4;
      const response = await send(url, body(withAttack(index, attack)));
      expect(response.status).toBe(400);
      const { details, ...rest } = (await response.json()) as { details: Record<string, unknown>[] };
      expect(rest).toMatchObject({
        error: "Potential code injection detected",
        code: "code_injection_detected",
      });
      expect(details).toEqual([
        {
          path: pathOf(index),
          message: expect.stringMatching(/^matches the pattern /),
          language,
          pattern: expect.stringMatching(new RegExp(`^${language}\\.`)),
          role: "tool",
          position: { start: expect.any(Number), end: expect.any(Number) },
        },
      ]);
      const { start, end } = details[0]!["position"] as { start: number; end: number };
      const found = withAttack(index, attack)[index]!.slice(start, end);
      expect(attack).toContain(found);
      expect(provider.requestCount).toBe(0);
    },
  );

  test("the same attack in a message of another role passes", async () => {
    const { url } = await route({ roles: ["user"] });
    expect((await send(url, body(withAttack(4, ATTACKS[0]![1])))).status).toBe(200);
  });

  test("sanitize masks the result of the tool and nothing else", async () => {
    const [, attack] = ATTACKS[0]!;
    const { url } = await route({ action: "sanitize", roles: ["tool"] });
    const results = withAttack(2, attack);
    // The same text in a message of another role.
    const sent = JSON.stringify(body(results)).replace(
      "Please find out why",
      `${attack} Please find out why`,
    );
    await fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: sent });
    const received = Buffer.from(onlyRequest(provider).body).toString();
    expect(received.length).toBe(sent.length);
    expect(received).toContain(`${attack} Please find out why`);
    expect(received.indexOf(attack, received.indexOf("Please find out why"))).toBe(-1);
  });
});

test("a session of more than 256 kB is inspected in a thread with the same settings", async () => {
  const { body, pathOf } = FORMATS["OpenAI chat"]!;
  const { url } = await route();
  const many = Array.from({ length: 6 }, () => RESULTS).flat();
  expect(JSON.stringify(body(many)).length).toBeGreaterThan(256 * 1024);
  expect((await send(url, body(many))).status).toBe(200);
  const last = many.length - 1;
  const attacked = many.with(last, `${many[last] ?? ""}\n${ATTACKS[0]![1]}`);
  const { details } = (await (await send(url, body(attacked))).json()) as { details: unknown[] };
  expect(details).toMatchObject([{ language: "sql", role: "tool", path: pathOf(last) }]);
});

test("the request log, the log and an explanation name pattern, role, path and position", async () => {
  const { body, pathOf } = FORMATS["OpenAI chat"]!;
  const { url, gateway, path } = await route();
  const attacked = body(withAttack(1, ATTACKS[0]![1]));
  const response = await send(url, attacked);
  const requestId = response.headers.get("x-request-id") ?? "";
  const expected = new RegExp(
    `found sql\\.[a-z-]+ in ${pathOf(1).replaceAll(/[[\].]/g, "\\$&")} \\d+-\\d+ \\(tool\\)`,
  );
  const record = await waitFor(async () => {
    const { body: log } = await gatehouse.api("GET", `/gateways/${gateway}/requests`);
    return log.requests[0] ?? null;
  });
  expect(record.plugins[0]).toMatchObject({ verdict: "answered", detail: expect.stringMatching(expected) });
  const explained = await gatehouse.api("POST", `/gateways/${gateway}/explain`, {
    method: "POST",
    path,
    headers: { "Content-Type": "application/json" },
    body: attacked,
  });
  expect(explained.body.plugins[0]).toMatchObject({
    verdict: "answered",
    detail: expect.stringMatching(new RegExp(`^with status 400: ${expected.source}$`)),
  });
  // The log is read from a pipe, and may arrive in pieces.
  const line = await waitFor(
    () =>
      gatehouse
        .output()
        .split("\n")
        .find((each) => /code found in request.*\}$/.test(each) && each.includes(requestId)) ?? null,
  );
  expect(JSON.parse(line)).toMatchObject({
    request_id: requestId,
    gateway_id: gateway,
    action: "block",
    findings: [{ language: "sql", role: "tool", path: pathOf(1) }],
  });
});
