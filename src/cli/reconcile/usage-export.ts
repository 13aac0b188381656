// Reads the usage export of a provider: which columns mean what, and the sums per day and model.
import {
  EXPORT_COLUMNS,
  exportFormatOf,
  type ExportColumns,
  type ExportFormat,
} from "../../formats/usage-exports.ts";
import { CsvError, parseCsv, type CsvRow } from "./csv.ts";

/** What a provider or the gateway counted of a model on a day. Null: the export does not say. */
export interface DayUsage {
  readonly day: string;
  readonly model: string;
  readonly requests: number | null;
  readonly input: number;
  readonly output: number;
  /** US dollars. */
  readonly cost: number | null;
}

const MAX_PROBLEMS = 20;
const UNIX_SECONDS = /^\d{9,11}$/;
const TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d| UTC)?)?$/;
/** `12`, `12.0` as spreadsheets write it, and `1,234`. */
const COUNT = /^(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.0+)?$/;
/** `12.5`, `$12.50`, and `1,234.50`. */
const DOLLARS = /^\$?((?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?)$/;

export interface UsageExport {
  readonly format: ExportFormat;
  readonly rows: readonly DayUsage[];
}

/** `format` is null to recognize it by the columns. Throws an error with all lines that cannot be read, up to a bound. */
export function readUsageExport(text: string, format: ExportFormat | null): UsageExport {
  const [header, ...rows] = parseCsv(text);
  if (header === undefined) throw new Error("the file is empty; give a CSV file with a header line");
  const names = header.fields.map((name) => name.trim().toLowerCase());
  const found = format ?? exportFormatOf(names);
  const reader = new RowReader(EXPORT_COLUMNS[found], names, found);
  const problems: string[] = [];
  const read: DayUsage[] = [];
  for (const row of rows) {
    try {
      read.push(reader.read(row));
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      problems.push(error.message);
    }
  }
  if (problems.length > 0) throw new Error(problemText(problems));
  return { format: found, rows: read };
}

function problemText(problems: readonly string[]): string {
  const leftOut = problems.length - MAX_PROBLEMS;
  const lines = problems.slice(0, MAX_PROBLEMS);
  return [...lines, ...(leftOut > 0 ? [`${leftOut} more lines cannot be read`] : [])].join("\n");
}

class RowReader {
  readonly #width: number;
  readonly #day: number;
  readonly #model: number;
  readonly #input: readonly number[];
  readonly #output: number;
  readonly #requests: number;
  readonly #cost: number;

  constructor(columns: ExportColumns, names: readonly string[], format: ExportFormat) {
    // Not the index of an absent name: a column may have an empty one.
    const indexOf = (wanted: readonly string[]) =>
      wanted.map((name) => names.indexOf(name)).find((index) => index >= 0) ?? -1;
    const required = (wanted: readonly string[]) => {
      const index = indexOf(wanted);
      if (index < 0)
        throw new Error(`line 1: a file of the format ${format} needs the column ${wanted.join(" or ")}`);
      return index;
    };
    this.#width = names.length;
    this.#day = required(columns.day);
    this.#model = required(columns.model);
    this.#input = [required(columns.input), ...columns.input.map((name) => names.indexOf(name))].filter(
      (index, at, all) => index >= 0 && all.indexOf(index) === at,
    );
    this.#output = required(columns.output);
    this.#requests = columns.requests.length === 0 ? -1 : indexOf(columns.requests);
    this.#cost = columns.cost.length === 0 ? -1 : indexOf(columns.cost);
  }

  read({ line, fields }: CsvRow): DayUsage {
    if (fields.length !== this.#width)
      throw new CsvError(line, `has ${fields.length} fields; the header has ${this.#width}`);
    const field = (index: number) => (fields[index] ?? "").trim();
    const model = field(this.#model);
    if (model === "") throw new CsvError(line, "names no model; export the usage grouped by model");
    return {
      day: dayIn(field(this.#day), line),
      model,
      requests: this.#requests < 0 ? null : countIn(field(this.#requests), line),
      input: this.#input.reduce((sum, index) => sum + countIn(field(index), line), 0),
      output: countIn(field(this.#output), line),
      cost: this.#cost < 0 ? null : dollarsIn(field(this.#cost), line),
    };
  }
}

/** Returns the day in UTC. */
function dayIn(text: string, line: number): string {
  if (UNIX_SECONDS.test(text)) return new Date(Number(text) * 1000).toISOString().slice(0, 10);
  // A time without a zone is in UTC.
  const [, day, time = "00:00", zone = "Z"] = TIME.exec(text) ?? [];
  const unixMs = Date.parse(`${day ?? ""}T${time}${zone === " UTC" ? "Z" : zone}`);
  // Date.parse reads a day that does not exist, such as February 30, as a later one.
  if (Number.isNaN(unixMs) || new Date(`${day}T00:00Z`).toISOString().slice(0, 10) !== day)
    throw new CsvError(line, `"${text.slice(0, 40)}" is no day such as 2026-11-01`);
  return new Date(unixMs).toISOString().slice(0, 10);
}

/** An empty field is 0: exports leave out what was not used. */
function countIn(text: string, line: number): number {
  if (text === "") return 0;
  const count = COUNT.test(text) ? Number(text.replaceAll(",", "")) : NaN;
  if (!Number.isSafeInteger(count))
    throw new CsvError(line, `"${text.slice(0, 40)}" is no number of tokens or requests`);
  return count;
}

function dollarsIn(text: string, line: number): number {
  const [, dollars] = DOLLARS.exec(text) ?? [];
  if (dollars === undefined) throw new CsvError(line, `"${text.slice(0, 40)}" is no amount of US dollars`);
  return Number(dollars.replaceAll(",", ""));
}
