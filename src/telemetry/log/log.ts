// Structured logs: one JSON line per event, or a readable line on a terminal. Every line passes through `redact`.
import { isoTime } from "./iso-time.ts";
import { redact } from "./redact.ts";

const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"] as const;
type LogLevel = (typeof LEVELS)[number];
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
}

export function createLog(options: LogOptions, sink: LogSink): Log {
  const pretty = options.color === true ? prettyLine : (line: string) => Bun.stripANSI(prettyLine(line));
  const show = options.format === "pretty" ? pretty : (line: string) => line;
  return new Log(options.level, {}, (line) => sink.write(show(line)));
}

/** Each level takes fields and a message, or a message alone. Errors are logged in the field `err`. */
export class Log {
  readonly #lowest: number;
  readonly #bindings: Fields;
  readonly #bindingsText: string;
  readonly #write: (line: string) => void;

  constructor(level: string, bindings: Fields, write: (line: string) => void) {
    const lowest = LEVELS.findIndex((each) => each === level);
    this.#lowest = lowest < 0 ? LEVELS.length : lowest;
    this.#bindings = bindings;
    this.#bindingsText = redact(fieldsText(bindings));
    this.#write = write;
  }

  /** Returns a log that adds these fields to every line. */
  child(bindings: Fields): Log {
    return new Log(LEVELS[this.#lowest] ?? "silent", { ...this.#bindings, ...bindings }, this.#write);
  }

  isLevelEnabled(level: LogLevel): boolean {
    return LEVELS.indexOf(level) >= this.#lowest;
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
   * Writes a line whose fields are already redacted JSON text, each with a leading comma. For lines written per request.
   * `time` is in Unix milliseconds.
   */
  infoRedacted(time: number, fields: string, message: string): void {
    if (this.isLevelEnabled("info")) this.#line("info", time, `${fields},"msg":"${message}"`);
  }

  #log(level: LogLevel, given: Fields | string, message?: string): void {
    if (!this.isLevelEnabled(level)) return;
    const hasFields = typeof given !== "string";
    const fields = hasFields ? fieldsText(given) : "";
    const msg = JSON.stringify((hasFields ? message : given) ?? "");
    this.#line(level, Date.now(), redact(`${fields},"msg":${msg}`));
  }

  /** Concatenates text, because merging the fields into one object first would double the cost. */
  #line(level: LogLevel, time: number, rest: string): void {
    this.#write(`{"level":"${level}","time":"${isoTime(time)}"${this.#bindingsText}${rest}}\n`);
  }
}

/** A log that discards everything. */
export const NO_LOG = new Log("silent", {}, () => undefined);

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

const LEVEL_COLORS: Record<string, string> = { fatal: "31", error: "31", warn: "33", info: "32" };

/** A line break or a terminal sequence in a value that a client sent must not look like another log line. */
function escapeControls(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** `12:30:45 INFO  listening  url=http://…` */
function prettyLine(line: string): string {
  const { time, level, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const label = String(level);
  const clock = String(time).slice(11, 19);
  const rest = Object.entries(fields)
    .map(
      ([key, value]) =>
        `\x1b[2m${key}=\x1b[0m${typeof value === "string" ? escapeControls(value) : JSON.stringify(value)}`,
    )
    .join(" ");
  const color = LEVEL_COLORS[label] ?? "2";
  return `\x1b[2m${clock}\x1b[0m \x1b[${color}m${label.toUpperCase().padEnd(5)}\x1b[0m ${typeof msg === "string" ? escapeControls(msg) : ""}  ${rest}\n`;
}
