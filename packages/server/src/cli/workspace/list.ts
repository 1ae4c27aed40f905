import { type Command, Option } from 'commander'
import { type Measure, measures, rankByLoad, rankByRows } from '../../workspace/ranking.ts'
import { openDatabase, requireSchema, withClient } from '../database.ts'
import { CommandFailed } from '../failure.ts'
import { print, printJson } from '../output.ts'
import { withProgress } from '../progress.ts'
import type { Settings } from '../settings.ts'

interface Flags {
  by: Measure
  limit: string
  json?: true
}

const limitMax = 10_000

export function addListCommand(workspace: Command, settings: Settings): void {
  workspace
    .command('list')
    .summary('list workspaces, the busiest first')
    .description(
      'Lists workspaces, the busiest first: by their requests or by the time that their transactions held database\n' +
        'connections, in the current hour and the 24 before it, or by the rows that they store. Processes write what\n' +
        'they counted once a minute.',
    )
    .addOption(
      new Option('--by <measure>', 'rows reads every table whole').choices(measures).default('requests'),
    )
    .option('--limit <number>', `at most so many, up to ${limitMax}`, '20')
    .option('--json', 'print [{"id", "name", "slug", and "requests", "connection_ms" or "rows", "largest"}]')
    .action(async ({ by, limit: text, json }: Flags) => {
      const limit = Number(text)
      if (!Number.isInteger(limit) || limit < 1 || limit > limitMax)
        throw new CommandFailed(`--limit must be a whole number from 1 to ${limitMax}.`)
      const config = settings.read()
      const database = await withProgress('Opening the database', () => openDatabase(config))
      try {
        await requireSchema(database.direct)
        const table = await withProgress('Counting', () =>
          withClient(database.direct, client =>
            by === 'rows' ? tableOfRows(client, limit) : tableOfLoad(client, by, limit),
          ),
        )
        if (json) printJson(table.map(({ shown: _, ...row }) => row))
        else printTable(by === 'rows' ? rowsHead : loadHead, table)
      } finally {
        await database.close()
      }
    })
}

type Client = Parameters<typeof rankByRows>[0]

/** A row as JSON, with the same as text for people. */
interface Listed extends Record<string, unknown> {
  readonly shown: readonly string[]
}

const loadHead = ['WORKSPACE', 'ID', 'REQUESTS', 'CONNECTIONS']
const rowsHead = ['WORKSPACE', 'ID', 'ROWS', 'MOST IN']
const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`

const tableOfLoad = async (client: Client, by: Exclude<Measure, 'rows'>, limit: number): Promise<Listed[]> =>
  (await rankByLoad(client, by, limit)).map(({ id, name, slug, requests, connectionMs }) => ({
    id,
    name,
    slug,
    requests,
    connection_ms: connectionMs,
    shown: [slug, id, String(requests), seconds(connectionMs)],
  }))

const tableOfRows = async (client: Client, limit: number): Promise<Listed[]> =>
  (await rankByRows(client, limit)).map(({ id, name, slug, rows, largest }) => ({
    id,
    name,
    slug,
    rows,
    largest,
    shown: [slug, id, String(rows), `${largest.table} (${largest.rows})`],
  }))

function printTable(head: readonly string[], table: readonly Listed[]): void {
  const lines = [head, ...table.map(({ shown }) => shown)]
  const widths = head.map((_, column) => Math.max(...lines.map(line => line[column]?.length ?? 0)))
  for (const line of lines)
    print(
      line
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
    )
}
