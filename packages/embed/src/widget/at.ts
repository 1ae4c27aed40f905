import type { Keyring } from './keyring.ts'
import type { Words } from './words/words.ts'

/** What every part of one widget has around it. */
export interface At {
  readonly words: Words
  readonly keyring: Keyring
  /** Whether dates are shown; until then their place is kept. */
  readonly hasDates?: boolean
}
