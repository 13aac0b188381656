// gatehouse check: validates a document without a server, for editors and CI.
import { parseArguments, required } from "./arguments.ts";
import type { ErrorDetail } from "../base/errors.ts";
import type { Command } from "./command.ts";
import { problemLine, readDocument } from "./read-document.ts";
import { validateDocument, type DocumentValidation } from "./validate-document.ts";

export const checkCommand: Command = {
  summary: "validate a configuration document without a server",
  help: `Usage: gatehouse check FILE [--json]

Validates a document (- reads standard input) as gatehouse apply would: fields, names and references, providers,
settings of built-in plugins. Prints one line per problem with its position and path, and exits with 1 if there is one. Unknown
plugins and variables that are not set are warnings: the gateway to which the document is applied may know them. What is legal
but probably wrong is a warning, too, such as a rule that no request reaches. Warnings do not change the exit code.

  --json  print {"valid", "faults", "warnings"}; each fault has "path", "message", "line", "column"`,
  run: async (args) => {
    const { values, positionals } = parseArguments(args, {
      options: { json: { type: "boolean" } },
      maxPositionals: 1,
    });
    const file = required("FILE", positionals[0]);
    const read = await readDocument(file);
    const { problems, warnings, document } = read.ok
      ? locateAll(validateDocument(read.document, process.env), read.locate)
      : { problems: read.problems, warnings: [], document: null };
    const valid = problems.length === 0;
    if (values.json === true) console.log(JSON.stringify({ valid, faults: problems, warnings }, null, 2));
    else {
      for (const problem of problems) console.error(problemLine(file, problem));
      for (const warning of warnings) console.error(problemLine(file, warning, "warning"));
      const count = document?.gateways.length ?? 0;
      if (valid) console.log(`${file}: no problems in ${count} ${count === 1 ? "gateway" : "gateways"}`);
    }
    return valid ? 0 : 1;
  },
};

function locateAll(
  validation: DocumentValidation,
  locate: (problem: ErrorDetail) => ErrorDetail,
): DocumentValidation {
  const { problems, warnings } = validation;
  return { ...validation, problems: problems.map(locate), warnings: warnings.map(locate) };
}
