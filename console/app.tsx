// Root component: the sign-in page, or the shell with the page of the current route.
import type { ComponentType, JSX } from "preact";
import { Banner } from "./components/banner.tsx";
import { CommandPalette } from "./components/command-palette.tsx";
import { DialogHost } from "./components/dialog-host.tsx";
import { lazyPage } from "./components/lazy-page.tsx";
import { Navigation } from "./components/navigation.tsx";
import { Loading } from "./components/notice.tsx";
import { GatewayOverviewPage } from "./pages/gateway-overview.tsx";
import { GatewayPage } from "./pages/gateway.tsx";
import { GatewaysPage } from "./pages/gateways.tsx";
import { KeyPage } from "./pages/key.tsx";
import { KeysPage } from "./pages/keys.tsx";
import { NotFoundPage } from "./pages/not-found.tsx";
import { ModelPage } from "./pages/model.tsx";
import { ModelsPage } from "./pages/models.tsx";
import { OverviewPage } from "./pages/overview.tsx";
import { PluginsPage } from "./pages/plugins.tsx";
import { RequestsPage } from "./pages/requests.tsx";
import { RulePage } from "./pages/rule.tsx";
import { RulesPage } from "./pages/rules.tsx";
import { ServicePage } from "./pages/service.tsx";
import { ServicesPage } from "./pages/services.tsx";
import { SignInDialog, SignInPage } from "./pages/sign-in.tsx";
import { UpstreamPage } from "./pages/upstream.tsx";
import { UpstreamsPage } from "./pages/upstreams.tsx";
import { isChecked } from "./state/connection.ts";
import { matchPath, route, type RoutedPageProps } from "./state/router.tsx";
import { isTokenRejected, me } from "./state/session.ts";

/** Pages that few visits need. They are one file of their own, which the first of them loads. */
const rarePages = () => import("./rare-pages.ts");
const AdministratorsPage = lazyPage(async () => (await rarePages()).AdministratorsPage);
const AuditPage = lazyPage(async () => (await rarePages()).AuditPage);
const BlocksPage = lazyPage(async () => (await rarePages()).BlocksPage);
const BudgetPage = lazyPage(async () => (await rarePages()).BudgetPage);
const BudgetStatePage = lazyPage(async () => (await rarePages()).BudgetStatePage);
const BudgetsPage = lazyPage(async () => (await rarePages()).BudgetsPage);
const ExplainPage = lazyPage(async () => (await rarePages()).ExplainPage);
const FirstRunPage = lazyPage(async () => (await rarePages()).FirstRunPage);
const GameDayPage = lazyPage(async () => (await rarePages()).GameDayPage);
const GameDaysPage = lazyPage(async () => (await rarePages()).GameDaysPage);
const HistoryPage = lazyPage(async () => (await rarePages()).HistoryPage);
const ImportExportPage = lazyPage(async () => (await rarePages()).ImportExportPage);
const McpServerPage = lazyPage(async () => (await rarePages()).McpServerPage);
const McpServersPage = lazyPage(async () => (await rarePages()).McpServersPage);
const NewAdministratorPage = lazyPage(async () => (await rarePages()).NewAdministratorPage);
const PlaygroundPage = lazyPage(async () => (await rarePages()).PlaygroundPage);
const PricePage = lazyPage(async () => (await rarePages()).PricePage);
const PricesPage = lazyPage(async () => (await rarePages()).PricesPage);
const PluginPage = lazyPage(async () => (await rarePages()).PluginPage);
const RevisionPage = lazyPage(async () => (await rarePages()).RevisionPage);
const RollbackPage = lazyPage(async () => (await rarePages()).RollbackPage);
const RoutesPage = lazyPage(async () => (await rarePages()).RoutesPage);
const ToolPlaygroundPage = lazyPage(async () => (await rarePages()).ToolPlaygroundPage);
const UsagePage = lazyPage(async () => (await rarePages()).UsagePage);

/** The first matching pattern wins. A page treats the id `new` as a record that does not exist yet. */
const ROUTES: readonly (readonly [pattern: string, page: ComponentType<RoutedPageProps>])[] = [
  ["/", OverviewPage],
  ["/start", FirstRunPage],
  ["/gateways", GatewaysPage],
  ["/gateways/:gateway", GatewayPage],
  ["/gateways/:gateway/overview", GatewayOverviewPage],
  ["/gateways/:gateway/routes", RoutesPage],
  ["/gateways/:gateway/upstreams", UpstreamsPage],
  ["/gateways/:gateway/upstreams/:id", UpstreamPage],
  ["/gateways/:gateway/models", ModelsPage],
  ["/gateways/:gateway/models/:id", ModelPage],
  ["/gateways/:gateway/mcp-servers", McpServersPage],
  ["/gateways/:gateway/mcp-servers/:id", McpServerPage],
  ["/gateways/:gateway/services", ServicesPage],
  ["/gateways/:gateway/services/:id", ServicePage],
  ["/gateways/:gateway/rules", RulesPage],
  ["/gateways/:gateway/rules/:id", RulePage],
  ["/gateways/:gateway/keys", KeysPage],
  ["/gateways/:gateway/keys/:id", KeyPage],
  ["/gateways/:gateway/budgets", BudgetsPage],
  ["/gateways/:gateway/budgets/new", BudgetPage],
  ["/gateways/:gateway/budgets/:id", BudgetStatePage],
  ["/gateways/:gateway/budgets/:id/edit", BudgetPage],
  ["/gateways/:gateway/plugins", PluginsPage],
  ["/gateways/:gateway/plugins/:id", PluginPage],
  ["/gateways/:gateway/playground", PlaygroundPage],
  ["/gateways/:gateway/tool-playground", ToolPlaygroundPage],
  ["/gateways/:gateway/explain", ExplainPage],
  ["/gateways/:gateway/requests", RequestsPage],
  ["/gateways/:gateway/usage", UsagePage],
  ["/gateways/:gateway/prices", PricesPage],
  ["/gateways/:gateway/prices/new", PricePage],
  ["/gateways/:gateway/prices/price", PricePage],
  ["/gateways/:gateway/blocks", BlocksPage],
  ["/gateways/:gateway/game-days", GameDaysPage],
  ["/gateways/:gateway/game-days/:id", GameDayPage],
  ["/prices", PricesPage],
  ["/prices/new", PricePage],
  ["/prices/price", PricePage],
  ["/administrators", AdministratorsPage],
  ["/administrators/new", NewAdministratorPage],
  ["/audit", AuditPage],
  ["/import-export", ImportExportPage],
  ["/history", HistoryPage],
  ["/history/:id", RevisionPage],
  ["/history/:id/rollback", RollbackPage],
];

export function App(): JSX.Element {
  if (me.value === null) return <SignInPage />;
  return (
    <>
      <div class="shell">
        <a class="skip" href="#page">
          Skip to content
        </a>
        <Navigation />
        <div>
          <Banner />
          <main id="page">
            <CurrentPage />
          </main>
        </div>
      </div>
      <CommandPalette />
      <DialogHost />
      {isTokenRejected.value && <SignInDialog />}
    </>
  );
}

function CurrentPage(): JSX.Element {
  const { path } = route.value;
  if (!isChecked.value) return <Loading what="the page" />;
  for (const [pattern, RoutedPage] of ROUTES) {
    const parameters = matchPath(pattern, path);
    // The key resets all component state when the path changes, for example to another record.
    if (parameters !== null) return <RoutedPage key={path} parameters={parameters} />;
  }
  return <NotFoundPage />;
}
