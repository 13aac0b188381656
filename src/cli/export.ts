// gatehouse export: the configuration of a running gateway as a document.
import { adminClient, CLIENT_FLAGS, CLIENT_HELP } from "./admin-client.ts";
import type { Command } from "./command.ts";
import { Words } from "./words.ts";

export const exportCommand: Command = {
  summary: "print the configuration as a document",
  help: `Usage: gatehouse export [--json] [--url URL] [--token TOKEN] > gatehouse.yaml

Prints the whole configuration of a running gateway as YAML, or as JSON: names instead of ids, secrets as references to
the environment, API keys as hashes. gatehouse apply makes it true there or on another gateway.

${CLIENT_HELP}`,
  run: async (words) => {
    const given = new Words(words, { values: CLIENT_FLAGS, switches: ["--json"] });
    const client = await adminClient({ url: given.value("--url"), token: given.value("--token") });
    const accept = given.has("--json") ? "application/json" : "application/yaml";
    process.stdout.write(await client.getText("/export", accept));
    return 0;
  },
};
