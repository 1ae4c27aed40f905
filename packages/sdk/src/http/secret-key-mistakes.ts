import { readKeyForm } from '../verify/token.ts'

/** `krsk_live_` or `krsk_test_`, and 38 characters. */
const LENGTH = 48

/** Says of a value that is no secret key what it is instead. It shows nothing of it. */
export function mistakeOf(value: unknown): string {
  if (typeof value !== 'string')
    return `is of type ${value === null ? 'null' : typeof value}: give the text of a secret key, or a function that returns it`
  const bare = value.trim()
  if (bare === '') return 'is empty'
  if (bare !== value) return 'has white space around it, such as the end of a line: leave it out'
  if (/^bearer\b/i.test(value)) return 'begins with Bearer, which every request adds by itself: leave it out'
  if (/^["'`]|["'`]$/.test(value)) return 'has quotation marks around it: leave them out'
  if (value.startsWith('krses_')) return "is the token of a person's session: make a secret key with it"
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(value))
    return 'is an embed token, which is for browsers: give a secret key'
  if (!value.startsWith('krsk_')) {
    const isKey = readKeyForm(value) !== 'malformed' || /^kr_(?:live|test)_/.test(value)
    return isKey
      ? 'is an API key, such as your customers have: give a secret key (krsk_live_… or krsk_test_…)'
      : 'is not a Keyrail secret key (krsk_live_… or krsk_test_…)'
  }
  return value.length === LENGTH
    ? 'has a wrong checksum: a character of it is not the one that it was'
    : `has ${value.length} characters, and a secret key has ${LENGTH}: it was cut, or something was added to it`
}
