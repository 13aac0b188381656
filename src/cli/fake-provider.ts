// gatehouse fake-provider: a fake AI provider, to try things out without an account.
import { startFakeProvider } from "../fake-provider/server.ts";
import { parseArguments, wholeNumber } from "./arguments.ts";
import type { Command } from "./command.ts";
import { awaitSignal } from "./run-until-signal.ts";

export const fakeProvider: Command = {
  summary: "run a fake provider for experiments and tests",
  help: `Usage: gatehouse fake-provider [--port N] [--name NAME] [--json]

Serves the OpenAI and Anthropic wire formats on 127.0.0.1 until SIGTERM or Ctrl-C. Prints its address.

  --port N     default 0, any free port
  --name NAME  the provider's name in its responses; default "fake"
  --json       print {"name", "url"}`,
  run: async (args) => {
    const { values } = parseArguments(args, {
      options: {
        port: { type: "string" },
        name: { type: "string", default: "fake" },
        json: { type: "boolean" },
      },
    });
    const { name } = values;
    const port = wholeNumber("--port", values.port, 0, { min: 0, max: 65_535 });
    const signal = awaitSignal();
    const provider = await startFakeProvider({ port, name, record: false });
    const { url } = provider;
    console.log(values.json === true ? JSON.stringify({ name, url }) : `${name} listens on ${url}`);
    await signal;
    await provider.stop();
    return 0;
  },
};
