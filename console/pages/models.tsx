// List of a gateway's virtual models.
import type { JSX } from "preact";
import { collectionPath, namesOf } from "../api/resources.ts";
import type { VirtualModel } from "../api/types.ts";
import { Badge } from "../components/badge.tsx";
import type { ListColumn } from "../components/list-tools.tsx";
import { RecordListPage, UPDATED } from "../components/record-list-page.tsx";
import type { RoutedPageProps } from "../state/router.tsx";

interface Row extends VirtualModel {
  /** Names of upstreams by id. */
  readonly upstreams: ReadonlyMap<string, string>;
}

const COLUMNS: readonly ListColumn<Row>[] = [
  { title: "Aliases", cell: ({ aliases }) => aliases.join(", ") },
  {
    title: "Targets",
    cell: ({ targets, upstreams }) =>
      targets
        .map(({ upstream, model }) =>
          [upstreams.get(upstream) ?? upstream, ...(model === null ? [] : [model])].join(": "),
        )
        .join(", "),
  },
  { title: "Strategy", cell: ({ strategy }) => <Badge>{strategy}</Badge> },
  { title: "Fallback", cell: ({ fallback }) => fallback.join(", ") },
  {
    title: "Listed",
    cell: ({ visible }) => (visible ? <Badge tone="good">Listed</Badge> : <Badge>Hidden</Badge>),
  },
  UPDATED,
];

export function ModelsPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  return (
    <RecordListPage<VirtualModel, Row>
      title="Virtual models"
      description="A virtual model is a name that clients request, and the upstreams and models that serve it."
      singular="virtual model"
      base={`/gateways/${gateway}/models`}
      path={collectionPath(gateway, "models")}
      field="models"
      isMono
      complete={async (models, signal) => {
        const ids = models.flatMap(({ targets }) => targets.map(({ upstream }) => upstream));
        const upstreams = await namesOf(gateway, "upstreams", ids, signal);
        return models.map((model) => ({ ...model, upstreams }));
      }}
      columns={COLUMNS}
      removal={{
        text: "Requests for their names are no longer routed by them. One that is the fallback of another is not deleted. You can restore them by rolling back to an earlier revision.",
      }}
      empty="Give clients one name, such as “assistant”, and decide here which models serve it."
    />
  );
}
