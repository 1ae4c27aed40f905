/** `keyrail workspace`: `list.ts`, `adopt.ts`, and removal here. */

import type { Command } from 'commander'
import type pg from 'pg'
import type { Config } from '../../config.ts'
import { isUuid } from '../../platform/http/validate.ts'
import {
  findWorkspaceLabel,
  removeLoose,
  removeWorkspace,
  type WorkspaceLabel,
} from '../../workspace/removal.ts'
import { askText } from '../ask.ts'
import { openDatabase, requireSchema, withClient } from '../database.ts'
import { CommandFailed, explain } from '../failure.ts'
import { canAsk, print, printJson } from '../output.ts'
import { withProgress } from '../progress.ts'
import type { Settings } from '../settings.ts'
import { addAdoptCommand } from './adopt.ts'
import { addListCommand } from './list.ts'

interface Flags {
  yes?: true
  json?: true
}

export function addWorkspaceCommand(program: Command, settings: Settings): void {
  const workspace = program
    .command('workspace')
    .summary('manage workspaces as the operator')
    .description('Manages workspaces as the operator. The API creates them: POST /v1/workspaces.')
  addListCommand(workspace, settings)
  addAdoptCommand(workspace, settings)
  workspace
    .command('delete')
    .summary('remove a workspace for good')
    .description(
      'Removes a workspace for good, with everything in it: projects, tenants, keys, secret keys, its audit log.\n' +
        'Its credentials stop working and its slug is free again. Only a backup brings it back.',
    )
    .argument('<id>', 'id of the workspace')
    .option('--yes', 'do not ask; without a terminal this is required')
    .option('--json', 'print {"id", "name", "slug", "removed": {table: rows}}')
    .addHelpText('after', '\nAt a terminal you type the slug to confirm.')
    .action(async (id: string, flags: Flags) => {
      if (!isUuid(id)) throw new CommandFailed(`"${id}" is not a workspace id (a UUID).`)
      const config = settings.read()
      const database = await withProgress('Opening the database', () => openDatabase(config))
      try {
        await requireSchema(database.direct)
        await withClient(database.direct, async client => {
          const label = await findWorkspaceLabel(client, id)
          if (label === null) return await finish(client, id, config, flags)
          await confirm(label, flags)
          const work = async () => {
            const rows = await removeWorkspace(client, label.id)
            return rows && { ...rows, ...(await clearCounters(config, label.id)) }
          }
          const removed = await withProgress(`Removing ${label.slug}`, work)
          if (removed === null) throw new CommandFailed(`Workspace ${id} was removed by another command.`)
          report(label, removed, flags)
        })
      } finally {
        await database.close()
      }
    })
}

type Redis = Pick<Config, 'redisUrl'>

/** Counters may be in Redis too. Last, because an interrupted command that runs again removes them. */
async function clearCounters({ redisUrl }: Redis, id: string): Promise<Record<string, number>> {
  if (redisUrl === null) return {}
  try {
    // Loaded only if there is a Redis.
    const { clearRedis } = await import('../../ratelimit/redis/clear.ts')
    return { redis_counters: await clearRedis(redisUrl, id) }
  } catch (error) {
    throw new CommandFailed(
      `The workspace is removed, but not its rate-limit counters in Redis: ${explain(error)}. Run the command again.`,
    )
  }
}

/** Removes what an interrupted command has left; that one was confirmed. */
async function finish(client: pg.Client, id: string, config: Redis, { json }: Flags): Promise<void> {
  const removed = { ...(await removeLoose(client, id)), ...(await clearCounters(config, id)) }
  if (Object.values(removed).every(rows => rows === 0))
    throw new CommandFailed(`Workspace ${id} does not exist.`)
  if (json) printJson({ id, removed })
  else {
    print(`Workspace ${id} had been removed. The rest of it is removed now:`)
    printRows(removed)
  }
}

async function confirm({ slug, name }: WorkspaceLabel, { yes }: Flags): Promise<void> {
  if (yes) return
  if (!canAsk()) {
    throw new CommandFailed(
      `This removes the workspace "${slug}" and everything in it for good. Confirm with --yes.`,
    )
  }
  await askText(
    `Removes "${name}" and everything in it for good. Type its slug, ${slug}, to confirm`,
    answer => (answer === slug ? undefined : `The slug is ${slug}.`),
  )
}

function report(label: WorkspaceLabel, removed: Record<string, number>, { json }: Flags): void {
  if (json) {
    printJson({ ...label, removed })
    return
  }
  print(`Workspace ${label.slug} (${label.id}) is removed:`)
  printRows(removed)
}

function printRows(removed: Record<string, number>): void {
  for (const [table, rows] of Object.entries(removed)) if (rows > 0) print(`  ${table.padEnd(20)}${rows}`)
}
