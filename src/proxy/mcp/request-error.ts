// The error that one request of a batch gets, while the others are served.
import type { RpcErrorObject } from "../../mcp/json-rpc.ts";
import type { Log } from "../../telemetry/log/log.ts";
import type { Exchange } from "../exchange.ts";
import { toGatehouseError } from "../fail.ts";
import { knownRefusal, rpcErrorOf } from "./mcp-error.ts";

/** Converts anything that was caught, and records it. */
export function requestError(
  cause: unknown,
  exchange: Exchange,
  log: Log,
): { readonly status: number; readonly error: RpcErrorObject } {
  const { requestId } = exchange;
  const { status, code, message } = knownRefusal(cause) ?? toGatehouseError(cause, requestId, log);
  exchange.errorCode ??= code;
  return { status, error: rpcErrorOf({ error: message, code, request_id: requestId }) };
}
