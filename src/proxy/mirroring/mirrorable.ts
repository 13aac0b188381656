// Which requests are copied, and to which targets of the mirror. Serving and explain use the same rules.
import { GatehouseError } from "../../base/errors.ts";
import type { CompiledMirror } from "../../snapshot/compile-mirror.ts";
import type { CompiledTarget } from "../../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import { candidatesFor } from "../attempt.ts";
import { clientCredentials, credentialHash } from "../client-credential.ts";
import type { Exchange } from "../exchange.ts";
import { mayBeHedged } from "../hedging/hedgeable.ts";
import type { OwnCredentials } from "../own-credentials.ts";
import { priceFor } from "../price-for.ts";
import { estimateInput } from "../record-usage.ts";

/** Why no copy is sent, as a label of a metric and in words. */
interface MirrorRefusal {
  readonly reason: "unsuitable" | "unavailable";
  readonly message: string;
}

/** Whether a copy of the request could be made. The copy itself is checked by `mirrorTargets`. */
export function isCopyable({ body, storedAt, gameDay, upload, handshake, fields }: Exchange): boolean {
  // Only the target that stores the objects knows their ids, and a game day is about the requests of clients.
  if (body === null || storedAt !== null || gameDay !== null) return false;
  return upload === null && handshake === null && fields.isObject;
}

/** Returns the targets, as indexes, that may get the copy now. */
export function mirrorTargets(
  copy: Exchange,
  rule: CompiledRule,
  { clientPlan }: CompiledMirror,
  ownCredentials: OwnCredentials,
): readonly number[] | MirrorRefusal {
  try {
    const { preferred, fallback } = candidatesFor(copy, rule);
    const targets = [...preferred, ...fallback].flatMap((index) => rule.upstream.targets[index] ?? []);
    const own = targets.filter((target) => target.hasCredential || !sendsCredential(copy, ownCredentials));
    const [first] = own;
    if (first === undefined)
      return unsuitable("the mirror has no credential, and that of the client is not used for copies");
    if (!mayBeHedged(copy, rule, first)) return unsuitable("requests of this operation are not mirrored");
    if (exceedsWindow(copy, first)) return unsuitable("the context window of the mirror is too small");
    const now = copy.clock.now();
    const available = own.flatMap(({ index }) =>
      clientPlan.state(index, now) === "healthy" && rule.upstream.plan.state(index, now) !== "resting"
        ? index
        : [],
    );
    if (rule.upstream.plan.availability(available, now) === "available") return available;
    return { reason: "unavailable", message: "no target of the mirror is available" };
  } catch (error) {
    if (error instanceof GatehouseError) return unsuitable(error.message);
    throw error;
  }
}

function unsuitable(message: string): MirrorRefusal {
  return { reason: "unsuitable", message };
}

/** A call with the client's own credential would be billed to the client. */
function sendsCredential({ request, sentHeaders, sentQuery }: Exchange, own: OwnCredentials): boolean {
  if (clientCredentials(request.headers, own).length > 0) return true;
  return credentialHash(sentHeaders ?? {}, own.removeFromQuery(sentQuery)) !== null;
}

function exceedsWindow(copy: Exchange, { forcedModel }: CompiledTarget): boolean {
  const window = priceFor(copy, forcedModel ?? copy.fields.model)?.contextWindow ?? Infinity;
  // A token has at least one byte.
  return (copy.body?.bytes.byteLength ?? 0) > window && estimateInput(copy) > window;
}
