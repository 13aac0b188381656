// Where a module that a worker thread loads is located: in the source tree, or in the single executable.

/**
 * Returns the URL to load a TypeScript module from. In the single executable, all code is one file, so `url` names a file next to it;
 * scripts/build.ts puts the modules of worker threads there, as JavaScript.
 */
export function moduleUrl({ href }: URL): string {
  const isExecutable = href.includes("/$bunfs/") || href.includes("/~BUN/");
  return isExecutable ? href.replace(/\.ts$/, ".js") : href;
}
