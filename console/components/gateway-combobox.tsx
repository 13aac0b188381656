// Combobox that finds a gateway by a part of its name. The server searches, so that it works with any number of gateways.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get, toQueryString } from "../api/client.ts";
import type { GatewayList } from "../api/types.ts";
import { rememberGateways } from "../state/gateways.ts";
import { formatCount } from "./format.tsx";

const SHOWN = 20;

interface Option {
  readonly id: string;
  readonly name: string;
}

interface GatewayComboboxProps {
  /** Id of the input, unique on the page. */
  readonly id: string;
  readonly label: ComponentChildren;
  /** The text while the list is closed. */
  readonly text: string;
  /** Label of an option without a gateway, whose id is empty. */
  readonly any?: string;
  readonly placeholder?: string;
  /** Gateways that are not offered, because they are selected already. */
  readonly without?: readonly string[];
  readonly describedBy?: string | undefined;
  readonly onSelect: (id: string) => void;
  /** The focus stays in the input after a choice, to choose another one. */
  readonly keepsFocus?: boolean;
}

export function GatewayCombobox(props: GatewayComboboxProps): JSX.Element {
  const { id, label, text, any, without = [], keepsFocus = false } = props;
  /** The search text; null while the list is closed. */
  const [search, setSearch] = useState<string | null>(null);
  const [active, setActive] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const found = useFoundGateways(search);
  const isOpen = search !== null;
  const options = [
    ...(any !== undefined && search === "" ? [{ id: "", name: any }] : []),
    ...found.gateways.filter((gateway) => !without.includes(gateway.id)),
  ];
  const open = () => {
    if (isOpen) return;
    setSearch("");
    setActive(0);
  };
  const close = () => setSearch(null);
  const select = (option: Option) => {
    close();
    if (!keepsFocus) input.current?.blur();
    props.onSelect(option.id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      if (!isOpen) open();
      else setActive(Math.max(0, Math.min(options.length - 1, active + step)));
    } else if (event.key === "Enter" && isOpen) {
      event.preventDefault();
      const option = options[active];
      if (option !== undefined) select(option);
    } else if (event.key === "Escape" && isOpen) {
      event.preventDefault();
      close();
    }
  };
  return (
    <div class="gateway-select">
      <label for={id}>{label}</label>
      <input
        ref={input}
        id={id}
        class="input"
        role="combobox"
        autocomplete="off"
        spellcheck={false}
        aria-expanded={isOpen}
        aria-controls={`${id}-options`}
        aria-autocomplete="list"
        aria-activedescendant={isOpen && options.length > 0 ? `${id}-option-${active}` : undefined}
        aria-describedby={props.describedBy}
        title={text}
        placeholder={isOpen ? "Search" : props.placeholder}
        value={search ?? text}
        onClick={open}
        onInput={(event) => {
          setSearch(event.currentTarget.value);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
        onBlur={close}
      />
      {isOpen && (
        <OptionList
          id={id}
          options={options}
          active={active}
          status={describeFound(found)}
          onSelect={select}
        />
      )}
    </div>
  );
}

interface OptionListProps {
  readonly id: string;
  readonly options: readonly Option[];
  readonly active: number;
  readonly status: string;
  readonly onSelect: (option: Option) => void;
}

function OptionList({ id, options, active, status, onSelect }: OptionListProps): JSX.Element {
  return (
    <div class="options">
      <ul id={`${id}-options`} role="listbox" aria-label="Gateways">
        {options.map((option, index) => (
          <li
            key={option.id}
            id={`${id}-option-${index}`}
            role="option"
            aria-selected={index === active}
            title={option.name}
            // Before the input loses the focus, which closes the list.
            onMouseDown={(event) => {
              event.preventDefault();
              onSelect(option);
            }}
          >
            {option.name}
          </li>
        ))}
      </ul>
      <p class="hint" role="status">
        {status}
      </p>
    </div>
  );
}

interface FoundGateways {
  /** The text that they were searched by. */
  readonly search: string;
  readonly gateways: readonly Option[];
  readonly count: number;
  readonly isLoading: boolean;
}

function describeFound({ gateways, count, isLoading }: FoundGateways): string {
  if (count > gateways.length) return `${gateways.length} of ${formatCount(count)}. Type to search.`;
  return count === 0 && !isLoading ? "No gateway matches." : "";
}

function useFoundGateways(search: string | null): FoundGateways {
  const [found, setFound] = useState<FoundGateways>({
    search: "",
    gateways: [],
    count: 0,
    isLoading: true,
  });
  useEffect(() => {
    if (search === null) return undefined;
    const abort = new AbortController();
    const path = `/gateways${toQueryString({ search: search.trim(), sort: "name", limit: SHOWN })}`;
    get<GatewayList>(path, abort.signal).then(
      ({ gateways, count }) => {
        rememberGateways(gateways);
        setFound({ search, gateways, count, isLoading: false });
      },
      () => undefined, // A newer search has replaced this one, or the banner reports the server as unreachable.
    );
    return () => abort.abort();
  }, [search]);
  if (search === null || search === found.search) return found;
  // Until the response arrives, those of the last one that match: otherwise Enter would select a gateway of another search.
  const wanted = search.trim().toLowerCase();
  return { ...found, gateways: found.gateways.filter(({ name }) => name.toLowerCase().includes(wanted)) };
}
