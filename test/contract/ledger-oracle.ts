// The oracle for ledgers, which filters lists for every decision, and random walks to compare with.
import fc from "fast-check";
import {
  LEASE_MS,
  MAX_AMOUNT,
  type BudgetTarget,
  type Claim,
  type ClaimState,
} from "../../src/ledger/ledger.ts";

interface NaiveBucket {
  readonly start: number;
  end: number;
  amount: number;
}

interface NaiveReservation {
  readonly node: number;
  readonly claims: readonly Claim[];
  readonly time: number;
}

const sum = (amounts: readonly number[]) => amounts.reduce((total, each) => total + each, 0);
const amountOf = (claim: Claim) => (claim.kind === "requests" ? (claim.amount ?? 1) : claim.amount);
const nameOf = (target: { kind: string; key: string; period?: string }) =>
  `${target.kind} ${target.key} ${target.period ?? ""}`;

export class NaiveLedger {
  readonly #buckets = new Map<string, NaiveBucket[]>();
  readonly #spent = new Map<string, number>();
  #open: NaiveReservation[] = [];
  /** The times of the charges of reservations whose lease has ended. */
  readonly #expired = new Map<NaiveReservation, readonly number[]>();
  readonly #leaseEnds = new Map<number, number>();
  /** Nodes that do not renew their lease. */
  readonly #mortal: ReadonlySet<number>;

  constructor(mortal: readonly number[]) {
    this.#mortal = new Set(mortal);
  }

  /** Charges the reservations of nodes whose lease has ended. To be called before everything else. */
  expire(now: number): void {
    for (const [node, end] of this.#leaseEnds) {
      if (end > now || !this.#mortal.has(node)) continue;
      for (const reservation of this.#open.filter((each) => each.node === node))
        this.#expired.set(reservation, this.#settle(reservation, reservation.claims.map(amountOf), end, now));
    }
  }

  states(claims: readonly Claim[], now: number): { refusedBy: number; states: ClaimState[] } {
    const before = claims.map((claim) => this.#used(claim, now));
    const waits = claims.map((claim, at) => this.#wait(claim, before[at] ?? 0, now));
    const refusedBy = waits.findIndex((wait) => wait > 0);
    const states = claims.map((claim, at) => {
      const used = (before[at] ?? 0) + (refusedBy === -1 ? amountOf(claim) : 0);
      const reset = claim.kind === "budget" ? claim.endsAt : this.#oldest(claim, now) + claim.windowMs;
      const resetAt = reset === null ? null : Math.ceil(reset / 1000);
      return { used, remaining: Math.max(0, claim.limit - used), resetAt, waitMs: waits[at] ?? 0 };
    });
    return { refusedBy, states };
  }

  reserve(node: number, claims: readonly Claim[], now: number): NaiveReservation | null {
    if (this.states(claims, now).refusedBy !== -1) return null;
    for (const claim of claims) if (claim.kind === "requests") this.#charge(claim, amountOf(claim), now);
    const reservation = { node, claims, time: now };
    this.#open.push(reservation);
    if (claims.some(({ kind }) => kind !== "requests")) this.#leaseEnds.set(node, now + LEASE_MS);
    return reservation;
  }

  /** `actual` is null for a release. */
  end(reservation: NaiveReservation, actual: readonly number[] | null, now: number): void {
    const charged = this.#expired.get(reservation);
    if (charged !== undefined) {
      for (const [index, claim] of reservation.claims.entries()) {
        if (claim.kind === "budget") this.adjust(claim, (actual?.[index] ?? 0) - claim.amount);
        else if (claim.kind === "tokens") {
          this.#uncharge(claim, charged[index] ?? 0, claim.amount);
          this.#charge(claim, actual?.[index] ?? 0, now);
        } else if (actual === null) this.#uncharge(claim, reservation.time, amountOf(claim));
      }
    } else this.#settle(reservation, actual, now);
  }

  /** The charges are of the time `at`, and made at the time `now`. Returns their times. */
  #settle(
    reservation: NaiveReservation,
    actual: readonly number[] | null,
    at: number,
    now = at,
  ): readonly number[] {
    this.#open = this.#open.filter((each) => each !== reservation);
    return reservation.claims.map((claim, index) => {
      const charge = actual?.[index] ?? 0;
      if (claim.kind === "tokens") return this.#charge(claim, charge, at, now);
      if (claim.kind === "budget") this.adjust(claim, charge);
      else if (actual === null) this.#uncharge(claim, reservation.time, amountOf(claim));
      return at;
    });
  }

  adjust(target: BudgetTarget, amount: number): void {
    const spent = (this.#spent.get(nameOf(target)) ?? 0) + amount;
    this.#spent.set(nameOf(target), Math.min(MAX_AMOUNT, Math.max(0, spent)));
  }

  clear(claim: Claim): void {
    this.#spent.delete(nameOf(claim));
    this.#buckets.delete(nameOf(claim));
  }

  amounts(claim: Claim): { spent: number; reserved: number } {
    return { spent: this.#spent.get(nameOf(claim)) ?? 0, reserved: this.#reserved(claim) };
  }

  #live(claim: Exclude<Claim, { kind: "budget" }>, now: number): NaiveBucket[] {
    return (this.#buckets.get(nameOf(claim)) ?? []).filter(({ end }) => end > now - claim.windowMs);
  }

  #reserved(claim: Claim): number {
    const open = this.#open.flatMap(({ claims }) => claims).filter((each) => nameOf(each) === nameOf(claim));
    return claim.kind === "requests" ? 0 : sum(open.map(amountOf));
  }

  #used(claim: Claim, now: number): number {
    const settled =
      claim.kind === "budget"
        ? (this.#spent.get(nameOf(claim)) ?? 0)
        : sum(this.#live(claim, now).map(({ amount }) => amount));
    return settled + this.#reserved(claim);
  }

  #oldest(claim: Exclude<Claim, { kind: "budget" }>, now: number): number {
    return this.#live(claim, now)[0]?.end ?? now;
  }

  #wait(claim: Claim, used: number, now: number): number {
    const amount = amountOf(claim);
    if (amount === 0 || used + amount <= claim.limit) return 0;
    if (claim.kind === "budget" && !claim.enforced) return 0;
    if (amount > claim.limit) return Infinity;
    const settled = used - this.#reserved(claim);
    if (settled + amount <= claim.limit) return 1;
    if (claim.kind === "budget") return claim.endsAt === null ? Infinity : claim.endsAt - now;
    const live = this.#live(claim, now);
    const needed = live.findIndex(
      (_, at) => sum(live.slice(at + 1).map((bucket) => bucket.amount)) + amount <= claim.limit,
    );
    return (live[needed]?.end ?? now) + claim.windowMs - now;
  }

  #charge(claim: Exclude<Claim, { kind: "budget" }>, amount: number, at: number, now = at): number {
    if (amount === 0) return at;
    const buckets = this.#live(claim, now);
    const newest = buckets.at(-1);
    const width = claim.kind === "requests" && claim.limit <= 10_000 ? 0 : claim.windowMs / 60;
    if (newest !== undefined && (at < newest.start + width || at === newest.end)) {
      newest.end = at;
      newest.amount += amount;
    } else buckets.push({ start: at, end: at, amount });
    this.#buckets.set(nameOf(claim), buckets);
    return at;
  }

  #uncharge(claim: Claim, time: number, amount: number): void {
    const buckets = this.#buckets.get(nameOf(claim)) ?? [];
    const bucket = buckets.findLast(({ start, end }) => start <= time && time <= end);
    if (bucket === undefined) return;
    bucket.amount -= Math.min(amount, bucket.amount);
    if (bucket.amount === 0)
      this.#buckets.set(
        nameOf(claim),
        buckets.filter((each) => each !== bucket),
      );
  }
}

