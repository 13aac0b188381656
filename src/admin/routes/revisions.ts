// Revisions: the history of configuration changes, and rollback to an earlier revision.
import { z } from "zod";
import { GatehouseError, validationError } from "../../base/errors.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import { instantField } from "../../model/time-field.ts";
import { KIND_NAMES } from "../../kinds/kinds.ts";
import { resourceOf } from "../../store/audit-revision.ts";
import { versionOf } from "../../store/revisions.ts";
import type { Revision, RevisionSort, Transaction } from "../../store/store.ts";
import { requireConfiguration, taggedResponse } from "../etag.ts";
import { listResponse, orderOf, pageQuery, searchField, sortField } from "../list-query.ts";
import { addOperation, type Call, type RouteTable } from "../operation.ts";
import { diffOf, MAX_DIFF, showChanges } from "../record-changes.ts";
import { requireOneGateway } from "../identity.ts";
import { commitWrite, dryRunWrite, LONG_WRITE_MS, toValidationError, unknownRecordError } from "../write.ts";

const flag = z.enum(["true", "false"]).default("false");
const diffQuery = z.strictObject({
  to: z
    .string()
    .regex(/^\d{1,15}$/, "must be the number of a revision")
    .optional()
    .meta({ description: "The later revision. Default: the newest one." }),
});
const rollbackQuery = z.strictObject({
  dry_run: flag.meta({ description: "Return the changes without making them." }),
  gateway_id: z.string().optional().meta({
    description: "Restore only this gateway with its records. Others and the prices stay as they are.",
  }),
});

const REVISION_KINDS = [...KIND_NAMES, "prices" as const];
const RESOURCES = [...REVISION_KINDS, null].map(resourceOf);

const tag = "revisions";
const one = "/revisions/{revision}";
const SORTS: readonly RevisionSort[] = ["created_at", "name", "actor"];
const revisionsQuery = pageQuery.extend({
  gateway_id: z.string().optional().meta({ description: "Only changes to this gateway." }),
  actor: z.string().optional().meta({ description: "Name of the administrator." }),
  resource: z
    .enum(RESOURCES)
    .optional()
    .meta({ description: "Only changes of one such record; `configuration`: of several records." }),
  since: instantField
    .optional()
    .meta({ description: "Changes of this time and later.", format: "date-time" }),
  until: instantField.optional().meta({ description: "Changes before this time.", format: "date-time" }),
  search: searchField(
    "Part of the name of the record or of the administrator, of the reason, or an id, in any case; or the number of a revision.",
  ),
  sort: sortField(SORTS, "-created_at"),
});

export function addRevisionRoutes(table: RouteTable, current: CurrentConfiguration): void {
  addOperation(table, {
    method: "get",
    path: "/revisions",
    tag,
    summary: "List the changes of the configuration",
    access: { role: "viewer", limited: "filtered" },
    query: revisionsQuery,
    response: {
      status: 200,
      schema: "RevisionList",
      description: "Newest first, unless `sort` is set; at most REVISIONS_KEPT.",
    },
    handle: (call) => listRevisions(current, call),
  });

  addOperation(table, {
    method: "get",
    path: one,
    tag,
    summary: "Get one change with its differences",
    access: { role: "viewer", limited: "filtered" },
    response: { status: 200, schema: "RevisionWithDiff", description: "Credentials are masked." },
    etag: "read",
    handle: (call) => getRevision(current, call),
  });

  addOperation(table, {
    method: "get",
    path: `${one}/diff`,
    tag,
    summary: "Compare the configuration of this revision with that of a later one",
    access: { role: "viewer" },
    query: diffQuery,
    response: { status: 200, schema: "RevisionDiff", description: "Credentials are masked." },
    handle: (call) => compareRevisions(current, call),
  });

  addOperation(table, {
    method: "post",
    path: `${one}/rollback`,
    tag,
    summary: "Restore the configuration, or that of one gateway, as of this revision",
    access: { role: "operator", limited: "filtered" },
    query: rollbackQuery,
    response: {
      status: 200,
      schema: "Rollback",
      description: "The new revision, and the API keys that remain revoked or rotated.",
    },
    etag: "configuration",
    handle: (call) => rollBack(current, call),
  });
}

