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

/** Finds any of thousands of secrets in thousands of texts: it compares where a text has the first characters of one. */
export function searchFor(secrets: Iterable<string>): SecretSearch {
  const formsByStart = new Map<string, string[]>()
  for (const form of [...secrets].flatMap(formsOf)) {
    if (form.length < startLength) throw new Error(`a secret of ${form.length} characters is too short`)
    const start = form.slice(0, startLength)
    formsByStart.set(start, [...(formsByStart.get(start) ?? []), form])
  }
  return text => {
    for (let at = 0; at + startLength <= text.length; at += 1) {
      const found = formsByStart
        .get(text.slice(at, at + startLength))
        ?.find(form => text.startsWith(form, at))
      if (found !== undefined) return found
    }
    return undefined
  }
}
