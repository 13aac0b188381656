// Parses and validates the JSON and enum columns of the table `revisions`.
import type { Kind } from "../kinds/kind.ts";
import { isKind } from "../kinds/kinds.ts";
import type { Parameter, Row } from "./database.ts";
import type { Change, RevisionAction, RevisionKind } from "./store.ts";
import type { RowChange } from "./transaction-recorder.ts";

const ACTIONS: Readonly<Record<RevisionAction, true>> = {
  create: true,
  update: true,
  delete: true,
  rollback: true,
  apply: true,
};
/** What revisions can be about, apart from records. */
const OTHERS: Readonly<Record<Exclude<RevisionKind, Kind>, true>> = { blocks: true, prices: true };

/** Returns the rows that a revision changed. */
export function rowChangesIn(records: string): RowChange[] {
  return listIn(records, isRowChange, "records");
}

/** Returns what other nodes must load because of a revision. */
export function changesIn(changes: string): Change[] {
  const list = listIn(changes, isChange, "changes");
  return list.map(({ gatewayId, apiKeyId }) => ({ gatewayId, apiKeyId }));
}

export function actionIn(value: Parameter | undefined): RevisionAction {
  if (typeof value === "string" && isKeyOf(ACTIONS, value)) return value;
  throw unreadable("action");
}

export function kindIn(value: Parameter | undefined): RevisionKind | null {
  if (value === null || value === undefined) return null;
  if (typeof value === "string" && isRevisionKind(value)) return value;
  throw unreadable("resource");
}

function listIn<T>(text: string, isItem: (value: unknown) => value is T, column: string): T[] {
  const list: unknown = JSON.parse(text);
  if (!Array.isArray(list) || !list.every(isItem)) throw unreadable(column);
  return list;
}

function isRowChange(value: unknown): value is RowChange {
  return (
    isObject(value) &&
    typeof value["kind"] === "string" &&
    isRevisionKind(value["kind"]) &&
    typeof value["id"] === "string" &&
    (value["before"] === null || isRow(value["before"])) &&
    (value["after"] === null || isRow(value["after"]))
  );
}

function isRevisionKind(name: string): name is RevisionKind {
  return isKind(name) || isKeyOf(OTHERS, name);
}

function isChange(value: unknown): value is Change {
  return isObject(value) && typeof value["gatewayId"] === "string" && isTextOrNull(value["apiKeyId"]);
}

function isRow(value: unknown): value is Row {
  return (
    isObject(value) && Object.values(value).every((each) => isTextOrNull(each) || typeof each === "number")
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === "string";
}

function isKeyOf<K extends string>(keys: Readonly<Record<K, true>>, value: string): value is K {
  return Object.hasOwn(keys, value);
}

function unreadable(column: string): Error {
  return new Error(
    `The column "${column}" of the table "revisions" holds a value that this version of Gatehouse cannot read.`,
  );
}
