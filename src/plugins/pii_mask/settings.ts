// Settings of pii_mask: what is searched for, in which messages, and what happens to it.
import { z } from "../../sdk/index.ts";
import { customPattern } from "./custom-pattern.ts";

export const TYPES = ["email", "phone", "credit_card", "iban", "us_ssn", "ip", "secret"] as const;
export type PiiType = (typeof TYPES)[number];

const ROLES = ["system", "developer", "user", "assistant", "tool", "other"] as const;
const MAX_CUSTOM = 20;

const customEntry = () =>
  z.strictObject({
    name: z
      .string()
      .regex(
        /^[a-z][a-z0-9_]{0,31}$/,
        "must start with a lower-case letter, then lower-case letters, digits or _; 32 at most",
      )
      .refine((name) => !TYPES.some((type) => type === name), "must not be the name of a built-in type")
      .meta({ description: "Names the placeholder: `employee_id` becomes `<EMPLOYEE_ID_1>`." }),
    pattern: z
      .string()
      .superRefine((pattern, context) => {
        try {
          if (customPattern(pattern).canBeEmpty) throw new Error("the pattern must not match an empty text");
        } catch (error) {
          context.addIssue({
            code: "custom",
            message: error instanceof Error ? error.message : String(error),
          });
        }
      })
      .meta({
        description:
          "A regular expression of ECMA-262 with the flag `u`, without look-around, back references and named groups; `(?i)` at its start ignores case. It is matched in linear time, and must not match an empty text.",
      }),
  });

export const piiMaskSettings = () =>
  z.strictObject({
    types: z
      .array(z.enum(TYPES))
      .refine((types) => new Set(types).size === types.length, "must not contain a type twice")
      .default([...TYPES])
      .meta({ description: "The built-in types that are searched for." }),
    custom: z
      .array(customEntry())
      .max(MAX_CUSTOM, `must not contain more than ${MAX_CUSTOM} patterns`)
      .refine(
        (list) => new Set(list.map(({ name }) => name)).size === list.length,
        "must not contain a name twice",
      )
      .default([])
      .meta({ description: "Further patterns." }),
    action: z.enum(["mask", "block", "tag"]).default("mask").meta({
      description:
        "`mask`: values are replaced by placeholders such as `<EMAIL_1>` (for MCP servers, the number is derived from the value), and restored in the response; requests that continue a conversation that the provider keeps (`previous_response_id`, `conversation`) are rejected. `block`: the request is rejected. `tag`: the request is forwarded unchanged, and the response header X-GW-PII lists what was found.",
    }),
    roles: z
      .array(z.enum(ROLES))
      .min(1, "must contain at least one role")
      .default([...ROLES])
      .meta({
        description:
          "The messages that are searched, by role. `other`: texts outside of messages, such as tool definitions. Ids, URLs and names of fields are always searched.",
      }),
    status_code: z
      .int()
      .min(400)
      .max(599)
      .default(400)
      .meta({ description: "Status returned when blocking." }),
    error_message: z
      .string()
      .min(1, "must not be empty")
      .max(1000, "must not be longer than 1000 characters")
      .default("The request contains personal data.")
      .meta({ description: "Message returned when blocking." }),
  });

export type PiiMaskSettings = z.output<ReturnType<typeof piiMaskSettings>>;
