// Services of type `mcp` and their servers in the form that requests use.
import type { McpServer } from "../model/mcp-server.ts";
import type { RequestCredential } from "../upstream/request-credential.ts";
import type { ToolPatterns } from "./tool-patterns.ts";

export interface CompiledMcpServer {
  readonly id: string;
  readonly name: string;
  /** What precedes `__` in the names of its tools and prompts. Has no `__` and does not end in `_`. */
  readonly prefix: string;
  /** Scheme and authority of the endpoint. */
  readonly baseUrl: string;
  /** Path and query of the endpoint. */
  readonly path: string;
  /** Represents gateway, endpoint, headers, and credential. Only requests with the same key share connections. */
  readonly poolKey: string;
  /** The headers of the server followed by its credential. Names are in lower case and unique. */
  readonly headers: readonly (readonly [string, string])[];
  /** Computes or fetches the credential of each request; null if it is one of `headers`, or if there is none. */
  readonly credential: RequestCredential | null;
  /** The request header, in lower case, with a client's own credential of the server; null if clients must not send one. */
  readonly authorizationHeader: string | null;
  /** By the names that the server uses; the `tools` of API keys are matched against `prefix__name`. Null: all tools are offered. */
  readonly allow: ToolPatterns | null;
  /** Null: none is denied. */
  readonly deny: ToolPatterns | null;
  readonly pin: McpServer["pin"];
  /** Milliseconds. */
  readonly timeouts: McpServer["timeouts"];
}

export interface CompiledMcpService {
  /** Id of the service. */
  readonly id: string;
  readonly name: string;
  /** The enabled servers, in the order of the service. May be empty. */
  readonly servers: readonly CompiledMcpServer[];
  /**
   * Whether names are `prefix__name`: the service has several servers. Disabled ones count, so that disabling a server does not
   * rename the tools of the others.
   */
  readonly usesPrefixes: boolean;
}
