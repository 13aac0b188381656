// Measures finding `model` and `stream` in a request body: the scanner over bytes next to decoding and parsing the body.
import { JsonScanner } from "../src/base/json-scanner.ts";
import { median, printTable, type Measurement } from "./report.ts";

const SIZES = [1, 20, 100, 1000];
const ROUNDS = 7;
/** Bytes read per round, so that a round takes as long for small bodies as for large ones. */
const BYTES_PER_ROUND = 20_000_000;

export function benchJsonScanner(): Promise<void> {
  printTable("Reading model and stream from a request body (CPU time)", SIZES.flatMap(rowsFor));
  return Promise.resolve();
}

function rowsFor(kilobytes: number): Measurement[] {
  const body = chatBody(kilobytes * 1000);
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
      note: `${(scanned / parsed).toFixed(2)} times; allocates nothing per field`,
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

function chatBody(bytes: number): Uint8Array {
  const content = `${"A sentence of a prompt, as agents send them. ".repeat(20)}\n"quoted" text\n`;
  const count = Math.max(1, Math.round(bytes / content.length));
  const messages = Array.from({ length: count }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content,
  }));
  return Buffer.from(JSON.stringify({ model: "gpt-4o-mini", stream: true, messages }));
}
