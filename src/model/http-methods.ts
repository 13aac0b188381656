// The HTTP methods that a rule can match. In its own file, because the proxy must not load the schemas of resources.

export const HTTP_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] as const;

/** As the only method of a rule: it matches all. */
export const ANY_METHOD = "*";
