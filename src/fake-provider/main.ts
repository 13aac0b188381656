// The fake provider as a command: starts one, prints its address, ends it on a signal.
import { parseArgs } from "node:util";
import { type Behavior, readFakeHeader } from "./behavior.ts";
import { startFakeProvider } from "./server.ts";

const HELP = `A fake AI provider that speaks the OpenAI and Anthropic wire formats.

Usage: bun src/fake-provider/main.ts [--port N] [--hostname HOST] [--name NAME] [--behave JSON]

  --port N         port to listen on; 0, the default, takes a free one
  --hostname HOST  address to listen on; 127.0.0.1 by default
  --name NAME      the name it gives itself in its answers; "fake" by default
  --behave JSON    how it behaves, e.g. '{"status":503}' or '{"chunkDelayMs":50}'; see behavior.ts
  --help           this text

A request may choose its own behavior with the header  x-fake: JSON
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
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error(`Not a port: ${values.port}`);
  const { help, hostname, name } = values;
  return { help, port, hostname, name, behavior: readFakeHeader(values.behave) };
}

async function main(): Promise<void> {
  const { help, port, hostname, name, behavior } = readArguments(process.argv.slice(2));
  if (help) {
    process.stdout.write(HELP);
    return;
  }
  // Nobody in this process reads the records.
  const provider = await startFakeProvider({ port, hostname, name, record: false });
  provider.behave(behavior);
  const leave = (): void => {
    void provider.stop().then(() => process.exit(0));
  };
  process.once("SIGTERM", leave);
  process.once("SIGINT", leave);
  process.stdout.write(`${name} listens on ${provider.url}\n`);
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(2);
}
