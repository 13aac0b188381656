// Structured logs: one JSON line an event, or a readable line on a terminal. Every line passes the redacting door.
import { isoTime } from "./iso-time.ts";
import { redact } from "./redact.ts";

const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"] as const;
export type LogLevel = (typeof LEVELS)[number];
type Fields = Readonly<Record<string, unknown>>;

export interface LogOptions {
  /** `silent`: nothing is written. */
  readonly level: string;
  readonly format: "pretty" | "json";
  /** Whether `pretty` lines may be coloured. */
  readonly colour?: boolean;
}

export interface LogSink {
  write(line: string): void;
}

export function createLog(options: LogOptions, sink: LogSink): Log {
  const pretty = options.colour === true ? prettyLine : (line: string) => Bun.stripANSI(prettyLine(line));
  const show = options.format === "pretty" ? pretty : (line: string) => line;
  return new Log(options.level, {}, (line) => sink.write(show(line)));
}

/** Each level takes fields and a sentence, or a sentence alone; an error goes under `err`. */
export class Log {
  readonly #lowest: number;
  readonly #bindings: Fields;
  readonly #bindingsText: string;
  readonly #write: (line: string) => void;

  constructor(level: string, bindings: Fields, write: (line: string) => void) {
    const lowest = LEVELS.indexOf(level as LogLevel);
    this.#lowest = lowest < 0 ? LEVELS.length : lowest;
    this.#bindings = bindings;
    this.#bindingsText = redact(inside(bindings));
    this.#write = write;
  }

  /** The same log, with more fields in every line. */
  child(bindings: Fields): Log {
    return new Log(LEVELS[this.#lowest] ?? "silent", { ...this.#bindings, ...bindings }, this.#write);
  }

  isLevelEnabled(level: LogLevel): boolean {
    return LEVELS.indexOf(level) >= this.#lowest;
  }

  trace(fields: Fields | string, sentence?: string): void {
    this.#tell("trace", fields, sentence);
  }
  debug(fields: Fields | string, sentence?: string): void {
    this.#tell("debug", fields, sentence);
  }
  info(fields: Fields | string, sentence?: string): void {
    this.#tell("info", fields, sentence);
  }
  warn(fields: Fields | string, sentence?: string): void {
    this.#tell("warn", fields, sentence);
  }
  error(fields: Fields | string, sentence?: string): void {
    this.#tell("error", fields, sentence);
  }
  fatal(fields: Fields | string, sentence?: string): void {
    this.#tell("fatal", fields, sentence);
  }

  /** For lines that come with every request: fields as JSON text, a comma before each, that have passed the redacting door. */
  infoRedacted(fields: string, sentence: string): void {
    if (this.isLevelEnabled("info")) this.#line("info", `${fields},"msg":"${sentence}"`);
  }

  #tell(level: LogLevel, given: Fields | string, sentence?: string): void {
    if (!this.isLevelEnabled(level)) return;
    const hasFields = typeof given !== "string";
    const fields = hasFields ? inside(given) : "";
    const msg = JSON.stringify((hasFields ? sentence : given) ?? "");
    this.#line(level, redact(`${fields},"msg":${msg}`));
  }

  /** Put together as text: merging all of it into one object first would cost as much as writing it. */
  #line(level: LogLevel, rest: string): void {
    this.#write(`{"level":"${level}","time":"${isoTime(Date.now())}"${this.#bindingsText}${rest}}\n`);
  }
}

/** A log that keeps nothing: for what runs without anybody listening. */
export const NO_LOG = new Log("silent", {}, () => undefined);

/** The fields as they stand in a line, behind others. */
function inside(fields: Fields): string {
  const json = asJson(fields);
  return json === "{}" ? "" : `,${json.slice(1, -1)}`;
}

/** A plugin's fields may say themselves how they are written, and not as an object. */
function isObject(json: string | undefined): json is string {
  return json?.startsWith("{") === true;
}

/** Whatever is in it, a line comes out: what cannot be written is told as a text. */
function asJson(line: Fields): string {
  try {
    // Asking of each value costs as much again as writing it; most lines hold nothing to ask of.
    const json = (isFlat(line) ? JSON.stringify(line) : JSON.stringify(line, tellErrors)) as
      string | undefined;
    if (isObject(json)) return json;
  } catch {
    // Told below.
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

/** Errors have no fields that JSON would see. */
function tellErrors(_name: string, value: unknown): unknown {
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

const LEVEL_COLOURS: Record<string, string> = { fatal: "31", error: "31", warn: "33", info: "32" };

/** `12:30:45 INFO  listening  url=http://…` */
function prettyLine(line: string): string {
  const { time, level, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const label = String(level);
  const clock = String(time).slice(11, 19);
  const rest = Object.entries(fields)
    .map(
      ([key, value]) => `\x1b[2m${key}=\x1b[0m${typeof value === "string" ? value : JSON.stringify(value)}`,
    )
    .join(" ");
  const colour = LEVEL_COLOURS[label] ?? "2";
  return `\x1b[2m${clock}\x1b[0m \x1b[${colour}m${label.toUpperCase().padEnd(5)}\x1b[0m ${typeof msg === "string" ? msg : ""}  ${rest}\n`;
}
