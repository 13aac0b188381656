// The context of final_request hooks: reads the request that is about to be sent, and may reuse the response of an earlier one.
import { BoundedCache } from "../../base/bounded-cache.ts";
import type { ValueOrPromise } from "../../base/value-or-promise.ts";
import type { Format } from "../../formats/format.ts";
import { endpointIn } from "../../formats/operations.ts";
import { isLargeBody } from "../../off-loop/large-body.ts";
import type { FinalRequestContext, ReadonlyHeaders, ReuseRequest } from "../../sdk/index.ts";
import type { OffLoopPart } from "../../off-loop/off-loop.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import { NO_HEADERS, RecordHeaders } from "../header-views.ts";
import { isRepeatable, storesAt } from "../hedging/hedgeable.ts";
import type { PluginCall } from "../plugin-call.ts";
import { PreRequestContext } from "../pre-request-context.ts";
import { endpointAt, type RequestEndpoint } from "../request-endpoint.ts";
import { hasTrustedUser } from "../user-of.ts";

/** A target that may get the request. */
export interface PossibleTarget {
  readonly rule: CompiledRule;
  readonly index: number;
}

/** Whether bodies have side effects, by their digest: finding out means parsing them. */
const knownEffects = new BoundedCache<string, boolean>(4000);
/** As `knownEffects`, for bodies whose target stores responses unless they say otherwise. */
const knownStoredEffects = new BoundedCache<string, boolean>(4000);

const UNCHANGEABLE = "a request cannot be changed when all plugins have run";

export class FinalContext extends PreRequestContext implements FinalRequestContext {
  readonly models: readonly (string | null)[];
  readonly #call: PluginCall;
  readonly #targets: readonly PossibleTarget[];
  readonly #parts: OffLoopPart;
  /** Undefined until it is needed. */
  #endpoint: RequestEndpoint | null | undefined = undefined;
  #reused: ReuseRequest | null = null;

  constructor(
    call: PluginCall,
    models: readonly (string | null)[],
    targets: readonly PossibleTarget[],
    parts: OffLoopPart,
  ) {
    super(call);
    this.#call = call;
    this.models = models;
    this.#targets = targets;
    this.#parts = parts;
  }

  /** What the hook passed to `reuse`; null if it did not call it. */
  get reused(): ReuseRequest | null {
    return this.#reused;
  }
  get operation(): string | null {
    const { endpoint, fields } = this.#call.exchange;
    if (endpoint !== null) return endpoint.operation;
    const path = this.#firstEndpoint()?.path;
    const found = path === undefined ? null : endpointIn(path);
    return found?.operation ?? (fields.hasMessages ? "chat" : null);
  }
  get format(): string {
    const endpoint = this.#firstEndpoint();
    return (endpoint?.responseFormat ?? endpoint?.format)?.name ?? "";
  }
  get wantsStream(): boolean {
    return this.#call.exchange.fields.wantsStream;
  }
  get bodyDigest(): string | null {
    return this.#call.exchange.body?.digest ?? null;
  }
  get hasTrustedUser(): boolean {
    return hasTrustedUser(this.#call.exchange);
  }
  get formatHeaders(): ReadonlyHeaders {
    const endpoint = this.#firstEndpoint();
    if (endpoint === null) return NO_HEADERS;
    const { sentHeaders, request } = this.#call.exchange;
    // Most requests have none; then it need not be determined which headers are forwarded.
    if (sentHeaders === null && !hasOwnHeader(request.headers.names, endpoint)) return NO_HEADERS;
    const own = [...this.forwardedHeaders.entries()].filter(([name]) => isOwnHeader(name, endpoint));
    return new RecordHeaders(Object.fromEntries(own));
  }
  hasSideEffects(): ValueOrPromise<boolean> {
    const { exchange } = this.#call;
    if (exchange.storedAt !== null || exchange.handshake !== null || exchange.upload !== null) return true;
    const [first] = this.#targets;
    if (first === undefined) return true;
    // One task for all: the targets differ only in whether they store responses by default.
    const storing = this.#targets.find((target) => this.#stores(target));
    const { body } = exchange;
    if (body === null || isLargeBody(body.bytes)) return this.#findEffects(storing ?? first);
    const knownOnes = storing === undefined ? knownEffects : knownStoredEffects;
    const known = knownOnes.get(body.digest);
    if (known !== undefined) return known;
    const found = this.#findEffects(storing ?? first);
    if (typeof found === "boolean") knownOnes.set(body.digest, found);
    return found;
  }
  reuse(request: ReuseRequest): void {
    this.#reused = request;
  }
  override setHeader(): never {
    throw new Error(UNCHANGEABLE);
  }
  override removeHeader(): never {
    throw new Error(UNCHANGEABLE);
  }
  override setPath(): never {
    throw new Error(UNCHANGEABLE);
  }
  override setQuery(): never {
    throw new Error(UNCHANGEABLE);
  }
  override replaceBody(): never {
    throw new Error(UNCHANGEABLE);
  }

  /** Whether the target stores the response unless the request says otherwise. */
  #stores(target: PossibleTarget): boolean {
    const endpoint = target === this.#targets[0] ? this.#firstEndpoint() : this.#endpointAt(target);
    return endpoint !== null && storesAt(endpoint);
  }

  #findEffects({ rule, index }: PossibleTarget): ValueOrPromise<boolean> {
    const repeatable = isRepeatable(this.#call.exchange, rule, [index], this.#parts);
    return typeof repeatable === "boolean" ? !repeatable : repeatable.then((is) => !is);
  }

  /** That of the first target that may get the request. */
  #firstEndpoint(): RequestEndpoint | null {
    if (this.#endpoint !== undefined) return this.#endpoint;
    const [first] = this.#targets;
    const found = first === undefined ? null : this.#endpointAt(first);
    this.#endpoint = found;
    return found;
  }

  #endpointAt({ rule, index }: PossibleTarget): RequestEndpoint | null {
    const target = rule.upstream.targets[index];
    return target === undefined ? null : endpointAt(this.#call.exchange, rule, target);
  }
}

function hasOwnHeader(names: readonly string[], endpoint: RequestEndpoint): boolean {
  for (const name of names) if (isOwnHeader(name, endpoint)) return true;
  return false;
}

/** Whether the header belongs to the API of a format of the request or the response. */
function isOwnHeader(name: string, { format, requestFormat, responseFormat }: RequestEndpoint): boolean {
  return hasPrefix(name, format) || hasPrefix(name, requestFormat) || hasPrefix(name, responseFormat);
}

function hasPrefix(name: string, format: Format | null): boolean {
  const prefix = format?.ownHeaderPrefix ?? null;
  return prefix !== null && name.startsWith(prefix);
}
