// What the formatter and the type checker do not see: floating promises, escape hatches, stray prints.
import tseslint from "typescript-eslint";

const WAIT =
  "Wait for a condition (test/support/waiting.ts), or advance a clock (src/base/manual-clock.fixture.ts).";

export default tseslint.config(
  {
    ignores: [
      "node_modules/",
      "data/",
      "eslint.config.js",
      "test/clients/programs/",
      "test/mcp/fixture-server.mjs",
      "wasm/",
    ],
  },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      eqeqeq: "error",
      "no-console": "error",
      "@typescript-eslint/restrict-template-expressions": [
        "error",
        { allowNumber: true, allowBoolean: true },
      ],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // A condition the types call impossible is often the one that guards a wire format.
      "@typescript-eslint/no-unnecessary-condition": "off",
      "@typescript-eslint/consistent-type-imports": "error",
      // The rule on values of enums would take a third of the linter's time. Use a union of string literals instead.
      "no-restricted-syntax": [
        "error",
        { selector: "TSEnumDeclaration", message: "Use a union of string literals." },
      ],
      "@typescript-eslint/no-unsafe-enum-assignment": "off",
    },
  },
  {
    files: ["src/**"],
    ignores: ["**/*.test.ts"],
    rules: { "max-lines-per-function": ["error", { max: 60 }] },
  },
  // The command line is the one place that prints; benchmarks and tests report for themselves.
  { files: ["src/cli/**", "bench/**", "scripts/**"], rules: { "no-console": "off" } },
  {
    files: ["**/*.test.ts", "test/**", "bench/**"],
    rules: {
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/no-unsafe-return": "off",
    },
  },
  // Fault and soak tests are exempt: they slow clients down and generate load.
  {
    files: ["src/**/*.test.ts", "test/{architecture,contract,deploy,docs,e2e,golden,system}/**"],
    rules: {
      "no-restricted-properties": ["error", { object: "Bun", property: "sleep", message: WAIT }],
      "no-restricted-globals": [
        "error",
        { name: "setTimeout", message: WAIT },
        { name: "setInterval", message: WAIT },
      ],
    },
  },
);
