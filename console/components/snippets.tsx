// The request of the playground as code of an SDK, or the settings of a coding agent, for the address of the proxy.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { SNIPPETS, type SnippetSource } from "../state/snippets.ts";
import { Code } from "./code.tsx";
import { Section } from "./page.tsx";

const STORAGE_KEY = "gatehouse.proxy-address";
/** Defaults of ADMIN_PORT and PROXY_PORT. */
const [ADMIN_PORT, PROXY_PORT] = ["8080", "8081"];

export function Snippets({ source }: { readonly source: Omit<SnippetSource, "address"> }): JSX.Element {
  const [client, setClient] = useState("curl");
  const [address, setAddress] = useState(localStorage.getItem(STORAGE_KEY) ?? defaultAddress());
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
            onInput={(event) => {
              setAddress(event.currentTarget.value);
              localStorage.setItem(STORAGE_KEY, event.currentTarget.value);
            }}
          />
        </div>
      </div>
      <Code text={text} what={`Code for ${client}`} />
    </Section>
  );
}

/** The console does not know the address that clients use. With other ports, its own address serves requests as well. */
function defaultAddress(): string {
  const { protocol, hostname, port, origin } = location;
  return port === ADMIN_PORT ? `${protocol}//${hostname}:${PROXY_PORT}` : origin;
}
