// Replaces the sealed ids of a request by the provider's ids, and finds the target that has the objects. Only requests for
// operations that have such ids are searched, and only where a target of the rule has no `path`.
import { GatehouseError } from "../../base/errors.ts";
import { percentDecoded } from "../../base/percent-decoded.ts";
import type { ValueOrPromise } from "../../base/value-or-promise.ts";
import {
  CITED_ID,
  ID,
  idInPath,
  isIdParameter,
  mayHaveIdInTarget,
  OPTIONAL_ID,
  RESPONSE_ID,
  STORED_RESPONSE,
} from "../../formats/stored-ids.ts";
import { STATELESS_ID_PREFIX } from "../../formats/responses/response-object.ts";
import type { Endpoint } from "../../formats/operations.ts";
import { isLargeBody, LARGE_BODY_TIMEOUT_MS } from "../../off-loop/large-body.ts";
import type { OffLoop } from "../../off-loop/off-loop.ts";
import type { CompiledTarget } from "../../snapshot/compile-upstream.ts";
import type { CompiledRule } from "../../snapshot/compiled-rule.ts";
import type { Exchange } from "../exchange.ts";
import { operationWithIds } from "../operation.ts";
import { RequestBody } from "../request-body.ts";
import { findIds, mayContainIds, type FoundId } from "./find-ids.ts";
import type * as findIdsTask from "./find-ids-task.ts";
import { SEAL_MARK, type IdOwner, type IdSeal } from "./id-seal.ts";
import { ownerOf } from "./response-ids-for.ts";
import type { StoredAt } from "./stored-at.ts";

const TASK = new URL("./find-ids-task.ts", import.meta.url);
const MAX_SHOWN_LENGTH = 100;

interface OpenIdsParts {
  readonly idSeal: IdSeal;
  readonly offLoop: OffLoop;
}

/** Throws if the request names an object that its client may not use. Returns a promise only for a large body. */
export function openRequestIds(
  exchange: Exchange,
  rule: CompiledRule,
  { idSeal, offLoop }: OpenIdsParts,
): ValueOrPromise<null> {
  const upstreams = exchange.route?.legs.flat().map((leg) => leg.rule.upstream) ?? [rule.upstream];
  if (!upstreams.some(({ hasEndpoints }) => hasEndpoints)) return null;
  const { endpoint, body } = exchange;
  const operation = operationWithIds(exchange, rule);
  const searched = body === null ? null : { bytes: body.bytes, operation };
  const mayHaveIds = body !== null && (body.isUnscanned || body.fields.mayHaveIds);
  const searchesBody = searched !== null && mayHaveIds && mayContainIds(searched);
  const searchesTarget = mayHaveIdInTarget(operation);
  if (!searchesTarget && !searchesBody) return null;
  const opener = new IdOpener(
    idSeal,
    ownerOf(exchange),
    upstreams.flatMap(({ targets }) => targets),
  );
  if (searchesTarget && endpoint === null) openSegments(exchange, opener);
  else if (searchesTarget && endpoint !== null) openTarget(exchange, endpoint, opener);
  if (!searchesBody || body === null) exchange.storedAt = opener.storedAt;
  else if (!isLargeBody(body.bytes)) openBody(exchange, body, findIds(searched), opener);
  else {
    const limits = { bytes: body.bytes.byteLength, timeoutMs: LARGE_BODY_TIMEOUT_MS };
    return openLargeBody(exchange, body, offLoop.run<typeof findIdsTask>(TASK, searched, limits), opener);
  }
  return null;
}

async function openLargeBody(
  exchange: Exchange,
  body: RequestBody,
  found: Promise<readonly FoundId[]>,
  opener: IdOpener,
): Promise<null> {
  return openBody(exchange, body, await found, opener);
}

/** Opens the ids in the path and in the query. */
function openTarget(exchange: Exchange, endpoint: Endpoint, opener: IdOpener): void {
  const found = idInPath(endpoint);
  if (found !== null) {
    const opened = encodeURIComponent(opener.open(percentDecoded(found.id), found.kind));
    const tail = found.before + opened + found.after;
    exchange.sentPath = exchange.sentPath.slice(0, -endpoint.tail.length) + tail;
    exchange.endpoint = { ...endpoint, tail };
  }
  if (exchange.sentQuery === "") return;
  const opened = exchange.sentQuery
    .slice(1)
    .split("&")
    .map((parameter) => {
      const [name = "", value = ""] = parameter.split("=", 2);
      if (value === "" || !isIdParameter(endpoint, percentDecoded(name))) return parameter;
      return `${name}=${encodeURIComponent(opener.open(percentDecoded(value), ID))}`;
    });
  exchange.sentQuery = `?${opened.join("&")}`;
}

