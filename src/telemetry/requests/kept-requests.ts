// The requests that the request log keeps, in numbered slots. Most requests differ from an earlier one only in their id, times and
// counts: those are kept in arrays, with a reference to the earlier facts for everything else. If every request kept its own
// objects, each collection of young objects would promote a thousand of them, and full collections would be frequent.
import type { PluginRun } from "../metrics/observed-plugin.ts";
import { AttemptFacts, type RequestFacts, type TokenFacts } from "./request-facts.ts";
import { startOf } from "./request-record.ts";

/** Positions in the numbers of a slot. NaN represents null. */
const STARTED_AT = 0;
const ENDED_AT = 1;
const ENDED_WALL_MS = 2;
const BODY_MS = 3;
const FIRST_TOKEN_AT = 4;
const COST = 5;
/** Of the attempt. */
const SENT_AT = 6;
const FIRST_BYTE_AT = 7;
const RECEIVED_AT = 8;
/** Of the tokens. */
const INPUT = 9;
const OUTPUT = 10;
const CACHED_INPUT = 11;
const CACHE_WRITE = 12;
const REASONING = 13;
/** Milliseconds of the first plugin; those of the others follow. */
const PLUGIN_MS = 14;
const MAX_PLUGINS = 6;
const NUMBERS = PLUGIN_MS + MAX_PLUGINS;

/** The length of the ids that the gateway creates. Ids of this length are kept as bytes: strings would be promoted, too. */
const ID_BYTES = 36;

/** The first slots; more are added as requests arrive. */
const FIRST_SLOTS = 64;
/** Facts that later requests are compared with, the most recent ones. */
const MAX_TEMPLATES = 32;

export class KeptRequests {
  /** The facts of a slot itself, or those of an earlier request that is like it; `#isCompact` says which. */
  readonly #shared: RequestFacts[] = [];
  /** Null: the id is in `#idBytes`. */
  readonly #requestIds: (string | null)[] = [];
  #idBytes = new Uint8Array(FIRST_SLOTS * ID_BYTES);
  readonly #apiKeyIds: (string | null)[] = [];
  readonly #apiKeyNames: (string | null)[] = [];
  readonly #shadows: RequestFacts["shadow"][] = [];
  #isCompact = new Uint8Array(FIRST_SLOTS);
  #numbers = new Float64Array(FIRST_SLOTS * NUMBERS);
  readonly #templates: RequestFacts[] = [];
  #nextTemplate = 0;

