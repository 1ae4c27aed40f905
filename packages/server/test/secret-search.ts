/** @returns the first form of a secret that the text contains */
export type SecretSearch = (text: string) => string | undefined

/** What a secret looks like after the encodings that it may meet on its way into a text. */
const formsOf = (secret: string) => [
  secret,
  Buffer.from(secret).toString('hex'),
  Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  encodeURIComponent(secret),
]

/** Every secret is at least as long, in characters. More than the prefix of a credential, which thousands share. */
const startLength = 14

/** A number of 16 bits from the first characters, which are compared before more of them are. */
const mark = (text: string, at: number): number =>
  (text.charCodeAt(at) * 7 +
    text.charCodeAt(at + 1) * 131 +
    text.charCodeAt(at + 2) * 1_031 +
    text.charCodeAt(at + 4) * 8_209) &
  0xffff

/** Finds any of thousands of secrets in thousands of texts: it compares where a text has the first characters of one. */
export function searchFor(secrets: Iterable<string>): SecretSearch {
  const formsByStart = new Map<string, string[]>()
  const marks = new Uint8Array(0x10000)
  for (const form of [...secrets].flatMap(formsOf)) {
    if (form.length < startLength) throw new Error(`a secret of ${form.length} characters is too short`)
    const start = form.slice(0, startLength)
    formsByStart.set(start, [...(formsByStart.get(start) ?? []), form])
    marks[mark(form, 0)] = 1
  }
  return text => {
    for (let at = 0; at + startLength <= text.length; at += 1) {
      if (marks[mark(text, at)] === 0) continue
      const found = formsByStart
        .get(text.slice(at, at + startLength))
        ?.find(form => text.startsWith(form, at))
      if (found !== undefined) return found
    }
    return undefined
  }
}
