// Preview of a rollback, of all gateways or of one, and the rollback itself.
import type { JSX } from "preact";
import { call, toQueryString } from "../api/client.ts";
import type { Rollback } from "../api/types.ts";
import { Button, LinkButton } from "../components/button.tsx";
import { Empty, Notice } from "../components/notice.tsx";
import { Forbidden, Page, Section, WhenLoaded } from "../components/page.tsx";
import { RecordChanges } from "../components/record-changes.tsx";
import { GatewayFilter } from "../forms/gateway-filter.tsx";
import { reasonAgainst } from "../state/administrator.ts";
import { activeRevision } from "../state/connection.ts";
import { confirmAction, showToast } from "../state/dialogs.ts";
import { gatewayName, loadGateways } from "../state/gateways.ts";
import { useLoad } from "../state/load.ts";
import { navigate, replaceSearch, route, type RoutedPageProps } from "../state/router.tsx";
import { me } from "../state/session.ts";

export function RollbackPage({ parameters }: RoutedPageProps): JSX.Element {
  const id = parameters["id"] ?? "";
  const gateway = route.value.search.get("gateway") ?? me.value?.gateways?.[0] ?? "";
  const reason = gateway === "" ? reasonAgainst(`POST /revisions/${id}/rollback`) : null;
  return (
    <Page
      title={`Roll back to revision ${id}`}
      back={{ to: `/history/${id}`, label: `Revision ${id}` }}
      description="A rollback restores the configuration as of this revision. It creates a new revision, so you can undo it by another rollback."
    >
      <form class="filters" aria-label="What to roll back" onSubmit={(event) => event.preventDefault()}>
        <GatewayFilter
          label="Roll back"
          value={gateway}
          any="All gateways"
          onChange={(value) => replaceSearch({ gateway: value })}
        />
      </form>
      {reason === null ? <Preview id={id} gateway={gateway} /> : <Forbidden reason={reason} />}
    </Page>
  );
}

interface PreviewProps {
  readonly id: string;
  /** Id of the gateway; empty: all of them. */
  readonly gateway: string;
}

function Preview({ id, gateway }: PreviewProps): JSX.Element {
  const path = `/revisions/${id}/rollback`;
  const loaded = useLoad(
    async (signal) => {
      const query = toQueryString({ gateway_id: gateway, dry_run: "true" });
      const { data } = await call<Rollback>("POST", `${path}${query}`, { signal });
      // The rollback is rejected if the configuration changes after this preview.
      const etag = await call("GET", `/revisions/${data.revision}`, { signal }).then(
        (newest) => newest.etag,
        () => null,
      );
      return { ...data, etag };
    },
    [gateway, activeRevision.value],
  );
  const rollBack = async (etag: string | null) => {
    let rollback: Rollback | null = null;
    const isDone = await confirmAction({
      title: `Roll back to revision ${id}?`,
      text:
        gateway === ""
          ? "This changes the configuration of all gateways, and the prices, at once."
          : `This changes the gateway “${gatewayName(gateway)}” and everything in it. Other gateways stay as they are.`,
      confirm: "Roll back",
      isDangerous: true,
      action: async () => {
        rollback = (
          await call<Rollback>("POST", `${path}${toQueryString({ gateway_id: gateway })}`, { etag })
        ).data;
      },
    });
    if (isDone && rollback !== null) await finish(id, rollback);
  };
  return (
    <WhenLoaded loaded={loaded} what="preview">
      {({ records = [], left_out = 0, not_undone, etag }) =>
        records.length === 0 ? (
          <Empty title="Nothing to change">
            {gateway === "" ? "The configuration" : `The gateway “${gatewayName(gateway)}”`} already equals
            revision {id}.
          </Empty>
        ) : (
          <>
            {not_undone.length > 0 && (
              <Notice kind="warning">
                <p>
                  Revoked and rotated API keys are not restored:{" "}
                  {not_undone.map(({ name, reason }) => `“${name}” stays ${reason}`).join(", ")}.
                </p>
              </Notice>
            )}
            <Section
              title="What changes"
              description={`${records.length} ${records.length === 1 ? "record" : "records"}. Credentials are masked.`}
              actions={
                <>
                  <LinkButton to={`/history/${id}`}>Cancel</LinkButton>
                  <Button
                    kind="danger"
                    icon="history"
                    isBusy={loaded.isLoading}
                    onClick={() => void rollBack(etag)}
                  >
                    Roll back
                  </Button>
                </>
              }
            >
              <RecordChanges records={records} leftOut={left_out} />
            </Section>
          </>
        )
      }
    </WhenLoaded>
  );
}

async function finish(id: string, { revision, not_undone }: Rollback): Promise<void> {
  showToast(`Rolled back to revision ${id} (new revision ${revision}).`);
  for (const { name, reason } of not_undone) showToast(`API key “${name}” stays ${reason}.`);
  activeRevision.value = revision;
  await loadGateways();
  await navigate("/history");
}
