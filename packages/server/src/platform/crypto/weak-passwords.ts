import { onceItSucceeds } from '../concurrency/once.ts'

/** Why a password is refused, whatever its length. */
export type Weakness = 'common' | 'same_as_address'

/** The least value of SERVICE_PASSWORD_MIN_LENGTH: shorter passwords are refused before this check. */
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
/** The longest password that is checked; a run may repeat its row several times. */
const longest = 256
const runs = rows.flatMap(row => {
  const round = row.repeat(Math.ceil(longest / row.length) + 1)
  return [round, [...round].reverse().join('')]
})

/**
 * Returns the weakness of a password that is long enough. Upper and lower case are equal. It refuses
 *
 * - the address of the account;
 * - passwords in the list of leaked ones of `@zxcvbn-ts/language-common`, exactly;
 * - up to four characters repeated (`aaaaaaaaaaaa`, `abcabcabcabc`);
 * - a run over the digits, the alphabet or the keyboard, forward or backward (`123456789012`, `qwertyuiopas`).
 *
 * It has no rule about kinds of characters: characters that a rule adds to a word make the word harder to remember and hardly
 * harder to guess.
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

/** Loaded on first use: 20 ms that a start should not wait for. About 1.5 MiB. */
const leaked = onceItSucceeds(async (): Promise<ReadonlySet<string>> => {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return new Set(dictionary['passwords-common'].filter(({ length }) => length >= shortest))
})
