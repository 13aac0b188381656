// Component schemas of the OpenAPI document of what is running: requests, log lines, target health, and traffic points.
import { z } from "zod";
import { KIND_NAMES, KINDS } from "../kinds/kinds.ts";
import { FALLBACK_REASONS } from "../model/virtual-model.ts";
import { FORMAT_NAMES } from "../formats/format-names.ts";
import { OPERATIONS } from "../formats/operations.ts";
import { LOG_LEVELS } from "../telemetry/log/log-levels.ts";
import { mcpRequest } from "./mcp-request-schema.ts";
import { SHADOW_OUTCOMES } from "../telemetry/requests/shadow-report.ts";
import { HEDGE_RESULTS, OUTCOMES } from "../telemetry/requests/request-facts.ts";

const time = z.iso.datetime();
const milliseconds = z.number();
const count = z.int().min(0);

const attempt = z.object({
  target_id: z.string(),
  provider: z.string(),
  model: z.string().nullable(),
  status: z.int().nullable(),
  fault: z.string().nullable().meta({ description: "Why there is no complete response." }),
  purpose: z.enum(["request", "hedge", "mirror"]).meta({
    description:
      "`hedge`: the attempt of a hedged request whose response was not used. `mirror`: that of a copy for a mirror.",
  }),
  retry_refused_by: z.string().nullable().meta({
    description:
      "The limit or budget that had not enough left for a further attempt, which was not made. Null if none was refused.",
  }),
  start_ms: milliseconds.meta({ description: "Since the start of the request." }),
  first_byte_ms: milliseconds.nullable().meta({ description: "Since the start of the attempt." }),
  ms: milliseconds,
});

