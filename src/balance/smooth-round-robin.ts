// Owns round robin: every request is shared out as credit by weight, the target owed most gets it and pays one.
// Credit is counted in requests, not in weight, so it keeps its meaning when weights or the set of targets change.
import type { Contender } from "./target-state.ts";

// Thirds do not add up exactly in binary; credits nearer than this are equal, and the earlier target goes first.
const SAME_CREDIT = 1e-9;

export function pickInTurn(contenders: readonly Contender[], count: number): number {
  let total = 0;
  for (let at = 0; at < count; at++) total += (contenders[at] as Contender).weight;
  let winner = contenders[0] as Contender;
  let most = -Infinity;
  for (let at = 0; at < count; at++) {
    const contender = contenders[at] as Contender;
    const credit = contender.state.credit + contender.weight / total;
    contender.state.credit = credit;
    if (credit > most + SAME_CREDIT) {
      most = credit;
      winner = contender;
    }
  }
  winner.state.credit -= 1;
  return winner.index;
}
