// Computes the priorities of rules after one of them is moved. As few rules as possible change.
import { MAX_PRIORITY, MIN_PRIORITY } from "../model/fields.ts";

interface Ranked {
  readonly id: string;
  readonly priority: number;
}

/** By priority, then age, like `sort=priority` of the list. */
export function inOrder<Rule extends Ranked>(rules: readonly Rule[]): Rule[] {
  return rules.toSorted((a, b) => a.priority - b.priority || (a.id < b.id ? -1 : 1));
}

/**
 * Returns the new priorities by id of the rules that change. The moved rule gets a number between its new neighbors. If there is
 * none, the rules after it get higher ones, up to the next gap. Rules of equal priority stay equal, unless the moved rule is
 * between them. `position` is the place among the other rules, which are in order.
 */
export function prioritiesAfterMove(
  moved: Ranked,
  others: readonly Ranked[],
  position: number,
): ReadonlyMap<string, number> {
  const [before, after] = [others.slice(0, position), others.slice(position)];
  const lower = before.at(-1)?.priority;
  const upper = after[0]?.priority;
  const isBetween = (lower ?? -Infinity) < moved.priority && moved.priority < (upper ?? Infinity);
  if (isBetween) return new Map();
  const priority = between(lower, upper);
  const changes = new Map([[moved.id, priority], ...raised(after, priority)]);
  return Math.max(...changes.values()) > MAX_PRIORITY || priority < MIN_PRIORITY
    ? numbered(moved, before, after)
    : changes;
}

/** A number between two others, or the one after the lower if there is none. */
function between(lower: number | undefined, upper: number | undefined): number {
  if (lower === undefined) return upper === undefined ? 0 : upper - 1;
  if (upper === undefined) return lower + 1;
  return lower + Math.max(1, Math.floor((upper - lower) / 2));
}

/** Raises rules, which are in order, above a number, until one is above it already. */
function raised(rules: readonly Ranked[], above: number): [string, number][] {
  const changes: [string, number][] = [];
  let [old, assigned] = [-Infinity, above];
  for (const { id, priority } of rules) {
    if (priority !== old) {
      if (priority > assigned) break;
      [old, assigned] = [priority, assigned + 1];
    }
    changes.push([id, assigned]);
  }
  return changes;
}

/** There is no room at the end of the range: all rules get numbers from 0. Rules of equal priority stay equal. */
function numbered(moved: Ranked, before: readonly Ranked[], after: readonly Ranked[]): Map<string, number> {
  const changes = new Map<string, number>();
  let [old, next]: [number | null, number] = [null, -1];
  const add = (rules: readonly Ranked[]) => {
    for (const { id, priority } of rules) {
      if (priority !== old) next++;
      old = priority;
      changes.set(id, next);
    }
    old = null;
  };
  add(before);
  add([moved]);
  add(after);
  for (const { id, priority } of [...before, moved, ...after])
    if (changes.get(id) === priority) changes.delete(id);
  return changes;
}
