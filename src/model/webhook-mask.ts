// The mask of a webhook, which responses show in its place: anyone who knows the path of such a URL can post to it.

const MASK = "***";
/** The end of a long path is shown, as that of other long secrets. */
const MIN_LONG = 12;
const SHOWN_END = 4;
const MASKED_PATH = /^\/\*\*\*[^/]{0,4}$/;

/** Returns the URL with its path and query hidden, which is a URL too. One that has neither is no secret. */
export function maskWebhook(webhook: string): string {
  const { origin, pathname, search } = new URL(webhook);
  const secret = pathname.slice(1) + search;
  if (secret === "") return webhook;
  // A mask must be one segment of a path.
  const end = secret.length < MIN_LONG ? "" : secret.slice(-SHOWN_END).replaceAll(/[^\w-]/g, "*");
  return `${origin}/${MASK}${end}`;
}

/** Whether a URL looks like a result of `maskWebhook`. It must not be stored, because the secret would be lost. */
export function looksLikeMaskedWebhook(webhook: string): boolean {
  const { pathname, search } = new URL(webhook);
  return search === "" && MASKED_PATH.test(pathname);
}
