// Runs the final_request hooks, and responds with a kept response, or with one that another request is about to receive.
import { GatehouseError } from "../../base/errors.ts";
import { isPromise, type ValueOrPromise } from "../../base/value-or-promise.ts";
import type { CoarseDeadlines } from "../../http/coarse-deadlines.ts";
import { OutgoingResponse } from "../../http/server/outgoing-response.ts";
import type { OffLoopPart } from "../../off-loop/off-loop.ts";
import type { KeptResponse } from "../../runtime/responses/kept-response.ts";
import { OpenedResponses } from "../../runtime/responses/response-stores.ts";
import type { ReuseRequest } from "../../sdk/index.ts";
import type { ChainLink } from "../../snapshot/chain-link.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import { candidatesFor } from "../attempt.ts";
import { eligibleModels } from "../budgets/request-estimate.ts";
import { callHook } from "../call-hook.ts";
import type { Exchange } from "../exchange.ts";
import { PluginCall, type PluginParts } from "../plugin-call.ts";
import { requireDecisions } from "../held-decisions.ts";
import type { PluginWork } from "../plugin-work.ts";
import type { IdSeal } from "../stored-ids/id-seal.ts";
import { FinalContext, type PossibleTarget } from "./final-request-context.ts";
import type { Flight, FlightResult } from "./flight.ts";
import type { Flights } from "./flights.ts";
import { Recording } from "./recording.ts";
import { cacheStatus, relayKept, relayLive, type KeptParts } from "./relay-kept.ts";

export interface FinalParts extends PluginParts, OffLoopPart {
  readonly idSeal: IdSeal;
  readonly deadlines: CoarseDeadlines;
  /** Requests whose responses others may wait for. Null in explanations, which wait for nothing. */
  readonly flights: Flights | null;
  /** Ends the request of a stream that is relayed while another request receives it. */
  readonly endLive: KeptParts["endLive"];
}

export interface FinalRequestPart {
  /** Runs the hooks of plugins that see the request as it is sent. Returns the response of one, or null. */
  readonly runFinalRequest: (
    exchange: Exchange,
    links: readonly ChainLink[],
  ) => ValueOrPromise<OutgoingResponse | null>;
}

/** The step of a request. */
export function finishPlugins(
  exchange: Exchange,
  { runFinalRequest: run }: FinalRequestPart,
): ValueOrPromise<OutgoingResponse | null> {
  const links = exchange.gateway?.chain?.finalRequest ?? null;
  if (links === null) return null;
  const { pluginWork } = exchange;
  // A kept response is sent at once, and other requests may wait for the response to this one.
  return pluginWork === null ? run(exchange, links) : runAfterDecisions(pluginWork, exchange, links, run);
}

async function runAfterDecisions(
  pluginWork: PluginWork,
  exchange: Exchange,
  links: readonly ChainLink[],
  run: FinalRequestPart["runFinalRequest"],
): Promise<OutgoingResponse | null> {
  await requireDecisions(pluginWork);
  return run(exchange, links);
}

/** Returns the response of the first plugin that responds, or null. A promise only if one has to wait: most hits do not. */
export function runFinalRequest(
  exchange: Exchange,
  links: readonly ChainLink[],
  parts: FinalParts,
): ValueOrPromise<OutgoingResponse | null> {
  const possible = possibleTargets(exchange);
  // The request will be rejected, or the gateway itself responds.
  return possible === null ? null : runFrom(0, exchange, links, possible, parts);
}

function runFrom(
  first: number,
  exchange: Exchange,
  links: readonly ChainLink[],
  possible: Possible,
  parts: FinalParts,
): ValueOrPromise<OutgoingResponse | null> {
  for (let index = first; index < links.length; index++) {
    const link = links[index];
    const response = link === undefined ? null : runLink(exchange, link, possible, parts);
    if (isPromise(response))
      return response.then((served) => served ?? runFrom(index + 1, exchange, links, possible, parts));
    if (response !== null) return response;
  }
  return null;
}

