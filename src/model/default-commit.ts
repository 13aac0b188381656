// How much of a stream is held where an upstream does not say it. Apart from the schema, which the data plane does not load.
export const DEFAULT_COMMIT = { max_ms: 1500, max_bytes: 16_384 };
