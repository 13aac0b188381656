// The audit log: every administrative action, newest first, and the verification of its chain.
import { z } from "zod";
import { instantField } from "../../model/time-field.ts";
import { AUDIT_ACTIONS, type AuditSort } from "../../store/audit.ts";
import type { AuditStore } from "../../store/sql-audit.ts";
import { listResponse, orderOf, pageQuery, searchField, sortField } from "../list-query.ts";
import { addOperation, type RouteTable } from "../operation.ts";

const SORTS: readonly AuditSort[] = ["created_at", "actor", "action", "address"];
const auditQuery = pageQuery.extend({
  actor: z.string().optional().meta({ description: "Name of the administrator." }),
  action: z.enum(AUDIT_ACTIONS).optional(),
  outcome: z
    .enum(["done", "refused"])
    .optional()
    .meta({ description: "`refused`: only rejected requests. `done`: all others." }),
  resource: z.string().optional().meta({ description: "Such as `gateway` or `admin_token`." }),
  gateway_id: z.string().optional(),
  address: z.string().optional().meta({ description: "Address of the client." }),
  since: instantField
    .optional()
    .meta({ description: "Entries of this time and later.", format: "date-time" }),
  until: instantField.optional().meta({ description: "Entries before this time.", format: "date-time" }),
  search: searchField(
    "Part of the name of the record or of the administrator, of the resource, the address, or an id, in any case; or the number of an entry.",
  ),
  sort: sortField(SORTS, "-created_at"),
});

const tag = "audit";
const access = { role: "owner" } as const;

export function addAuditRoutes(table: RouteTable, audit: AuditStore): void {
  addOperation(table, {
    method: "get",
    path: "/audit",
    tag,
    summary: "List administrative actions: changes, sign-ins, reads of secrets, and rejected requests",
    access,
    query: auditQuery,
    response: {
      status: 200,
      schema: "AuditEntryList",
      description:
        "Newest first, unless `sort` is set; at most AUDIT_KEPT. Rejected requests are counted per address and minute.",
    },
    handle: async ({ query: { gateway_id, sort, ...query } }) => {
      const { records, count } = await audit.list({
        gatewayId: gateway_id,
        ...query,
        ...orderOf(sort, SORTS),
      });
      return listResponse("audit_entries", records, count, query);
    },
  });

  addOperation(table, {
    method: "get",
    path: "/audit/verification",
    tag,
    summary: "Verify that no entry of the audit log was changed, removed, inserted, or moved",
    access,
    response: {
      status: 200,
      schema: "AuditVerification",
      description: "`problem` is the first wrong entry.",
    },
    handle: async () => Response.json(await audit.verify()),
  });
}
