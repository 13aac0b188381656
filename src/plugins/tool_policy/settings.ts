// Settings of tool_policy: ordered rules about tools.
import { z } from "../../sdk/index.ts";
import { isObject } from "./schema-values.ts";
import { compileSchema } from "./schema.ts";

const MAX_RULES = 100;
/** As conditions see an offered tool. */
const OFFERED_MEMBERS = ["name", "description", "schema", "settings"];

const rule = () =>
  z
    .strictObject({
      tool: z.string().min(1, "must not be empty").max(128, "must not be longer than 128 characters").meta({
        description:
          "The name of the tool; `*` represents any characters. For MCP also the name of a prompt or the URI of a resource, as the client uses it.",
      }),
      source: z.enum(["offered", "called", "result"]).meta({
        description:
          "`offered`: tools of the request, and what MCP servers list. `called`: tools that the model calls in the response, and tools, prompts and " +
          "resources that a client uses at an MCP service. `result`: results of tools in the request or the response, and what an MCP server returns.",
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
            "A JSON Schema (draft 2020-12) that must match: an offered tool (`name`, `description`, `schema`, and `settings` of hosted tools), the arguments of a call, or a result. Not set: always.",
        }),
      action: z.enum(["allow", "deny", "strip"]).meta({
        description: "`strip` removes an offered tool, or the text of a result. Calls cannot be stripped.",
      }),
    })
    .refine(({ source, action }) => source !== "called" || action !== "strip", {
      path: ["action"],
      message: "must be allow or deny for calls: a response without its call would be incomplete",
    })
    .superRefine(({ source, when }, context) => {
      const other = source === "offered" ? otherMember(when) : undefined;
      if (other === undefined) return;
      const message = `names ${JSON.stringify(other)}; an offered tool has only ${OFFERED_MEMBERS.join(", ")}`;
      context.addIssue({ code: "custom", path: ["when"], message });
    });

/** Keywords whose schemas are applied to the tool itself. */
const PARTS = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];

/**
 * Returns a member that a condition asks for and no offered tool has, such as one of the client's format: a rule that denies would
 * never match.
 */
function otherMember(when: unknown): string | undefined {
  if (!isObject(when)) return undefined;
  const { properties, required } = when;
  const named = isObject(properties) ? Object.keys(properties) : [];
  const asked = [...named, ...(Array.isArray(required) ? required.map(String) : [])];
  const parts = PARTS.flatMap((keyword) => when[keyword] ?? []);
  const inParts = parts.map(otherMember).find((member) => member !== undefined);
  return asked.find((member) => !OFFERED_MEMBERS.includes(member)) ?? inParts;
}

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
