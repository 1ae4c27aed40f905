import type { EmbedKey } from '../types.ts'
import { nameOf } from './key-words.ts'
import type { Words } from './words/words.ts'

/** A text with the name of a key in it. The name is isolated, so that its script, or marks of direction in it, change nothing around it. */
export const withName = (
  name: `${'edit' | 'rotate' | 'pause' | 'resume' | 'revoke'}Named` | 'revokeAsk',
  key: EmbedKey,
  words: Words,
) =>
  words
    .text(name)
    .split('{name}')
    .map((part, at) => [at > 0 && <bdi>{nameOf(key, words)}</bdi>, part])
