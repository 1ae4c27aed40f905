/** Why a password is refused, whatever its length. */
export type Weakness = 'common' | 'same_as_address'

/** The least that SERVICE_PASSWORD_MIN_LENGTH may be: what is shorter is refused before it gets here. */
const shortest = 8

/** Rows of keys, in the order in which fingers run over them. */
const rows = [
  '0123456789',
  'abcdefghijklmnopqrstuvwxyz',
  'qwertyuiopasdfghjklzxcvbnm',
  'qwertzuiopasdfghjklyxcvbnm',
  'azertyuiopqsdfghjklmwxcvbn',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p',
]
/** The longest password that is asked about; a run may go round its row several times. */
const longest = 256
const runs = rows.flatMap(row => {
  const round = row.repeat(Math.ceil(longest / row.length) + 1)
  return [round, [...round].reverse().join('')]
})

/**
 * What is wrong with a password that is long enough. Upper and lower case count as the same. Refused are
 *
 * - the address of the account;
 * - what stands in the list of leaked passwords of `@zxcvbn-ts/language-common`, exactly;
 * - up to four characters over and over (`aaaaaaaaaaaa`, `abcabcabcabc`);
 * - a run over the digits, the alphabet or the keyboard, onwards or backwards (`123456789012`, `qwertyuiopas`).
 *
 * Nothing else: what people are made to add to a word makes it harder to remember and hardly harder to guess.
 */
export async function weaknessOf(password: string, address: string): Promise<Weakness | null> {
  const folded = fold(password)
  if (folded === fold(address)) return 'same_as_address'
  if (repeats(folded) || runs.some(run => run.includes(folded))) return 'common'
  return (await leaked()).has(folded) ? 'common' : null
}

const fold = (text: string) => text.normalize('NFC').toLowerCase()

function repeats(text: string): boolean {
  const characters = [...text]
  return [1, 2, 3, 4].some(period => characters.every((one, i) => one === characters[i % period]))
}

let list: Promise<ReadonlySet<string>> | null = null

/** Read at the first need: 20 ms that a start has no reason to wait for. About 1.5 MiB. */
function leaked(): Promise<ReadonlySet<string>> {
  list ??= import('@zxcvbn-ts/language-common').then(
    ({ dictionary }) => new Set(dictionary['passwords-common'].filter(({ length }) => length >= shortest)),
  )
  return list
}
