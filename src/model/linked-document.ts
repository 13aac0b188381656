// The part of a document that consists of names and references. It can be read from a document that has invalid fields, so that
// `check` and `apply` report all problems at once.
import { z } from "zod";

/** Null where the field is missing or invalid. */
const text = z.string().nullable().catch(null);
const texts = z.array(z.string()).catch([]);
const listOf = <T extends z.ZodType>(item: T) => z.array(item).catch([]);
/** An entry that is no object has the fields of an empty one. */
const entry = <T extends z.ZodRawShape>(shape: T) =>
  z.preprocess((value) => (typeof value === "object" && value !== null ? value : {}), z.object(shape));

const linkedApiKey = entry({ name: text, policies: texts, key_sha256: text, prefix: text });
const linkedGateway = entry({
  name: text,
  subdomain: text,
  upstreams: listOf(entry({ name: text })),
  mcp_servers: listOf(entry({ name: text })),
  services: listOf(entry({ name: text, upstream: text, mcp_servers: texts })),
  rules: listOf(
    entry({
      name: text,
      path: text,
      methods: texts,
      headers: z.record(z.string(), z.string()).catch({}),
      service: text,
    }),
  ),
  models: listOf(
    entry({
      name: text,
      aliases: texts,
      fallback: texts,
      targets: listOf(entry({ upstream: text })),
      canary: entry({ target: entry({ upstream: text }) })
        .nullable()
        .catch(null),
      mirror: entry({ target: entry({ upstream: text }) })
        .nullable()
        .catch(null),
    }),
  ),
  budgets: listOf(entry({ name: text })),
  api_keys: listOf(linkedApiKey).optional(),
});

export const linkedDocumentSchema = entry({ gateways: listOf(linkedGateway) });

export type LinkedDocument = z.output<typeof linkedDocumentSchema>;
export type LinkedGateway = z.output<typeof linkedGateway>;
export type LinkedApiKey = z.output<typeof linkedApiKey>;
type LinkedRule = LinkedGateway["rules"][number];

export interface Named {
  readonly name: string | null;
}

/** Whether what identifies a rule for people is valid. */
export function isIdentified(rule: LinkedRule): rule is LinkedRule & { readonly path: string } {
  return rule.path !== null && (rule.name !== null || rule.methods.length > 0);
}
