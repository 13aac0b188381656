// What the Admin API shows of running traffic, for the OpenAPI document.
import { z } from "zod";

const time = z.iso.datetime();
const milliseconds = z.number();
const count = z.int().min(0);

const attempt = z.object({
  target_id: z.string(),
  provider: z.string(),
  model: z.string().nullable(),
  status: z.int().nullable(),
  fault: z.string().nullable().meta({ description: "Why there was no whole answer." }),
  start_ms: milliseconds.meta({ description: "Since the request's start." }),
  first_byte_ms: milliseconds.nullable().meta({ description: "Since the attempt's start." }),
  ms: milliseconds,
});

const request = z.object({
  request_id: z.string(),
  time: time.meta({ description: "When it came." }),
  revision: z.int().meta({ description: "Of the configuration that it saw." }),
  gateway_id: z.string().nullable(),
  gateway: z.string().nullable(),
  method: z.string(),
  path: z.string(),
  rule: z.object({ id: z.string(), name: z.string().nullable(), path: z.string() }).nullable(),
  api_key: z.object({ id: z.string(), name: z.string() }).nullable(),
  status: z.int(),
  outcome: z.enum(["complete", "incomplete", "client_left", "failed"]),
  error_code: z
    .string()
    .nullable()
    .meta({ description: "Of an error that the gateway or a plugin answered." }),
  provider: z.string().nullable(),
  target_id: z.string().nullable(),
  model: z.string().nullable().meta({ description: "As it was sent to the provider." }),
  requested_model: z.string().nullable(),
  stream: z.boolean(),
  attempts: z.array(attempt),
  tokens: z.object({ input: count, output: count, partial: z.boolean() }).nullable(),
  cost: z.number().nullable().meta({ description: "US dollars." }),
  timings: z.object({
    total_ms: milliseconds,
    first_byte_ms: milliseconds.nullable(),
    body_ms: milliseconds.meta({ description: "Until the request's body was read." }),
    plugins_ms: milliseconds,
    upstream_ms: milliseconds.meta({ description: "All attempts together, to their last byte." }),
  }),
  plugins: z.array(
    z.object({
      name: z.string(),
      stage: z.string(),
      ms: milliseconds,
      verdict: z.enum(["passed", "changed", "answered", "failed"]),
      detail: z.string().nullable(),
    }),
  ),
  bodies: z
    .object({ request: z.string(), response: z.string() })
    .optional()
    .meta({ description: "Only of gateways with `log_bodies`; cut at 16 KiB, known secrets taken out." }),
});

const point = z.object({
  time,
  requests: count,
  errors: count.meta({ description: "Status 400 and above, and answers that broke off." }),
  p50_ms: milliseconds.nullable(),
  p99_ms: milliseconds.nullable(),
  first_byte_p50_ms: milliseconds.nullable(),
  input_tokens: count,
  output_tokens: count,
  cost: z.number().meta({ description: "US dollars." }),
  refused: z
    .record(z.string(), count)
    .meta({ description: "Requests that no provider was asked for, by the code of their error." }),
});

const target = z.object({
  target_id: z.string(),
  provider: z.string(),
  state: z.enum(["healthy", "out", "trial", "resting"]).meta({
    description:
      "`out`: taken out by passive checks; `trial`: one request may try it; `resting`: it asked for a rest by 429.",
  }),
  failures: count.meta({ description: "In a row." }),
  until: time.nullable().meta({ description: "When it is no longer out, or has rested." }),
  in_flight: count,
  latency_ms: milliseconds.nullable().meta({ description: "Moving average of the time to first byte." }),
});

export const OBSERVATION_SCHEMAS: readonly (readonly [name: string, schema: z.ZodType])[] = [
  ["RequestList", z.object({ requests: z.array(request), count, limit: count })],
  ["TargetHealthList", z.object({ targets: z.array(target) })],
  ["Traffic", z.object({ points: z.array(point) })],
];
