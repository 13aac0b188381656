// List of clients that a rate limit blocked, with unblock actions.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call } from "../api/client.ts";
import { listPage } from "../api/resources.ts";
import type { Block } from "../api/types.ts";
import { Button, LinkButton } from "../components/button.tsx";
import { Time } from "../components/format.tsx";
import { limitTypeLabel } from "../components/labels.ts";
import type { ListColumn } from "../components/list-tools.tsx";
import { Empty } from "../components/notice.tsx";
import { Page } from "../components/page.tsx";
import { RecordList } from "../components/record-list.tsx";
import { confirmAction, showToast } from "../state/dialogs.ts";
import type { RoutedPageProps } from "../state/router.tsx";

const POLL_INTERVAL_MS = 5000;

export function BlocksPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const path = `/gateways/${encodeURIComponent(gateway)}/blocks`;
  /** The number of blocks that the list shows, of those that match its search. */
  const [count, setCount] = useState(0);
  const [reloads, setReloads] = useState(0);
  const unblock = async ({ id, type, subject }: Block) => {
    const isDone = await confirmAction({
      title: "Remove this block?",
      text: `${limitTypeLabel(type)} “${subject}” can send requests again immediately. Its count restarts at 0.`,
      confirm: "Unblock",
      action: () => call("DELETE", `${path}/${id}`),
    });
    if (!isDone) return;
    showToast("Removed the block.");
    setReloads(reloads + 1);
  };
  const unblockAll = async () => {
    const isDone = await confirmAction({
      title: "Remove all blocks of this gateway?",
      text: "All blocked clients of this gateway can send requests again immediately, also those that the search does not show.",
      confirm: "Unblock all",
      isDangerous: true,
      action: () => call("DELETE", path),
    });
    if (!isDone) return;
    showToast("Removed all blocks.");
    setReloads(reloads + 1);
  };
  return (
    <Page
      title="Blocks"
      description="Clients that exceeded a rate limit with the action “block”. They stay blocked until you unblock them or the block expires."
      actions={
        count > 1 && (
          <Button operation={`DELETE ${path}`} onClick={() => void unblockAll()}>
            Unblock all
          </Button>
        )
      }
    >
      <RecordList
        what="blocks"
        label="Blocks"
        intervalMs={POLL_INTERVAL_MS}
        load={async (query, signal) => {
          const page = await listPage<Block>(path, "blocks", { ...query }, signal);
          setCount(page.count);
          return page;
        }}
        dependencies={[reloads]}
        keyOf={({ id }) => id}
        nameOf={({ subject }) => subject}
        columns={columnsOf(path, (block) => void unblock(block))}
        actions={[
          {
            verb: "Unblock",
            done: "Removed",
            text: "These clients can send requests again immediately. Their counts restart at 0.",
            operation: `DELETE ${path}/one`,
            run: ({ id }) => call("DELETE", `${path}/${id}`),
          },
        ]}
        empty={
          <Empty
            title="No blocks"
            action={<LinkButton to={`/gateways/${gateway}/plugins`}>Open plugins</LinkButton>}
          >
            The rate_limiter plugin creates a block if its action is “block”.
          </Empty>
        }
      />
    </Page>
  );
}

/** `path` is the API path of the list. */
function columnsOf(path: string, onUnblock: (block: Block) => void): readonly ListColumn<Block>[] {
  return [
    {
      title: "Client",
      kind: "main",
      sort: "subject",
      cell: ({ subject }) => <span class="mono">{subject}</span>,
    },
    { title: "Blocked by", sort: "type", cell: ({ type }) => limitTypeLabel(type) },
    { title: "Since", sort: "created_at", cell: ({ created_at }) => <Time at={created_at} /> },
    {
      title: "Expires",
      sort: "expires_at",
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
  ];
}
