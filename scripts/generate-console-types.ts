// Generates the files of console/api from the OpenAPI document (types, sections, roles of operations) and the error table, as part of
// `npm run docs`. A test fails if they are outdated.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ERRORS } from "../src/base/errors.ts";
import { readSettings } from "../src/config/settings.ts";
import { startGatehouse } from "../src/main.ts";
import { NO_LOG } from "../src/telemetry/log/log.ts";

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

export async function consoleTypes(): Promise<Map<string, string>> {
  const { components, paths } = await readDocument();
  const { schemas } = components;
  const types = Object.entries(schemas)
    // A patch is a record with optional fields only; the console uses `Partial` for it.
    .filter(([name]) => !name.endsWith("Patch"))
    .map(([name, schema]) =>
      schema.oneOf === undefined && schema.anyOf === undefined
        ? `export interface ${name} ${objectType(schema)}\n`
        : `export type ${name} = ${typeOf(schema)};\n`,
    );
  const meanings = Object.entries(ERRORS).map(
    ([code, { meaning }]) => `  ${code}: ${JSON.stringify(meaning)},`,
  );
  return new Map([
    ["console/api/api-sections.ts", apiSections(paths)],
    ["console/api/operation-roles.ts", operationRoles(paths)],
    [
      "console/api/types.ts",
      `// Generated from the OpenAPI document by npm run docs; do not edit.\n\n${types.join("\n")}`,
    ],
    [
      "console/api/error-meanings.ts",
      `// Generated from the error table by npm run docs; do not edit.

export const ERROR_MEANINGS: Readonly<Record<string, string>> = {
${meanings.join("\n")}
};
`,
    ],
  ]);
}

/** Lists the operations that need more than the role `viewer`. */
function operationRoles(paths: Document["paths"]): string {
  const rows = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { "x-role": role }]) => role !== undefined && role !== "viewer")
      .map(([method, { "x-role": role }]) => {
        const operation = `${method.toUpperCase()} ${path.replace("/api/v1", "").replaceAll(/\{\w+\}/g, "*")}`;
        return `  ${JSON.stringify(operation)}: ${JSON.stringify(role)},`;
      }),
  );
  return `// Generated from the OpenAPI document by npm run docs; do not edit.

/** Operations that need more than the role \`viewer\`; \`*\` is an id. */
export const OPERATION_ROLES: Readonly<Record<string, "operator" | "owner">> = {
${rows.join("\n")}
};
`;
}

/** Lists the sections of the API reference: one per tag, in the order of the reference. */
function apiSections(paths: Document["paths"]): string {
  const tags = new Set(
    Object.values(paths).flatMap((operations) =>
      Object.values(operations).flatMap(({ tags = [] }) => tags.slice(0, 1)),
    ),
  );
  const rows = [...tags].map((tag) => `  ${JSON.stringify(tag)},`);
  return `// Generated from the OpenAPI document by npm run docs; do not edit.

export const API_SECTIONS: readonly string[] = [
${rows.join("\n")}
];
`;
}

interface Operation {
  readonly "x-role"?: string;
  readonly tags?: readonly string[];
}

interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** Reads the document from a started gateway, so that no route can be forgotten here. */
async function readDocument(): Promise<Document> {
  const directory = mkdtempSync(join(tmpdir(), "gatehouse-types-"));
  const settings = readSettings({ DATA_DIR: directory, ADMIN_PORT: "0", PLUGINS_DIR: directory });
  const gatehouse = await startGatehouse(settings, "admin", NO_LOG);
  try {
    const response = await fetch(`${gatehouse.adminUrl ?? ""}/api/openapi.json`);
    return (await response.json()) as Document;
  } finally {
    await gatehouse.stop(0);
    rmSync(directory, { recursive: true, force: true });
  }
}

function objectType({ properties = {}, required = [] }: Schema): string {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const comment = schema.description === undefined ? "" : `  /** ${schema.description} */\n`;
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
    return `${comment}  ${key}${required.includes(name) ? "" : "?"}: ${typeOf(schema)};\n`;
  });
  return `{\n${fields.join("")}}`;
}

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1) ?? "unknown";
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const variants = schema.anyOf ?? schema.oneOf;
  if (variants !== undefined) return variants.map(typeOf).join(" | ");
  const { type } = schema;
  if (Array.isArray(type)) return type.map((each: string) => typeOf({ ...schema, type: each })).join(" | ");
  switch (type) {
    case "string":
    case "boolean":
    case "null":
      return type;
    case "integer":
    case "number":
      return "number";
    case "array":
      return `(${typeOf(schema.items ?? {})})[]`;
    case "object":
      if (schema.properties !== undefined) return objectType(schema);
      return `Record<string, ${typeof schema.additionalProperties === "object" ? typeOf(schema.additionalProperties) : "unknown"}>`;
    default:
      return "unknown";
  }
}

if (import.meta.main) {
  const root = join(import.meta.dir, "..");
  const files = await consoleTypes();
  for (const [file, text] of files) await Bun.write(join(root, file), text);
  Bun.spawnSync([process.execPath, "fmt", ...[...files.keys()].map((file) => join(root, file))]);
  // Timers of the stopped listener would keep the process alive for a moment.
  process.exit(0);
}
