// Compares three versions of a record: as it was read, as it is stored now, and as it was entered.
import { joinPath, parsePath, valueAt } from "./json-path.ts";

/** A field that the stored version changed to a value that differs from the entered one. */
export interface FieldChange {
  /** Such as `targets[0].weight`. */
  readonly path: string;
  readonly theirs: unknown;
  readonly mine: unknown;
  /** Whether the field was changed in the form, too. */
  readonly isChangedByMe: boolean;
}

/** Fields that the gateway sets. */
const SERVER_FIELDS: ReadonlySet<string> = new Set(["updated_at", "last_used_at", "warnings"]);

export function changesBetween(base: unknown, theirs: unknown, mine: unknown): readonly FieldChange[] {
  return changedPaths(base, theirs, "").flatMap((path) => {
    const [before, stored, entered] = [base, theirs, mine].map((each) => valueAt(each, parsePath(path)));
    if (isEqual(stored, entered)) return [];
    return { path, theirs: stored, mine: entered, isChangedByMe: !isEqual(before, entered) };
  });
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function changedPaths(base: unknown, theirs: unknown, path: string): readonly string[] {
  if (isEqual(base, theirs)) return [];
  if (isList(base) && isList(theirs)) {
    const length = Math.max(base.length, theirs.length);
    return Array.from({ length }, (_, index) => index).flatMap((index) =>
      changedPaths(base[index], theirs[index], joinPath(path, index)),
    );
  }
  if (!isRecord(base) || !isRecord(theirs)) return [path];
  return [...new Set([...Object.keys(base), ...Object.keys(theirs)])]
    .filter((name) => !SERVER_FIELDS.has(name))
    .flatMap((name) => changedPaths(base[name], theirs[name], joinPath(path, name)));
}

/** Whether it is a list of records. Other lists, such as methods, are compared as a whole. */
function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && value.every(isRecord);
}

/** A name that cannot be part of a path, such as that of a header with a dot, makes its record one value. */
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    Object.keys(value).every((name) => name !== "" && !/[.[\]]/.test(name))
  );
}
