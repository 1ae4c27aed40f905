/** Names of other products and of earlier versions. */
const others: Readonly<Record<string, string>> = {
  baseUrl: 'url',
  projectId: 'project',
  apiKey: 'secretKey',
  keyring: 'keys',
}

const EDITS_MAX = 2
const PREFIX_MIN = 4

/** @returns the name of the option that was meant, if one of the known ones is near */
export function rightName(given: string, known: Readonly<Record<string, true>>): string | undefined {
  const names = Object.keys(known)
  const [plain, other] = [plainOf(given), others[given]]
  return names.find(name => name === other) ?? names.find(name => isNear(plain, plainOf(name)))
}

const plainOf = (name: string): string => name.replaceAll(/[_-]/g, '').toLowerCase()

function isNear(one: string, two: string): boolean {
  const [short, long] = one.length < two.length ? [one, two] : [two, one]
  if (short.length < PREFIX_MIN) return short === long
  return long.startsWith(short) || edits(short, long) <= EDITS_MAX
}

/** How many letters to add, drop or replace. */
function edits(one: string, two: string): number {
  let row = Array.from({ length: two.length + 1 }, (_, at) => at)
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1]
    for (let to = 1; to <= two.length; to++) {
      const [beside = 0, above = 0, before = 0] = [next[to - 1], row[to], row[to - 1]]
      next.push(Math.min(beside + 1, above + 1, before + (letter === two[to - 1] ? 0 : 1)))
    }
    row = next
  }
  return row[two.length] ?? 0
}
