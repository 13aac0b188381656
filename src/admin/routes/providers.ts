// The built-in table of providers.
import { knownProviders } from "../../formats/providers.ts";
import { listResponse, pageQuery } from "../list-query.ts";
import { addOperation, type RouteTable } from "../operation.ts";

export function addProviderRoutes(table: RouteTable): void {
  addOperation(table, {
    method: "get",
    path: "/providers",
    tag: "providers",
    summary: "List the known providers",
    query: pageQuery,
    response: {
      status: 200,
      schema: "ProviderList",
      description: "Name, base URL, wire format, and path of the chat endpoint.",
    },
    handle: ({ query }) => {
      const all = knownProviders();
      const page = all.slice(query.offset, query.offset + query.limit);
      return Promise.resolve(listResponse("providers", page, all.length, query));
    },
  });
}
