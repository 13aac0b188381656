// gatehouse check: judges a document without a server, for editors and CI.
import type { Command } from "./command.ts";
import { validateDocument } from "./validate-document.ts";
import { faultLine, readDocument } from "./read-document.ts";
import { Words } from "./words.ts";

export const checkCommand: Command = {
  summary: "judge a document of the configuration without a server",
  help: `Usage: gatehouse check FILE [--json]

Judges a document as gatehouse apply would: fields, names and references, providers, settings of built-in plugins. Each
fault is a line with its place; with any the exit code is 1. Unknown plugins and variables that are not set are
warnings: they may be known where the document is applied.

  --json  print {"valid", "faults", "warnings"}`,
  run: async (words) => {
    const given = new Words(words, { switches: ["--json"], places: ["FILE"] });
    const file = given.requiredPlace(0, "FILE");
    const read = await readDocument(file);
    const { faults, warnings, document } = read.ok
      ? validateDocument(read.document, process.env)
      : { faults: read.faults, warnings: [], document: null };
    const valid = faults.length === 0;
    if (given.has("--json")) console.log(JSON.stringify({ valid, faults, warnings }, null, 2));
    else {
      for (const error of faults) console.error(faultLine(file, error));
      for (const warning of warnings) console.error(faultLine(file, warning, "warning"));
      const count = document?.gateways.length ?? 0;
      if (valid) console.log(`${file}: no faults in ${count} ${count === 1 ? "gateway" : "gateways"}`);
    }
    return valid ? 0 : 1;
  },
};
