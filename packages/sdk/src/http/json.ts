/** Null if the text is not JSON. No body of the service is null, so readers of bodies reject it. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The members of a JSON object. Empty for anything else, so that readers reject each missing one. */
export function parseMembers(text: string): Readonly<Record<string, unknown>> {
  const value = parseJson(text)
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
