// LiteLLM's proxy, https://docs.litellm.ai: one worker, without its database.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { MODEL, PROVIDER_KEY, type Peer } from "./peer.ts";

export const litellm: Peer = {
  id: "litellm",
  title: "LiteLLM",
  program: "litellm",
  install: "pip install 'litellm[proxy]'",
  configure: ({ folder, port, providerUrl }) => {
    const file = join(folder, "config.yaml");
    // JSON is valid YAML.
    const configuration = {
      model_list: [
        {
          model_name: MODEL,
          litellm_params: { model: `openai/${MODEL}`, api_base: `${providerUrl}/v1`, api_key: PROVIDER_KEY },
        },
      ],
      litellm_settings: { num_retries: 0, telemetry: false },
    };
    writeFileSync(file, JSON.stringify(configuration));
    const args = ["--config", file, "--host", "127.0.0.1", "--port", String(port), "--num_workers", "1"];
    return { args, env: { LITELLM_LOG: "ERROR", LITELLM_MODE: "PRODUCTION" } };
  },
};
