// The result of testing the connection to a target.
import { z } from "zod";
import { idField } from "./fields.ts";
import { targetSchema } from "./target.ts";

const CHECKS = ["address", "tls", "response", "credential"] as const;
const RESULTS = ["passed", "failed", "not_checked"] as const;

export const connectionTestRequestSchema = z
  .strictObject({
    upstream_id: idField.optional().meta({
      description: "A stored upstream. Its timeouts apply, and masked secrets of `target` refer to it.",
    }),
    target_id: idField.optional().meta({ description: "A target of the upstream, instead of `target`." }),
    target: targetSchema.optional().meta({ description: "A target that need not be stored." }),
  })
  .superRefine(({ upstream_id, target_id, target }, context) => {
    const reject = (path: string, message: string) =>
      context.addIssue({ code: "custom", path: [path], message });
    if (target_id === undefined && target === undefined) reject("target", "is required without target_id");
    if (target_id !== undefined && target !== undefined) reject("target_id", "must not be given with target");
    if (target_id !== undefined && upstream_id === undefined)
      reject("upstream_id", "is required with target_id");
  });

const checkSchema = z.object({
  check: z.enum(CHECKS).meta({
    description:
      "`address`: the name resolves, and the server accepts a connection. `tls`: its certificate is valid. " +
      "`response`: it returns a usable HTTP response. `credential`: it accepts the credential.",
  }),
  result: z.enum(RESULTS).meta({
    description:
      "`not_checked`: an earlier check failed, or the provider has no request that checks it at no cost.",
  }),
  message: z.string(),
});

export const connectionTestSchema = z.object({
  ok: z.boolean().meta({ description: "Whether no check failed." }),
  url: z.string().meta({ description: "The address that was requested with GET." }),
  status: z.int().nullable().meta({ description: "Status of the response; null if there is none." }),
  duration_ms: z.number(),
  checks: z.array(checkSchema).meta({ description: "One per check, in this order." }),
});

export type ConnectionTest = z.output<typeof connectionTestSchema>;
export type CheckName = (typeof CHECKS)[number];
export type CheckResult = ConnectionTest["checks"][number];
