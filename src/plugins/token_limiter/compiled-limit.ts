// A token limit of one gateway, prepared for fast checks: names of headers, models, and what a request takes of it.
import { createHash } from "node:crypto";
import {
  networkOf,
  tokensToReserve,
  windowSeconds,
  type RequestContext,
  type TokenEstimate,
  type TokensLimitClaim,
} from "../../sdk/index.ts";
import {
  typesOf,
  type TokenLimiterSettings,
  type TokenLimitSettings,
  type TokenLimitType,
} from "./settings.ts";

const MAX_SUBJECT_LENGTH = 256;
const LABEL_PREFIX = "per_label:";
/** Keys that are kept for the next requests of their subjects. */
const MAX_KEYS = 1000;

export class CompiledTokenLimit {
  readonly type: TokenLimitType;
  readonly limit: number;
  readonly count: TokenLimitSettings["count"];
  /** Whether there are other limits of the same type. */
  readonly isOneOfSeveral: boolean;
  /** The part of the names of its header fields. A colon is not allowed in them. */
  readonly headerName: string;
  readonly #exact: ReadonlySet<string> | null;
  readonly #prefixes: readonly string[];
  readonly #claimType: string;
  readonly windowSeconds: number;
  readonly #keyPrefix: string;
  /** Keys by API key, user or other subject: the ledger finds the same string faster than an equal one that has to be hashed. */
  readonly #keys = new Map<string, string>();
  readonly #onUnavailable: TokenLimiterSettings["on_store_failure"];
  readonly #ipv6Prefix: number;
  /** Created once: a claim is part of every request. */
  readonly #countsModel = (model: string | null) => this.counts(model);

  /** `index` distinguishes the limits of one type. */
  constructor(
    type: TokenLimitType,
    index: number,
    { limit, window, count, models }: TokenLimitSettings,
    { ipv6_prefix, on_store_failure, limits }: TokenLimiterSettings,
    instanceId: string,
  ) {
    this.isOneOfSeveral = [limits[type] ?? []].flat().length > 1;
    this.type = type;
    this.limit = limit;
    this.count = count;
    this.headerName = `${type.replace(":", ".")}_tokens`;
    this.#claimType = `${type}_tokens`;
    this.#exact = models === undefined ? null : new Set(models.filter((model) => !model.endsWith("*")));
    this.#prefixes = (models ?? []).filter((model) => model.endsWith("*")).map((model) => model.slice(0, -1));
    this.windowSeconds = windowSeconds(window) ?? 0;
    // Part of the key is what the limit counts: an edited limit must not continue with other tokens.
    this.#keyPrefix = `${instanceId}:${type}:${index}:${count}:`;
    this.#onUnavailable = on_store_failure;
    this.#ipv6Prefix = ipv6_prefix;
  }

  /** Whether its claims differ in nothing but the amount for requests of the same API key, user and model. */
  get isRepeated(): boolean {
    return this.type !== "per_ip" && !this.isOneOfSeveral;
  }

  get countsEveryModel(): boolean {
    return this.#exact === null;
  }

  /** Whether the limit is about this model; null if the model is not known. */
  counts(model: string | null): boolean {
    if (this.#exact === null) return true;
    if (model === null) return false;
    return this.#exact.has(model) || this.#prefixes.some((prefix) => model.startsWith(prefix));
  }

  /** Whether the subject and the models of the limit are known before the body is read. */
  isKnownWithoutBody({ headers }: RequestContext): boolean {
    if (this.#exact !== null) return false;
    return this.type !== "per_user" || (headers.get("x-user-id") ?? "") !== "";
  }

  /** Returns null if the limit does not apply. */
  claimOn(context: RequestContext, amount: number): TokensLimitClaim | null {
    const key = this.#keyOf(context);
    if (key === null) return null;
    return {
      kind: "tokens",
      type: this.#claimType,
      key,
      limit: this.limit,
      windowMs: this.windowSeconds * 1000,
      amount,
      count: this.count,
      countsModel: this.#countsModel,
      onUnavailable: this.#onUnavailable,
    };
  }

  /** Returns what the request will use at most or, if it does not limit its output, probably: at most a quarter of the limit. So it does with files. */
  amountOf(
    { inputTokens, limitsOutput, outputTokens, fileTokens }: TokenEstimate,
    models: readonly (string | null)[],
  ): number {
    let output = 0;
    if (this.count !== "input")
      for (const model of models) if (this.counts(model)) output = Math.max(output, outputTokens(model));
    return tokensToReserve(this.limit, this.count, inputTokens, output, limitsOutput, fileTokens);
  }

  #keyOf(context: RequestContext): string | null {
    switch (this.type) {
      case "global":
        return this.#keyPrefix;
      case "per_key": {
        const { apiKey } = context;
        return apiKey === null ? `${this.#keyPrefix}anonymous` : this.#keyWith("key:", apiKey.id);
      }
      case "per_user":
        return this.#keyWith("", bounded(context.userKey));
      case "per_ip":
        return this.#keyWith("", networkOf(context.clientAddress, this.#ipv6Prefix));
      default: {
        const label = context.apiKeyLabel(this.type.slice(LABEL_PREFIX.length));
        return label === null ? null : this.#keyWith("", label);
      }
    }
  }

  /** `kind` is the same for all subjects of the limit. */
  #keyWith(kind: string, subject: string): string {
    let key = this.#keys.get(subject);
    if (key === undefined) {
      if (this.#keys.size >= MAX_KEYS) this.#keys.clear();
      key = `${this.#keyPrefix}${kind}${subject}`;
      this.#keys.set(subject, key);
    }
    return key;
  }
}

/** A client must not control the length of a key, and two long names must stay distinct. */
function bounded(subject: string): string {
  if (subject.length <= MAX_SUBJECT_LENGTH) return subject;
  return `sha256:${createHash("sha256").update(subject).digest("base64url")}`;
}

export function compileTokenLimits(settings: TokenLimiterSettings, instanceId: string): CompiledTokenLimit[] {
  return typesOf(settings.limits).flatMap((type) =>
    [settings.limits[type] ?? []]
      .flat()
      .map((limit, index) => new CompiledTokenLimit(type, index, limit, settings, instanceId)),
  );
}
