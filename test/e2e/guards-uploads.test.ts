// Guards beside uploads and batches: text that a plugin cannot inspect is refused unless the rule lets it pass.
import { describe, expect, test } from "bun:test";
import { pluginsDirectory, type Fields } from "../support/plugin-fixtures.ts";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const TEXT_PLUGIN = `
  import { definePlugin, z } from "gatehouse/sdk";
  export default definePlugin({
    name: "custom_guard", description: "Reads texts.", stages: ["pre_response"], settings: z.strictObject({}),
    needs: ["text"], create: () => ({ response_text() {} }),
  });`;

const [gatehouse, provider] = await Promise.all([
  useGatehouse({ env: { PLUGINS_DIR: pluginsDirectory({ "custom-guard.ts": TEXT_PLUGIN }) } }),
  useFakeProvider(),
]);

const PII = { name: "pii_mask", stage: "pre_request", settings: { action: "block" } };
const TOOLS = {
  name: "tool_policy",
  stage: "pre_request",
  settings: { rules: [{ tool: "search", source: "offered", action: "deny" }] },
};
const PROMPTS = { name: "prompt_guard", stage: "pre_request", mode: "enforce", settings: {} };
const CUSTOM = { name: "custom_guard", stage: "pre_response", settings: {} };
const SANITATION = {
  name: "code_sanitation",
  stage: "pre_request",
  settings: { languages: [{ language: "sql" }], content_to_check: ["body"], action: "block" },
};

const MESSAGES = [{ role: "user", content: "Write to ada@example.com." }];
const LINE = {
  custom_id: "1",
  method: "POST",
  url: "/v1/chat/completions",
  body: { model: "m", messages: MESSAGES },
};
const LINES = `${JSON.stringify(LINE)}\n`;
const UTF16 = Buffer.from(`\ufeff${LINES}`, "utf16le");
const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
const PDF = Buffer.from("%PDF-1.7\n1 0 obj");

let count = 0;

async function seed(plugin: Fields, rule: Fields = {}) {
  const prefix = `/guarded${++count}`;
  const route = await seedRoute(gatehouse, {
    gateway: { required_plugins: [plugin] },
    upstream: { targets: [{ ...targetAt(provider), path: "/received" }] },
    rule: { path: `${prefix}/*`, operations: ["files", "batches", "other"], ...rule },
  });
  return { ...route, prefix };
}

type Route = Awaited<ReturnType<typeof seed>>;

interface Upload {
  readonly content?: string | Uint8Array<ArrayBuffer>;
  readonly type?: string;
  readonly name?: string;
  readonly purpose?: string;
  readonly path?: string;
}

/** Resolves to the code of the error, or null if the provider got the file. */
async function upload({ prefix }: Route, sent: Upload = {}): Promise<string | null> {
  const { content = LINES, type = "application/octet-stream", name = "input.jsonl" } = sent;
  const form = new FormData();
  form.append("purpose", sent.purpose ?? "batch");
  form.append("file", new File([content], name, { type }));
  return post(prefix + (sent.path ?? "/v1/files"), form);
}

async function post(
  path: string,
  body: FormData | string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
) {
  const before = provider.requests.length;
  const response = await fetch(gatehouse.proxyUrl + path, { method: "POST", body, headers });
  const answer = await response.text();
  if (provider.requests.length > before) return null;
  const { code, error } = JSON.parse(answer);
  if (code === "guard_not_applicable") {
    expect(response.status).toBe(403);
    return /\(transport (\w+)\)/.exec(error)?.[1] ?? error;
  }
  return code;
}