  /** A slot that is not used yet must be the one after the last. */
  set(slot: number, facts: RequestFacts): void {
    if (slot >= this.#isCompact.length) this.#grow();
    this.#requestIds[slot] = this.#setIdBytes(slot, facts.requestId) ? null : facts.requestId;
    this.#apiKeyIds[slot] = facts.apiKeyId;
    this.#apiKeyNames[slot] = facts.apiKeyName;
    this.#shadows[slot] = facts.shadow;
    const canBeCompact = isPlain(facts);
    this.#isCompact[slot] = canBeCompact ? 1 : 0;
    this.#shared[slot] = canBeCompact ? this.#templateFor(facts) : facts;
    this.#setNumbers(slot, facts, canBeCompact);
  }

  /** Returns facts equal to those that were set. */
  get(slot: number): RequestFacts {
    const shared = this.sharedAt(slot);
    if (this.#isCompact[slot] === 0) return shared;
    const at = slot * NUMBERS;
    const [attempt] = shared.attempts;
    const attempts = attempt === undefined ? [] : [this.#attemptAt(at, attempt)];
    return {
      ...shared,
      requestId: this.requestIdAt(slot),
      apiKeyId: this.apiKeyIdAt(slot),
      apiKeyName: this.#apiKeyNames[slot] ?? null,
      shadow: this.#shadows[slot] ?? null,
      startedAt: this.#number(at + STARTED_AT),
      endedAt: this.#number(at + ENDED_AT),
      endedWallMs: this.#number(at + ENDED_WALL_MS),
      bodyMs: this.#number(at + BODY_MS),
      firstTokenAt: this.#numberOrNull(at + FIRST_TOKEN_AT),
      cost: this.#numberOrNull(at + COST),
      attempts,
      finalAttempt: shared.finalAttempt === null ? null : (attempts[0] ?? null),
      tokens: shared.tokens === null ? null : this.#tokensAt(at, shared.tokens),
      plugins: shared.plugins?.map((run, index) => run.withMs(this.#number(at + PLUGIN_MS + index))) ?? null,
    };
  }

  /** Returns the facts of this or another request, of which only ids of request and API key, shadow runs, times and counts differ. */
  sharedAt(slot: number): RequestFacts {
    const shared = this.#shared[slot];
    if (shared === undefined) throw new Error(`slot ${slot} was never set`);
    return shared;
  }

  requestIdAt(slot: number): string {
    const at = slot * ID_BYTES;
    return this.#requestIds[slot] ?? String.fromCharCode(...this.#idBytes.subarray(at, at + ID_BYTES));
  }

  apiKeyIdAt(slot: number): string | null {
    return this.#apiKeyIds[slot] ?? null;
  }

  /** Returns when the request started, in milliseconds since the epoch. */
  startAt(slot: number): number {
    if (this.#isCompact[slot] === 0) return startOf(this.sharedAt(slot));
    const at = slot * NUMBERS;
    const duration = this.#number(at + ENDED_AT) - this.#number(at + STARTED_AT);
    return this.#number(at + ENDED_WALL_MS) - duration;
  }

  /** Returns whether the id can be kept as bytes. */
  #setIdBytes(slot: number, id: string): boolean {
    if (id.length !== ID_BYTES) return false;
    const bytes = this.#idBytes;
    const at = slot * ID_BYTES;
    for (let index = 0; index < ID_BYTES; index++) {
      const code = id.charCodeAt(index);
      if (code > 0xff) return false;
      bytes[at + index] = code;
    }
    return true;
  }

  #templateFor(facts: RequestFacts): RequestFacts {
    for (const template of this.#templates) if (isAlike(template, facts)) return template;
    this.#templates[this.#nextTemplate] = facts;
    this.#nextTemplate = (this.#nextTemplate + 1) % MAX_TEMPLATES;
    return facts;
  }

  #setNumbers(slot: number, facts: RequestFacts, isCompact: boolean): void {
    if (!isCompact) return;
    const numbers = this.#numbers;
    const at = slot * NUMBERS;
    const { attempts, tokens, plugins } = facts;
    numbers[at + STARTED_AT] = facts.startedAt;
    numbers[at + ENDED_AT] = facts.endedAt;
    numbers[at + ENDED_WALL_MS] = facts.endedWallMs;
    numbers[at + BODY_MS] = facts.bodyMs;
    numbers[at + FIRST_TOKEN_AT] = facts.firstTokenAt ?? NaN;
    numbers[at + COST] = facts.cost ?? NaN;
    const [attempt] = attempts;
    if (attempt !== undefined) {
      numbers[at + SENT_AT] = attempt.startedAt;
      numbers[at + FIRST_BYTE_AT] = attempt.firstByteAt ?? NaN;
      numbers[at + RECEIVED_AT] = attempt.endedAt ?? NaN;
    }
    if (tokens !== null) {
      numbers[at + INPUT] = tokens.input;
      numbers[at + OUTPUT] = tokens.output;
      numbers[at + CACHED_INPUT] = tokens.cachedInput;
      numbers[at + CACHE_WRITE] = tokens.cacheWrite;
      numbers[at + REASONING] = tokens.reasoning;
    }
    if (plugins === null) return;
    for (let index = 0; index < plugins.length; index++)
      numbers[at + PLUGIN_MS + index] = plugins[index]?.ms ?? 0;
  }

  #attemptAt(at: number, shared: AttemptFacts): AttemptFacts {
    return Object.assign(new AttemptFacts(shared.target, this.#number(at + SENT_AT)), {
      model: shared.model,
      status: shared.status,
      fault: shared.fault,
      wasSent: shared.wasSent,
      responseModel: shared.responseModel,
      firstByteAt: this.#numberOrNull(at + FIRST_BYTE_AT),
      endedAt: this.#numberOrNull(at + RECEIVED_AT),
    });
  }

  #tokensAt(at: number, { isPartial }: TokenFacts): TokenFacts {
    return {
      input: this.#number(at + INPUT),
      output: this.#number(at + OUTPUT),
      cachedInput: this.#number(at + CACHED_INPUT),
      cacheWrite: this.#number(at + CACHE_WRITE),
      reasoning: this.#number(at + REASONING),
      isPartial,
    };
  }

  #number(position: number): number {
    return this.#numbers[position] ?? NaN;
  }

  #numberOrNull(position: number): number | null {
    const number = this.#number(position);
    return Number.isNaN(number) ? null : number;
  }

