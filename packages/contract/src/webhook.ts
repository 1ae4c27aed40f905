import Type, { type Static } from 'typebox'
import { oneOf, strictObject } from './shared.ts'

/** What a code host reports, as it signs it. An entry may have more, or no token; what is no text counts as left out. */
export const LeakReport = Type.Array(
  Type.Object({
    token: Type.Optional(Type.String()),
    type: Type.Optional(Type.String({ description: 'What the code host calls this kind of token.' })),
    url: Type.Optional(Type.String({ description: 'Where it was found; may be empty.' })),
    source: Type.Optional(Type.String({ description: 'In what it was found, such as `commit`.' })),
  }),
)

/** Where a token was found. Text from outside, bounded, and with no token in it. */
export interface LeakPlace {
  readonly url: string | null
  readonly source: string | null
}

/** Characters that are kept of each. */
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
    token_type: Type.String({ description: 'As the entry has it; empty where it has none.' }),
    label: oneOf(leakLabels, {
      description: '`true_positive`: it was issued here, and is of no use any more.',
    }),
  }),
)
export type LeakFeedback = Static<typeof LeakFeedback>
