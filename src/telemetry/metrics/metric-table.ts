// The table of all metrics: name, type, help text and labels. The registry, docs/metrics.md and the dashboard test are derived
// from it.
import {
  LAG_SECONDS,
  PLUGIN_SECONDS,
  REQUEST_SECONDS,
  TOKEN_SECONDS,
  type MetricDeclaration,
  type MetricType,
} from "./metric-declaration.ts";
import { MCP_METRICS } from "./mcp-metrics.ts";
import { CACHE_METRICS } from "./cache-metrics.ts";
import { UNUSED_CALL_METRICS } from "./unused-call-metrics.ts";
import { VIRTUAL_MODEL_METRICS } from "./virtual-model-metrics.ts";

const ROUTE = ["gateway", "rule", "provider", "model"] as const;
const TARGET = ["gateway", "upstream", "target", "provider"] as const;

export const METRICS = {
  gatehouse_requests_total: {
    type: "counter",
    help: "Finished requests, by the status sent to the client.",
    labels: [...ROUTE, "status"],
  },
  gatehouse_request_duration_seconds: {
    type: "histogram",
    help: "Time from the request headers to the last byte of the response.",
    labels: ROUTE,
    buckets: REQUEST_SECONDS,
  },
  gatehouse_first_byte_seconds: {
    type: "histogram",
    help: "Time from the request headers to the first byte of the provider's response, failed attempts included.",
    labels: ROUTE,
    buckets: REQUEST_SECONDS,
  },
  gatehouse_time_to_first_token_seconds: {
    type: "histogram",
    help: "Time from the request headers to the first event of a streamed response with text, reasoning or tool arguments, failed attempts included.",
    labels: ROUTE,
    buckets: REQUEST_SECONDS,
  },
  gatehouse_time_per_output_token_seconds: {
    type: "histogram",
    help: "Time from the first token to the end of a streamed response, divided by the number of output tokens after the first, without reasoning that is not relayed. Only for complete responses with more than one output token.",
    labels: ROUTE,
    buckets: TOKEN_SECONDS,
  },
  gatehouse_budget_refusals_total: {
    type: "counter",
    help: "Requests that a budget rejected because it had not enough left.",
    labels: ["gateway", "budget"],
  },
  gatehouse_budget_warnings_total: {
    type: "counter",
    help: "Shares of a budget (`warn_at`) that were reached, once per period and subject.",
    labels: ["gateway", "budget", "share"],
  },
  gatehouse_budget_used_ratio: {
    type: "gauge",
    help: "Spent and reserved part of a budget in its current period, at its last request. Not for budgets with `each`.",
    labels: ["gateway", "budget"],
    merge: "max",
  },
  gatehouse_game_day_requests_total: {
    type: "counter",
    help: "Requests that a game day affected, by the type of the fault. They are not billed.",
    labels: ["gateway", "fault"],
  },
  ...VIRTUAL_MODEL_METRICS,
  ...MCP_METRICS,
  gatehouse_tokens_total: {
    type: "counter",
    help: "Tokens reported by providers; `direction` is `input` or `output`.",
    labels: [...ROUTE, "direction"],
  },
  gatehouse_cost_dollars_total: {
    type: "counter",
    help: "Cost of the tokens in US dollars, for models with a known price.",
    labels: ROUTE,
  },
  gatehouse_unpriced_requests_total: {
    type: "counter",
    help: "Requests whose cost is unknown, because the model has no price or the provider reported no tokens. They are not in `gatehouse_cost_dollars_total`.",
    labels: ROUTE,
  },
  gatehouse_request_outcomes_total: {
    type: "counter",
    help: "Requests by outcome: `complete`, `refused` (4xx by the gateway or a plugin), `failed` (5xx by them), `incomplete` (the response was cut off), `client_left` (the client disconnected).",
    labels: ["gateway", "outcome"],
  },
  gatehouse_errors_total: {
    type: "counter",
    help: "Error responses by the gateway or its plugins, by error code (docs/errors.md).",
    labels: ["gateway", "code"],
  },
  gatehouse_translated_requests_total: {
    type: "counter",
    help: "Requests that were translated, or whose responses were: `from` is the format of the client, `to` that of the target.",
    labels: ["gateway", "from", "to"],
  },
  gatehouse_requests_in_flight: { type: "gauge", help: "Requests in progress.", labels: [] },
  gatehouse_open_websockets: { type: "gauge", help: "WebSockets of clients that are open.", labels: [] },
  gatehouse_rejected_connections_total: {
    type: "counter",
    help: "Connections to the proxy port that were closed because their bytes were no HTTP request: `bad_request`, `headers_too_large`, or `request_timeout`.",
    labels: ["reason"],
  },
  gatehouse_buffered_body_bytes: {
    type: "gauge",
    help: "Bytes of request bodies and of unfinished answers of MCP servers in memory; MAX_BUFFERED_BYTES limits them per process.",
    labels: [],
  },

  gatehouse_off_loop_tasks_total: {
    type: "counter",
    help: "Tasks on large bodies in worker threads, by result: `completed`, `failed`, `timed_out`, `rejected`.",
    labels: ["result"],
  },
  gatehouse_off_loop_tasks_waiting: {
    type: "gauge",
    help: "Tasks that wait for a worker thread.",
    labels: [],
  },
  gatehouse_off_loop_threads: { type: "gauge", help: "Worker threads in use.", labels: [] },

  gatehouse_attempts_total: {
    type: "counter",
    help: "Upstream attempts, by result: a status such as `200`, or an error such as `unreachable`.",
    labels: [...TARGET, "result"],
  },
  gatehouse_retries_total: {
    type: "counter",
    help: "Upstream attempts after the first one of a request.",
    labels: ["gateway", "upstream"],
  },
  gatehouse_failovers_total: {
    type: "counter",
    help: "Retries sent to another target than the previous attempt.",
    labels: ["gateway", "upstream"],
  },
  gatehouse_target_ejections_total: {
    type: "counter",
    help: "How often passive health checks ejected a target.",
    labels: TARGET,
  },
  gatehouse_target_healthy: {
    type: "gauge",
    help: "1 while a target is in service; 0 while it is ejected, on trial or paused after a 429.",
    labels: TARGET,
    merge: "min",
  },
  gatehouse_target_in_flight: {
    type: "gauge",
    help: "Upstream attempts in progress per target.",
    labels: TARGET,
  },

  gatehouse_plugin_duration_seconds: {
    type: "histogram",
    help: "Time spent in a plugin hook, including waiting.",
    labels: ["gateway", "plugin", "stage"],
    buckets: PLUGIN_SECONDS,
  },
  gatehouse_plugin_faults_total: {
    type: "counter",
    help: "Plugin hooks that threw an error or timed out.",
    labels: ["gateway", "plugin", "stage"],
  },
  gatehouse_plugin_events_total: {
    type: "counter",
    help:
      "Events counted by plugins (`context.count`). rate_limiter: `admitted`, `refused` and `blocked` by limit, " +
      "`decided` by the counter that decided. code_sanitation: `found` by language, at most once per request; `texts` of JSON bodies that were " +
      "`inspected`, or `remembered` because an earlier inspection found them clean. pii_mask: `masked` or `found` values by type. tool_policy: `denied` and `stripped` tools by source. " +
      "prompt_guard: `found` by rule; `judged` by result; `judge_failed` by reason. " +
      "Of any plugin: `service_call` by result, for its calls to services of the gateway.",
    labels: ["gateway", "plugin", "event", "kind"],
  },

  ...CACHE_METRICS,
  ...UNUSED_CALL_METRICS,
  gatehouse_plugin_shadow_total: {
    type: "counter",
    help:
      "Requests on which a plugin ran in shadow mode (`name@shadow`) or as the next version (`name@next`), by what it would have " +
      "done: `passed`, `changed`, `responded`, `failed` or `timed_out`. `skipped`: it did not run.",
    labels: ["gateway", "plugin", "stage", "outcome"],
  },

  gatehouse_credential_fetches_total: {
    type: "counter",
    help: "Fetches of tokens, or of the keys of the environment's role, that `fetched` one or `failed`, by type of credentials.",
    labels: ["type", "result"],
  },

  gatehouse_blocks_refused_total: {
    type: "counter",
    help: "Requests over a limit that got 429 instead of a block, because the gateway has MAX_BLOCKS blocks of this type.",
    labels: ["gateway", "type"],
  },

  gatehouse_build_info: {
    type: "gauge",
    help: "Always 1. The labels name the version of Gatehouse and of its runtime, Bun.",
    labels: ["version", "runtime"],
    merge: "max",
  },
  gatehouse_ready: { type: "gauge", help: "1 if /readyz reports ready.", labels: [], merge: "min" },
  gatehouse_config_revision: {
    type: "gauge",
    help: "Revision of the active configuration; -1 before one is loaded.",
    labels: [],
    merge: "min",
  },
  gatehouse_store_up: {
    type: "gauge",
    help: "1 if the database can be read and written.",
    labels: [],
    merge: "min",
  },
  gatehouse_store_failing_since_seconds: {
    type: "gauge",
    help: "Unix time since which the database cannot be read or written; 0 if it can.",
    labels: [],
    merge: "max",
  },
  gatehouse_counters_up: {
    type: "gauge",
    help: "1 if the counters are available; 0 while a configured Redis is unavailable.",
    labels: [],
    merge: "min",
  },
  gatehouse_ledger_up: {
    type: "gauge",
    help: "1 if the ledger of budgets is available; 0 while a configured Redis, or a part of its cluster, is unavailable.",
    labels: [],
    merge: "min",
  },
  gatehouse_counters_lost_total: {
    type: "counter",
    help: "How often a configured Redis became unavailable.",
    labels: [],
  },
  gatehouse_local_decisions_total: {
    type: "counter",
    help: "Decisions about limits and budgets that were made without Redis because it did not respond (`on_store_failure` is `local` or `open`).",
    labels: [],
  },
  gatehouse_redis_data_losses_total: {
    type: "counter",
    help: "How often Redis had lost data of a gateway, or may have: it has none, or another process of Redis has it.",
    labels: [],
  },
  gatehouse_budgets_raised_total: {
    type: "counter",
    help: "Budgets of which Redis had less than the database. Their amounts were raised before the next request was decided.",
    labels: [],
  },
  gatehouse_faulty_gateways: {
    type: "gauge",
    help: "Stored gateways whose configuration does not compile in this process.",
    labels: [],
    merge: "max",
  },

  gatehouse_request_log_records_total: {
    type: "counter",
    help: "Records of REQUEST_LOG_SINK that were `written`, or `dropped` because the sink was unavailable or too slow.",
    labels: ["result"],
  },
  gatehouse_request_log_shared_total: {
    type: "counter",
    help: "Records `sent` to other nodes that list or follow the request log, or `dropped` because Redis was unavailable or too slow.",
    labels: ["result"],
  },
  gatehouse_trace_spans_total: {
    type: "counter",
    help: "Spans that were `exported`, or `dropped` because the collector rejected them or was unavailable.",
    labels: ["result"],
  },

  gatehouse_event_loop_lag_seconds: {
    type: "histogram",
    help: "Delay of a timer in this process, measured four times per second.",
    labels: [],
    buckets: LAG_SECONDS,
  },
  gatehouse_plugin_restarts_total: {
    type: "counter",
    help: "Crashes of worker threads and processes of plugins (`isolation`): exits, uncaught errors, hooks that did not finish, and too much memory.",
    labels: ["plugin", "isolation"],
  },
  gatehouse_watchdog_restarts_total: {
    type: "counter",
    help: "How often the watchdog replaced a process that hung (WATCHDOG_SECONDS), since the service was started.",
    labels: [],
  },
  process_cpu_seconds_total: { type: "counter", help: "Processor time, user and system.", labels: [] },
  process_resident_memory_bytes: { type: "gauge", help: "Resident memory.", labels: [] },
  process_open_fds: { type: "gauge", help: "Open files and sockets.", labels: [] },
  process_start_time_seconds: {
    type: "gauge",
    help: "Start time of the process in Unix seconds.",
    labels: [],
    merge: "min",
  },
} as const satisfies Record<string, MetricDeclaration>;

export type MetricName = keyof typeof METRICS;
export type NameOf<Type extends MetricType> = {
  [Name in MetricName]: (typeof METRICS)[Name]["type"] extends Type ? Name : never;
}[MetricName];
export type LabelsOf<Name extends MetricName> = Readonly<
  Record<(typeof METRICS)[Name]["labels"][number], string>
>;
