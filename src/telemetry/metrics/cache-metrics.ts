// The metrics of kept responses. What served requests is counted in gatehouse_plugin_events_total.

export const CACHE_METRICS = {
  gatehouse_cache_entries: {
    type: "gauge",
    help: "Responses that plugins such as `response_cache` keep in memory. Those in Redis are not counted here.",
    labels: ["gateway"],
  },
  gatehouse_cache_bytes: {
    type: "gauge",
    help: "Bytes of the responses in `gatehouse_cache_entries`; `max_bytes` of the plugin limits them per process.",
    labels: ["gateway"],
  },
} as const;
