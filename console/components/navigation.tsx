// Sidebar with the gateway select, the page links, and sign-out. On a phone it opens from the top.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { currentGatewayId, gatewayIdIn, gatewayName } from "../state/gateways.ts";
import { mayLeave, Link, route } from "../state/router.tsx";
import { mayCall } from "../state/administrator.ts";
import { me, signOut } from "../state/session.ts";
import { Appearance } from "./appearance.tsx";
import { Badge } from "./badge.tsx";
import { GatewaySwitcher } from "./gateway-switcher.tsx";
import { Icon, type IconName } from "./icon.tsx";
import { Time } from "./format.tsx";

interface NavigationItem {
  readonly title: string;
  readonly icon: IconName;
  /** Path below the current gateway, such as `rules`, or an absolute path, such as `/history`. */
  readonly to: string;
  /** Operation of the page. The link is hidden if the administrator may not call it. */
  readonly operation?: string;
}

const GROUPS: readonly (readonly [title: string, items: readonly NavigationItem[]])[] = [
  [
    "Monitor",
    [
      { title: "Overview", icon: "overview", to: "/" },
      { title: "Request log", icon: "requests", to: "requests" },
      { title: "Usage", icon: "usage", to: "usage" },
    ],
  ],
  [
    "Test",
    [
      { title: "Playground", icon: "playground", to: "playground" },
      { title: "Explain", icon: "explain", to: "explain" },
    ],
  ],
  [
    "Configure",
    [
      { title: "Gateways", icon: "gateways", to: "/gateways" },
      { title: "Upstreams", icon: "upstreams", to: "upstreams" },
      { title: "Services", icon: "services", to: "services" },
      { title: "Rules", icon: "rules", to: "rules" },
      { title: "API keys", icon: "keys", to: "keys" },
      { title: "Budgets", icon: "budgets", to: "budgets" },
      { title: "Prices", icon: "prices", to: "prices" },
      { title: "Plugins", icon: "plugins", to: "plugins" },
    ],
  ],
  [
    "Operate",
    [
      { title: "History", icon: "history", to: "/history" },
      { title: "Blocks", icon: "blocks", to: "blocks" },
      {
        title: "Administrators",
        icon: "administrators",
        to: "/administrators",
        operation: "GET /iam/admin-tokens",
      },
      { title: "Audit", icon: "audit", to: "/audit", operation: "GET /audit" },
    ],
  ],
];

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
          aria-expanded={isOpen}
          aria-controls="navigation"
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name={isOpen ? "close" : "menu"} /> Menu
        </button>
      </div>
      <div class="sidebar-body" id="navigation">
        <GatewaySwitcher />
        <nav
          aria-label="Pages"
          onClick={(event) => {
            // Close the menu also if the link leads to the current page.
            if (event.target instanceof Element && event.target.closest("a") !== null) setOpen(false);
          }}
        >
          {GROUPS.map(([title, items]) => (
            <div key={title} class="nav-group">
              <h2>{title}</h2>
              <ul>
                {items
                  .filter(({ operation }) => operation === undefined || mayCall(operation))
                  .map((item) => (
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

function NavigationLink({
  item,
  path,
}: {
  readonly item: NavigationItem;
  readonly path: string;
}): JSX.Element {
  const { title, icon, to } = item;
  const gatewayId = currentGatewayId.value;
  const isAbsolute = to.startsWith("/");
  const target = isAbsolute ? to : gatewayId === null ? "/start" : `/gateways/${gatewayId}/${to}`;
  return (
    <li>
      <Link to={target} current={isCurrent(item, path)}>
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
