import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { DumpRefused } from './refused.ts'

/**
 * Encryption of backups in the format age (age-encryption.org/v1): the machine that writes a backup has only recipients, and an
 * identity opens the backup. The library is loaded only when it is needed: the service never needs it.
 */
const library = () => import('age-encryption')

/** The first bytes of every encrypted file. */
export const ageMagic = Buffer.from('age-encryption.org/')
const secretMark = 'AGE-SECRET-KEY-'

/** @throws {DumpRefused} for an unusable recipient. The message does not quote it, because it may be an identity. */
export async function refuseRecipients(recipients: readonly string[]): Promise<void> {
  const { Encrypter } = await library()
  for (const recipient of recipients) {
    if (recipient.toUpperCase().startsWith(secretMark)) {
      throw new DumpRefused(
        'The recipient is an identity, which must stay secret. Give its public key, which begins with age1; ' +
          'age-keygen -y FILE prints it.',
      )
    }
    try {
      new Encrypter().addRecipient(recipient)
    } catch (error) {
      throw new DumpRefused(
        `"${recipient}" is not a recipient of age, such as age1…; age-keygen makes one with its identity.`,
        { cause: error },
      )
    }
  }
}

/** Encrypts what passes through. */
export async function* encrypt(pieces: AsyncIterable<Buffer>, recipients: readonly string[]) {
  const { Encrypter } = await library()
  const encrypter = new Encrypter()
  for (const recipient of recipients) encrypter.addRecipient(recipient)
  yield* Readable.fromWeb(
    (await encrypter.encrypt(ReadableStream.from(pieces) as ReadableStream<Uint8Array>)) as never,
  ) as AsyncIterable<Buffer>
}

/** @throws {DumpRefused} if no identity opens the file, or its bytes were changed or cut. */
export async function* decrypt(pieces: AsyncIterable<Buffer>, identities: readonly string[], path: string) {
  const { Decrypter } = await library()
  const decrypter = new Decrypter()
  for (const identity of identities) decrypter.addIdentity(identity)
  try {
    const opened = await decrypter.decrypt(ReadableStream.from(pieces) as ReadableStream<Uint8Array>)
    yield* Readable.fromWeb(opened as never) as AsyncIterable<Buffer>
  } catch (error) {
    const isForOthers = error instanceof Error && /no identity matched/.test(error.message)
    throw new DumpRefused(
      isForOthers
        ? `${path} is encrypted for another key: none of the given identities opens it.`
        : `${path} is damaged: it cannot be decrypted to its end. Use another backup.`,
      { cause: error },
    )
  }
}

/** A key for one file, which exists only in the memory of this process. */
export async function makeOwnKey(
  recipients: readonly string[],
): Promise<{ identity: string; recipient: string }> {
  const { generateHybridIdentity, generateX25519Identity, identityToRecipient } = await library()
  // One classic recipient beside post-quantum ones would make the post-quantum ones pointless.
  const isHybrid = recipients.length > 0 && recipients.every(recipient => /^age1(?:tag)?pq1/.test(recipient))
  const identity = await (isHybrid ? generateHybridIdentity() : generateX25519Identity())
  return { identity, recipient: await identityToRecipient(identity) }
}

/**
 * Reads a file as `age-keygen` writes it.
 * @throws {DumpRefused} without quoting the file.
 */
export async function readIdentities(path: string): Promise<string[]> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new DumpRefused(`The identity ${path} cannot be read: ${(error as Error).message}`, {
      cause: error,
    })
  }
  if (text.startsWith(ageMagic.toString()) || text.startsWith('-----BEGIN AGE')) {
    throw new DumpRefused(`${path} is an encrypted identity. Decrypt it first: age --decrypt ${path}`)
  }
  const lines = text.split(/\r?\n/).map(line => line.trim())
  const identities = lines.filter(line => line !== '' && !line.startsWith('#'))
  const { Decrypter } = await library()
  try {
    if (identities.length === 0) throw new Error('no identity')
    for (const identity of identities) new Decrypter().addIdentity(identity)
  } catch {
    throw new DumpRefused(`${path} has no identity of age: a line that begins with ${secretMark}.`)
  }
  return identities
}
