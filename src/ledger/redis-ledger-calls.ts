// Arguments and replies of the scripts of the ledger in Redis.
import { digestName } from "../base/digest-name.ts";
import { amountOf, chargeOf, isExact, secondsOf } from "./claims.ts";
import {
  LEASE_MS,
  type BudgetClaim,
  type BudgetTarget,
  type Claim,
  type ClaimState,
  type Forecast,
  type WindowTarget,
} from "./ledger.ts";
import { add } from "./window.ts";

/** Keys and other arguments of a script, without the three keys and arguments that all scripts share. */
export interface ScriptCall {
  readonly gatewayId: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** A repetition would take effect again: do not repeat the call if Redis may have received it. */
  readonly isUnrepeatable?: boolean;
}

const LEASE_US = String(LEASE_MS * 1000);

/** The hash tag is the gateway, so that a cluster spreads gateways, and the keys of one request are on one node. */
function prefixOf(gatewayId: string): string {
  return `gatehouse:{${gatewayId}}:`;
}

/** A key that every script of a gateway uses. */
export function leasesKey(gatewayId: string): string {
  return `${prefixOf(gatewayId)}leases`;
}

export function keyOf(gatewayId: string, target: WindowTarget | BudgetTarget): string {
  return target.kind === "budget"
    ? `${prefixOf(gatewayId)}budget:${digestName(`${target.period} ${target.key}`)}`
    : `${prefixOf(gatewayId)}sliding:${digestName(target.key)}`;
}

export function keysOf(gatewayId: string, claims: readonly Claim[]): readonly string[] {
  return claims.map((claim) => keyOf(gatewayId, claim));
}

/** `process` is the process and the epoch. */
export function openKey(gatewayId: string, process: string): string {
  return `${prefixOf(gatewayId)}open:${process}`;
}

/** The epoch of a gateway: see RedisEpochs. */
export function epochKey(gatewayId: string): string {
  return `${prefixOf(gatewayId)}epoch`;
}

/** Returns the arguments after the SHA in EVALSHA, or after the text in EVAL. An empty epoch is not checked. */
export function scriptArguments(
  call: ScriptCall,
  processId: string,
  epoch: string,
  timeMs: number,
): string[] {
  const process = `${processId}.${epoch}`;
  return [
    String(3 + call.keys.length),
    leasesKey(call.gatewayId),
    openKey(call.gatewayId, process),
    epochKey(call.gatewayId),
    ...call.keys,
    microseconds(timeMs),
    process,
    epoch,
    ...call.args,
  ];
}

export function microseconds(milliseconds: number): string {
  return String(Math.round(milliseconds * 1000));
}

function kindOf(claim: Claim): string {
  if (claim.kind === "requests") return isExact(claim) ? "r" : "q";
  if (claim.kind === "tokens") return "t";
  return claim.enforced ? "b" : "w";
}

export type WindowClaim = Exclude<Claim, BudgetClaim>;

/** A window with an amount that was settled in it. */
export interface WindowAmount {
  readonly gatewayId: string;
  readonly key: string;
  readonly claim: WindowClaim;
  readonly amount: number;
}

/** The window in µs, or the end of the period in ms; 0 if it does not end. */
function spanOf(claim: WindowClaim | BudgetTarget): number {
  return claim.kind === "budget" ? Math.round(claim.endsAt ?? 0) : Math.round(claim.windowMs * 1000);
}

/** What the process knows of a budget in the database. */
interface KnownAmount {
  readonly written: number;
  readonly version: number;
}

export const NOTHING_KNOWN: KnownAmount = { written: 0, version: 0 };
/** As `written`: the database was read, and has nothing. */
export const NOTHING_WRITTEN: KnownAmount = { written: -1, version: 0 };

interface ReserveOptions {
  /** Null to reserve nothing. */
  readonly reservationId: string | null;
  readonly keys?: readonly string[];
  readonly amountKnown?: (claim: BudgetClaim) => KnownAmount;
}

