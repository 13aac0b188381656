// Reports the fields inside of requests that no translation reads, so that they do not disappear silently. Providers add fields
// over time; those at the top level of a request are reported by the translators.
import { isJsonObject, type JsonObject } from "../base/json.ts";
import type { TranslationReport } from "./translation-report.ts";

/** The names of the fields that translations read or report themselves; null if their values are not examined. */
export interface KnownFields {
  readonly [name: string]: KnownFields | KnownTypes | null;
}

/** What is known inside of the top-level fields of a request. */
export type KnownRequest = Readonly<Record<string, KnownFields | KnownTypes>>;

/** The known fields of objects by their `type`. Objects of other types are rejected or dropped as a whole. */
export class KnownTypes {
  readonly #byType: ReadonlyMap<unknown, KnownFields>;
  readonly #defaultType: string;

  constructor(defaultType: string, byType: Readonly<Record<string, KnownFields>>) {
    this.#byType = new Map(Object.entries(byType));
    this.#defaultType = defaultType;
  }

  fieldsOf(type: unknown): KnownFields | undefined {
    return this.#byType.get(type ?? this.#defaultType);
  }
}

/** Returns known fields whose values are not examined. */
export function known(...names: readonly string[]): KnownFields {
  return Object.fromEntries(names.map((name) => [name, null]));
}

/** Reports the unknown fields inside of the fields of a request that the table names. */
export function reportUnknownInside(body: JsonObject, table: KnownRequest, report: TranslationReport): void {
  for (const name in table) {
    const inner = table[name];
    if (inner !== undefined) reportUnknownFields(body[name], inner, report);
  }
}

/** Reports the unknown fields of an object, or of the objects of a list. The depth is that of the table. */
function reportUnknownFields(
  value: unknown,
  table: KnownFields | KnownTypes,
  report: TranslationReport,
): void {
  if (Array.isArray(value)) {
    for (const each of value) if (isJsonObject(each)) reportUnknownFields(each, table, report);
    return;
  }
  if (!isJsonObject(value)) return;
  const fields = table instanceof KnownTypes ? table.fieldsOf(value["type"]) : table;
  if (fields === undefined) return;
  for (const name in value) {
    const inner = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (inner === undefined) {
      if (!isEmpty(value[name])) report.drop(name);
    } else if (inner !== null) reportUnknownFields(value[name], inner, report);
  }
}

/** Clients that send responses back send their empty fields as well: `annotations: []`, `audio: null`. */
function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}
