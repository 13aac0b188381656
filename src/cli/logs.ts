// gatehouse logs: prints the recent lines of the gateway's log, or follows new ones.
import { z } from "zod";
import type { SseEvent } from "../formats/sse.ts";
import { LOG_LEVELS } from "../telemetry/log/log-levels.ts";
import { formatLogLine } from "../telemetry/log/pretty-line.ts";
import { adminClient, CLIENT_HELP, CLIENT_OPTIONS, matches, parseJson } from "./admin-client.ts";
import { parseArguments, wholeNumber } from "./arguments.ts";
import { UsageError, type Command } from "./command.ts";
import { followEvents, stopSignal } from "./follow-events.ts";
import { usesColor } from "./terminal.ts";

const lineSchema = z.looseObject({ level: z.string(), time: z.string(), msg: z.string() });
const listSchema = z.object({ logs: z.array(lineSchema) });
const droppedSchema = z.object({ count: z.int() });

type LogLine = z.output<typeof lineSchema>;

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

export const logs: Command = {
  summary: "print the recent lines of the gateway's log, or follow new ones",
  help: `Usage: gatehouse logs [--level L] [--limit N] [--json]
       gatehouse logs --follow [--level L] [--json]

Prints the last lines that the gateway has logged, oldest first: those that it keeps in memory, of all its workers. With --follow,
prints new lines until Ctrl-C; if the connection is lost, reconnects. Requests to gateways are not included, see gatehouse requests.

  --level L      one of ${LOG_LEVELS.join(", ")}; lines of this level and above, default all that are logged
  --limit N      number of lines, 1 to ${MAX_LIMIT}; default ${DEFAULT_LIMIT}
  --follow       print new lines
${CLIENT_HELP}
  --json         print the lines as JSON; with --follow, one per line`,
  run: async (args) => {
    const { values } = parseArguments(args, {
      options: {
        ...CLIENT_OPTIONS,
        level: { type: "string" },
        limit: { type: "string" },
        follow: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
      },
    });
    const { level = "trace" } = values;
    if (!LOG_LEVELS.some((known) => known === level))
      throw new UsageError(`--level is "${level}"; give one of ${LOG_LEVELS.join(", ")}`);
    const limit = wholeNumber("--limit", values.limit, DEFAULT_LIMIT, { min: 1, max: MAX_LIMIT });
    if (values.follow && values.limit !== undefined)
      throw new UsageError("--limit has no effect with --follow; remove one of them");
    if (values.follow) {
      const path = `/logs/stream?level=${level}`;
      await followEvents(values, path, stopSignal(), (event) => printEvent(event, values.json));
      return 0;
    }
    const client = await adminClient(values);
    const found = (await client.get(`/logs?level=${level}&limit=${limit}`, listSchema)).logs.toReversed();
    console.log(values.json ? JSON.stringify(found) : describe(found));
    return 0;
  },
};

function describe(lines: readonly LogLine[]): string {
  return lines.length === 0 ? "no line is recorded" : lines.map(format).join("\n");
}

function format(line: LogLine): string {
  return formatLogLine(line, usesColor(process.stdout));
}

function printEvent({ event, data }: SseEvent, isJson: boolean): void {
  const value = parseJson(data);
  if (event === "line" && matches(lineSchema, value))
    console.log(isJson ? JSON.stringify(value) : format(value));
  if (event === "dropped" && matches(droppedSchema, value))
    console.error(`gatehouse: ${value.count} lines are not printed because the output is read too slowly`);
}
