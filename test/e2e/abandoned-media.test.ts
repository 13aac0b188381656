// What requests for images, speech and transcriptions cost that are abandoned or cut: nobody knows that the provider did not produce what was
// asked for, and no text says how much that was. So they cost what was reserved, unless the response says otherwise.
import { describe, expect, test } from "bun:test";
import type { Behavior } from "../../src/fake-provider/server.ts";
import { create } from "../support/admin-fixtures.ts";
import { freePort } from "../support/free-port.ts";
import { startWithProviders } from "../support/gatehouse-in-process.ts";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { passTimeUntil, waitFor } from "../support/waiting.ts";

const {
  gatehouse,
  providers: [provider],
  clock,
} = await startWithProviders("provider");

const FIRST_BYTE_MS = 1000;
let routes = 0;

async function seed(target: Record<string, unknown> = targetAt(provider)) {
  const prefix = `/media${++routes}`;
  const { gateway } = await seedRoute(gatehouse, {
    gateway: { prices: [{ model: "*", input: "1", output: "10", per_request: "0.04" }] },
    upstream: {
      targets: [target],
      ...{ max_attempts: 1, health_checks: { passive: false }, timeouts: { first_byte: FIRST_BYTE_MS } },
    },
    rule: { path: `${prefix}/*`, methods: ["POST"], strip_path: true },
  });
  const budgets = `/gateways/${gateway}/budgets`;
  const tokens = await create(gatehouse, budgets, { name: "tokens", unit: "tokens", amount: 1_000_000 });
  const usd = await create(gatehouse, budgets, { name: "usd", unit: "usd", amount: "100" });
  const states = [tokens, usd].map(({ id }) => `${budgets}/${id as string}/state`);
  return { url: gatehouse.proxyUrl + prefix, states };
}

type Seeded = Awaited<ReturnType<typeof seed>>;

/** Resolves to the tokens and dollars that are reserved while the provider has the request. */
function reserved({ states }: Seeded): Promise<number[]> {
  return amounts(states, "reserved", (all) => all.every((amount) => amount > 0));
}

/** Resolves to the tokens and dollars that are spent when nothing is reserved. */
async function spent({ states }: Seeded): Promise<number[]> {
  await amounts(states, "reserved", (all) => all.every((amount) => amount === 0));
  return amounts(states, "spent", () => true);
}

function amounts(states: readonly string[], field: string, isWanted: (amounts: number[]) => boolean) {
  return waitFor(async () => {
    const bodies = await Promise.all(states.map(async (state) => (await gatehouse.api("GET", state)).body));
    const found = bodies.map((body) => Number(body[field]));
    return isWanted(found) ? found : null;
  });
}

function form(fields: Record<string, string>, file: string): FormData {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  body.set(file, new File([new Uint8Array(20_000)], "file.bin", { type: "application/octet-stream" }));
  return body;
}

const OPERATIONS: readonly (readonly [path: string, body: () => FormData | object])[] = [
  ["/v1/images/generations", () => ({ model: "m", prompt: "A house", n: 2 })],
  ["/v1/images/edits", () => form({ model: "m", prompt: "A house" }, "image")],
  ["/v1/audio/speech", () => ({ model: "m", input: "Good morning", voice: "x" })],
  ["/v1/audio/transcriptions", () => form({ model: "m" }, "file")],
];

function send({ url }: Seeded, path: string, body: FormData | object, signal?: AbortSignal) {
  const headers: Record<string, string> =
    body instanceof FormData ? {} : { "Content-Type": "application/json" };
  return fetch(url + path, {
    method: "POST",
    headers,
    body: body instanceof FormData ? body : JSON.stringify(body),
    ...(signal !== undefined && { signal }),
  }).then(
    async (response) => {
      await response.bytes().catch(() => undefined);
      return response.status;
    },
    () => 0,
  );
}

