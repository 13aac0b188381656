// `model_routing` is null by default. Upstreams that were stored with the old default get the new one.
import type { Database } from "../database.ts";

const OLD = `"model_routing":"prefer"`;
const NEW = `"model_routing":null`;

export function unsetModelRouting(_idType: string, jsonField: Database["jsonField"]): string[] {
  const changed = `REPLACE(body, '${OLD}', '${NEW}')`;
  // A header of a target may have the same name and value: then the field is not the only occurrence, and stays.
  const isOnce = `LENGTH(body) - LENGTH(${changed}) = ${OLD.length - NEW.length}`;
  return [
    `UPDATE upstreams SET body = ${changed} WHERE ${jsonField("body", "model_routing")} = 'prefer' AND ${isOnce}`,
  ];
}
