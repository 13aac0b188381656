// The configuration as code: all of it as one document, and a document made true in one write.
import { z } from "zod";
import { GatehouseError, validationError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { exportDocument, exportProblems, type SecretVariable } from "../../model/document-export.ts";
import { linkProblems } from "../../model/document-links.ts";
import { settleReferences } from "../../model/document-variables.ts";
import { documentSchema, type ConfigurationDocument } from "../../model/document.ts";
import { validate } from "../../model/validate.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { Transaction } from "../../store/store.ts";
import { DocumentApplication, type AppliedChange } from "../apply-document.ts";
import { taggedResponse } from "../etag.ts";
import { addOperation, type RouteTable } from "../operation.ts";
import { withoutFields } from "../record-fields.ts";
import { explainCompileFault, LONG_WRITE_MS } from "../write.ts";

const flag = z.enum(["true", "false"]).default("false");
const applyQuery = z.strictObject({
  dry_run: flag.meta({ description: "Say what would change, and change nothing." }),
  prune: flag.meta({
    description: "Delete what gateways of the document have and the document does not name.",
  }),
});

export function addExportRoutes(table: RouteTable, current: CurrentConfiguration): void {
  const tag = "configuration";

  addOperation(table, {
    method: "get",
    path: "/export",
    tag,
    summary: "Export the configuration as a document; secrets are references to the environment",
    answer: {
      status: 200,
      schema: "DocumentInput",
      description: "YAML, or JSON by Accept: application/json.",
    },
    yaml: true,
    etag: "read",
    handle: async ({ caller }) => {
      const { text, type } = await exported(current, caller.headers.get("accept") ?? "");
      const etag = `"${Bun.hash(text).toString(36)}"`;
      const headers = { "Content-Type": type, Vary: "Accept" };
      return taggedResponse(caller, etag, () => new Response(text, { headers }));
    },
  });

  addOperation(table, {
    method: "post",
    path: "/apply",
    tag,
    summary: "Bring the configuration to what a document says: all of it or nothing, in one revision",
    query: applyQuery,
    body: "DocumentInput",
    yaml: true,
    answer: { status: 200, schema: "Applied", description: "What was, or on a dry run would be, done." },
    handle: async ({ body, query, caller }) => {
      const document = readDocument(body);
      let application: DocumentApplication | undefined;
      const work = async (transaction: Transaction) => {
        application = new DocumentApplication(transaction, { prune: query.prune === "true" });
        await application.apply(document);
        return application.changes;
      };
      const options = { subject: caller.subject, action: "apply", deadlineMs: LONG_WRITE_MS } as const;
      try {
        if (query.dry_run === "true") {
          // The key of a dry run opens nothing: it is not told.
          const changes = (await current.tryOut(work, options)).map(withoutKey);
          return Response.json({ changes, revision: current.snapshot.revision });
        }
        const { value: changes, revision } = await current.commit(work, options);
        return Response.json({ changes, revision });
      } catch (error) {
        throw explainCompileFault(error, ({ kind, id }) => `${application?.placeOf(id) ?? `${kind}/${id}`}.`);
      }
    },
  });
}

function withoutKey(change: AppliedChange): JsonObject {
  return withoutFields({ ...change }, ["key"]);
}

function readDocument(body: JsonObject): ConfigurationDocument {
  const settled = settleReferences(body);
  if (settled.faults.length > 0) throw validationError(settled.faults);
  const document = validate(documentSchema, settled.document);
  const problems = linkProblems(document);
  if (problems.length > 0) throw validationError(problems);
  return document;
}

async function exported(
  current: CurrentConfiguration,
  accept: string,
): Promise<{ text: string; type: string }> {
  const gateways = await current.store.view(async (view) => {
    const keys = Map.groupBy(await view.allApiKeys(), (key) => key.gateway_id);
    const parts = await view.allGatewayParts();
    return parts.map((each) => ({
      ...each,
      apiKeys: (keys.get(each.gateway.id) ?? []).filter(({ active }) => active),
    }));
  });
  const problems = exportProblems(gateways);
  if (problems.length > 0) {
    const sentence = `A document tells records by their names, and ${problems[0]?.message ?? ""}.`;
    throw new GatehouseError("duplicate", sentence, { details: problems });
  }
  const { document, variables } = exportDocument(gateways);
  if (/\bapplication\/json\b/i.test(accept) && !/yaml/i.test(accept)) {
    const text = `${JSON.stringify(document, null, 2)}\n`;
    return { text, type: "application/json;charset=utf-8" };
  }
  const text = `${heading(variables)}${Bun.YAML.stringify(document, null, 2)}\n`;
  return { text, type: "application/yaml;charset=utf-8" };
}

function heading(variables: readonly SecretVariable[]): string {
  const width = Math.max(0, ...variables.map(({ name }) => name.length));
  const lines = ["The configuration of a Gatehouse. gatehouse apply FILE makes it true."];
  if (variables.length > 0)
    lines.push("Secrets come from the environment; where one is not set, the stored one stays:");
  for (const { name, place } of variables) lines.push(`  ${name.padEnd(width)}  ${place}`);
  // A name of an operator's choosing must not end the comment that it stands in.
  return lines.map((line) => `# ${line.replaceAll(/[\u0085\u2028\u2029]/g, " ")}\n`).join("");
}
