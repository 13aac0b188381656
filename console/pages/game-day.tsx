// Form of one game day: create, edit, delete.
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { ApiResponse } from "../api/client.ts";
import { childPath, listChildren, listKeys, readChild, readCopied } from "../api/resources.ts";
import type { GameDay } from "../api/types.ts";
import { ruleLabel } from "../components/labels.ts";
import { Forbidden, Page, WhenLoaded } from "../components/page.tsx";
import { ChildForm } from "../forms/child-form.tsx";
import { GameDayFields, type GameDayChoices } from "../forms/game-day-fields.tsx";
import { reasonAgainst } from "../state/administrator.ts";
import { toGameDayDraft } from "../state/game-day.ts";
import { useLoad } from "../state/load.ts";
import type { RoutedPageProps } from "../state/router.tsx";
import { useStoredForm } from "../state/stored-form.ts";

export function GameDayPage({ parameters }: RoutedPageProps): JSX.Element {
  const { gateway = "", id = "new" } = parameters;
  const reason = reasonAgainst(`GET /gateways/${gateway}/game-days`);
  return (
    <Page
      title={id === "new" ? "New game day" : "Game day"}
      back={{ to: `/gateways/${gateway}/game-days`, label: "Game days" }}
    >
      {reason === null ? <LoadedForm gateway={gateway} id={id} /> : <Forbidden reason={reason} />}
    </Page>
  );
}

function LoadedForm({ gateway, id }: { readonly gateway: string; readonly id: string }): JSX.Element {
  const loaded = useLoad(async (signal) => {
    const [before, copied, rules, keys, upstreams] = await Promise.all([
      readChild(gateway, "game-days", id, signal),
      readCopied(gateway, "game-days", id, signal),
      listChildren(gateway, "rules", signal),
      listKeys(gateway, signal),
      listChildren(gateway, "upstreams", signal),
    ]);
    const choices = {
      rules: rules.map((rule) => ({ value: rule.id, label: ruleLabel(rule) })),
      keys: keys.filter(({ active }) => active).map((key) => ({ value: key.id, label: key.name })),
      targets: upstreams.flatMap(({ name, targets }) =>
        targets.flatMap(({ id: value, provider }) =>
          value === undefined ? [] : { value, label: `${name}: ${provider}` },
        ),
      ),
    };
    return { before, copied, choices };
  }, []);
  return (
    <WhenLoaded loaded={loaded} what="game day">
      {(data) => <GameDayForm gateway={gateway} {...data} />}
    </WhenLoaded>
  );
}

interface GameDayFormProps {
  readonly gateway: string;
  readonly before: ApiResponse<GameDay> | null;
  /** The game day that a new one begins as a copy of. */
  readonly copied: GameDay | null;
  readonly choices: GameDayChoices;
}

function GameDayForm({ gateway, before, copied, choices }: GameDayFormProps): JSX.Element {
  const record = before?.data;
  const { rules, keys, targets } = choices;
  // The end of a new game day must not change with every rendering.
  const openedAt = useMemo(() => Date.now(), []);
  const form = useStoredForm({
    before,
    path: childPath(gateway, "game-days", record),
    toValue: (stored) => toGameDayDraft(stored, copied, openedAt),
  });
  return (
    <ChildForm
      gateway={gateway}
      collection="game-days"
      kind="game day"
      form={form}
      nameOf={(id) => [...rules, ...keys, ...targets].find(({ value }) => value === id)?.label}
      storedName={record?.name}
      name={form.value.name}
    >
      <GameDayFields form={form} choices={choices} />
    </ChildForm>
  );
}
