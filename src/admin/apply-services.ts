// Writes the upstreams, MCP servers and services of a document.
import { mcpServerForm, namesById, serviceForm, upstreamForm } from "../model/document-export.ts";
import type { DocumentGateway } from "../model/document.ts";
import type { Gateway } from "../model/gateway.ts";
import type { McpServer, McpServerFields } from "../model/mcp-server.ts";
import { hideOwnSecrets, hideSecrets } from "../model/record-diff.ts";
import { HIDDEN, maskSecret } from "../model/secret-mask.ts";
import type { Service } from "../model/service.ts";
import { mapSecrets, secretAt } from "../model/target-secrets.ts";
import type { Upstream } from "../model/upstream.ts";
import type { GatewayParts } from "../kinds/kind.ts";
import { findByName, idOfName } from "./document-matching.ts";
import { withTargetIds } from "./document-targets.ts";
import type { DocumentWriter } from "./document-writer.ts";
import { newChild } from "./record-fields.ts";
import { toStoredMcpServer } from "./stored-mcp-server.ts";
import { toStoredTargets } from "./stored-targets.ts";

interface ServiceScope {
  readonly gateway: Pick<Gateway, "id" | "name">;
  readonly wanted: Pick<DocumentGateway, "upstreams" | "mcp_servers" | "services">;
  /** Path of the gateway in the document. */
  readonly place: string;
  readonly before: Pick<GatewayParts, "mcp_servers" | "services" | "upstreams"> | null;
}

export async function putUpstreams(
  writer: DocumentWriter,
  { gateway, wanted, place, before }: ServiceScope,
): Promise<Upstream[]> {
  const stored: Upstream[] = [];
  for (const [index, upstream] of wanted.upstreams.entries()) {
    const at = `${place}.upstreams[${index}]`;
    const known = findByName(before?.upstreams ?? [], upstream.name, "upstreams", `${at}.name`);
    const sent = withTargetIds(upstream.targets, known?.targets ?? []);
    stored.push(
      await writer.put({
        kind: "upstreams",
        gateway: gateway.name,
        name: upstream.name,
        place: at,
        before: known,
        toForm: (record) => hideSecrets(upstreamForm(record)),
        build: (base) => newChild(base, gateway.id, { ...upstream, targets: toStoredTargets(sent, known) }),
      }),
    );
  }
  return stored;
}

export async function putMcpServers(
  writer: DocumentWriter,
  { gateway, wanted, place, before }: ServiceScope,
): Promise<McpServer[]> {
  const stored: McpServer[] = [];
  for (const [index, server] of wanted.mcp_servers.entries()) {
    const at = `${place}.mcp_servers[${index}]`;
    const known = findByName(before?.mcp_servers ?? [], server.name, "MCP servers", `${at}.name`);
    const sent = known === null ? server : withMasks(server, known);
    stored.push(
      await writer.put({
        kind: "mcp_servers",
        gateway: gateway.name,
        name: server.name,
        place: at,
        before: known,
        toForm: (record) => hideOwnSecrets(mcpServerForm(record)),
        build: (base) => newChild(base, gateway.id, toStoredMcpServer(sent, known)),
      }),
    );
  }
  return stored;
}

/** The export writes HIDDEN if the mask contains a brace. It refers to the stored secret, too. */
function withMasks(server: McpServerFields, known: McpServer): McpServerFields {
  const secrets = mapSecrets(server, (value, place) => {
    const secret = value === HIDDEN ? secretAt(known, place) : undefined;
    return secret === undefined ? value : maskSecret(secret);
  });
  return { ...server, ...secrets };
}

/** `upstreams` and `servers` are those of the document. */
export async function putServices(
  writer: DocumentWriter,
  { gateway, wanted, place, before }: ServiceScope,
  upstreams: readonly Upstream[],
  servers: readonly McpServer[],
): Promise<Service[]> {
  const stored: Service[] = [];
  const allUpstreams = namesById([...upstreams, ...(before?.upstreams ?? [])]);
  const allServers = namesById([...servers, ...(before?.mcp_servers ?? [])]);
  for (const [index, { upstream, mcp_servers, ...service }] of wanted.services.entries()) {
    const at = `${place}.services[${index}]`;
    const upstream_id = upstream === null ? null : idOfName(upstreams, upstream);
    const mcp_server_ids = mcp_servers.map((name) => idOfName(servers, name));
    stored.push(
      await writer.put({
        kind: "services",
        gateway: gateway.name,
        name: service.name,
        place: at,
        before: findByName(before?.services ?? [], service.name, "services", `${at}.name`),
        toForm: (record) => serviceForm(record, allUpstreams, allServers),
        build: (base) => newChild(base, gateway.id, { ...service, upstream_id, mcp_server_ids }),
      }),
    );
  }
  return stored;
}
