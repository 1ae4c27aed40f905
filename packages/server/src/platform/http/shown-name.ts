/** Of more characters, a name that is no word could be a key or a digest, which a file has where a name should be. */
const anyMost = 15
const words = /^[A-Za-z_.-]{1,40}$/

/**
 * A name of a member as an answer repeats it: in valid Unicode, and only if it is short or looks like a word, as no key or digest that
 * systems draw. Answers are stored, and logged by those who get them.
 */
export function shownName(name: string): string {
  if (name.length > anyMost && !words.test(name)) return '…'
  return name.toWellFormed().replaceAll('\0', '\uFFFD')
}
