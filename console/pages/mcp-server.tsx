// Page of one MCP server: create, edit, delete, and the approval of its tools.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ApiResponse } from "../api/client.ts";
import { childPath, readChild, readCopied } from "../api/resources.ts";
import type { McpServer } from "../api/types.ts";
import { LinkButton } from "../components/button.tsx";
import { McpTools } from "../components/mcp-tools.tsx";
import { Notice } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { ServerAccess } from "../components/tool-access.tsx";
import { ChildForm } from "../forms/child-form.tsx";
import { MapField, StringListField } from "../forms/collections.tsx";
import { CredentialFields } from "../forms/credential-fields.tsx";
import type { EditorProps } from "../forms/form-host.ts";
import { CheckboxField, ChoiceField, NumberField, TextField } from "../forms/inputs.tsx";
import { copyOf, hasSecrets } from "../state/copy.ts";
import { useLoad } from "../state/load.ts";
import type { RoutedPageProps } from "../state/router.tsx";
import { useStoredForm } from "../state/stored-form.ts";

const PINS = [
  { value: "off", label: "Do not compare definitions" },
  { value: "warn", label: "Report it" },
  { value: "hold", label: "Withhold the tool until it is approved" },
];

function useServer(gateway: string, id: string) {
  return useLoad(async (signal) => {
    const [before, copied] = await Promise.all([
      readChild(gateway, "mcp-servers", id, signal),
      readCopied(gateway, "mcp-servers", id, signal),
    ]);
    return { before, copied };
  }, []);
}

/** The form of a stored server, without a page. */
export function McpServerEditor({ gateway, id }: EditorProps): JSX.Element {
  return (
    <WhenLoaded loaded={useServer(gateway, id)} what="MCP server">
      {(data) => <McpServerForm gateway={gateway} {...data} />}
    </WhenLoaded>
  );
}

export function McpServerPage({ parameters }: RoutedPageProps): JSX.Element {
  const { gateway = "", id = "new" } = parameters;
  const [approvals, setApprovals] = useState(0);
  const loaded = useServer(gateway, id);
  return (
    <Page
      title={id === "new" ? "New MCP server" : (loaded.data?.before?.data.name ?? "MCP server")}
      back={{ to: `/gateways/${gateway}/mcp-servers`, label: "MCP servers" }}
      actions={
        id === "new" ? undefined : (
          <LinkButton to={`/gateways/${gateway}/tool-playground?server=${id}`} icon="playground">
            Try its tools
          </LinkButton>
        )
      }
    >
      <WhenLoaded loaded={loaded} what="MCP server">
        {({ before, copied }) => (
          <>
            <McpServerForm gateway={gateway} before={before} copied={copied} />
            {before !== null && (
              <>
                <McpTools
                  path={childPath(gateway, "mcp-servers", before.data)}
                  onApprove={() => setApprovals(approvals + 1)}
                />
                <ServerAccess key={approvals} gateway={gateway} serverId={before.data.id} />
              </>
            )}
          </>
        )}
      </WhenLoaded>
    </Page>
  );
}

/** Names have no spaces and at most 63 characters. */
function copyOfServer(server: McpServer): McpServer {
  return { ...copyOf(server, server.name), name: `${server.name.slice(0, 58)}-copy` };
}

function toValue(server: McpServer | undefined) {
  return {
    name: server?.name ?? "",
    url: server?.url ?? "",
    credentials: server?.credentials ?? null,
    headers: server?.headers ?? {},
    forward_authorization: server?.forward_authorization ?? false,
    // An empty list of allowed tools allows none, so that it is another value than null.
    tools: { allow: server?.tools.allow ?? null, deny: server?.tools.deny ?? [] },
    prefix: server?.prefix ?? null,
    pin: server?.pin ?? "warn",
    timeouts: server?.timeouts ?? { connect: 5000, list: 5000, call: 120_000 },
    enabled: server?.enabled ?? true,
  };
}

interface McpServerFormProps {
  readonly gateway: string;
  readonly before: ApiResponse<McpServer> | null;
  /** The server that a new one begins as a copy of. */
  readonly copied: McpServer | null;
}

function McpServerForm({ gateway, before, copied }: McpServerFormProps): JSX.Element {
  const record = before?.data;
  const template = copied === null ? undefined : copyOfServer(copied);
  const form = useStoredForm<ReturnType<typeof toValue>, McpServer>({
    before,
    path: childPath(gateway, "mcp-servers", record),
    toValue: (server) => toValue(server ?? template),
  });
  return (
    <ChildForm
      gateway={gateway}
      collection="mcp-servers"
      kind="MCP server"
      form={form}
      storedName={record?.name}
      name={form.value.name}
    >
      {copied !== null && hasSecrets(copied) && (
        <Notice kind="info">
          <p>Credentials are not copied. Enter them again.</p>
        </Notice>
      )}
      <div class="card fields">
        <TextField
          form={form}
          path="name"
          label="Name"
          isRequired
          placeholder="tickets"
          hint="Lower case letters, digits, and -."
        />
        <TextField
          form={form}
          path="url"
          label="URL"
          isRequired
          isMono
          placeholder="https://…/mcp"
          hint="Its Streamable HTTP endpoint."
        />
        <CredentialFields
          form={form}
          path="credentials"
          place={{ provider: undefined }}
          without="Without one, only the headers below are sent."
        />
        <MapField form={form} path="headers" label="Headers" hint="Sent with each request." />
        <CheckboxField
          form={form}
          path="forward_authorization"
          label={`Clients may send their own credential in X-MCP-${form.value.name === "" ? "<name>" : form.value.name}-Authorization`}
        />
        <ToolFields form={form} />
        <TextField
          form={form}
          path="prefix"
          label="Prefix"
          isMono
          emptyValue={null}
          placeholder={form.value.name}
          hint="Tools are named prefix__name where a service has several servers. Empty: the name."
        />
        <ChoiceField form={form} path="pin" label="If the definition of a tool changes" choices={PINS} />
        <div class="fields inline narrow">
          <NumberField form={form} path="timeouts.connect" label="Connect timeout (ms)" />
          <NumberField form={form} path="timeouts.list" label="List timeout (ms)" />
          <NumberField form={form} path="timeouts.call" label="Call timeout (ms)" />
        </div>
        <CheckboxField form={form} path="enabled" label="Enabled" />
      </div>
    </ChildForm>
  );
}

type ServerForm = ReturnType<typeof useStoredForm<ReturnType<typeof toValue>, McpServer>>;

function ToolFields({ form }: { readonly form: ServerForm }): JSX.Element {
  const isListed = form.value.tools.allow !== null;
  const select = (_: string, next: unknown) => form.set("tools.allow", next === "all" ? null : []);
  return (
    <>
      <ChoiceField
        form={{ ...form, get: () => (isListed ? "listed" : "all"), set: select }}
        path="tools.access"
        label="Tools"
        choices={[
          { value: "all", label: "All tools of the server" },
          { value: "listed", label: "Only those that are listed" },
        ]}
      />
      {isListed && (
        <StringListField
          form={form}
          path="tools.allow"
          label="Allowed tools"
          placeholder="search_*"
          hint="One pattern per line; * matches any characters. Empty: none."
        />
      )}
      <StringListField
        form={form}
        path="tools.deny"
        label="Denied tools"
        placeholder="delete_*"
        hint="One pattern per line. They win over allowed ones."
      />
    </>
  );
}
