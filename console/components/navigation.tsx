// The way around: the gateway worked on, the pages, and the way out. On a phone it unfolds from the top.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { currentGatewayId, gatewayIdOf, gateways } from "../state/gateways.ts";
import { go, Link, place } from "../state/router.tsx";
import { signOut, tokenEnd } from "../state/session.ts";
import { Icon, type IconName } from "./icon.tsx";
import { Time } from "./time.tsx";

interface Entry {
  readonly title: string;
  readonly icon: IconName;
  /** Below the gateway, as in `rules`; or a path of its own, which starts with a slash. */
  readonly to: string;
}

const GROUPS: readonly (readonly [title: string, entries: readonly Entry[]])[] = [
  [
    "Watch",
    [
      { title: "Overview", icon: "overview", to: "/" },
      { title: "Live requests", icon: "requests", to: "requests" },
      { title: "Usage", icon: "usage", to: "usage" },
    ],
  ],
  [
    "Try",
    [
      { title: "Playground", icon: "playground", to: "playground" },
      { title: "Explain", icon: "explain", to: "explain" },
    ],
  ],
  [
    "Set up",
    [
      { title: "Gateways", icon: "gateways", to: "/gateways" },
      { title: "Upstreams", icon: "upstreams", to: "upstreams" },
      { title: "Services", icon: "services", to: "services" },
      { title: "Rules", icon: "rules", to: "rules" },
      { title: "API keys", icon: "keys", to: "keys" },
      { title: "Plugins", icon: "plugins", to: "plugins" },
    ],
  ],
  [
    "Keep",
    [
      { title: "History", icon: "history", to: "/history" },
      { title: "Blocks", icon: "blocks", to: "blocks" },
    ],
  ],
];

export function Navigation(): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const { path } = place.value;
  useEffect(() => setOpen(false), [path]);
  return (
    <header class={isOpen ? "side open" : "side"}>
      <div class="brand">
        <Link to="/">
          <Icon name="gateways" /> Gatehouse
        </Link>
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
      <div class="side-body" id="navigation">
        <GatewayChoice />
        <nav
          aria-label="Pages"
          onClick={(event) => {
            // Also where the link leads to the page that is open already.
            if (event.target instanceof Element && event.target.closest("a") !== null) setOpen(false);
          }}
        >
          {GROUPS.map(([title, entries]) => (
            <div key={title} class="group">
              <h2>{title}</h2>
              <ul>
                {entries.map((entry) => (
                  <NavigationEntry key={entry.title} entry={entry} path={path} />
                ))}
              </ul>
            </div>
          ))}
        </nav>
        <SessionEnd />
      </div>
    </header>
  );
}

function NavigationEntry({ entry, path }: { readonly entry: Entry; readonly path: string }): JSX.Element {
  const { title, icon, to } = entry;
  const gatewayId = currentGatewayId.value;
  const isOwn = to.startsWith("/");
  const target = isOwn ? to : gatewayId === null ? "/start" : `/gateways/${gatewayId}/${to}`;
  return (
    <li>
      <Link to={target} current={isCurrent(entry, path)}>
        <Icon name={icon} /> {title}
      </Link>
    </li>
  );
}

function isCurrent({ to }: Entry, path: string): boolean {
  const section = path.split("/")[3];
  if (to === "/") return path === "/" || section === "overview";
  if (to === "/gateways")
    return path === to || (gatewayIdOf(path) !== null && section === undefined) || path === "/gateways/new";
  if (to.startsWith("/")) return path === to || path.startsWith(`${to}/`);
  return section === to;
}

/** Another gateway: the same page of it, where there is one. */
function GatewayChoice(): JSX.Element | null {
  const known = gateways.value;
  const chosen = currentGatewayId.value;
  if (known === null || known.length === 0) return null;
  const choose = (id: string) => {
    const { path } = place.value;
    const section = gatewayIdOf(path) === null ? "overview" : path.split("/")[3];
    void go(section === undefined ? `/gateways/${id}` : `/gateways/${id}/${section}`);
  };
  return (
    <label class="gateway-choice">
      <span>Gateway</span>
      <select class="input" value={chosen ?? ""} onChange={(event) => choose(event.currentTarget.value)}>
        {known.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function SessionEnd(): JSX.Element {
  const end = tokenEnd();
  return (
    <div class="session-end">
      <button type="button" class="button quiet" onClick={() => signOut()}>
        <Icon name="out" /> Sign out
      </button>
      {end !== null && (
        <p class="hint">
          Token ends <Time at={end} />
        </p>
      )}
      <p class="hint">
        <a href="/api/docs">API reference</a>
      </p>
    </div>
  );
}
