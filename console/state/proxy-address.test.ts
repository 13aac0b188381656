import { expect, test } from "bun:test";
import { proxyAddress } from "./proxy-address.ts";

const SERVER = { public_url: null, proxy_port: 8081, base_domain: null };
const PLAIN = { protocol: "http:", hostname: "10.0.0.1", origin: "http://10.0.0.1:8080" };
const TLS = { protocol: "https:", hostname: "admin.example.com", origin: "https://admin.example.com" };
const PUBLIC = { ...SERVER, public_url: "https://ai.example.com:8443/llm" };
const BASE = { base_domain: "ai.example.com" };

test.each([
  ["the port of the data plane", SERVER, null, PLAIN, "http://10.0.0.1:8081"],
  ["the address of the console behind TLS", SERVER, null, TLS, "https://admin.example.com"],
  ["the same on a node without a data plane", { ...SERVER, proxy_port: null }, null, PLAIN, PLAIN.origin],
  ["PUBLIC_URL", PUBLIC, null, PLAIN, "https://ai.example.com:8443/llm"],
  ["no subdomain without BASE_DOMAIN", PUBLIC, "acme", PLAIN, "https://ai.example.com:8443/llm"],
  ["no subdomain of a gateway without one", { ...PUBLIC, ...BASE }, null, PLAIN, PUBLIC.public_url],
  ["the subdomain", { ...PUBLIC, ...BASE }, "acme", PLAIN, "https://acme.ai.example.com:8443/llm"],
  ["the subdomain and the port", { ...SERVER, ...BASE }, "acme", PLAIN, "http://acme.ai.example.com:8081"],
])("the address has %s", (_, server, subdomain, location, expected) => {
  expect(proxyAddress(server, subdomain, location)).toBe(expected);
});
