// Writes an error that the gateway or a plugin returns in the format that the rule or the gateway selects (`error_format`).
import type { ErrorFormat } from "../formats/gateway-error.ts";
import { endpointIn } from "../formats/operations.ts";
import { formatNamed, formatOfClient } from "../formats/registry.ts";
import type { CompiledGateway } from "../snapshot/compile.ts";
import type { Exchange } from "./exchange.ts";
import { rpcErrorBody } from "./mcp/mcp-error.ts";

/** A body in the gateway's own error format. */
interface ErrorBody {
  readonly error: string;
  readonly code: string;
  readonly request_id?: string;
  readonly details?: unknown;
}

/**
 * Returns the body to send for an error in the gateway's own format. The same body if that is the selected format. `gateway` may
 * be given although the request has none yet, for example with an unknown key.
 */
export function inErrorFormat(
  body: ErrorBody,
  status: number,
  exchange: Exchange,
  gateway: CompiledGateway | null = exchange.gateway,
): object {
  if (exchange.rule !== null && exchange.rule.mcp !== null) return rpcErrorBody(body, exchange);
  const { path, request, requestId } = exchange;
  const selected = errorFormatFor(exchange, gateway) ?? formatWithoutGateway(path);
  if (selected === "gatehouse") return body;
  const isAuto = selected === "auto" || selected === "marks";
  const format = isAuto ? formatOfClient(path, request.headers) : formatNamed(selected);
  const { error: message, code, details } = body;
  const encoded = format.encodeError({ status, message, code, field: fieldOf(details), requestId });
  return selected === "marks" ? { ...encoded, code, request_id: requestId } : encoded;
}

/** Whether the body is in the gateway's own error format, which built-in plugins use. */
export function isErrorBody(body: unknown): body is ErrorBody {
  return (
    typeof body === "object" &&
    body !== null &&
    "error" in body &&
    typeof body.error === "string" &&
    "code" in body &&
    typeof body.code === "string"
  );
}

/** If no gateway is known, the only one decides. Null if there are several, or none. */
function errorFormatFor({ rule, snapshot }: Exchange, gateway: CompiledGateway | null): ErrorFormat | null {
  return rule?.rule.error_format ?? (gateway ?? snapshot.onlyGateway)?.gateway.error_format ?? null;
}

/**
 * Without a gateway, the path of an operation marks the request of an SDK: "marks" is the format of the request, with
 * the fields of the gateway's own format in it, which programs read as before.
 */
function formatWithoutGateway(path: string): "marks" | "gatehouse" {
  return endpointIn(path) === null ? "gatehouse" : "marks";
}

/** Returns the path of the first detail. */
function fieldOf(details: unknown): string | null {
  const first: unknown = Array.isArray(details) ? details[0] : null;
  if (typeof first !== "object" || first === null || !("path" in first)) return null;
  return typeof first.path === "string" && first.path !== "" ? first.path : null;
}
