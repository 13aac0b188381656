// Compiles an upstream: every target with its provider's address, format and credential worked out.
import type { ErrorDetail } from "../base/errors.ts";
import type { WireFormat } from "../base/wire-format.ts";
import type { Target } from "../model/target.ts";
import type { Upstream } from "../model/upstream.ts";
import { isKnownProvider, providerNamed } from "../providers/registry.ts";
import { CompileError } from "./compile-error.ts";

export interface CompiledTarget {
  readonly id: string;
  readonly provider: string;
  readonly format: WireFormat;
  /** Scheme, host and base path, without a slash at the end. */
  readonly baseUrl: string;
  /** Null: the request's own path is kept. */
  readonly path: string | null;
  readonly target: Target;
}

export interface CompiledUpstream {
  readonly id: string;
  readonly upstream: Upstream;
  readonly targets: readonly CompiledTarget[];
}

export function compileUpstream(upstream: Upstream): CompiledUpstream {
  const faults: ErrorDetail[] = [];
  const targets: CompiledTarget[] = [];
  for (const [index, target] of upstream.targets.entries()) {
    const provider = providerNamed(target.provider);
    const baseUrl = target.base_url ?? provider.base_url;
    if (baseUrl === null) {
      const who = isKnownProvider(target.provider)
        ? target.provider
        : `the provider "${target.provider}" is not known and`;
      faults.push({ path: `targets[${index}].base_url`, message: `${who} needs a base_url` });
      continue;
    }
    targets.push({
      id: target.id,
      provider: target.provider,
      format: target.format ?? provider.format,
      baseUrl,
      path: target.path === "" ? null : (target.path ?? provider.default_path),
      target,
    });
  }
  if (faults.length > 0) throw new CompileError("upstreams", upstream.id, faults);
  return { id: upstream.id, upstream, targets };
}
