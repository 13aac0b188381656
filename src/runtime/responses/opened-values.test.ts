// A value of Redis is opened once while it is the same, and never used after it was replaced, changed or removed.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { ManualClock } from "../../base/manual-clock.fixture.ts";
import { KeptStreams, type KeptResponse } from "./kept-response.ts";
import { OpenedValues } from "./opened-values.ts";

const clock = new ManualClock();
const MINUTE_MS = 60_000;

const response = (text: string, bytes = 10): KeptResponse => ({
  status: 200,
  operation: "chat",
  format: "openai",
  body: Buffer.alloc(bytes, text),
  provider: text,
  model: null,
  dropped: [],
  targetTag: "",
  keptAt: clock.unixNow(),
  expiresAt: clock.unixNow() + MINUTE_MS,
  inputTokens: 1,
  outputTokens: 1,
  costNanos: null,
  streams: new KeptStreams(),
});

/** Throws for a value that was changed, and returns null for one that holds no response. */
function open(sealed: string): KeptResponse | null {
  if (sealed === "changed") throw new Error("cannot be opened");
  return sealed === "none" ? null : response(sealed);
}

const read = fc.record({
  key: fc.constantFrom("1", "2"),
  value: fc.constantFrom("a", "b", "changed", "none", null),
});

test("what is read is what its value holds; it is opened again only after another value", () => {
  fc.assert(
    fc.property(fc.array(read, { maxLength: 30 }), (reads) => {
      const opened = new OpenedValues(clock);
      const last = new Map<string, string | null>();
      for (const { key, value } of reads) {
        let opens = 0;
        const get = () =>
          opened.get(key, value, (sealed) => {
            opens++;
            return open(sealed);
          });
        const isResponse = value === "a" || value === "b";
        if (value === "changed") expect(get).toThrow("cannot be opened");
        else expect(get()?.provider).toBe(isResponse ? value : undefined);
        expect(opens).toBe(value === null || (isResponse && last.get(key) === value) ? 0 : 1);
        last.set(key, value);
      }
    }),
  );
});

test("the streams of a response stay with it, and go with it", () => {
  const opened = new OpenedValues(clock);
  const streamOf = (value: string) => opened.get("1", value, open)?.streams.plain ?? null;
  const first = opened.get("1", "a", open);
  if (first === null) throw new Error("no response");
  opened.setStream("1", first, "plain", Buffer.from("stream of a"));
  expect(streamOf("a")?.toString()).toBe("stream of a");
  expect(streamOf("b")).toBeNull();
  // The stream of a response that is not the current one is not kept.
  opened.setStream("1", first, "withUsage", Buffer.from("late"));
  expect(opened.get("1", "b", open)?.streams.withUsage).toBeNull();
  expect(streamOf("a")).toBeNull();
});

test("many, expired and purged responses are opened again", () => {
  const opened = new OpenedValues(clock);
  let opens = 0;
  const get = (key: string) =>
    opened.get(key, "a", (sealed) => {
      opens++;
      return response(sealed, 1024 * 1024);
    });
  for (let count = 0; count < 20; count++) get(String(count));
  get("19");
  expect(opens).toBe(20);
  get("0");
  expect(opens).toBe(21);
  clock.advance(MINUTE_MS);
  get("0");
  expect(opens).toBe(22);
  opened.clear();
  get("0");
  expect(opens).toBe(23);
});
