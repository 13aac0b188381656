// List of clients that a rate limit blocked, with unblock actions.
import type { JSX } from "preact";
import { call, get } from "../api/client.ts";
import type { Block, BlockList } from "../api/types.ts";
import { Button, LinkButton } from "../components/button.tsx";
import { Time } from "../components/format.tsx";
import { limitTypeLabel } from "../components/labels.ts";
import { Empty } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { Table } from "../components/table.tsx";
import { confirmAction, showToast } from "../state/dialogs.ts";
import { usePoll } from "../state/load.ts";
import type { RoutedPageProps } from "../state/router.tsx";

const POLL_INTERVAL_MS = 5000;

export function BlocksPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const path = `/gateways/${encodeURIComponent(gateway)}/blocks`;
  const loaded = usePoll((signal) => get<BlockList>(`${path}?limit=1000`, signal), POLL_INTERVAL_MS, []);
  const unblock = async ({ id, type, subject }: Block) => {
    const isDone = await confirmAction({
      title: "Remove this block?",
      text: `${limitTypeLabel(type)} “${subject}” can send requests again immediately. Its count restarts at 0.`,
      confirm: "Unblock",
      action: () => call("DELETE", `${path}/${id}`),
    });
    if (!isDone) return;
    showToast("Removed the block.");
    loaded.reload();
  };
  const unblockAll = async (count: number) => {
    const isDone = await confirmAction({
      title: `Remove all ${count} blocks?`,
      text: "All blocked clients of this gateway can send requests again immediately.",
      confirm: "Unblock all",
      isDangerous: true,
      action: () => call("DELETE", path),
    });
    if (!isDone) return;
    showToast("Removed all blocks.");
    loaded.reload();
  };
  const count = loaded.data?.count ?? 0;
  return (
    <Page
      title="Blocks"
      description="Clients that exceeded a rate limit with the action “block”. They stay blocked until you unblock them or the block expires."
      actions={
        count > 1 && (
          <Button operation={`DELETE ${path}`} onClick={() => void unblockAll(count)}>
            Unblock all
          </Button>
        )
      }
    >
      <WhenLoaded loaded={loaded} what="blocks">
        {({ blocks }) =>
          blocks.length === 0 ? (
            <Empty
              title="No blocks"
              action={<LinkButton to={`/gateways/${gateway}/plugins`}>Open plugins</LinkButton>}
            >
              The rate_limiter plugin creates a block if its action is “block”.
            </Empty>
          ) : (
            <BlockTable path={path} blocks={blocks} onUnblock={(block) => void unblock(block)} />
          )
        }
      </WhenLoaded>
    </Page>
  );
}

interface BlockTableProps {
  /** API path of the list. */
  readonly path: string;
  readonly blocks: readonly Block[];
  readonly onUnblock: (block: Block) => void;
}

function BlockTable({ path, blocks, onUnblock }: BlockTableProps): JSX.Element {
  return (
    <Table
      label="Blocks"
      rows={blocks}
      keyOf={({ id }) => id}
      columns={[
        { title: "Client", kind: "main", cell: ({ subject }) => <span class="mono">{subject}</span> },
        { title: "Blocked by", cell: ({ type }) => limitTypeLabel(type) },
        { title: "Since", cell: ({ created_at }) => <Time at={created_at} /> },
        {
          title: "Expires",
          cell: ({ expires_at }) =>
            expires_at === null ? <span class="muted">Never</span> : <Time at={expires_at} />,
        },
        {
          title: "Actions",
          kind: "actions",
          cell: (block) => (
            <Button
              kind="quiet"
              operation={`DELETE ${path}/${block.id}`}
              label={`Unblock ${block.subject}`}
              onClick={() => onUnblock(block)}
            >
              Unblock
            </Button>
          ),
        },
      ]}
    />
  );
}
