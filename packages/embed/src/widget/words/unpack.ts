/** The names of all texts, which the build puts here. */
declare const TEXT_NAMES: string

const names = TEXT_NAMES.split('|')

/** The texts of a language as the build packs them: in the order of their names. A plural form that it has not is empty, and never asked for. */
export function unpack(packed: string) {
  const texts = packed.split('|')
  return Object.fromEntries(names.map((name, at) => [name, texts[at]]))
}
