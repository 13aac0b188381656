// Everything that serves requests to MCP services: the code that is loaded on demand, and the state that outlives requests.
import type { Clock } from "../../base/clock.ts";
import { isParsedObject } from "../../base/raw-json.ts";
import { isPromise, type ValueOrPromise } from "../../base/value-or-promise.ts";
import type { OffLoop } from "../../off-loop/off-loop.ts";
import { OutgoingResponse } from "../../http/server/outgoing-response.ts";
import { ClientSessions } from "../../mcp/client-sessions.ts";
import type { CompiledMcpService } from "../../mcp/compiled.ts";
import { ConversationKeys, type Conversation } from "../../mcp/conversation-keys.ts";
import { errorText, isRpcId, RpcError } from "../../mcp/json-rpc.ts";
import { McpEndpoint, type EndpointParts } from "../../mcp/mcp-endpoint.ts";
import type { TokenVerifier } from "../../mcp/tokens/token-verifier.ts";
import type { CompiledGateway } from "../../snapshot/compile.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import type { Log } from "../../telemetry/log/log.ts";
import type { PermissionParts } from "../client-permission.ts";
import type { Exchange } from "../exchange.ts";
import type { FinishParts } from "../finish.ts";
import { acceptToken, type TokenParts } from "./accept-token.ts";
import { conversationOf } from "./conversation-of.ts";
import { enterMcp } from "./enter-mcp.ts";
import type { McpMessages, McpRequest } from "./mcp-request.ts";
import { OpenCalls } from "./open-calls.ts";
import { OpenQuestions } from "./open-questions.ts";
import { parseMcpBody, readMcpBody } from "./read-mcp-body.ts";
import type { ResourceParts } from "./resource-metadata.ts";
import { serveMcp, type McpParts } from "./serve-mcp.ts";

type McpServing = PermissionParts & Omit<EndpointParts, "clock"> & { readonly log: Log };

export interface McpPlaneParts {
  readonly secret: string;
  readonly clock: Clock;
  /** Null where requests are only explained. */
  readonly serving: McpServing | null;
  readonly isDraining: () => boolean;
}

export class McpPlane {
  readonly #parts: McpPlaneParts;
  readonly #sessions: ClientSessions;
  readonly #conversationKeys: ConversationKeys;
  readonly #calls = new OpenCalls();
  readonly #questions = new OpenQuestions();
  readonly #endpoint: McpEndpoint | null;
  #verifier: Promise<TokenVerifier> | null = null;

  constructor(parts: McpPlaneParts) {
    this.#parts = parts;
    this.#sessions = new ClientSessions(parts.secret, parts.clock);
    this.#conversationKeys = new ConversationKeys(parts.secret);
    const { serving } = parts;
    this.#endpoint = serving === null ? null : new McpEndpoint({ ...serving, clock: parts.clock });
  }

  /** Sets the client of a request with a token. Throws 401 if the request has no valid credential and needs one. */
  authenticate(
    exchange: Exchange,
    gateway: CompiledGateway,
    rule: CompiledRule,
    parts: TokenParts,
  ): Promise<null> {
    const endpoint = { gateway, rule, issuers: rule.jwtIssuers ?? [] };
    return acceptToken(exchange, endpoint, parts, () => this.#loadVerifier());
  }

  enter(exchange: Exchange, parts: ResourceParts): null {
    return enterMcp(exchange, parts);
  }

  /** Returns the response to a body with an invalid message, or null. Reads a body once, unless a plugin has replaced it. */
  read(
    exchange: Exchange,
    service: CompiledMcpService,
    offLoop: OffLoop,
  ): ValueOrPromise<OutgoingResponse | null> {
    const { mcp, body, method } = exchange;
    if (mcp === null || method !== "POST" || (mcp.content !== null && mcp.body === body)) return null;
    mcp.body = body;
    const value = parseMcpBody(exchange, offLoop);
    return isPromise(value)
      ? value.then((parsed) => this.#take(exchange, mcp, service, parsed))
      : this.#take(exchange, mcp, service, value);
  }

  #take(
    exchange: Exchange,
    mcp: McpRequest,
    service: CompiledMcpService,
    value: unknown,
  ): OutgoingResponse | null {
    try {
      const content = (mcp.content = readMcpBody(exchange, service, this.#sessions, value));
      const { session } = content;
      let conversation: Conversation | null = null;
      mcp.conversationKey ??= (plugin) => {
        conversation ??= conversationOf(exchange, service, session);
        return this.#conversationKeys.keyOf(conversation, plugin);
      };
      mcp.askedBy ??= this.#askedBy(exchange, content);
      return null;
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      mcp.ended("refused", error.code);
      return rpcErrorResponse(exchange, error, value);
    }
  }

  /** A message of a batch belongs to the batch. */
  #askedBy(exchange: Exchange, { messages: [message], isBatch, session }: McpMessages): Exchange | null {
    if (message?.kind !== "response" || isBatch || session === null || typeof message.id !== "string")
      return null;
    return this.#questions.callOf(exchange, message.id);
  }

  /** Resolves to null where requests are only explained. The code is loaded with the first token. */
  async #loadVerifier(): Promise<TokenVerifier | null> {
    const { serving, clock } = this.#parts;
    if (serving === null) return null;
    this.#verifier ??= import("../../mcp/tokens/token-verifier.ts").then(
      ({ TokenVerifier: Verifier }) => new Verifier(serving.upstream, clock, serving.log),
    );
    return this.#verifier;
  }

  /** Serves a request after all steps. Also ends the exchange, exactly once. */
  serve(
    exchange: Exchange,
    service: CompiledMcpService,
    finishParts: FinishParts,
  ): Promise<OutgoingResponse> {
    const { mcp } = exchange;
    const { serving } = this.#parts;
    if (mcp === null || this.#endpoint === null || serving === null)
      throw new Error("the request was not prepared for an MCP service");
    const parts: McpParts = {
      ...finishParts,
      mcp: this.#endpoint,
      mcpSessions: this.#sessions,
      mcpCalls: this.#calls,
      mcpQuestions: this.#questions,
      current: serving.current,
      requireApiKey: serving.requireApiKey,
      isDraining: this.#parts.isDraining,
    };
    return serveMcp(exchange, mcp, service, parts);
  }
}

function rpcErrorResponse(exchange: Exchange, error: RpcError, value: unknown): OutgoingResponse {
  exchange.errorCode = "mcp_error";
  const id = isParsedObject(value) ? value["id"] : null;
  const headers = { "Content-Type": "application/json", "X-Request-Id": exchange.requestId };
  const status = error.httpStatus;
  return new OutgoingResponse(errorText(isRpcId(id) ? id : null, error.toObject()), { status, headers });
}
