// Decides about the tools, prompts and resources that MCP servers offer in lists.
import { JsonDocument, type JsonNode } from "../../sdk/index.ts";
import { UNREADABLE, type Policy } from "./policy.ts";
import { hasEqualKeys, readJson } from "./read-json.ts";

export interface DefinitionsVerdict {
  /** The first item that a rule denies; null if there is none. */
  readonly denied: string | null;
  /** The list without the items that are stripped; null if it stays as it is. */
  readonly list: string | null;
  readonly stripped: number;
}

/** The member by which clients name an item, by method of the list. */
const NAME_KEYS: Readonly<Record<string, string>> = {
  "resources/list": "uri",
  "resources/templates/list": "uriTemplate",
};

/**
 * `text` is the JSON array of a response to `method`. Without a rule for an item, `default: deny` removes it: the server offers it, and not
 * the client, which could do nothing about a rejected list.
 */
export function decideDefinitions(text: string, method: string, policy: Policy): DefinitionsVerdict {
  const json = JsonDocument.parse(Buffer.from(text));
  const key = NAME_KEYS[method] ?? "name";
  const kept: string[] = [];
  let stripped = 0;
  for (const item of json?.root.elements ?? []) {
    if (json === null) break;
    const name = json.text(item.get(key));
    const action = policy.decideListed(name, shapeOf(json, item, name));
    if (action === "deny") return { denied: name ?? "", list: null, stripped: 0 };
    if (action === "allow") kept.push(json.source(item));
    else stripped++;
  }
  return { denied: null, list: stripped === 0 ? null : `[${kept.join(",")}]`, stripped };
}

/** As conditions see an offered tool of a request. */
function shapeOf(json: JsonDocument, item: JsonNode, name: string | null): unknown {
  if (hasEqualKeys(item)) return UNREADABLE;
  const [description, schema] = ["description", "inputSchema"].map((key) => valueOf(json, item.get(key)));
  if ([description, schema].includes(UNREADABLE)) return UNREADABLE;
  return {
    name,
    ...(description !== undefined && { description }),
    ...(schema !== undefined && { schema }),
  };
}

function valueOf(json: JsonDocument, node: JsonNode | null): unknown {
  return node === null ? undefined : readJson(json.source(node));
}
