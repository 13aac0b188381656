// Page of one revision: who changed what.
import type { JSX } from "preact";
import { get } from "../api/client.ts";
import type { RevisionWithDiff } from "../api/types.ts";
import { LinkButton } from "../components/button.tsx";
import { Time } from "../components/format.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { RecordChanges } from "../components/record-changes.tsx";
import { activeRevision } from "../state/connection.ts";
import { useLoad } from "../state/load.ts";
import type { RoutedPageProps } from "../state/router.tsx";
import { ACTIONS, authorOf, describeRevision } from "./history.tsx";

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
            <Time at={loaded.data.created_at} />, by {authorOf(loaded.data)}
            {loaded.data.reason !== null && `: ${loaded.data.reason}`}
          </>
        )
      }
      actions={
        String(activeRevision.value) !== id && (
          <LinkButton to={`/history/${id}/rollback`} icon="history">
            Roll back to this revision
          </LinkButton>
        )
      }
    >
      <WhenLoaded loaded={loaded} what="revision">
        {({ records, diff_left_out = 0 }) =>
          records.length === 0 ? (
            <Empty title="No changes" />
          ) : (
            <Section title="Changes" description="Credentials are masked.">
              <RecordChanges records={records} leftOut={diff_left_out} />
            </Section>
          )
        }
      </WhenLoaded>
    </Page>
  );
}
