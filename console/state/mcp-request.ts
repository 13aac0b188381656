// Sends requests of the Model Context Protocol through the data plane, without a session (protocol version 2026-07-28).
import { toError } from "../api/client.ts";
import { readEvents } from "../api/event-stream.ts";
import { parseJson } from "./chat-chunks.ts";
import { headerText, NO_OUTCOME, readMessage, type Json, type McpOutcome } from "./mcp-messages.ts";

const VERSION = "2026-07-28";
const META = "io.modelcontextprotocol/";
const MAX_RAW_CHARACTERS = 200_000;

/** A rule that leads to MCP servers, and how the client identifies itself. */
export interface McpEndpoint {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface McpRequest {
  readonly method: "tools/list" | "tools/call";
  readonly params: Json;
}

/** Calls `onUpdate` for each message of the response. Never throws: errors end up in the outcome. */
export async function sendMcp(
  { path, headers }: McpEndpoint,
  { method, params }: McpRequest,
  signal: AbortSignal,
  onUpdate: (outcome: McpOutcome) => void = () => undefined,
): Promise<McpOutcome> {
  const started = performance.now();
  let outcome = NO_OUTCOME;
  const update = (change: Partial<McpOutcome>) => {
    outcome = { ...outcome, ...change };
    onUpdate(outcome);
  };
  const add = (text: string) => {
    const raw = outcome.raw === "" ? text : `${outcome.raw}\n${text}`;
    update({ raw: raw.slice(0, MAX_RAW_CHARACTERS), ...readMessage(parseJson(text)) });
  };
  const { name } = params;
  try {
    const response = await fetch(location.origin + path, {
      method: "POST",
      headers: {
        ...headers,
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": method,
        ...(typeof name === "string" && { "Mcp-Name": headerText(name) }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: metaOf(method) } }),
      signal,
    });
    update({ status: response.status, requestId: response.headers.get("x-request-id") });
    const isStream = (response.headers.get("content-type") ?? "").includes("text/event-stream");
    if (isStream && response.body !== null) for await (const { data } of readEvents(response.body)) add(data);
    else add(await response.text());
    const isMissing = outcome.result === null && outcome.error === null;
    update({
      totalMs: performance.now() - started,
      ...(isMissing && { error: `The response has status ${response.status} and no result.` }),
    });
  } catch (error) {
    const totalMs = performance.now() - started;
    if (signal.aborted) update({ isStopped: true, totalMs });
    else update({ error: `The response ended early: ${toError(error).message}`, totalMs });
  }
  return outcome;
}

function metaOf(method: string): Json {
  return {
    [`${META}protocolVersion`]: VERSION,
    [`${META}clientCapabilities`]: {},
    [`${META}clientInfo`]: { name: "gatehouse-console", version: "1" },
    ...(method === "tools/call" && { progressToken: 1 }),
  };
}
