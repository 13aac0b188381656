// Example upstreams: that of the specification, and that of the demo.

/** The example of the specification: two targets that share the load and take over for each other. */
export const EXAMPLE_UPSTREAM = {
  name: "models",
  algorithm: "round-robin",
  targets: [
    {
      provider: "openai",
      path: "/v1/chat/completions",
      weight: 50,
      priority: 1,
      default_model: "gpt-4o-mini",
      models: ["gpt-4o", "gpt-4o-mini"],
      credentials: { header_name: "Authorization", header_value: "Bearer <PROVIDER_API_KEY>" },
    },
    {
      provider: "anthropic",
      path: "/v1/messages",
      weight: 50,
      priority: 1,
      default_model: "claude-sonnet-5",
      models: ["claude-sonnet-5"],
      headers: { "anthropic-version": "2023-06-01" },
      credentials: { header_name: "x-api-key", header_value: "<PROVIDER_API_KEY>" },
    },
  ],
  health_checks: { passive: true, threshold: 3, interval: 60 },
};

/** Two targets that serve their whole APIs, each for its own models. */
export const WHOLE_API_UPSTREAM = {
  name: "models",
  targets: [
    {
      provider: "openai",
      default_model: "gpt-4o-mini",
      models: ["gpt-4o", "gpt-4o-mini"],
      credentials: { header_name: "Authorization", header_value: "Bearer <PROVIDER_API_KEY>" },
    },
    {
      provider: "anthropic",
      default_model: "claude-sonnet-5",
      models: ["claude-sonnet-5"],
      credentials: { header_name: "x-api-key", header_value: "<PROVIDER_API_KEY>" },
    },
  ],
  health_checks: { passive: true, threshold: 3, interval: 60 },
};
