// agentgateway, https://agentgateway.dev: its proxy for one model, without a database.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { MODEL, PROVIDER_KEY, type Peer } from "./peer.ts";

export const agentgateway: Peer = {
  id: "agentgateway",
  title: "agentgateway",
  program: "agentgateway",
  install: "curl -sL https://agentgateway.dev/install | bash",
  configure: ({ folder, port, providerUrl }) => {
    const file = join(folder, "config.yaml");
    // JSON is valid YAML.
    const configuration = {
      llm: {
        port,
        models: [
          {
            name: MODEL,
            provider: "openAI",
            params: { model: MODEL, apiKey: PROVIDER_KEY, baseUrl: `${providerUrl}/v1` },
          },
        ],
      },
    };
    writeFileSync(file, JSON.stringify(configuration));
    return { args: ["-f", file], env: { RUST_LOG: "error" } };
  },
};
