// The fake provider as a command: starts one, prints its address, stops on SIGTERM or SIGINT.
import { parseArgs } from "node:util";
import { type Behavior, readFakeHeader } from "./behavior.ts";
import { startFakeProvider } from "./server.ts";

const HELP = `A fake AI provider with the APIs of OpenAI, Anthropic and Gemini.

Usage: bun src/fake-provider/main.ts [--port N] [--hostname HOST] [--name NAME] [--behave JSON]

  --port N         port to listen on; default 0, any free port
  --hostname HOST  address to listen on; default 127.0.0.1
  --name NAME      the provider's name in its responses; default "fake"
  --behave JSON    behavior, e.g. '{"status":503}' or '{"chunkDelayMs":50}'; see docs/guides/fake-provider.md
  --help           print this help

A request can set its own behavior with the header  x-fake: JSON
`;

interface Arguments {
  help: boolean;
  port: number;
  hostname: string;
  name: string;
  behavior: Behavior;
}

function readArguments(args: string[]): Arguments {
  const { values } = parseArgs({
    args,
    options: {
      help: { type: "boolean", default: false },
      port: { type: "string", default: "0" },
      hostname: { type: "string", default: "127.0.0.1" },
      name: { type: "string", default: "fake" },
      behave: { type: "string", default: "{}" },
    },
  });
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error(`--port is "${values.port}"; give a whole number from 0 to 65535`);
  const { help, hostname, name } = values;
  return { help, port, hostname, name, behavior: readFakeHeader(values.behave) };
}

async function main(): Promise<void> {
  const { help, port, hostname, name, behavior } = readArguments(process.argv.slice(2));
  if (help) {
    process.stdout.write(HELP);
    return;
  }
  // Nothing in this process reads the recorded requests.
  const provider = await startFakeProvider({ port, hostname, name, record: false });
  provider.behave(behavior);
  const stop = (): void => {
    void provider.stop().then(() => process.exit(0));
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  process.stdout.write(`${name} listens on ${provider.url}\n`);
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(2);
}
