// Texts over 256 kB and plugins that work on text: the work is done in worker threads, with the same results as for small texts.
import { expect, test } from "bun:test";
import { postChat, type Fields } from "../support/plugin-fixtures.ts";
import { readMetrics } from "../support/prometheus-text.ts";
import { seedRoute, targetAt, type SeededRoute } from "../support/proxy-fixtures.ts";
import { readWholeResponse, wholeResponse } from "../support/text-streams.ts";
import { useFakeProvider, useGatehouseOnManualClock } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

const [gatehouse, provider] = await Promise.all([useGatehouseOnManualClock(), useFakeProvider()]);

function seed(name: string, settings: Fields): Promise<SeededRoute> {
  return seedRoute(gatehouse, {
    gateway: { required_plugins: [{ name, stage: "pre_request", settings }] },
    upstream: { targets: [targetAt(provider)] },
  });
}

async function tasksCompleted(): Promise<number> {
  const page = readMetrics(await (await fetch(`${gatehouse.adminUrl}/metrics`)).text());
  return page.sum("gatehouse_off_loop_tasks_total", { result: "completed" });
}

/** Sends a request that the provider responds to with these texts. Resolves also to the number of tasks in worker threads. */
async function exchange(
  route: SeededRoute,
  prompt: string,
  texts: { content?: string; toolArguments?: string },
) {
  const body = wholeResponse("openai", { content: "c", reasoning: "r", toolArguments: "{}", ...texts });
  provider.behave({ headers: [["Content-Type", "application/json"]], body });
  const before = await tasksCompleted();
  const messages = [{ role: "user", content: prompt }];
  const response = await postChat(gatehouse, route, { body: { model: "m", messages } });
  return { response, text: await response.text(), tasks: (await tasksCompleted()) - before };
}

/** A failed comparison of long strings would print all of them. */
const contentIs = (body: string, expected: string) => readWholeResponse("openai", body).content === expected;

test("pii_mask restores a large text", async () => {
  const route = await seed("pii_mask", {});
  const { text, tasks } = await exchange(route, "write to a@b.cc", {
    content: "<EMAIL_1>, <EMAIL_2>\n".repeat(30_000),
  });
  expect(contentIs(text, "a@b.cc, <EMAIL_2>\n".repeat(30_000))).toBe(true);
  // The text is found, restored, and written.
  expect(tasks).toBe(3);
});

interface LoggedRequest {
  readonly request_id: string;
  readonly bodies: { readonly response: string };
  readonly tokens: unknown;
}

/** Resolves to null if the request is not in the log yet. */
async function recordOf(route: SeededRoute, { headers }: Response): Promise<LoggedRequest | null> {
  const { body } = await gatehouse.api("GET", `/gateways/${route.gateway}/requests`);
  const id = headers.get("x-request-id");
  return body.requests.find((record: { request_id: string }) => record.request_id === id) ?? null;
}

/** Bodies over 1 MiB are moved to threads: whatever else needs them must not lose them. */
test("a body that is moved to threads is complete in the response, the request log, the usage, and the cache", async () => {
  const route = await seedRoute(gatehouse, {
    gateway: {
      log_bodies: true,
      required_plugins: [
        { name: "pii_mask", stage: "pre_request", settings: {} },
        {
          name: "response_cache",
          stage: "pre_request",
          settings: { isolation: "gateway", max_entry_bytes: 4_000_000 },
        },
      ],
    },
    upstream: { targets: [targetAt(provider)] },
  });
  // Without a placeholder, the bytes that were moved are what is sent.
  for (const placeholder of ["<EMAIL_1>", "nothing"]) {
    const content = `${placeholder} and more\n`.repeat(150_000);
    const message = { role: "assistant", content };
    const usage = { prompt_tokens: 11, completion_tokens: 7 };
    const body = JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }], usage });
    provider.behave({ headers: [["Content-Type", "application/json"]], body });
    const messages = [{ role: "user", content: `a@b.cc ${placeholder.length}` }];
    const expected = content.replaceAll("<EMAIL_1>", "a@b.cc");
    const send = () => postChat(gatehouse, route, { body: { model: "m", messages } });
    const first = await send();
    expect(contentIs(await first.text(), expected)).toBe(true);
    const record = await waitFor(() => recordOf(route, first));
    expect(record.bodies.response).toContain(`${placeholder} and more`);
    expect(record.tokens).toMatchObject({ input: 11, output: 7 });
    const second = await send();
    expect(second.headers.get("cache-status")).toContain("hit");
    expect(contentIs(await second.text(), expected)).toBe(true);
  }
});

