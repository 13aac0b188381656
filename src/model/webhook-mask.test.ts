// Masks of webhooks.
import { expect, test } from "bun:test";
import { looksLikeMaskedWebhook, maskWebhook } from "./webhook-mask.ts";

test.each([
  ["https://hooks.example.com/services/T000/B000/abcdefgh1234", "https://hooks.example.com/***1234"],
  ["https://hooks.example.com:8443/short", "https://hooks.example.com:8443/***"],
  ["http://hooks.example.com/hook?token=abcdefgh", "http://hooks.example.com/***efgh"],
  ["https://hooks.example.com?token=a", "https://hooks.example.com/***"],
  ["https://hooks.example.com/a/b/c/d/e/f/g", "https://hooks.example.com/****f*g"],
])("%s is shown as %s, which is recognized as a mask", (webhook, mask) => {
  expect(maskWebhook(webhook)).toBe(mask);
  expect(looksLikeMaskedWebhook(mask)).toBe(true);
  expect(looksLikeMaskedWebhook(webhook)).toBe(false);
  expect(new URL(mask).href).toBe(mask);
});

test("a URL without path and query is no secret", () => {
  for (const webhook of ["https://hooks.example.com", "https://hooks.example.com/"]) {
    expect(maskWebhook(webhook)).toBe(webhook);
    expect(looksLikeMaskedWebhook(webhook)).toBe(false);
  }
});
