// Saved views of the request log in the storage of the browser. They contain ids and names of filters, no secrets.
const STORAGE_KEY = "gatehouse.request-views";

type Views = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Returns no views if the storage is unavailable or contains something else. */
export function readViews(): Views {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "{}");
    return isViews(stored) ? stored : {};
  } catch {
    return {};
  }
}

export function writeViews(views: Views): void {
  try {
    if (Object.keys(views).length === 0) localStorage.removeItem(STORAGE_KEY);
    else localStorage.setItem(STORAGE_KEY, JSON.stringify(views));
  } catch {
    // Without storage, views last until the page is closed.
  }
}

function isViews(value: unknown): value is Views {
  return (
    isObject(value) &&
    Object.values(value).every(
      (view) => isObject(view) && Object.values(view).every((each) => typeof each === "string"),
    )
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
