import { test } from 'node:test'

/** The option `fetch`. */
export type Carrier = typeof globalThis.fetch | undefined

/** What can carry the calls of the SDK on Node: `node:http`, which is the default, or a `fetch`. */
export const carriers: readonly (readonly [name: string, fetch: Carrier])[] = [
  ['node:http', undefined],
  ['fetch', globalThis.fetch],
]

/** A test for each of them. */
export function overEach(name: string, run: (fetch: Carrier) => Promise<void>): void {
  for (const [carrier, fetch] of carriers) test(`${name}, over ${carrier}`, () => run(fetch))
}
