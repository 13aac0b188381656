// Structured logs: one JSON line per event, or a readable line on a terminal. Every line passes through `redact`.
import { LineWriter } from "../../http/line-writer.ts";
import { isoTime } from "./iso-time.ts";
import { LOG_LEVELS, type LogLevel } from "./log-levels.ts";
import { formatLogLine } from "./pretty-line.ts";
import { RecentLog } from "./recent-log.ts";
import { redact } from "./redact.ts";

type Fields = Readonly<Record<string, unknown>>;

interface LogOptions {
  /** `silent`: nothing is written. */
  readonly level: string;
  readonly format: "pretty" | "json";
  /** Whether `pretty` lines may contain color codes. */
  readonly color?: boolean;
}

export interface LogSink {
  write(line: string): void;
  /** Writes the text of `line`, which is UTF-8, and lets it start another one. Without it, `write` gets a string. */
  writeBytes?(line: LineWriter): void;
}

type LogOutput = Required<LogSink>;

/** Lines are written synchronously. */
const writtenLine = new LineWriter();

export function createLog({ level, format, color = false }: LogOptions, sink: LogSink): Log {
  const write = (line: string) => sink.write(format === "pretty" ? prettyLine(line, color) : line);
  const output = {
    write,
    writeBytes: (line: LineWriter) => {
      if (format === "json" && sink.writeBytes !== undefined) sink.writeBytes(line);
      else write(line.finish("utf8"));
    },
  };
  return new Log(level, {}, output, new RecentLog());
}

function prettyLine(line: string, color: boolean): string {
  return `${formatLogLine(JSON.parse(line) as Record<string, unknown>, color)}\n`;
}

/** Each level takes fields and a message, or a message alone. Errors are logged in the field `err`. */
export class Log {
  readonly #lowest: number;
  readonly #bindings: Fields;
  readonly #bindingsText: string;
  readonly #bindingsBytes: Uint8Array;
  readonly #output: LogOutput;
  /** The lines of this log and of its children. */
  readonly recent: RecentLog;

  constructor(level: string, bindings: Fields, output: LogOutput, recent: RecentLog) {
    const lowest = LOG_LEVELS.findIndex((each) => each === level);
    this.#lowest = lowest < 0 ? LOG_LEVELS.length : lowest;
    this.#bindings = bindings;
    this.#bindingsText = redact(fieldsText(bindings));
    this.#bindingsBytes = Buffer.from(this.#bindingsText);
    this.#output = output;
    this.recent = recent;
  }

  /** Returns a log that adds these fields to every line. */
  child(bindings: Fields): Log {
    const level = LOG_LEVELS[this.#lowest] ?? "silent";
    return new Log(level, { ...this.#bindings, ...bindings }, this.#output, this.recent);
  }

  isLevelEnabled(level: LogLevel): boolean {
    return LOG_LEVELS.indexOf(level) >= this.#lowest;
  }

  trace(fields: Fields | string, message?: string): void {
    this.#log("trace", fields, message);
  }
  debug(fields: Fields | string, message?: string): void {
    this.#log("debug", fields, message);
  }
  info(fields: Fields | string, message?: string): void {
    this.#log("info", fields, message);
  }
  warn(fields: Fields | string, message?: string): void {
    this.#log("warn", fields, message);
  }
  error(fields: Fields | string, message?: string): void {
    this.#log("error", fields, message);
  }
  fatal(fields: Fields | string, message?: string): void {
    this.#log("fatal", fields, message);
  }

  /**
   * Begins a line of level `info` for `endLine`, for lines written per request. The caller writes its fields: redacted JSON in UTF-8, each
   * with a leading comma. `time` is in Unix milliseconds. Returns null if the level is off.
   */
  beginLine(time: number): LineWriter | null {
    if (!this.isLevelEnabled("info")) return null;
    writtenLine.begin();
    writtenLine.text('{"level":"info","time":"');
    writtenLine.text(isoTime(time));
    writtenLine.text('"');
    writtenLine.constant(this.#bindingsBytes);
    return writtenLine;
  }

  endLine(line: LineWriter, message: string): void {
    line.text(',"msg":"');
    line.text(message);
    line.text('"}\n');
    this.#output.writeBytes(line);
  }

  #log(level: LogLevel, given: Fields | string, message?: string): void {
    if (!this.isLevelEnabled(level)) return;
    const hasFields = typeof given !== "string";
    const fields = hasFields ? fieldsText(given) : "";
    const msg = JSON.stringify((hasFields ? message : given) ?? "");
    const time = isoTime(Date.now());
    const line = this.#line(level, time, redact(`${fields},"msg":${msg}`));
    this.recent.add({ level, time, line });
  }

  /** Concatenates text, because merging the fields into one object first would double the cost. Returns the line. */
  #line(level: LogLevel, time: string, rest: string): string {
    const line = `{"level":"${level}","time":"${time}"${this.#bindingsText}${rest}}`;
    this.#output.write(`${line}\n`);
    return line;
  }
}

/** A log that discards everything. */
export const NO_LOG = createLog({ level: "silent", format: "json" }, { write: () => undefined });

/** Returns the fields as JSON text without braces, with a leading comma. */
function fieldsText(fields: Fields): string {
  const json = toJson(fields);
  return json === "{}" ? "" : `,${json.slice(1, -1)}`;
}

/** The fields of a plugin may have a `toJSON` that returns something other than an object. */
function isObject(json: string | undefined): json is string {
  return json?.startsWith("{") === true;
}

/** Serializes any fields. Values that JSON cannot represent are written as inspected text. */
function toJson(line: Fields): string {
  try {
    // A replacer function doubles the cost, and most lines have only plain values.
    const json = (isFlat(line) ? JSON.stringify(line) : JSON.stringify(line, replaceErrors)) as
      string | undefined;
    if (isObject(json)) return json;
  } catch {
    // Serialized below.
  }
  const plain = Object.entries(line).map(([name, value]) => [name, Bun.inspect(value, { depth: 2 })]);
  return JSON.stringify(Object.fromEntries(plain.filter(([name]) => name !== "toJSON")));
}

function isFlat(line: Fields): boolean {
  for (const name in line) {
    const value = line[name];
    if ((typeof value === "object" && value !== null) || typeof value === "bigint") return false;
  }
  return true;
}

/** JSON.stringify replacer: the fields of an Error are not enumerable. */
function replaceErrors(_name: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (!(value instanceof Error)) return value;
  const { name, message, stack, cause } = value;
  return {
    ...Object.fromEntries(Object.entries(value)),
    type: name,
    message,
    stack,
    ...(cause !== undefined && { cause }),
  };
}
