/** Names in the environment that are not settings, each with the setting that was probably meant. */
export function unknownNames(env: Record<string, string | undefined>, names: readonly string[]): string[] {
  const known = new Set(names.flatMap(name => [name, `${name}_FILE`]))
  return Object.keys(env)
    .filter(name => name.startsWith('SERVICE_') && !known.has(name))
    .map(name => `${name} is not a setting; did you mean ${nearest(name, names)}?`)
}

const nearest = (name: string, names: readonly string[]) =>
  names.reduce((best, next) => (distance(name, next) < distance(name, best) ? next : best))

/** Levenshtein distance; names are short and few. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
