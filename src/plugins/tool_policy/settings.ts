// Settings of tool_policy: ordered rules about tools.
import { z } from "../../sdk/index.ts";
import { compileSchema } from "./schema.ts";

const MAX_RULES = 100;

const rule = () =>
  z
    .strictObject({
      tool: z
        .string()
        .min(1, "must not be empty")
        .max(128, "must not be longer than 128 characters")
        .meta({ description: "The name of the tool; `*` represents any characters." }),
      source: z.enum(["offered", "called", "result"]).meta({
        description:
          "`offered`: tools of the request. `called`: tools that the model calls in the response, or the client at an MCP service. " +
          "`result`: results of tools in the request, or of an MCP server.",
      }),
      when: z
        .unknown()
        .optional()
        .superRefine((schema, context) => {
          if (schema === undefined) return;
          try {
            compileSchema(schema);
          } catch (error) {
            context.addIssue({
              code: "custom",
              message: error instanceof Error ? error.message : String(error),
            });
          }
        })
        .meta({
          description:
            "A JSON Schema (a subset) that must match: the definition of an offered tool, the arguments of a call, or a result. Not set: always.",
        }),
      action: z.enum(["allow", "deny", "strip"]).meta({
        description: "`strip` removes an offered tool, or the text of a result. Calls cannot be stripped.",
      }),
    })
    .refine(({ source, action }) => source !== "called" || action !== "strip", {
      path: ["action"],
      message: "must be allow or deny for calls: a response without its call would be incomplete",
    });

export const toolPolicySettings = () =>
  z.strictObject({
    rules: z
      .array(rule())
      .min(1, "must contain at least one rule")
      .max(MAX_RULES, `must not contain more than ${MAX_RULES} rules`)
      .meta({ description: "The first rule that matches decides." }),
    default: z
      .enum(["allow", "deny"])
      .default("allow")
      .meta({ description: "What happens if no rule matches." }),
  });

export type ToolPolicySettings = z.output<ReturnType<typeof toolPolicySettings>>;