/** Opens the sealed ids among the segments of a path that the gateway does not know. */
function openSegments(exchange: Exchange, opener: IdOpener): void {
  const { sentPath } = exchange;
  if (!sentPath.includes(SEAL_MARK)) return;
  const opened = sentPath.split("/").map((segment) => {
    const id = percentDecoded(segment);
    return id.includes(SEAL_MARK) ? encodeURIComponent(opener.openIfSealed(id)) : segment;
  });
  exchange.sentPath = opened.join("/");
}

function openBody(exchange: Exchange, body: RequestBody, found: readonly FoundId[], opener: IdOpener): null {
  const { bytes } = body;
  const pieces: Uint8Array[] = [];
  let from = 0;
  for (const { id, kind, start, end } of found) {
    const opened = opener.openInBody(id, kind);
    if (opened === id) continue;
    pieces.push(bytes.subarray(from, start), Buffer.from(JSON.stringify(opened)));
    from = end;
  }
  exchange.storedAt = opener.storedAt;
  if (pieces.length === 0) return null;
  pieces.push(bytes.subarray(from));
  const { isJson, contentType, isTraced, fields } = body;
  const source = { bytes: Buffer.concat(pieces), isJson, contentType, isTraced };
  exchange.setBody(RequestBody.withFields(source, fields));
  return null;
}

/** Opens the ids of one request. They must all belong to the same target. */
class IdOpener {
  /** Null if the request names no object. */
  storedAt: StoredAt | null = null;
  readonly #idSeal: IdSeal;
  readonly #owner: IdOwner;
  readonly #targets: readonly CompiledTarget[];
  readonly #opened = new Map<string, string>();

  constructor(idSeal: IdSeal, owner: IdOwner, targets: readonly CompiledTarget[]) {
    this.#idSeal = idSeal;
    this.#owner = owner;
    this.#targets = targets;
  }

  /** Throws if the id is not a sealed one, or if its object is at another target than those of earlier ids. */
  open(id: string, kind: string): string {
    const known = this.#opened.get(id);
    if (known !== undefined) return known;
    const opened = this.#idSeal.open(id, this.#owner);
    const target = this.#targets.find(
      ({ tag, endpoints }) => tag === opened?.targetTag && endpoints !== null,
    );
    if (opened === null || target === undefined) throw this.#notOpened(id, kind);
    this.#requireStoredAt(target, id);
    this.#opened.set(id, opened.id);
    return opened.id;
  }

  /** Returns an id as it is if it is not a sealed one. */
  openIfSealed(id: string): string {
    return this.#idSeal.open(id, this.#owner) === null ? id : this.open(id, ID);
  }

  /** As `open`, but targets with a `path` accept the provider's own ids, and not all ids have to be sealed ones. */
  openInBody(id: string, kind: string): string {
    if (kind === OPTIONAL_ID) return this.openIfSealed(id);
    // An id that the model mentioned does not decide about the target.
    if (kind === CITED_ID) return this.#idSeal.open(id, this.#owner)?.id ?? id;
    const acceptsProviderIds = this.#targets.some(({ endpoints }) => endpoints === null);
    if (!acceptsProviderIds || this.#idSeal.open(id, this.#owner) !== null) return this.open(id, kind);
    this.#requireStoredAt("with_path", id);
    return id;
  }

  #notOpened(id: string, kind: string): GatehouseError {
    if (kind !== RESPONSE_ID) return notFound(id);
    const areStored = this.#targets.some(({ endpoints }) => endpoints?.has(STORED_RESPONSE) === true);
    return areStored && !id.startsWith(STATELESS_ID_PREFIX) ? notFound(id) : statelessResponse(id);
  }

  /** Throws if earlier ids of the request belong to another target. */
  #requireStoredAt(storedAt: StoredAt, id: string): void {
    if (this.storedAt !== null && this.storedAt !== storedAt) throw differentTargets(id);
    this.storedAt = storedAt;
  }
}

function notFound(id: string): GatehouseError {
  return new GatehouseError(
    "not_found",
    `No stored object has the id "${id.slice(0, MAX_SHOWN_LENGTH)}". Ids are valid only as this gateway returned them, and ` +
      "with the same API key.",
  );
}

function statelessResponse(id: string): GatehouseError {
  return new GatehouseError(
    "stateless_responses",
    `The response "${id.slice(0, MAX_SHOWN_LENGTH)}" is not stored, because it was translated from another format. Send the ` +
      "items of the conversation in input.",
  );
}

function differentTargets(id: string): GatehouseError {
  return new GatehouseError(
    "bad_request",
    `The object "${id.slice(0, MAX_SHOWN_LENGTH)}" is stored at another provider account than the other objects of the ` +
      "request. Store them with one request, or upload the file again.",
  );
}
