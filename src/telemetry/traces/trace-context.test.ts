// W3C Trace Context, sampling, and the model that a response names.
import { describe, expect, test } from "bun:test";
import { formatTraceparent, modelIn, newSpanId, newTraceId, parseTraceparent } from "./trace-context.ts";
import { Tracer } from "./tracer.ts";
import type { TraceExporter } from "./trace-exporter.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

describe("traceparent", () => {
  test("is parsed as the standard says, also in later versions", () => {
    const parent = { traceId: TRACE, spanId: SPAN };
    expect(parseTraceparent(`00-${TRACE}-${SPAN}-01`)).toEqual({ ...parent, isSampled: true });
    expect(parseTraceparent(`00-${TRACE}-${SPAN}-00`)).toEqual({ ...parent, isSampled: false });
    expect(parseTraceparent(`00-${TRACE}-${SPAN}-03`)).toEqual({ ...parent, isSampled: true });
    expect(parseTraceparent(`01-${TRACE}-${SPAN}-01-more`)).toEqual({ ...parent, isSampled: true });
  });

  test.each([
    null,
    "",
    "nonsense",
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}-1`,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE.slice(1)}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  ])("%p is not believed", (text) => expect(parseTraceparent(text)).toBeNull());

  test("formatted values parse back", () => {
    const [traceId, spanId] = [newTraceId(), newSpanId()];
    expect(parseTraceparent(formatTraceparent(traceId, spanId))).toEqual({
      traceId,
      spanId,
      isSampled: true,
    });
  });

  test("ids have the right form and are unique", () => {
    const ids = Array.from({ length: 2000 }, () => [newTraceId(), newSpanId()] as const);
    for (const [traceId, spanId] of ids) {
      expect(traceId).toMatch(/^[0-9a-f]{32}$/);
      expect(spanId).toMatch(/^[0-9a-f]{16}$/);
    }
    expect(new Set(ids.flat()).size).toBe(4000);
  });
});

describe("sampling", () => {
  const tracer = (ratio: number) => new Tracer({} as TraceExporter, ratio);
  const traced = (ratio: number, headers: Record<string, string> = {}) =>
    Array.from({ length: 2000 }, () => tracer(ratio).begin(new Headers(headers))).filter(
      (each) => each !== null,
    );

  test("follows the ratio without a parent", () => {
    expect(traced(0)).toHaveLength(0);
    expect(traced(1)).toHaveLength(2000);
    expect(traced(0.25).length).toBeWithin(300, 700);
  });

  test("follows the sampled flag of a valid parent, whatever the ratio", () => {
    expect(traced(0, { traceparent: `00-${TRACE}-${SPAN}-01` })).toHaveLength(2000);
    expect(traced(1, { traceparent: `00-${TRACE}-${SPAN}-00` })).toHaveLength(0);
    expect(traced(1, { traceparent: "00-nonsense" })).toHaveLength(2000);
  });

  test("continues the caller's trace: same trace id, the caller's span as parent, its state kept", () => {
    const headers = new Headers({ traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: "a=1,b=2" });
    const trace = tracer(0).begin(headers);
    expect(trace).toMatchObject({ traceId: TRACE, parentSpanId: SPAN, state: "a=1,b=2" });
    expect(trace?.spanId).not.toBe(SPAN);
  });

  test("the upstream request names the attempt as parent; tracestate without a valid parent is removed", () => {
    const sent: Record<string, string> = { tracestate: "a=1" };
    const spanId = tracer(1)
      .begin(new Headers({ tracestate: "a=1" }))
      ?.beginAttempt(sent);
    expect(parseTraceparent(sent["traceparent"] ?? null)).toMatchObject({ spanId, isSampled: true });
    expect(sent).not.toHaveProperty("tracestate");
  });
});

test("modelIn finds the model field, not a model named in generated text", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  expect(modelIn(bytes('{"id":"x","model": "gpt-4o-2024","choices":[]}'))).toBe("gpt-4o-2024");
  expect(modelIn(bytes('event: message_start\ndata: {"message":{"model":"odd \\"name\\""}}'))).toBe(
    'odd "name"',
  );
  expect(modelIn(bytes(JSON.stringify({ text: '{"model":"a trap"}', n: 1 })))).toBeNull();
  expect(modelIn(bytes(`{"text":"${"x".repeat(10_000)}","model":"late"}`))).toBeNull();
  expect(modelIn(Bun.gzipSync('{"model":"zipped"}'))).toBeNull();
  expect(modelIn(null)).toBeNull();
});
