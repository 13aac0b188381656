// Tests of the selection of patterns: sensitivities, excluded patterns, and what detectors share.
import { describe, expect, test } from "bun:test";
import { compilePatterns } from "./compiled-patterns.ts";
import { compileDetector } from "./detector.ts";
import { patternsOf } from "./languages/by-language.ts";
import { codeSanitationSettings, LANGUAGES, SENSITIVITIES } from "./settings.ts";

const idsOf = (...selections: Parameters<typeof compilePatterns>[0][number][]) => {
  const { prefilter } = compilePatterns(selections);
  const names = prefilter.triggers.flatMap(({ owner }) => owner.names);
  return new Set(names.map(({ pattern }) => pattern));
};

test.each(LANGUAGES)("each sensitivity of %s uses the patterns up to it", (language) => {
  for (const [index, sensitivity] of SENSITIVITIES.entries()) {
    const upTo: readonly string[] = SENSITIVITIES.slice(0, index + 1);
    const expected = patternsOf(language).filter(({ from }) => upTo.includes(from));
    expect(idsOf({ language, sensitivity })).toEqual(new Set(expected.map(({ id }) => id)));
  }
  expect(idsOf(language)).toEqual(idsOf({ language, sensitivity: "balanced" }));
});

test("languages may have different sensitivities", () => {
  const ids = idsOf(
    { language: "sql", sensitivity: "strict" },
    { language: "shell", sensitivity: "relaxed" },
  );
  expect(ids).toEqual(
    new Set([
      ...idsOf({ language: "sql", sensitivity: "strict" }),
      ...idsOf({ language: "shell", sensitivity: "relaxed" }),
    ]),
  );
});

describe("an excluded pattern", () => {
  const text = "1 UNION SELECT name FROM users";

  test("is not found; others are", () => {
    const found = compileDetector(["sql"])
      .findAll(text)
      .map(({ pattern }) => pattern);
    expect(found).toContain("sql.union-select");
    const detector = compileDetector([{ language: "sql", exclude: found }]);
    expect(detector.findAll(text)).toEqual([]);
    expect(detector.first(text)).toBeNull();
    expect(detector.first("x'; DROP TABLE users; --")).not.toBeNull();
  });

  test("that another language has too is found in that language", () => {
    const markup = "<p onpointerenter=go()>";
    const own = compileDetector(["javascript"])
      .findAll(markup)
      .map(({ pattern }) => pattern);
    const detector = compileDetector([{ language: "javascript", exclude: own }, "html"]);
    expect(detector.first(markup)).toMatchObject({ language: "html" });
    expect(compileDetector(["javascript", "html"]).first(markup)).toMatchObject({ language: "javascript" });
  });
});

describe("detectors", () => {
  test("of the same languages and sensitivities share the compiled patterns, whatever they exclude", () => {
    const patterns = compilePatterns(["sql", "html"]);
    expect(compilePatterns(["html", "sql"])).toBe(patterns);
    expect(compilePatterns([{ language: "html", exclude: ["html.x"] }, { language: "sql" }])).toBe(patterns);
    expect(compilePatterns(["sql"])).not.toBe(patterns);
    expect(compilePatterns(["sql", { language: "html", sensitivity: "strict" }])).not.toBe(patterns);
  });

  test("of settings that are no longer used are not kept", () => {
    const first = compilePatterns(["ruby"]);
    for (const language of ["sql", "html", "php", "java", "csharp"] as const)
      for (const sensitivity of SENSITIVITIES) {
        compilePatterns([{ language, sensitivity }]);
        expect(compilePatterns(["ruby"])).toBe(first);
      }
    for (const language of ["sql", "html", "php", "java", "csharp", "python"] as const)
      for (const sensitivity of SENSITIVITIES) compilePatterns([{ language, sensitivity }]);
    expect(compilePatterns(["ruby"])).not.toBe(first);
  });
});

describe("settings", () => {
  const parse = (fields: Record<string, unknown>, entry: Record<string, unknown> = {}) =>
    codeSanitationSettings.safeParse({
      languages: [{ language: "sql", ...entry }],
      content_to_check: ["body"],
      action: "block",
      ...fields,
    });
  const problemsOf = (result: ReturnType<typeof parse>) =>
    result.error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);

  test("without the new fields mean balanced patterns and every role", () => {
    const { data } = parse({});
    expect(data?.languages).toEqual([
      { language: "sql", enabled: true, sensitivity: "balanced", exclude: [] },
    ]);
    expect(data?.roles).toBeUndefined();
  });

  test("name the nearest id of a pattern that does not exist", () => {
    expect(parse({}, { exclude: ["sql.union-select"] }).success).toBe(true);
    expect(problemsOf(parse({}, { exclude: ["sql.union-select", "sql.unionselect"] }))).toEqual([
      'languages.0.exclude.1: sql has no pattern "sql.unionselect"; did you mean "sql.union-select"?',
    ]);
    expect(problemsOf(parse({}, { exclude: ["x".repeat(900)] }))).toEqual([
      `languages.0.exclude.0: sql has no pattern "${"x".repeat(64)}"`,
    ]);
  });

  test("reject unknown roles and sensitivities", () => {
    expect(parse({ roles: ["tool", "user"] }).success).toBe(true);
    expect(parse({ roles: [] }).success).toBe(false);
    expect(parse({ roles: ["wizard"] }).success).toBe(false);
    expect(parse({}, { sensitivity: "paranoid" }).success).toBe(false);
  });
});

test.each([
  ["javascript", "What is innerHTML and when should I avoid document.write?"],
  ["python", "Explain the difference between os.system and subprocess.Popen."],
  ["php", "Is it safe to use eval()?"],
  ["sql", "What is the difference between union select and drop table?"],
  ["shell", "What do chmod and `ls` do?"],
  ["csharp", "What does Process.Start return?"],
  ["ruby", "How does `exec()` differ from `eval()`?"],
  ["html", "Where does the <script> tag belong, and what is onerror= for?"],
] as const)("strict finds a mention in %s, balanced does not", (language, mention) => {
  expect(compileDetector([{ language, sensitivity: "strict" }]).first(mention)).toMatchObject({ language });
  expect(compileDetector([{ language, sensitivity: "balanced" }]).first(mention)).toBeNull();
});
