// The startup summary on a terminal.
import { expect, test } from "bun:test";
import { startupSummary } from "./startup-summary.ts";

const SETTINGS = {
  HOST: "127.0.0.1",
  DATA_DIR: "/srv/gatehouse",
  DATABASE_URL: null,
  LOG_FORMAT: null,
  WORKERS: 1,
} as const;
const BOTH = { adminPort: 9000, proxyPort: 9001, operationsPort: null };

test("it names the addresses, the console, the token command, and the data directory", () => {
  const lines = startupSummary(BOTH, SETTINGS).trim().split("\n");
  expect(lines).toEqual([
    "Gatehouse is running. Press Ctrl+C to stop.",
    "requests     http://127.0.0.1:9001",
    "Admin API    http://127.0.0.1:9000/api/v1   documentation: http://127.0.0.1:9000/api/docs",
    "console      http://127.0.0.1:9000/console",
    'admin token  run "bin/gatehouse token"',
    "data         /srv/gatehouse",
  ]);
});

test("a role without the Admin API has no console, but a port for metrics", () => {
  const summary = startupSummary({ adminPort: null, proxyPort: 9001, operationsPort: 9002 }, SETTINGS);
  expect(summary).not.toContain("console");
  expect(summary).toContain("metrics   http://127.0.0.1:9002/metrics");
});

test("addresses can be opened in a browser, also if all addresses are listened on", () => {
  expect(startupSummary(BOTH, { ...SETTINGS, HOST: "0.0.0.0" })).toContain("http://127.0.0.1:9001");
  expect(startupSummary(BOTH, { ...SETTINGS, HOST: "::" })).toContain("http://[::1]:9001");
  expect(startupSummary(BOTH, { ...SETTINGS, HOST: "fd00::1" })).toContain("http://[fd00::1]:9001");
});

test("the password of a database is not shown", () => {
  const summary = startupSummary(BOTH, {
    ...SETTINGS,
    DATABASE_URL: "postgres://user:hidden@db.example.com:5432/gatehouse",
    WORKERS: 4,
  });
  expect(summary).toContain("data         postgres://db.example.com:5432/gatehouse");
  expect(summary).toContain("with 4 workers");
  expect(summary).not.toContain("hidden");
});
