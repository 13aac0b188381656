// Who is blocked for good by a rate limit, and the way to lift it.
import type { JSX } from "preact";
import { call, get } from "../api/client.ts";
import type { Block, BlockList } from "../api/types.ts";
import { Badge } from "../components/badge.tsx";
import { Button, LinkButton } from "../components/button.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { ask, say } from "../state/dialogs.ts";
import { usePoll } from "../state/load.ts";
import type { PageParameters } from "../state/router.tsx";

const EVERY_MS = 5000;

export function BlocksPage({ parameters }: PageParameters): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const path = `/gateways/${encodeURIComponent(gateway)}/blocks`;
  const loaded = usePoll((signal) => get<BlockList>(`${path}?limit=1000`, signal), EVERY_MS, []);
  const lift = async ({ id, type, subject }: Block) => {
    const isDone = await ask({
      title: "Lift this block?",
      text: `${sayType(type)} ${subject} may call again at once, and is counted from nothing.`,
      confirm: "Lift",
      action: () => call("DELETE", `${path}/${id}`),
    });
    if (!isDone) return;
    say("Lifted the block.");
    loaded.reload();
  };
  const liftAll = async (count: number) => {
    const isDone = await ask({
      title: `Lift all ${count} blocks?`,
      text: "Everyone who is blocked here may call again at once.",
      confirm: "Lift all",
      isDangerous: true,
      action: () => call("DELETE", path),
    });
    if (!isDone) return;
    say("Lifted all blocks.");
    loaded.reload();
  };
  const count = loaded.data?.count ?? 0;
  return (
    <Page
      title="Blocks"
      about="Who exceeded a limit whose action is “block” stays out until someone lifts it here."
      actions={count > 1 && <Button onClick={() => void liftAll(count)}>Lift all</Button>}
    >
      <WhenLoaded loaded={loaded} what="blocks">
        {({ blocks }) =>
          blocks.length === 0 ? (
            <Empty
              title="Nobody is blocked"
              action={<LinkButton to={`/gateways/${gateway}/plugins`}>To the plugins</LinkButton>}
            >
              Blocks come from a rate_limiter with the action “block”.
            </Empty>
          ) : (
            <Table
              label="Blocks"
              rows={blocks}
              keyOf={({ id }) => id}
              columns={[
                { title: "Who", kind: "main", cell: ({ subject }) => <span class="mono">{subject}</span> },
                { title: "Limit", cell: ({ type }) => <Badge>{type}</Badge> },
                { title: "Since", cell: ({ created_at }) => <Time at={created_at} /> },
                {
                  title: "Actions",
                  kind: "actions",
                  cell: (block) => (
                    <Button
                      kind="quiet"
                      label={`Lift the block of ${block.subject}`}
                      onClick={() => void lift(block)}
                    >
                      Lift
                    </Button>
                  ),
                },
              ]}
            />
          )
        }
      </WhenLoaded>
    </Page>
  );
}

function sayType(type: string): string {
  return (
    { per_ip: "The address", per_user: "The user", per_fingerprint: "The client", global: "Everyone," }[
      type
    ] ?? type
  );
}