test("the usage of a body is read, whether it is just small enough to be copied to threads or is moved", async () => {
  const route = await seed("pii_mask", {});
  for (const bytes of [1_048_575, 1_048_576, 1_048_577]) {
    const bodyOf = (content: string) =>
      JSON.stringify({
        choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
        usage: { prompt_tokens: 11, completion_tokens: 7 },
      });
    const body = bodyOf("x".repeat(bytes - bodyOf("").length));
    provider.behave({ headers: [["Content-Type", "application/json"]], body });
    const messages = [{ role: "user", content: "a@b.cc" }];
    const response = await postChat(gatehouse, route, { body: { model: "m", messages } });
    expect((await response.bytes()).length).toBe(bytes);
    const record = await waitFor(() => recordOf(route, response));
    expect([bytes, record.tokens]).toMatchObject([bytes, { input: 11, output: 7 }]);
  }
});

test("pii_mask restores the values of a large request in a small text", async () => {
  const route = await seed("pii_mask", {});
  const prompt = Array.from({ length: 40_000 }, (_, index) => `u${index}@b.cc`).join(" ");
  const { text, tasks } = await exchange(route, `${prompt} <EMAIL_7>`, {
    content: "<EMAIL_1> <EMAIL_6> <EMAIL_7> <EMAIL_8> <EMAIL_40001> <EMAIL_40002> <EMAIL_01> <IP_1>",
  });
  expect(readWholeResponse("openai", text).content).toBe(
    "u0@b.cc u5@b.cc <EMAIL_7> u6@b.cc u39999@b.cc <EMAIL_40002> <EMAIL_01> <IP_1>",
  );
  expect(tasks).toBeGreaterThan(0);
});

test("code_sanitation masks code in a large text", async () => {
  const languages = [{ language: "javascript", enabled: true }];
  const route = await seed("code_sanitation", {
    languages,
    content_to_check: ["response"],
    action: "sanitize",
  });
  const prose = "The quick brown fox jumps over the lazy dog. ".repeat(8000);
  const { text, tasks } = await exchange(route, "p", { content: `${prose}<script>alert(1)</script>` });
  const { content } = readWholeResponse("openai", text);
  expect(content.startsWith(prose)).toBe(true);
  expect(content.slice(prose.length)).not.toContain("alert");
  expect(content).toHaveLength(prose.length + 25);
  expect(tasks).toBe(3);
});

test("tool_policy reads large arguments", async () => {
  const when = { type: "object", required: ["path"], properties: { path: { const: "/etc" } } };
  const route = await seed("tool_policy", { rules: [{ tool: "*", source: "called", action: "deny", when }] });
  const argumentsFor = (path: string) =>
    JSON.stringify({ list: Array.from({ length: 100_000 }, () => [1]), path });
  const denied = await exchange(route, "p", { toolArguments: argumentsFor("/etc") });
  expect([denied.response.status, denied.tasks]).toEqual([403, 2]);
  expect(JSON.parse(denied.text)).toMatchObject({ code: "tool_denied" });
  const allowed = await exchange(route, "p", { toolArguments: argumentsFor("/tmp") });
  expect([allowed.response.status, allowed.tasks]).toEqual([200, 2]);
  expect(readWholeResponse("openai", allowed.text).toolArguments === argumentsFor("/tmp")).toBe(true);
});

test("a response with too many texts is rejected", async () => {
  const route = await seed("pii_mask", {});
  const content = Array.from({ length: 70_000 }, () => ({ type: "text", text: "a" }));
  const message = { role: "assistant", content };
  provider.behave({
    headers: [["Content-Type", "application/json"]],
    body: JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }] }),
  });
  const response = await postChat(gatehouse, route);
  expect(response.status).toBe(502);
  expect(await response.json()).toMatchObject({ code: "upstream_bad_answer" });
});
