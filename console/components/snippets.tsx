// The request of the playground as code of an SDK, or the settings of a coding agent, for the address of the proxy.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { Server } from "../api/types.ts";
import { useLoad } from "../state/load.ts";
import { SNIPPETS, type SnippetSource } from "../state/snippets.ts";
import { Code } from "./code.tsx";
import { Section } from "./page.tsx";

const STORAGE_KEY = "gatehouse.proxy-address";
export function Snippets({ source }: { readonly source: Omit<SnippetSource, "address"> }): JSX.Element {
  const [client, setClient] = useState("curl");
  const [typed, setTyped] = useState(localStorage.getItem(STORAGE_KEY));
  const server = useLoad((signal) => get<Server>("/server", signal), []);
  const address = typed ?? addressOf(server.data);
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
            {server.data?.public_url === null
              ? "Derived from the address of the console. Set PUBLIC_URL on the server to the address that clients use."
              : "From the setting PUBLIC_URL, unless you enter another one."}
          </p>
        </div>
      </div>
      <Code text={text} what={`Code for ${client}`} />
    </Section>
  );
}

/** Without PUBLIC_URL, it is derived. Behind TLS the port is not that of clients, and the console's own address serves requests as well. */
function addressOf(server: Server | undefined): string {
  const { protocol, hostname, origin } = location;
  if (server === undefined) return "";
  if (server.public_url !== null) return server.public_url;
  return protocol === "http:" && server.proxy_port !== null
    ? `http://${hostname}:${server.proxy_port}`
    : origin;
}
