// Component schemas of the OpenAPI document that are not derived from a resource declaration.
import { z } from "zod";
import { confirmationRequiredSchema, lossPlanSchema } from "./confirmation.ts";
import { ERRORS } from "../base/errors.ts";
import { FORMAT_NAMES } from "../formats/format-names.ts";
import { OPERATIONS } from "../formats/operations.ts";
import { PROVIDER_GROUPS, SETUP_CREDENTIAL_TYPES } from "../formats/provider-setup.ts";
import { connectionTestSchema } from "../model/connection-test.ts";
import { explanationSchema, replaySchema } from "../model/explanation.ts";
import { ADMIN_ROLES } from "../model/administrator.ts";
import { PLUGIN_MODES, PLUGIN_STAGES } from "../model/plugin-stage.ts";
import { pricesSchema } from "../model/price.ts";
import { AUDIT_ACTIONS } from "../store/audit.ts";
import { OBSERVATION_SCHEMAS } from "./observation-schemas.ts";
import { resourceSchema, timeSchema, warningsSchema } from "./record-schemas.ts";
import { actorSchema, revisionSchema } from "./revision-schemas.ts";
import { adminTokenWithTokenSchema, shownAdminTokenSchema } from "./routes/admin-tokens.ts";
import { budgetStateListSchema, budgetStateSchema } from "./budget-states.ts";
import { gameDayStateSchema } from "./game-day-states.ts";
import { pluginShadowSchema } from "./routes/plugin-shadow.ts";
import { mcpToolListSchema } from "./mcp-tools.ts";
import { apiKeyWithKeySchema } from "./routes/api-keys.ts";
import { cacheStateSchema, usageSchema } from "./usage-schemas.ts";

const count = z.int().min(0);

const meSchema = z.object({
  actor: actorSchema,
  role: z.enum(ADMIN_ROLES),
  gateways: z
    .array(z.string())
    .nullable()
    .meta({ description: "Ids of the gateways that the administrator is limited to. Null: all." }),
  expires_at: timeSchema.nullable().meta({ description: "When the token or the session expires." }),
});

const auditEntrySchema = z.object({
  sequence: z.int(),
  created_at: timeSchema,
  actor: actorSchema.nullable().meta({ description: "Null for requests that were rejected." }),
  role: z.enum(ADMIN_ROLES).nullable(),
  address: z.string().nullable().meta({
    description: "Address of the client. Null for rejected requests of further addresses, counted together.",
  }),
  request_id: z.string().nullable(),
  action: z.enum(AUDIT_ACTIONS),
  resource: z.string().nullable(),
  resource_id: z.string().nullable(),
  gateway_id: z.string().nullable(),
  name: z.string().nullable(),
  revision: z.int().nullable().meta({ description: "The revision that the action created." }),
  details: z.record(z.string(), z.unknown()).nullable().meta({
    description:
      "Of a change: `records` with their changed `fields`. Of rejected requests: `count`, `codes`, `actors`, `first_at`, `last_at`.",
  }),
  hash: z.string().meta({
    description:
      "SHA-256 over the hash of the entry before, the sequence number, and the stored text of this entry.",
  }),
});

const auditVerificationSchema = z.object({
  valid: z.boolean(),
  entries: count.meta({ description: "Number of verified entries." }),
  removed: count.meta({ description: "The last entry that AUDIT_KEPT has removed; 0: none." }),
  sequence: count.meta({ description: "The newest entry." }),
  hash: z.string().meta({ description: "Its hash, to compare with a log line." }),
  problem: z.object({ sequence: z.int(), message: z.string() }).nullable(),
});

const fieldChanges = z.array(
  z.object({
    path: z.string(),
    before: z.unknown(),
    after: z.unknown(),
    secret: z.literal(true).optional().meta({
      description: "The values are masks of a secret. They may be equal, although the secret changed.",
    }),
  }),
);

const appliedSchema = z.object({
  changes: z.array(
    z.object({
      action: z.enum(["create", "update", "delete", "none"]),
      resource: resourceSchema,
      gateway: z.string().meta({ description: "Name of the gateway. Empty for prices." }),
      name: z.string(),
      diff: fieldChanges,
      key: z
        .string()
        .optional()
        .meta({ description: "The key of a new API key without key_sha256. It is not shown again." }),
    }),
  ),
  warnings: warningsSchema.meta({ description: "What is legal in the document, but probably wrong." }),
  revision: z.int(),
});

const recordChanges = z.array(
  z.object({
    action: z.enum(["create", "update", "delete"]),
    resource: resourceSchema,
    id: z.string(),
    gateway_id: z.string().nullable(),
    name: z.string().nullable(),
    changes: fieldChanges,
  }),
);
const leftOut = count.meta({
  description: "Number of changed fields that are missing in `records` because there are too many.",
});