export function reserveCall(
  gatewayId: string,
  claims: readonly Claim[],
  { reservationId, keys = keysOf(gatewayId, claims), amountKnown }: ReserveOptions,
): ScriptCall {
  const parts: string[] = [];
  for (const claim of claims) {
    const known = claim.kind === "budget" ? amountKnown?.(claim) : undefined;
    const { written, version } = known ?? NOTHING_KNOWN;
    parts.push(kindOf(claim), String(claim.limit), String(amountOf(claim)), String(spanOf(claim)));
    parts.push(String(written), String(version));
  }
  const charge = chargeIfDead(claims, keys);
  return { gatewayId, keys, args: [reservationId ?? "", charge, LEASE_US, ...parts] };
}

/** Returns what to charge if the process dies; empty if nothing. */
function chargeIfDead(claims: readonly Claim[], keys: readonly string[]): string {
  const charges = claims.flatMap((claim, at) =>
    claim.kind === "requests"
      ? []
      : [[claim.kind === "budget" ? "b" : "t", keys[at] ?? "", claim.amount, spanOf(claim)] as const],
  );
  return charges.length === 0 ? "" : JSON.stringify(charges);
}

/** Returns the call that adds an open reservation again; null if nothing is reserved. */
export function restoreCall(
  { gatewayId, claims, keys, reservationId }: OpenClaims,
  processId: string,
): ScriptCall | null {
  const charge = chargeIfDead(claims, keys);
  if (charge === "") return null;
  const restored: string[] = [];
  const parts: string[] = [];
  for (const [at, claim] of claims.entries()) {
    if (claim.kind === "requests") continue;
    restored.push(keys[at] ?? "");
    parts.push(claim.kind === "budget" ? "b" : "t", String(claim.amount), String(spanOf(claim)));
  }
  return {
    gatewayId,
    keys: [...restored, doneKey(gatewayId, processId, reservationId)],
    args: [reservationId, charge, LEASE_US, ...parts],
  };
}

function doneKey(gatewayId: string, processId: string, reservationId: string): string {
  return `${prefixOf(gatewayId)}done:${processId}:${reservationId}`;
}

export const renewCall = (gatewayId: string): ScriptCall => ({ gatewayId, keys: [], args: [LEASE_US] });

/** What is reserved, and how Redis names it. */
export interface OpenClaims {
  readonly gatewayId: string;
  readonly claims: readonly Claim[];
  /** The keys of the claims. */
  readonly keys: readonly string[];
  readonly reservationId: string;
}

/** How a reservation ends. `times` are those of its requests by claim; null: it was decided without Redis. */
export interface ReservationEnd extends OpenClaims {
  /** The reply to the reservation was lost: Redis may have it, or may get it later. */
  readonly isUnconfirmed?: boolean;
  readonly times: readonly number[] | null;
  /** Null for a release. */
  readonly actualAmounts: readonly number[] | null;
}

/** Returns null if there is nothing to do. `totalOf`: what this process has spent of a budget, with this reservation. */
export function endCall(
  end: ReservationEnd,
  processId: string,
  totalOf: (claim: BudgetClaim) => number,
): ScriptCall | null {
  const { gatewayId, claims, reservationId, times, actualAmounts } = end;
  const keys: string[] = [];
  const parts: string[] = [];
  let mode = "uncharge";
  for (const [at, claim] of claims.entries()) {
    const time = times?.[at] ?? 0;
    if (claim.kind === "requests" && (actualAmounts !== null || time === 0)) continue;
    keys.push(end.keys[at] ?? "");
    if (claim.kind === "requests") {
      parts.push(kindOf(claim), String(amountOf(claim)), "0", String(spanOf(claim)), String(time));
      continue;
    }
    mode = times === null ? "charge" : end.isUnconfirmed === true ? "cancel" : "end";
    const charge = actualAmounts === null ? 0 : chargeOf(claim, actualAmounts[at]);
    const [kind, charged] = claim.kind === "budget" ? ["b", totalOf(claim)] : ["t", charge];
    parts.push(kind, String(claim.amount), String(charged), String(spanOf(claim)), "0");
  }
  if (keys.length === 0) return null;
  if (mode === "charge") keys.push(doneKey(gatewayId, processId, reservationId));
  return {
    gatewayId,
    keys,
    args: [reservationId, mode, ...parts],
    isUnrepeatable: mode === "uncharge",
  };
}