describe.each(OPERATIONS)("%s", (path, body) => {
  const started = async (route: Seeded, behavior: Behavior, signal?: AbortSignal) => {
    provider.behave(behavior);
    const sent = send(route, path, body(), signal);
    return { sent, reserved: await reserved(route) };
  };

  test("costs what was reserved if the client leaves", async () => {
    const route = await seed();
    const leaving = new AbortController();
    const { reserved: wanted } = await started(route, { delayMs: 60_000 }, leaving.signal);
    await waitFor(() => provider.requests.at(-1));
    leaving.abort();
    expect(await spent(route)).toEqual(wanted);
  });

  test("and if the provider does not respond in time", async () => {
    const route = await seed();
    const { sent, reserved: wanted } = await started(route, { delayMs: 60_000 });
    await waitFor(() => provider.requests.at(-1));
    expect(await passTimeUntil(clock, sent)).toBe(504);
    expect(await spent(route)).toEqual(wanted);
  });

  test("and if the connection breaks before the response, or within it", async () => {
    const [broken, cut] = [await seed(), await seed()];
    const failures: readonly (readonly [Seeded, Behavior])[] = [
      [broken, { closeBeforeAnswer: true }],
      [cut, { body: ["{", " ", "}"], cutAfterChunks: 1 }],
    ];
    for (const [route, failure] of failures) {
      const { sent, reserved: wanted } = await started(route, { delayMs: 100, ...failure });
      await passTimeUntil(clock, sent);
      expect(await spent(route)).toEqual(wanted);
    }
  });

  test("costs nothing if the provider has not received it, or rejects it", async () => {
    const unreachable = await seed({ provider: "openai", base_url: `http://127.0.0.1:${freePort()}` });
    expect(await send(unreachable, path, body())).toBe(502);
    expect(await spent(unreachable)).toEqual([0, 0]);
    const route = await seed();
    provider.behave({ status: 500 });
    expect(await send(route, path, body())).toBe(500);
    expect(await spent(route)).toEqual([0, 0]);
  });
});

const event = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`;
const IMAGE = event({ type: "image_generation.partial_image", partial_image_index: 0, b64_json: "aGVsbG8=" });
const USAGE = { input_tokens: 5, output_tokens: 7, total_tokens: 12 };

describe.each([
  ["/v1/images/generations", { model: "m", prompt: "A house", stream: true, partial_images: 2 }, IMAGE],
  [
    "/v1/audio/speech",
    { model: "m", input: "Good morning", voice: "x", stream_format: "sse" },
    event({ type: "speech.audio.delta", audio: "aGVsbG8=" }),
  ],
  [
    "/v1/audio/transcriptions",
    form({ model: "m", stream: "true" }, "file"),
    event({ type: "transcript.text.delta", delta: "Good morning" }),
  ],
])("a stream of %s", (path, body, first) => {
  const stream = (...events: string[]): Behavior => ({
    headers: [["Content-Type", "text/event-stream"]],
    body: events,
    delayMs: 100,
  });

  test("that is cut costs what was reserved", async () => {
    const route = await seed();
    provider.behave({ ...stream(first, first), cutAfterChunks: 1 });
    const sent = send(route, path, body);
    const wanted = await reserved(route);
    await passTimeUntil(clock, sent);
    expect(await spent(route)).toEqual(wanted);
  });

  test("that is complete costs what it reports", async () => {
    const route = await seed();
    provider.behave(stream(first, event({ type: "x.done", usage: USAGE })));
    await passTimeUntil(clock, send(route, path, body));
    expect((await spent(route))[0]).toBe(12);
  });
});

test("embeddings and moderations have no output, and cost their input", async () => {
  for (const [path, body] of [
    ["/v1/embeddings", { model: "m", input: "Good morning" }],
    ["/v1/moderations", { model: "m", input: "Good morning" }],
  ] as const) {
    const route = await seed();
    provider.behave({ closeBeforeAnswer: true });
    await send(route, path, body);
    const [tokens = 0] = await spent(route);
    expect(tokens).toBeWithin(1, 50);
  }
});