async function listRevisions(
  current: CurrentConfiguration,
  { query: { gateway_id, resource, sort, ...query }, caller }: Call<z.output<typeof revisionsQuery>>,
): Promise<Response> {
  requireOneGateway(caller.identity, gateway_id ?? null);
  const kind =
    resource === undefined
      ? undefined
      : (REVISION_KINDS.find((each) => resourceOf(each) === resource) ?? null);
  const filters = { gatewayId: gateway_id, kind, ...query };
  const page = await current.store.listRevisions({ ...filters, ...orderOf(sort, SORTS) });
  return listResponse("revisions", page.records.map(show), page.count, query);
}

async function getRevision(
  current: CurrentConfiguration,
  { params, caller }: Call<unknown>,
): Promise<Response> {
  const number = parseNumber(params["revision"]);
  const found = await current.store.getRevision(number);
  if (found === null)
    throw new GatehouseError("not_found", `Revision ${number} does not exist or is no longer kept.`);
  requireOneGateway(caller.identity, found.gateway_id);
  const etag = `"${versionOf(number, found.created_at)}"`;
  return taggedResponse(caller, etag, () => {
    const diff = found.records.flatMap((record) => diffOf(record, found));
    const leftOut = diff.length - MAX_DIFF;
    return Response.json({
      ...show(found),
      diff: diff.slice(0, MAX_DIFF),
      ...(leftOut > 0 && { diff_left_out: leftOut }),
      records: showChanges(found.records).records,
    });
  });
}

async function compareRevisions(
  current: CurrentConfiguration,
  { params, query }: Call<z.output<typeof diffQuery>>,
): Promise<Response> {
  const from = parseNumber(params["revision"]);
  const requested = query.to === undefined ? null : Number(query.to);
  if (requested !== null && requested < from)
    throw validationError([{ path: "to", message: `must not be earlier than revision ${from}` }]);
  const { to, records } = await current.store.changesBetween(from, requested);
  return Response.json({ from, to, ...showChanges(records) });
}

async function rollBack(
  current: CurrentConfiguration,
  { params, query, caller }: Call<z.output<typeof rollbackQuery>>,
): Promise<Response> {
  const number = parseNumber(params["revision"]);
  const { gateway_id: gatewayId = null } = query;
  requireOneGateway(caller.identity, gatewayId);
  const options = {
    action: "rollback",
    name: `revision ${number}`,
    deadlineMs: LONG_WRITE_MS,
  } as const;
  const work = async (transaction: Transaction) => {
    await requireConfiguration(caller, transaction);
    const isKnown = gatewayId === null || (await transaction.get("gateways", gatewayId)) !== null;
    const not_undone = (await transaction.rollBackTo(number, gatewayId)).map(({ id, name, reason }) => ({
      api_key_id: id,
      name,
      reason,
    }));
    if (!isKnown && transaction.recordChanges().length === 0) throw unknownRecordError("gateways", gatewayId);
    return { not_undone, ...(query.dry_run === "true" && showChanges(transaction.recordChanges())) };
  };
  try {
    if (query.dry_run === "true") {
      const planned = await dryRunWrite(current, caller, work, options);
      return Response.json({ revision: current.snapshot.revision, ...planned });
    }
    const { revision, version, value } = await commitWrite(current, caller, work, options);
    return Response.json({ revision, ...value }, { headers: { ETag: `"${version}"` } });
  } catch (error) {
    throw toValidationError(error, ({ kind, id }) => `${kind}/${id}.`);
  }
}

function parseNumber(text = ""): number {
  if (!/^\d{1,15}$/.test(text))
    throw new GatehouseError("not_found", `There is no revision "${text.slice(0, 64)}".`);
  return Number(text);
}

function show({
  revision,
  created_at,
  subject,
  actor,
  action,
  kind,
  resource_id,
  gateway_id,
  name,
  reason,
}: Revision) {
  const resource = resourceOf(kind);
  return { revision, created_at, subject, actor, action, resource, resource_id, gateway_id, name, reason };
}
