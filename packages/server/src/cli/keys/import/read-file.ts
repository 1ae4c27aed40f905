import { createReadStream } from 'node:fs'
import { open, readFile, stat } from 'node:fs/promises'
import { CsvError, parse } from 'csv-parse'
import { CommandFailed } from '../../failure.ts'
import { lineBytesMax, readLines } from '../lines.ts'
import { isObject, type Json } from './rows.ts'

/** A file is read record by record, in constant memory. Only a document of JSON is read whole. */
const documentMiBMost = 256

type Kind = 'csv' | 'lines' | 'document'

/** One record, or why there is none where one stands. */
export type Read = { readonly record: unknown } | { readonly fault: string }
type Unfold = (record: Json) => readonly unknown[]

/**
 * The records of a file, in their order, which is the same each time.
 * @param unfold the records in one of a document or a line
 * @throws {CommandFailed} if it cannot be read, or is an export that is not whole
 */
export async function* readRecords(path: string, unfold: Unfold = record => [record]): AsyncGenerator<Read> {
  const kind = await kindOf(path)
  const records = kind === 'csv' ? csvOf(path) : kind === 'lines' ? linesOf(path) : documentOf(path)
  let exported = 0
  let isEnded = false
  for await (const read of records) {
    if (isEnded) throw new CommandFailed(`${path} goes on behind the last line of an export.`)
    const object = 'record' in read && isObject(read.record) ? read.record.object : undefined
    if (object === 'exported_key') exported += 1
    if (object === 'export_end') {
      isEnded = true
      if ('record' in read && (read.record as Json).count !== exported)
        throw new CommandFailed(`${path} lacks keys: its last line says another number than it has.`)
    } else if ('fault' in read) yield read
    else for (const record of itemsOf(read.record, unfold)) yield { record }
  }
  if (exported > 0 && !isEnded)
    throw new CommandFailed(`${path} is an export that is not whole: it lacks its last line, export_end.`)
}

/** Answers of APIs have their records in `data` or `items`, and dumps of Kong in `consumers`. */
function itemsOf(value: unknown, unfold: Unfold): readonly unknown[] {
  if (Array.isArray(value)) return value.flatMap(item => itemsOf(item, unfold))
  if (!isObject(value)) return [value]
  const inner = value.data ?? value.items ?? value.consumers
  return Array.isArray(inner) ? itemsOf(inner, unfold) : unfold(value)
}

async function kindOf(path: string): Promise<Kind> {
  const start = (await head(path)).trimStart()
  if (start === '') throw new CommandFailed(`${path} is empty.`)
  if (start.startsWith('[')) return 'document'
  if (!start.startsWith('{')) return 'csv'
  const [line = ''] = start.split('\n', 1)
  return parsed(line) === undefined ? 'document' : 'lines'
}

/** The longest line that is one, and some bytes. */
async function head(path: string): Promise<string> {
  try {
    await using file = await open(path)
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(lineBytesMax + 16) })
    return withoutMark(buffer.toString('utf8', 0, bytesRead))
  } catch (error) {
    throw new CommandFailed(`${path} cannot be read: ${(error as Error).message}`)
  }
}

const withoutMark = (text: string): string => text.replace(/^\uFEFF/, '')

async function* csvOf(path: string): AsyncGenerator<Read> {
  const rows = createReadStream(path).pipe(
    parse({ columns: true, bom: true, skip_empty_lines: true, trim: true, max_record_size: lineBytesMax }),
  )
  try {
    for await (const record of rows) yield { record }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    // The message of the library quotes the file, which may have keys.
    const where = typeof error.lines === 'number' ? ` near line ${error.lines}` : ''
    throw new CommandFailed(`${path} is no CSV with a line of column names: ${error.code}${where}.`)
  }
}

async function* linesOf(path: string): AsyncGenerator<Read> {
  for await (const line of readLines(path)) {
    const text = line.text === null ? null : withoutMark(line.text).trim()
    if (text === '') continue
    const record = text === null ? undefined : parsed(text)
    yield record === undefined ? { fault: 'the line is not JSON' } : { record }
  }
}

async function* documentOf(path: string): AsyncGenerator<Read> {
  if ((await stat(path)).size > documentMiBMost * 1_048_576)
    throw new CommandFailed(
      `${path} is one document of JSON with more than ${documentMiBMost} MiB. Write one record on each line.`,
    )
  const record = parsed(withoutMark(await readFile(path, 'utf8')))
  if (record === undefined) throw new CommandFailed(`${path} is not JSON.`)
  yield { record }
}

/** Undefined if it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
