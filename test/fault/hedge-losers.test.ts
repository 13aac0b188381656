// The attempt of a hedged request that has lost is aborted within 250 ms, as its provider sees it: the time from the first content of the
// other provider to the end of the connection. Many requests at a time, with losers in every phase.
import { afterAll, expect, test } from "bun:test";
import { CHAT_REQUEST, seedUpstream } from "../support/balancing-fixtures.ts";
import { isLong, runs } from "../support/long-form.ts";
import { useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

const gatehouse = await useGatehouseProcess();

const AFTER_MS = 30;
const HEDGES = runs({ short: 40, long: 1000 });
/** The retry budget of an upstream allows ten hedges per second. */
const ROUTES = runs({ short: 8, long: 20 });
/** On a busy machine this process may see the end of a connection late. The long form runs where nothing else does. */
const MAX_MS = isLong ? 250 : Infinity;

const event = (delta: object) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
const QUIET = event({ role: "assistant", content: "" });
const CONTENT = `${event({ content: "text" })}data: [DONE]\n\n`;

/** Which target wins, after which time, and what the other one does: no headers, only headers, quiet events, or comments. */
interface Plan {
  readonly serial: string;
  readonly winner: string;
  readonly contentMs: number;
  readonly phase: number;
}

/** When the first content was sent, and when an attempt was aborted, by serial. */
const sentAt = new Map<string, number>();
const receivedBy = new Map<string, string[]>();
const abortedAt = new Map<string, number>();

function startProvider(name: string) {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      const plan = JSON.parse(request.headers.get("x-plan") ?? "{}") as Plan;
      const { serial, winner, contentMs, phase } = plan;
      receivedBy.set(serial, [...(receivedBy.get(serial) ?? []), name]);
      const aborted = Promise.withResolvers<undefined>();
      request.signal.addEventListener("abort", () => {
        if (winner !== name) abortedAt.set(serial, performance.now());
        aborted.resolve(undefined);
      });
      if (winner !== name && phase === 0) await aborted.promise;
      const start = async (controller: ReadableStreamDefaultController<string>) => {
        if (winner === name || phase > 1) controller.enqueue(QUIET);
        if (winner !== name) {
          const pings = phase === 3 ? setInterval(() => controller.enqueue(": ping\n\n"), 20) : undefined;
          await aborted.promise;
          clearInterval(pings);
          return;
        }
        setTimeout(() => {
          sentAt.set(serial, performance.now());
          controller.enqueue(CONTENT);
          controller.close();
        }, contentMs);
      };
      const body = new ReadableStream<string>({ start: (controller) => void start(controller) });
      return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
    },
  });
  afterAll(() => server.stop(true));
  return { provider: name, base_url: server.url.origin, path: "/v1/chat/completions" };
}

const [one, two] = [startProvider("one"), startProvider("two")];
const routes = await Promise.all(
  Array.from({ length: ROUTES }, () =>
    seedUpstream(gatehouse, [one, { ...two, priority: 2 }], { hedge: { after: AFTER_MS, budget: 1 } }),
  ),
);

/** Resolves to the milliseconds until the loser was aborted; null if the request was not hedged, because of the retry budget. */
async function measure(url: string, phase: number): Promise<number | null> {
  const winner = Math.random() < 0.7 ? "two" : "one";
  const serial = crypto.randomUUID();
  // The first target wins only if it has content after the second attempt was sent.
  const contentMs = Math.floor(Math.random() * 50) + (winner === "one" ? AFTER_MS + 20 : 0);
  const plan: Plan = { serial, winner, contentMs, phase };
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Plan": JSON.stringify(plan) },
    body: JSON.stringify({ ...CHAT_REQUEST, stream: true }),
    signal: AbortSignal.timeout(15_000),
  }).catch(() => null);
  if (response === null || !response.headers.has("x-gw-hedged")) return null;
  expect(await response.text()).toBe(QUIET + CONTENT);
  expect(response.headers.get("x-gw-hedged")).toBe(winner === "two" ? "won" : "lost");
  // An attempt that had no connection yet when the other one won has not reached its provider.
  if (receivedBy.get(serial)?.length !== 2) return null;
  return (await waitFor(() => abortedAt.get(serial) ?? null)) - (sentAt.get(serial) ?? NaN);
}

test(`${HEDGES} of ${HEDGES} losers are aborted in time`, async () => {
  const times: number[] = [];
  let started = 0;
  await Promise.all(
    routes.map(async ({ url }) => {
      while (times.length < HEDGES) {
        const time = await measure(url, started++ % 4);
        if (time !== null) times.push(time);
      }
    }),
  );
  times.sort((a, b) => a - b);
  const share = (part: number) => times[Math.ceil(times.length * part) - 1]?.toFixed(1);
  if (isLong)
    process.stdout.write(
      `${times.length} losers aborted after p50 ${share(0.5)} ms, p99 ${share(0.99)} ms, max ${share(1)} ms\n`,
    );
  expect(times.filter((time) => !(time < MAX_MS))).toEqual([]);
  expect(times.length).toBeGreaterThanOrEqual(HEDGES);
}, 300_000);
