// The response_cache plugin: responds to equal requests with the response of the first one.
import {
  definePlugin,
  isLargeBody,
  windowSeconds,
  type FinalRequestContext,
  type PluginHost,
  type ResponseStore,
} from "../../sdk/index.ts";
import { canonicalJson, type TopLevel } from "./canonical-json.ts";
import { readDirectives } from "./cache-control.ts";
import { KnownKeys } from "./known-keys.ts";
import type * as keyTask from "./key-task.ts";
import { field, fieldsOf, scopeText, type Scope } from "./scope.ts";
import { responseCacheSettings, type ResponseCacheSettings } from "./settings.ts";

const TASK = new URL("./key-task.ts", import.meta.url);
const TASK_TIMEOUT_MS = 4000;
const MS_PER_SECOND = 1000;

const OPERATIONS: ReadonlySet<string> = new Set([
  "embeddings",
  "rerank",
  "moderations",
  "count_tokens",
  "chat",
  "messages",
  "responses",
  "completions",
]);
/** One response serves streams and others, whatever options a stream has. */
const STREAM_FIELDS = ["stream", "stream_options"];
/** What the request continues is not part of its body. */
const STATE_FIELDS: ReadonlySet<string> = new Set(["previous_response_id", "conversation"]);

/** Created when the plugin is first used: a gateway that starts needs the schemas of few plugins. */
let schema: ReturnType<typeof responseCacheSettings> | undefined;

export const responseCache = definePlugin({
  name: "response_cache",
  description:
    "Keeps complete responses and responds with them to equal requests; equal concurrent requests share one call.",
  stages: ["pre_request"],
  needs: ["body"],
  get settings() {
    return (schema ??= responseCacheSettings());
  },
  explainable: true,
  create(settings, host) {
    const cache = new ResponseCache(settings, host);
    return { final_request: (context) => cache.handle(context) };
  },
});

/** Whose requests may get the same response. */
type Owner = Pick<Scope, "isolation" | "owner">;

const EVERYONE: Owner = { isolation: "gateway", owner: null };

class ResponseCache {
  readonly #settings: ResponseCacheSettings;
  readonly #host: PluginHost;
  readonly #store: ResponseStore;
  readonly #ttlMs: number;
  readonly #topLevel: TopLevel;
  readonly #vary: readonly string[];
  readonly #knownKeys = new KnownKeys();

