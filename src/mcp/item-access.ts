// Decides what an API key or a token may use of the servers: its patterns are matched against `prefix__name` of tools and prompts, and
// against `prefix__` followed by the URI of a resource or template as the server names it.
import { objectOf, textOf, type RpcMessage, type RpcRequest } from "./json-rpc.ts";
import type { NamedItem, PublicNames } from "./public-names.ts";
import { qualifiedName, type McpServerTarget } from "./server-target.ts";
import type { ToolPatterns } from "./tool-patterns.ts";

/** Lists leave longer names and URIs out: patterns are matched against a whole one in one turn of the event loop. */
export const MAX_NAME_LENGTH = 8192;

type Names = PublicNames<McpServerTarget>;

/** A tool or prompt, or a resource, that a request names. */
export interface RequestedItem extends NamedItem<McpServerTarget> {
  readonly isUri: boolean;
}

/**
 * A server that resolves such a URI reads another resource than the one that a pattern for a part of its
 * resources matches: dot segments, also escaped ones, backslashes, which some servers take for slashes, and
 * control characters, which some remove.
 */
const AMBIGUOUS_URI = /(?:^|[/\\:])\.{1,2}(?:[/\\?#;]|$)|\\|%(?:2e|2f|5c|25|[01])|[\p{Cc} ]/iu;

/** Whether servers may read another resource in a URI than patterns do. */
export function isAmbiguousUri(uri: string): boolean {
  return AMBIGUOUS_URI.test(uri);
}

export class ItemAccess {
  readonly #patterns: ToolPatterns;

  constructor(patterns: ToolPatterns) {
    this.#patterns = patterns;
  }

  /**
   * Whether anything of the server may be used. Its lists, messages and streams are none of the client's
   * business otherwise.
   */
  mayUseServer(server: McpServerTarget): boolean {
    return this.#patterns.mayMatch(qualifiedName(server, ""));
  }

  /** Whether a tool or prompt, or a resource or template, may be used. */
  mayUse({ server, name, isUri }: RequestedItem): boolean {
    if (name.length > MAX_NAME_LENGTH || (isUri && isAmbiguousUri(name)))
      return this.#patterns.matchesAllFrom(qualifiedName(server, ""));
    return this.#patterns.matches(qualifiedName(server, name));
  }

  /** Whether everything that the messages name may be used. Messages that name nothing are allowed. */
  allows(messages: readonly RpcMessage[], names: Names): boolean {
    return messages.every((message) => {
      const item = message.kind === "request" ? itemOf(message, names) : null;
      return item === null || this.mayUse(item);
    });
  }
}

/** Returns null if the request names nothing, or something that no server of the service can have. */
export function itemOf({ method, params }: RpcRequest, names: Names): RequestedItem | null {
  const isCompletion = method === "completion/complete";
  const source = isCompletion ? (objectOf(params, "ref") ?? {}) : params;
  const isUri = isCompletion ? source["type"] !== "ref/prompt" : method.startsWith("resources/");
  const value = textOf(source, isUri ? "uri" : "name");
  if (value === null) return null;
  const found = isUri ? names.findUri(value) : names.find(value);
  return found === null ? null : { ...found, isUri };
}
