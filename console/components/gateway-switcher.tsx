// Combobox that selects a gateway by a part of its name and opens the same section of it.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get, toQueryString } from "../api/client.ts";
import type { Gateway, GatewayList } from "../api/types.ts";
import {
  currentGatewayId,
  gatewayCount,
  gatewayIdIn,
  gatewayName,
  rememberGateways,
} from "../state/gateways.ts";
import { navigate, route } from "../state/router.tsx";
import { formatCount } from "./format.tsx";

const SHOWN = 20;

export function GatewaySwitcher(): JSX.Element | null {
  const selected = currentGatewayId.value;
  /** The search text; null while the list is closed. */
  const [search, setSearch] = useState<string | null>(null);
  const [active, setActive] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const found = useFoundGateways(search);
  if (selected === null || gatewayCount.value === 0) return null;
  const isOpen = search !== null;
  const open = () => {
    if (isOpen) return;
    setSearch("");
    setActive(0);
  };
  const close = () => setSearch(null);
  const select = ({ id }: Gateway) => {
    close();
    input.current?.blur();
    openGateway(id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      if (!isOpen) open();
      else setActive(Math.max(0, Math.min(found.gateways.length - 1, active + step)));
    } else if (event.key === "Enter" && isOpen) {
      event.preventDefault();
      const gateway = found.gateways[active];
      if (gateway !== undefined) select(gateway);
    } else if (event.key === "Escape" && isOpen) {
      event.preventDefault();
      close();
    }
  };
  return (
    <div class="gateway-select">
      <label for="gateway-switcher">Gateway</label>
      <input
        ref={input}
        id="gateway-switcher"
        class="input"
        role="combobox"
        autocomplete="off"
        spellcheck={false}
        aria-expanded={isOpen}
        aria-controls="gateway-options"
        aria-autocomplete="list"
        aria-activedescendant={isOpen && found.gateways.length > 0 ? `gateway-option-${active}` : undefined}
        title={gatewayName(selected)}
        placeholder={isOpen ? "Search" : undefined}
        value={search ?? gatewayName(selected)}
        onClick={open}
        onInput={(event) => {
          setSearch(event.currentTarget.value);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
        onBlur={close}
      />
      {isOpen && (
        <div class="options">
          <ul id="gateway-options" role="listbox" aria-label="Gateways">
            {found.gateways.map((gateway, index) => (
              <li
                key={gateway.id}
                id={`gateway-option-${index}`}
                role="option"
                aria-selected={index === active}
                title={gateway.name}
                // Before the input loses the focus, which closes the list.
                onMouseDown={(event) => {
                  event.preventDefault();
                  select(gateway);
                }}
              >
                {gateway.name}
              </li>
            ))}
          </ul>
          <p class="hint" role="status">
            {found.count > found.gateways.length
              ? `${found.gateways.length} of ${formatCount(found.count)}. Type to search.`
              : found.count === 0 && !found.isLoading
                ? "No gateway matches."
                : ""}
          </p>
        </div>
      )}
    </div>
  );
}

interface FoundGateways {
  readonly gateways: readonly Gateway[];
  readonly count: number;
  readonly isLoading: boolean;
}

function useFoundGateways(search: string | null): FoundGateways {
  const [found, setFound] = useState<FoundGateways>({ gateways: [], count: 0, isLoading: true });
  useEffect(() => {
    if (search === null) return undefined;
    const abort = new AbortController();
    const path = `/gateways${toQueryString({ search: search.trim(), sort: "name", limit: SHOWN })}`;
    get<GatewayList>(path, abort.signal).then(
      ({ gateways, count }) => {
        rememberGateways(gateways);
        setFound({ gateways, count, isLoading: false });
      },
      () => undefined, // A newer search has replaced this one, or the banner reports the server as unreachable.
    );
    return () => abort.abort();
  }, [search]);
  return found;
}

function openGateway(id: string): void {
  const { path } = route.value;
  const section = gatewayIdIn(path) === null ? "overview" : path.split("/")[3];
  void navigate(section === undefined ? `/gateways/${id}` : `/gateways/${id}/${section}`);
}
