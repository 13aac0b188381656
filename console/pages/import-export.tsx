// Page to export the configuration as a document, and to import one: check it, see what changes, then apply it.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { request, toError, toQueryString } from "../api/client.ts";
import { Button } from "../components/button.tsx";
import { Notice } from "../components/notice.tsx";
import { Page, Section } from "../components/page.tsx";
import { GatewayFilter } from "../forms/gateway-filter.tsx";
import { ImportForm } from "../forms/import-form.tsx";
import { mayCall } from "../state/administrator.ts";
import { showToast } from "../state/dialogs.ts";
import { downloadText } from "../state/download.ts";
import { gatewayName } from "../state/gateways.ts";
import { me } from "../state/session.ts";

export function ImportExportPage(): JSX.Element {
  return (
    <Page
      title="Import and export"
      description="The configuration as one document in YAML or JSON, as the commands gatehouse export, check, and apply use it."
    >
      <ExportSection />
      {mayCall("POST /apply") ? (
        <ImportForm />
      ) : (
        <Section title="Import">
          <p class="muted">
            Your role or the gateways that you are limited to do not allow importing a document.
          </p>
        </Section>
      )}
    </Page>
  );
}

const FORMATS = {
  yaml: { label: "YAML", type: "application/yaml" },
  json: { label: "JSON", type: "application/json" },
} as const;

function ExportSection(): JSX.Element {
  const [gateway, setGateway] = useState(me.value?.gateways?.[0] ?? "");
  const [format, setFormat] = useState<keyof typeof FORMATS>("yaml");
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const download = async () => {
    setBusy(true);
    setError(null);
    try {
      const path = `/export${toQueryString({ gateway_id: gateway })}`;
      const response = await request("GET", path, { headers: { Accept: FORMATS[format].type } });
      const name = gateway === "" ? "gatehouse" : gatewayName(gateway);
      downloadText(`${name}.${format}`, await response.text(), FORMATS[format].type);
      showToast(`Exported ${gateway === "" ? "all gateways" : `gateway “${name}”`}`);
    } catch (thrown) {
      setError(toError(thrown));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Section
      title="Export"
      description="Secrets are not part of the document: it refers to environment variables. API keys are included as hashes."
    >
      <div class="card fields">
        <div class="export-options">
          <GatewayFilter label="Gateways" value={gateway} any="All gateways" onChange={setGateway} />
          <div class="button-group" role="group" aria-label="Format">
            {(["yaml", "json"] as const).map((each) => (
              <Button key={each} isPressed={format === each} onClick={() => setFormat(each)}>
                {FORMATS[each].label}
              </Button>
            ))}
          </div>
          <Button icon="document" isBusy={isBusy} onClick={() => void download()}>
            Download
          </Button>
        </div>
        {error !== null && (
          <Notice kind="error">
            <p>{error.message}</p>
          </Notice>
        )}
      </div>
    </Section>
  );
}
