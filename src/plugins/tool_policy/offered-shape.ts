// An offered tool as conditions see it, in every format: `name`, `description`, `schema`, and `settings` of hosted tools.
import { foldCase, type JsonDocument, type JsonNode } from "../../sdk/index.ts";
import { UNREADABLE } from "./policy.ts";
import { hasEqualKeys, readJson } from "./read-json.ts";

/** Objects within a tool that have its name. */
const WRAPPERS = new Set(["function", "custom"]);
/** In lower case: Gemini accepts both of its own fields in either spelling. */
const SCHEMA_KEYS = new Set(["parameters", "input_schema", "parametersjsonschema", "parameters_json_schema"]);
/** Types of tools that the client runs. */
const CLIENT_TYPES = new Set(["function", "custom"]);
const GEMINI_TYPES = new Set(["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"]);

/** Returns the members of an object with their keys in lower case: some servers ignore case. */
export function membersOf(node: JsonNode): [key: string, child: JsonNode][] {
  if (node.type !== "object") return [];
  return node.children.map((child, index) => [foldCase(node.keys[index] ?? ""), child]);
}

/** Returns the tool and the objects within it in which providers look for its name. */
export function namedNodesOf(tool: JsonNode): JsonNode[] {
  return [tool, ...membersOf(tool).flatMap(([key, child]) => (WRAPPERS.has(key) ? [child] : []))];
}

/** Returns the shape of a tool by its name; UNREADABLE for a tool that servers may read in different ways. */
export function offeredShape(json: JsonDocument, tool: JsonNode): (name: string) => unknown {
  const members = offeredMembers(json, tool);
  return (name) => (members === UNREADABLE ? UNREADABLE : { name, ...members });
}

function offeredMembers(json: JsonDocument, tool: JsonNode): object | typeof UNREADABLE {
  if (hasEqualKeys(tool)) return UNREADABLE;
  const members = namedNodesOf(tool).flatMap(membersOf);
  const descriptions = members.flatMap(([key, child]) => (key === "description" ? [child] : []));
  const schemas = members.flatMap(([key, child]) => (SCHEMA_KEYS.has(key) ? [child] : []));
  if (descriptions.length > 1 || schemas.length > 1) return UNREADABLE;
  const [description, schema] = [descriptions, schemas].map(([node]) => valueOf(json, node));
  const type = membersOf(tool).find(([key]) => key === "type");
  const isHosted = type !== undefined && !CLIENT_TYPES.has(json.text(type[1]) ?? "");
  const settings = isHosted ? valueOf(json, tool) : undefined;
  if ([description, schema, settings].includes(UNREADABLE)) return UNREADABLE;
  return {
    ...(description !== undefined && { description }),
    ...(schema !== undefined && { schema: withTypesOfJsonSchema(schema) }),
    ...(settings !== undefined && { settings }),
  };
}

/** Returns the shape of a tool that is named like its field. */
export function hostedShape(json: JsonDocument, name: string, value: JsonNode): unknown {
  const settings = valueOf(json, value);
  return settings === UNREADABLE ? UNREADABLE : { name, settings };
}

function valueOf(json: JsonDocument, node: JsonNode | undefined): unknown {
  return node === undefined ? undefined : readJson(json.source(node));
}

/** Gemini writes `OBJECT` for `object`. */
function withTypesOfJsonSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withTypesOfJsonSchema);
  if (typeof schema !== "object" || schema === null || Object.getPrototypeOf(schema) !== Object.prototype)
    return schema;
  const members = Object.entries(schema).map(([key, value]: [string, unknown]) => {
    const isType = key === "type" && typeof value === "string" && GEMINI_TYPES.has(value);
    return [key, isType ? value.toLowerCase() : withTypesOfJsonSchema(value)];
  });
  return Object.fromEntries(members);
}
