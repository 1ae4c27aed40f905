import type { Keyring } from './keyring.ts'
import type { Words } from './words/words.ts'

/** What the parts of one widget share. */
export interface At {
  readonly words: Words
  readonly keyring: Keyring
  /** Whether dates are shown; until then their space stays empty. */
  readonly hasDates?: boolean
}
