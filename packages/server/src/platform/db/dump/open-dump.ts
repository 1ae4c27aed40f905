import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { type DumpHeader, headerBytesMax, parseHeader } from './format.ts'
import type { OnProgress } from './progress.ts'
import { DumpReader } from './reader.ts'
import { DumpRefused } from './refused.ts'
import { gzipMagic, isSeal, makeSeal, sealLength } from './seal.ts'

const pieceBytes = 64 * 1024

/** A backup file that was read to its end and found whole, and is now read again. */
export interface OpenDump {
  readonly header: DumpHeader
  /** Behind the header. */
  readonly reader: DumpReader
  /** @throws when there is more than was read, or the second reading was not of the same bytes. */
  end(): Promise<void>
  close(): Promise<void>
}

/** @throws {DumpRefused} for what is no backup, and for one that was cut short or changed anywhere. */
export async function openDump(path: string, onProgress: OnProgress): Promise<OpenDump> {
  const file = await open(path, 'r').catch(error => {
    throw new DumpRefused(`${path} cannot be read: ${error.message}`, { cause: error })
  })
  try {
    const packedBytes = await verify(file, path, onProgress)
    return await readAgain(file, packedBytes)
  } catch (error) {
    await file.close()
    throw error
  }
}

/** @returns how many bytes come before the seal. */
async function verify(file: FileHandle, path: string, onProgress: OnProgress): Promise<number> {
  const stat = await file.stat()
  if (!stat.isFile()) throw new DumpRefused(`${path} is not a file; a restore has to read it twice.`)
  const packedBytes = stat.size - sealLength
  if (packedBytes <= 0) throw new DumpRefused(`${path} is not a Keyrail backup, or it was cut short.`)
  const { buffer: magic } = await file.read(Buffer.alloc(gzipMagic.length), 0, gzipMagic.length, 0)
  if (!magic.equals(gzipMagic)) throw new DumpRefused(`${path} is not a Keyrail backup.`)
  const { buffer: seal } = await file.read(Buffer.alloc(sealLength), 0, sealLength, packedBytes)
  if (!isSeal(seal)) throw new DumpRefused(`${path} is not a Keyrail backup, or it was cut short.`)

  const sha256 = createHash('sha256')
  let done = 0
  for await (const piece of packed(file, packedBytes)) {
    sha256.update(piece)
    done += piece.length
    onProgress({ step: 'verify', table: null, done, total: packedBytes })
  }
  if (!makeSeal(sha256.digest()).equals(seal)) {
    throw new DumpRefused(`${path} is damaged: its checksum is not that of its bytes. Take another backup.`)
  }
  return packedBytes
}

async function readAgain(file: FileHandle, packedBytes: number): Promise<OpenDump> {
  const seal = Buffer.alloc(sealLength)
  await file.read(seal, 0, sealLength, packedBytes)
  const sha256 = createHash('sha256')
  const unpack = createGunzip({ chunkSize: pieceBytes })
  const unpacked = pipeline(
    packed(file, packedBytes),
    async function* (pieces: AsyncIterable<Buffer>) {
      for await (const piece of pieces) {
        sha256.update(piece)
        yield piece
      }
    },
    unpack,
  )
  // Reading `unpack` tells of it first; without a handler it would end the process.
  unpacked.catch(() => {})
  const close = async () => {
    unpack.destroy()
    await unpacked.catch(() => {})
    await file.close()
  }
  const reader = new DumpReader(unpack)
  const header = parseHeader(await reader.line(headerBytesMax))
  return {
    header,
    reader,
    async end() {
      await reader.end()
      await unpacked
      // The file was verified before; this is for one that somebody has written to since.
      if (!makeSeal(sha256.digest()).equals(seal))
        throw new DumpRefused('The file changed while it was read.')
    },
    close,
  }
}

const packed = (file: FileHandle, bytes: number) =>
  file.createReadStream({ start: 0, end: bytes - 1, autoClose: false, highWaterMark: pieceBytes })
