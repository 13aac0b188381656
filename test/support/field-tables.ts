// Tables of fields for the tests of the Admin API: which values of a field are accepted, rejected, and its default.
import { describe, expect, test } from "bun:test";
import { expectError, expectProblemsAt, onlyMessage, without, type AdminFixture } from "./admin-fixtures.ts";
import type { ApiResponse } from "./gatehouse-process.ts";

type Fields = Record<string, unknown>;

/** A value that responses show in another form than it was sent. */
class Becomes {
  constructor(
    readonly sent: unknown,
    readonly shown: unknown,
  ) {}
}

/** A value with a problem in a nested field. */
class ProblemAt {
  constructor(
    readonly sent: unknown,
    readonly suffix: string,
  ) {}
}

export const becomes = (sent: unknown, shown: unknown) => new Becomes(sent, shown);
export const problemAt = (sent: unknown, suffix: string) => new ProblemAt(sent, suffix);

interface FieldRow {
  readonly field: string;
  /** The default. Absent: the field is required. */
  readonly fallback?: unknown;
  /** A function is called to get the value, because ids are known only when the gateway runs. */
  readonly accepts: readonly unknown[];
  readonly rejects: readonly unknown[];
}

export interface FieldTable {
  readonly what: string;
  /** Path of the object with the fields in the body, for example `targets[0].`. */
  readonly prefix: string;
  readonly minimal: () => Fields;
  readonly collection: () => string;
  /** Returns the body that contains the fields. */
  readonly wrap: (fields: Fields) => Fields;
  /** Returns the object with the fields in a record. */
  readonly unwrap: (record: ApiResponse["body"]) => ApiResponse["body"];
  readonly rows: readonly FieldRow[];
}

export const same = <T>(value: T) => value;
export const NOT_TEXT = [7, true, {}, [], ["x"]];
export const NOT_BOOLEAN = ["true", 1, 0, {}, []];
export const NOT_INTEGER = ["1", 1.5, true, {}, [], 1e300];
export const NOT_LIST = ["x", 7, true, {}];
export const NOT_OBJECT = ["x", 7, true, []];
export const NAMES = ["x", "Ünïcödé 名前 🚀", "x".repeat(255), "'; DROP TABLE gateways; --", "<b>&\"'</b>"];
export const NOT_NAMES = [...NOT_TEXT, "", "x".repeat(256), "line\nbreak", "tab\t", "\u007f"];
export const REJECTED_HEADERS = [
  ...NOT_OBJECT,
  null,
  ...[7, true, null, {}, []].map((value) => problemAt({ "X-A": value }, ".X-A")),
  problemAt({ "X-A": "line\r\nX-B: break" }, ".X-A"),
  problemAt({ "bad name": "x" }, ".bad name"),
  problemAt({ "X:": "x" }, ".X:"),
  problemAt({ "X-A": "1", "x-a": "2" }, ".x-a"),
];

/** Tests every field of the tables against a running gateway. */
export function testFieldTables(admin: AdminFixture, tables: readonly FieldTable[]): void {
  describe.each(tables)("$what", (table) => {
    const send = (fields: Fields) => admin.api("POST", table.collection(), table.wrap(fields));

    describe.each(table.rows)("$field", (row) => {
      const path = `${table.prefix}${row.field}`;

      test("accepts valid values and returns them", async () => {
        for (const value of row.accepts) {
          const sent = resolved(value instanceof Becomes ? value.sent : value);
          const shown = resolved(value instanceof Becomes ? value.shown : value);
          const created = await send({ ...table.minimal(), [row.field]: sent });
          expect({ sent, status: created.status, error: created.body.error }).toEqual({
            sent,
            status: 201,
            error: undefined,
          });
          expect(table.unwrap(created.body)[row.field]).toEqual(shown);
          const read = await admin.api("GET", `${table.collection()}/${created.body.id}`);
          expect(table.unwrap(read.body)[row.field]).toEqual(shown);
          // Subdomains are unique, and the next value may be the same one.
          if (table.collection() === "/gateways") await admin.api("DELETE", `/gateways/${created.body.id}`);
        }
      });

      if ("fallback" in row) {
        test("has a default", async () => {
          const created = await send(without(table.minimal(), row.field));
          expect(created.status).toBe(201);
          expect(table.unwrap(created.body)[row.field]).toEqual(row.fallback);
        });
      } else if (row.field !== "settings") {
        test("is required", async () => {
          const response = await send(without(table.minimal(), row.field));
          expectProblemsAt(response, path);
          expect(onlyMessage(response)).toBe("is required");
        });
      }

      test(`rejects invalid values at ${path}`, async () => {
        for (const value of row.rejects) {
          const sent = resolved(value instanceof ProblemAt ? value.sent : value);
          const expected = value instanceof ProblemAt ? path + value.suffix : path;
          const response = await send({ ...table.minimal(), [row.field]: sent });
          const paths = [...new Set(response.body.details?.map((detail: { path: string }) => detail.path))];
          expect({ sent, status: response.status, paths }).toEqual({ sent, status: 400, paths: [expected] });
          expectError(response, 400, "validation_failed");
        }
      });
    });

    test("rejects an unknown field with the nearest known name", async () => {
      const known = table.rows[0]!.field;
      const misspelled = `${known.slice(0, -1)}_`;
      const response = await send({ ...table.minimal(), [misspelled]: "x" });
      expectProblemsAt(response, table.prefix + misspelled);
      expect(onlyMessage(response)).toContain(`"${known}"`);
      expectProblemsAt(await send({ ...table.minimal(), zzzzzzzz: 1 }), `${table.prefix}zzzzzzzz`);
    });
  });
}

function resolved(value: unknown): unknown {
  if (typeof value === "function") return (value as () => unknown)();
  if (Array.isArray(value)) return value.map(resolved);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, resolved(field)]));
}
