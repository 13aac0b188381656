// Many mutated requests over raw sockets: the process survives, and the provider gets exactly one request for each response
// that a client gets, and no other request. GATEHOUSE_LONG=1 is the full run; GATEHOUSE_MUTANTS sets the number,
// GATEHOUSE_SEED repeats a run.
import { afterAll, expect, test } from "bun:test";
import { seedRoute } from "../support/proxy-fixtures.ts";
import { useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";
import { mutatedRequest, randomFrom } from "./request-mutations.ts";
import { startRecordingUpstream } from "./recording-upstream.ts";
import { unexpectedOutput } from "./process-watch.ts";

const SHORT_RUN = 2000;
const LONG_RUN = 200_000;
const isLong = process.env["GATEHOUSE_LONG"] === "1";
const MUTANTS = Number(process.env["GATEHOUSE_MUTANTS"] ?? (isLong ? LONG_RUN : SHORT_RUN));
const SEED = Number(process.env["GATEHOUSE_SEED"] ?? Math.floor(Math.random() * 1e9));
const BATCH = 200;
const PATH = "/mutants";
const DEADLINE_MS = 60_000 + MUTANTS * 5;
const upstream = startRecordingUpstream();
const gatehouse = await useGatehouseProcess();
await seedRoute(gatehouse, {
  upstream: { targets: [{ provider: "recording", base_url: upstream.url, path: "" }] },
  rule: { path: `${PATH}/*`, methods: ["GET", "POST", "PUT", "DELETE"] },
});
afterAll(() => {
  upstream.stop();
});

class Mutant {
  readonly #pieces: Buffer[] = [];
  #socket: Bun.Socket<Mutant> | null = null;
  isClosed = false;

  constructor(readonly sent: string) {}

  async send(port: number): Promise<void> {
    this.#socket = await Bun.connect<Mutant>({
      hostname: "127.0.0.1",
      port,
      data: this,
      socket: {
        // In one write, so that bytes after a request arrive together with it.
        open: (socket) => void socket.write(Buffer.from(this.sent, "latin1")),
        data: (_, bytes) => void this.#pieces.push(Buffer.from(bytes)),
        close: () => void (this.isClosed = true),
        error: () => undefined,
      },
    });
  }

  get received(): string {
    return Buffer.concat(this.#pieces).toString("latin1");
  }

  /** The serial numbers of the provider's responses that this client received. */
  serials(): number[] {
    return [...this.received.matchAll(/^X-Serial: (\d+)\r$/gim)].map(([, serial]) => Number(serial));
  }

  disconnect(): void {
    this.#socket?.terminate();
  }
}

const responded = new Map<number, Mutant>();
const statuses: Record<string, number> = {};

/** Sends a valid request. When its response has arrived, all earlier bytes have been read. */
async function probe(): Promise<void> {
  const response = await fetch(`${gatehouse.proxyUrl}${PATH}/probe`);
  const serial = Number(response.headers.get("x-serial"));
  expect(await response.text()).toBe("");
  responded.set(serial, new Mutant("the probe"));
}

function collect(batch: readonly Mutant[]): void {
  for (const mutant of batch) {
    for (const serial of mutant.serials()) {
      const other = responded.get(serial);
      if (other !== undefined && other !== mutant)
        throw new Error(`two clients got response ${serial}: ${describe(other)} and ${describe(mutant)}`);
      responded.set(serial, mutant);
    }
  }
}

const describe = (mutant: Mutant) => JSON.stringify(mutant.sent);

/** The provider received the bytes of this client and of no other. */
function expectOwnBytes(mutant: Mutant, serial: number): void {
  const { head, body } = upstream.requests.get(serial)!;
  const marker = head.headers.find(([name]) => name.toLowerCase() === "x-marker")?.[1];
  // Repeated headers arrive as one.
  for (const part of marker?.split(", ") ?? []) expect(mutant.sent).toContain(part);
  if (!/chunked/i.test(mutant.sent)) expect(mutant.sent).toContain(body);
}

async function runBatch(requests: readonly string[]): Promise<void> {
  const port = Number(new URL(gatehouse.proxyUrl).port);
  const batch = requests.map((text) => new Mutant(text));
  await Promise.all(batch.map((mutant) => mutant.send(port)));
  const withoutResponse = () => [...upstream.requests.keys()].filter((serial) => !responded.has(serial));
  await waitUntil(async () => {
    const before = upstream.requests.size;
    await probe();
    await probe();
    collect(batch);
    // Requests that follow another one on their connection are sent one after the other.
    return upstream.requests.size === before + 2 && withoutResponse().length === 0;
  }, 10_000).catch(() => {
    const lost = withoutResponse().map((serial) => JSON.stringify(upstream.requests.get(serial)));
    throw new Error(
      `seed ${SEED}: the provider got requests for which no client got a response:\n${lost.join("\n")}`,
    );
  });
  for (const mutant of batch) {
    const serials = mutant.serials();
    for (const serial of serials) expectOwnBytes(mutant, serial);
    const [status = "none"] = /(?<=^HTTP\/1\.1 )\d+/.exec(mutant.received) ?? [];
    statuses[status] = (statuses[status] ?? 0) + 1;
    mutant.disconnect();
  }
  expect([...responded.keys()].filter((serial) => !upstream.requests.has(serial))).toEqual([]);
  responded.clear();
  upstream.requests.clear();
}

test(
  `${MUTANTS} mutated requests: the provider gets one request for each accepted one, and no other`,
  async () => {
    const random = randomFrom(SEED);
    for (let done = 0; done < MUTANTS; done += BATCH) {
      const size = Math.min(BATCH, MUTANTS - done);
      await runBatch(
        Array.from({ length: size }, (_, at) => mutatedRequest(random, PATH, `m${SEED}-${done + at}-`)),
      );
    }
    // Connections that stayed open and then broke must not have caused a request either.
    await runBatch([]);
    expect(upstream.problems).toEqual([]);
    expect((await fetch(`${gatehouse.proxyUrl}/healthz`)).status).toBe(200);
    expect(unexpectedOutput(gatehouse)).toEqual([]);
    // The run is meaningless if all requests were accepted, or none.
    expect(statuses["200"]).toBeGreaterThan(MUTANTS / 50);
    expect(statuses["400"]).toBeGreaterThan(MUTANTS / 10);
    if (MUTANTS > SHORT_RUN) process.stdout.write(`seed ${SEED}: ${JSON.stringify(statuses)}\n`);
  },
  DEADLINE_MS,
);
