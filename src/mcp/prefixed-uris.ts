// The URIs of resources in results: writes a prefix before each.
import { isParsedObject } from "../base/raw-json.ts";
import { textOf } from "./json-rpc.ts";

/** The lists of results that contain URIs: of tools, resources, and prompts. */
export const URI_FIELDS = ["content", "contents", "messages"] as const;
export type UriField = (typeof URI_FIELDS)[number];

export function withPrefixedUris(field: UriField, list: readonly unknown[], prefix: string): unknown[] {
  if (field === "contents") return list.map((each) => itemWithUri(each, prefix));
  if (field === "content") return list.map((each) => contentWithUri(each, prefix));
  return list.map((message) =>
    isParsedObject(message) ? { ...message, content: contentWithUri(message["content"], prefix) } : message,
  );
}

function contentWithUri(value: unknown, prefix: string): unknown {
  if (!isParsedObject(value)) return value;
  if (value["type"] === "resource_link") return itemWithUri(value, prefix);
  return value["type"] === "resource"
    ? { ...value, resource: itemWithUri(value["resource"], prefix) }
    : value;
}

function itemWithUri(value: unknown, prefix: string): unknown {
  if (!isParsedObject(value)) return value;
  const uri = textOf(value, "uri");
  return uri === null ? value : { ...value, uri: prefix + uri };
}
