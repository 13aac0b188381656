// The part of the table of metrics that is about MCP services.
import { REQUEST_SECONDS } from "./metric-declaration.ts";

const OUTCOMES =
  "`ok`, `tool_error` (the result has `isError`), `error` (a JSON-RPC error of the server), `unknown` (no server offers " +
  "it to the client), `refused` (by the gateway or a plugin), `failed` (the server did not respond as expected), `canceled`";

export const MCP_METRICS = {
  gatehouse_mcp_requests_total: {
    type: "counter",
    help: `Finished requests to MCP services by JSON-RPC method and outcome: ${OUTCOMES}. \`server\` is empty if the request concerns all servers or none; \`method\` is \`GET\` or \`DELETE\` for requests without a message, and \`other\` for methods that the protocol does not have.`,
    labels: ["gateway", "server", "method", "outcome"],
  },
  gatehouse_mcp_request_duration_seconds: {
    type: "histogram",
    help: "Time from the request headers to the last byte of the response, for requests to MCP services other than streams that clients keep open.",
    labels: ["gateway", "server", "method"],
    buckets: REQUEST_SECONDS,
  },
  gatehouse_mcp_tool_calls_total: {
    type: "counter",
    help: "Finished calls of MCP tools by outcome, as in `gatehouse_mcp_requests_total`. `tool` is the name that clients use; it is empty if no server offers the tool to the client.",
    labels: ["gateway", "server", "tool", "outcome"],
  },
  gatehouse_mcp_tool_call_duration_seconds: {
    type: "histogram",
    help: "Time from the request headers to the last byte of the response, for calls of MCP tools that a server offers.",
    labels: ["gateway", "server", "tool"],
    buckets: REQUEST_SECONDS,
  },
  gatehouse_mcp_server_requests_total: {
    type: "counter",
    help: "Requests for clients that were sent to MCP servers, by result: a status such as `200`, or an error such as `unreachable`. Lists that are in the cache send none.",
    labels: ["gateway", "server", "method", "result"],
  },
  gatehouse_mcp_silent_servers_total: {
    type: "counter",
    help: "How often a server was left out of a list or of a new session, because it did not respond within `timeouts.list`.",
    labels: ["gateway", "server", "method"],
  },
  gatehouse_mcp_refused_messages_total: {
    type: "counter",
    help: "Messages of MCP servers, and their parts of lists and instructions of a service, that a plugin refused while the rest of the request was served. `code` is that of the refusal.",
    labels: ["gateway", "server", "code"],
  },
  gatehouse_mcp_server_silent: {
    type: "gauge",
    help: "1 for a server that sent no response in time and is asked in the background until it does. Lists and sessions do not wait for it.",
    labels: ["gateway", "server"],
  },
  gatehouse_mcp_listed_items: {
    type: "gauge",
    help: "Items of the last list that a server sent: `list` is `tools`, `prompts`, `resources` or `resourceTemplates`. Filters are not applied.",
    labels: ["gateway", "server", "list"],
    merge: "max",
  },
  gatehouse_mcp_changed_tools: {
    type: "gauge",
    help: "Tools whose definition is not the approved one: `withheld` with `pin: hold`, else `changed`.",
    labels: ["gateway", "server", "state"],
    merge: "max",
  },
  gatehouse_mcp_sessions_total: {
    type: "counter",
    help: "Sessions of MCP clients that were `started`, `ended` (by DELETE), or `not_found`.",
    labels: ["gateway", "event"],
  },
  gatehouse_mcp_open_streams: {
    type: "gauge",
    help: "Streams of messages that MCP clients keep open: GET, and subscriptions/listen.",
    labels: ["gateway"],
  },
  gatehouse_mcp_server_sessions: {
    type: "gauge",
    help: "Sessions with MCP servers that this process keeps, for clients without sessions and for servers that joined a session later. Those of subscriptions, one per stream and server, are not counted.",
    labels: ["gateway"],
  },
} as const;
