// gatehouse fake-provider: a fake AI provider, to try things out without an account.
import { readFakeHeader } from "../fake-provider/behavior.ts";
import { type Behavior, startFakeProvider } from "../fake-provider/server.ts";
import { parseArguments, wholeNumber } from "./arguments.ts";
import { type Command, UsageError } from "./command.ts";
import { awaitSignal } from "./run-until-signal.ts";

export const fakeProvider: Command = {
  summary: "run a fake provider for experiments and tests",
  help: `Usage: gatehouse fake-provider [--port N] [--name NAME] [--behave JSON] [--json]

Serves the APIs of OpenAI, Anthropic and Gemini on 127.0.0.1 until SIGTERM or Ctrl-C. Prints its address.

  --port N       default 0, any free port
  --name NAME    the provider's name in its responses; default "fake"
  --behave JSON  how to respond, e.g. '{"status":503}'; a request can override it in its header x-fake.
                 See docs/guides/fake-provider.md
  --json         print {"name", "url"}`,
  run: async (args) => {
    const { values } = parseArguments(args, {
      options: {
        port: { type: "string" },
        name: { type: "string", default: "fake" },
        behave: { type: "string", default: "{}" },
        json: { type: "boolean" },
      },
    });
    const { name } = values;
    const port = wholeNumber("--port", values.port, 0, { min: 0, max: 65_535 });
    const behavior = readBehavior(values.behave);
    const signal = awaitSignal();
    const provider = await startFakeProvider({ port, name, record: false });
    provider.behave(behavior);
    const { url } = provider;
    console.log(values.json === true ? JSON.stringify({ name, url }) : `${name} listens on ${url}`);
    await signal;
    await provider.stop();
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