export type WalkStep =
  | { readonly kind: "reserve"; readonly node: number; readonly amounts: readonly (number | null)[] }
  | { readonly kind: "settle"; readonly which: number; readonly amounts: readonly number[] }
  | { readonly kind: "release"; readonly which: number }
  | { readonly kind: "pass"; readonly ms: number }
  | { readonly kind: "adjust"; readonly which: number; readonly amount: number }
  | { readonly kind: "clear"; readonly which: number };

/** Limits and budgets of a walk, with an amount of 1. */
export function walkClaims(walk: string, endsAt: number): Claim[] {
  const budget = { kind: "budget", limit: 200, amount: 1, period: "p", endsAt, enforced: true } as const;
  return [
    { kind: "requests", key: `${walk} exact`, limit: 3, windowMs: 6000 },
    { kind: "requests", key: `${walk} large`, limit: 20_000, windowMs: 60_000 },
    { kind: "tokens", key: `${walk} minute`, limit: 100, amount: 1, windowMs: 60_000 },
    { kind: "tokens", key: `${walk} short`, limit: 50, amount: 1, windowMs: 600 },
    { ...budget, key: `${walk} enforced` },
    { ...budget, key: `${walk} warns`, limit: 50, enforced: false },
    { ...budget, key: `${walk} total`, period: "total", endsAt: null },
  ];
}

const CLAIMS = walkClaims("", 0).length;
const amount = fc.oneof(fc.integer({ min: 0, max: 60 }), fc.constantFrom(0, 1, 50, 100, 200, 201));

/** Waits that often end exactly at the end of a window, a sub-bucket, or a lease. */
const pause = fc.constantFrom(0, 1, 9, 10, 11, 100, 590, 600, 999, 1000, 5999, 6000, 29_999, 30_000, 60_000);

export const walkSteps: fc.Arbitrary<WalkStep[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant("reserve" as const),
        node: fc.nat({ max: 1 }),
        amounts: fc.array(fc.option(amount), { minLength: CLAIMS, maxLength: CLAIMS }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("settle" as const),
        which: fc.nat({ max: 20 }),
        amounts: fc.array(amount, { minLength: CLAIMS, maxLength: CLAIMS }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant("release" as const), which: fc.nat({ max: 20 }) }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: pause }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant("adjust" as const),
        which: fc.nat({ max: 20 }),
        amount: fc.integer({ min: -100, max: 100 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("clear" as const), which: fc.nat({ max: 20 }) }) },
  ),
  { minLength: 1, maxLength: 40 },
);

const NOTHING = Array.from({ length: CLAIMS }, () => 0);
const tokensOfNode = (node: number, amount: number): WalkStep => ({
  kind: "reserve",
  node,
  amounts: [null, null, amount, null, null, null, null],
});

/** A lease that ends one millisecond after a charge is noticed when that charge has just left the window. */
export const LEASE_AT_END_OF_WINDOW: WalkStep[] = [
  tokensOfNode(0, 0),
  tokensOfNode(1, 1),
  { kind: "pass", ms: 29_999 },
  { kind: "settle", which: 0, amounts: [1, ...NOTHING.slice(1)] },
  { kind: "pass", ms: 60_000 },
  { kind: "settle", which: 0, amounts: NOTHING },
];

/** The leases of both nodes have ended at the same time, one of them without an open reservation. */
export const LEASES_THAT_END_TOGETHER: WalkStep[] = [
  tokensOfNode(0, 1),
  { kind: "reserve", node: 1, amounts: [null, null, null, null, null, 1, null] },
  { kind: "settle", which: 0, amounts: NOTHING },
  { kind: "pass", ms: 30_000 },
];
