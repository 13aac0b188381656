// An explanation: a simulated request, and how the gateway would process it.
import { FAULT_TYPES } from "./game-day.ts";
import { isIP } from "node:net";
import { z } from "zod";
import { BUDGET_UNITS } from "./budget.ts";
import { FALLBACK_REASONS, STRATEGIES } from "./virtual-model.ts";
import { headersField } from "./fields.ts";
import { UNGUARDED } from "./rule.ts";
import { ON_CANCEL } from "./upstream.ts";
import { PLUGIN_ISOLATIONS, PLUGIN_STAGES } from "./plugin-stage.ts";
import { HTTP_METHODS } from "./http-methods.ts";

export const explainRequestSchema = z.strictObject({
  method: z
    .string()
    .overwrite((method) => method.toUpperCase())
    .pipe(z.enum(HTTP_METHODS))
    .default("POST"),
  path: z
    .string()
    .max(8192, "must not be longer than 8192 characters")
    .regex(/^\/[^\s#]*$/, 'must start with "/", without whitespace and without "#"')
    .meta({ description: "Path with query." }),
  headers: headersField.default({}).meta({
    description: "Request headers of the client. Without Host, the request is for this gateway.",
  }),
  api_key: z.string().min(1).max(200).optional().meta({
    description:
      "Id or name of an API key of this gateway. The request is explained as if the client had sent this key.",
  }),
  body: z.unknown().optional().meta({
    description:
      "A string is sent as it is. Any other value is sent as JSON, with Content-Type application/json unless `headers` has another.",
  }),
  mcp: z
    .strictObject({
      method: z.string().min(1).max(128).default("tools/call"),
      params: z.record(z.string(), z.unknown()).default({}),
    })
    .optional()
    .meta({
      description:
        "An MCP request, instead of `body`: the JSON-RPC method and its params. The header fields and the `_meta` that the protocol needs are added.",
    }),
  client_address: z
    .string()
    .refine((address) => isIP(address) !== 0, "must be an IP address")
    .default("127.0.0.1")
    .meta({ description: "Address of the client." }),
});

const named = z.object({ id: z.string(), name: z.string() });

const explainedMcp = z
  .object({
    method: z.string(),
    tool: z.string().nullable(),
    server: named.nullable().meta({ description: "The server that would serve the request, by its name." }),
    allowed: z.boolean().nullable().meta({
      description:
        "Whether the client may use what the request names. Null: not known, because no request is sent to a server.",
    }),
    reason: z.string(),
    servers: z.array(z.object({ id: z.string(), name: z.string(), next: z.boolean(), reason: z.string() })),
  })
  .nullable()
  .meta({ description: "Null unless the rule leads to MCP servers." });

export const explanationSchema = z.object({
  gateway: named.nullable().meta({ description: "The gateway that handles the request." }),
  rule: z.object({ id: z.string(), name: z.string().nullable(), path: z.string() }).nullable(),
  unguarded: z.array(z.enum(UNGUARDED)).meta({
    description: "`unguarded` of the rule: where texts pass plugins that cannot inspect them there.",
  }),
  operation: z.string().nullable().meta({
    description: "What the path asks for. Null if it names no operation, or if no target needs to know.",
  }),
  rules: z
    .array(z.object({ id: z.string(), path: z.string(), matched: z.boolean(), reason: z.string() }))
    .meta({ description: "Best matches first, at most 200." }),
  authentication: z.object({
    required: z.boolean(),
    api_key: named.nullable(),
    verdict: z.enum(["allowed", "denied"]),
    reason: z.string(),
  }),
  plugins: z.array(
    z.object({
      name: z.string(),
      stage: z.enum(PLUGIN_STAGES),
      verdict: z.enum(["passed", "changed", "answered", "failed", "not_run"]),
      detail: z.string().nullable(),
      isolation: z
        .enum(PLUGIN_ISOLATIONS)
        .optional()
        .meta({ description: "Where the plugin runs; absent if that is inline." }),
    }),
  ),
  limits: z
    .array(
      z.object({
        type: z.string(),
        limit: z.int(),
        remaining: z.int(),
        reset: z.iso.datetime(),
        window: z.string(),
      }),
    )
    .meta({ description: "As in the rate limit headers of the response: this request is counted." }),
  budgets: z
    .array(
      z.object({
        id: z.string(),
        name: z.string(),
        subject: z
          .string()
          .nullable()
          .meta({ description: "Whose amount it is, if every subject has its own." }),
        unit: z.enum(BUDGET_UNITS),
        requested: z.string().meta({ description: "The estimate that would be reserved." }),
        remaining: z.string().meta({ description: "What would remain after this request." }),
        resets_at: z.iso.datetime().nullable(),
        fits: z.boolean(),
      }),
    )
    .meta({ description: "The budgets that the request has to fit into." }),
  game_day: z
    .object({
      id: z.string(),
      name: z.string(),
      share: z.number().meta({ description: "The share of such requests that is affected." }),
      faults: z.array(z.enum(FAULT_TYPES)),
    })
    .nullable()
    .meta({ description: "The game day that may affect the request. Null: none." }),
  virtual_model: z
    .object({
      requested: z.string(),
      name: z.string(),
      strategy: z.enum(STRATEGIES),
      fallback: z
        .object({ name: z.string(), reason: z.enum(FALLBACK_REASONS) })
        .nullable()
        .meta({ description: "The virtual model that would be used instead, and why." }),
      canary: z
        .enum(["canary", "stable"])
        .nullable()
        .meta({ description: "Whether the canary or another target would serve. Null without a canary." }),
      mirror: z
        .object({
          upstream: z.string(),
          model: z.string(),
          share: z.number(),
          copied: z
            .boolean()
            .nullable()
            .meta({ description: "Whether a copy would be sent. Null: the id of the request decides." }),
          reason: z.string(),
        })
        .nullable()
        .meta({
          description:
            "The mirror of the virtual model. Budgets and copies in progress are not considered. Null without a mirror.",
        }),
      targets: z.array(
        z.object({
          virtual_model: z.string(),
          upstream: z.string(),
          model: z.string(),
          canary: z.boolean().meta({ description: "Whether it is the canary." }),
          weight: z.int(),
          eligible: z.boolean(),
          next: z.boolean(),
          reason: z.string(),
        }),
      ),
    })
    .nullable()
    .meta({
      description:
        "The virtual model with the requested name, with its targets and those of its fallbacks. Null if it is none.",
    }),
  mcp: explainedMcp,
  targets: z.array(
    z.object({
      id: z.string(),
      provider: z.string(),
      priority: z.int(),
      weight: z.int(),
      state: z.enum(["healthy", "out", "trial", "resting"]),
      eligible: z.boolean(),
      next: z.boolean().meta({
        description:
          "The first attempt would use this target. False for all targets if the choice is random.",
      }),
      reason: z.string(),
      model: z.string().nullable(),
      credentials: z.string().nullable().meta({
        description:
          "Type of the target's credentials. Null: the client's own provider credential is forwarded.",
      }),
    }),
  ),
  upstream_request: z
    .object({
      target_id: z.string(),
      method: z.string(),
      url: z.string(),
      headers: z.record(z.string(), z.string()),
      body: z.string().nullable(),
      translation: z
        .object({
          request_format: z.string(),
          target_format: z.string(),
          response_format: z.string(),
          dropped: z.array(z.string()),
        })
        .nullable()
        .meta({
          description:
            "The formats that the request is translated from and to, the format of the response, and the fields of the request " +
            "that the target's format lacks. Null: nothing is translated.",
        }),
    })
    .nullable()
    .meta({ description: "The request of the first attempt, with credentials masked." }),
  hedge: z
    .object({
      possible: z.boolean(),
      after_ms: z.number().nullable().meta({
        description: "Time without content after which a second target gets the request. Null: not known.",
      }),
      reason: z.string().nullable().meta({ description: "Why the request would not be sent twice." }),
    })
    .nullable()
    .meta({ description: "Null: the upstream has no `hedge`." }),
  on_cancel: z.enum(ON_CANCEL).nullable().meta({
    description:
      "`on_cancel` of the upstream, if a request would be sent: what happens if the client leaves.",
  }),
  answer: z
    .object({ status: z.int(), code: z.string().nullable(), error: z.string().nullable() })
    .nullable()
    .meta({ description: "The response, if the gateway itself would respond." }),
});

export const replaySchema = z.object({
  recorded: z.object({
    request_id: z.string(),
    time: z.iso.datetime(),
    status: z.int(),
    error_code: z.string().nullable(),
    rule: z.object({ id: z.string(), name: z.string().nullable(), path: z.string() }).nullable(),
    revision: z.int(),
  }),
  request: z
    .object({
      method: z.string(),
      path: z.string(),
      headers: z.record(z.string(), z.string()),
      api_key: z.string().optional(),
      body: z.string().optional(),
      client_address: z.string(),
    })
    .meta({ description: "The request that was explained: an input of `/explain`." }),
  not_recorded: z.array(z.string()).meta({
    description:
      "What of the request was not recorded and is therefore assumed, and what was changed since. One sentence each.",
  }),
  explanation: explanationSchema,
});

export type Replay = z.output<typeof replaySchema>;
export type ExplainRequest = z.output<typeof explainRequestSchema>;
export type Explanation = z.output<typeof explanationSchema>;
export type ExplainedVirtualModel = NonNullable<Explanation["virtual_model"]>;
export type ExplainedRule = Explanation["rules"][number];
export type ExplainedTarget = Explanation["targets"][number];
export type ExplainedPlugin = Explanation["plugins"][number];
export type ExplainedBudget = Explanation["budgets"][number];
export type ExplainedLimit = Explanation["limits"][number];

/** Resolves to null if the gateway is not active in this process. `api_key` of the request is an id here. */
export type Explain = (gatewayId: string, request: ExplainRequest) => Promise<Explanation | null>;
