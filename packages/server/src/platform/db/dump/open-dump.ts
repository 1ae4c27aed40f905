import { createHash } from 'node:crypto'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { type DumpHeader, headerBytesMax, parseHeader } from './format.ts'
import type { OnProgress } from './progress.ts'
import { DumpReader } from './reader.ts'
import { DumpRefused } from './refused.ts'
import { gzipMagic, isSeal, makeSeal, withoutSeal } from './seal.ts'
import { type DumpSource, openSource } from './source.ts'

const unpackedBytes = 64 * 1024

/** A backup file that has been verified to its end, and is now read again. */
export interface OpenDump {
  readonly header: DumpHeader
  /** The reader is positioned after the header. */
  readonly reader: DumpReader
  /** @throws if there is more data, or the second reading differs from the first. */
  end(): Promise<void>
  close(): Promise<void>
}

/**
 * @param identities one of which opens an encrypted file.
 * @throws {DumpRefused} if the file is not a backup, or was cut or changed anywhere.
 */
export async function openDump(
  path: string,
  onProgress: OnProgress,
  identities: readonly string[] = [],
): Promise<OpenDump> {
  const source = await openSource(path, identities)
  try {
    return await readAgain(source, await verify(source, path, onProgress))
  } catch (error) {
    await source.close()
    throw error
  }
}

/** @returns the seal. */
async function verify(source: DumpSource, path: string, onProgress: OnProgress): Promise<Buffer> {
  const sha256 = createHash('sha256')
  let seal: Buffer = Buffer.alloc(0)
  let head: Buffer = Buffer.alloc(0)
  let done = 0
  const pieces = withoutSeal(source.read(), last => {
    seal = last
  })
  for await (const piece of pieces) {
    if (head.length < gzipMagic.length) {
      head = Buffer.concat([head, piece.subarray(0, gzipMagic.length - head.length)])
      if (!gzipMagic.subarray(0, head.length).equals(head)) {
        throw new DumpRefused(`${path} is not a Keyrail backup.`)
      }
    }
    sha256.update(piece)
    done += piece.length
    onProgress({ step: 'verify', table: null, done, total: source.bytes })
  }
  if (done === 0 || !isSeal(seal)) {
    throw new DumpRefused(`${path} is not a Keyrail backup, or it is incomplete.`)
  }
  if (!makeSeal(sha256.digest()).equals(seal)) {
    throw new DumpRefused(`${path} is damaged: its checksum does not match its bytes. Use another backup.`)
  }
  return seal
}

async function readAgain(source: DumpSource, seal: Buffer): Promise<OpenDump> {
  const sha256 = createHash('sha256')
  const unpack = createGunzip({ chunkSize: unpackedBytes })
  const unpacked = pipeline(
    withoutSeal(source.read(), () => {}),
    async function* (pieces: AsyncIterable<Buffer>) {
      for await (const piece of pieces) {
        sha256.update(piece)
        yield piece
      }
    },
    unpack,
  )
  // Reading `unpack` fails first; without this handler the rejection would end the process.
  unpacked.catch(() => {})
  const close = async () => {
    unpack.destroy()
    await unpacked.catch(() => {})
    await source.close()
  }
  const reader = new DumpReader(unpack)
  const header = parseHeader(await reader.line(headerBytesMax))
  return {
    header,
    reader,
    async end() {
      await reader.end()
      await unpacked
      // The file was verified before, so it was written to since then.
      if (!makeSeal(sha256.digest()).equals(seal))
        throw new DumpRefused('The file changed while it was read.')
    },
    close,
  }
}
