// Bifrost, https://docs.getbifrost.ai: configured by a file, without its database and its log of requests.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PROVIDER_KEY, type Peer } from "./peer.ts";

export const bifrost: Peer = {
  id: "bifrost",
  title: "Bifrost",
  program: "bifrost-http",
  install:
    "go install github.com/maximhq/bifrost/transports/bifrost-http@latest (or the binary of a release)",
  // The path for OpenAI's SDK; /v1/chat/completions would require the model openai/gpt-4o-mini.
  path: "/openai/v1/chat/completions",
  configure: ({ folder, port, providerUrl }) => {
    const configuration = {
      client: { drop_excess_requests: false, initial_pool_size: 1000, enable_logging: false },
      providers: {
        openai: {
          keys: [{ name: "bench", value: PROVIDER_KEY, models: ["*"], weight: 1 }],
          network_config: { base_url: providerUrl, default_request_timeout_in_seconds: 30, max_retries: 0 },
          concurrency_and_buffer_size: { concurrency: 1000, buffer_size: 5000 },
        },
      },
      config_store: { enabled: false },
      logs_store: { enabled: false },
    };
    writeFileSync(join(folder, "config.json"), JSON.stringify(configuration));
    const args = ["-app-dir", folder, "-host", "127.0.0.1", "-port", String(port), "-log-level", "error"];
    return { args };
  },
};
