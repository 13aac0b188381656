// One revision: what it changed, and the way back to it.
import type { JSX } from "preact";
import { call, get } from "../api/client.ts";
import type { Difference } from "../api/observed.ts";
import type { RevisionWithDiff, Rollback } from "../api/types.ts";
import { Button } from "../components/button.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { Time } from "../components/time.tsx";
import { revision as inForce } from "../state/connection.ts";
import { ask, say } from "../state/dialogs.ts";
import { loadGateways } from "../state/gateways.ts";
import { useLoad } from "../state/load.ts";
import { go, type PageParameters } from "../state/router.tsx";
import { describeRevision } from "./history.tsx";

export function RevisionPage({ parameters }: PageParameters): JSX.Element {
  const id = parameters["id"] ?? "";
  const loaded = useLoad((signal) => get<RevisionWithDiff>(`/revisions/${id}`, signal), []);
  const rollBack = async () => {
    let made: Rollback = { revision: 0, not_undone: [] };
    const isDone = await ask({
      title: `Put everything back to revision ${id}?`,
      text: "The whole configuration becomes what it was then, in one step, for all gateways. It is a new revision, so this can be undone the same way.",
      confirm: "Roll back",
      isDangerous: true,
      action: async () => {
        made = (await call<Rollback>("POST", `/revisions/${id}/rollback`)).data;
      },
    });
    if (!isDone) return;
    const isSame = made.revision === inForce.value;
    say(
      isSame
        ? `Nothing differs from revision ${id}; nothing was changed.`
        : `Rolled back to revision ${id}, as revision ${made.revision}.`,
    );
    // What was ended for safety's sake stays ended; nobody shall wonder why a key does not work again.
    for (const { name, reason } of made.not_undone) say(`The API key “${name}” stays ${reason}.`);
    inForce.value = made.revision;
    await loadGateways();
    await go("/history");
  };
  return (
    <Page
      title={`Revision ${id}`}
      back={{ to: "/history", label: "History" }}
      about={
        loaded.data !== undefined && (
          <>
            {loaded.data.action}: {describeRevision(loaded.data)}, <Time at={loaded.data.created_at} />
            {loaded.data.subject !== null && `, by ${loaded.data.subject}`}
          </>
        )
      }
      actions={
        String(inForce.value) !== id && (
          <Button icon="history" onClick={() => void rollBack()}>
            Roll back to this
          </Button>
        )
      }
    >
      <WhenLoaded
        loaded={loaded}
        what="the revision"
        missing="There is no such revision, or it is no longer kept."
      >
        {({ diff, diff_left_out = 0 }) =>
          diff.length === 0 ? (
            <Empty title="No field changed" />
          ) : (
            <Section title="What changed" about="Credentials are masked.">
              <Differences of={diff} />
              {diff_left_out > 0 && <p class="soft">… and {diff_left_out} more changes.</p>}
            </Section>
          )
        }
      </WhenLoaded>
    </Page>
  );
}

export function Differences({ of: differences }: { readonly of: readonly Difference[] }): JSX.Element {
  return (
    <ul class="differences">
      {differences.map(({ path, before, after }) => (
        <li key={path}>
          <code>{path === "" ? "the whole record" : path}</code>
          {before !== undefined && before !== null && (
            <pre class="before">
              <span class="unseen">before: </span>
              {show(before)}
            </pre>
          )}
          {after !== undefined && after !== null && (
            <pre class="after">
              <span class="unseen">after: </span>
              {show(after)}
            </pre>
          )}
        </li>
      ))}
    </ul>
  );
}

function show(value: unknown): string {
  if (typeof value === "string") return value;
  const line = JSON.stringify(value);
  return line.length <= 60 ? line : JSON.stringify(value, null, 2);
}
