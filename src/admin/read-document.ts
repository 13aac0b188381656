// Validates a configuration document record by record, and yields to the event loop in between: a document may have very many records,
// and all of them may be invalid.
import type { z } from "zod";
import { validationError, type ErrorDetail } from "../base/errors.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { createYielder, nextTurn } from "../base/yield-turns.ts";
import { linkProblems, linkProblemsBeside } from "../model/document-links.ts";
import type { SettingsSchemaOf } from "../model/document-types.ts";
import { applyDefaultsAt } from "../model/document-variables.ts";
import {
  documentGateway,
  documentRecords,
  documentSchema,
  MAX_GATEWAYS,
  MAX_PARTS,
  type ConfigurationDocument,
} from "../model/document.ts";
import { check, formatPath, MAX_DETAILS } from "../model/validate.ts";

type Place = readonly PropertyKey[];

/** A part of a document. */
interface Part {
  /** With defaults; meaningless if there are problems. */
  readonly value: unknown;
  /** Without references to the environment. */
  readonly resolved: unknown;
}

/** A larger document with invalid fields is not searched for wrong names at the same time. */
const MAX_LINKED_RECORDS = 5000;

/** Returns the document with its defaults, or throws a 400 with the first of its problems. */
export async function readDocument(
  raw: JsonObject,
  settingsOf: SettingsSchemaOf,
): Promise<ConfigurationDocument> {
  rejectLongLists(raw);
  const reader = new DocumentReader(raw, settingsOf);
  const { value, resolved } = await reader.read();
  rejectProblems(reader.references);
  if (reader.fields.length > 0) {
    const isSmall = reader.recordCount <= MAX_LINKED_RECORDS;
    rejectProblems([...reader.fields, ...(isSmall ? linkProblemsBeside(reader.fields, resolved) : [])]);
  }
  // Each part was validated with its part of the schema.
  const document = value as ConfigurationDocument;
  await nextTurn();
  rejectProblems(linkProblems(document));
  return document;
}

function rejectProblems(problems: readonly ErrorDetail[]): void {
  if (problems.length > 0) throw validationError(problems.slice(0, MAX_DETAILS));
}

/** Before anything looks at the entries of these lists. */
function rejectLongLists({ gateways }: JsonObject): void {
  if (!Array.isArray(gateways)) return;
  const problems: ErrorDetail[] = [];
  const add = (schema: z.ZodType, list: unknown, place: Place, max: number) => {
    if (Array.isArray(list) && list.length > max) problems.push(...problemsAt(place, schema, list));
  };
  add(documentSchema.shape.gateways, gateways, ["gateways"], MAX_GATEWAYS);
  rejectProblems(problems);
  for (const [index, gateway] of gateways.entries())
    for (const name of Object.keys(documentRecords))
      if (isJsonObject(gateway)) add(listSchema(name), gateway[name], ["gateways", index, name], MAX_PARTS);
  rejectProblems(problems);
}

function listSchema(name: string): z.ZodType {
  return (documentGateway.shape as Readonly<Record<string, z.ZodType>>)[name] ?? documentGateway;
}

function problemsAt(place: Place, schema: z.ZodType, value: unknown): ErrorDetail[] {
  const checked = check(schema, value);
  return checked.ok ? [] : placed(place, checked.details);
}

function placed(place: Place, details: readonly ErrorDetail[]): ErrorDetail[] {
  const at = formatPath(place);
  return details.map(({ path, message }) => {
    const isJoined = at === "" || path === "" || path.startsWith("[");
    return { path: isJoined ? at + path : `${at}.${path}`, message };
  });
}

class DocumentReader {
  /** Problems with references to the environment. */
  readonly references: ErrorDetail[] = [];
  readonly fields: ErrorDetail[] = [];
  recordCount = 0;
  readonly #raw: JsonObject;
  readonly #settingsOf: SettingsSchemaOf;
  readonly #yieldTurn = createYielder();

  constructor(raw: JsonObject, settingsOf: SettingsSchemaOf) {
    this.#raw = raw;
    this.#settingsOf = settingsOf;
  }

  read(): Promise<Part> {
    return this.#readLists(documentSchema, this.#raw, [], ["gateways"], (gateway, place) =>
      this.#readLists(documentGateway, gateway, place, Object.keys(documentRecords), (record, at, name) =>
        this.#readPart(documentRecords[name] ?? documentGateway, record, at),
      ),
    );
  }

  /** Reads a value without its lists, then each entry of these. Stops at as many problems as a response reports. */
  async #readLists(
    schema: z.ZodType,
    value: unknown,
    place: Place,
    names: readonly string[],
    readEntry: (entry: unknown, place: Place, name: string) => Part | Promise<Part>,
  ): Promise<Part> {
    if (!isJsonObject(value)) return this.#readPart(schema, value, place);
    const lists = names.flatMap((name) => {
      const list: unknown = value[name];
      return Array.isArray(list) ? [[name, list as readonly unknown[]] as const] : [];
    });
    const empty = Object.fromEntries(lists.map(([name]) => [name, []]));
    const own = this.#readPart(schema, { ...value, ...empty }, place);
    const values: Record<string, unknown[]> = {};
    const resolved: Record<string, unknown[]> = {};
    for (const [name, list] of lists) {
      const [valuesHere, resolvedHere]: [unknown[], unknown[]] = [[], []];
      for (const [index, entry] of list.entries()) {
        await this.#yieldTurn();
        if (Math.max(this.references.length, this.fields.length) >= MAX_DETAILS) break;
        const read = await readEntry(entry, [...place, name, index], name);
        this.recordCount++;
        valuesHere.push(read.value);
        resolvedHere.push(read.resolved);
      }
      values[name] = valuesHere;
      resolved[name] = resolvedHere;
    }
    return {
      value: { ...(own.value as object | null), ...values },
      resolved: { ...(own.resolved as object), ...resolved },
    };
  }

  #readPart(schema: z.ZodType, value: unknown, place: Place): Part {
    const { document: resolved, problems } = applyDefaultsAt(place, value, this.#raw, this.#settingsOf);
    this.references.push(...problems.slice(0, MAX_DETAILS));
    const checked = check(schema, resolved);
    if (checked.ok) return { value: checked.value, resolved };
    this.fields.push(...placed(place, checked.details));
    return { value: null, resolved };
  }
}
