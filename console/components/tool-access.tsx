// What API keys may call: a table of keys and the tools of one server, and the tools of all servers for one key.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { listKeys } from "../api/resources.ts";
import type { ApiKey } from "../api/types.ts";
import { activeRevision } from "../state/connection.ts";
import { keyState } from "../state/key-state.ts";
import { useLoad } from "../state/load.ts";
import { Link } from "../state/router.tsx";
import { reasonAgainstTool, type KnownTool } from "../state/tool-access.ts";
import { loadToolData, type ToolData } from "../state/tool-data.ts";
import { Badge } from "./badge.tsx";
import { formatCount } from "./format.tsx";
import { Empty } from "./notice.tsx";
import { Section, WhenLoaded } from "./page.tsx";
import { Table, type Column } from "./table.tsx";

/** More columns or rows would not be readable. A search finds the others. */
const SHOWN_TOOLS = 20;
const SHOWN_KEYS = 50;

interface ServerAccessProps {
  readonly gateway: string;
  readonly serverId: string;
}

/** A row per active API key, and a column per tool of the server. */
export function ServerAccess({ gateway, serverId }: ServerAccessProps): JSX.Element {
  const loaded = useLoad(
    async (signal) => {
      const [data, keys] = await Promise.all([
        loadToolData(gateway, serverId, signal),
        listKeys(gateway, signal),
      ]);
      return { data, keys: keys.filter((key) => keyState(key) === "active") };
    },
    [activeRevision.value],
  );
  return (
    <Section
      title="What each key may call"
      description="By the tool lists of keys and server, the rules of the keys, and approvals. Active keys only."
    >
      <WhenLoaded loaded={loaded} what="API keys">
        {({ data, keys }) =>
          data.tools.length === 0 || keys.length === 0 ? (
            <Empty title={keys.length === 0 ? "No active API keys" : "No tools seen yet"} />
          ) : (
            <AccessTable gateway={gateway} data={data} keys={keys} />
          )
        }
      </WhenLoaded>
    </Section>
  );
}

interface AccessTableProps {
  readonly gateway: string;
  readonly data: ToolData;
  readonly keys: readonly ApiKey[];
}

function AccessTable({ gateway, data, keys }: AccessTableProps): JSX.Element {
  const [wantedKeys, setWantedKeys] = useState("");
  const [wantedTools, setWantedTools] = useState("");
  const rows = keys.filter(({ name }) => contains(name, wantedKeys));
  const tools = data.tools.filter(({ name }) => contains(name, wantedTools));
  const columns = tools.slice(0, SHOWN_TOOLS).map((tool): Column<ApiKey> => ({
    title: tool.name,
    cell: (key) => <Access reason={reasonAgainstTool(key, tool, data)} isShort />,
  }));
  return (
    <>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <SearchField label="Search keys" value={wantedKeys} onChange={setWantedKeys} />
        <SearchField label="Search tools" value={wantedTools} onChange={setWantedTools} />
        <p class="hint" role="status">
          {describeCount("key", rows.length, SHOWN_KEYS)} {describeCount("tool", tools.length, SHOWN_TOOLS)}
        </p>
      </form>
      <div class="matrix" tabIndex={0} role="region" aria-label="What each key may call">
        <Table
          label="API keys and tools"
          columns={[
            {
              title: "API key",
              kind: "main",
              cell: ({ id, name }) => <Link to={`/gateways/${gateway}/keys/${id}`}>{name}</Link>,
            },
            ...columns,
          ]}
          rows={rows.slice(0, SHOWN_KEYS)}
          keyOf={({ id }) => id}
        />
      </div>
    </>
  );
}

interface KeyToolsProps {
  readonly gateway: string;
  readonly tools: readonly string[] | null;
  readonly policies: readonly string[];
}

/** A row per tool of the gateway's MCP servers, for a key with these values, which need not be saved yet. */
export function KeyTools({ gateway, tools, policies }: KeyToolsProps): JSX.Element | null {
  const [wanted, setWanted] = useState("");
  const loaded = useLoad((signal) => loadToolData(gateway, null, signal), [activeRevision.value]);
  // Most gateways have no MCP servers, and a key for models needs no empty section.
  if (loaded.error === undefined && (loaded.data?.tools ?? []).length === 0) return null;
  const key = { tools: tools === null ? null : [...tools], policies: [...policies] };
  return (
    <Section title="Tools" description="Tools of MCP servers that clients have seen, with the values above.">
      <WhenLoaded loaded={loaded} what="tools">
        {(data) => {
          const rows = data.tools.filter(({ qualifiedName }) => contains(qualifiedName, wanted));
          const columns: readonly Column<KnownTool>[] = [
            { title: "Tool", kind: "main", cell: ({ qualifiedName }) => qualifiedName },
            {
              title: "Server",
              cell: ({ server }) => (
                <Link to={`/gateways/${gateway}/mcp-servers/${server.id}`}>{server.name}</Link>
              ),
            },
            {
              title: "May call",
              cell: (tool) => <Access reason={reasonAgainstTool(key, tool, data)} />,
            },
          ];
          return (
            <>
              <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
                <SearchField label="Search tools" value={wanted} onChange={setWanted} />
                <p class="hint" role="status">
                  {describeCount("tool", rows.length, SHOWN_KEYS)}
                  {data.leftOutCount > 0 && ` Those of ${data.leftOutCount} more servers are not shown.`}
                </p>
              </form>
              <Table
                label="Tools that the key may call"
                columns={columns}
                rows={rows.slice(0, SHOWN_KEYS)}
                keyOf={({ server, name }) => `${server.id} ${name}`}
              />
            </>
          );
        }}
      </WhenLoaded>
    </Section>
  );
}

interface AccessProps {
  /** Null: allowed. */
  readonly reason: string | null;
  /** Whether the reason is shown on hover and to screen readers only. */
  readonly isShort?: boolean;
}

function Access({ reason, isShort = false }: AccessProps): JSX.Element {
  if (reason === null) return <Badge tone="good">Yes</Badge>;
  return (
    <span title={reason}>
      <Badge>No</Badge> <span class={isShort ? "visually-hidden" : "hint"}>{reason}</span>
    </span>
  );
}

interface SearchFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function SearchField({ label, value, onChange }: SearchFieldProps): JSX.Element {
  return (
    <label class="filter">
      <span>{label}</span>
      <input
        class="input"
        type="search"
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}

function contains(name: string, wanted: string): boolean {
  return name.toLowerCase().includes(wanted.trim().toLowerCase());
}

function describeCount(what: string, count: number, shown: number): string {
  const all = `${formatCount(count)} ${what}${count === 1 ? "" : "s"}`;
  return count > shown ? `The first ${shown} of ${all}; search to find the others.` : `${all}.`;
}
