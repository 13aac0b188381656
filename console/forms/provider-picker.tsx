// Picker of a provider, in groups. The providers, their groups and what a choice fills in come from the Admin API.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Provider } from "../api/types.ts";
import { Monogram } from "../components/monogram.tsx";

const GROUPS: readonly { readonly group: Provider["group"]; readonly label: string }[] = [
  { group: "model_maker", label: "Model makers" },
  { group: "cloud", label: "Clouds" },
  { group: "aggregator", label: "Aggregators and inference hosts" },
  { group: "self_hosted", label: "Self-hosted" },
];

interface ProviderPickerProps {
  readonly providers: readonly Provider[];
  /** Name of the chosen provider; empty if none is chosen. */
  readonly chosen: string;
  readonly onChoose: (provider: Provider) => void;
  /** Whether the providers are shown although one is chosen. */
  readonly isInitiallyOpen?: boolean;
  /** Absent: only known providers may be chosen. */
  readonly onCustom?: () => void;
}

export function ProviderPicker(props: ProviderPickerProps): JSX.Element {
  const { providers, chosen, onChoose, onCustom } = props;
  const [isOpen, setOpen] = useState(chosen === "" || props.isInitiallyOpen === true);
  const [isReopened, setReopened] = useState(false);
  const picker = useRef<HTMLDivElement>(null);
  // The button that had the focus is gone.
  useEffect(() => {
    if (!isReopened) return;
    const find = (selector: string) => picker.current?.querySelector<HTMLElement>(selector);
    (find("[aria-pressed=true]") ?? find(".provider-tile"))?.focus();
  }, [isReopened]);
  const provider = providers.find(({ name }) => name === chosen);
  const title = provider?.title ?? chosen;
  if (!isOpen)
    return (
      <div class="chosen-provider">
        {title !== "" && <Monogram title={title} />}
        <strong>{title === "" ? "Custom provider" : title}</strong>
        <button
          type="button"
          class="link-button"
          onClick={() => {
            setOpen(true);
            setReopened(true);
          }}
        >
          Choose another provider
        </button>
      </div>
    );
  const close = () => {
    setOpen(false);
    setReopened(false);
  };
  const choose = (next: Provider) => {
    close();
    onChoose(next);
  };
  return (
    <div ref={picker} class="provider-picker" role="group" aria-label="Choose a provider">
      {GROUPS.map(({ group, label }) => (
        <div key={group} role="group" aria-label={label}>
          <p class="group-label">{label}</p>
          <div class="provider-tiles">
            {providers
              .filter((each) => each.group === group)
              .map((each) => (
                <Tile
                  key={each.name}
                  title={each.title}
                  isChosen={each.name === chosen}
                  onClick={() => choose(each)}
                />
              ))}
          </div>
        </div>
      ))}
      {onCustom !== undefined && (
        <div role="group" aria-label="Custom">
          <p class="group-label">Custom</p>
          <div class="provider-tiles">
            <Tile
              title="Any other server"
              isChosen={false}
              onClick={() => {
                close();
                onCustom();
              }}
            />
          </div>
        </div>
      )}
    </div>
  );
}

interface TileProps {
  readonly title: string;
  readonly isChosen: boolean;
  readonly onClick: () => void;
}

function Tile({ title, isChosen, onClick }: TileProps): JSX.Element {
  return (
    <button type="button" class="provider-tile" aria-pressed={isChosen} onClick={onClick}>
      <Monogram title={title} />
      <span>{title}</span>
    </button>
  );
}
