// Where the targets of one provider serve each operation, for targets without a `path`.
import type { FormatName } from "./format-names.ts";
import type { Format } from "./format.ts";
import { openaiModelNamed } from "./models/openai-models.ts";
import { CHAT_OPERATIONS, isChatEndpoint, type Endpoint } from "./operations.ts";
import { apisOf, type Provider, type ProviderApi } from "./providers.ts";
import { formatNamed } from "./registry.ts";

export interface ProviderEndpoint {
  readonly format: Format;
  /** The path at the provider, without the path of its base URL. */
  readonly path: string;
}

const RESPONSES: FormatName = "responses";
/** Operations whose endpoints have the same path in every API. */
const FORMATLESS: ReadonlySet<string> = new Set(["files", "models"]);

export class EndpointTable {
  static readonly #shared = new Map<string, EndpointTable>();
  readonly #apis: readonly ProviderApi[];
  /** Serves chat requests whose path names no operation. */
  readonly chat: ProviderEndpoint;
  /**
   * Serves translated requests to models that chat completions refuses tools or reasoning; null if the
   * provider lacks it.
   */
  readonly #responses: ProviderEndpoint | null;
  /** Many requests in a row have the same endpoint, and each needs it several times. */
  #lastEndpoint: Endpoint | null = null;
  #lastFound: ProviderEndpoint | null = null;

  private constructor(apis: readonly ProviderApi[]) {
    this.#apis = apis;
    const api = apis.find(hasChat);
    if (api === undefined) throw new Error("a provider has no chat endpoint");
    this.chat = chatEndpoint(api);
    const responses = apis.find((each) => each.format === RESPONSES && hasChat(each));
    this.#responses = responses === undefined ? null : chatEndpoint(responses);
  }

  /** Targets of a provider share one table. `format` is that of the target. */
  static of(provider: Provider, format: FormatName | null): EndpointTable {
    const apis = apisOf(provider, format);
    const key = JSON.stringify(apis);
    let table = EndpointTable.#shared.get(key);
    if (table === undefined) EndpointTable.#shared.set(key, (table = new EndpointTable(apis)));
    return table;
  }

  has(endpoint: Endpoint): boolean {
    return this.find(endpoint) !== null;
  }

  /** As `has`, for an operation whose path is that of several APIs. */
  hasInApi({ operation }: Endpoint, format: FormatName): boolean {
    return this.#apis.some((each) => each.format === format && each.operations.includes(operation));
  }

  /** Returns null if the provider does not have the operation. */
  find(endpoint: Endpoint): ProviderEndpoint | null {
    if (endpoint !== this.#lastEndpoint) {
      this.#lastFound = this.#search(endpoint);
      this.#lastEndpoint = endpoint;
    }
    return this.#lastFound;
  }

  /**
   * As `find`, for a request to this model: that of a translated request decides which of several endpoints
   * gets it.
   */
  findFor(endpoint: Endpoint, model: string | null): ProviderEndpoint | null {
    const found = this.find(endpoint);
    const isTranslated = found === this.chat && found.format.name !== endpoint.format;
    if (!isTranslated || this.#responses === null || model === null) return found;
    return openaiModelNamed(model)?.usesResponses === true ? this.#responses : found;
  }

  #search(endpoint: Endpoint): ProviderEndpoint | null {
    const { operation, format, tail } = endpoint;
    const api = this.#apis.find((each) => each.format === format && each.operations.includes(operation));
    if (api !== undefined) return { format: formatNamed(format), path: api.prefix + tail };
    if (FORMATLESS.has(operation)) {
      const other = this.#apis.find((each) => each.operations.includes(operation));
      return other === undefined ? null : { format: formatNamed(other.format), path: other.prefix + tail };
    }
    return isTranslatable(endpoint) ? this.chat : null;
  }
}

/** Whether a request to the endpoint is a chat request that can be translated to other formats. */
function isTranslatable(endpoint: Endpoint): boolean {
  const { inbound, chatTail } = formatNamed(endpoint.format);
  return isChatEndpoint(endpoint) && endpoint.tail === chatTail && inbound !== null;
}

function hasChat({ format, operations }: ProviderApi): boolean {
  return operations.includes(CHAT_OPERATIONS[format]);
}

function chatEndpoint({ format: name, prefix }: ProviderApi): ProviderEndpoint {
  const format = formatNamed(name);
  return { format, path: prefix + format.chatTail };
}
