// Structured logs: one JSON line an event, or a readable line on a terminal. Every line passes the redacting door.
import pino, { type Logger } from "pino";
import { redact } from "./redact.ts";

export type Log = Logger;

export interface LogOptions {
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
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => sink.write(show(redact(line))) },
  );
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
