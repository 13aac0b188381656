// The pages of the console, for the sidebar and for the command palette.
import { mayCall } from "./administrator.ts";
import { currentGatewayId } from "./gateways.ts";
import type { IconName } from "../components/icon.tsx";

export interface NavigationItem {
  readonly title: string;
  readonly icon: IconName;
  /** Path below the current gateway, such as `rules`, or an absolute path, such as `/history`. */
  readonly to: string;
  /** Operation of the page. The link is hidden if the administrator may not call it. */
  readonly operation?: string;
}

type NavigationGroup = readonly [title: string, items: readonly NavigationItem[]];

const GROUPS: readonly NavigationGroup[] = [
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
      { title: "Tool playground", icon: "plugins", to: "tool-playground" },
      { title: "Explain", icon: "explain", to: "explain" },
    ],
  ],
  [
    "Configure",
    [
      { title: "Gateways", icon: "gateways", to: "/gateways" },
      { title: "Routes", icon: "routes", to: "routes" },
      { title: "Upstreams", icon: "upstreams", to: "upstreams" },
      { title: "Virtual models", icon: "models", to: "models" },
      { title: "MCP servers", icon: "plugins", to: "mcp-servers" },
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
      { title: "Import and export", icon: "document", to: "/import-export" },
      { title: "Blocks", icon: "blocks", to: "blocks" },
      { title: "Game days", icon: "game-days", to: "game-days", operation: "GET /gateways/one/game-days" },
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

/** Groups of pages that the administrator may see. */
export function navigationGroups(): readonly NavigationGroup[] {
  return GROUPS.map(([title, items]) => [
    title,
    items.filter(({ operation }) => operation === undefined || mayCall(operation)),
  ]);
}

/** Console path of an item: that of the current gateway, or the setup page if there is none. */
export function targetOf({ to }: NavigationItem): string {
  if (to.startsWith("/")) return to;
  const gatewayId = currentGatewayId.value;
  return gatewayId === null ? "/start" : `/gateways/${gatewayId}/${to}`;
}
