import { readKeyForm } from '../verify/token.ts'

/** `krsk_live_` or `krsk_test_`, and 38 characters. */
const LENGTH = 48

/** Says what a value is that is not a secret key. The text shows no part of the value. */
export function mistakeOf(value: unknown): string {
  if (typeof value !== 'string')
    return `is of type ${value === null ? 'null' : typeof value}: give a string, or a function that returns one`
  const bare = value.trim()
  if (bare === '') return 'is empty'
  if (bare !== value) return 'begins or ends with white space, such as a line feed: remove it'
  if (/^bearer\b/i.test(value)) return 'begins with Bearer, which the SDK adds: remove it'
  if (/^["'`]|["'`]$/.test(value)) return 'is in quotation marks: remove them'
  if (value.startsWith('krses_')) return 'is a session token: create a secret key with it'
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(value))
    return 'is an embed token, which is for browsers: give a secret key'
  if (!value.startsWith('krsk_')) {
    const isKey = readKeyForm(value) !== 'malformed' || /^kr_(?:live|test)_/.test(value)
    return isKey
      ? 'is an API key, as customers use: give a secret key (krsk_live_… or krsk_test_…)'
      : 'is not a Keyrail secret key (krsk_live_… or krsk_test_…)'
  }
  return value.length === LENGTH
    ? 'has a wrong checksum: one of its characters was changed'
    : `has ${value.length} characters instead of ${LENGTH}: it was cut, or something was added to it`
}
