// The metrics of calls of providers whose responses no client gets: hedges, and responses that are read on although their client has left.

export const UNUSED_CALL_METRICS = {
  gatehouse_hedges_total: {
    type: "counter",
    help: "Second attempts of requests that had no content in time (`hedge` of upstreams), by result: `won` (the second attempt served), `lost` (the first one), `failed` (neither).",
    labels: ["gateway", "upstream", "result"],
  },
  gatehouse_hedge_cost_dollars_total: {
    type: "counter",
    help: "Cost of the attempts of hedged requests whose responses were not used, in US dollars; not part of `gatehouse_cost_dollars_total`.",
    labels: ["gateway", "upstream"],
  },
  gatehouse_drained_responses_total: {
    type: "counter",
    help: "Responses whose client left and whose upstream has `on_cancel: drain`, by result: `settled` with the usage of the provider, `unsettled` (30 seconds have passed, or the response broke off: it was estimated), `refused` (100 are read in this process, or it stops: estimated at once).",
    labels: ["gateway", "upstream", "result"],
  },
  gatehouse_draining_responses: {
    type: "gauge",
    help: "Responses that are read to their usage although their client has left (`on_cancel: drain`).",
    labels: [],
  },
} as const;