const rollbackSchema = z.object({
  revision: z.int(),
  not_undone: z
    .array(z.object({ api_key_id: z.string(), name: z.string(), reason: z.enum(["revoked", "rotated"]) }))
    .meta({ description: "API keys that were revoked or rotated since then. They remain so." }),
  records: recordChanges.optional().meta({ description: "With dry_run: what would change." }),
  left_out: leftOut.optional(),
});

const shownPricesSchema = pricesSchema.extend({
  builtin: z.boolean().meta({ description: "Whether these are the built-in prices." }),
  updated_at: timeSchema,
});

const builtinPricesSchema = pricesSchema.extend({
  date: z.iso.date().meta({ description: "The day on which the prices were collected." }),
  sources: z.array(z.url()),
});

const errorSchema = z.object({
  error: z.string().meta({ description: "A sentence for people." }),
  code: z.enum(Object.keys(ERRORS)).meta({ description: "A stable code for programs." }),
  request_id: z.string(),
  details: z
    .array(
      z.object({
        path: z.string(),
        message: z.string(),
        line: z.int().optional().meta({ description: "In a YAML document, for a key that is given twice." }),
        column: z.int().optional(),
      }),
    )
    .optional(),
  retry_after: z.string().optional(),
});

/** Records that are only read: name, schema, and key of the list. */
export const READ_ONLY_RECORDS: readonly (readonly [name: string, schema: z.ZodType, plural: string])[] = [
  [
    "Block",
    z.object({
      id: z.uuid(),
      type: z.string(),
      subject: z.string(),
      created_at: timeSchema,
      expires_at: timeSchema.nullable().meta({ description: "Null for a block that does not expire." }),
    }),
    "blocks",
  ],
  [
    "Plugin",
    z.object({
      name: z.string(),
      description: z.string(),
      stages: z.array(z.enum(PLUGIN_STAGES)),
      settings_schema: z.record(z.string(), z.unknown()),
      default_mode: z.enum(PLUGIN_MODES).meta({ description: "The mode of entries that name none." }),
      builtin: z.boolean(),
    }),
    "plugins",
  ],
  [
    "Provider",
    z.object({
      name: z.string(),
      title: z.string(),
      group: z.enum(PROVIDER_GROUPS),
      base_url: z.string().nullable(),
      base_url_example: z.string().nullable().meta({ description: "For a provider without `base_url`." }),
      format: z.enum(FORMAT_NAMES),
      default_path: z.string(),
      formats: z.array(z.enum(FORMAT_NAMES)),
      operations: z.array(z.enum(OPERATIONS)),
      credential_types: z.array(z.enum(SETUP_CREDENTIAL_TYPES)).meta({
        description: "The types of credentials that it accepts, the usual one first. Empty: usually none.",
      }),
      key_header: z.object({
        name: z.string(),
        prefix: z.string().meta({ description: "The part of the value before the key." }),
      }),
    }),
    "providers",
  ],
  ["Revision", revisionSchema, "revisions"],
  ["AuditEntry", auditEntrySchema, "audit_entries"],
  ["AdminToken", shownAdminTokenSchema, "admin_tokens"],
];

export const RESPONSE_SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  ApiKeyWithKey: apiKeyWithKeySchema,
  AdminTokenWithToken: adminTokenWithTokenSchema,
  Me: meSchema,
  AuditVerification: auditVerificationSchema,
  BudgetState: budgetStateSchema,
  GameDayState: gameDayStateSchema,
  PluginShadow: pluginShadowSchema,
  McpToolList: mcpToolListSchema,
  McpToolApproval: z.object({ approved: z.array(z.string()) }),
  BudgetStateList: budgetStateListSchema,
  UsageReport: usageSchema,
  CacheState: cacheStateSchema,
  Prices: shownPricesSchema,
  BuiltinPrices: builtinPricesSchema,
  Explanation: explanationSchema,
  ConnectionTest: connectionTestSchema,
  Replay: replaySchema,
  RevisionWithDiff: revisionSchema.extend({
    diff: fieldChanges,
    diff_left_out: z.int().optional().meta({
      description: "Number of changed fields that are missing in `diff` because there are too many.",
    }),
    records: recordChanges.meta({ description: "The same changes by record." }),
  }),
  RevisionDiff: z.object({ from: z.int(), to: z.int(), records: recordChanges, left_out: leftOut }),
  Applied: appliedSchema,
  Rollback: rollbackSchema,
  LossPlan: lossPlanSchema,
  ConfirmationRequired: confirmationRequiredSchema,
  Error: errorSchema,
  ...OBSERVATION_SCHEMAS,
};
