// The token limiter against a naive oracle: no trailing window holds more settled tokens than the limit, except for what providers
// reported beyond the reservation of their request.
import fc from "fast-check";
import { expect, test } from "bun:test";
import { ManualClock } from "../../src/base/manual-clock.fixture.ts";
import type { Reservation } from "../../src/ledger/ledger.ts";
import { MemoryLedger } from "../../src/ledger/memory-ledger.ts";
import { tokenLimiter } from "../../src/plugins/token_limiter/plugin.ts";
import type { ClaimContext } from "../../src/sdk/index.ts";
import { testHost } from "../../src/sdk/test-host.ts";
import { runs } from "../support/long-form.ts";

const LIMITS = [
  { limit: 1000, window: "1m" },
  { limit: 3000, window: "1h" },
] as const;
const WINDOWS_MS = [60_000, 3_600_000];

type Step =
  | { readonly kind: "request"; readonly input: number; readonly output: number; readonly isLimited: boolean }
  | { readonly kind: "settle"; readonly which: number; readonly share: number }
  | { readonly kind: "release"; readonly which: number }
  | { readonly kind: "pass"; readonly ms: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant("request" as const),
        input: fc.nat({ max: 600 }),
        output: fc.nat({ max: 600 }),
        isLimited: fc.boolean(),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant("settle" as const),
        which: fc.nat({ max: 20 }),
        share: fc.constantFrom(0, 0.1, 0.5, 1, 1, 1.3),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant("release" as const), which: fc.nat({ max: 20 }) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant("pass" as const),
        ms: fc.constantFrom(0, 1, 500, 999, 1000, 30_000, 59_999, 60_000, 3_540_000),
      }),
    },
  ),
  { minLength: 1, maxLength: 80 },
);

interface Open {
  readonly reservation: Reservation;
  readonly reserved: number;
}

class Walk {
  readonly #clock = new ManualClock();
  readonly #ledger = new MemoryLedger({ clock: this.#clock });
  readonly #hooks = tokenLimiter.create(
    tokenLimiter.settings.parse({ limits: { global: LIMITS } }),
    testHost(this.#ledger),
  );
  readonly #open: Open[] = [];
  readonly #settled: { readonly at: number; readonly tokens: number; readonly excess: number }[] = [];

  run(step: Step): void {
    const open = "which" in step ? this.#open.splice(step.which % (this.#open.length || 1), 1)[0] : undefined;
    if (step.kind === "pass") this.#clock.advance(step.ms);
    else if (step.kind === "request") this.#request(step.input, step.output, step.isLimited);
    else if (step.kind === "release") open?.reservation.release();
    else if (open !== undefined) {
      const tokens = Math.round(open.reserved * step.share);
      open.reservation.settle([tokens, tokens]);
      this.#settled.push({ at: this.#clock.now(), tokens, excess: Math.max(0, tokens - open.reserved) });
    }
  }

  #request(inputTokens: number, output: number, limitsOutput: boolean): void {
    const context = {
      runsModel: true,
      eligibleModels: ["m"],
      estimateTokens: () => ({ inputTokens, limitsOutput, outputTokens: () => output }),
      count: () => undefined,
      setDetail: () => undefined,
      respond: () => undefined,
    } as unknown as ClaimContext;
    const set = this.#hooks.claims?.(context) ?? null;
    if (set === null || set instanceof Promise) return;
    const decided = this.#ledger.reserve("gw", set.claims, "closed");
    const amounts = set.claims.map((claim) => (claim.kind === "tokens" ? claim.amount : 0));
    // A limit without max_tokens reserves at most a quarter of itself, so that the amounts may differ.
    if (decided.reserved) this.#open.push({ reservation: decided, reserved: Math.min(...amounts) });
  }

  /** Returns the first window that holds too much. */
  excess(): string | null {
    for (const [index, { limit }] of LIMITS.entries())
      for (const { at } of this.#settled) {
        const within = this.#settled.filter(
          (each) => each.at > at - (WINDOWS_MS[index] ?? 0) && each.at <= at,
        );
        const sum = within.reduce((total, { tokens }) => total + tokens, 0);
        const allowed = within.reduce<number>((total, { excess }) => total + excess, limit);
        if (sum > allowed) return `${sum} tokens until ${at} in the window of ${limit}, allowed ${allowed}`;
      }
    return null;
  }
}

test("no trailing window holds more than the limit of settled tokens beyond the excess of providers", () => {
  let settled = 0;
  fc.assert(
    fc.property(steps, (all) => {
      const walk = new Walk();
      for (const step of all) walk.run(step);
      settled += all.length;
      expect(walk.excess()).toBeNull();
    }),
    { numRuns: runs({ short: 2000, long: 20_000 }) },
  );
  expect(settled).toBeGreaterThan(1000);
});
