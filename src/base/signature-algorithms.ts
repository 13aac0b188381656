// The algorithms of tokens that the gateway accepts from issuers and sign-in providers.

/** Only signatures with public keys: neither `none`, nor HMAC with a key that others know. */
export const SIGNATURE_ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];
