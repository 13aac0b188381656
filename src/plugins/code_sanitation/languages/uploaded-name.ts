// The name of an uploaded file that a web server would run, in the header of a multipart part.
import { choice, lit, oneOf, seq, skipTo, times } from "../combinators.ts";
import type { Matcher } from "../matcher.ts";
import { ows, quote } from "../tokens.ts";

/** Matches after `filename` if the name has this extension, also before the extension of an image: `="x.php.jpg"`. */
export function uploadedName(extension: Matcher): Matcher {
  const end = choice(quote, lit("gif"), lit("jpg"), lit("png"));
  return seq(
    lit("="),
    quote,
    skipTo(seq(lit("."), ows, extension, times(0, 3, oneOf(" ./")), end), 60, "\n"),
  );
}