function runLink(
  exchange: Exchange,
  link: ChainLink,
  { models, targets }: Possible,
  parts: FinalParts,
): ValueOrPromise<OutgoingResponse | null> {
  const call = new PluginCall(exchange, link, "pre_request", parts);
  const context = new FinalContext(call, models, targets, parts);
  const called = callHook(call, "final_request", context);
  return isPromise(called)
    ? called.then((response) => response ?? reuse(call, context, parts))
    : (called ?? reuse(call, context, parts));
}

function reuse(
  call: PluginCall,
  { reused }: FinalContext,
  parts: FinalParts,
): ValueOrPromise<OutgoingResponse | null> {
  if (reused === null) return null;
  const { gameDay, recording } = call.exchange;
  // What a game day does to a response must not reach other requests: no one waits for it, and it is not kept. A response is kept by one
  // plugin: by the first one.
  const isOnlyRead = gameDay !== null || recording !== null;
  return new Reuse(call, isOnlyRead ? { ...reused, coalesces: false, keeps: false } : reused, parts).run();
}

interface Possible {
  readonly models: readonly (string | null)[];
  readonly targets: readonly PossibleTarget[];
}

/** Returns the models and targets that the request may be sent to; null if there is none. */
function possibleTargets(exchange: Exchange): Possible | null {
  const { rule, route, handshake } = exchange;
  if (rule === null || handshake !== null) return null;
  try {
    const models = eligibleModels(exchange, rule);
    if (route !== null) {
      const targets = route.remaining().flatMap((leg) => {
        const { preferred, fallback } = leg.candidates;
        return [...preferred, ...fallback].map((index) => ({ rule: leg.rule, index }));
      });
      return { models, targets };
    }
    const { preferred, fallback } = candidatesFor(exchange, rule);
    const targets: PossibleTarget[] = [];
    for (const index of preferred) targets.push({ rule, index });
    for (const index of fallback) targets.push({ rule, index });
    return { models, targets };
  } catch (error) {
    // The step that sends the request reports it.
    if (error instanceof GatehouseError) return null;
    throw error;
  }
}

/** How one request reuses a response. */
class Reuse {
  readonly #call: PluginCall;
  readonly #request: ReuseRequest;
  readonly #parts: FinalParts;
  readonly #store: OpenedResponses;

  constructor(call: PluginCall, request: ReuseRequest, parts: FinalParts) {
    if (!(request.store instanceof OpenedResponses))
      throw new Error("the store was not opened with openResponses");
    this.#call = call;
    this.#request = request;
    this.#parts = parts;
    this.#store = request.store;
  }

