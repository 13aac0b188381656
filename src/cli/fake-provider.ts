// gatehouse fake-provider: a fake AI provider, to try things out without an account.
import { readFakeHeader } from "../fake-provider/behavior.ts";
import { FakeMcpServer } from "../fake-provider/mcp-server.ts";
import { type Behavior, startFakeProvider } from "../fake-provider/server.ts";
import { parseArguments, wholeNumber } from "./arguments.ts";
import { type Command, UsageError } from "./command.ts";
import { awaitSignal } from "./run-until-signal.ts";

export const fakeProvider: Command = {
  summary: "run a fake provider for experiments and tests",
  help: `Usage: gatehouse fake-provider [--port N] [--mcp-port N] [--name NAME] [--behave JSON] [--json]

Serves the APIs of OpenAI, Anthropic and Gemini on 127.0.0.1 until SIGTERM or Ctrl-C. Prints its address.

  --port N       default 0, any free port
  --mcp-port N   also serve tools over MCP on this port, at /mcp; 0 is any free port
  --name NAME    the provider's name in its responses; default "fake"
  --behave JSON  how to respond, e.g. '{"status":503}'; a request can override it in its header x-fake.
                 See docs/guides/fake-provider.md
  --json         print {"name", "url"}, and "mcp_url" with --mcp-port`,
  run: async (args) => {
    const { values } = parseArguments(args, {
      options: {
        port: { type: "string" },
        "mcp-port": { type: "string" },
        name: { type: "string", default: "fake" },
        behave: { type: "string", default: "{}" },
        json: { type: "boolean" },
      },
    });
    const { name } = values;
    const port = wholeNumber("--port", values.port, 0, { min: 0, max: 65_535 });
    const mcpPort = values["mcp-port"];
    const toolPort = wholeNumber("--mcp-port", mcpPort, 0, { min: 0, max: 65_535 });
    const behavior = readBehavior(values.behave);
    const signal = awaitSignal();
    const tools = mcpPort === undefined ? null : new FakeMcpServer({ name, port: toolPort });
    const provider = await startFakeProvider({ port, name, record: false });
    provider.behave(behavior);
    const { url } = provider;
    const listening = { name, url, ...(tools !== null && { mcp_url: tools.url }) };
    const suffix = tools === null ? "" : `, and its MCP server on ${tools.url}`;
    console.log(values.json === true ? JSON.stringify(listening) : `${name} listens on ${url}${suffix}`);
    await signal;
    await Promise.all([provider.stop(), tools?.stop()]);
    return 0;
  },
};

function readBehavior(json: string): Behavior {
  try {
    return readFakeHeader(json);
  } catch {
    throw new UsageError(`--behave is "${json}"; give a JSON object, as in --behave '{"status":503}'`);
  }
}
