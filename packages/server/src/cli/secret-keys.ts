import { randomBytes } from 'node:crypto'
import { nameFault } from '@keyrail/contract/names'
import { cidrsMax } from '@keyrail/contract/networks'
import { type Env, nameLengthMax } from '@keyrail/contract/shared'
import {
  type Permission,
  type Preset,
  permissions,
  presets,
  projectsMax,
} from '@keyrail/contract/vendor/permissions'
import type { CreatedSecretKey, SecretKeyRole } from '@keyrail/contract/vendor/secret-keys'
import { type Command, Option } from 'commander'
import { appendAudit } from '../audit/append.ts'
import { systemClock } from '../platform/clock.ts'
import type { Db } from '../platform/db/db.ts'
import { isUuid } from '../platform/http/validate.ts'
import { idMaker } from '../platform/ids.ts'
import { readNetwork } from '../platform/network/cidr.ts'
import { Refusal } from '../platform/refusal.ts'
import { issueSecretKey, type StoredLimits, secretKeyCreated } from '../secret-keys/issue.ts'
import { areProjectsThere, readLimits } from '../secret-keys/limits.ts'
import { notifyOfOwnerKey } from '../security-events/owners.ts'
import { askChoice, askText, requireFlags } from './ask.ts'
import { type CommandDatabase, openDatabase, requireSchema } from './database.ts'
import { CommandFailed } from './failure.ts'
import { inform, print, printJson } from './output.ts'
import { withDb } from './own-db.ts'
import { withProgress } from './progress.ts'
import type { Settings } from './settings.ts'

const envs: readonly Env[] = ['live', 'test']
const roles: readonly SecretKeyRole[] = ['owner', 'admin']

interface Flags {
  workspace?: string
  env?: Env
  role?: SecretKeyRole
  name?: string
  preset?: Preset
  permission?: Permission[]
  project?: string[]
  cidr?: string[]
  json?: true
}

interface Wanted {
  workspace: string
  env: Env
  role: SecretKeyRole
  name: string | null
  limits: StoredLimits
}

export function addSecretKeysCommand(program: Command, settings: Settings): void {
  const secretKeys = program
    .command('secret-keys')
    .summary("credentials of a vendor's backend")
    .description("Secret keys (krsk_…): the credentials that a vendor's backend uses with the service.")
  secretKeys
    .command('create')
    .summary('make a secret key for a workspace')
    .description(
      'Makes a secret key for a workspace and prints it, once, to standard output. Use it if the workspace has lost\n' +
        "all its credentials. The workspace's audit log records it with the operator as actor.",
    )
    .option('--workspace <id>', 'the workspace')
    .addOption(
      new Option('--env <env>', 'live keys reach both environments, test keys only test').choices(envs),
    )
    .addOption(new Option('--role <role>', 'what the key may do').choices(roles))
    .option('--name <name>', `a name for it, at most ${nameLengthMax} characters`)
    .addOption(
      new Option('--preset <preset>', 'node: what a server with the SDK needs; embed: minting embed tokens')
        .choices(Object.keys(presets))
        .conflicts('permission'),
    )
    .addOption(
      new Option(
        '--permission <permission...>',
        'restricts the key to these permissions of its role',
      ).choices(permissions),
    )
    .option('--project <id...>', 'restricts the key to these projects')
    .option('--cidr <range...>', 'restricts the key to callers from these addresses')
    .option('--json', 'print the secret key as the API would, with "key"')
    .addHelpText(
      'after',
      '\nA terminal asks for missing values. For example:\n' +
        '  keyrail secret-keys create --workspace ID --env live --role owner --name "after the incident"\n' +
        '  keyrail secret-keys create --workspace ID --env live --role admin --preset node --project ID',
    )
    .action(async (flags: Flags) => {
      const config = settings.read()
      const wanted = await complete(flags)
      const database = await withProgress('Opening the database', () => openDatabase(config))
      try {
        await requireSchema(database.direct)
        const created = await create(database, wanted)
        if (flags.json) printJson(created)
        else show(created, wanted.workspace)
      } finally {
        await database.close()
      }
    })
}