describe("text files are refused", () => {
  test.each([
    ["pii_mask", PII],
    ["tool_policy", TOOLS],
    ["prompt_guard", PROMPTS],
    ["custom_guard", CUSTOM],
  ])("beside %s", async (_name, plugin) => {
    const route = await seed(plugin);
    expect(await upload(route)).toBe("batches");
    expect(await upload(route, { purpose: "assistants" })).toBe("files");
  });

  test("by media type, by name, and by their first bytes, at every path", async () => {
    const route = await seed(PII);
    const file = (sent: Upload) => upload(route, { name: "data", purpose: "user_data", ...sent });
    const binary = Buffer.from("0001e4fffe02", "hex");
    for (const type of ["text/csv", "application/jsonl", "application/x-ndjson", "image/svg+xml"])
      expect(await file({ content: binary, type })).toBe("files");
    expect(await file({ content: binary, name: "data.jsonl" })).toBe("files");
    for (const type of ["application/octet-stream", "image/png", "audio/mpeg", "application/pdf"])
      for (const content of [LINES, UTF16, Buffer.from(`\n\n${LINES}`)])
        expect(await file({ content, type })).toBe("files");
    expect(await file({ path: "/v1/containers/c/files" })).toBe("files");
    expect(await post(`${route.prefix}/v1/files`, LINES, { "Content-Type": "application/jsonl" })).toBe(
      "files",
    );
  });

  test("if parsers may read the form differently", async () => {
    const both = await seed(PII, { unguarded: ["files"] });
    const path = `${both.prefix}/v1/files`;
    const form = (disposition: string) =>
      `--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nassistants\r\n--b\r\n` +
      `${disposition}\r\n\r\nbatch\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n${LINES}\r\n--b--\r\n`;
    const type = { "Content-Type": "multipart/form-data; boundary=b" };
    const twice = form('Content-Disposition: form-data; name="purpose"');
    expect(await post(path, twice, type)).toBe("batches");
    const encoded = form("Content-Disposition: form-data; name*=utf-8''purpose");
    expect(await post(path, encoded, type)).toBe("batches");
    expect(await post(path, twice, { "Content-Type": "multipart/form-data; boundary=b; boundary=c" })).toBe(
      "batches",
    );
    const plain = form('Content-Disposition: form-data; name="note"');
    expect(await post(path, plain, type)).toBeNull();
  });
});

describe("files pass", () => {
  test("that are images, audio or PDF", async () => {
    const route = await seed(PII);
    const purpose = "user_data";
    expect(await upload(route, { content: PNG, name: "a.png", type: "image/png", purpose })).toBeNull();
    expect(await upload(route, { content: PNG, name: "a", purpose })).toBeNull();
    expect(await upload(route, { content: PDF, name: "a.pdf", type: "application/pdf", purpose })).toBeNull();
  });

  test("if the rule lets their transport pass", async () => {
    const files = await seed(PII, { unguarded: ["files"] });
    expect(await upload(files, { purpose: "assistants" })).toBeNull();
    expect(await upload(files)).toBe("batches");
    const batches = await seed(PII, { unguarded: ["batches"] });
    expect(await upload(batches)).toBeNull();
    expect(await upload(batches, { purpose: "assistants" })).toBe("files");
  });

  test("beside plugins in shadow mode", async () => {
    expect(await upload(await seed({ ...PII, mode: "shadow" }))).toBeNull();
  });

  test("beside code_sanitation, which inspects text in UTF-8", async () => {
    const route = await seed(SANITATION);
    expect(await upload(route)).toBeNull();
    const attack = LINES.replace("Write to", "1 UNION SELECT password FROM users --");
    expect(await upload(route, { content: attack })).toBe("code_injection_detected");
    const withInvalidByte = Buffer.concat([Buffer.from(attack), Buffer.from([0xff, 0x0a])]);
    expect(await upload(route, { content: withInvalidByte })).toBe("batches");
  });
});

describe("batches that are created from JSON", () => {
  const body = JSON.stringify({
    requests: [{ custom_id: "1", params: { model: "m", messages: MESSAGES } }],
  });
  const type = { "Content-Type": "application/json" };
  const send = async (plugin: Fields, rule: Fields = {}) =>
    post(`${(await seed(plugin, rule)).prefix}/v1/messages/batches`, body, type);

  test("are inspected by plugins that see their texts", async () => {
    expect(await send(PII)).toBe("pii_detected");
    expect(await send(SANITATION)).toBeNull();
  });

  test("are refused beside other plugins", async () => {
    expect(await send(TOOLS)).toBe("batches");
    expect(await send(PROMPTS)).toBe("batches");
    // The results are in another response, which has no values to restore.
    expect(await send({ ...PII, settings: { action: "mask" } })).toBe("batches");
    expect(await send({ ...PII, settings: { action: "tag" } })).toBeNull();
    expect(await send({ ...PII, settings: { action: "block", roles: ["system"] } })).toBe("batches");
    expect(await send(TOOLS, { unguarded: ["batches"] })).toBeNull();
  });
});
