// Rule: which requests go to which service.
import { z } from "zod";
import { OPENAI_FORMAT } from "../base/wire-format.ts";
import { headersField, idField, nameField, priorityField } from "./fields.ts";
import type { ChildFields } from "./record.ts";

export const HTTP_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] as const;

/** Paths of the gateway itself, on whole segments: no rule may claim them, and they always win. */
export const RESERVED_PREFIXES = ["/api", "/console", "/metrics", "/healthz", "/readyz"] as const;

const RESERVED: ReadonlySet<string> = new Set(RESERVED_PREFIXES);

export function reservedPrefixOf(path: string): string | null {
  const end = path.indexOf("/", 1);
  const first = end < 0 ? path : path.slice(0, end);
  return RESERVED.has(first) ? first : null;
}

/** Why a pattern cannot be used, or null. Exact `/v1/chat`, parameters `/teams/{team}/chat`, prefix `/v1/*`. */
export function pathPatternFault(pattern: string): string | null {
  if (!pattern.startsWith("/")) return 'must start with "/"';
  if (!/^[A-Za-z0-9\-._~!$&'()*+,;=:@/{}%]*$/.test(pattern)) {
    return "must be a URL path, without blanks, query or fragment; percent-encode other characters";
  }
  if (/%(?![0-9A-Fa-f]{2})/.test(pattern)) return "has a % that is not followed by two hex digits";
  const reserved = reservedPrefixOf(pattern);
  if (reserved !== null) return `must not claim the reserved prefix ${reserved}`;
  const segments = pattern.slice(1).split("/");
  const parameters = new Set<string>();
  for (const [index, segment] of segments.entries()) {
    const last = index === segments.length - 1;
    if (segment === "" && !last) return 'must not contain "//"';
    if (segment === "." || segment === "..") return `must not contain the segment "${segment}"`;
    if (segment === "*" && last) continue;
    if (segment.includes("*")) return '"*" must be the whole last segment, as in /v1/*';
    if (!/[{}]/.test(segment)) continue;
    if (!/^\{[A-Za-z_][A-Za-z0-9_]*\}$/.test(segment))
      return "a parameter must be a whole segment, as in /teams/{team}";
    if (parameters.has(segment)) return `the parameter ${segment} is given twice`;
    parameters.add(segment);
  }
  return null;
}

const pathField = z
  .string()
  .max(2048, "must not be longer than 2048 characters")
  .superRefine((pattern, context) => {
    const fault = pathPatternFault(pattern);
    if (fault !== null) context.addIssue({ code: "custom", message: fault });
  });

const methodField = z
  .string()
  .overwrite((method) => method.toUpperCase())
  .pipe(z.enum(HTTP_METHODS));

export const ruleSchema = z
  .strictObject({
    name: nameField.nullable().default(null),
    service_id: idField.meta({ description: "A service of the same gateway." }),
    path: pathField.meta({
      description: "Exact `/v1/chat`, parameters `/teams/{team}/chat`, or prefix `/v1/*`.",
    }),
    methods: z
      .array(methodField)
      .min(1, "must hold at least one method")
      .overwrite((methods) => [...new Set(methods)])
      .meta({ description: "HTTP methods matched." }),
    strip_path: z
      .boolean()
      .default(false)
      .meta({ description: "Remove the matched path before forwarding." }),
    preserve_host: z.boolean().default(false).meta({ description: "Send the client's Host to the target." }),
    priority: priorityField
      .default(0)
      .meta({ description: "Among rules that match equally well, lower comes first." }),
    headers: headersField
      .default({})
      .meta({ description: "Headers a request must have, with this value; `*`: any value." }),
    require_api_key: z
      .boolean()
      .nullable()
      .default(null)
      .meta({ description: "Unset: the gateway decides." }),
    response_format: z.literal(OPENAI_FORMAT).nullable().default(null).meta({
      description: "Turns every answer into this shape, whatever the target speaks.",
    }),
    active: z.boolean().default(true).meta({ description: "An inactive rule matches nothing." }),
  })
  .meta({ id: "Rule" });

export type RuleFields = z.output<typeof ruleSchema>;
export type Rule = RuleFields & ChildFields;
