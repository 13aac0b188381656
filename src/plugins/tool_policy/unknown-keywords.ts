// Keywords in conditions that JSON Schema does not know. The standard ignores them as annotations, so a misspelled one is a hole.
import { KEYWORDS } from "./schema-keywords.ts";
import { isObject } from "./schema-values.ts";

/** Keywords whose value is a schema or a list of schemas. */
const SCHEMAS = new Set([
  ...["additionalProperties", "propertyNames", "prefixItems", "items", "contains"],
  ...["anyOf", "allOf", "oneOf", "not", "if", "then", "else"],
]);
/** Keywords whose value is an object of schemas. */
const MAPS = new Set(["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"]);

/** Returns the paths of the keywords in a valid condition, such as `properties.a.pattren`. */
export function unknownKeywords(schema: unknown, path = ""): string[] {
  if (!isObject(schema)) return [];
  return Object.entries(schema).flatMap(([keyword, value]) => {
    const at = path === "" ? keyword : `${path}.${keyword}`;
    if (keyword === "$id" || keyword.startsWith("x-")) return [];
    if (!KEYWORDS.has(keyword)) return [at];
    if (MAPS.has(keyword) && isObject(value))
      return Object.entries(value).flatMap(([name, inner]) => unknownKeywords(inner, `${at}.${name}`));
    if (!SCHEMAS.has(keyword)) return [];
    return Array.isArray(value)
      ? value.flatMap((inner, index) => unknownKeywords(inner, `${at}[${index}]`))
      : unknownKeywords(value, at);
  });
}
