// gatehouse export: prints the configuration of a running gateway as a document.
import { adminClient, CLIENT_HELP, CLIENT_OPTIONS } from "./admin-client.ts";
import { parseArguments } from "./arguments.ts";
import type { Command } from "./command.ts";
import { Progress } from "./progress.ts";

export const exportCommand: Command = {
  summary: "print the configuration as a document",
  help: `Usage: gatehouse export [--json] [--url URL] [--token TOKEN] > gatehouse.yaml

Prints the whole configuration of a running gateway as YAML or JSON: names instead of ids, secrets as references to
environment variables, API keys as hashes. Apply it to this or another gateway with gatehouse apply.

  --json         print JSON instead of YAML
${CLIENT_HELP}`,
  run: async (args) => {
    const { values } = parseArguments(args, {
      options: { ...CLIENT_OPTIONS, json: { type: "boolean" } },
    });
    const client = await adminClient(values);
    const accept = values.json === true ? "application/json" : "application/yaml";
    const work = () => client.getText("/export", accept);
    process.stdout.write(await new Progress().waiting("exporting", work));
    return 0;
  },
};
