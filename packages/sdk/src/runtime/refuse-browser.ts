/** A page shows what it holds to whoever opens it. */
export const secretInBrowser =
  '@keyrail/sdk works with a secret key, which must never be in a browser: use it on your server, and embed tokens in pages'

/** @throws Error where there is a page around this code */
export function refuseBrowser(): void {
  const { document, process } = globalThis as {
    document?: unknown
    process?: { versions?: { node?: string } }
  }
  // A test may put a page into Node.
  if (document !== undefined && process?.versions?.node === undefined) throw new Error(secretInBrowser)
}
