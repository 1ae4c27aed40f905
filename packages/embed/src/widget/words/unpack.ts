/** The names of all texts, which the build puts here. */
declare const TEXT_NAMES: string

const names = TEXT_NAMES.split('|')

/** The texts of a language as the build packs them: in the order of their names, empty where there is none. */
export function unpack(packed: string) {
  const texts = packed.split('|')
  return Object.fromEntries(names.map((name, at) => [name, texts[at]] as const).filter(([, text]) => text))
}
