// Parses the column of an administrator.
import { isActor, type Actor } from "../model/administrator.ts";
import type { Parameter } from "./database.ts";

/** Returns null if the column is empty: the row is of a version that did not record it. */
export function actorIn(value: Parameter | undefined): Actor | null {
  if (value === null || value === undefined) return null;
  const actor: unknown = JSON.parse(String(value));
  if (isActor(actor)) return actor;
  throw new Error('The column "actor" holds a value that this version of Gatehouse cannot read.');
}
