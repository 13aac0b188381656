// Every metric there is: name, type, meaning and labels. The registry, docs/metrics.md and the dashboard's test are made
// from this table.

export type MetricType = "counter" | "gauge" | "histogram";

export interface MetricDeclaration {
  readonly type: MetricType;
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram's buckets. */
  readonly buckets?: readonly number[];
  /** How the processes of one machine make one figure of it; a sum unless told otherwise. */
  readonly merge?: "min" | "max";
}

/** From a cached answer to a model that thinks for minutes. */
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const PLUGIN_SECONDS = [0.00001, 0.0001, 0.00025, 0.001, 0.0025, 0.01, 0.05, 0.25, 1, 5];
const LAG_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

const ROUTE = ["gateway", "rule", "provider", "model"] as const;
const TARGET = ["gateway", "upstream", "target", "provider"] as const;

export const METRICS = {
  gatehouse_requests_total: {
    type: "counter",
    help: "Requests that were answered, by the status that the client got.",
    labels: [...ROUTE, "status"],
  },
  gatehouse_request_duration_seconds: {
    type: "histogram",
    help: "From the request's head until the last byte of its answer.",
    labels: ROUTE,
    buckets: REQUEST_SECONDS,
  },
  gatehouse_first_byte_seconds: {
    type: "histogram",
    help: "From the request's head until a provider's answer began, failed attempts included.",
    labels: ROUTE,
    buckets: REQUEST_SECONDS,
  },
  gatehouse_tokens_total: {
    type: "counter",
    help: "Tokens as providers told them; `direction` is `input` or `output`.",
    labels: [...ROUTE, "direction"],
  },
  gatehouse_cost_dollars_total: {
    type: "counter",
    help: "What the tokens cost, in US dollars, where their price is known.",
    labels: ROUTE,
  },
  gatehouse_request_outcomes_total: {
    type: "counter",
    help: "Requests by how they ended: `complete`, `incomplete` (the answer broke off), `client_left`, `failed`.",
    labels: ["gateway", "outcome"],
  },
  gatehouse_errors_total: {
    type: "counter",
    help: "Errors that the gateway or one of its plugins answered, by their code (docs/errors.md).",
    labels: ["gateway", "code"],
  },
  gatehouse_requests_in_flight: { type: "gauge", help: "Requests that are under way.", labels: [] },

  gatehouse_attempts_total: {
    type: "counter",
    help: "Requests to targets, by what came of them: a status such as `200`, or a fault such as `unreachable`.",
    labels: [...TARGET, "result"],
  },
  gatehouse_retries_total: {
    type: "counter",
    help: "Attempts after the first one of a request.",
    labels: ["gateway", "upstream"],
  },
  gatehouse_failovers_total: {
    type: "counter",
    help: "Retries that went to another target than the attempt before.",
    labels: ["gateway", "upstream"],
  },
  gatehouse_target_ejections_total: {
    type: "counter",
    help: "How often passive health checks took a target out.",
    labels: TARGET,
  },
  gatehouse_target_healthy: {
    type: "gauge",
    help: "1 while a target may be asked; 0 while it is out, on trial or resting.",
    labels: TARGET,
    merge: "min",
  },
  gatehouse_target_in_flight: { type: "gauge", help: "Requests under way at a target.", labels: TARGET },

  gatehouse_plugin_duration_seconds: {
    type: "histogram",
    help: "Time in a plugin's hook, waiting included.",
    labels: ["gateway", "plugin", "stage"],
    buckets: PLUGIN_SECONDS,
  },
  gatehouse_plugin_faults_total: {
    type: "counter",
    help: "Hooks that threw or took too long.",
    labels: ["gateway", "plugin", "stage"],
  },
  gatehouse_plugin_events_total: {
    type: "counter",
    help:
      "What plugins count themselves (`context.count`). rate_limiter: `admitted`, `refused` and `blocked` by limit, " +
      "`decided` by who counted. code_sanitation: `found` by language, once a request.",
    labels: ["gateway", "plugin", "event", "kind"],
  },

  gatehouse_ready: { type: "gauge", help: "Whether /readyz says ready.", labels: [], merge: "min" },
  gatehouse_config_revision: {
    type: "gauge",
    help: "Revision of the configuration in force; -1 before one is loaded.",
    labels: [],
    merge: "min",
  },
  gatehouse_store_up: { type: "gauge", help: "Whether the database answers.", labels: [], merge: "min" },
  gatehouse_counters_up: {
    type: "gauge",
    help: "Whether the counters can be used; 0 while a configured Redis is away.",
    labels: [],
    merge: "min",
  },
  gatehouse_counters_lost_total: {
    type: "counter",
    help: "How often a configured Redis went away.",
    labels: [],
  },
  gatehouse_faulty_gateways: {
    type: "gauge",
    help: "Stored gateways that do not compile here.",
    labels: [],
    merge: "max",
  },

  gatehouse_trace_spans_total: {
    type: "counter",
    help: "Spans that were `exported`, or `dropped` because the collector would not or could not take them.",
    labels: ["result"],
  },

  gatehouse_event_loop_lag_seconds: {
    type: "histogram",
    help: "How late a timer of this process fires, looked at four times a second.",
    labels: [],
    buckets: LAG_SECONDS,
  },
  process_cpu_seconds_total: { type: "counter", help: "Processor time, user and system.", labels: [] },
  process_resident_memory_bytes: { type: "gauge", help: "Resident memory.", labels: [] },
  process_open_fds: { type: "gauge", help: "Open files and sockets.", labels: [] },
  process_start_time_seconds: {
    type: "gauge",
    help: "When the process started, in Unix seconds.",
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
