// What a response is a response to, in the format in which the client gets it.
import { CHAT_OPERATIONS, endpointIn } from "../../formats/operations.ts";
import type { Exchange } from "../exchange.ts";
import { endpointAt } from "../request-endpoint.ts";
import type { TargetResponse } from "../target-response.ts";
import type { ResponseKind } from "./recording.ts";

/** Returns null if it is not known. A translated response is a chat response in the format of the client. */
export function responseKind(
  exchange: Exchange,
  { translation, target }: TargetResponse,
): ResponseKind | null {
  if (translation !== null) {
    const format = translation.to.name;
    return { operation: CHAT_OPERATIONS[format], format };
  }
  const { endpoint, rule, fields } = exchange;
  if (rule === null) return null;
  const { path, format } = endpointAt(exchange, rule, target);
  const operation =
    endpoint?.operation ?? endpointIn(path)?.operation ?? (fields.hasMessages ? "chat" : null);
  return operation === null ? null : { operation, format: format.name };
}
