import { randomBytes } from 'node:crypto'
import type { Membership } from '@keyrail/contract/people'
import type { Command } from 'commander'
import { addressKey } from '../../people/address.ts'
import { findPersonLabel } from '../../people/removal.ts'
import { systemClock } from '../../platform/clock.ts'
import { isUuid } from '../../platform/http/validate.ts'
import { Refusal } from '../../platform/refusal.ts'
import { adopt } from '../../workspace/adopt.ts'
import { type CommandDatabase, openDatabase, requireSchema, withClient } from '../database.ts'
import { CommandFailed } from '../failure.ts'
import { print, printJson } from '../output.ts'
import { withDb } from '../own-db.ts'
import { withProgress } from '../progress.ts'
import type { Settings } from '../settings.ts'

export function addAdoptCommand(workspace: Command, settings: Settings): void {
  workspace
    .command('adopt')
    .summary('give a workspace without members to a person')
    .description(
      'Makes a person the owner of a workspace that has no members, such as one that was made with the bootstrap\n' +
        "token. The person has an account. The workspace's audit log records it with the operator as actor.",
    )
    .argument('<id>', 'id of the workspace')
    .argument('<email>', 'address of the person')
    .option('--json', 'print {"id", "name", "slug", "role"}')
    .action(async (id: string, email: string, { json }: { json?: true }) => {
      if (!isUuid(id)) throw new CommandFailed(`"${id}" is not a workspace id (a UUID).`)
      const config = settings.read()
      const database = await withProgress('Opening the database', () => openDatabase(config))
      try {
        await requireSchema(database.direct)
        const { unproven: _, ...adopted } = await give(database, config, id.toLowerCase(), email)
        if (json) printJson(adopted)
        else print(`${email} is the owner of workspace ${adopted.slug} (${adopted.id}).`)
      } finally {
        await database.close()
      }
    })
}

async function give(
  { direct }: CommandDatabase,
  config: { readonly maxWorkspacesPerPerson: number },
  id: string,
  email: string,
): Promise<Membership> {
  const label = await withClient(direct, client => findPersonLabel(client, addressKey(email)))
  const userId = label?.userId ?? null
  if (userId === null)
    throw new CommandFailed(`No account has the address ${email}. The person signs up first.`)
  const deps = { config, clock: systemClock, randomBytes }
  const operator = { type: 'operator', id: null } as const
  try {
    return await withDb(direct, db =>
      db.inWorkspace(id, tx => adopt(deps, tx, userId, operator, null), { userId }),
    )
  } catch (error) {
    throw error instanceof Refusal ? new CommandFailed(reasons[error.code] ?? error.message) : error
  }
}

const reasons: Partial<Record<string, string>> = {
  not_found: 'No workspace has this id.',
  workspace_taken: 'The workspace has members. One of its owners can invite the person.',
  workspace_limit_reached: 'The person owns as many workspaces as SERVICE_MAX_WORKSPACES_PER_PERSON allows.',
}
