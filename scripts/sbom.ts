// The software bill of materials (SBOM) in CycloneDX JSON: every production dependency of package-lock.json, with version,
// license, checksum and dependencies. `npm sbom --omit dev` is not used, because it leaves out production dependencies that a
// development dependency also needs (npm/cli issue 7909); here that would be zod.

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly link?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** The part of package-lock.json (lockfileVersion 3) that is read. The key of a package is its path; "" is this project. */
export interface LockFile {
  readonly name: string;
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface Component {
  readonly type: "application" | "library";
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  /** "optional": one of several packages for different platforms, of which one is installed. */
  readonly scope?: "required" | "optional";
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses?: readonly (
    { readonly license: { readonly id: string } } | { readonly expression: string }
  )[];
  readonly purl: string;
}

export interface Sbom {
  readonly $schema: string;
  readonly bomFormat: "CycloneDX";
  readonly specVersion: string;
  readonly serialNumber: string;
  readonly version: number;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const HASH_NAMES: Readonly<Record<string, string>> = { sha512: "SHA-512", sha256: "SHA-256", sha1: "SHA-1" };

/** The result depends on the lock file only: it has no time and no random number, so that builds can be compared. */
export function createSbom(lock: LockFile): Sbom {
  const production = Object.entries(lock.packages)
    .filter(([path, { dev, link }]) => path !== "" && dev !== true && link !== true)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const refs = new Map(production.map(([path, entry]) => [path, purl(nameFrom(path), entry)]));
  const root = lock.packages[""] ?? {};
  const application: Component = { type: "application", ...describe(lock.name, root) };
  // A version that is installed in two places is one component.
  const components = new Map<string, Component>();
  const dependencies = new Map<string, readonly string[]>();
  dependencies.set(application["bom-ref"], dependenciesOf("", root, refs));
  for (const [path, entry] of production) {
    const scope = entry.optional === true ? "optional" : "required";
    const component: Component = { type: "library", scope, ...describe(nameFrom(path), entry) };
    components.set(component["bom-ref"], component);
    const known = dependencies.get(component["bom-ref"]) ?? [];
    const all = new Set([...known, ...dependenciesOf(path, entry, refs)]);
    dependencies.set(component["bom-ref"], [...all].sort());
  }
  const content = {
    metadata: { component: application },
    components: [...components.values()],
    dependencies: [...dependencies].map(([ref, dependsOn]) => ({ ref, dependsOn })),
  };
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${uuidFrom(JSON.stringify(content))}`,
    version: 1,
    ...content,
  };
}

/** Returns "@a/b" for "node_modules/x/node_modules/@a/b". */
function nameFrom(path: string): string {
  return path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}

function describe(name: string, entry: LockedPackage) {
  const { version = "", license, integrity } = entry;
  return {
    "bom-ref": purl(name, entry),
    name,
    version,
    ...(integrity !== undefined && { hashes: integrity.split(" ").map(hashFrom) }),
    ...(license !== undefined && { licenses: [licenseFrom(license)] }),
    purl: purl(name, entry),
  };
}

/** The package URL: https://github.com/package-url/purl-spec. */
function purl(name: string, { version = "" }: LockedPackage): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

/** Converts Subresource Integrity ("sha512-" and base64) to the hexadecimal form of CycloneDX. */
function hashFrom(integrity: string): { alg: string; content: string } {
  const [algorithm = "", base64 = ""] = integrity.split(/-(.*)/s);
  const alg = HASH_NAMES[algorithm];
  if (alg === undefined) throw new Error(`unknown checksum ${integrity} in package-lock.json`);
  return { alg, content: Buffer.from(base64, "base64").toString("hex") };
}

function licenseFrom(license: string) {
  return license.includes(" ") ? { expression: license } : { license: { id: license } };
}

function dependenciesOf(
  path: string,
  { dependencies, optionalDependencies, peerDependencies }: LockedPackage,
  refs: ReadonlyMap<string, string>,
): string[] {
  const names = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
  const found = names.map((name) => resolve(path, name, refs)).filter((ref) => ref !== undefined);
  return [...new Set(found)].sort();
}

/** Finds a dependency as Node.js does: in node_modules of the package, then of each folder above it. */
function resolve(from: string, name: string, refs: ReadonlyMap<string, string>): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    const found = refs.get(folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`);
    if (found !== undefined || folder === "") return found;
  }
}

/** Returns a UUID of version 8 (RFC 9562), which is for ids derived from content. */
function uuidFrom(text: string): string {
  const bytes = new Uint8Array(new Bun.CryptoHasher("sha256").update(text).digest().subarray(0, 16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return Buffer.from(bytes)
    .toString("hex")
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
