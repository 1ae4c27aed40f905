/** Names of other products and of earlier versions. */
const others: Readonly<Record<string, string>> = {
  baseUrl: 'url',
  projectId: 'project',
  apiKey: 'secretKey',
  keyring: 'keys',
}

/** So many letters must be alike from the start, and half of the longer name. */
const ALIKE_MIN = 4

/** @returns the name of the option that was meant, if one of the known ones begins alike */
export function rightName(given: string, known: Readonly<Record<string, true>>): string | undefined {
  const names = Object.keys(known)
  const { [given]: other = '' } = others
  if (names.includes(other)) return other
  let right: string | undefined
  let most = 0
  for (const name of names) {
    const [one, two] = [plainOf(given), plainOf(name)]
    const alike = alikeFromStart(one, two)
    if (alike < ALIKE_MIN || alike < Math.max(one.length, two.length) / 2 || alike <= most) continue
    right = name
    most = alike
  }
  return right
}

/** The error about a wrong name. `what`, such as a maker, takes names of this kind. */
export const wrongName = (what: string, kind: 'field' | 'option', given: string, right?: string): TypeError =>
  new TypeError(`${what} has no ${kind} "${given}"${right === undefined ? '' : `: it is called "${right}"`}`)

const plainOf = (name: string): string => name.replaceAll(/[_-]/g, '').toLowerCase()

function alikeFromStart(one: string, two: string): number {
  let at = 0
  while (at < one.length && one[at] === two[at]) at++
  return at
}
