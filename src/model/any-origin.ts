// The origin that stands for all websites. In its own file, because the proxy must not load the schemas of resources.

export const ANY_ORIGIN = "*";