  #grow(): void {
    const slots = this.#isCompact.length * 2;
    const isCompact = new Uint8Array(slots);
    isCompact.set(this.#isCompact);
    this.#isCompact = isCompact;
    const numbers = new Float64Array(slots * NUMBERS);
    numbers.set(this.#numbers);
    this.#numbers = numbers;
    const idBytes = new Uint8Array(slots * ID_BYTES);
    idBytes.set(this.#idBytes);
    this.#idBytes = idBytes;
  }
}

/**
 * Whether the numbers of a slot and the facts of a request like this one represent it. False if a part of it may still change, or is
 * an object of its own.
 */
function isPlain(facts: RequestFacts): boolean {
  const { outcome, attempts, finalAttempt, plugins } = facts;
  if (outcome !== "complete" && outcome !== "refused") return false;
  if (facts.mirrorOf !== null || facts.virtualModel !== null || facts.mcp !== null || facts.fault !== null)
    return false;
  if (facts.hedge !== null || facts.bodies !== null || facts.isDrained) return false;
  if (facts.trace !== null || facts.sampling !== null || attempts.length > 1) return false;
  const [attempt] = attempts;
  if (finalAttempt !== null && finalAttempt !== attempt) return false;
  if (attempt !== undefined && !isPlainAttempt(attempt)) return false;
  return plugins === null || (plugins.length <= MAX_PLUGINS && plugins.every(isPlainRun));
}

function isPlainAttempt(attempt: AttemptFacts): boolean {
  const { translation, details, spanId, purpose, endedAt, retryRefusedBy } = attempt;
  if (translation !== null || details !== null || spanId !== null || retryRefusedBy !== null) return false;
  return purpose === "request" && endedAt !== null;
}

/** The hooks of post_response run after the request has ended. */
function isPlainRun({ stage, error }: PluginRun): boolean {
  return stage !== "post_response" && error === null;
}

/** Whether two plain requests differ only in what a slot keeps for each. */
function isAlike(one: RequestFacts, other: RequestFacts): boolean {
  return (
    one.rule === other.rule &&
    one.status === other.status &&
    one.series === other.series &&
    one.requestedModel === other.requestedModel &&
    one.path === other.path &&
    one.sentPath === other.sentPath &&
    one.method === other.method &&
    one.operation === other.operation &&
    one.revision === other.revision &&
    one.gateway === other.gateway &&
    one.gatewayId === other.gatewayId &&
    one.gatewayName === other.gatewayName &&
    one.outcome === other.outcome &&
    one.errorCode === other.errorCode &&
    one.isStream === other.isStream &&
    one.hasMessages === other.hasMessages &&
    one.hasPrompt === other.hasPrompt &&
    one.relaysReasoning === other.relaysReasoning &&
    one.isUnpriced === other.isUnpriced &&
    one.isUsageCounted === other.isUsageCounted &&
    (one.finalAttempt === null) === (other.finalAttempt === null) &&
    one.tokens?.isPartial === other.tokens?.isPartial &&
    areAttemptsAlike(one.attempts[0], other.attempts[0]) &&
    areRunsAlike(one.plugins, other.plugins)
  );
}

function areAttemptsAlike(one: AttemptFacts | undefined, other: AttemptFacts | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return (
    one.target === other.target &&
    one.model === other.model &&
    one.status === other.status &&
    one.fault === other.fault &&
    one.wasSent === other.wasSent &&
    one.responseModel === other.responseModel
  );
}

function areRunsAlike(one: readonly PluginRun[] | null, other: readonly PluginRun[] | null): boolean {
  if (one === null || other === null) return one === other;
  if (one.length !== other.length) return false;
  for (let index = 0; index < one.length; index++)
    if (one[index]?.isLike(other[index]) !== true) return false;
  return true;
}