  constructor(settings: ResponseCacheSettings, host: PluginHost) {
    this.#settings = settings;
    this.#host = host;
    this.#store = host.openResponses({
      maxBytes: settings.max_bytes,
      maxEntryBytes: Math.min(settings.max_entry_bytes, settings.max_bytes),
    });
    this.#ttlMs = (windowSeconds(settings.ttl) ?? 0) * MS_PER_SECOND;
    this.#topLevel = {
      ignored: new Set([...STREAM_FIELDS, ...settings.ignore]),
      rejected: STATE_FIELDS,
    };
    this.#vary = settings.vary.map((name) => name.toLowerCase()).sort();
  }

  handle(context: FinalRequestContext): void | Promise<void> {
    const owner = this.#ownerOf(context);
    const reason = owner === null ? "partition" : bypassReason(context);
    if (owner === null || reason !== null) {
      bypass(context, reason ?? "partition");
      return;
    }
    const effects = context.hasSideEffects();
    const key = effects === true ? null : this.#keyOf(context, owner);
    if (typeof effects === "boolean" && !(key instanceof Promise)) {
      this.#reuse(context, effects, key);
      return;
    }
    return Promise.all([effects, key]).then(([has, known]) => this.#reuse(context, has, known));
  }

  #reuse(context: FinalRequestContext, hasEffects: boolean, key: string | null): void {
    if (hasEffects || key === null) {
      bypass(context, hasEffects ? "side effects" : "body");
      return;
    }
    const { noStore, noCache, onlyIfCached, maxAgeSeconds } = readDirectives(
      context.headers.get("cache-control"),
    );
    context.reuse({
      store: this.#store,
      key,
      ttlMs: this.#ttlMs,
      maxAgeMs: maxAgeSeconds === null ? undefined : maxAgeSeconds * MS_PER_SECOND,
      reads: !noStore && !noCache && maxAgeSeconds !== 0,
      keeps: !noStore,
      coalesces: this.#settings.coalesce,
      onlyKept: onlyIfCached,
    });
  }

  /** Returns whose requests may get the same response; null if that is not known, so that the request is not cached. */
  #ownerOf(context: FinalRequestContext): Owner | null {
    const { isolation } = this.#settings;
    if (isolation === "gateway") return EVERYONE;
    if (isolation === "user" && context.hasTrustedUser) return { isolation: "user", owner: context.userKey };
    // Without an API key, any client could be any other one.
    const { apiKey } = context;
    if (apiKey === null) return null;
    if (isolation === "user") return { isolation: "user", owner: context.userKey };
    const label = isolation.startsWith("label:")
      ? context.apiKeyLabel(isolation.slice("label:".length))
      : null;
    return label === null ? { isolation: "key", owner: apiKey.id } : { isolation: "label", owner: label };
  }

  /** Returns the key of the response; null if the body is no JSON object. */
  #keyOf(context: FinalRequestContext, owner: Owner): string | null | Promise<string | null> {
    const scope = this.#scopeOf(context, owner);
    if (context.bodyView !== null && isLargeBody(context.bodyView))
      return this.#hashOffLoop(context).then((hash) =>
        hash === null ? null : keyIn(scopeText(scope), hash),
      );
    const digest = context.bodyDigest;
    if (digest === null) return null;
    const known = this.#knownKeys.find(digest, scope);
    if (known !== undefined) return known;
    const hash = this.#knownKeys.bodyHash(digest) ?? this.#bodyHash(context);
    const text = scopeText(scope);
    const key = hash === null ? null : keyIn(text, hash);
    this.#knownKeys.set(digest, hash, scope, text.length, key);
    return key;
  }

  /** Returns everything but the body that the response depends on. */
  #scopeOf(context: FinalRequestContext, { isolation, owner }: Owner): Scope {
    const { headers } = context;
    let variedHeaders = "";
    for (const name of this.#vary) variedHeaders += field(headers.get(name));
    return {
      gateway: context.gateway.id,
      isolation,
      owner,
      rule: context.rule.id,
      format: context.format,
      operation: context.operation,
      path: context.path,
      query: context.query,
      models: context.models,
      formatHeaders: fieldsOf(context.formatHeaders),
      variedHeaders,
      // A client that uses its own account at the provider gets no response of another account.
      credentials: fieldsOf(context.forwardedCredentials),
    };
  }

  /** Returns the hash of the canonical body; null if it is no JSON object. */
  #bodyHash({ bodyText }: FinalRequestContext): string | null {
    const canonical = bodyText === null ? null : canonicalJson(bodyText, this.#topLevel);
    return canonical === null ? null : sha256(canonical);
  }

  #hashOffLoop({ bodyView }: FinalRequestContext): Promise<string | null> {
    if (bodyView === null) return Promise.resolve(null);
    const input = { bytes: bodyView, topLevel: this.#topLevel };
    const limits = { bytes: bodyView.byteLength, timeoutMs: TASK_TIMEOUT_MS };
    return this.#host.runOffLoop<typeof keyTask>(TASK, input, limits).catch(() => null);
  }
}

/** Returns why the request is not cached whatever its body says; null if it may be. */
function bypassReason({ method, operation, path }: FinalRequestContext): string | null {
  if (method !== "POST" || operation === null || !OPERATIONS.has(operation)) return "operation";
  // A longer path names a stored response, for example to cancel it.
  if (operation === "responses" && !path.endsWith("/responses")) return "operation";
  return null;
}

function bypass(context: FinalRequestContext, reason: string): void {
  context.count("bypass", reason);
  context.setDetail(`not cached: ${reason}`);
  context.setResponseHeader("Cache-Status", "gatehouse; fwd=bypass");
}

function keyIn(scope: string, bodyHash: string): string {
  return sha256(`${scope}\n${bodyHash}`);
}

function sha256(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("base64url");
}
