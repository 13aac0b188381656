// JSON Schema (draft 2020-12) for the conditions of rules, validated with bounded work. A keyword that is not supported is an error of
// the configuration: a condition that is ignored would be a hole in the policy. Keywords that the standard does not know are annotations.
import { KEYWORDS, type Check, type Compiler, type Schema } from "./schema-keywords.ts";
import { isObject, spend, Undecidable } from "./schema-values.ts";

const MAX_SCHEMA_DEPTH = 20;
const MAX_STEPS = 100_000;
/** Schemas that refer to themselves follow the value, which may be nested 512 levels deep. */
const MAX_DEPTH = 2000;

/** Returns a function that checks a value, and throws Undecidable. Throws if the schema is not supported. */
export function compileSchema(schema: unknown): (value: unknown) => boolean {
  const check = new SchemaDocument(schema).check;
  return (value) => check(value, { steps: MAX_STEPS, depth: MAX_DEPTH });
}

/** A schema of the document. */
interface Place {
  check: Check;
  /** The schemas that are applied to the same value. */
  readonly same: Place[];
}

interface Reference {
  readonly from: Place;
  readonly target: string;
  readonly path: string;
  resolve: (place: Place) => void;
}

class SchemaDocument {
  /** By JSON pointer or anchor, both with `#`. */
  readonly #places = new Map<string, Place>();
  readonly #references: Reference[] = [];
  readonly check: Check;

  constructor(schema: unknown) {
    const root = this.#compile(schema, "when", "#", 0);
    for (const reference of this.#references) {
      const place = this.#places.get(reference.target);
      if (place === undefined)
        throw new SchemaError(`${reference.path} does not refer to a schema of this document`);
      reference.from.same.push(place);
      reference.resolve(place);
    }
    const done = new Set<Place>();
    for (const place of this.#places.values()) requireEnd(place, new Set(), done);
    this.check = root.check;
  }

  #compile(schema: unknown, path: string, pointer: string, depth: number): Place {
    const known = this.#places.get(pointer);
    if (known !== undefined) return known;
    if (typeof schema === "boolean") return this.#keep(pointer, () => schema);
    if (!isObject(schema)) throw new SchemaError(`${path} must be an object or a boolean`);
    if (depth > MAX_SCHEMA_DEPTH)
      throw new SchemaError(`${path} is nested more than ${MAX_SCHEMA_DEPTH} levels deep`);
    if (Object.hasOwn(schema, "$id") && (depth > 0 || typeof schema["$id"] !== "string"))
      throw new SchemaError(`${path}.$id is not supported within a schema`);
    const place = this.#keep(pointer, () => true);
    if (typeof schema["$anchor"] === "string") this.#keepAnchor(`#${schema["$anchor"]}`, place, path);
    const checks: Check[] = [];
    for (const keyword of Object.keys(schema)) {
      const check = this.#keyword(keyword, schema, { path, pointer, depth, place });
      if (check !== null) checks.push(check);
    }
    place.check = (value, work) => {
      spend(work, 1);
      if (--work.depth < 0) throw new Undecidable("too deep");
      const isMet = checks.every((check) => check(value, work));
      work.depth++;
      return isMet;
    };
    return place;
  }

  #keyword(keyword: string, schema: Schema, at: Location): Check | null {
    const build = KEYWORDS.get(keyword);
    if (build === undefined) return null;
    const value = schema[keyword];
    try {
      return build(value, this.#compilerAt(keyword, schema, at), schema);
    } catch (error) {
      if (error instanceof SchemaError) throw error;
      const problem = error instanceof Error ? error.message : String(error);
      throw new SchemaError(`${at.path}.${keyword}: ${problem}`);
    }
  }

  #compilerAt(keyword: string, schema: Schema, at: Location): Compiler {
    const compile = (inner: unknown, path: readonly (string | number)[]): Place => {
      const pointer = [at.pointer, ...path.map((part) => escaped(String(part)))].join("/");
      return this.#compile(inner, [at.path, ...path].join("."), pointer, at.depth + 1);
    };
    const same = (inner: unknown, path: readonly (string | number)[]): Check => {
      const place = compile(inner, path);
      at.place.same.push(place);
      return (value, work) => place.check(value, work);
    };
    return {
      inner: (inner, ...path) => {
        const place = compile(inner, [keyword, ...path]);
        return (value, work) => place.check(value, work);
      },
      same: (inner, ...path) => same(inner, [keyword, ...path]),
      sibling: (name) => (Object.hasOwn(schema, name) ? same(schema[name], [name]) : null),
      reference: (target) => this.#reference(target, at),
    };
  }

  #reference(target: unknown, { path, place }: Location): Check {
    if (typeof target !== "string" || !target.startsWith("#"))
      throw new Error('must begin with "#": schemas outside of the document are not read');
    let to: Place | null = null;
    this.#references.push({
      from: place,
      target: decodeURIComponent(target),
      path: `${path}.$ref`,
      resolve: (found) => {
        to = found;
      },
    });
    return (value, work) => {
      if (to === null) throw new Undecidable("the reference is not resolved");
      return to.check(value, work);
    };
  }

  #keep(pointer: string, check: Check): Place {
    const place: Place = { check, same: [] };
    this.#places.set(pointer, place);
    return place;
  }

  #keepAnchor(anchor: string, place: Place, path: string): void {
    if (this.#places.has(anchor)) throw new SchemaError(`${path}.$anchor: the name occurs twice`);
    this.#places.set(anchor, place);
  }
}

/** Where a schema is in its document. */
interface Location {
  readonly path: string;
  readonly pointer: string;
  readonly depth: number;
  readonly place: Place;
}

/** The message names the place. */
class SchemaError extends Error {
  override readonly name = "SchemaError";
}

/** A schema that leads to itself without going into the value would never end. */
function requireEnd(place: Place, above: ReadonlySet<Place>, done: Set<Place>): void {
  if (above.has(place)) throw new SchemaError("when refers to itself in a circle");
  if (done.has(place)) return;
  const path = new Set(above).add(place);
  for (const each of place.same) requireEnd(each, path, done);
  done.add(place);
}

/** As a part of a JSON pointer. */
function escaped(part: string): string {
  return part.replaceAll("~", "~0").replaceAll("/", "~1");
}
