import { join } from 'node:path'
import type { KeyExplain, KeyExplainQuery, KeyExplanation } from '@keyrail/contract/vendor/explain'
import type { KeyImported } from '@keyrail/contract/vendor/imports'
import type { PausedKey, RevokedKey } from '@keyrail/contract/vendor/keys'
import { checkout } from '../../platform/host/reach.ts'
import { isUuid } from '../../platform/http/validate.ts'
import { CommandFailed } from '../failure.ts'

/** Calls of a service, with a secret key. These commands need no database. */

export type Environment = Readonly<Record<string, string | undefined>>
export type Env = 'live' | 'test'

/** @throws {CommandFailed} naming the flag */
export function readEnv(flag: string, value: string | undefined): Env {
  if (value === 'live' || value === 'test') return value
  throw new CommandFailed(`${flag} is live or test.`)
}

/** @returns the id in lower case. @throws {CommandFailed} naming the flag */
export function readProject(flag: string, value: string | undefined): string {
  if (value !== undefined && isUuid(value)) return value.toLowerCase()
  throw new CommandFailed(`${flag} is the id of a project.`)
}

/** A member as the SDK names it. */
type Camel<Name> = Name extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Name
/** An answer as the SDK gives it. */
export type Given<T> = T extends readonly (infer Item)[]
  ? Given<Item>[]
  : T extends object
    ? { [Name in keyof T as Camel<Name>]: Given<T[Name]> }
    : T

/** How a key is revoked, paused or resumed. */
interface Settling {
  readonly reason?: string
  readonly wait?: boolean
}

/** The part of the SDK's admin client that these commands use. */
export interface KeysApi {
  readonly workspace: {
    get(options: Patience): Promise<{ id: string }>
  }
  readonly keys: {
    explain(id: string, query: KeyExplainQuery): Promise<Given<KeyExplanation>>
    explainText(body: KeyExplain): Promise<Given<KeyExplanation>>
    revoke(id: string, how: Settling): Promise<Given<RevokedKey>>
    disable(id: string, how: Settling): Promise<Given<PausedKey>>
    enable(id: string, how: Settling): Promise<Given<PausedKey>>
    import(body: ImportOrder, options: Patience): Promise<Given<KeyImported>>
    export(query: ExportQuery, options: Patience): AsyncIterable<{ id: string }>
  }
}

/** How long a call goes on, while the service restarts. */
interface Patience {
  readonly maxRetries: number
  readonly signal: AbortSignal
}
/** About a minute and a half. */
export const patientRetries = 16

interface ImportOrder {
  readonly projectId: string
  readonly env: Env
  readonly createTenants: boolean
  readonly dryRun: boolean
  readonly rows: readonly object[]
}
interface ExportQuery {
  readonly cursor?: string
  readonly projectId?: string
  readonly env?: Env
}

interface Sdk {
  createAdmin(options: { url: string; secretKey: string }): KeysApi
}

/**
 * Opens the service of KEYRAIL_URL with the secret key of KEYRAIL_SECRET_KEY.
 * @throws {CommandFailed} naming a setting that is missing or wrong
 */
export async function openKeysApi({ KEYRAIL_URL, KEYRAIL_SECRET_KEY }: Environment): Promise<KeysApi> {
  const missing = Object.entries({ KEYRAIL_URL, KEYRAIL_SECRET_KEY }).filter(([, value]) => !value)
  if (missing.length > 0)
    throw new CommandFailed(`Set ${missing.map(([name]) => name).join(' and ')} for these commands.`)
  const { createAdmin } = await load()
  try {
    return createAdmin({ url: KEYRAIL_URL ?? '', secretKey: KEYRAIL_SECRET_KEY ?? '' })
  } catch (error) {
    throw new CommandFailed((error as Error).message)
  }
}

/** By its path, because the service depends on no package that follows it. */
async function load(): Promise<Sdk> {
  try {
    return await import(join(checkout, 'packages/sdk/src/admin.ts'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new CommandFailed('This installation has no SDK, which these commands use.')
  }
}
