// The request of the playground as code of an SDK, or the settings of a coding agent, for the address of the proxy.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { Gateway, Server } from "../api/types.ts";
import { useLoad } from "../state/load.ts";
import { proxyAddress } from "../state/proxy-address.ts";
import { SNIPPETS, type SnippetSource } from "../state/snippets.ts";
import { Code } from "./code.tsx";
import { Section } from "./page.tsx";

const STORAGE_KEY = "gatehouse.proxy-address";

interface SnippetsProps {
  readonly gateway: string;
  readonly source: Omit<SnippetSource, "address">;
}

export function Snippets({ gateway, source }: SnippetsProps): JSX.Element {
  const [client, setClient] = useState("curl");
  const [typed, setTyped] = useState(localStorage.getItem(STORAGE_KEY));
  const loaded = useLoad(async (signal) => {
    const [server, { subdomain }] = await Promise.all([
      get<Server>("/server", signal),
      get<Gateway>(`/gateways/${gateway}`, signal),
    ]);
    return { server, subdomain, address: proxyAddress(server, subdomain, location) };
  }, []);
  const address = typed ?? loaded.data?.address ?? "";
  const text = SNIPPETS[client]?.({ ...source, address: address.trim().replace(/\/+$/, "") }) ?? "";
  return (
    <Section
      title="Code"
      description="For your application. Set the environment variable GATEHOUSE_KEY to the API key."
    >
      <div class="fields inline">
        <div class="field">
          <label for="snippet-client">Client</label>
          <select
            id="snippet-client"
            class="input"
            value={client}
            onChange={(event) => setClient(event.currentTarget.value)}
          >
            {Object.keys(SNIPPETS).map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </div>
        <div class="field">
          <label for="snippet-address">Address of the proxy</label>
          <input
            id="snippet-address"
            class="input mono"
            autocomplete="off"
            spellcheck={false}
            value={address}
            aria-describedby="snippet-address-hint"
            onInput={(event) => {
              setTyped(event.currentTarget.value);
              localStorage.setItem(STORAGE_KEY, event.currentTarget.value);
            }}
            onBlur={(event) => {
              if (event.currentTarget.value.trim() !== "") return;
              setTyped(null);
              localStorage.removeItem(STORAGE_KEY);
            }}
          />
          <p class="hint" id="snippet-address-hint">
            {loaded.data !== undefined && hintFor(loaded.data.server, loaded.data.subdomain)}
          </p>
        </div>
      </div>
      <Code text={text} what={`Code for ${client}`} />
    </Section>
  );
}

function hintFor({ public_url, base_domain }: Server, subdomain: string | null): string {
  const host =
    base_domain === null || subdomain === null ? "" : " The host is the subdomain of this gateway.";
  return public_url === null
    ? `Derived from the address of the console.${host} Set PUBLIC_URL on the server to the address that clients use.`
    : `From the setting PUBLIC_URL, unless you enter another one.${host}`;
}
