// Merging settings into files of other programs: what is there stays, and what is not understood is an error.
import { describe, expect, test } from "bun:test";
import { mergeDotenv } from "./merge-dotenv.ts";
import { mergeJsonEnvironment } from "./merge-json-environment.ts";
import { mergeToml } from "./merge-toml.ts";

describe(".env", () => {
  const variables = { BASE_URL: "http://x/v1", API_KEY: "gw_1" };
  const merge = (before: string) => mergeDotenv(before, variables);

  test("adds variables at the end and changes those that exist, with or without export", () => {
    expect(merge("")).toBe("BASE_URL=http://x/v1\nAPI_KEY=gw_1\n");
    expect(merge('# mine\nOTHER=1\nexport BASE_URL="http://old"\nMY_API_KEY=2')).toBe(
      "# mine\nOTHER=1\nexport BASE_URL=http://x/v1\nMY_API_KEY=2\nAPI_KEY=gw_1\n",
    );
  });

  test("keeps the ends of lines, and changes nothing the second time", () => {
    const once = merge("A=1\r\nAPI_KEY=old\r\n");
    expect(once).toBe("A=1\r\nAPI_KEY=gw_1\r\nBASE_URL=http://x/v1\r\n");
    expect(merge(once)).toBe(once);
  });

  test("a value of several lines in another variable is kept", () => {
    const before = 'CERTIFICATE="-----BEGIN\nABC\n-----END"\n';
    expect(merge(before)).toStartWith(before);
  });

  test.each([
    ["a variable that is set twice", "API_KEY=1\nAPI_KEY=2\n", /API_KEY is set 2 times/],
    ["a value of several lines", 'API_KEY="1\n2"\n', /several lines/],
    ["a variable inside a value of several lines", "A='x\nAPI_KEY=1\n'\n", /several lines/],
  ])("%s is an error", (_, before, expected) => {
    expect(() => merge(before)).toThrow(expected);
  });
});

describe("env of a JSON file", () => {
  const merge = (before: string) => mergeJsonEnvironment(before, { BASE_URL: "http://x", TOKEN: "gw_1" });

  test("keeps the other settings, their order, and the indentation", () => {
    expect(merge("")).toBe('{\n  "env": {\n    "BASE_URL": "http://x",\n    "TOKEN": "gw_1"\n  }\n}\n');
    const before = '{\n\t"a": [1],\n\t"env": {"TOKEN": "old", "OTHER": "1"},\n\t"z": true\n}';
    const after = merge(before);
    expect(after).toContain('\n\t"env": {\n\t\t"TOKEN": "gw_1",\n\t\t"OTHER": "1",');
    expect(Object.keys(JSON.parse(after))).toEqual(["a", "env", "z"]);
  });

  test("a file that has the values stays byte for byte", () => {
    const before = '{"env":{"TOKEN":"gw_1","BASE_URL":"http://x"}}';
    expect(merge(before)).toBe(before);
  });

  test.each([
    ["a comment", '{ // mine\n "a": 1 }', /not valid JSON/],
    ["a list", "[]", /not a JSON object/],
    ["env that is no object", '{"env": ["A=1"]}', /"env" in it is not an object/],
  ])("%s is an error", (_, before, expected) => {
    expect(() => merge(before)).toThrow(expected);
  });
});

describe("TOML", () => {
  const merge = (before: string) =>
    mergeToml(before, {
      root: { model: "gpt-4o", model_provider: "gatehouse" },
      table: ["model_providers", "gatehouse"],
      fields: { base_url: "http://x/v1", wire_api: "responses" },
    });
  const TABLE = '[model_providers.gatehouse]\nbase_url = "http://x/v1"\nwire_api = "responses"\n';

  test("an empty file", () => {
    expect(merge("")).toBe(`model = "gpt-4o"\nmodel_provider = "gatehouse"\n\n${TABLE}`);
  });

  test("keeps comments and other settings, and puts keys before the first table", () => {
    const before = '# mine\nmodel = "old" # comment\n\n[profile]\nmodel = "other"\n\n[[list]]\na = 1\n';
    const after = merge(before);
    expect(after).toBe(
      'model_provider = "gatehouse"\n# mine\nmodel = "gpt-4o" # comment\n\n[profile]\nmodel = "other"\n\n[[list]]\na = 1\n\n' +
        TABLE,
    );
    expect(merge(after)).toBe(after);
  });

  test("changes an existing table and keeps its other keys", () => {
    const before = `model_provider = 'x'\n[model_providers.gatehouse] # here\nwire_api = "chat"\nquery = { a = "b" }\n[z]\n`;
    const after = merge(before);
    expect(Bun.TOML.parse(after)).toEqual({
      model: "gpt-4o",
      model_provider: "gatehouse",
      model_providers: {
        gatehouse: { base_url: "http://x/v1", wire_api: "responses", query: { a: "b" } },
      },
      z: {},
    });
    expect(after).toContain("[model_providers.gatehouse] # here\n");
  });

  test("a file that starts with a table", () => {
    expect(merge("[a]\nb = 1\n")).toBe(
      `model = "gpt-4o"\nmodel_provider = "gatehouse"\n\n[a]\nb = 1\n\n${TABLE}`,
    );
  });

  test.each([
    ["no TOML", "model = \n"],
    ["an inline table", "model_providers = { gatehouse = { name = 'x' } }\n"],
    ["dotted keys", 'model_providers.gatehouse.name = "x"\n'],
    ["a value of several lines", 'model = """\nx"""\n'],
    ["a key that is no string", "model = 1\n"],
    ["a table inside of a text", 'a = """\n[model_providers.gatehouse]\n"""\n'],
  ])("%s is an error", (_, before) => {
    expect(() => merge(before)).toThrow(/not valid TOML|not understood/);
  });
});
