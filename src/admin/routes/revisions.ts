// Revisions: the history of configuration changes, and rollback to an earlier revision.
import { z } from "zod";
import { GatehouseError } from "../../base/errors.ts";
import { showGateway } from "../../model/gateway.ts";
import { diffRecords, hideSecrets, type FieldChange } from "../../model/record-diff.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import { versionOf } from "../../store/revisions.ts";
import type { RecordChange, Revision, Transaction } from "../../store/store.ts";
import { requireConfiguration, taggedResponse } from "../etag.ts";
import { listResponse, pageQuery } from "../list-query.ts";
import { addOperation, type Call, type RouteTable } from "../operation.ts";
import { withoutFields } from "../record-fields.ts";
import { LONG_WRITE_MS, toValidationError } from "../write.ts";

/** Limit for the response: the deletion of a gateway with all its keys, or a large document, changes far more fields. */
const MAX_DIFF = 1000;

const tag = "revisions";
const one = "/revisions/{revision}";
const revisionsQuery = pageQuery.extend({
  gateway_id: z.string().optional().meta({ description: "Only changes to this gateway." }),
});

export function addRevisionRoutes(table: RouteTable, current: CurrentConfiguration): void {
  addOperation(table, {
    method: "get",
    path: "/revisions",
    tag,
    summary: "List the changes of the configuration",
    query: revisionsQuery,
    response: { status: 200, schema: "RevisionList", description: "Newest first, at most REVISIONS_KEPT." },
    handle: async ({ query: { gateway_id, ...query } }) => {
      const page = await current.store.listRevisions({ gatewayId: gateway_id, ...query });
      return listResponse("revisions", page.records.map(show), page.count, query);
    },
  });

  addOperation(table, {
    method: "get",
    path: one,
    tag,
    summary: "Get one change with its differences",
    response: { status: 200, schema: "RevisionWithDiff", description: "Credentials are masked." },
    etag: "read",
    handle: (call) => getRevision(current, call),
  });

  addOperation(table, {
    method: "post",
    path: `${one}/rollback`,
    tag,
    summary: "Restore the whole configuration as of this revision",
    response: {
      status: 200,
      schema: "Rollback",
      description: "The new revision, and the API keys that remain revoked or rotated.",
    },
    etag: "configuration",
    handle: (call) => rollBack(current, call),
  });
}

async function getRevision(
  current: CurrentConfiguration,
  { params, caller }: Call<unknown>,
): Promise<Response> {
  const number = parseNumber(params["revision"]);
  const found = await current.store.getRevision(number);
  if (found === null)
    throw new GatehouseError("not_found", `Revision ${number} does not exist or is no longer kept.`);
  const etag = `"${versionOf(number, found.created_at)}"`;
  return taggedResponse(caller, etag, () => {
    const diff = found.records.flatMap((record) => diffOf(record, found));
    const leftOut = diff.length - MAX_DIFF;
    return Response.json({
      ...show(found),
      diff: diff.slice(0, MAX_DIFF),
      ...(leftOut > 0 && { diff_left_out: leftOut }),
    });
  });
}

async function rollBack(current: CurrentConfiguration, { params, caller }: Call<unknown>): Promise<Response> {
  const number = parseNumber(params["revision"]);
  const options = {
    subject: caller.subject,
    action: "rollback",
    name: `revision ${number}`,
    deadlineMs: LONG_WRITE_MS,
  } as const;
  const work = async (transaction: Transaction) => {
    await requireConfiguration(caller, transaction);
    return transaction.rollBackTo(number);
  };
  const rolledBack = current.commit(work, options);
  const { revision, version, value } = await rolledBack.catch((error: unknown) => {
    throw toValidationError(error, ({ kind, id }) => `${kind}/${id}.`);
  });
  const not_undone = value.map(({ id, name, reason }) => ({ api_key_id: id, name, reason }));
  return Response.json({ revision, not_undone }, { headers: { ETag: `"${version}"` } });
}

function parseNumber(text = ""): number {
  if (!/^\d{1,15}$/.test(text))
    throw new GatehouseError("not_found", `There is no revision "${text.slice(0, 64)}".`);
  return Number(text);
}

function show({ revision, created_at, subject, action, kind, resource_id, gateway_id, name }: Revision) {
  const resource = kind === "prices" ? kind : (kind?.slice(0, -1) ?? "configuration");
  return { revision, created_at, subject, action, resource, resource_id, gateway_id, name };
}

/** Paths are relative to the record that the revision is about; paths in other records start with kind and id. */
function diffOf({ kind, id, before, after }: RecordChange, about: Revision): FieldChange[] {
  const fields = diffRecords(toComparable(before), toComparable(after));
  if (kind === about.kind && id === about.resource_id) return fields;
  return fields.map(({ path, ...values }) => ({ path: `${kind}/${id}.${path}`, ...values }));
}

/** Removes or hides what a response may not show. */
function toComparable(record: RecordChange["before"]): object | null {
  if (record === null) return null;
  if ("required_plugins" in record) return showGateway(record);
  if ("targets" in record) return hideSecrets(record);
  return withoutFields({ ...record }, ["hash", "counter_key"]);
}
