// The fake provider as a command: starts one, prints its address, stops on SIGTERM or SIGINT.
import { parseArgs } from "node:util";
import { type Behavior, readFakeHeader } from "./behavior.ts";
import { FakeMcpServer } from "./mcp-server.ts";
import { startFakeProvider } from "./server.ts";

const HELP = `A fake AI provider with the APIs of OpenAI, Anthropic and Gemini.

Usage: bun src/fake-provider/main.ts [--port N] [--mcp-port N] [--hostname HOST] [--name NAME] [--behave JSON]

  --port N         port to listen on; default 0, any free port
  --mcp-port N     also serve tools over MCP on 127.0.0.1:N, at /mcp
  --hostname HOST  address to listen on; default 127.0.0.1
  --name NAME      the provider's name in its responses; default "fake"
  --behave JSON    behavior, e.g. '{"status":503}' or '{"chunkDelayMs":50}'; see docs/guides/fake-provider.md
  --help           print this help

A request can set its own behavior with the header  x-fake: JSON
`;

interface Arguments {
  help: boolean;
  port: number;
  /** Null: no MCP server. */
  mcpPort: number | null;
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
      "mcp-port": { type: "string" },
      hostname: { type: "string", default: "127.0.0.1" },
      name: { type: "string", default: "fake" },
      behave: { type: "string", default: "{}" },
    },
  });
  const { help, hostname, name, "mcp-port": mcpPort } = values;
  return {
    help,
    port: portOf("--port", values.port),
    mcpPort: mcpPort === undefined ? null : portOf("--mcp-port", mcpPort),
    hostname,
    name,
    behavior: readFakeHeader(values.behave),
  };
}

function portOf(option: string, text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error(`${option} is "${text}"; give a whole number from 0 to 65535`);
  return port;
}

async function main(): Promise<void> {
  const { help, port, mcpPort, hostname, name, behavior } = readArguments(process.argv.slice(2));
  if (help) {
    process.stdout.write(HELP);
    return;
  }
  // Nothing in this process reads the recorded requests.
  const provider = await startFakeProvider({ port, hostname, name, record: false });
  provider.behave(behavior);
  const tools = mcpPort === null ? null : new FakeMcpServer({ name, port: mcpPort });
  const stop = (): void => {
    void Promise.all([provider.stop(), tools?.stop()]).then(() => process.exit(0));
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  const suffix = tools === null ? "" : `, and its MCP server on ${tools.url}`;
  process.stdout.write(`${name} listens on ${provider.url}${suffix}\n`);
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(2);
}
