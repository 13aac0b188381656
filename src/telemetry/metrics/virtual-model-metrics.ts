// The part of the table of metrics that is about virtual models.

/** Why a request of the mirrored share was not copied. */
export type SkippedMirror = "limit" | "memory" | "budget" | "unsuitable" | "unavailable" | "stopped";

export const VIRTUAL_MODEL_METRICS = {
  gatehouse_virtual_model_requests_total: {
    type: "counter",
    help: "Finished requests for virtual models, by the upstream and the model that served them. `model` is empty if the target gets the requested name.",
    labels: ["gateway", "virtual_model", "upstream", "model", "outcome"],
  },
  gatehouse_virtual_model_fallbacks_total: {
    type: "counter",
    help: "Requests for virtual models that a virtual model of `fallback` served, by reason.",
    labels: ["gateway", "virtual_model", "fallback", "reason"],
  },
  gatehouse_virtual_model_input_tokens_total: {
    type: "counter",
    help: "Input tokens of requests for virtual models by target. `cache` is `read` for those that the provider read from its prompt cache, `none` for the others.",
    labels: ["gateway", "virtual_model", "upstream", "target", "model", "cache"],
  },
  gatehouse_virtual_model_cache_savings_dollars_total: {
    type: "counter",
    help: "What input from prompt caches of providers would have cost in addition without them, in US dollars.",
    labels: ["gateway", "virtual_model", "upstream", "target", "model"],
  },
  gatehouse_canary_requests_total: {
    type: "counter",
    help: "Finished requests for virtual models with a canary; `served_by` is `canary` or `stable`.",
    labels: ["gateway", "virtual_model", "served_by", "outcome"],
  },
  gatehouse_canary_rollbacks_total: {
    type: "counter",
    help: "Canaries of virtual models that this process has switched off, because they were worse than the other targets.",
    labels: ["gateway", "virtual_model"],
  },
  gatehouse_mirrors_total: {
    type: "counter",
    help: "Copies of requests that were sent to mirrors of virtual models, by result: `ok`, `error` (a status from 400), `failed` (no complete response). They are not part of the metrics of requests and attempts.",
    labels: ["gateway", "virtual_model", "result"],
  },
  gatehouse_mirrors_skipped_total: {
    type: "counter",
    help: "Requests of the mirrored share that were not copied, by reason: `limit` (64 copies of the gateway in progress), `memory` (MAX_BUFFERED_BYTES is half used), `budget`, `unsuitable` (such a request is not sent twice, or the mirror cannot serve it), `unavailable` (no target of the mirror is available), `stopped` (the process stops).",
    labels: ["gateway", "virtual_model", "reason"],
  },
  gatehouse_mirror_cost_dollars_total: {
    type: "counter",
    help: "Cost of copies of requests for mirrors of virtual models, in US dollars; not part of `gatehouse_cost_dollars_total`.",
    labels: ["gateway", "virtual_model"],
  },
} as const;
