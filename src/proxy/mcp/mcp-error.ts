// Errors of the gateway as clients of MCP services get them: as JSON-RPC errors, with the gateway's own code in `data`.
import { GatehouseError } from "../../base/errors.ts";
import type { RpcErrorObject } from "../../mcp/json-rpc.ts";
import type { Exchange } from "../exchange.ts";
import { RejectedText } from "../texts/text-rejection.ts";

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
export function rpcErrorBody(error: ErrorBody, { mcp }: Exchange): object {
  const [first] = mcp?.content?.messages ?? [];
  const id = mcp?.content?.isBatch === false && first?.kind === "request" ? first.id : null;
  return { jsonrpc: "2.0", id, error: rpcErrorOf(error) };
}

export function rpcErrorOf({ error: message, code, ...details }: ErrorBody): RpcErrorObject {
  const rpcCode = Object.hasOwn(CODES, code) ? CODES[code] : undefined;
  return { code: rpcCode ?? OTHER_CODE, message, data: { code, ...details } };
}

/** Why a client does not get a message: the decision of a plugin, or an error for which no plugin could inspect it. */
interface KnownRefusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

/** Returns null for an error that clients learn nothing about. */
export function knownRefusal(error: unknown): KnownRefusal | null {
  if (error instanceof RejectedText) return error.rejection;
  return error instanceof GatehouseError ? error : null;
}
