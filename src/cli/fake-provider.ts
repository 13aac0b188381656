// gatehouse fake-provider: a stand-in for an AI provider, to try things out without an account.
import { startFakeProvider } from "../fake-provider/server.ts";
import type { Command } from "./command.ts";
import { awaitSignal } from "./run-until-signal.ts";
import { Words } from "./words.ts";

export const fakeProvider: Command = {
  summary: "a stand-in provider for trying things out",
  help: `Usage: gatehouse fake-provider [--port N] [--name NAME]

Speaks the wire formats of two providers on 127.0.0.1 until a signal ends it. Prints its address.

  --port N     default 0, a free one
  --name NAME  what it calls itself in its answers`,
  run: async (given) => {
    const words = new Words(given, { values: ["--port", "--name"] });
    const signal = awaitSignal();
    const name = words.value("--name") ?? "fake";
    const port = words.number("--port", 0, 0, 65_535);
    const provider = await startFakeProvider({ port, name, record: false });
    console.log(`${name} listens on ${provider.url}`);
    await signal;
    await provider.stop();
    return 0;
  },
};
