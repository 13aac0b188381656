// The name of a label of an API key. Not next to the schema of API keys, which requests do not need.

/** Also used in usage groups and in limits per label, so it needs no quoting there. */
export const LABEL_NAME = /^[a-z0-9_-]{1,32}$/;
