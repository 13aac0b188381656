// gatehouse game-day: runs a game day from a file, prints its verdict, and removes it.
import { readFileSync } from "node:fs";
import { z } from "zod";
import type { JsonObject } from "../base/json.ts";
import { parseYamlObject } from "../base/yaml.ts";
import { adminClient, CLIENT_HELP, CLIENT_OPTIONS, type AdminClientFlags } from "./admin-client.ts";
import { parseArguments, required, wholeNumber } from "./arguments.ts";
import { UsageError, type Command } from "./command.ts";
import { findGateway } from "./find-gateway.ts";
import { stopSignal } from "./follow-events.ts";
import { paint, printable } from "./terminal.ts";

const DEFAULT_SECONDS = 60;
const MAX_SECONDS = 86_400;
const POLL_MS = 500;
/** Other nodes report what they count twice per second. */
const LAST_COUNTS_MS = 1200;

const requestsSchema = z.object({ requests: z.int(), p99_ms: z.int().nullable() });
const stateSchema = z.looseObject({
  phase: z.string(),
  affected: requestsSchema,
  others: requestsSchema,
  by_fault: z.record(z.string(), z.int()),
  aborted: z.object({ at: z.string(), reason: z.string() }).nullable(),
  verdict: z.string(),
  checks: z.array(
    z.object({
      check: z.string(),
      expected: z.number().nullable(),
      actual: z.number().nullable(),
      passed: z.boolean(),
    }),
  ),
});
const recordSchema = z.object({ id: z.string(), name: z.string(), max_requests: z.int().nullable() });

type GameDayState = z.output<typeof stateSchema>;

export const gameDay: Command = {
  summary: "inject faults for a limited time and print a verdict",
  help: `Usage: gatehouse game-day run FILE [--gateway NAME|ID] [--for SECONDS] [--json] [--url URL] [--token TOKEN]

Creates the game day of the file (YAML or JSON), waits until it is over or has affected max_requests, prints what was counted and
the verdict, and removes it. Ctrl-C ends it early. Needs an admin token of an owner.

Exit code: 0 if everything in \`expect\` holds, 1 if not or if the game day was aborted.

  --gateway G    name or id; optional if there is only one gateway
  --for SECONDS  how long it lasts if the file has no ends_at; default ${DEFAULT_SECONDS}
${CLIENT_HELP}
  --json         print the state as JSON`,
  run: async (args) => {
    const { values, positionals } = parseArguments(args, {
      options: {
        ...CLIENT_OPTIONS,
        gateway: { type: "string" },
        for: { type: "string" },
        json: { type: "boolean", default: false },
      },
      maxPositionals: 2,
    });
    const [action, file] = positionals;
    if (action !== "run") throw new UsageError("give the action run: gatehouse game-day run FILE");
    const seconds = wholeNumber("--for", values.for, DEFAULT_SECONDS, { min: 1, max: MAX_SECONDS });
    const fields = readGameDay(required("FILE", file), seconds);
    const state = await runGameDay(values, values.gateway, fields);
    console.log(values.json ? JSON.stringify(state) : describe(state));
    return state.verdict === "passed" ? 0 : 1;
  },
};

function readGameDay(file: string, seconds: number): JsonObject {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  const fields = parseYamlObject(bytes);
  return { ends_at: new Date(Date.now() + seconds * 1000).toISOString(), ...fields };
}

async function runGameDay(
  flags: AdminClientFlags,
  gatewayName: string | undefined,
  fields: JsonObject,
): Promise<GameDayState> {
  const client = await adminClient(flags);
  const gateway = await findGateway(client, gatewayName);
  const path = `/gateways/${gateway.id}/game-days`;
  const signal = stopSignal();
  const { id, max_requests } = await client.post(path, fields, recordSchema);
  const at = `${path}/${id}`;
  // A token of this command expires before a long game day does.
  const read = async () => (await adminClient(flags)).get(`${at}/state`, stateSchema);
  try {
    for (;;) {
      const { phase, affected } = await read();
      const isComplete = max_requests !== null && affected.requests >= max_requests;
      if ((phase !== "scheduled" && phase !== "running") || isComplete || signal.aborted) break;
      await pause(POLL_MS, signal);
    }
    await (await adminClient(flags)).post(`${at}/stop`, {}, recordSchema);
    await Bun.sleep(LAST_COUNTS_MS);
    return await read();
  } finally {
    await (await adminClient(flags)).delete(at);
  }
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const wake = () => resolve(undefined);
  signal.addEventListener("abort", wake);
  const timer = setTimeout(wake, milliseconds);
  await promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", wake);
}

function describe(state: GameDayState): string {
  const { affected, others, by_fault, aborted, verdict, checks } = state;
  const faults = Object.entries(by_fault).map(([fault, count]) => `${fault} ${count}`);
  const count = ({ requests, p99_ms }: GameDayState["affected"]) =>
    `${requests} requests${p99_ms === null ? "" : `, p99 ${p99_ms} ms`}`;
  return [
    `affected  ${count(affected)}${faults.length === 0 ? "" : ` (${faults.join(", ")})`}`,
    `others    ${count(others)}`,
    ...(aborted === null ? [] : [`aborted   ${printable(aborted.reason)}`]),
    ...checks.map(({ check, expected, actual, passed }) => {
      const mark = passed ? paint("green", "✓") : paint("red", "✗");
      const values = expected === null ? "" : ` expected ${expected}, was ${actual ?? "unknown"}`;
      return `${mark} ${check}${values}`;
    }),
    verdict === "passed" ? paint("green", "passed") : paint("red", verdict),
  ].join("\n");
}
