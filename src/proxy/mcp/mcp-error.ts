// Errors of the gateway as clients of MCP services get them: as JSON-RPC errors, with the gateway's own code in `data`.
import type { Exchange } from "../exchange.ts";

interface ErrorBody {
  readonly error: string;
  readonly code: string;
  readonly request_id?: string;
}

/** JSON-RPC has codes of its own for what is wrong with a message. */
const CODES: Readonly<Record<string, number>> = {
  invalid_json: -32700,
  bad_request: -32600,
  internal_error: -32603,
};
/** The first of the codes that JSON-RPC leaves to implementations. */
const OTHER_CODE = -32000;

/** Returns the body of an error response. */
export function rpcErrorBody({ error: message, code, ...details }: ErrorBody, { mcp }: Exchange): object {
  const [first] = mcp?.content?.messages ?? [];
  const id = mcp?.content?.isBatch === false && first?.kind === "request" ? first.id : null;
  const rpcCode = Object.hasOwn(CODES, code) ? CODES[code] : OTHER_CODE;
  return { jsonrpc: "2.0", id, error: { code: rpcCode, message, data: { code, ...details } } };
}