async function complete({ workspace, env, role, name, ...limits }: Flags): Promise<Wanted> {
  requireFlags({ '--workspace ID': workspace, '--env live|test': env, '--role owner|admin': role })
  const faults = [
    workspace && workspaceFault(workspace),
    name !== undefined && faultOfName(name),
    ...limitFaults(limits),
  ].filter(Boolean)
  if (faults.length > 0) throw new CommandFailed(faults.join('\n'))
  return {
    workspace: (workspace ?? (await askText('Id of the workspace', workspaceFault))).toLowerCase(),
    env: env ?? (await askChoice('Environment', envs)),
    role: role ?? (await askChoice('Role', roles)),
    name: name ?? null,
    limits: toLimits(limits),
  }
}

const workspaceFault = (id: string) => (isUuid(id) ? undefined : `"${id}" is not a workspace id (a UUID).`)

function faultOfName(name: string): string | undefined {
  const length = [...name].length
  if (length < 1 || length > nameLengthMax) return `A name has 1 to ${nameLengthMax} characters.`
  const fault = nameFault(name)
  return fault === null ? undefined : `The name ${fault}.`
}

type LimitFlags = Pick<Flags, 'preset' | 'permission' | 'project' | 'cidr'>

function limitFaults({ project = [], cidr = [] }: LimitFlags): string[] {
  const strange = project.find(id => !isUuid(id))
  return [
    ...(strange === undefined ? [] : [`"${strange}" is not a project id (a UUID).`]),
    ...(project.length > projectsMax ? [`A key can have at most ${projectsMax} projects.`] : []),
    ...(cidr.length > cidrsMax ? [`A key can have at most ${cidrsMax} address ranges.`] : []),
    ...cidr.flatMap(cidrFault),
  ]
}

function cidrFault(range: string): string[] {
  const network = readNetwork(range)
  return typeof network === 'string' ? [`"${range}" ${network}.`] : []
}

const toLimits = ({ preset, permission, project, cidr }: LimitFlags): StoredLimits =>
  readLimits({
    ...(preset !== undefined && { preset }),
    ...(permission !== undefined && { permissions: permission }),
    ...(project !== undefined && { project_ids: project }),
    ...(cidr !== undefined && { allowed_cidrs: cidr }),
  })

/** Writes the key and its audit row in one transaction, as the API does. */
async function create({ direct }: CommandDatabase, wanted: Wanted): Promise<CreatedSecretKey> {
  const { workspace, env, role, name, limits } = wanted
  const deps = { randomBytes, clock: systemClock, makeId: idMaker(systemClock, randomBytes) }
  const operator = { type: 'operator', id: null } as const
  const issue = (db: Db) =>
    db.inWorkspace(workspace, async tx => {
      if (!(await areProjectsThere(tx, limits.project_ids))) {
        throw new CommandFailed('One of the projects is not in the workspace, or is deleted.')
      }
      const at = systemClock.now()
      const { created, shown } = issueSecretKey(deps, tx, operator, at, {
        ...limits,
        env,
        role,
        name,
        meta: {},
        expires_at: null,
        rotated_from: null,
        created_in_session: null,
      })
      notifyOfOwnerKey(deps, tx, { caller: { kind: 'operator', id: null }, client: null }, created)
      appendAudit(deps, tx, operator, at, [secretKeyCreated(created)])
      return shown
    })
  try {
    return await withDb(direct, issue)
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'not_found') throw error
    throw new CommandFailed(`Workspace ${workspace} does not exist.`)
  }
}

function show({ id, env, role, key }: CreatedSecretKey, workspace: string): void {
  inform(`Secret key ${id} (${env}, ${role}) of workspace ${workspace}. It is shown only once:`)
  print(key)
}
