// The time machine: who changed what and when, and the way back to any revision that is kept.
import { z } from "zod";
import { GatehouseError } from "../../base/errors.ts";
import type { Gateway } from "../../model/gateway.ts";
import { showGateway } from "../../model/gateway.ts";
import { diffRecords, hideCredentials, type FieldChange } from "../../model/record-diff.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { RecordChange, RecordOf, Revision } from "../../store/store.ts";
import { taggedResponse } from "../etag.ts";
import { listResponse, pageQuery } from "../list-query.ts";
import { addOperation, type RouteTable } from "../operation.ts";
import { withoutFields } from "../record-fields.ts";
import { explainCompileFault, LONG_WRITE_MS } from "../write.ts";

/** A gateway deleted with all its keys, or a whole document applied, may be told in more lines than anybody reads. */
const MAX_DIFF = 1000;

const revisionsQuery = pageQuery.extend({ gateway_id: z.string().optional() });

export function addRevisionRoutes(table: RouteTable, current: CurrentConfiguration): void {
  const tag = "revisions";
  const one = "/revisions/{revision}";

  addOperation(table, {
    method: "get",
    path: "/revisions",
    tag,
    summary: "List the changes of the configuration",
    query: revisionsQuery,
    answer: { status: 200, schema: "RevisionList", description: "Newest first, as many as REVISIONS_KEPT." },
    handle: async ({ query: { gateway_id, ...query } }) => {
      const page = await current.store.listRevisions({ gatewayId: gateway_id, ...query });
      return listResponse("revisions", page.records.map(shown), page.count, query);
    },
  });

  addOperation(table, {
    method: "get",
    path: one,
    tag,
    summary: "Get one change with all that it changed",
    answer: { status: 200, schema: "RevisionWithDiff", description: "Credentials are masked." },
    etag: "read",
    handle: async ({ params, caller }) => {
      const number = numberFrom(params["revision"]);
      const found = await current.store.getRevision(number);
      if (found === null) throw notKept(number);
      // A revision never changes; only a database that was put back may count the same number again.
      const etag = `"${number}-${Date.parse(found.created_at).toString(36)}"`;
      return taggedResponse(caller, etag, () => {
        const diff = found.records.flatMap((record) => diffOf(record, found));
        const leftOut = diff.length - MAX_DIFF;
        return Response.json({
          ...shown(found),
          diff: diff.slice(0, MAX_DIFF),
          ...(leftOut > 0 && { diff_left_out: leftOut }),
        });
      });
    },
  });

  addOperation(table, {
    method: "post",
    path: `${one}/rollback`,
    tag,
    summary: "Put the whole configuration back as it was at this revision",
    answer: {
      status: 200,
      schema: "Rollback",
      description: "The revision that did it, and the API keys that stay revoked or rotated all the same.",
    },
    handle: async ({ params, caller }) => {
      const number = numberFrom(params["revision"]);
      const options = {
        subject: caller.subject,
        action: "rollback",
        name: `revision ${number}`,
        deadlineMs: LONG_WRITE_MS,
      } as const;
      const rolledBack = current.commit((transaction) => transaction.restore(number), options);
      const { revision, value } = await rolledBack.catch((error: unknown) => {
        throw explainCompileFault(error, ({ kind, id }) => `${kind}/${id}.`);
      });
      const not_undone = value.map(({ id, name, reason }) => ({ api_key_id: id, name, reason }));
      return Response.json({ revision, not_undone });
    },
  });
}

function numberFrom(text = ""): number {
  if (!/^\d{1,15}$/.test(text))
    throw new GatehouseError("not_found", `There is no revision "${text.slice(0, 64)}".`);
  return Number(text);
}

function notKept(number: number): GatehouseError {
  return new GatehouseError("not_found", `Revision ${number} never was, or is no longer kept.`);
}

function shown({ revision, created_at, subject, action, kind, resource_id, gateway_id, name }: Revision) {
  const resource = kind === "prices" ? kind : (kind?.slice(0, -1) ?? "configuration");
  return { revision, created_at, subject, action, resource, resource_id, gateway_id, name };
}

/** Fields of the record that the revision is about stand alone; those of others behind their kind and id. */
function diffOf({ kind, id, before, after }: RecordChange, about: Revision): FieldChange[] {
  const fields = diffRecords(visible(kind, before), visible(kind, after));
  if (kind === about.kind && id === about.resource_id) return fields;
  return fields.map(({ path, ...values }) => ({ path: `${kind}/${id}.${path}`, ...values }));
}

function visible(kind: RecordChange["kind"], record: RecordChange["before"]): object | null {
  if (record === null) return null;
  if (kind === "gateways") return showGateway(record as Gateway);
  if (kind === "upstreams") return hideCredentials(record as RecordOf["upstreams"]);
  return withoutFields({ ...record }, ["hash", "counter_key"]);
}
