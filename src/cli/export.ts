// gatehouse export: prints the configuration of a running gateway as a document.
import { adminClient, CLIENT_HELP, CLIENT_OPTIONS } from "./admin-client.ts";
import { parseArguments } from "./arguments.ts";
import type { Command } from "./command.ts";
import { findGateway } from "./find-gateway.ts";
import { Progress } from "./progress.ts";

export const exportCommand: Command = {
  summary: "print the configuration as a document",
  help: `Usage: gatehouse export [--gateway NAME|ID] [--json] [--url URL] [--token TOKEN] > gatehouse.yaml

Prints the whole configuration of a running gateway as YAML or JSON: names instead of ids, secrets as references to
environment variables, API keys as hashes. Apply it to this or another gateway with gatehouse apply.

  --gateway G    only this gateway, by name or id, without the prices of all gateways
  --json         print JSON instead of YAML
${CLIENT_HELP}`,
  run: async (args) => {
    const { values } = parseArguments(args, {
      options: { ...CLIENT_OPTIONS, gateway: { type: "string" }, json: { type: "boolean" } },
    });
    const client = await adminClient(values);
    const accept = values.json === true ? "application/json" : "application/yaml";
    const gateway = values.gateway === undefined ? null : await findGateway(client, values.gateway);
    const path = gateway === null ? "/export" : `/export?gateway_id=${encodeURIComponent(gateway.id)}`;
    const work = () => client.getText(path, accept);
    process.stdout.write(await new Progress().waiting("exporting", work));
    return 0;
  },
};
