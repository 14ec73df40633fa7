// Parses URLs. `URL.canParse` must not decide: in Node.js 20 it returns false for hosts with Latin-1 letters
// (`münchen`) once V8 has optimized it.

/** Returns the URL, or null for a text that is no absolute URL. */
export function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
