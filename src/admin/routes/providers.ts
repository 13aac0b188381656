// The built-in table of providers.
import { EndpointTable } from "../../formats/endpoint-table.ts";
import { knownProviders, type Provider } from "../../formats/providers.ts";
import { listResponse, pageQuery } from "../list-query.ts";
import { addOperation, type RouteTable } from "../operation.ts";

function describeProvider(provider: Provider) {
  const { chat } = EndpointTable.of(provider, null);
  const { name, base_url, apis } = provider;
  const formats = [...new Set(apis.map(({ format }) => format))];
  const operations = [...new Set(apis.flatMap((api) => api.operations))];
  return { name, base_url, format: chat.format.name, default_path: chat.path, formats, operations };
}

export function addProviderRoutes(table: RouteTable): void {
  addOperation(table, {
    method: "get",
    path: "/providers",
    tag: "providers",
    summary: "List the known providers",
    access: { role: "viewer", limited: "shared" },
    query: pageQuery,
    response: {
      status: 200,
      schema: "ProviderList",
      description:
        "Name, base URL, wire format and path of the chat endpoint, all its formats, and its operations.",
    },
    handle: ({ query }) => {
      const all = knownProviders().map(describeProvider);
      const page = all.slice(query.offset, query.offset + query.limit);
      return Promise.resolve(listResponse("providers", page, all.length, query));
    },
  });
}
