// Arguments and replies of the scripts of the ledger in Redis.
import { digestName } from "../base/digest-name.ts";
import { amountOf, chargeOf, isExact, secondsOf } from "./claims.ts";
import {
  LEASE_MS,
  type BudgetTarget,
  type Claim,
  type ClaimState,
  type Forecast,
  type WindowTarget,
} from "./ledger.ts";
import { add } from "./window.ts";

/** Keys and other arguments of a script, without the two keys and two arguments that all scripts share. */
export interface ScriptCall {
  readonly gatewayId: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** A repetition would take effect again: do not repeat the call if Redis may have received it. */
  readonly isUnrepeatable?: boolean;
}

export const LEASE_US = String(LEASE_MS * 1000);

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

/** Returns the arguments after the SHA in EVALSHA, or after the text in EVAL. */
export function scriptArguments(call: ScriptCall, processId: string, timeMs: number): string[] {
  const prefix = prefixOf(call.gatewayId);
  return [
    String(2 + call.keys.length),
    leasesKey(call.gatewayId),
    `${prefix}open:${processId}`,
    ...call.keys,
    String(Math.round(timeMs * 1000)),
    processId,
    ...call.args,
  ];
}

function kindOf(claim: Claim): string {
  if (claim.kind === "requests") return isExact(claim) ? "r" : "q";
  if (claim.kind === "tokens") return "t";
  return claim.enforced ? "b" : "w";
}

/** The window in µs, or the end of the period in ms; 0 if it does not end. */
function spanOf(claim: Claim): number {
  return claim.kind === "budget" ? Math.round(claim.endsAt ?? 0) : Math.round(claim.windowMs * 1000);
}

/** `reservationId` is null to reserve nothing. */
export function reserveCall(
  gatewayId: string,
  claims: readonly Claim[],
  reservationId: string | null,
  keys = keysOf(gatewayId, claims),
): ScriptCall {
  const parts: string[] = [];
  const charges: (readonly [string, string, number, number])[] = [];
  for (const [at, claim] of claims.entries()) {
    const [amount, span] = [amountOf(claim), spanOf(claim)];
    parts.push(kindOf(claim), String(claim.limit), String(amount), String(span));
    if (claim.kind !== "requests")
      charges.push([claim.kind === "budget" ? "b" : "t", keys[at] ?? "", amount, span]);
  }
  const charge = charges.length === 0 ? "" : JSON.stringify(charges);
  return { gatewayId, keys, args: [reservationId ?? "", charge, LEASE_US, ...parts] };
}

/** How a reservation ends. `times` are those of its requests by claim; null: not reserved in Redis. */
export interface ReservationEnd {
  readonly gatewayId: string;
  readonly claims: readonly Claim[];
  /** The keys of the claims. */
  readonly keys: readonly string[];
  readonly reservationId: string;
  /** The reply to the reservation was lost: Redis may have it, or may get it later. */
  readonly isUnconfirmed?: boolean;
  readonly times: readonly number[] | null;
  /** Null for a release. */
  readonly actualAmounts: readonly number[] | null;
}

/** Returns null if there is nothing to do. */
export function endCall(end: ReservationEnd, processId: string): ScriptCall | null {
  const { gatewayId, claims, reservationId, times, actualAmounts } = end;
  if (times === null && actualAmounts === null) return null;
  const keys: string[] = [];
  const parts: string[] = [];
  let mode = "uncharge";
  for (const [at, claim] of claims.entries()) {
    const time = times?.[at] ?? 0;
    if (claim.kind === "requests" && (actualAmounts !== null || time === 0)) continue;
    keys.push(end.keys[at] ?? "");
    if (claim.kind === "requests") {
      parts.push("r", String(amountOf(claim)), "0", String(spanOf(claim)), String(time));
      continue;
    }
    mode = times === null ? "charge" : end.isUnconfirmed === true ? "cancel" : "end";
    const reserved = times === null ? 0 : claim.amount;
    const charge = actualAmounts === null ? 0 : chargeOf(claim, actualAmounts[at]);
    const kind = claim.kind === "budget" ? "b" : "t";
    parts.push(kind, String(reserved), String(charge), String(spanOf(claim)), "0");
  }
  if (keys.length === 0) return null;
  if (mode === "charge") keys.push(`${prefixOf(gatewayId)}done:${processId}:${reservationId}`);
  return {
    gatewayId,
    keys,
    args: [reservationId, mode, ...parts],
    isUnrepeatable: mode === "uncharge",
  };
}

export interface ReserveReply extends Forecast {
  /** Times of requests by claim, to release them. */
  readonly times: readonly number[];
  /** By claim: how long not even an amount of 1 fits, whatever happens to open reservations. */
  readonly fullMs: readonly number[];
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
