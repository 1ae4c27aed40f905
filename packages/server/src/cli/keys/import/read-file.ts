import { createReadStream } from 'node:fs'
import { open, readFile, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { CommandFailed } from '../../failure.ts'
import { lineBytesMax, readLines } from '../lines.ts'
import { utf8Of, utf8Texts } from '../utf8.ts'
import { isObject, type Json } from './rows.ts'

/** A file is read record by record, in constant memory. Only a document of JSON is read whole. */
const documentMiBMost = 256

type Kind = 'csv' | 'lines' | 'document'

/** One record, or why there is none where one stands. */
export type Read = { readonly record: unknown } | { readonly fault: string }
type Unfold = (record: Json) => readonly unknown[]

/** Where a format has its records. */
export interface Shape {
  /** The lists of answers and dumps by their names, each with the records in one of its members. */
  readonly lists?: Readonly<Record<string, Unfold>>
  /** The records in one that stands in no such list, if there are several. */
  readonly records?: Unfold
  /** Whether a page says that another one follows. */
  readonly goesOn?: (page: Json) => boolean
}

/** Called at the end of a file whose last page says that another one follows. */
type OnMore = () => void

/**
 * The records of a file, in their order, which is the same each time.
 * @throws {CommandFailed} if it cannot be read, or is an export that is not whole
 */
export async function* readRecords(path: string, shape: Shape = {}, onMore?: OnMore): AsyncGenerator<Read> {
  try {
    yield* recordsOf(path, shape, onMore)
  } catch (error) {
    if (error instanceof CommandFailed || (error as NodeJS.ErrnoException).code === undefined) throw error
    throw unreadable(path, error)
  }
}

export const unreadable = (path: string, error: unknown): CommandFailed =>
  new CommandFailed(`${path} cannot be read: ${(error as Error).message}`)

async function* recordsOf(path: string, shape: Shape, onMore?: OnMore): AsyncGenerator<Read> {
  const kind = await kindOf(path)
  const records = kind === 'csv' ? csvOf(path) : kind === 'lines' ? linesOf(path) : documentOf(path)
  let exported = 0
  let isEnded = false
  let last: unknown
  for await (const read of records) {
    if (isEnded) throw new CommandFailed(`${path} goes on behind the last line of an export.`)
    last = 'record' in read ? read.record : undefined
    const object = isObject(last) ? last.object : undefined
    if (object === 'exported_key') exported += 1
    if (object === 'export_end') {
      isEnded = true
      if ((last as Json).count !== exported)
        throw new CommandFailed(`${path} lacks keys: its last line says another number than it has.`)
    } else if ('fault' in read) yield read
    else for (const record of itemsOf(read.record, shape)) yield { record }
  }
  if (exported > 0 && !isEnded)
    throw new CommandFailed(`${path} is an export that is not whole: it lacks its last line, export_end.`)
  const page = Array.isArray(last) ? last.at(-1) : last
  if (isObject(page) && shape.goesOn?.(page)) onMore?.()
}

/** The records in what stands in a file: of its lists, if the format has such, or itself. */
function itemsOf(value: unknown, shape: Shape): readonly unknown[] {
  if (Array.isArray(value)) return value.flatMap(item => itemsOf(item, shape))
  if (!isObject(value)) return [value]
  const lists = Object.entries(shape.lists ?? {}).filter(([name]) => Array.isArray(value[name]))
  if (lists.length === 0) return shape.records?.(value) ?? [value]
  return lists.flatMap(([name, unfold]) =>
    (value[name] as unknown[]).flatMap(item => (isObject(item) ? unfold(item) : [item])),
  )
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
    throw unreadable(path, error)
  }
}

const notUtf8 = (path: string): CommandFailed =>
  new CommandFailed(`${path} is not UTF-8. Save it as UTF-8: names of customers would be read wrongly.`)

const withoutMark = (text: string): string => text.replace(/^\uFEFF/, '')

async function* csvOf(path: string): AsyncGenerator<Read> {
  // Cells are not trimmed here: that could make one customer of two.
  const rows = parse({
    columns: (names: string[]) =>
      eachOnce(
        path,
        names.map(name => name.trim()),
      ),
    bom: true,
    skip_empty_lines: true,
    max_record_size: lineBytesMax,
  })
  // The fault of the file ends the parser, whose reader gets it.
  pipeline(createReadStream(path), utf8Texts, rows, () => {})
  try {
    for await (const record of rows) yield { record }
  } catch (error) {
    if (error instanceof TypeError) throw notUtf8(path)
    if (!(error instanceof CsvError)) throw error
    // The message of the library quotes the file, which may have keys.
    const where = typeof error.lines === 'number' ? ` near line ${error.lines}` : ''
    throw new CommandFailed(`${path} is no CSV with a line of column names: ${error.code}${where}.`)
  }
}

/** @throws {CommandFailed} without the name: a table without a line of names has keys there */
function eachOnce(path: string, names: string[]): string[] {
  const lower = names.map(name => name.toLowerCase())
  const second = lower.findIndex((name, at) => lower.indexOf(name) !== at)
  if (second < 0) return names
  const first = lower.indexOf(lower[second] ?? '')
  throw new CommandFailed(`${path}: the columns ${first + 1} and ${second + 1} have the same name.`)
}

async function* linesOf(path: string): AsyncGenerator<Read> {
  for await (const line of readLines(path)) {
    const text = line.text === null ? null : withoutMark(line.text).trim()
    if (text === '') continue
    const record = text === null ? undefined : parsed(text)
    yield record === undefined ? { fault: 'the line is not JSON in UTF-8' } : { record }
  }
}

async function* documentOf(path: string): AsyncGenerator<Read> {
  if ((await stat(path)).size > documentMiBMost * 1_048_576)
    throw new CommandFailed(
      `${path} is one document of JSON with more than ${documentMiBMost} MiB. Write one record on each line.`,
    )
  const text = utf8Of(await readFile(path))
  if (text === null) throw notUtf8(path)
  const record = parsed(withoutMark(text))
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
