import type { EmbedKey } from '../types.ts'
import { nameOf } from './key-words.ts'
import type { Words } from './words/words.ts'

/** A text with the name of a key in it. Isolated, a name of any script, or with marks of direction, turns nothing around it. */
export const withName = (
  name: 'editNamed' | 'rotateNamed' | 'revokeNamed' | 'revokeAsk',
  key: EmbedKey,
  words: Words,
) =>
  words
    .text(name)
    .split('{name}')
    .map((part, at) => [at > 0 && <bdi>{nameOf(key, words)}</bdi>, part])
