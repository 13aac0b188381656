// Measures finding `model` and `stream` in a request body: the scanner over bytes next to decoding and parsing the body.
import { JsonScanner } from "../src/base/json-scanner.ts";
import { median, printTable, type Measurement } from "./report.ts";

const SIZES = [1, 20, 100, 240, 1000];
const ROUNDS = 7;
/** Bytes read per round, so that a round takes as long for small bodies as for large ones. */
const BYTES_PER_ROUND = 20_000_000;

/** Contents of messages. Escapes decide about the cost: prose has few, code one per line, and some clients escape all but ASCII. */
const CONTENTS = {
  prose: `${"A sentence of a prompt, as agents send them. ".repeat(20)}\n"quoted" text\n`,
  code: codeLines(),
  "escaped Chinese": "\u8bf7\u628a\u8fd9\u6bb5\u6587\u5b57\u7ffb\u8bd1\u6210\u82f1\u6587\u3002".repeat(12),
};

export function benchJsonScanner(): Promise<void> {
  for (const [name, content] of Object.entries(CONTENTS))
    printTable(
      `Reading model and stream from a request body of ${name} (CPU time)`,
      SIZES.flatMap((kilobytes) => rowsFor(kilobytes, content)),
    );
  return Promise.resolve();
}

function rowsFor(kilobytes: number, content: string): Measurement[] {
  const body = chatBody(kilobytes * 1000, content);
  const scanner = new JsonScanner(["model", "stream"]);
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const parse = () => {
    if (typeof JSON.parse(decoder.decode(body)) !== "object") throw new Error("the body did not parse");
  };
  const scan = () => {
    if (scanner.scan(body) !== "object") throw new Error("the body did not scan");
  };
  const parsed = cpuMicroseconds(parse, body.length);
  const scanned = cpuMicroseconds(scan, body.length);
  return [
    { what: `${kilobytes} kB, decoded and parsed`, value: parsed, unit: "µs per body", note: "" },
    {
      what: `${kilobytes} kB, scanned`,
      value: scanned,
      unit: "µs per body",
      note: `${(scanned / parsed).toFixed(2)} times; ${((scanned * 1000) / body.length).toFixed(2)} ns per byte`,
    },
  ];
}

function cpuMicroseconds(work: () => void, bytes: number): number {
  const count = Math.max(5, Math.round(BYTES_PER_ROUND / bytes));
  const rounds = Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage();
    for (let index = 0; index < count; index++) work();
    return process.cpuUsage(before).user / count;
  });
  return median(rounds);
}

function chatBody(bytes: number, content: string): Uint8Array {
  const escaped = JSON.stringify(content).replace(/[^\0-~]/g, escapeCodeUnit);
  const count = Math.max(1, Math.round(bytes / escaped.length));
  const messages = Array.from(
    { length: count },
    (_, index) => `{"role":"${index % 2 === 0 ? "user" : "assistant"}","content":${escaped}}`,
  );
  return Buffer.from(`{"model":"gpt-4o-mini","stream":true,"messages":[${messages.join(",")}]}`);
}

function escapeCodeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Lines of 5 to 75 characters, 40 on average, so that no branch predictor learns where they end. */
function codeLines(): string {
  const line = 'const value = await read(source, { limit: count + 1 }); if (value === "") return';
  return Array.from({ length: 24 }, (_, index) => line.slice(0, 5 + ((index * 37) % 71))).join("\n");
}
