// Page of one revision: its changes, and rollback to it.
import type { JSX } from "preact";
import { call, get } from "../api/client.ts";
import type { Difference } from "../api/item-types.ts";
import type { RevisionWithDiff, Rollback } from "../api/types.ts";
import { Button } from "../components/button.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { Time } from "../components/format.tsx";
import { activeRevision } from "../state/connection.ts";
import { confirmAction, showToast } from "../state/dialogs.ts";
import { loadGateways } from "../state/gateways.ts";
import { useLoad } from "../state/load.ts";
import { navigate, type RoutedPageProps } from "../state/router.tsx";
import { ACTIONS, describeRevision } from "./history.tsx";

export function RevisionPage({ parameters }: RoutedPageProps): JSX.Element {
  const id = parameters["id"] ?? "";
  const loaded = useLoad((signal) => get<RevisionWithDiff>(`/revisions/${id}`, signal), []);
  return (
    <Page
      title={`Revision ${id}`}
      back={{ to: "/history", label: "History" }}
      description={
        loaded.data !== undefined && (
          <>
            {ACTIONS[loaded.data.action].text} {describeRevision(loaded.data)},{" "}
            <Time at={loaded.data.created_at} />
            {loaded.data.subject !== null && `, by ${loaded.data.subject}`}
          </>
        )
      }
      actions={
        String(activeRevision.value) !== id && (
          <Button
            icon="history"
            operation={`POST /revisions/${id}/rollback`}
            onClick={() => void rollBackTo(id)}
          >
            Roll back to this revision
          </Button>
        )
      }
    >
      <WhenLoaded loaded={loaded} what="revision">
        {({ diff, diff_left_out = 0 }) =>
          diff.length === 0 ? (
            <Empty title="No changes" />
          ) : (
            <Section title="Changes" description="Credentials are masked.">
              <DiffList diff={diff} />
              {diff_left_out > 0 && <p class="muted">… and {diff_left_out} more changes.</p>}
            </Section>
          )
        }
      </WhenLoaded>
    </Page>
  );
}

/** Rolls the configuration back after confirmation and reports the result. */
async function rollBackTo(id: string): Promise<void> {
  let rollback: Rollback = { revision: 0, not_undone: [] };
  const isDone = await confirmAction({
    title: `Roll back to revision ${id}?`,
    text: "This restores the whole configuration of all gateways to that state. It creates a new revision, so you can undo it by another rollback.",
    confirm: "Roll back",
    isDangerous: true,
    action: async () => {
      rollback = (await call<Rollback>("POST", `/revisions/${id}/rollback`)).data;
    },
  });
  if (!isDone) return;
  const isSame = rollback.revision === activeRevision.value;
  showToast(
    isSame
      ? `The configuration already equals revision ${id}.`
      : `Rolled back to revision ${id} (new revision ${rollback.revision}).`,
  );
  // Revoked and rotated keys are not restored, for security. Say so, because these keys still get 401.
  for (const { name, reason } of rollback.not_undone) showToast(`API key “${name}” stays ${reason}.`);
  activeRevision.value = rollback.revision;
  await loadGateways();
  await navigate("/history");
}

function DiffList({ diff }: { readonly diff: readonly Difference[] }): JSX.Element {
  return (
    <ul class="diff">
      {diff.map(({ path, before, after }) => (
        <li key={path}>
          <code>{path === "" ? "Record" : path}</code>
          {before !== undefined && before !== null && (
            <pre class="before">
              <span class="visually-hidden">before: </span>
              {formatValue(before)}
            </pre>
          )}
          {after !== undefined && after !== null && (
            <pre class="after">
              <span class="visually-hidden">after: </span>
              {formatValue(after)}
            </pre>
          )}
        </li>
      ))}
    </ul>
  );
}

function formatValue(value: unknown): string {
  if (typeof value === "string") return value;
  const line = JSON.stringify(value);
  return line.length <= 60 ? line : JSON.stringify(value, null, 2);
}
