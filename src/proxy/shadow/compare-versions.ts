// Compares what two versions of a plugin did with the same request.
import { HeaderFields } from "../../http/header-fields.ts";
import type { OutgoingResponse } from "../../http/server/outgoing-response.ts";
import type { ShadowResult } from "../../telemetry/requests/shadow-report.ts";
import type { Exchange } from "../exchange.ts";
import type { PluginParts } from "../plugin-call.ts";
import { changesSince, stateOf, type RequestState } from "../request-changes.ts";

/** The request after a version of the plugin has run, and its response if it responded. */
export interface RequestEffects {
  readonly state: RequestState;
  readonly responseHeaders: string;
  readonly response: OutgoingResponse | null;
  readonly hasFailed: boolean;
}

export function effectsOf(
  exchange: Exchange,
  response: OutgoingResponse | null,
  hasFailed: boolean,
  parts: PluginParts,
): RequestEffects {
  const headers = new HeaderFields();
  exchange.addResponseHeaders(headers);
  const responseHeaders = JSON.stringify([...headers.entries()].sort());
  return { state: stateOf(exchange, parts), responseHeaders, response, hasFailed };
}

/** Returns the names of what differs. */
export function compareRequests(expected: RequestEffects, actual: RequestEffects): string[] {
  if (expected.hasFailed || actual.hasFailed)
    return expected.hasFailed === actual.hasFailed
      ? []
      : [expected.hasFailed ? "the failure, which only the current version has" : "the failure"];
  const differences = changesSince(expected.state, actual.state);
  if (expected.responseHeaders !== actual.responseHeaders) differences.push("the response headers");
  const statuses = [expected.response?.status ?? null, actual.response?.status ?? null];
  if (statuses[0] !== statuses[1])
    differences.push(`the response (${statuses.map((status) => status ?? "none").join(" and ")})`);
  else if (!Bun.deepEquals(expected.response?.body ?? null, actual.response?.body ?? null))
    differences.push("the body of the response");
  return differences;
}

/** What both versions did differently, as the report shows it. */
export function comparison(
  { detail }: ShadowResult,
  differences: readonly string[],
): Pick<ShadowResult, "agrees" | "detail"> {
  if (differences.length === 0) return { agrees: true, detail };
  const text = `differs from the current version in ${differences.join(", ")}`;
  return { agrees: false, detail: detail === null ? text : `${text}; ${detail}` };
}
