// The value of `cors.origins` that allows every website. In its own file, because the proxy must not load the schemas of resources.

export const ANY_ORIGIN = "*";