/** Returns the call that counts requests that were admitted without Redis; null if there are none. */
export function countCall(open: OpenClaims, processId: string): ScriptCall | null {
  const { gatewayId, claims, reservationId } = open;
  const keys: string[] = [];
  const parts: string[] = [];
  for (const [at, claim] of claims.entries()) {
    if (claim.kind !== "requests") continue;
    keys.push(open.keys[at] ?? "");
    parts.push(kindOf(claim), String(amountOf(claim)), "0", String(spanOf(claim)), "0");
  }
  if (keys.length === 0) return null;
  // The settlement has a mark of its own.
  const id = `${reservationId} requests`;
  return { gatewayId, keys: [...keys, doneKey(gatewayId, processId, id)], args: [id, "charge", ...parts] };
}

/** Returns the call that counts an amount of a window that Redis has lost. It counts from now on: late, never early. `id`: of this repetition. */
export function recountCall(
  { gatewayId, key, claim, amount }: WindowAmount,
  id: string,
  processId: string,
): ScriptCall {
  const amounts = claim.kind === "requests" ? [String(amount), "0"] : ["0", String(amount)];
  const kind = claim.kind === "requests" ? kindOf(claim) : "t";
  return {
    gatewayId,
    keys: [key, doneKey(gatewayId, processId, id)],
    args: [id, "charge", kind, ...amounts, String(spanOf(claim)), "0"],
  };
}

export interface ReserveReply extends Forecast {
  /** Times of requests by claim, to release them. */
  readonly times: readonly number[];
  /** By claim: how long not even an amount of 1 fits, whatever happens to open reservations. */
  readonly fullMs: readonly number[];
}

/** Returns the indices of the claims on budgets that must be compared with the database first, or null. */
export function unseededIn(reply: unknown): readonly number[] | null {
  return Array.isArray(reply) && reply[0] === -1 ? requireNumbers(reply.slice(1), reply.length - 1) : null;
}

/** Returns the forecast of the reply of the reserve script. Throws if the reply is invalid. */
export function parseReserveReply(reply: unknown, claims: readonly Claim[]): ReserveReply {
  const [refused = 0, ...rest] = requireNumbers(reply, 1 + 4 * claims.length);
  const fits = refused === 0;
  const [times, fullMs]: [number[], number[]] = [[], []];
  const states = claims.map((claim, at): ClaimState => {
    const [usedBefore = 0, oldestUs = 0, waitUs = 0, last = 0] = rest.slice(4 * at, 4 * at + 4);
    times.push(fits && claim.kind === "requests" ? last : 0);
    fullMs.push(fits ? 0 : millisecondsOf(last));
    const amount = amountOf(claim);
    const used = fits ? add(usedBefore, amount) : usedBefore;
    const resetMs = claim.kind === "budget" ? claim.endsAt : oldestUs / 1000 + claim.windowMs;
    return {
      used,
      remaining: Math.max(0, claim.limit - used),
      resetAt: secondsOf(resetMs),
      waitMs: Math.ceil(millisecondsOf(waitUs)),
    };
  });
  return { fits, refusedBy: refused - 1, states, source: "redis", times, fullMs };
}

function millisecondsOf(microseconds: number): number {
  return microseconds < 0 ? Infinity : microseconds / 1000;
}

/** Throws unless the reply is an array of `count` numbers. */
export function requireNumbers(reply: unknown, count: number): number[] {
  const values: readonly unknown[] = Array.isArray(reply) ? reply : [];
  const numbers = values.filter((value) => typeof value === "number");
  if (values.length !== count || numbers.length !== count)
    throw new Error("unexpected reply of the ledger script");
  return numbers;
}
