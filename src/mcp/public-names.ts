// The names of tools and prompts, and the URIs of resources, as clients of a service see them: with the prefix of the server
// if the service has several servers.

const SEPARATOR = "__";
/** Ends the prefix of a URI. A plus sign is allowed in the scheme of a URI, and not in a prefix. */
const URI_SEPARATOR = "+";

interface PrefixedServer {
  readonly prefix: string;
}

export interface NamedItem<Server> {
  readonly server: Server;
  /** The name or the URI that the server uses. */
  readonly name: string;
}

export class PublicNames<Server extends PrefixedServer> {
  readonly #only: Server | null;
  readonly #byPrefix = new Map<string, Server>();
  readonly #byScheme = new Map<string, Server>();
  readonly #schemes = new Map<Server, string>();

  constructor(servers: readonly Server[], usesPrefixes: boolean) {
    this.#only = usesPrefixes ? null : (servers[0] ?? null);
    for (const [index, server] of servers.entries()) {
      const plain = schemeOf(server.prefix);
      const scheme = this.#byScheme.has(plain) ? `${plain}.${index}` : plain;
      this.#byPrefix.set(server.prefix, server);
      this.#byScheme.set(scheme, server);
      this.#schemes.set(server, scheme);
    }
  }

  nameFor(server: Server, name: string): string {
    return this.#only === null ? server.prefix + SEPARATOR + name : name;
  }

  /** Returns null if no server of the service can have the name. */
  find(name: string): NamedItem<Server> | null {
    if (this.#only !== null) return { server: this.#only, name };
    // A prefix contains no separator, so that the first one ends it, whatever the name is.
    const end = name.indexOf(SEPARATOR);
    const server = end < 0 ? undefined : this.#byPrefix.get(name.slice(0, end));
    return server === undefined ? null : { server, name: name.slice(end + SEPARATOR.length) };
  }

  uriFor(server: Server, uri: string): string {
    return this.#only === null ? `${this.#schemes.get(server) ?? ""}${URI_SEPARATOR}${uri}` : uri;
  }

  /** Returns null if no server of the service can have the URI. */
  findUri(uri: string): NamedItem<Server> | null {
    if (this.#only !== null) return { server: this.#only, name: uri };
    const end = uri.indexOf(URI_SEPARATOR);
    // Clients may write the scheme of a URI in lower case (RFC 3986, section 3.1).
    const server = end < 0 ? undefined : this.#byScheme.get(uri.slice(0, end).toLowerCase());
    return server === undefined ? null : { server, name: uri.slice(end + 1) };
  }
}

/** Returns the prefix in the syntax of a URI scheme, which starts with a letter and has no underscore. */
function schemeOf(prefix: string): string {
  const scheme = prefix.toLowerCase().replaceAll("_", ".");
  return /^[a-z]/.test(scheme) ? scheme : `mcp.${scheme}`;
}
