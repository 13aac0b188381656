// Rule: selects requests by path, method, and headers, and forwards them to a service.
import { z } from "zod";
import { RESPONSE_FORMATS } from "../formats/format-names.ts";
import { ERROR_FORMATS } from "../formats/gateway-error.ts";
import { OPERATIONS } from "../formats/operations.ts";
import { headersField, idField, nameField, priorityField } from "./fields.ts";
import { ANY_METHOD, HTTP_METHODS } from "./http-methods.ts";
import type { ChildFields } from "./record.ts";
import { pathPatternProblem } from "./rule-path.ts";

const pathField = z
  .string()
  .max(2048, "must not be longer than 2048 characters")
  .superRefine((pattern, context) => {
    const message = pathPatternProblem(pattern);
    if (message !== null) context.addIssue({ code: "custom", message });
  });

const methodField = z
  .string()
  .overwrite((method) => method.toUpperCase())
  .pipe(z.enum([...HTTP_METHODS, ANY_METHOD]));

/** Where texts may pass guards that cannot inspect them. */
export const UNGUARDED = ["realtime_text", "realtime_audio", "files", "batches", "mcp"] as const;
export type Unguarded = (typeof UNGUARDED)[number];

export const ruleSchema = z
  .strictObject({
    name: nameField.nullable().default(null),
    service_id: idField.meta({ description: "A service of the same gateway." }),
    path: pathField.meta({
      description: "Exact `/v1/chat`, parameters `/teams/{team}/chat`, or prefix `/v1/*`.",
    }),
    methods: z
      .array(methodField)
      .min(1, "must contain at least one method")
      .overwrite((methods) => (methods.includes(ANY_METHOD) ? [ANY_METHOD] : [...new Set(methods)]))
      .meta({ description: 'HTTP methods that the rule matches. `["*"]`: all.' }),
    operations: z
      .array(z.enum(OPERATIONS))
      .default([])
      .overwrite((operations) => [...new Set(operations)])
      .meta({
        description:
          "What the rule allows in addition to inference, at targets without `path`: listing and deleting `files`, `batches` and " +
          "stored `responses`; deleting `models`; `fine_tuning`; `other`, also other methods than POST for inference. All API keys share the provider's account.",
      }),
    unguarded: z
      .array(z.enum(UNGUARDED))
      .default([])
      .overwrite((transports) => [...new Set(transports)])
      .meta({
        description:
          "Where texts may pass plugins that inspect texts but cannot do so there. Without it, such requests are rejected with " +
          "`guard_not_applicable`. WebSockets need both `realtime_text` and `realtime_audio`.",
      }),
    strip_path: z
      .boolean()
      .default(false)
      .meta({ description: "Remove the matched path before forwarding." }),
    preserve_host: z.boolean().default(false).meta({ description: "Send the client's Host to the target." }),
    priority: priorityField
      .default(0)
      .meta({ description: "Among rules that match equally well, the lowest number is used." }),
    headers: headersField
      .default({})
      .meta({ description: "Headers that a request must have. `*` matches any value." }),
    require_api_key: z
      .boolean()
      .nullable()
      .default(null)
      .meta({ description: "Whether an API key is required. Null: as the gateway." }),
    response_format: z
      .enum(RESPONSE_FORMATS)
      .nullable()
      .default(null)
      .meta({
        description:
          "Wire format of the response; `request`: that of the request. Responses of targets with another format are " +
          "translated. Null: `request` for targets without `path`, otherwise the format of the target.",
      }),
    error_format: z.enum(ERROR_FORMATS).nullable().default(null).meta({
      description: "The format of the gateway's own error responses. Null: as the gateway.",
    }),
    active: z.boolean().default(true).meta({ description: "An inactive rule matches nothing." }),
  })
  .meta({ id: "Rule" });

const otherRule = idField.optional().meta({ description: "Another rule of the gateway." });

/** The new place of a rule in the order of priorities. */
export const ruleMoveSchema = z
  .strictObject({ before: otherRule, after: otherRule })
  .refine(({ before, after }) => (before === undefined) !== (after === undefined), {
    message: "must have either before or after",
  });

export type RuleFields = z.output<typeof ruleSchema>;
export type Rule = RuleFields & ChildFields;
