/** Everyone can read what a page contains. */
export const secretInBrowser =
  '@keyrail/sdk works with a secret key, which must never be in a browser: use it on your server, and embed tokens in pages'

/** @throws Error in a browser */
export function refuseBrowser(): void {
  const { document, process } = globalThis as {
    document?: unknown
    process?: { versions?: { node?: string } }
  }
  // Tests may define `document` in Node.
  if (document !== undefined && process?.versions?.node === undefined) throw new Error(secretInBrowser)
}
