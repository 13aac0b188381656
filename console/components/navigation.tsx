// Sidebar with the gateway select, the page links, and sign-out. On a phone it opens from the top.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { currentGatewayId, gatewayIdIn, gatewayName } from "../state/gateways.ts";
import { mayLeave, Link, route } from "../state/router.tsx";
import { me, signOut } from "../state/session.ts";
import { Appearance } from "./appearance.tsx";
import { Badge } from "./badge.tsx";
import { GatewaySwitcher } from "./gateway-switcher.tsx";
import { Icon } from "./icon.tsx";
import { Time } from "./format.tsx";
import { navigationGroups, targetOf, type NavigationItem } from "../state/navigation-items.ts";
import { isPaletteOpen } from "../state/palette.ts";

const IS_MAC = navigator.userAgent.includes("Mac OS");

export function Navigation(): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const { path } = route.value;
  useEffect(() => setOpen(false), [path]);
  return (
    <header class={isOpen ? "sidebar open" : "sidebar"}>
      <div class="brand">
        <Link to="/">
          <Icon name="gateways" /> Gatehouse
        </Link>
        {currentGatewayId.value !== null && (
          <span class="phone-gateway">{gatewayName(currentGatewayId.value)}</span>
        )}
        <button
          type="button"
          class="button quiet menu"
          aria-label="Search everything"
          onClick={() => (isPaletteOpen.value = true)}
        >
          <Icon name="search" />
        </button>
        <button
          type="button"
          class="button quiet menu"
          aria-expanded={isOpen}
          aria-controls="navigation"
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name={isOpen ? "close" : "menu"} /> Menu
        </button>
      </div>
      <div class="sidebar-body" id="navigation">
        <PaletteButton />
        <GatewaySwitcher />
        <nav
          aria-label="Pages"
          onClick={(event) => {
            // Close the menu also if the link leads to the current page.
            if (event.target instanceof Element && event.target.closest("a") !== null) setOpen(false);
          }}
        >
          {navigationGroups().map(([title, items]) => (
            <div key={title} class="nav-group">
              <h2>{title}</h2>
              <ul>
                {items.map((item) => (
                  <NavigationLink key={item.title} item={item} path={path} />
                ))}
              </ul>
            </div>
          ))}
        </nav>
        <Session />
      </div>
    </header>
  );
}

function PaletteButton(): JSX.Element {
  return (
    <button type="button" class="palette-button" onClick={() => (isPaletteOpen.value = true)}>
      <Icon name="search" /> Search <kbd>{IS_MAC ? "⌘ K" : "Ctrl K"}</kbd>
    </button>
  );
}

function NavigationLink({
  item,
  path,
}: {
  readonly item: NavigationItem;
  readonly path: string;
}): JSX.Element {
  const { title, icon } = item;
  return (
    <li>
      <Link to={targetOf(item)} current={isCurrent(item, path)}>
        <Icon name={icon} /> {title}
      </Link>
    </li>
  );
}

function isCurrent({ to }: NavigationItem, path: string): boolean {
  const section = path.split("/")[3];
  if (to === "/") return path === "/" || section === "overview";
  if (to === "/gateways")
    return path === to || (gatewayIdIn(path) !== null && section === undefined) || path === "/gateways/new";
  if (to.startsWith("/")) return path === to || path.startsWith(`${to}/`);
  return section === to;
}

function Session(): JSX.Element {
  const administrator = me.value;
  return (
    <div class="session">
      {administrator !== null && (
        <div class="who">
          <p class="who-name" title={administrator.actor.name}>
            {administrator.actor.name}
          </p>
          <p class="hint">
            <Badge>{administrator.role}</Badge> {describeGateways(administrator.gateways)}
          </p>
          {administrator.expires_at !== null && (
            <p class="hint">
              Until <Time at={administrator.expires_at} />
            </p>
          )}
        </div>
      )}
      <Appearance />
      <button
        type="button"
        class="button quiet"
        onClick={() => void mayLeave().then((isLeaving) => isLeaving && signOut())}
      >
        <Icon name="out" /> Sign out
      </button>
      <p class="hint">
        <a href="/api/docs">API reference</a>
      </p>
    </div>
  );
}

function describeGateways(ids: readonly string[] | null): string {
  if (ids === null) return "all gateways";
  const [id = ""] = ids;
  return ids.length === 1 ? gatewayName(id) : `${ids.length} gateways`;
}
