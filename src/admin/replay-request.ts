// Makes the input of an explanation from a record of the request log, and says what it had to assume.
import { isJsonObject, isJsonText, type JsonObject } from "../base/json.ts";
import type { Operation } from "../formats/operations.ts";
import { statelessMessage } from "../mcp/stateless-message.ts";
import type { Replay } from "../model/explanation.ts";
import type { RequestRecord } from "../telemetry/requests/request-record.ts";

interface ReplayedRequest {
  readonly request: Replay["request"];
  readonly notRecorded: string[];
}

const TEXT = "(not recorded)";
const MESSAGES = [{ role: "user", content: TEXT }];
const ASSUMED_ADDRESS = "127.0.0.1";

/** Stands in for a body that was not recorded: the least that each operation needs, without the model. */
const STAND_INS: Readonly<Partial<Record<Operation, object>>> = {
  chat: { messages: MESSAGES },
  messages: { max_tokens: 1024, messages: MESSAGES },
  count_tokens: { messages: MESSAGES },
  responses: { input: TEXT },
  generate_content: { contents: [{ role: "user", parts: [{ text: TEXT }] }] },
  completions: { prompt: TEXT },
  embeddings: { input: TEXT },
  moderations: { input: TEXT },
  images: { prompt: TEXT },
  audio_speech: { input: TEXT, voice: "alloy" },
  rerank: { query: TEXT, documents: [TEXT] },
};

const WITHOUT_BODY: ReadonlySet<string> = new Set(["GET", "HEAD", "DELETE", "OPTIONS"]);

/** `ruleHeaders` are those that the rule of the record requires: the request had them, or the rule would not have matched. */
export function replayOf(
  record: RequestRecord,
  ruleHeaders: Readonly<Record<string, string>>,
  currentRevision: number,
): ReplayedRequest {
  const notRecorded = [
    "The Host, the query, and the request headers were not recorded" +
      (Object.keys(ruleHeaders).length === 0 ? "." : "; those that the rule requires are assumed.") +
      " Plugins and limits that depend on them may decide differently.",
    `The client address was not recorded; ${ASSUMED_ADDRESS} is assumed.`,
  ];
  const message = mcpMessageOf(record);
  const headers: Record<string, string> = { ...handshakeHeaders(record), ...message?.headers };
  for (const [name, value] of Object.entries(ruleHeaders)) headers[name] = value === "*" ? TEXT : value;
  const { body, problem } = message ?? bodyOf(record);
  if (problem !== null) notRecorded.push(problem);
  if (body !== null) headers["Content-Type"] ??= "application/json";
  if (record.revision !== currentRevision)
    notRecorded.push(
      `The configuration was changed since: the request used revision ${record.revision}, the explanation uses revision ${currentRevision}.`,
    );
  return {
    request: {
      method: record.method,
      path: record.path + queryOf(record),
      headers,
      ...(record.api_key !== null && { api_key: record.api_key.id }),
      ...(body !== null && { body }),
      client_address: ASSUMED_ADDRESS,
    },
    notRecorded,
  };
}

interface ReplayedBody {
  readonly body: string | null;
  /** Why it is not the body that was sent; null if it is. */
  readonly problem: string | null;
}

/** A request to an MCP service is replayed without its session, whose id was not recorded. Returns null for other requests. */
function mcpMessageOf(
  record: RequestRecord,
): (ReplayedBody & { readonly headers: Readonly<Record<string, string>> }) | null {
  // Records of nodes of an older version have no `mcp`.
  const { method = null, tool = null } = record.mcp ?? {};
  if (method === null) return null;
  const recorded = recordedParams(record.bodies?.request);
  const params = recorded ?? (tool === null ? {} : { name: tool, arguments: {} });
  const problem =
    recorded === null
      ? "The params of the MCP request were not recorded; those of the called tool are assumed."
      : null;
  return { ...statelessMessage(method, params), problem };
}

function recordedParams(body: string | undefined): JsonObject | null {
  try {
    const message: unknown = JSON.parse(body ?? "");
    const params = isJsonObject(message) ? message["params"] : null;
    return isJsonObject(params) ? params : null;
  } catch {
    return null;
  }
}

function bodyOf(record: RequestRecord): ReplayedBody {
  if (WITHOUT_BODY.has(record.method)) return { body: null, problem: null };
  const recorded = record.bodies?.request;
  if (recorded !== undefined && (recorded === "" || isJsonText(recorded)))
    return {
      body: recorded === "" ? null : recorded,
      problem: recorded.includes("***") ? "Secrets in the recorded body are masked." : null,
    };
  const standIn = standInFor(record);
  const reason =
    recorded === undefined
      ? "The body was not recorded, because log_bodies of the gateway is off"
      : recorded.endsWith("…")
        ? "The recorded body is truncated"
        : "The recorded body is not JSON";
  const rest = standIn === null ? "none is sent." : "one with the recorded model is assumed.";
  return { body: standIn, problem: `${reason}; ${rest}` };
}

function standInFor({ operation, requested_model: model, stream, path }: RequestRecord): string | null {
  const fields = operation === null ? undefined : STAND_INS[operation];
  if (fields === undefined && model === null) return null;
  // The path of Gemini's API names the model and whether the response is a stream.
  const isInPath = path.includes(":");
  return JSON.stringify({
    ...(model !== null && !isInPath && { model }),
    ...fields,
    ...(stream && !isInPath && { stream: true }),
  });
}

/** A WebSocket names its model in the query. */
function queryOf(record: RequestRecord): string {
  const { requested_model: model } = record;
  return isWebSocket(record) && model !== null ? `?model=${encodeURIComponent(model)}` : "";
}

function handshakeHeaders(record: RequestRecord): Readonly<Record<string, string>> {
  if (!isWebSocket(record)) return {};
  const key = Buffer.alloc(16).toString("base64");
  return {
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": key,
  };
}

function isWebSocket({ status }: RequestRecord): boolean {
  return status === 101;
}
