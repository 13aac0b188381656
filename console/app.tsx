// Root component: the sign-in page, or the shell with the page of the current route.
import type { ComponentType, JSX } from "preact";
import { Banner } from "./components/banner.tsx";
import { CommandPalette } from "./components/command-palette.tsx";
import { DialogHost } from "./components/dialog-host.tsx";
import { Navigation } from "./components/navigation.tsx";
import { AdministratorsPage } from "./pages/administrators.tsx";
import { AuditPage } from "./pages/audit.tsx";
import { BlocksPage } from "./pages/blocks.tsx";
import { BudgetPage } from "./pages/budget.tsx";
import { BudgetStatePage } from "./pages/budget-state.tsx";
import { BudgetsPage } from "./pages/budgets.tsx";
import { ExplainPage } from "./pages/explain.tsx";
import { FirstRunPage } from "./pages/first-run.tsx";
import { GatewayOverviewPage } from "./pages/gateway-overview.tsx";
import { GatewayPage } from "./pages/gateway.tsx";
import { GatewaysPage } from "./pages/gateways.tsx";
import { HistoryPage } from "./pages/history.tsx";
import { ImportExportPage } from "./pages/import-export.tsx";
import { KeyPage } from "./pages/key.tsx";
import { KeysPage } from "./pages/keys.tsx";
import { NewAdministratorPage } from "./pages/new-administrator.tsx";
import { NotFoundPage } from "./pages/not-found.tsx";
import { ModelPage } from "./pages/model.tsx";
import { ModelsPage } from "./pages/models.tsx";
import { OverviewPage } from "./pages/overview.tsx";
import { PlaygroundPage } from "./pages/playground.tsx";
import { PricePage } from "./pages/price.tsx";
import { PricesPage } from "./pages/prices.tsx";
import { PluginPage } from "./pages/plugin.tsx";
import { PluginsPage } from "./pages/plugins.tsx";
import { RequestsPage } from "./pages/requests.tsx";
import { RevisionPage } from "./pages/revision.tsx";
import { RollbackPage } from "./pages/rollback.tsx";
import { RoutesPage } from "./pages/routes.tsx";
import { RulePage } from "./pages/rule.tsx";
import { RulesPage } from "./pages/rules.tsx";
import { ServicePage } from "./pages/service.tsx";
import { ServicesPage } from "./pages/services.tsx";
import { SignInDialog, SignInPage } from "./pages/sign-in.tsx";
import { UpstreamPage } from "./pages/upstream.tsx";
import { UpstreamsPage } from "./pages/upstreams.tsx";
import { UsagePage } from "./pages/usage.tsx";
import { matchPath, route, type RoutedPageProps } from "./state/router.tsx";
import { isTokenRejected, me } from "./state/session.ts";

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
  ["/gateways/:gateway/explain", ExplainPage],
  ["/gateways/:gateway/requests", RequestsPage],
  ["/gateways/:gateway/usage", UsagePage],
  ["/gateways/:gateway/prices", PricesPage],
  ["/gateways/:gateway/prices/new", PricePage],
  ["/gateways/:gateway/prices/price", PricePage],
  ["/gateways/:gateway/blocks", BlocksPage],
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
  for (const [pattern, RoutedPage] of ROUTES) {
    const parameters = matchPath(pattern, path);
    // The key resets all component state when the path changes, for example to another record.
    if (parameters !== null) return <RoutedPage key={path} parameters={parameters} />;
  }
  return <NotFoundPage />;
}
