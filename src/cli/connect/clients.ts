// The clients that `gatehouse connect` knows: which file holds their settings, and what to set in it.
import { homedir } from "node:os";
import { join } from "node:path";
import { mergeDotenv } from "./merge-dotenv.ts";
import { mergeJsonEnvironment } from "./merge-json-environment.ts";
import { mergeToml } from "./merge-toml.ts";

export interface Access {
  /** Address of the proxy, without a path for a version. */
  readonly url: string;
  /** Null: the key is left as it is. */
  readonly key: string | null;
  /** Null: the client chooses. */
  readonly model: string | null;
}

export interface Client {
  readonly title: string;
  readonly file: () => string;
  /** The file for one project; null if the client has none. */
  readonly projectFile: string | null;
  /** Whether the model is a setting. SDKs get it with each request. */
  readonly hasModel: boolean;
  /** Returns the text of the file with these settings in it. Throws if the text is not understood. */
  readonly merge: (before: string, access: Access) => string;
  /** What else the user has to know. */
  readonly notes: readonly string[];
}

type Variables = (access: Access) => Readonly<Record<string, string | null>>;

/** The environment variable with the key. Codex reads keys from the environment only. */
const CODEX_KEY_VARIABLE = "GATEHOUSE_KEY";

const openaiVariables: Variables = ({ url, key }) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key });
const anthropicVariables: Variables = ({ url, key }) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key });

function sdk(title: string, variables: Variables, notes: readonly string[] = []): Client {
  return {
    title,
    file: () => ".env",
    projectFile: null,
    hasModel: false,
    merge: (before, access) => mergeDotenv(before, present(variables(access))),
    notes: ["do not commit a file that contains a key", ...notes],
  };
}

const claudeCode: Client = {
  title: "Claude Code",
  file: () => join(process.env["CLAUDE_CONFIG_DIR"] ?? join(home(), ".claude"), "settings.json"),
  projectFile: join(".claude", "settings.local.json"),
  hasModel: true,
  merge: (before, { url, key, model }) =>
    mergeJsonEnvironment(
      before,
      present({
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_AUTH_TOKEN: key,
        ANTHROPIC_MODEL: model,
        // The model of background tasks.
        ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      }),
    ),
  notes: ["do not set ANTHROPIC_API_KEY as well: Claude Code would send both keys"],
};

const codex: Client = {
  title: "Codex",
  file: () => join(process.env["CODEX_HOME"] ?? join(home(), ".codex"), "config.toml"),
  projectFile: null,
  hasModel: true,
  merge: (before, { url, model }) =>
    mergeToml(before, {
      root: present({ model, model_provider: "gatehouse" }),
      table: ["model_providers", "gatehouse"],
      fields: {
        name: "Gatehouse",
        base_url: `${url}/v1`,
        env_key: CODEX_KEY_VARIABLE,
        wire_api: "responses",
      },
    }),
  notes: [`set the environment variable ${CODEX_KEY_VARIABLE} to the API key; the file does not contain it`],
};

const aiSdk = sdk(
  "the Vercel AI SDK",
  (access) => ({
    ...openaiVariables(access),
    ...anthropicVariables(access),
    // Other than that of Anthropic's SDKs, the base URL of this provider includes the version.
    ANTHROPIC_BASE_URL: `${access.url}/v1`,
  }),
  ["set providerOptions.openai.store to false: the gateway stores no responses for targets of other formats"],
);

/** By the name on the command line. */
export const CLIENTS: Readonly<Record<string, Client>> = {
  "claude-code": claudeCode,
  codex,
  openai: sdk("the SDKs of OpenAI", openaiVariables),
  anthropic: sdk("the SDKs of Anthropic", anthropicVariables),
  langchain: sdk("LangChain", (access) => ({ ...openaiVariables(access), ...anthropicVariables(access) })),
  "ai-sdk": aiSdk,
};

function present(values: Readonly<Record<string, string | null>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  );
}

function home(): string {
  return process.env["HOME"] ?? homedir();
}
