// The tools of an MCP server as clients have seen them: their status, what has changed, and buttons that approve changes.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call, get } from "../api/client.ts";
import type { McpToolList } from "../api/types.ts";
import { confirmAction, showToast } from "../state/dialogs.ts";
import { useLoad } from "../state/load.ts";
import { Badge } from "./badge.tsx";
import { Button } from "./button.tsx";
import { Time } from "./format.tsx";
import { Empty } from "./notice.tsx";
import { Section, WhenLoaded } from "./page.tsx";
import { FieldChanges } from "./record-changes.tsx";
import { Table, type Column } from "./table.tsx";

type Tool = McpToolList["tools"][number];

const STATUSES = {
  approved: <Badge tone="good">Approved</Badge>,
  new: <Badge>New</Badge>,
  changed: <Badge tone="accent">Changed</Badge>,
  withheld: <Badge tone="bad">Withheld</Badge>,
} as const;

interface McpToolsProps {
  /** Path of the server in the Admin API. */
  readonly path: string;
  /** Called after an approval. */
  readonly onApprove: () => void;
}

export function McpTools({ path, onApprove }: McpToolsProps): JSX.Element {
  const [reloads, setReloads] = useState(0);
  const loaded = useLoad((signal) => get<McpToolList>(`${path}/tools?limit=1000`, signal), [reloads]);
  const approve = async (tool: Tool | null) => {
    const isDone = await confirmAction({
      title: tool === null ? "Approve all changed tools?" : `Approve “${tool.name}”?`,
      text: "The definitions that were seen last are offered to clients, on all nodes within a second.",
      confirm: "Approve",
      action: () =>
        tool === null
          ? call("POST", `${path}/tools/approve`)
          : call("POST", `${path}/tools/${encodeURIComponent(tool.name)}/approve`, {
              body: { hash: tool.hash },
            }),
    });
    if (!isDone) return;
    showToast("Approved.");
    setReloads(reloads + 1);
    onApprove();
  };
  return (
    <WhenLoaded loaded={loaded} what="tools">
      {({ tools }) => (
        <>
          <ChangedTools path={path} tools={tools.filter(isChanged)} approve={(tool) => void approve(tool)} />
          <Section title="Tools" description="As clients have seen them last.">
            {tools.length === 0 ? (
              <Empty title="No tools seen yet">
                They are shown after a client has listed them, unless definitions are not compared.
              </Empty>
            ) : (
              <Table label="Tools" columns={COLUMNS} rows={tools} keyOf={({ name }) => name} />
            )}
          </Section>
        </>
      )}
    </WhenLoaded>
  );
}

function isChanged({ status }: Tool): boolean {
  return status === "changed" || status === "withheld";
}

function describeWithoutDiff({ withheld_because, definition }: Tool): string {
  if (withheld_because === null || withheld_because === "changed" || definition === null)
    return "The definition is too long to be shown.";
  return describe(definition);
}

function reasonOf({ withheld_because, lookalike_of }: Tool): string | null {
  if (withheld_because === "lookalike")
    return lookalike_of === null ? "unusual characters" : `looks like ${lookalike_of}`;
  return withheld_because;
}

const COLUMNS: readonly Column<Tool>[] = [
  { title: "Name", kind: "main", cell: ({ name }) => name },
  {
    title: "Status",
    cell: (tool) => (
      <>
        {STATUSES[tool.status]} {reasonOf(tool)}
      </>
    ),
  },
  { title: "Description", cell: ({ definition }) => describe(definition) },
  { title: "First seen", cell: ({ first_seen_at }) => <Time at={first_seen_at} /> },
];

function describe(definition: Tool["definition"]): string {
  const description = definition?.["description"];
  return typeof description === "string" ? description : "none";
}

interface ChangedToolsProps {
  readonly path: string;
  readonly tools: readonly Tool[];
  /** Null approves all of them. */
  readonly approve: (tool: Tool | null) => void;
}

function ChangedTools({ path, tools, approve }: ChangedToolsProps): JSX.Element | null {
  if (tools.length === 0) return null;
  return (
    <Section
      title="Changed definitions"
      description="They differ from the approved ones, or are new. Withheld tools are not offered until they are approved. Read the definitions before you approve them: models act on them."
      actions={
        <Button operation={`POST ${path}/tools/approve`} onClick={() => approve(null)}>
          Approve all
        </Button>
      }
    >
      <ul class="record-changes" aria-label="Changed definitions">
        {tools.map((tool) => (
          <li class="card" key={tool.name}>
            <h3>
              {STATUSES[tool.status]} {tool.name} {reasonOf(tool)}
            </h3>
            <div class="diff">
              {tool.diff.length === 0 ? (
                <p class="hint">{describeWithoutDiff(tool)}</p>
              ) : (
                <FieldChanges changes={tool.diff} />
              )}
            </div>
            <div class="actions approval">
              <Button
                label={`Approve ${tool.name}`}
                operation={`POST ${path}/tools/one/approve`}
                onClick={() => approve(tool)}
              >
                Approve
              </Button>
            </div>
          </li>
        ))}
      </ul>
    </Section>
  );
}
