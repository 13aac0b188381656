// Explains whether a copy of a request would be sent to the mirror of its virtual model.
import { hasSideEffects } from "../formats/side-effects.ts";
import type { ExplainedVirtualModel } from "../model/explanation.ts";
import { LARGE_BODY_BYTES } from "../off-loop/large-body.ts";
import { encodeRequest, type EncodeParts } from "../proxy/encode.ts";
import type { Exchange } from "../proxy/exchange.ts";
import { storesByDefault } from "../proxy/hedging/hedgeable.ts";
import { copyOf, isInMirroredShare } from "../proxy/mirroring/copy-of.ts";
import { isCopyable, mirrorTargets } from "../proxy/mirroring/mirrorable.ts";
import { isUntranslatable } from "../proxy/untranslatable.ts";
import type { VirtualRoute } from "../proxy/virtual-models/virtual-route.ts";
import type { CompiledMirror } from "../snapshot/compile-mirror.ts";

/** Budgets and the number of copies in progress are not considered. */
export function explainMirror(
  exchange: Exchange,
  route: VirtualRoute,
  parts: EncodeParts,
): ExplainedVirtualModel["mirror"] {
  const { mirror } = route.model;
  if (mirror === null) return null;
  const { share } = mirror;
  const problem = problemOf(exchange, route, mirror, parts);
  const isDecided = share === 1 || exchange.request.headers.has("x-request-id");
  const isInShare = isDecided ? isInMirroredShare(exchange, route) : null;
  return {
    upstream: mirror.upstream.name,
    model: mirror.model ?? route.chain[0]?.name ?? route.requested,
    share,
    copied: problem === null ? isInShare : false,
    reason:
      problem ??
      (isInShare === null
        ? "the id of the request decides; send X-Request-Id to see its decision"
        : isInShare
          ? "the mirror gets a copy of this request"
          : "the request is not in the share"),
  };
}

/** Returns why no copy is sent, whatever the id of the request is. */
function problemOf(
  exchange: Exchange,
  route: VirtualRoute,
  mirror: CompiledMirror,
  parts: EncodeParts,
): string | null {
  const { rule, body } = exchange;
  if (rule === null || body === null || !isCopyable(exchange))
    return "the request names stored objects, or its body is not a JSON object";
  const copy = copyOf(exchange, route, rule, mirror, parts.ownCredentials);
  if (copy.rule === null) return null;
  const targets = mirrorTargets(copy, copy.rule, mirror, parts.ownCredentials);
  if ("message" in targets) return targets.message;
  const [index = 0] = targets;
  const target = copy.rule.upstream.targets[index];
  if (body.bytes.byteLength > LARGE_BODY_BYTES || target === undefined) return null;
  if (body.json !== null && hasSideEffects(body.json, storesByDefault(copy, copy.rule, targets)))
    return "it would be stored, run in the background, or use tools of the provider";
  try {
    encodeRequest(copy, copy.rule, target, parts);
    return null;
  } catch (error) {
    if (isUntranslatable(error)) return error.message;
    throw error;
  }
}
