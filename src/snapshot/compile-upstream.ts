// Compiles an upstream: the address, headers, and models of every target, and which targets serve which model.
import type { BalancePlan } from "../balance/balance-plan.ts";
import type { BalanceRegistry } from "../balance/balance-registry.ts";
import type { ErrorDetail } from "../base/errors.ts";
import { sha256 } from "../base/sha256.ts";
import { EndpointTable } from "../formats/endpoint-table.ts";
import type { Format } from "../formats/format.ts";
import { HUB_FORMAT } from "../formats/format-names.ts";
import { credentialTypeOf, type CredentialType } from "../model/credential-secrets.ts";
import type { Target } from "../model/target.ts";
import type { Upstream } from "../model/upstream.ts";
import { formatOf, isKnownProvider, providerNamed } from "../formats/providers.ts";
import { formatNamed } from "../formats/registry.ts";
import type { TargetCredentials } from "../upstream/credentials/cloud-credentials.ts";
import type { RequestCredential } from "../upstream/request-credential.ts";
import { CompileError } from "./compile-error.ts";

const TAG_LENGTH = 12;

export interface CompiledTarget {
  readonly id: string;
  readonly index: number;
  /** Identifies the target in data that clients send back. Does not tell the id. */
  readonly tag: string;
  readonly provider: string;
  /** The format of chat requests. */
  readonly format: Format;
  /** Where the provider serves each operation; null if the target has a `path`. */
  readonly endpoints: EndpointTable | null;
  /** Scheme, host, and base path, without a trailing slash. */
  readonly baseUrl: string;
  /** Represents gateway, base URL, headers, and credential. Only requests with the same key share connections. */
  readonly poolKey: string;
  /** The configured path. Null: the target receives the path of the request, or has endpoints. */
  readonly path: string | null;
  /** The headers of the target followed by its credential. Names are in lower case and unique. */
  readonly headers: readonly (readonly [string, string])[];
  /** Computes or fetches the credential of each request; null if it is one of `headers`. */
  readonly credential: RequestCredential | null;
  /** Without a credential, the client's own provider credential is forwarded. */
  readonly hasCredential: boolean;
  readonly credentialType: CredentialType | null;
  /** The model that all requests get, of a target of a virtual model; null of other targets. */
  readonly forcedModel: string | null;
  readonly defaultModel: string | null;
  /** Null: the target serves every model. */
  readonly models: ReadonlySet<string> | null;
}

/** The targets for a model, as indexes. The fallback targets are used only if no preferred target is available. */
export interface Candidates {
  readonly preferred: readonly number[];
  readonly fallback: readonly number[];
}

export interface CompiledUpstream {
  readonly id: string;
  readonly name: string;
  readonly targets: readonly CompiledTarget[];
  readonly plan: BalancePlan;
  readonly maxAttempts: number;
  readonly timeouts: Upstream["timeouts"];
  /** Null: only translated streams are held. */
  readonly commit: Upstream["commit"];
  /** Null: no request is hedged. */
  readonly hedge: Upstream["hedge"];
  /** Whether the provider is read on when the client has left. */
  readonly onCancel: Upstream["on_cancel"];
  readonly usesClientAddress: boolean;
  /** Whether a target has models to route by or a format to translate to, so that the request body must be read. */
  readonly readsBody: boolean;
  /** Whether a request is rejected unless its model is known: `model_routing` is `require`, and a target has models. */
  readonly requiresModel: boolean;
  /**
   * Whether a request is rejected if a server may read a model in it that the gateway does not know:
   * `model_routing` is null, and a target without a `path` has models.
   */
  readonly requiresReadableModel: boolean;
  /** Whether a target has endpoints, so that the operation of a request matters. */
  readonly hasEndpoints: boolean;
  /** Whether the chat formats of the targets differ, so that a conversation may move from one format to another. */
  readonly hasSeveralFormats: boolean;
  /** Returns null if no target serves the model, and `model_routing` allows no other. */
  candidatesFor(model: string | null): Candidates | null;
}

export function compileUpstream(
  upstream: Upstream,
  balance: BalanceRegistry,
  credentials: TargetCredentials,
): CompiledUpstream {
  const problems: ErrorDetail[] = [];
  const targets: CompiledTarget[] = [];
  for (const [index, target] of upstream.targets.entries()) {
    const found = findTargetProblems(target, credentials);
    for (const { path, message } of found) problems.push({ path: `targets[${index}].${path}`, message });
    if (found.length === 0) targets.push(compileTarget(target, index, upstream.gateway_id, credentials));
  }
  problems.push(...hedgeProblems(upstream));
  if (problems.length > 0) throw new CompileError("upstreams", upstream.id, problems);
  const { passive, threshold, interval } = upstream.health_checks;
  const plan = balance.plan(upstream.id, {
    algorithm: upstream.algorithm,
    targets: upstream.targets,
    passive,
    threshold,
    intervalMs: interval * 1000,
  });
  return {
    id: upstream.id,
    name: upstream.name,
    targets,
    plan,
    maxAttempts: upstream.max_attempts,
    timeouts: upstream.timeouts,
    commit: upstream.commit,
    hedge: upstream.hedge,
    onCancel: upstream.on_cancel,
    usesClientAddress: upstream.algorithm === "ip-hash",
    readsBody: targets.some(readsBody),
    requiresModel: upstream.model_routing === "require" && targets.some(({ models }) => models !== null),
    requiresReadableModel: upstream.model_routing === null && targets.some(servesOnlyListed),
    hasSeveralFormats: new Set(targets.map(({ format }) => format)).size > 1,
    hasEndpoints: targets.some(({ endpoints }) => endpoints !== null),
    candidatesFor: compileCandidates(targets, upstream.model_routing),
  };
}

