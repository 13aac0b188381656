// Smooth weighted round robin: each request is distributed as credit by weight; the target with the most credit gets the
// request and pays one. Credit is measured in requests, not in weight, so that it stays valid when weights or the set of
// targets change.
import type { Contender } from "./target-state.ts";

/** Credits that differ by less are equal (thirds do not add up exactly in binary), and the earlier target wins. */
const SAME_CREDIT = 1e-9;

/** Returns the index of a contender, -1 if there is none. */
export function pickRoundRobin(contenders: readonly Contender[]): number {
  let total = 0;
  for (const { weight } of contenders) total += weight;
  let winner: Contender | null = null;
  let most = -Infinity;
  for (const contender of contenders) {
    const credit = contender.state.credit + contender.weight / total;
    contender.state.credit = credit;
    if (credit > most + SAME_CREDIT) {
      most = credit;
      winner = contender;
    }
  }
  if (winner === null) return -1;
  winner.state.credit -= 1;
  return winner.index;
}
