// What setting up a target of each known provider needs besides its APIs: title, group, form of its address and credential, and
// a request that costs nothing.
import type { FormatName } from "./format-names.ts";
import { apisOf, isKnownProvider, providerNamed, type Provider, type ProviderApi } from "./providers.ts";
import { CHAT_OPERATIONS } from "./operations.ts";
import { formatNamed } from "./registry.ts";

export const PROVIDER_GROUPS = ["model_maker", "cloud", "aggregator", "self_hosted"] as const;
export const SETUP_CREDENTIAL_TYPES = ["header", "aws_sigv4", "azure_client"] as const;

interface KeyHeader {
  readonly name: string;
  /** The part of the value before the key. */
  readonly prefix: string;
}

interface ProviderSetup {
  readonly title: string;
  readonly group: (typeof PROVIDER_GROUPS)[number];
  /** For providers where each customer has a different URL. */
  readonly base_url_example: string | null;
  /** The types of credentials that the provider accepts, the usual one first; empty: it usually needs none. */
  readonly credential_types: readonly (typeof SETUP_CREDENTIAL_TYPES)[number][];
  /** The header for an API key. */
  readonly key_header: KeyHeader;
}

interface SetupRow extends ProviderSetup {
  /** A free request for providers whose list of models is public or in another API. Undefined: the list of models. */
  readonly freePath?: string;
}

const BEARER: KeyHeader = { name: "Authorization", prefix: "Bearer " };

function row(title: string, group: SetupRow["group"], further: Partial<SetupRow> = {}): SetupRow {
  return {
    title,
    group,
    base_url_example: null,
    credential_types: ["header"],
    key_header: BEARER,
    ...further,
  };
}

const ROWS: ReadonlyMap<string, SetupRow> = new Map([
  ["openai", row("OpenAI", "model_maker")],
  ["anthropic", row("Anthropic", "model_maker", { key_header: { name: "x-api-key", prefix: "" } })],
  ["google", row("Google Gemini", "model_maker")],
  ["mistral", row("Mistral AI", "model_maker")],
  ["deepseek", row("DeepSeek", "model_maker")],
  ["xai", row("xAI", "model_maker")],
  ["cohere", row("Cohere", "model_maker", { freePath: "/v1/models" })],
  ["perplexity", row("Perplexity", "model_maker")],
  [
    "azure",
    row("Azure OpenAI", "cloud", {
      base_url_example: "https://my-resource.openai.azure.com",
      credential_types: ["header", "azure_client"],
      key_header: { name: "api-key", prefix: "" },
    }),
  ],
  [
    "bedrock",
    row("Amazon Bedrock", "cloud", {
      base_url_example: "https://bedrock-runtime.us-east-1.amazonaws.com",
      credential_types: ["aws_sigv4", "header"],
    }),
  ],
  ["openrouter", row("OpenRouter", "aggregator", { freePath: "/api/v1/key" })],
  ["groq", row("Groq", "aggregator")],
  ["together", row("Together AI", "aggregator")],
  ["fireworks", row("Fireworks AI", "aggregator")],
  [
    "ollama",
    row("Ollama", "self_hosted", { base_url_example: "http://localhost:11434", credential_types: [] }),
  ],
  ["vllm", row("vLLM", "self_hosted", { base_url_example: "http://localhost:8000", credential_types: [] })],
]);

export function setupOf({ name }: Provider): ProviderSetup {
  return ROWS.get(name) ?? row(name, "self_hosted");
}

/** A request that checks the connection of a target and costs nothing. */
export interface ConnectionCheck {
  /** Without the path of the base URL. */
  readonly path: string;
  /**
   * What a successful response says about the credential.
   * - `credential`: it is valid.
   * - `compare`: it is valid if the same request without it is rejected.
   * - `nothing`: the provider has no free request that needs a credential.
   */
  readonly proof: "credential" | "compare" | "nothing";
}

interface CheckedTarget {
  readonly provider: string;
  readonly base_url: string | null;
  readonly path: string | null;
  readonly format: FormatName | null;
}

const MODELS = "/models";

export function connectionCheckOf({
  provider: name,
  base_url,
  path,
  format,
}: CheckedTarget): ConnectionCheck {
  const provider = providerNamed(name);
  const api = chatApiOf(provider, format);
  const chatPath = path === null || path === "" ? api.prefix + formatNamed(api.format).chatTail : path;
  const prefix = prefixOf(chatPath, api);
  const freePath = freePathOf(provider, api, prefix);
  // A GET neither creates a response nor costs tokens, whatever is at the path.
  if (freePath === null) return { path: chatPath.replaceAll("{model}", "none"), proof: "nothing" };
  // Servers at an address that the table does not have may list their models to everyone.
  const isOwnAddress = isKnownProvider(name) && (base_url === null || provider.base_url === null);
  const isHosted = setupOf(provider).group !== "self_hosted";
  return { path: freePath, proof: isOwnAddress && isHosted ? "credential" : "compare" };
}

function chatApiOf(provider: Provider, format: FormatName | null): ProviderApi {
  const api = apisOf(provider, format).find((each) => each.operations.includes(CHAT_OPERATIONS[each.format]));
  if (api === undefined) throw new Error("a provider has no chat endpoint");
  return api;
}

/** Returns the part of the path of a chat endpoint before what its format determines; null if the path has another form. */
function prefixOf(chatPath: string, { format }: ProviderApi): string | null {
  const { chatTail } = formatNamed(format);
  return chatPath.endsWith(chatTail) ? chatPath.slice(0, -chatTail.length) : null;
}

/** The key may be in a header that only one API of the provider reads, so the request is sent to the API of the target. */
function freePathOf(provider: Provider, api: ProviderApi, prefix: string | null): string | null {
  if (prefix === null) return null;
  const freePath = ROWS.get(provider.name)?.freePath;
  if (freePath !== undefined) return api.format === "anthropic" ? null : freePath;
  // The tables of these formats have no list of models, because the gateway serves it in the format of OpenAI.
  const listsModels =
    api.operations.includes("models") || api.format === "gemini" || api.format === "responses";
  return listsModels ? prefix + MODELS : null;
}
