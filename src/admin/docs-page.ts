// The API reference at /api/docs: one HTML page generated from the OpenAPI document, without scripts or external files.

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly default?: unknown;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema; readonly example?: unknown }>>;
  readonly description?: string;
}

interface DocumentedOperation {
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly {
    readonly name?: string;
    readonly in?: string;
    readonly description?: string;
    readonly schema?: Schema;
  }[];
  readonly requestBody?: Content;
  readonly responses?: Readonly<Record<string, Content>>;
}

const METHODS = ["get", "post", "put", "patch", "delete"] as const;

/** The part of an OpenAPI document that the page shows. */
interface OpenApi {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  readonly paths?: Readonly<
    Record<string, { readonly [Method in (typeof METHODS)[number]]?: DocumentedOperation }>
  >;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

const STYLE = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); --faint: color-mix(in srgb, currentColor 65%, transparent); }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); } code, pre { font: 13px/1.5 ui-monospace, monospace; }
pre { overflow-x: auto; padding: .75rem; border: 1px solid var(--line); border-radius: 6px; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0; } summary { padding: .5rem .75rem; cursor: pointer; }
details > div { padding: 0 .75rem .75rem; } .method { display: inline-block; width: 4.5rem; font-weight: 700; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--line); }
.faint { color: var(--faint); } nav a { margin-right: 1rem; }`;

export function renderDocsPage({ info, paths, components }: OpenApi): string {
  const byTag = new Map<string, string[]>();
  for (const [path, operations] of Object.entries(paths ?? {})) {
    for (const method of METHODS) {
      const operation = operations[method];
      if (operation === undefined) continue;
      const tag = operation.tags?.[0] ?? "other";
      byTag.set(tag, [...(byTag.get(tag) ?? []), renderOperation(method, path, operation)]);
    }
  }
  const sections = [...byTag].map(
    ([tag, blocks]) => `<h2 id="${anchor(tag)}">${escape(tag)}</h2>${blocks.join("")}`,
  );
  const schemas = Object.entries(components?.schemas ?? {}).map(
    ([name, schema]) =>
      `<details id="schema-${escape(name)}"><summary><code>${escape(name)}</code></summary><div>${fieldTable(schema)}</div></details>`,
  );
  const tags = [...byTag.keys(), "schemas"].map((tag) => `<a href="#${anchor(tag)}">${escape(tag)}</a>`);
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escape(info.title)}</title><style>${STYLE}</style></head><body>
<h1>${escape(info.title)} <span class="faint">${escape(info.version)}</span></h1><p>${escape(info.description ?? "")}
Requests to <code>/api/v1</code> require <code>Authorization: Bearer &lt;ADMIN_JWT&gt;</code>. Create a token with
<code>scripts/generate_jwt_token.sh</code>. The OpenAPI document is at <a href="/api/openapi.json">/api/openapi.json</a>.</p>
<nav>${tags.join("")}</nav>${sections.join("")}<h2 id="schemas">schemas</h2>${schemas.join("")}</body></html>`;
}

function renderOperation(method: string, path: string, operation: DocumentedOperation): string {
  const body = operation.requestBody?.content?.["application/json"];
  const parameters = operation.parameters ?? [];
  const parts = [
    parameters.length === 0
      ? ""
      : `<h4>Parameters</h4><table>${parameters
          .map(({ name = "", in: location = "", description = "", schema = {} }) =>
            row(name, `${location}, ${typeName(schema)}`, { description, ...schema }),
          )
          .join("")}</table>`,
    body?.schema === undefined ? "" : `<h4>Body</h4><p>${typeName(body.schema)}</p>`,
    body?.example === undefined ? "" : `<pre>${escape(JSON.stringify(body.example, null, 2))}</pre>`,
    `<h4>Responses</h4><table>${Object.entries(operation.responses ?? {})
      .map(([status, { description, content }]) => {
        const schema = content?.["application/json"]?.schema;
        return `<tr><td><code>${escape(status)}</code></td><td>${schema === undefined ? "" : typeName(schema)}</td><td>${escape(description ?? "")}</td></tr>`;
      })
      .join("")}</table>`,
  ];
  return `<details><summary><code class="method">${method.toUpperCase()}</code> <code>${escape(path)}</code>
<span class="faint">${escape(operation.summary ?? "")}</span></summary><div>${parts.join("")}</div></details>`;
}

function fieldTable(schema: Schema): string {
  const fields = Object.entries(schema.properties ?? {});
  if (fields.length === 0) return `<p>${typeName(schema)}</p>`;
  const required = new Set(schema.required ?? []);
  const rows = fields.map(([name, field]) =>
    row(name, `${typeName(field)}${required.has(name) ? ", required" : ""}`, field),
  );
  return `<table>${rows.join("")}</table>`;
}

function row(name: string, type: string, schema: Schema): string {
  const fallback =
    schema.default === undefined
      ? ""
      : ` <span class="faint">default <code>${escape(JSON.stringify(schema.default))}</code></span>`;
  return `<tr><td><code>${escape(name)}</code></td><td>${type}</td><td>${escape(schema.description ?? "")}${fallback}</td></tr>`;
}

function typeName(schema: Schema): string {
  if (schema.$ref !== undefined) {
    const name = escape(schema.$ref.split("/").at(-1) ?? "");
    return `<a href="#schema-${name}">${name}</a>`;
  }
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeName).join(" or ");
  if (schema.enum !== undefined)
    return schema.enum.map((value) => `<code>${escape(JSON.stringify(value))}</code>`).join(" ");
  if (schema.items !== undefined) return `array of ${typeName(schema.items)}`;
  return escape([schema.type ?? "any"].flat().join(" or "));
}

function anchor(tag: string): string {
  return escape(tag.replaceAll(" ", "-"));
}

function escape(text: string): string {
  return Bun.escapeHTML(text);
}
