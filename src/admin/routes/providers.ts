// The built-in table of providers.
import { EndpointTable } from "../../formats/endpoint-table.ts";
import { knownProviders, type Provider } from "../../formats/providers.ts";
import { setupOf } from "../../formats/provider-setup.ts";
import { listResponse, pageQuery } from "../list-query.ts";
import { addOperation, type RouteTable } from "../operation.ts";

function describeProvider(provider: Provider) {
  const { chat } = EndpointTable.of(provider, null);
  const { name, base_url, apis } = provider;
  const formats = [...new Set(apis.map(({ format }) => format))];
  const operations = [...new Set(apis.flatMap((api) => api.operations))];
  const { title, group, base_url_example, credential_types, key_header } = setupOf(provider);
  return {
    ...{ name, title, group, base_url, base_url_example },
    ...{ format: chat.format.name, default_path: chat.path, formats, operations },
    ...{ credential_types, key_header },
  };
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
        "Name, group, base URL, wire format and path of the chat endpoint, all its formats, its operations, and its credentials.",
    },
    handle: ({ query }) => {
      const all = knownProviders().map(describeProvider);
      const page = all.slice(query.offset, query.offset + query.limit);
      return Promise.resolve(listResponse("providers", page, all.length, query));
    },
  });
}
