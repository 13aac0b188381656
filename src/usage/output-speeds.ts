// How fast and how much models generate, per gateway and model: with it, the hidden tokens of a response that was not received to its end are
// estimated. Learns from complete responses, and from aborted ones that their output was at least as large.
import { ByModel } from "./by-model.ts";

const KEPT_RESPONSES = 1000;
const KEPT_ABORTED = 100;
/** With fewer observations, nothing is known. */
const NEEDED_RESPONSES = 20;
const PERCENTILE = 0.95;
const SIZE_CLASSES = 8;
/** Each takes about 8 kB, and 64 kB at most. */
const KEPT_MODELS = 50;

interface Observation {
  readonly tokens: number;
  readonly perSecond: number;
}

/** What was observed of a model. */
interface ObservedOutput {
  /** Output tokens per second, from the request to the end of its response; null if there are too few observations. */
  readonly tokensPerSecond: number | null;
  /** Output tokens of a response; null if there are too few observations. */
  readonly tokens: number | null;
  /** Responses to requests that do not mention reasoning reported some. */
  readonly reasonsUnasked: boolean;
  /** Responses to requests that turn reasoning off reported some. */
  readonly reasonsDespiteOff: boolean;
}

/** The last observations whose tokens are of about the same size. */
class SizeClass {
  readonly #tokens: Float32Array;
  readonly #perSecond: Float32Array;
  count = 0;

  constructor(capacity: number, old: SizeClass | null) {
    this.#tokens = new Float32Array(capacity);
    this.#perSecond = new Float32Array(capacity);
    if (old === null) return;
    this.#tokens.set(old.tokens);
    this.#perSecond.set(old.perSecond);
    this.count = old.count;
  }

  get isFull(): boolean {
    return this.count === this.#tokens.length;
  }

  /** From the oldest to the newest. */
  get tokens(): Float32Array {
    return this.#tokens.subarray(0, this.count);
  }
  get perSecond(): Float32Array {
    return this.#perSecond.subarray(0, this.count);
  }

  add({ tokens, perSecond }: Observation): void {
    this.#tokens[this.count] = tokens;
    this.#perSecond[this.count] = perSecond;
    this.count++;
  }

  dropOldest(): void {
    this.#tokens.copyWithin(0, 1, this.count);
    this.#perSecond.copyWithin(0, 1, this.count);
    this.count--;
  }
}

class ModelOutput implements ObservedOutput {
  reasonsUnasked = false;
  reasonsDespiteOff = false;
  readonly #classes: (SizeClass | undefined)[] = Array.from({ length: SIZE_CLASSES }, () => undefined);
  /** What aborted responses have generated at least. */
  readonly #aborted: number[] = [];
  #count = 0;
  /** Computed when needed, which is rare: undefined until then. */
  #tokensPerSecond: number | null | undefined = undefined;
  #tokens: number | null | undefined = undefined;

  add(observation: Observation): void {
    if (this.#count === KEPT_RESPONSES) this.#dropOne();
    const at = Math.min(Math.floor(Math.log2(observation.tokens) / 2), SIZE_CLASSES - 1);
    let ofSize = this.#classes[at];
    if (ofSize === undefined || ofSize.isFull)
      ofSize = this.#classes[at] = new SizeClass(Math.max(16, 2 * (ofSize?.count ?? 0)), ofSize ?? null);
    ofSize.add(observation);
    this.#count++;
    this.#forget();
  }

  addAborted(tokens: number): void {
    if (this.#aborted.length === KEPT_ABORTED) this.#aborted.shift();
    this.#aborted.push(tokens);
    this.#forget();
  }

  /**
   * The 95th percentile, of the size class in which it is highest: short responses are mostly waiting, so that a client that causes many of
   * them would lower a percentile of all.
   */
  get tokensPerSecond(): number | null {
    return (this.#tokensPerSecond ??= this.#findTokensPerSecond());
  }

  /** 95 percent of all tokens were in responses of at most this size. Short responses, of which a client may cause many, have little weight. */
  get tokens(): number | null {
    return (this.#tokens ??= this.#findTokens());
  }

  #findTokensPerSecond(): number | null {
    if (this.#count < NEEDED_RESPONSES) return null;
    const classes = this.#classes.filter((each) => each !== undefined);
    const large = classes.filter(({ count }) => count >= NEEDED_RESPONSES).map(({ perSecond }) => perSecond);
    const samples =
      large.length > 0 ? large : [Float32Array.from(classes.flatMap((each) => [...each.perSecond]))];
    return Math.max(...samples.map(percentileOf));
  }

  #findTokens(): number | null {
    if (this.#count < NEEDED_RESPONSES) return null;
    const sizes = this.#classes.flatMap((each) => (each === undefined ? [] : [...each.tokens]));
    const sorted = Float64Array.from([...sizes, ...this.#aborted]).sort();
    let rest = sorted.reduce((sum, tokens) => sum + tokens, 0) * PERCENTILE;
    for (const tokens of sorted) if ((rest -= tokens) <= 0) return tokens;
    return sorted.at(-1) ?? null;
  }

  /** Drops the oldest one of the largest class, so that many responses of one size do not displace the others. */
  #dropOne(): void {
    let largest: SizeClass | null = null;
    for (const each of this.#classes)
      if (each !== undefined && (largest === null || each.count > largest.count)) largest = each;
    largest?.dropOldest();
    this.#count--;
  }

  #forget(): void {
    this.#tokensPerSecond = undefined;
    this.#tokens = undefined;
  }
}

/** Sorted by value, not as text. */
function percentileOf(values: Float32Array): number {
  const sorted = values.slice().sort();
  return sorted[Math.ceil(sorted.length * PERCENTILE) - 1] ?? 0;
}

/** Responses of models that reason are longer than those of the same models without it, and each kind must not dilute the other one. */
export type OutputKind = "reasoning" | "plain";

/** How a request and its complete response were. */
interface CompleteOutput {
  readonly tokens: number;
  readonly milliseconds: number;
  /** The response reported reasoning. */
  readonly hasReasoned: boolean;
  /** What the request says about reasoning. */
  readonly wish: "on" | "off" | null;
}

export class OutputSpeeds {
  readonly #models = {
    reasoning: new ByModel(() => new ModelOutput(), KEPT_MODELS),
    plain: new ByModel(() => new ModelOutput(), KEPT_MODELS),
  };

  add(
    gatewayId: string,
    model: string,
    { tokens, milliseconds, hasReasoned, wish }: CompleteOutput,
    kind: OutputKind = "reasoning",
  ): void {
    const observed = this.#models[kind].getOrCreate(gatewayId, model);
    if (hasReasoned && wish === "off") observed.reasonsDespiteOff = true;
    if (hasReasoned && wish === null) observed.reasonsUnasked = true;
    if (tokens > 0) observed.add({ tokens, perSecond: (tokens * 1000) / Math.max(milliseconds, 1) });
  }

  /** Call when a client has left a response that has generated at least these tokens. */
  addAborted(gatewayId: string, model: string, tokens: number, kind: OutputKind = "reasoning"): void {
    this.#models[kind].get(gatewayId, model)?.addAborted(tokens);
  }

  /** Returns undefined if nothing was observed. */
  of(gatewayId: string, model: string, kind: OutputKind = "reasoning"): ObservedOutput | undefined {
    return this.#models[kind].get(gatewayId, model);
  }
}
