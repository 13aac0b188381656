// The order in which rules that match equally well are used.
import type { Rule } from "../model/rule.ts";

/** By priority, then more headers, then age: ids are assigned in ascending order. */
export function byPrecedence(a: Rule, b: Rule): number {
  const headers = Object.keys(b.headers).length - Object.keys(a.headers).length;
  return a.priority - b.priority || headers || (a.id < b.id ? -1 : 1);
}
