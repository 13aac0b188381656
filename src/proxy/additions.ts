// Fields that the gateway adds to requests on its own: the option for the usage of streams, and summaries
// of reasoning. Targets that reject an addition get the request without it, and are remembered.
import type { Format } from "../formats/format.ts";
import { decodeBody, parseContentEncoding } from "../http/content-encoding.ts";
import type { CompiledTarget } from "../snapshot/compile-upstream.ts";
import type { TranslationFacts } from "../telemetry/requests/request-facts.ts";
import { readWholeBody } from "../upstream/read-whole-body.ts";
import type { UpstreamResponse } from "../upstream/upstream-response.ts";
import type { Exchange } from "./exchange.ts";
import type { TranslatedRequest } from "./translate-request.ts";

/** One such field. */
export interface Addition {
  /** Names that an error response mentions if the target rejects the addition. */
  readonly fieldNames: readonly string[];
  readonly bodyWithout: () => Uint8Array;
  /**
   * The field that is listed as dropped without the addition; null if the client would get it from the
   * gateway only.
   */
  readonly listedAs: string | null;
  /** Whether the client does not get the usage event that the addition requests. */
  readonly hidesUsage: boolean;
  readonly memory: RejectionMemory;
}

/** Limit for reading an error response to find out what it rejects. */
const MAX_ERROR_BYTES = 4 * 1024 * 1024;
const HOUR_MS = 3_600_000;

/**
 * Targets that rejected an addition and accepted the same request without it. The keys are compiled
 * targets, so gateways in one process do not share entries, and the addition is tried again after a
 * configuration change.
 */
class RejectionMemory {
  readonly #lifetimeMs: number;
  /** The time of the clock at which each target is forgotten. */
  readonly #targets = new WeakMap<object, number>();

  constructor(lifetimeMs: number) {
    this.#lifetimeMs = lifetimeMs;
  }

  add(target: object, now: number): void {
    this.#targets.set(target, now + this.#lifetimeMs);
  }

  has(target: object, now: number): boolean {
    return now < (this.#targets.get(target) ?? -Infinity);
  }
}

const WITHOUT_USAGE_OPTION = new RejectionMemory(Infinity);
/** An organization may be verified at any time. */
const WITHOUT_SUMMARIES = new RejectionMemory(HOUR_MS);

interface WithAddition {
  readonly body: Uint8Array | null;
  readonly dropped: readonly string[];
  readonly addition: Addition | null;
}

const NOTHING: readonly string[] = [];

/** Adds the option for the usage of a stream if it is needed and the target accepts it. */
export function withUsageOption(
  body: Uint8Array,
  translated: TranslatedRequest | null,
  { streamUsageOption: option }: Format,
  { fields, clock }: Exchange,
  target: CompiledTarget,
): WithAddition {
  const dropped = translated?.dropped ?? NOTHING;
  const { wantsStream, streamOptions } = fields;
  const isAdded = option !== null && wantsStream && option.canAdd(streamOptions);
  if (!isAdded || WITHOUT_USAGE_OPTION.has(target, clock.now())) return { body, dropped, addition: null };
  const addition: Addition = {
    fieldNames: option.fieldNames,
    bodyWithout: () => body,
    listedAs: null,
    hidesUsage: true,
    memory: WITHOUT_USAGE_OPTION,
  };
  return { body: option.add(body, streamOptions), dropped, addition };
}

/**
 * Keeps the summary of the reasoning that a translation requests, unless the account of the target may not
 * request it.
 */
export function withSummary(
  body: Uint8Array | null,
  translated: TranslatedRequest | null,
  { outbound: { summary } }: Format,
  { clock }: Exchange,
  target: CompiledTarget,
): WithAddition {
  const dropped = translated?.dropped ?? NOTHING;
  if (body === null || summary === undefined || translated?.hasSummary !== true)
    return { body, dropped, addition: null };
  const { field, remove } = summary;
  if (WITHOUT_SUMMARIES.has(target, clock.now()))
    return { body: remove(body), dropped: [...dropped, field], addition: null };
  const addition: Addition = {
    fieldNames: [field],
    bodyWithout: () => remove(body),
    listedAs: field,
    hidesUsage: false,
    memory: WITHOUT_SUMMARIES,
  };
  return { body, dropped, addition };
}

/** Of an encoded request. */
interface Changed extends WithAddition {
  readonly translationFacts: TranslationFacts | null;
}

/** Returns the request for a target that has rejected the addition. */
export function withoutAddition<Request extends Changed>(encoded: Request, addition: Addition): Request {
  const { bodyWithout, listedAs } = addition;
  const dropped = listedAs === null ? encoded.dropped : [...encoded.dropped, listedAs];
  const facts = encoded.translationFacts;
  const translationFacts = facts && { ...facts, dropped };
  return { ...encoded, body: bodyWithout(), dropped, addition: null, translationFacts };
}

/** Whether the response to a request with the addition rejects it. Its body can still be read afterwards. */
export async function rejectsAddition(
  response: UpstreamResponse,
  { fieldNames }: Addition,
  idleTimeoutMs: number,
): Promise<boolean> {
  if ((response.status !== 400 && response.status !== 422) || !response.hasBody) return false;
  response.idleTimeoutMs = idleTimeoutMs;
  const body = await readWholeBody(response, MAX_ERROR_BYTES);
  response.putBack(body);
  const text = decodeError(body, response.headers.get("content-encoding"));
  return text !== null && fieldNames.some((name) => text.includes(name));
}

/** Returns null if the body cannot be decoded. */
function decodeError(body: Uint8Array, contentEncoding: string | null): Buffer | null {
  const encoding = parseContentEncoding(contentEncoding);
  const plain =
    encoding === "identity" ? body : encoding === "unsupported" ? null : decodeBody(body, encoding);
  return plain === null ? null : Buffer.from(plain.buffer, plain.byteOffset, plain.byteLength);
}
