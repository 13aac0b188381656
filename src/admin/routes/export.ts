// Configuration as code: exports the configuration as one document, and applies a document in one write.
import { z } from "zod";
import { GatehouseError } from "../../base/errors.ts";
import { nextTurn } from "../../base/yield-turns.ts";
import { exportDocument, exportProblems } from "../../model/document-export.ts";
import type { SecretVariable } from "../../model/document-secrets.ts";
import { omit } from "../../model/record.ts";
import type { PluginRegistry } from "../../plugins/registry.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import { warningsInDocument } from "../../snapshot/warnings/configuration-warnings.ts";
import type { Transaction } from "../../store/store.ts";
import { DocumentApplication } from "../apply-document.ts";
import { requireConfiguration, taggedResponse } from "../etag.ts";
import { requireOneGateway } from "../identity.ts";
import { readDocument } from "../read-document.ts";
import { addOperation, type Call, type RouteTable } from "../operation.ts";
import { commitWrite, dryRunWrite, LONG_WRITE_MS, requireGateway, toValidationError } from "../write.ts";

const exportQuery = z.strictObject({
  gateway_id: z
    .string()
    .optional()
    .meta({ description: "Only this gateway, without the prices of all gateways." }),
});
const flag = z.enum(["true", "false"]).default("false");
const applyQuery = z.strictObject({
  dry_run: flag.meta({ description: "Return the changes without making them." }),
  prune: flag.meta({
    description: "In the gateways of the document, delete the records that the document does not contain.",
  }),
  prune_gateways: flag.meta({
    description: "Delete the gateways that the document does not contain, with all their records and usage.",
  }),
});

export function addExportRoutes(
  table: RouteTable,
  current: CurrentConfiguration,
  plugins: PluginRegistry,
): void {
  const tag = "configuration";

  addOperation(table, {
    method: "get",
    path: "/export",
    tag,
    summary: "Export the configuration as a document. Secrets are references to environment variables.",
    access: { role: "viewer", limited: "filtered" },
    query: exportQuery,
    response: {
      status: 200,
      schema: "DocumentInput",
      description: "YAML, or JSON with Accept: application/json.",
    },
    yaml: true,
    etag: "read",
    handle: async ({ query: { gateway_id = null }, caller }) => {
      requireOneGateway(caller.identity, gateway_id);
      if (gateway_id !== null) await requireGateway(current.store, gateway_id);
      // It contains the hashes of the API keys, with which another installation accepts these keys.
      await caller.audit.recordRead(caller.origin, "configuration", gateway_id);
      const accept = caller.headers.get("accept") ?? "";
      const { text, type, version } = await exportText(current, accept, gateway_id);
      const etag = `"${version}.${Bun.hash(text).toString(36)}"`;
      const headers = { "Content-Type": type, Vary: "Accept" };
      return taggedResponse(caller, etag, () => new Response(text, { headers }));
    },
  });

  addOperation(table, {
    method: "post",
    path: "/apply",
    tag,
    summary: "Apply a document: all of its changes in one revision, or none",
    access: { role: "operator" },
    query: applyQuery,
    body: "DocumentInput",
    yaml: true,
    response: {
      status: 200,
      schema: "Applied",
      description: "The changes that were made, or would be made without dry_run.",
    },
    etag: "configuration",
    handle: (call) => applyDocument(current, plugins, call),
  });
}

async function applyDocument(
  current: CurrentConfiguration,
  plugins: PluginRegistry,
  { body, query, caller }: Call<z.output<typeof applyQuery>>,
): Promise<Response> {
  const document = await readDocument(body, (name) => plugins.get(name)?.settings);
  let application: DocumentApplication | undefined;
  const work = async (transaction: Transaction) => {
    await requireConfiguration(caller, transaction);
    application = new DocumentApplication(transaction, {
      prune: query.prune === "true",
      pruneGateways: query.prune_gateways === "true",
    });
    await application.apply(document);
    await nextTurn();
    const { writer, warnings } = application;
    return { changes: writer.changes, warnings: warningsInDocument(warnings, (id) => writer.placeOf(id)) };
  };
  const options = { action: "apply", deadlineMs: LONG_WRITE_MS } as const;
  try {
    if (query.dry_run === "true") {
      // The keys of a dry run are never stored, so the response does not contain them.
      const { changes, warnings } = await dryRunWrite(current, caller, work, options);
      const shown = changes.map((change) => omit(change, "key"));
      return Response.json({ changes: shown, warnings, revision: current.snapshot.revision });
    }
    const showsSecret = () => application?.writer.changes.some(({ key }) => key !== undefined) === true;
    const { value, revision, version } = await commitWrite(current, caller, work, {
      ...options,
      showsSecret,
    });
    await nextTurn();
    return Response.json({ ...value, revision }, { headers: { ETag: `"${version}"` } });
  } catch (error) {
    throw toValidationError(
      error,
      ({ kind, id }) => `${application?.writer.placeOf(id) ?? `${kind}/${id}`}.`,
    );
  }
}

async function exportText(
  current: CurrentConfiguration,
  accept: string,
  gatewayId: string | null,
): Promise<{ text: string; type: string; version: string }> {
  const { gateways, prices, version } = await current.store.view(async (view) => {
    const keys = Map.groupBy(await view.allApiKeys(), (key) => key.gateway_id);
    const parts = (await view.allGatewayParts()).filter(
      ({ gateway }) => gatewayId === null || gateway.id === gatewayId,
    );
    const gateways = parts.map((each) => ({
      ...each,
      apiKeys: (keys.get(each.gateway.id) ?? []).filter(({ active }) => active),
    }));
    return { gateways, prices: await view.prices(), version: await view.version() };
  });
  await nextTurn();
  const problems = exportProblems(gateways);
  if (problems.length > 0) {
    const message = `A document identifies records by their names, but ${problems[0]?.message ?? ""}.`;
    throw new GatehouseError("duplicate", message, { details: problems });
  }
  const { document, variables } = exportDocument(
    gateways,
    gatewayId === null ? (prices?.prices ?? null) : null,
  );
  await nextTurn();
  if (/\bapplication\/json\b/i.test(accept) && !/yaml/i.test(accept)) {
    const text = `${JSON.stringify(document, null, 2)}\n`;
    return { text, type: "application/json;charset=utf-8", version };
  }
  const text = `${heading(variables)}${Bun.YAML.stringify(document, null, 2)}\n`;
  return { text, type: "application/yaml;charset=utf-8", version };
}

function heading(variables: readonly SecretVariable[]): string {
  const width = Math.max(0, ...variables.map(({ name }) => name.length));
  const lines = ["Configuration of Gatehouse. Apply it with: gatehouse apply FILE"];
  if (variables.length > 0)
    lines.push(
      "Secrets are read from environment variables. If a variable is not set, the stored secret is kept:",
    );
  for (const { name, place } of variables) lines.push(`  ${name.padEnd(width)}  ${place}`);
  // A name in the text may contain these characters, and YAML ends a comment at them.
  return lines.map((line) => `# ${line.replaceAll(/[\u0085\u2028\u2029]/g, " ")}\n`).join("");
}
