// Reads an automaton that was computed at build time.
import { readFileSync } from "node:fs";
import { readAutomaton, type Automaton } from "./automaton.ts";
import type { BuiltAutomaton } from "./built-automata.ts";

interface TriggerText {
  readonly text: string;
}

/** Returns undefined if the automaton was computed from other triggers. */
export function readBuiltAutomaton(
  { file, triggersHash }: BuiltAutomaton,
  triggers: readonly TriggerText[],
): Automaton | undefined {
  return triggersHash === hashOfTriggers(triggers) ? readAutomaton(readFileSync(file)) : undefined;
}

export function hashOfTriggers(triggers: readonly TriggerText[]): string {
  return Bun.hash(triggers.map(({ text }) => text).join("\n")).toString(36);
}
