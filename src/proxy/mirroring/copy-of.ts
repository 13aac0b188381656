// The copy of a request for the mirror of its virtual model: an exchange of its own, which no client waits for.
import { isInShare } from "../../balance/share-hash.ts";
import { newId } from "../../base/ids.ts";
import type { CompiledMirror } from "../../snapshot/compile-mirror.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import { RequestTrace } from "../../telemetry/traces/request-trace.ts";
import { Exchange } from "../exchange.ts";
import { forwardedHeaders } from "../header-filter.ts";
import { endpointOf } from "../operation.ts";
import type { OwnCredentials } from "../own-credentials.ts";
import type { VirtualRoute } from "../virtual-models/virtual-route.ts";

/** A provider that gets the same key twice may return the response of the first request, or an error. */
const IDEMPOTENCY_HEADERS = ["idempotency-key", "x-idempotency-key"];

/** The rules are kept, because telemetry has series per compiled rule. */
const RULES = new WeakMap<CompiledRule, WeakMap<CompiledMirror, CompiledRule>>();

/** By the id of the request: with that of its client, explain decides like the request. */
export function isInMirroredShare({ requestId }: Exchange, { model }: VirtualRoute): boolean {
  return model.mirror !== null && isInShare(requestId, `mirror ${model.id}`, model.mirror.share);
}

/** Call before the body of the request is released. */
export function copyOf(
  exchange: Exchange,
  route: VirtualRoute,
  rule: CompiledRule,
  mirror: CompiledMirror,
  ownCredentials: OwnCredentials,
): Exchange {
  const { request, snapshot, clock, trace, fields, sentHeaders } = exchange;
  const copy = new Exchange(request, snapshot, newId(), clock);
  copy.mirrorOf = exchange.requestId;
  copy.clientAddress = exchange.clientAddress;
  copy.apiKey = exchange.apiKey;
  copy.gateway = exchange.gateway;
  copy.body = exchange.body;
  copy.knownSize = exchange.knownSize;
  copy.sentPath = exchange.sentPath;
  copy.sentQuery = exchange.sentQuery;
  copy.sentHeaders = { ...(sentHeaders ?? forwardedHeaders(request.headers, ownCredentials)) };
  for (const name of IDEMPOTENCY_HEADERS) Reflect.deleteProperty(copy.sentHeaders, name);
  const name = mirror.model ?? route.chain[0]?.name ?? fields.model;
  copy.fields = { ...fields, model: name };
  copy.rule = mirrorRule(rule, mirror);
  copy.endpoint = exchange.endpoint ?? endpointOf(copy, copy.rule);
  if (trace !== null) copy.trace = new RequestTrace(trace.traceId, trace.spanId, trace.state);
  return copy;
}

/** Without virtual models: the name that the mirror gets may be that of one. */
function mirrorRule(rule: CompiledRule, mirror: CompiledMirror): CompiledRule {
  let rules = RULES.get(rule);
  if (rules === undefined) RULES.set(rule, (rules = new WeakMap()));
  let made = rules.get(mirror);
  if (made === undefined)
    rules.set(mirror, (made = { ...rule, upstream: mirror.upstream, virtualModels: null }));
  return made;
}
