import type { Static } from 'typebox'
import { Type } from './schema.ts'
import { oneOf, strictObject } from './shared.ts'

/** A code host's signed report. An entry may have more fields, or no token; a field that is not a string counts as absent. */
export const LeakReport = Type.Array(
  Type.Object({
    token: Type.Optional(Type.String()),
    type: Type.Optional(Type.String({ description: 'The code host’s name for this kind of token.' })),
    url: Type.Optional(Type.String({ description: 'The URL where it was found; may be empty.' })),
    source: Type.Optional(
      Type.String({ description: 'The kind of place where it was found, such as `commit`.' }),
    ),
  }),
)

/** Where a token was found: text from outside, cut to a length, without any token. */
export interface LeakPlace {
  readonly url: string | null
  readonly source: string | null
}

/** How many characters of each are kept. */
export const leakUrlMax = 2_000
export const leakSourceMax = 200

export const leakLabels = ['true_positive', 'false_positive'] as const

/** An answer for each entry that has a token, in the order of the entries. */
export const LeakFeedback = Type.Array(
  strictObject({
    token_hash: Type.String({
      pattern: '^[0-9a-f]{64}$',
      description: 'SHA-256 of the token, in lower-case hex.',
    }),
    token_type: Type.String({ description: 'The `type` of the entry; empty if it has none.' }),
    label: oneOf(leakLabels, {
      description: '`true_positive`: this service issued it, and it no longer works.',
    }),
  }),
)
export type LeakFeedback = Static<typeof LeakFeedback>