const request = z.object({
  request_id: z.string(),
  mirror_of: z.string().nullable().meta({
    description:
      "Id of the request that this one is a copy of, for the mirror of a virtual model. Null: a client sent it.",
  }),
  node: z.string().optional().meta({
    description: "Name of the node that served the request (NODE_NAME). Present if nodes share REDIS_URL.",
  }),
  time: time.meta({ description: "When the request arrived." }),
  revision: z.int().meta({ description: "Revision of the configuration that the request used." }),
  gateway_id: z.string().nullable(),
  gateway: z.string().nullable(),
  method: z.string(),
  path: z.string(),
  operation: z.enum(OPERATIONS).nullable().meta({
    description: "What the request asks for, by its path, its target's path or its body. Null if unknown.",
  }),
  rule: z.object({ id: z.string(), name: z.string().nullable(), path: z.string() }).nullable(),
  api_key: z.object({ id: z.string(), name: z.string() }).nullable(),
  status: z.int(),
  outcome: z.enum(OUTCOMES),
  error_code: z
    .string()
    .nullable()
    .meta({ description: "Code of the error, if the gateway or a plugin responded with one." }),
  provider: z.string().nullable(),
  target_id: z.string().nullable(),
  model: z.string().nullable().meta({ description: "The model that was sent to the provider." }),
  requested_model: z.string().nullable(),
  virtual_model: z
    .object({
      name: z.string(),
      fallback: z.string().nullable().meta({ description: "The virtual model that served instead." }),
      reason: z.enum(FALLBACK_REASONS).nullable().meta({ description: "Why it was used." }),
      canary: z
        .enum(["canary", "stable"])
        .nullable()
        .meta({ description: "Whether the canary or another target served. Null without a canary." }),
    })
    .nullable()
    .meta({ description: "The virtual model with the requested name. Null if it is none." }),
  mcp: mcpRequest,
  fault: z
    .string()
    .nullable()
    .meta({ description: "The faults that a game day injected, separated by commas. Null: none." }),
  translation: z
    .object({
      from: z.enum(FORMAT_NAMES).meta({ description: "The format of the client." }),
      to: z.enum(FORMAT_NAMES).meta({ description: "The format of the target." }),
      dropped: z.array(z.string()).meta({
        description:
          "Fields of the request that the target's format lacks, as in the header X-GW-Translated. The last one is `...` if there are more.",
      }),
    })
    .nullable()
    .meta({ description: "Null if neither the request nor its response was translated." }),
  stream: z.boolean(),
  drained: z.boolean().meta({
    description: "The client left, and the provider was read on for its usage (`on_cancel` of the upstream).",
  }),
  attempts: z.array(attempt),
  hedge: z
    .object({
      result: z.enum(HEDGE_RESULTS).meta({
        description: "`won`: the second attempt served. `lost`: the first one. `failed`: neither.",
      }),
      after_ms: milliseconds.meta({ description: "Time without content until the second attempt." }),
      cost: z.number().nullable().meta({
        description: "Of the attempt that was not used, in US dollars; not part of `cost`. Null: unknown.",
      }),
    })
    .nullable()
    .meta({ description: "Null if the request was not hedged." }),
  tokens: z
    .object({
      input: count.meta({ description: "All input, cached input included." }),
      output: count.meta({ description: "All output, reasoning included." }),
      cached_input: count.meta({ description: "Part of the input that the provider read from its cache." }),
      cache_write: count.meta({ description: "Part of the input that the provider wrote to its cache." }),
      reasoning: count.meta({ description: "Part of the output that is reasoning." }),
      partial: z.boolean().meta({
        description:
          "The provider did not report all of its usage: the rest is estimated from what was relayed and, for models that reason, from the time.",
      }),
    })
    .nullable(),
  cost: z.number().nullable().meta({
    description: "US dollars. Null if the model has no price or the tokens are unknown.",
  }),
  timings: z.object({
    total_ms: milliseconds,
    first_byte_ms: milliseconds.nullable(),
    first_token_ms: milliseconds.nullable().meta({
      description:
        "Until the first event of a streamed response with text, reasoning or tool arguments. Null if the response was not streamed.",
    }),
    ms_per_output_token: milliseconds.nullable().meta({
      description:
        "From the first token to the end, divided by the number of output tokens after the first, without reasoning that is not relayed. Null if the response was not streamed or not complete, or has fewer than two output tokens.",
    }),
    body_ms: milliseconds.meta({ description: "Until the request body was read." }),
    plugins_ms: milliseconds,
    upstream_ms: milliseconds.meta({ description: "Sum of all attempts, each until its last byte." }),
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
  shadow: z
    .array(
      z.object({
        name: z.string().meta({ description: "Name of the plugin with `@shadow` or `@next`." }),
        stage: z.string(),
        ms: milliseconds,
        outcome: z.enum(SHADOW_OUTCOMES),
        status: z.int().nullable(),
        detail: z.string().nullable(),
        agrees: z.boolean().nullable(),
      }),
    )
    .meta({ description: "What plugins in shadow mode would have done. They may end after the request." }),
  bodies: z.object({ request: z.string(), response: z.string() }).optional().meta({
    description:
      "Present if the gateway has `log_bodies`. Decoded, and truncated after 16 KiB; known secrets are removed.",
  }),
});

const logLine = z.looseObject({ level: z.enum(LOG_LEVELS), time, msg: z.string() });

const trafficSums = z.object({
  requests: count,
  errors: count.meta({ description: "Responses with status 400 or above, and incomplete responses." }),
  p50_ms: milliseconds.nullable(),
  p99_ms: milliseconds.nullable(),
  first_byte_p50_ms: milliseconds.nullable(),
  first_token_p50_ms: milliseconds.nullable().meta({ description: "Of streamed responses." }),
  input_tokens: count,
  output_tokens: count,
  cost: z.number().meta({ description: "US dollars." }),
  unpriced_requests: count.meta({ description: "Requests whose cost is unknown and not included." }),
  refused: z
    .record(z.string(), count)
    .meta({ description: "Requests that were not sent to any provider, by error code." }),
  failed: z.record(z.string(), count).meta({
    description:
      "Other errors, by error code or, if the response of the provider was passed on, by status, such as `status_503`.",
  }),
});

const point = z.object({ time, ...trafficSums.shape });

const target = z.object({
  target_id: z.string(),
  provider: z.string(),
  state: z.enum(["healthy", "out", "trial", "resting"]).meta({
    description:
      "`out`: ejected by passive health checks; `trial`: one trial request is allowed; `resting`: the provider responded " +
      "429 with a pause.",
  }),
  failures: count.meta({ description: "Consecutive failures that passive health checks count." }),
  recent_failures: count.nullable().meta({
    description:
      "Consecutive failures, also if passive health checks are off. An ejection does not reset the count. Null if no " +
      "request to the target has succeeded or failed since the process started.",
  }),
  until: time.nullable().meta({ description: "When the state `out` or `resting` ends." }),
  in_flight: count,
  latency_ms: milliseconds.nullable().meta({ description: "Moving average of the time to first byte." }),
});

const locatedTarget = target.extend({
  gateway_id: z.string(),
  gateway: z.string().meta({ description: "Name of the gateway." }),
  upstream_id: z.string(),
  upstream: z.string().meta({ description: "Name of the upstream." }),
  weight: z.number().meta({ description: "0: the target gets no requests." }),
});

const overview = z.object({
  gateway_count: count,
  target_count: count,
  target_states: z
    .object({ out: count, trial: count, resting: count, failing: count, healthy: count, drained: count })
    .meta({
      description:
        "Number of targets by state. `failing`: healthy, but its last request failed; `drained`: its weight is 0.",
    }),
  targets: z.array(locatedTarget),
  gateways: z.array(
    z.object({ gateway_id: z.string(), gateway: z.string(), requests: count, errors: count }),
  ),
  limit: count,
});

const searchResult = z.object({
  kind: z.enum([
    ...KIND_NAMES.filter((kind) => KINDS[kind].shownInSearch !== "hidden").map(
      (kind) => KINDS[kind].resource,
    ),
    "request",
  ]),
  id: z.string(),
  name: z.string().nullable(),
  detail: z.string().nullable().meta({
    description:
      "Subdomain of a gateway, path of a rule, prefix of an API key, method and path of a request.",
  }),
  gateway_id: z.string().nullable().meta({ description: "Null for a request that reached no gateway." }),
  gateway: z.string().nullable().meta({ description: "Name of the gateway." }),
});

const server = z.object({
  public_url: z
    .string()
    .nullable()
    .meta({ description: "Address at which clients reach the data plane: the setting PUBLIC_URL." }),
  proxy_port: z
    .int()
    .nullable()
    .meta({ description: "Port of the data plane; null if this process serves only the Admin API." }),
  base_domain: z.string().nullable().meta({
    description: "Domain of the subdomains of gateways: the setting BASE_DOMAIN.",
  }),
});

export const OBSERVATION_SCHEMAS = {
  Server: server,
  LogLineList: z.object({ logs: z.array(logLine), limit: count }),
  RequestList: z.object({ requests: z.array(request), count, limit: count }),
  Overview: overview,
  SearchResultList: z.object({ results: z.array(searchResult), limit: count }),
  TargetHealthList: z.object({ targets: z.array(target) }),
  Traffic: z.object({
    points: z.array(point),
    step_seconds: z.int().meta({ description: "Length of a point." }),
    total: trafficSums.meta({
      description: "All points together. Percentiles are those of the whole period.",
    }),
  }),
};
