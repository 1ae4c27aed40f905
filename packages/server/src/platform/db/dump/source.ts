import { type FileHandle, open } from 'node:fs/promises'
import { ageMagic, decrypt } from './age.ts'
import { DumpRefused } from './refused.ts'

const pieceBytes = 64 * 1024

/** A backup file that can be read from its beginning more than once, decrypted if it is encrypted. */
export interface DumpSource {
  /** The size of the file. If the file is encrypted, `read` returns a little less. */
  readonly bytes: number
  read(): AsyncIterable<Buffer>
  close(): Promise<void>
}

/** @throws {DumpRefused} if the file cannot be read, or is encrypted and no identity is given. */
export async function openSource(path: string, identities: readonly string[]): Promise<DumpSource> {
  const file = await open(path, 'r').catch(error => {
    throw new DumpRefused(`${path} cannot be read: ${error.message}`, { cause: error })
  })
  try {
    const stat = await file.stat()
    if (!stat.isFile()) throw new DumpRefused(`${path} is not a file; a restore has to read it twice.`)
    const isEncrypted = await beginsWith(file, ageMagic)
    if (isEncrypted && identities.length === 0) {
      throw new DumpRefused(`${path} is encrypted. Give the file with its identity: --identity FILE`)
    }
    return {
      bytes: stat.size,
      read: () => (isEncrypted ? decrypt(piecesOf(file), identities, path) : piecesOf(file)),
      close: () => file.close(),
    }
  } catch (error) {
    await file.close()
    throw error
  }
}

const piecesOf = (file: FileHandle): AsyncIterable<Buffer> =>
  file.createReadStream({ start: 0, autoClose: false, highWaterMark: pieceBytes })

async function beginsWith(file: FileHandle, magic: Buffer): Promise<boolean> {
  const { buffer } = await file.read(Buffer.alloc(magic.length), 0, magic.length, 0)
  return buffer.equals(magic)
}