function hedgeProblems({ hedge, timeouts: { first_content } }: Upstream): ErrorDetail[] {
  if (hedge === null || first_content === null || hedge.after === "p95" || hedge.after <= first_content)
    return [];
  const message = `must not be larger than timeouts.first_content, which is ${first_content}`;
  return [{ path: "hedge.after", message }];
}

/** Returns why a target cannot be used. Paths are relative to the target. */
export function findTargetProblems(
  { provider, base_url, credentials }: Target,
  cloud: TargetCredentials,
): ErrorDetail[] {
  const problems: ErrorDetail[] = [];
  const problem = credentials === null ? null : cloud.problemOf(credentials);
  if (problem !== null) problems.push({ path: "credentials", message: problem });
  if ((base_url ?? providerNamed(provider).base_url) === null) {
    const subject = isKnownProvider(provider) ? provider : `the provider "${provider}" is not known and`;
    problems.push({ path: "base_url", message: `${subject} needs a base_url` });
  }
  return problems;
}

/** Call it for targets without problems. */
export function compileTarget(
  target: Target,
  index: number,
  gatewayId: string,
  cloud: TargetCredentials,
): CompiledTarget {
  const provider = providerNamed(target.provider);
  const baseUrl = target.base_url ?? provider.base_url ?? "";
  const endpoints = target.path === null ? EndpointTable.of(provider, target.format) : null;
  const format = endpoints?.chat.format ?? formatNamed(target.format ?? formatOf(provider));
  const headers = new Map<string, string>();
  for (const [name, value] of Object.entries(target.headers)) headers.set(name.toLowerCase(), value);
  const { credentials, default_model } = target;
  const credential = credentials === null ? null : cloud.of(credentials);
  if (credentials !== null && "header_name" in credentials)
    headers.set(credentials.header_name.toLowerCase(), credentials.header_value);
  const models = new Set(target.models);
  if (default_model !== null) models.add(default_model);
  return {
    id: target.id,
    index,
    tag: sha256(`target ${target.id}`).slice(0, TAG_LENGTH),
    provider: target.provider,
    format,
    endpoints,
    baseUrl,
    // Hashed, because the key stays in memory as long as its connections, and the headers contain credentials.
    poolKey: sha256(
      JSON.stringify([gatewayId, baseUrl, ...headers, ...(credential === null ? [] : [credentials])]),
    ),
    path: target.path === "" ? null : target.path,
    headers: [...headers],
    credential,
    hasCredential: credentials !== null,
    credentialType: credentials === null ? null : credentialTypeOf(credentials),
    forcedModel: null,
    defaultModel: default_model,
    models: target.models.length === 0 ? null : models,
  };
}

function readsBody({ models, defaultModel, format }: CompiledTarget): boolean {
  return models !== null || defaultModel !== null || format.name !== HUB_FORMAT;
}

/** Whether the target gets no request for other models, if `model_routing` is null. */
function servesOnlyListed({ models, endpoints }: CompiledTarget): boolean {
  return models !== null && endpoints !== null;
}

function compileCandidates(
  targets: readonly CompiledTarget[],
  routing: Upstream["model_routing"],
): CompiledUpstream["candidatesFor"] {
  const all: Candidates = { preferred: targets.map((target) => target.index), fallback: [] };
  if (routing === "any") return () => all;
  const others = (target: CompiledTarget) =>
    routing === null ? !servesOnlyListed(target) : routing !== "require";
  const candidatesOf = (model: string | null): Candidates | null => {
    const serves = ({ models }: CompiledTarget) => models === null || (model !== null && models.has(model));
    const preferred = targets.filter(serves).map(({ index }) => index);
    const fallback = targets.filter((each) => !serves(each) && others(each)).map(({ index }) => index);
    if (preferred.length > 0) return { preferred, fallback };
    return fallback.length === 0 ? null : { preferred: fallback, fallback: [] };
  };
  const byModel = new Map<string, Candidates | null>();
  for (const { models } of targets) for (const model of models ?? []) byModel.set(model, candidatesOf(model));
  const forOtherModels = candidatesOf(null);
  return (model) => {
    if (model === null) return all;
    const candidates = byModel.get(model);
    return candidates === undefined ? forOtherModels : candidates;
  };
}