  /** Streams with the same options are the same; null if the client does not want a stream. */
  get #streamKey(): string | null {
    const { wantsStream, streamOptions } = this.#call.exchange.fields;
    return wantsStream ? JSON.stringify(streamOptions ?? null) : null;
  }

  run(): ValueOrPromise<OutgoingResponse | null> {
    const { reads = true, coalesces = true, onlyKept = false, key } = this.#request;
    const { flights } = this.#parts;
    if (!reads) return this.#miss(null, "request");
    const isAlone = flights === null || !coalesces || onlyKept;
    const known = isAlone ? undefined : flights.find(this.#store, key);
    if (known !== undefined && !known.isRevalidating) return this.#wait(known);
    const found = this.#store.get(key);
    if (isAlone)
      return isPromise(found) ? found.then((kept) => this.#use(kept, null)) : this.#use(found, null);
    if (!isPromise(found)) return this.#useOrJoin(found, flights);
    if (known !== undefined) return found.then((kept) => this.#useOrJoin(kept, flights));
    return this.#useFound(found, flights.start(this.#store, key));
  }

  /** Others may join during the lookup: the request continues for them without its client. */
  async #useFound(found: Promise<KeptResponse | null>, flight: Flight): Promise<OutgoingResponse | null> {
    const { exchange } = this.#call;
    exchange.recording = this.#record(flight);
    exchange.onOver = () => flight.giveUp();
    const kept = await found;
    exchange.onOver = null;
    return this.#use(kept, flight);
  }

  #useOrJoin(kept: KeptResponse | null, flights: Flights): ValueOrPromise<OutgoingResponse | null> {
    if (kept !== null && this.#isFresh(kept)) return this.#hit(kept);
    const known = flights.find(this.#store, this.#request.key);
    return known === undefined
      ? this.#use(kept, flights.start(this.#store, this.#request.key))
      : this.#wait(known);
  }

  #use(kept: KeptResponse | null, flight: Flight | null): ValueOrPromise<OutgoingResponse | null> {
    if (kept === null) return this.#miss(flight, "uri-miss");
    if (!this.#isFresh(kept)) {
      flight?.revalidate(kept);
      return this.#miss(flight, "stale");
    }
    // Others that have joined during the lookup.
    flight?.complete(kept);
    return this.#hit(kept);
  }

  #keptAt(isCoalesced: boolean) {
    return { store: this.#store, key: this.#request.key, isCoalesced };
  }

  #isFresh({ keptAt }: KeptResponse): boolean {
    const { maxAgeMs } = this.#request;
    return maxAgeMs === undefined || this.#call.exchange.clock.unixNow() - keptAt <= maxAgeMs;
  }

  #hit(kept: KeptResponse): ValueOrPromise<OutgoingResponse | null> {
    const { exchange, run } = this.#call;
    const isExplained = this.#parts.flights === null;
    // An explanation runs no plugins on the response.
    const relayed = isExplained
      ? new OutgoingResponse(null, { status: kept.status })
      : relayKept(exchange, kept, this.#keptAt(false), this.#parts);
    if (relayed === null) return this.#miss(null, "uri-miss");
    run.count("hit", "", 1);
    run.describe("hit");
    run.verdict = "answered";
    if (isExplained) return relayed;
    exchange.reused = { kept, store: this.#store, isCoalesced: false, flight: null };
    return relayed;
  }

  async #wait(flight: Flight): Promise<OutgoingResponse | null> {
    const { exchange, run } = this.#call;
    const { result, leave } = flight.join(this.#streamKey, (kept) => this.#isFresh(kept));
    exchange.onOver = leave;
    let shared: FlightResult;
    try {
      shared = await (exchange.totalTimeout === null
        ? result
        : Promise.race([result, exchange.totalTimeout]));
    } finally {
      exchange.onOver = null;
      leave();
    }
    if (exchange.isOver)
      throw new UpstreamError(exchange.isClientDisconnected ? "client_left" : "total_timeout");
    const relayed =
      shared === null
        ? null
        : "reader" in shared
          ? relayLive(exchange, shared, this.#parts)
          : relayKept(exchange, shared, this.#keptAt(true), this.#parts);
    // Without a flight: what failed for one request may fail for all, and they must not wait for each other in turn.
    if (shared === null || relayed === null) return this.#miss(null, "uri-miss");
    run.count("coalesced", "", 1);
    run.describe("coalesced");
    run.verdict = "answered";
    const [kept, from] = "reader" in shared ? [null, shared.flight] : [shared, null];
    exchange.reused = { kept, store: this.#store, isCoalesced: true, flight: from };
    return relayed;
  }

  #miss(flight: Flight | null, reason: "uri-miss" | "stale" | "request"): null {
    const { exchange, run } = this.#call;
    const { onlyKept = false, keeps = true } = this.#request;
    run.count("miss", reason, 1);
    run.describe(`miss (${reason})`);
    exchange.setResponseHeader("Cache-Status", cacheStatus(`fwd=${reason}`));
    if (onlyKept)
      throw new GatehouseError(
        "not_cached",
        "No response is kept for this request, and it has Cache-Control: only-if-cached. Send it without the directive.",
      );
    if (this.#parts.flights === null) return null;
    this.#store.countMiss();
    if (keeps || flight !== null) (exchange.recording ??= this.#record(flight)).updateGeneration();
    return null;
  }

  #record(flight: Flight | null): Recording {
    const { keeps = true, key, ttlMs } = this.#request;
    return new Recording({ store: this.#store, key, ttlMs, flight, keeps, streamKey: this.#streamKey });
  }
}
