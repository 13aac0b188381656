// GoModel, https://gomodel.enterpilot.io: configured by the environment. It reads the provider's list of models at its start.
import { join } from "node:path";
import { PROVIDER_KEY, type Peer } from "./peer.ts";

export const gomodel: Peer = {
  id: "gomodel",
  title: "GoModel",
  program: "gomodel",
  install: "curl -fsSL https://gomodel.enterpilot.io/install.sh | sh",
  configure: ({ folder, port, providerUrl }) => ({
    args: [],
    env: {
      PORT: String(port),
      OPENAI_API_KEY: PROVIDER_KEY,
      OPENAI_BASE_URL: `${providerUrl}/v1`,
      SQLITE_PATH: join(folder, "gomodel.db"),
      GOMODEL_CACHE_DIR: join(folder, "cache"),
      LOGGING_ENABLED: "false",
      USAGE_ENABLED: "false",
      ADMIN_UI_ENABLED: "false",
    },
  }),
};
